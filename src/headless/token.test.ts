import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readOrMakeToken } from "./token.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "hookyard-token-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

const rights = () => statSync(join(directory, "token")).mode & 0o777;

test("a token is made once, for its owner only", () => {
  const token = readOrMakeToken(directory);
  expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(rights()).toBe(0o600);
  expect(readOrMakeToken(directory)).toBe(token);
});

test("rights that became too wide are narrowed", () => {
  const token = readOrMakeToken(directory);
  chmodSync(join(directory, "token"), 0o644);
  expect(readOrMakeToken(directory)).toBe(token);
  expect(rights()).toBe(0o600);
});

test("a file that holds no token is replaced", () => {
  writeFileSync(join(directory, "token"), "short", { mode: 0o666 });
  const token = readOrMakeToken(directory);
  expect(token).toHaveLength(43);
  expect(rights()).toBe(0o600);
});

test("a token that an editor ended with a line break is the same token", () => {
  const token = readOrMakeToken(directory);
  writeFileSync(join(directory, "token"), `${token}\n`);
  expect(readOrMakeToken(directory)).toBe(token);
});

test.each(["x".repeat(42), "x".repeat(44), `${"x".repeat(42)}!`])("%s is no token", (text) => {
  writeFileSync(join(directory, "token"), text);
  expect(readOrMakeToken(directory)).not.toBe(text);
});

test("without a directory the token is a new one each time", () => {
  expect(readOrMakeToken(null)).not.toBe(readOrMakeToken(null));
});
