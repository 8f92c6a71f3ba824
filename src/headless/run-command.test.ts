import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parseRunFlags } from "./run-command.ts";

test("run takes files, and has a default for every flag", () => {
  expect(parseRunFlags(["a.yaml", "b.yaml"])).toEqual({
    files: ["a.yaml", "b.yaml"],
    junit: undefined,
    json: false,
    seed: undefined,
    keep: false,
    watch: false,
  });
  expect(parseRunFlags(["--junit", "r.xml", "--json", "--seed=-5", "--keep", "a.yaml"])).toEqual({
    files: ["a.yaml"],
    junit: "r.xml",
    json: true,
    seed: -5,
    keep: true,
    watch: false,
  });
});

test.each([["0"], ["9007199254740991"], ["=-9007199254740991"]])("a seed may be %s", (seed) => {
  const flag = seed.startsWith("=") ? [`--seed${seed}`] : ["--seed", seed];
  expect(parseRunFlags([...flag, "a.yaml"])).toMatchObject({ seed: Number(seed.replace("=", "")) });
});

test.each([
  [["a.yaml", "--seed", "1.5"], "--seed needs a whole number."],
  [["a.yaml", "--seed", ""], "--seed needs a whole number."],
  [["a.yaml", "--seed", "9007199254740992"], "--seed needs a whole number."],
  [["a.yaml", "--seed", "1e3"], "--seed needs a whole number."],
  [["a.yaml", "--junit", ""], "--junit needs a file."],
  [["a.yaml", "b.yaml", "a.yaml"], "a.yaml appears twice."],
  [["a.yaml", "--keep", "--watch"], "--keep and --watch both wait"],
  [["--json"], "hookyard run needs at least one scenario file."],
  [["--jsonn", "a.yaml"], "hookyard run --help lists all flags."],
])("%j is refused in one line", (args, part) => {
  const answer = parseRunFlags(args);
  expect(answer).toEqual({ wrong: expect.stringContaining(part) });
  expect((answer as { wrong: string }).wrong).not.toContain("\n");
});

test.each([["--help"], ["-h"]])("%s wins over what else is there", (flag) => {
  expect(parseRunFlags(["--junit", "", flag])).toBe("help");
});

test("a pattern that no shell has replaced means its files, in the order of their names", () => {
  const directory = mkdtempSync(join(tmpdir(), "hookyard-run-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  for (const name of ["b.yaml", "a.yaml", "c.txt", "[d].yaml"])
    writeFileSync(join(directory, name), "");
  const files = (...names: string[]) => ({ files: names.map((name) => join(directory, name)) });
  const read = (...names: string[]) => parseRunFlags(names.map((name) => join(directory, name)));
  expect(read("?.yaml", "c.txt")).toMatchObject(files("a.yaml", "b.yaml", "c.txt"));
  expect(read("[ab].yaml")).toMatchObject(files("a.yaml", "b.yaml"));
  expect(read("[d].yaml")).toMatchObject(files("[d].yaml"));
  expect(read("*.yaml", "a.yaml")).toEqual({
    wrong: `${join(directory, "a.yaml")} appears twice.`,
  });
  expect(read("*.json")).toEqual({ wrong: `No file matches ${join(directory, "*.json")}.` });
});
