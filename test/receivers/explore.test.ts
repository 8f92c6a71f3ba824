/**
 * `hookyard explore` against shops: what it finds, how small that is, and that `hookyard run` shows
 * it every time.
 */

import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, test as base, vi } from "vitest";
import { explore, type Explored } from "../../src/explore/explore.ts";
import { readExploration, type Exploration } from "../../src/explore/explore-file.ts";
import { scenarioOf } from "../../src/explore/scenario.ts";
import { draw } from "../../src/explore/schedule.ts";
import { exploreCommand } from "../../src/headless/explore-command.ts";
import { runHookyard } from "../scenarios/run-hookyard.ts";
import { lastingPort } from "../support/free-ports.ts";
import { runInProcess } from "../support/in-process.ts";
import { nodeInShell } from "../support/program.ts";
import {
  shops,
  startShop,
  type RunningReceiver,
  type ShopEntry,
  type ShopOptions,
} from "./receivers.ts";

/** Nearly all of their time goes to waiting for effects, so they run together. */
const test = base.extend<{ atEnd: AtEnd }>({
  // oxlint-disable-next-line no-empty-pattern -- vitest reads from it that nothing is needed
  atEnd: async ({}, use) => {
    const ends: (() => unknown)[] = [];
    await use((end) => void ends.push(end));
    for (const end of ends.toReversed()) await end();
  },
});

type AtEnd = (end: () => unknown) => void;

function folder(atEnd: AtEnd): string {
  const path = mkdtempSync(join(tmpdir(), "hookyard-explore-"));
  atEnd(() => rmSync(path, { recursive: true }));
  return path;
}

function shopOf(name: string): ShopEntry {
  const shop = shops.find((one) => one.name === name);
  if (shop === undefined) throw new Error(`There is no shop ${name}.`);
  return shop;
}

