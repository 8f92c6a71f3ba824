import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { removeAbandoned } from "./build.ts";

test("what a killed build left is removed, and nothing else", () => {
  const out = mkdtempSync(join(tmpdir(), "hookyard-out-"));
  onTestFinished(() => rmSync(out, { recursive: true }));
  const { pid: gone } = spawnSync(process.execPath, ["--version"]);
  const kept = ["headless", `desktop-${process.pid}`, "built-from"].toSorted();
  for (const name of [...kept, `headless-${gone}`])
    mkdirSync(join(out, name, "assets"), { recursive: true });
  removeAbandoned(out);
  expect(readdirSync(out).toSorted()).toEqual(kept);
  removeAbandoned(join(out, "missing"));
});
