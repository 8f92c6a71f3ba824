import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeDataDirectory } from "./data-directory.ts";

test("a directory is made with those above it, and one that is there is left", () => {
  const root = mkdtempSync(join(tmpdir(), "hookyard-"));
  const path = join(root, "a", "b", "c");
  makeDataDirectory(path);
  makeDataDirectory(path);
  expect(existsSync(path)).toBe(true);
  rmSync(root, { recursive: true });
});

test.runIf(process.platform === "linux")("where none can be made, an error says so at once", () => {
  expect(() => makeDataDirectory("/proc/nowhere/data")).toThrow("ENOENT");
});