async function start(atEnd: AtEnd, name: string, options?: ShopOptions): Promise<RunningReceiver> {
  const there = await startShop(shopOf(name), options);
  atEnd(() => there.stop());
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

function fileOf(
  { url }: RunningReceiver,
  { restart, messages = fiveMessages, always = "{}" }: Explore = {},
): string {
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
  const explored = await explore({ exploration, secret, seed, runs, minutes: 1440 });
  const { finding } = explored;
  if (finding === null) return { explored, scenario: "" };
  const { schedule, number, violations, isAfterOthers } = finding;
  return {
    explored,
    scenario: scenarioOf({
      exploration: explored.exploration,
      schedule,
      isSigned: true,
      violations,
      isAfterOthers,
      seed,
      number,
      file: "found.yaml",
    }),
  };
}

/** Three times against the wrong one, and once against a right one. */
async function outcomesOf(atEnd: AtEnd, scenario: string, wrong: RunningReceiver): Promise<string> {
  const right = await start(atEnd, "right");
  const into = folder(atEnd);
  const files = [1, 2, 3].map((nth) => join(into, `wrong-${nth}.yaml`));
  for (const file of files) writeFileSync(file, scenario);
  const mended = join(into, "right.yaml");
  writeFileSync(mended, scenario.replaceAll(new URL(wrong.url).host, new URL(right.url).host));
  const { out } = await runInProcess(["run", ...files, mended], {
    env: { HOOKYARD_SECRET: wrong.secret },
  });
  expect(out, out).not.toContain("unusable");
  return /\d+ passed.*failed/.exec(out)?.[0] ?? out;
}

test.concurrent.for([
  ["race", 1, 1],
  ["lost answer", 1, 3],
  ["lost answer", 3, 3],
  ["order of identifies", 1, 2],
  ["order of three", 1, 3],
  ["order of three", 4, 3],
] as const)(
  "%s: is found with seed %i, and is %i steps long in the end",
  async ([name, seed, steps], { atEnd }) => {
    const shop = await start(atEnd, name);
    const { explored, scenario } = await search(fileOf(shop), shop, { seed });
    expect(explored.finding?.schedule, JSON.stringify(explored)).toHaveLength(steps);
    expect(explored.schedules).toBeLessThanOrEqual(1000);
    expect(await outcomesOf(atEnd, scenario, shop)).toBe("1 passed, 3 failed");
  },
);

test.concurrent("right: 300 schedules hold, and every order and every fault at every message was among them", async ({
  atEnd,
}) => {
  const shop = await start(atEnd, "right");
  const { explored } = await search(
    fileOf(shop, { always: "{ state: same, effects: once }" }),
    shop,
    { runs: 300 },
  );
  expect(explored).toMatchObject({ schedules: 300, finding: null, unsteady: [] });
  for (const { seen, of } of explored.coverage.faults) expect(seen / of).toBeGreaterThan(0.8);
});

test.concurrent("a lost answer before a real restart is found, and its scenario restarts the receiver with the same command", async ({
  atEnd,
}) => {
  const [data, entry] = [join(folder(atEnd), "rows"), "lost answer"];
  const port = await lastingPort();
  let shop = await startShop(shopOf(entry), { data, port });
  atEnd(() => shop.stop());
  const supervisor = createServer(async (_request, response) => {
    await shop.stop();
    shop = await startShop(shopOf(entry), { data, port });
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => void supervisor.listen(0, "127.0.0.1", resolve));
  atEnd(() => void supervisor.close());
  const supervisorUrl = `http://127.0.0.1:${(supervisor.address() as AddressInfo).port}`;
  // Without Node's `fetch`, whose load is half of the time of the command.
  const restart = `${nodeInShell} -e "require('http').get('${supervisorUrl}')"`;
  const text = fileOf(shop, {
    restart: JSON.stringify(restart),
    messages: "\n    - { type: track, event: Paid }",
  });
  const { explored, scenario } = await search(text.replace(/ {4}reset: .*\n/, ""), shop);
  expect(explored.finding?.schedule).toHaveLength(3);
  const file = join(folder(atEnd), "found.yaml");
  writeFileSync(file, scenario);
  const env = { HOOKYARD_SECRET: shop.secret };
  const { out, code } = await runInProcess(["run", file], { env });
  expect(out).toMatch(
    /The receiver restarts: command .* ended with 0\n[^]*expected {2}1 effect of \S+\n.*actual {4}2 effects/,
  );
  expect(code).toBe(1);
});

test.concurrent("an end state of the wrong order is found where every effect is there once", async ({
  atEnd,
}) => {
  const shop = await start(atEnd, "order of identifies");
  const messages =
    "\n    - { type: identify }\n    - { type: track, event: Paid }\n    - { type: identify }";
  const text = fileOf(shop, { messages, always: "{ effects: any number, state: same }" });
  const { explored, scenario } = await search(text, shop);
  const shows = (nth: number): unknown => expect.stringContaining(`"{{message${nth}}}"`);
  expect(explored.finding).toMatchObject({
    violations: [{ kind: "state", states: { expected: shows(3), actual: shows(1) } }],
    schedule: [{ message: 2 }, { message: 0 }],
  });
  expect(await outcomesOf(atEnd, scenario, shop)).toBe("1 passed, 3 failed");
});

test.concurrent("an expectation of one's own is found to fail", async ({ atEnd }) => {
  const shop = await start(atEnd, "right");
  const always = '{ expect: [{ effects: { token: "{{user}}", times: { atMost: 2 } } }] }';
  const { explored } = await search(fileOf(shop, { always }), shop);
  expect(explored.finding?.violations.map(({ text }) => text)).toEqual([
    "u took effect 3 times, and not at most 2 times.",
  ]);
  expect(explored.finding?.schedule).toHaveLength(3);
});

test("the same seed draws the same schedules, and another one others", () => {
  const exploration = read(fileOf({ url: "http://127.0.0.1:1/hooks" } as RunningReceiver));
  const drawn = (seed: number): unknown =>
    Array.from({ length: 50 }, (_, number) => draw(exploration, seed, number));
  expect(drawn(7)).toEqual(drawn(7));
  expect(drawn(7)).not.toEqual(drawn(8));
});

describe.concurrent("the command", () => {
  function written(atEnd: AtEnd, text: string): string {
    const file = join(folder(atEnd), "file.yaml");
    writeFileSync(file, text);
    return file;
  }

  test("ends with 1, and writes what it found where it should", async ({ atEnd }) => {
    const shop = await start(atEnd, "race");
    const out = join(folder(atEnd), "found");
    const ended = await runHookyard(
      ["explore", written(atEnd, fileOf(shop)), "--out", out, "--seed", "5"],
      {
        env: { HOOKYARD_SECRET: shop.secret },
      },
    );
    expect(ended.err).toBe("");
    expect(ended.out).toMatch(
      /✗ \S+ \S+ took effect twice, and not once\.\n {2}1\. .* copies at the same time\n/,
    );
    expect(ended.out).toMatch(/schedules in \d+\.\d s, \d+ a minute/);
    expect(readdirSync(out)).toEqual(["shop-seed-5.yaml"]);
    expect(readFileSync(join(out, "shop-seed-5.yaml"), "utf8")).not.toContain(shop.secret);
    expect(ended.code).toBe(1);
  });

  test("ends with 0 when every schedule held", async ({ atEnd }) => {
    const shop = await start(atEnd, "right");
    const { out, code } = await runInProcess(
      ["explore", written(atEnd, fileOf(shop)), "--runs", "20"],
      {
        env: { HOOKYARD_SECRET: shop.secret },
      },
    );
    expect(out).toMatch(/^20 schedules in [^]*✓ Every schedule held\./m);
    expect(code).toBe(0);
  });

  // It changes what the whole process writes to.
  test(
    "shows its progress on a terminal, and not beside JSON",
    { concurrent: false },
    async ({ atEnd }) => {
      const shop = await start(atEnd, "right");
      const args = [written(atEnd, fileOf(shop)), "--runs", "1"];
      const printed: unknown[] = [];
      const write = vi.spyOn(process.stdout, "write").mockImplementation((text) => {
        printed.push(text);
        return true;
      });
      vi.stubEnv("HOOKYARD_SECRET", shop.secret);
      Object.assign(process.stdout, { isTTY: true });
      atEnd(() => {
        write.mockRestore();
        vi.unstubAllEnvs();
        Reflect.deleteProperty(process.stdout, "isTTY");
      });
      expect(await exploreCommand({ args })).toBe(0);
      const progress = expect.stringMatching(/^1 schedules, \d+ s\r$/);
      expect(printed.splice(0)).toContainEqual(progress);
      expect(await exploreCommand({ args: [...args, "--json"] })).toBe(0);
      expect(printed).not.toContainEqual(progress);
    },
  );

  test("ends with 2 where not even one message works", async ({ atEnd }) => {
    const shop = await start(atEnd, "right");
    const { err, code } = await runInProcess(["explore", written(atEnd, fileOf(shop))], {
      env: { HOOKYARD_SECRET: "another" },
    });
    expect(err).toMatch(
      /^Not even a single message works: identify \(message 1\) was answered 401\./,
    );
    expect(code).toBe(2);
  });

  test.for([
    [
      "name: A\nsteps: []",
      "1:1  The file has no explore section. hookyard run runs scenarios without one.",
    ],
    ["name: A\nexplore:\n  reciever: {}\n", "3:3  reciever is unknown. Did you mean receiver?"],
    [
      fileWith("messages: [{ type: track, event: A, userId: u_1 }]"),
      "4:47  userId must be new in each schedule",
    ],
    [fileWith("messages: [{ type: track }]"), "4:14  "],
    [
      fileWith("messages: [{ type: page }]\n  vary: { duplicates: { of: [2] } }"),
      "5:30  There is no message 2: there are 1.",
    ],
    [
      fileWith("messages: [{ type: page }]\n  vary: { restarts: 1 }"),
      "5:21  Say how the receiver is restarted",
    ],
    [
      fileWith("messages: [{ type: page }]\n  always: { effects: once }"),
      "5:22  Say where the receiver lists its effects",
    ],
  ] as const)("ends with 2 for a file that is wrong: %j", async ([text, problem], { atEnd }) => {
    const file = written(atEnd, text);
    const { err, code } = await runInProcess(["explore", file]);
    expect(err.replaceAll(file, "")).toContain(`:${problem}`);
    expect(code).toBe(2);
  });

  test.for([
    [["explore"], /needs a file/],
    [["explore", "nowhere.yaml"], /nowhere\.yaml was not found/],
    [["explore", "a.yaml", "--runs", "0"], /--runs needs a whole number/],
    [["explore", "a.yaml", "--seeds", "1"], /hookyard explore --help lists all flags/],
  ] as const)("%j ends with 2", async ([args, message]) => {
    const { err, code } = await runInProcess(args);
    expect(err).toMatch(message);
    expect(code).toBe(2);
  });
});

function fileWith(rest: string): string {
  return `name: A\nexplore:\n  receiver: { url: http://127.0.0.1:1/ }\n  ${rest}\n`;
}

/** Its list shows users, a number and a time, and no tokens of messages. */
async function startListOfUsers(atEnd: AtEnd, isRight: boolean): Promise<string> {
  const rows: object[] = [];
  const seen = new Set<string>();
  const server = createServer(async (request, response) => {
    if (request.url === "/rows") return void response.end(JSON.stringify(rows));
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { messageId, userId, event } = JSON.parse(Buffer.concat(chunks).toString()) as Record<
      string,
      string
    >;
    if (!isRight || !seen.has(messageId ?? ""))
      rows.push({ id: rows.length, userId, event, at: `time ${rows.length}` });
    seen.add(messageId ?? "");
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  atEnd(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test.concurrent("effects without tokens of messages are compared with those of the same messages once each, but for ids and times", async ({
  atEnd,
}) => {
  const fileAt = (origin: string): string =>
    `name: List\nexplore:\n  receiver: { url: ${origin}/, effects: ${origin}/rows }\n  messages: [{ type: track, event: A }, { type: track, event: B }]\n`;
  const found = await explore({
    exploration: read(fileAt(await startListOfUsers(atEnd, false))),
    secret: null,
    seed: 1,
    runs: 100,
    minutes: 1440,
  });
  expect(found.notes).toEqual([
    expect.stringMatching(/^The effects show users but no message tokens/),
    "Not compared, because they differ from run to run: id, at.",
  ]);
  expect(found.finding).toMatchObject({ violations: [{ kind: "state" }] });
  const right = await explore({
    exploration: read(fileAt(await startListOfUsers(atEnd, true))),
    secret: null,
    seed: 1,
    runs: 100,
    minutes: 1440,
  });
  expect(right).toMatchObject({ schedules: 100, finding: null, unsteady: [] });
});

/** It remembers a message before it has done its work, and forgets the work when it restarts. */
async function startForgetful(atEnd: AtEnd, isRight: boolean): Promise<string> {
  const rows: object[] = [];
  const known = new Set<string>();
  let working = Promise.withResolvers<never>();
  const receive = async (request: IncomingMessage): Promise<number> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { messageId = "" } = JSON.parse(Buffer.concat(chunks).toString()) as Record<
      string,
      string
    >;
    if (known.has(messageId)) return 200;
    if (!isRight) known.add(messageId);
    await Promise.race([working.promise, wait(100)]);
    if (!known.has(messageId) || !isRight) rows.push({ messageId });
    known.add(messageId);
    return 200;
  };
  const server = createServer((request, response) => {
    if (request.url === "/rows") return void response.end(JSON.stringify(rows));
    const answer = (status: number): void => void response.writeHead(status).end();
    if (request.url !== "/restart") return void receive(request).then(answer, () => answer(500));
    working.reject(new Error("The receiver was restarted."));
    working = Promise.withResolvers<never>();
    working.promise.catch(() => undefined);
    answer(204);
  });
  working.promise.catch(() => undefined);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  atEnd(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test.concurrent("a restart while the receiver works for a sender that has hung up is found", async ({
  atEnd,
}) => {
  const searchIn = async (origin: string, runs: number): Promise<Explored> => {
    const receiver = `{ url: ${origin}/, effects: ${origin}/rows, restart: { url: ${origin}/restart } }`;
    const text = `name: Rows\nexplore:\n  receiver: ${receiver}\n  messages: [{ type: page, name: A }, { type: track, event: B }]\n  vary: { together: 0, duplicates: 0 }\n`;
    return explore({ exploration: read(text), secret: null, seed: 1, runs, minutes: 1440 });
  };
  const { finding } = await searchIn(await startForgetful(atEnd, false), 200);
  expect(finding).toMatchObject({ violations: [{ kind: "never" }] });
  // On a busy machine not each smaller schedule fails each time, so that it may keep more steps.
  const steps = finding?.schedule.map((step) => step.do).join() ?? "";
  expect(steps).toMatch(/lose,(?:\w+,)*restart,(?:\w+,)*send/);
  expect(await searchIn(await startForgetful(atEnd, true), 40)).toMatchObject({
    schedules: 40,
    finding: null,
    unsteady: [],
  });
});

/** It answers first, and does the work later: in the order in which it came, and once. */
async function startQueue(atEnd: AtEnd): Promise<string> {
  const balances: Record<string, number> = {};
  const log: string[] = [];
  const seen = new Set<string | undefined>();
  const server = createServer(async (request, response) => {
    if (request.url === "/log") return void response.end(log.join("\n"));
    if (request.url === "/balances") return void response.end(JSON.stringify(balances));
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { messageId = "", userId = "" } = JSON.parse(Buffer.concat(chunks).toString()) as Record<
      string,
      string
    >;
    response.writeHead(202).end();
    if (seen.has(messageId)) return;
    seen.add(messageId);
    await wait(600);
    balances[userId] = (balances[userId] ?? 0) + 1;
    log.push(messageId);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  atEnd(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test.concurrent("the state of a receiver that works after its answer is that after the work", async ({
  atEnd,
}) => {
  const origin = await startQueue(atEnd);
  const text = `name: Queue
explore:
  receiver: { url: ${origin}/, effects: ${origin}/log, state: ${origin}/balances }
  messages: [{ type: track, event: A }, { type: track, event: B }]
`;
  const found = await explore({
    exploration: read(text),
    secret: null,
    seed: 1,
    runs: 40,
    minutes: 1440,
  });
  expect(found).toMatchObject({ finding: null, unsteady: [] });
});
