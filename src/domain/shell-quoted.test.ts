import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { shellQuoted } from "./shell-quoted.ts";

const odd = [
  "",
  "it's $(whoami)",
  'a "b" \\ c',
  "; rm",
  "=ls",
  "~",
  "*",
  "a'b''",
  "#",
  "!!",
  "line\nline",
  "Łódź",
  "-n",
  "a&b",
  "`x`",
];

test("a shell reads any text as the one word that it is", () => {
  const words = ["wk_1:", "http://127.0.0.1:4700/v1/track", ...odd];
  const read = execFileSync("sh", ["-c", `printf '%s\\0' ${words.map(shellQuoted).join(" ")}`], {
    encoding: "utf8",
  });
  expect(read.split("\0").slice(0, -1)).toEqual(words);
});

test("what is plain has no quotes, and what any shell might expand has them", () => {
  expect(shellQuoted("http://127.0.0.1:4700/v1/track")).toBe("http://127.0.0.1:4700/v1/track");
  for (const text of ["=ls", "~", "", "a?b=c"]) expect(shellQuoted(text)).toBe(`'${text}'`);
  expect(shellQuoted(`a'b`)).toBe(`'a'\\''b'`);
});
