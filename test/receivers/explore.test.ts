/** `hookyard explore` against shops: what it finds, how small that is, and that `hookyard run` shows it every time. */

import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { explore, type Explored } from "../../src/explore/explore.ts";
import { readExploration, type Exploration } from "../../src/explore/explore-file.ts";
import { scenarioOf } from "../../src/explore/scenario.ts";
import { runHookyard } from "../scenarios/run-hookyard.ts";
import { shops, startShop, type RunningReceiver, type ShopEntry, type ShopOptions } from "./receivers.ts";

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "hookyard-explore-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

function shopOf(name: string): ShopEntry {
  const shop = shops.find((one) => one.name === name);
  if (shop === undefined) throw new Error(`There is no shop ${name}.`);
  return shop;
}

async function start(name: string, options?: ShopOptions): Promise<RunningReceiver> {
  const there = await startShop(shopOf(name), options);
  onTestFinished(() => there.stop());
  return there;
}

type Explore = { restart?: string; state?: boolean; messages?: string; always?: string };

/** With decoys: what is found must be without them. */
const fiveMessages = `
    - { type: identify, traits: { plan: free } }
    - { type: track, event: Order Completed }
    - { type: track, event: Order Refunded }
    - { type: track, event: Cart Updated }
    - { type: identify, traits: { plan: pro } }`;

function fileOf({ url }: RunningReceiver, { restart, messages = fiveMessages, always = "{}" }: Explore = {}): string {
  const { origin } = new URL(url);
  return `name: Shop
explore:
  receiver:
    url: ${url}
    effects: ${origin}/effects
    restart: ${restart ?? `{ url: ${origin}/restart }`}
    reset: { url: ${origin}/reset }
  messages:${messages}
  vary: { delays: [5ms, 30ms] }
  always: ${always}
`;
}

function read(text: string): Exploration {
  const exploration = readExploration(text);
  if ("problems" in exploration) throw new Error(JSON.stringify(exploration.problems));
  return exploration;
}

async function search(
  text: string,
  { secret }: RunningReceiver,
  { seed = 1, runs = 1000 } = {},
): Promise<{ explored: Explored; scenario: string }> {
  const exploration = read(text);
  const explored = await explore({ exploration, secret, seed, runs, minutes: 2 });
  const { finding } = explored;
  if (finding === null) return { explored, scenario: "" };
  const { schedule, number, violations } = finding;
  return {
    explored,
    scenario: scenarioOf({ exploration, schedule, isSigned: true, text: violations[0]?.text ?? "", seed, number, file: "found.yaml" }),
  };
}

/** Three times against the wrong one, and once against a right one. */
async function outcomesOf(scenario: string, wrong: RunningReceiver): Promise<string> {
  const right = await start("right");
  const into = folder();
  const files = [1, 2, 3].map((nth) => join(into, `wrong-${nth}.yaml`));
  for (const file of files) writeFileSync(file, scenario);
  const mended = join(into, "right.yaml");
  writeFileSync(mended, scenario.replaceAll(new URL(wrong.url).host, new URL(right.url).host));
  const { out } = await runHookyard(["run", ...files, mended], { env: { HOOKYARD_SECRET: wrong.secret } });
  expect(out, out).not.toContain("unusable");
  return /\d+ passed.*failed/.exec(out)?.[0] ?? out;
}

test.each([
  ["race", 1, 1],
  ["race", 2, 1],
  ["lost answer", 1, 3],
  ["lost answer", 3, 3],
  ["order of identifies", 1, 2],
  ["order of three", 1, 3],
  ["order of three", 4, 3],
])("%s: is found with seed %i, and is %i steps long in the end", async (name, seed, steps) => {
  const shop = await start(name);
  const { explored, scenario } = await search(fileOf(shop), shop, { seed });
  expect(explored.finding?.schedule, JSON.stringify(explored)).toHaveLength(steps);
  expect(explored.schedules).toBeLessThanOrEqual(1000);
  expect(await outcomesOf(scenario, shop)).toBe("1 passed, 3 failed");
});

test("right: 300 schedules hold, and every order and every fault at every message was among them", async () => {
  const shop = await start("right");
  const { explored } = await search(fileOf(shop, { always: "{ state: same, effects: once }" }), shop, { runs: 300 });
  expect(explored).toMatchObject({ schedules: 300, finding: null, unsteady: [] });
  for (const { seen, of } of explored.coverage.faults) expect(seen / of).toBeGreaterThan(0.8);
});
