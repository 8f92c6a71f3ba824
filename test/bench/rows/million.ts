/**
 * What 1,000,000 messages on disk cost, and 5,000,000: start, memory, pages of the list, and the
 * event loop under load.
 */

import { closeSync, copyFileSync, fsyncSync, openSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { Client } from "undici";
import { dataFileName } from "../../../src/store/open.ts";
import { startProgram, startScript, watchLoop, type Program } from "../children.ts";
import { cachedStore, rareEvent } from "../generate.ts";
import type { LoopDelay } from "../loop-delay.ts";
import { median, percentile, type BenchOptions, type Figure, type Row } from "../measure.ts";
import { events, pick, seeded, userName, type Random } from "../messages.ts";
import type { Load, Sent } from "../sender.ts";
import { withDirectory } from "../temporary.ts";

const million = 1_000_000;

export const millionStore = (options: BenchOptions): string => storeOf(million, options);

function storeOf(messages: number, { say }: BenchOptions): string {
  const { data, tookMs } = cachedStore(messages);
  if (tookMs !== null)
    say(
      `made ${messages.toLocaleString("en-US")} messages in ${(tookMs / 1000).toFixed(1)} s: ${data}`,
    );
  return data;
}

type Page = { items: { id: string }[]; nextCursor: string | null };
type Lister = (query: Record<string, string>) => Promise<{ ms: number; page: Page }>;

/** Over one kept connection; the time includes reading and not parsing the answer. */
async function withLister<T>(program: Program, use: (list: Lister) => Promise<T>): Promise<T> {
  const client = new Client(program.uiUrl);
  try {
    return await use(async (query) => {
      const startedAt = performance.now();
      const path = `/api/messages?${new URLSearchParams(query).toString()}`;
      const { statusCode, body } = await client.request({
        path,
        method: "GET",
        headers: { authorization: `Bearer ${program.token}` },
      });
      const text = await body.text();
      const ms = performance.now() - startedAt;
      if (statusCode !== 200) throw new Error(`${path}: ${statusCode} ${text}`);
      return { ms, page: JSON.parse(text) as Page };
    });
  } finally {
    await client.close();
  }
}

type Filter = {
  name: string;
  query: (random: Random) => Record<string, string>;
  mayBeEmpty?: true;
};

const filters = (sourceIds: string[]): Filter[] => [
  { name: "no filter", query: () => ({}) },
  {
    name: "state",
    query: (random) => ({
      state: pick(random, [
        "delivered",
        "failed",
        "expired",
        "cancelled",
        "filtered",
        "rejected",
        "duplicate",
      ]),
    }),
  },
  {
    name: "type",
    query: (random) => ({
      type: pick(random, ["track", "page", "identify", "screen", "group", "alias"]),
    }),
  },
  { name: "source", query: (random) => ({ sourceId: pick(random, sourceIds) }) },
  { name: "user", query: (random) => ({ userId: userName(random) }) },
  { name: "event", query: (random) => ({ event: pick(random, events) }) },
  { name: "rare event", query: () => ({ event: rareEvent }) },
  {
    name: "type and state",
    query: (random) => ({
      type: pick(random, ["track", "group"]),
      state: pick(random, ["failed", "rejected"]),
    }),
    mayBeEmpty: true,
  },
  {
    name: "user and event",
    query: (random) => ({ userId: userName(random), event: pick(random, events) }),
    mayBeEmpty: true,
  },
  {
    name: "event and state",
    query: (random) => ({
      event: pick(random, events),
      state: pick(random, ["cancelled", "delivered"]),
    }),
  },
  ...[
    ["any status", "status:5xx"],
    ["status of the newest answer", "status:last=404"],
    ["outcome", "outcome:timeout"],
    ["attempts", "attempts:>2"],
    ["event in any case, with a state", 'event:"order completed" state:failed'],
    ["an event that nothing has, with a word", "event:order completed state:failed"],
    ["what is left out", "-state:delivered -type:track"],
    ["time", "last:1m"],
    ["destination", "destination:receiver"],
    ["words in the row", "order track"],
    ["words in the payload", "jumper clothing"],
    ["a word left out", "-jumper"],
  ].map(([name = "", filter = ""]): Filter => ({
    name,
    query: () => ({ filter }),
    mayBeEmpty: true,
  })),
  {
    name: "source without state",
    query: (random) => ({
      sourceId: sourceIds[0] ?? "",
      state: pick(random, ["delivered", "cancelled"]),
    }),
    mayBeEmpty: true,
  },
];

/** Pages of the list unfiltered and by each filter; the 95th percentile of each may be `atMost`. */
async function pagesOf(
  program: Program,
  { quick }: BenchOptions,
  { named, atMost }: { named: string; atMost: number },
): Promise<Figure[]> {
  const sources = await program.call<{ items: { id: string }[] }>("GET", "/api/sources");
  const calls = quick ? 50 : 200;
  return withLister(program, async (list) => {
    const figures: Figure[] = [];
    for (const { name, query, mayBeEmpty } of filters(sources.items.map(({ id }) => id))) {
      const random = seeded(1);
      const times: number[] = [];
      for (let call = 0; call < calls; call += 1) {
        const { ms, page } = await list({ ...query(random), limit: "100" });
        if (page.items.length === 0 && mayBeEmpty === undefined)
          throw new Error(`nothing in the list by ${name}`);
        times.push(ms);
      }
      figures.push({
        figure: `list of ${named}, p95: ${name}`,
        unit: "ms",
        value: percentile(times, 0.95),
        mustReach: { atMost },
        runs: {
          p50: percentile(times, 0.5),
          p95: percentile(times, 0.95),
          max: Math.max(...times),
          calls,
        },
      });
    }
    const searched: number[] = [];
    for (let call = 0; call < 5; call += 1)
      searched.push((await list({ filter: "track lovelace", limit: "100" })).ms);
    figures.push({
      figure: `list of ${named}, median: words that no message has, every body read`,
      unit: "ms",
      value: median(searched),
    });
    figures.push({
      figure: `list of ${named}, p95: following pages`,
      unit: "ms",
      value: percentile(await scrolling(list, calls), 0.95),
      mustReach: { atMost },
    });
    return figures;
  });
}

export const listPages: Row = {
  name: "list",
  async run(options) {
    const program = await startProgram(millionStore(options));
    try {
      return await pagesOf(program, options, { named: "1,000,000", atMost: 10 });
    } finally {
      await program.stop();
    }
  },
};

export const listFiveMillion: Row = {
  name: "list-5m",
  large: true,
  async run(options) {
    const data = storeOf(5 * million, options);
    const times = await startTimes(data, 3);
    const program = await startProgram(data);
    try {
      return [
        {
          figure: "start with 5,000,000 until ready",
          unit: "ms",
          value: median(times),
          mustReach: { atMost: 1500 },
          runs: times,
        },
        ...(await pagesOf(program, options, { named: "5,000,000", atMost: 50 })),
        {
          figure: "resident memory with 5,000,000 on disk, after all these pages",
          unit: "MB",
          value: program.residentBytes() / 1e6,
        },
      ];
    } finally {
      await program.stop();
    }
  },
};

async function scrolling(list: Lister, calls: number): Promise<number[]> {
  const times: number[] = [];
  let cursor: string | null = null;
  for (let call = 0; call < calls; call += 1) {
    const { ms, page }: { ms: number; page: Page } = await list({
      limit: "100",
      ...(cursor === null ? {} : { cursor }),
    });
    times.push(ms);
    cursor = page.nextCursor;
  }
  return times;
}

async function startTimes(data: string, runs: number): Promise<number[]> {
  const times: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    const program = await startProgram(data);
    times.push(program.readyAfterMs);
    await program.stop();
  }
  return times;
}

