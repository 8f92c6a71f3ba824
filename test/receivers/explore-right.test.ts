/** Searches against receivers that are right, with limits of their own. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { expect, test, type TestContext } from "vitest";
import { explore, type Explored } from "../../src/explore/explore.ts";
import { readExploration } from "../../src/explore/explore-file.ts";
import { scenarioOf } from "../../src/explore/scenario.ts";
import { startHookyard } from "../scenarios/run-hookyard.ts";
import { runInProcess } from "../support/in-process.ts";

type Message = { messageId: string; userId: string; event: string };

async function messageIn(request: IncomingMessage): Promise<Message> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString()) as Message;
}

/** Lists what it has done at `/rows`; `receive` answers a message with a status. */
async function startReceiver(
  { onTestFinished }: TestContext,
  {
    receive,
    rows,
  }: {
    receive: (message: Message) => number | Promise<number>;
    rows: () => string;
  },
): Promise<string> {
  const server = createServer(async (request, response) => {
    if (request.url === "/rows") return void response.end(rows());
    response.writeHead(await receive(await messageIn(request))).end();
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function search(text: string, runs: number): Promise<Explored> {
  const exploration = readExploration(`name: Right\nexplore:\n${text}`);
  if ("problems" in exploration) throw new Error(JSON.stringify(exploration.problems));
  return explore({ exploration, secret: null, seed: 1, runs, minutes: 1440 });
}

test.concurrent("a receiver that accepts no message at all is not searched, also where answers do not count", async (context) => {
  const origin = await startReceiver(context, { receive: () => 503, rows: () => "[]" });
  const text = `  receiver: { url: ${origin}/, effects: ${origin}/rows }
  messages: [{ type: track, event: A }]
  always: { answers: false }
`;
  await expect(search(text, 100)).rejects.toThrow("Not even a single message works: ");
});

test.concurrent("a list of effects of more than 4 MB is named as such, not as an end of the receiver", async (context) => {
  const rows: string[] = [];
  const origin = await startReceiver(context, {
    receive: ({ messageId }) => {
      if (!rows.includes(messageId)) rows.push(messageId);
      return 204;
    },
    rows: () => rows.join("\n") + (rows.length > 10 ? "-".repeat(4 * 1024 * 1024) : ""),
  });
  const text = `  receiver: { url: ${origin}/, effects: ${origin}/rows }
  messages: [{ type: track, event: A }]
`;
  await expect(search(text, 100)).rejects.toThrow(
    `${origin}/rows answered with more than 4 MB when it was asked for effects. Say how to empty the list: receiver: { reset: … }.`,
  );
});

test.concurrent("copies that come together are sent again when none was accepted, and 500 to all of them is found", async (context) => {
  const came = new Map<string, number>();
  const seconds = new Map<string, () => void>();
  const rows: string[] = [];
  const origin = await startReceiver(context, {
    receive: async ({ messageId, event }) => {
      const nth = (came.get(messageId) ?? 0) + 1;
      came.set(messageId, nth);
      seconds.get(messageId)?.();
      // Copies that are sent together can be far apart on a busy machine.
      if (event === "Wrong" && nth === 1)
        await Promise.race([
          new Promise<void>((resolve) => seconds.set(messageId, resolve)),
          wait(500),
        ]);
      if (event === "Busy" && nth < 3) return 503;
      if (event === "Wrong" && came.get(messageId) !== 1) return 500;
      if (!rows.includes(messageId)) rows.push(messageId);
      return 204;
    },
    rows: () => rows.join("\n"),
  });
  const text = (
    event: string,
    effects: string,
  ): string => `  receiver: { url: ${origin}/, effects: ${origin}/rows }
  messages: [{ type: track, event: ${event} }]
  vary: { lostAnswers: 0, duplicates: 0, delays: [] }
  always: { effects: ${effects} }
`;
  expect(await search(text("Busy", "once"), 20)).toMatchObject({ finding: null, unsteady: [] });
  const { exploration, finding } = await search(text("Wrong", "at most once"), 20);
  expect(finding).toMatchObject({
    schedule: [{ do: "together", copies: 2 }],
    violations: [{ kind: "answer", text: "Wrong was answered 500." }],
  });
  const { schedule = [], violations = [], isAfterOthers = false, number = 0 } = finding ?? {};
  const scenario = scenarioOf({
    exploration,
    schedule,
    violations,
    isAfterOthers,
    number,
    isSigned: false,
    seed: 1,
    file: "found.yaml",
  });
  const folder = mkdtempSync(join(tmpdir(), "hookyard-right-"));
  context.onTestFinished(() => rmSync(folder, { recursive: true }));
  const run = async (content: string): Promise<string> => {
    writeFileSync(join(folder, "found.yaml"), content);
    return (await runInProcess(["run", join(folder, "found.yaml")])).out;
  };
  expect(await run(scenario)).toContain("The receiver must answer one 2xx: it answered 500.");
  expect(await run(scenario.replaceAll("Wrong", "Busy"))).toContain("1 passed");
});

/** Counts each message once, and shows the users with what `more` adds to them. */
function ledger(more: () => object = () => ({})) {
  const seen = new Set<string>();
  const users = new Map<string, object>();
  return {
    receive({ messageId, userId }: Message): number {
      if (!seen.has(messageId))
        users.set(userId, { userId, count: countOf(users.get(userId)) + 1, ...more() });
      seen.add(messageId);
      return 204;
    },
    rows: () => JSON.stringify([...users.values()]),
  };
}

const countOf = (user: object | undefined): number =>
  user !== undefined && "count" in user ? Number(user.count) : 0;

const stateFile = (
  origin: string,
  vary = "{}",
): string => `  receiver: { url: ${origin}/, state: ${origin}/rows }
  messages: [{ type: track, event: A }, { type: track, event: B }]
  vary: ${vary}
`;

const held = { finding: null, unsteady: [], gone: null };

test.concurrent("a state that never shows the users of a schedule is refused, and one that is empty in the end is not", async (context) => {
  const open = new Map<string, Set<string>>();
  const done = new Set<string>();
  const receive = ({ messageId, userId, event }: Message): number => {
    if (done.has(messageId)) return 204;
    done.add(messageId);
    const orders = open.get(userId) ?? new Set();
    orders.add(event);
    open.set(userId, orders);
    return 204;
  };
  // Both messages are needed for a row, and the third takes it away: alone, none shows anything.
  const rows = (): string =>
    JSON.stringify(
      [...open]
        .filter(([, own]) => own.has("A") && own.has("B") && !own.has("C"))
        .map(([id]) => id),
    );
  const right = await startReceiver(context, { receive, rows });
  const threeMessages = (origin: string): string =>
    stateFile(origin).replace("event: B }", "event: B }, { type: track, event: C }");
  expect(await search(threeMessages(right), 40)).toMatchObject({ schedules: 40, ...held });

  const totals = await startReceiver(context, { receive, rows: () => '{"paid":12}' });
  await expect(search(threeMessages(totals), 40)).rejects.toThrow(
    `${totals}/rows shows nothing about the users of a schedule, so there is no state to compare.`,
  );
  const refusing = await startReceiver(context, { receive: () => 503, rows });
  await expect(search(`${stateFile(refusing)}  always: { answers: false }\n`, 40)).rejects.toThrow(
    "No message was accepted, so there is no state to compare.",
  );
});

test.concurrent("a receiver that answers 503 above 20 at the same time is right, although its state is measured among 64", async (context) => {
  const { receive, rows } = ledger();
  let working = 0;
  const origin = await startReceiver(context, {
    receive: async (message) => {
      working += 1;
      try {
        await wait(30);
        return working > 20 ? 503 : receive(message);
      } finally {
        working -= 1;
      }
    },
    rows,
  });
  expect(await search(stateFile(origin), 200)).toMatchObject({ schedules: 200, ...held });
});

test.concurrent("ids and times in whole seconds that a state shows are not compared", async (context) => {
  let id = 0;
  const origin = await startReceiver(
    context,
    ledger(() => ({ id: (id += 1), at: Math.floor(Date.now() / 1000) })),
  );
  expect(await search(stateFile(origin, "{ delays: [] }"), 200)).toMatchObject({
    schedules: 200,
    notes: ["Not compared, because they differ from run to run: id, at."],
    ...held,
  });
});

test.concurrent("a time that changes seldom is measured again", async (context) => {
  let came = 0;
  const { receive, rows } = ledger(() => ({ hour: (came += 1) > 60 ? 11 : 10 }));
  const origin = await startReceiver(context, { receive, rows });
  expect(await search(stateFile(origin, "{ delays: [] }"), 200)).toMatchObject({
    schedules: 200,
    notes: [],
    ...held,
  });
});

test.concurrent("effects that show only users are compared too where there is a state beside them", async (context) => {
  const { receive, rows } = ledger();
  const mails: string[] = [];
  const origin = await startReceiver(context, {
    receive: (message) => {
      mails.push(message.userId);
      return receive(message);
    },
    rows: () => mails.join("\n"),
  });
  const state = await startReceiver(context, { receive, rows });
  const file = stateFile(state, "{ together: 0, lostAnswers: 0, delays: [] }").replace(
    `url: ${state}/`,
    `url: ${origin}/, effects: ${origin}/rows`,
  );
  expect(await search(file, 40)).toMatchObject({
    notes: [expect.stringMatching(/^The effects show users but no message tokens/)],
    finding: { violations: [{ kind: "state" }], schedule: [{ do: "send" }, { do: "send" }] },
  });
});

test.concurrent("a receiver that handles one request at a time is right, although the last of 64 wait too long", async (context) => {
  const rows: string[] = [];
  let free: Promise<void> = Promise.resolve();
  const origin = await startReceiver(context, {
    receive: async ({ messageId }) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const turn = free;
      free = promise;
      const isInTime = await Promise.race([turn.then(() => true), wait(200).then(() => false)]);
      if (isInTime) await wait(10);
      void turn.then(resolve);
      if (isInTime && !rows.includes(messageId)) rows.push(messageId);
      return isInTime ? 204 : 504;
    },
    rows: () => rows.join("\n"),
  });
  const text = `  receiver: { url: ${origin}/, effects: ${origin}/rows }
  messages: [{ type: track, event: A }, { type: track, event: B }]
`;
  expect(await search(text, 200)).toMatchObject({ schedules: 200, ...held });
});

test.concurrent("a search that is asked to stop says how far it came, and one that makes a failure smaller writes it", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "explore-"));
  context.onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const stop = new AbortController();
  const started = Promise.withResolvers<void>();
  const rows: string[] = [];
  let isDoubling = false;
  const origin = await startReceiver(context, {
    receive({ messageId, userId }) {
      if (isDoubling || !rows.some((row) => row.includes(`${messageId}"`)))
        rows.push(JSON.stringify({ messageId, userId }));
      if (rows.length > 100) started.resolve();
      return 200;
    },
    rows: () => `[${rows.join()}]`,
  });
  const text = `name: Right
explore:
  receiver: { url: ${origin}/, effects: ${origin}/rows }
  messages: [{ type: track, event: A }, { type: track, event: B }, { type: track, event: C }]
`;
  writeFileSync(join(folder, "file.yaml"), text);
  const command = startHookyard([
    "explore",
    join(folder, "file.yaml"),
    "--json",
    "--minutes",
    "99",
  ]);
  context.onTestFinished(() => command.end());
  await started.promise;
  command.end();
  const { code, out, err } = await command.ended;
  expect([code, err]).toEqual([130, expect.stringContaining("Stopping after the schedules")]);
  expect(JSON.parse(out)).toMatchObject({ stopped: true, finding: null });

  const exploration = readExploration(text);
  if ("problems" in exploration) throw new Error(JSON.stringify(exploration.problems));
  const explored = await explore({
    ...{ exploration, secret: null, seed: 1, runs: 1000, minutes: 1440, signal: stop.signal },
    onProgress: () => (isDoubling = true),
    onFailure: () => stop.abort(),
  });
  expect(explored.isStopped).toBe(true);
  expect(explored.finding?.schedule).toEqual(explored.finding?.drawn);
});
