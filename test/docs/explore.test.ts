/**
 * `docs/explore.md`: its file finds what the page says in the wrong receiver, and nothing in the
 * right one.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { explore, type Explored } from "../../src/explore/explore.ts";
import { readExploration } from "../../src/explore/explore-file.ts";
import { scheduleTexts } from "../../src/explore/schedule.ts";

const page = readFileSync(new URL("../../docs/explore.md", import.meta.url), "utf8");

function block(name: string): string {
  return new RegExp(`\`\`\`${name}\n([^]*?)\`\`\``).exec(page)?.[1] ?? "";
}

async function search(code: string): Promise<{ explored: Explored; steps: string[] }> {
  const folder = mkdtempSync(join(tmpdir(), "hookyard-docs-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "receiver.mjs"), code);
  const child = spawn(process.execPath, [join(folder, "receiver.mjs")], {
    env: { ...process.env, PORT: "0" },
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(async () => {
    if (child.exitCode !== null) return;
    child.kill();
    await once(child, "close");
  });
  for await (const url of createInterface({ input: child.stdout })) {
    const exploration = readExploration(
      block("yaml explore").replaceAll("http://127.0.0.1:8080", url),
    );
    if ("problems" in exploration) throw new Error(JSON.stringify(exploration.problems));
    const explored = await explore({ exploration, secret: null, seed: 1, runs: 100, minutes: 1 });
    return { explored, steps: scheduleTexts(explored.finding?.schedule ?? [], exploration) };
  }
  throw new Error("The receiver of the page did not start.");
}

test("the wrong receiver fails as the page shows", async () => {
  const shown = [...page.matchAll(/^ {2}\d\. (.*)$/gm)].map(([, step]) => step);
  const { explored, steps } = await search(block("js wrong"));
  expect(steps).toEqual(shown);
  const [violation] = explored.finding?.violations ?? [];
  expect(page).toContain(`✗ ${violation?.text}`);
  expect(page).toContain(`  expected  ${violation?.states?.expected}\n`);
  expect(page).toContain(`  actual    ${violation?.states?.actual}\n`);
});

test("with the right line, every schedule holds", async () => {
  const lines = block("js wrong").split("\n");
  const right = lines
    .map((line) => (line.includes('"Order Cancelled"') ? block("js right") : line))
    .join("\n");
  const { explored } = await search(right);
  expect(explored).toMatchObject({ schedules: 100, finding: null, unsteady: [] });
});
