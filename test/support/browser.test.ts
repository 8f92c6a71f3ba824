import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { unpackChromium } from "./browser.ts";

test("Chromium, unpacked by several at the same time, is there once and can be started by each of them", async ({
  onTestFinished,
}) => {
  const cache = mkdtempSync(join(tmpdir(), "hookyard-chromium-"));
  onTestFinished(() => rmSync(cache, { recursive: true }));
  const started = await Promise.all(
    [1, 2].map(async () => {
      const file = await unpackChromium(cache);
      return { file, said: spawnSync(file, ["--version"], { encoding: "utf8" }).stdout };
    }),
  );
  for (const { said } of started) expect(said).toMatch(/Chrom/);
  expect(new Set(started.map(({ file }) => file)).size).toBe(1);
  expect(readdirSync(cache)).toEqual([
    dirname(started[0]?.file ?? "")
      .split("/")
      .at(-1),
  ]);
});