export const start: Row = {
  name: "start",
  async run(options) {
    const times = await startTimes(millionStore(options), options.quick ? 3 : 5);
    return [
      {
        figure: "start with 1,000,000 until ready",
        unit: "ms",
        value: median(times),
        mustReach: { atMost: 400 },
        runs: times,
      },
    ];
  },
};

export const memory: Row = {
  name: "memory",
  async run(options) {
    const program = await startProgram(millionStore(options));
    try {
      const atStart = program.residentBytes() / 1e6;
      await withLister(program, async (list) => {
        for (let call = 0; call < 100; call += 1) await list({ limit: "100" });
      });
      const value = program.residentBytes() / 1e6;
      return [
        {
          figure: "resident memory with 1,000,000 on disk",
          unit: "MB",
          value,
          mustReach: { atMost: 160 },
          runs: { atStart },
        },
      ];
    } finally {
      await program.stop();
    }
  },
};

/**
 * 2,000 messages a second in batches of 100, all delivered, with a listener on the changes and a
 * page of the list four times a second.
 */
export const eventLoop: Row = {
  name: "event-loop",
  run: (options) =>
    withDirectory(async (data) => {
      copyStore(millionStore(options), data);
      // 60,000 messages: enough for the tables of recent message ids to grow once.
      const seconds = options.quick ? 5 : 30;
      const program = await startProgram(data, { nodeFlags: watchLoop });
      const receiver = startScript("receiver.ts");
      const idle = startScript("idle.ts");
      const writeKey = "bench";
      const load: Load = {
        url: program.ingestUrl,
        connections: 4,
        batch: 100,
        requests: seconds * 20,
        writeKey,
        seed: 5,
        everyMs: 50,
      };
      const sender = startScript("sender.ts", load);
      try {
        const { url } = await receiver.answer<{ url: string }>();
        await idle.answer();
        const { id } = await program.call<{ id: string }>("POST", "/api/sources", {
          name: "Bench",
          writeKey,
        });
        await program.call("POST", "/api/destinations", {
          name: "Bench",
          sourceIds: [id],
          webhooks: [{ url }],
          sharedSecret: "s",
        });
        await sender.answer();
        const changes = await listenToChanges(program);
        for (const watched of [program, idle]) {
          watched.send({});
          await watched.answer();
        }
        sender.send({});
        const sent = sender.answer<Sent>();
        const listing = setInterval(() => void program.call("GET", "/api/messages?limit=100"), 250);
        const { startedAt, endedAt } = await sent;
        clearInterval(listing);
        changes.destroy();
        program.send({});
        idle.send({});
        const [loop, idleLoop] = await Promise.all([
          program.answer<LoopDelay>(),
          idle.answer<LoopDelay>(),
        ]);
        const rate = (load.requests * load.batch * 1000) / (endedAt - startedAt);
        options.say(
          `${Math.round(rate)} messages/s came in; the columns "floor" of an idle process at the same time`,
        );
        const resident = program.residentBytes() / 1e6;
        const runs = { loop, idleLoop, rate, resident };
        return [
          {
            figure: "block of the event loop at 2,000 messages/s, p99.9",
            unit: "ms",
            value: loop.p999,
            floor: idleLoop.p999,
            mustReach: { atMost: 15 },
            runs,
          },
          {
            figure: "block of the event loop at 2,000 messages/s, longest",
            unit: "ms",
            value: loop.max,
            floor: idleLoop.max,
            mustReach: { atMost: 60 },
          },
          { figure: "resident memory after that load", unit: "MB", value: resident },
        ];
      } finally {
        for (const child of [sender, program, receiver, idle]) await child.stop();
      }
    }),
};

/**
 * On the disk when it returns: otherwise the program's first sync would have to wait for the whole
 * copy.
 */
export function copyStore(from: string, to: string): void {
  copyFileSync(join(from, dataFileName), join(to, dataFileName));
  const file = openSync(join(to, dataFileName), "r+");
  fsyncSync(file);
  closeSync(file);
}

function listenToChanges({ uiUrl, token }: Program): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(`${uiUrl}/api/events`, { headers: { authorization: `Bearer ${token}` } }, (response) => {
      response.resume();
      response.on("error", () => undefined);
      resolve(response);
    }).on("error", reject);
  });
}
