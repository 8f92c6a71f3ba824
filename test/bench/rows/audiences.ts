/**
 * What live audiences make an event cost, and the first sync of many members beside the delivery of
 * as many messages.
 */

import type { Source } from "../../../src/domain/configuration.ts";
import { snakeCase } from "../../../src/domain/snake-case.ts";
import type { Rule } from "../../../src/domain/rules.ts";
import type { Store } from "../../../src/engine/store-ports.ts";
import { openStore } from "../../../src/store/sqlite-store.ts";
import { startProgram, startScript, watchLoop, type Child, type Program } from "../children.ts";
import { addDestination, addSource, fill } from "../fill.ts";
import type { LoopDelay } from "../loop-delay.ts";
import { median, percentile, type BenchOptions, type Figure, type Row } from "../measure.ts";
import type { Arrivals } from "../receiver.ts";
import { withDirectory } from "../temporary.ts";

const users = 5000;

function addAudience(store: Store, name: string, rule: Rule): void {
  const own = {
    kind: "audience",
    mode: "explain",
    deduplicate: false,
    correctClockSkew: false,
  } as const;
  const source = store.insertSource({
    ...own,
    faults: [],
    plan: null,
    name,
    writeKey: name,
    createdAt: Date.now(),
  });
  const common = {
    openSync: null,
    lastSync: null,
    nextSyncAt: null,
    createdAt: Date.now(),
    members: null,
  };
  store.insertAudience({
    ...common,
    name,
    key: snakeCase(name),
    sync: "each-event",
    sourceId: source.id,
    rule,
  });
}

function fillWith(
  store: Store,
  source: Source,
  count: number,
  message: (nth: number) => object,
): void {
  for (let done = 0; done < count; done += 500) {
    const messages = Array.from({ length: Math.min(500, count - done) }, (_, nth) =>
      message(done + nth),
    );
    fill(store, [{ source, destinations: store.destinations(), receivedAt: Date.now(), messages }]);
  }
}

async function settled(program: Program): Promise<void> {
  const { settled } = await program.call<{ settled: boolean }>("POST", "/api/settle", {
    timeoutMs: 110_000,
  });
  if (!settled) throw new Error("the program does not settle");
}

/**
 * Microseconds of the processors for each event, with so many live audiences, which ask for the
 * events that come or for others.
 */
function costWith(
  audiences: number,
  asksFor: "these events" | "others",
  events: number,
): Promise<number> {
  return withDirectory(async (data) => {
    const store = openStore(data);
    const source = addSource(store, "Bench", "bench");
    for (let nth = 0; nth < audiences; nth += 1) {
      const event = asksFor === "others" ? `Another Event ${nth}` : "Order Completed";
      addAudience(store, `Audience ${nth}`, { event, atLeast: 1000 + nth, withinDays: 7 });
    }
    fillWith(store, source, events, (nth) => ({
      type: "track",
      userId: `user-${(nth * 7919) % users}`,
      event: "Order Completed",
      properties: { total: nth % 200 },
    }));
    store.close();
    const program = await startProgram(data);
    try {
      const before = program.processorMs();
      await settled(program);
      return ((program.processorMs() - before) * 1000) / events;
    } finally {
      await program.stop();
    }
  });
}

export const liveAudiences: Row = {
  name: "live-audiences",
  async run(options: BenchOptions) {
    const events = options.quick ? 20_000 : 50_000;
    const kinds = [
      [0, "others"],
      [10, "others"],
      [100, "others"],
      [10, "these events"],
      [100, "these events"],
    ] as const;
    const costs = kinds.map((): number[] => []);
    // In turn, so that what else the machine does hits all of them.
    for (let run = 0; run < (options.quick ? 2 : 3); run += 1) {
      for (const [place, [count, asksFor]] of kinds.entries())
        costs[place]?.push(await costWith(count, asksFor, events));
      options.say(costs.map((runs) => Math.round(runs.at(-1) ?? 0)).join(" : "));
    }
    const [none = []] = costs;
    return kinds.map(([count, asksFor], place): Figure => {
      const runs = costs[place] ?? [];
      const value = median(runs);
      const named =
        count === 0 ? "no live audience" : `${count} live audiences that ask for ${asksFor}`;
      // Those that an event cannot affect have to cost next to nothing.
      const mustReach =
        count > 0 && asksFor === "others" ? { mustReach: { atMost: median(none) * 1.25 } } : {};
      return {
        figure: `following an event with ${named}`,
        unit: "µs",
        value,
        floor: median(none),
        ratio: value / median(none),
        ...mustReach,
        runs,
      };
    });
  },
};

const rule: Rule = { trait: "plan", op: "is", value: "pro" };
const identify = (nth: number): object => ({
  type: "identify",
  userId: `user-${nth}`,
  traits: { plan: "pro" },
});

type Shop = { receiver: Child; url: string; members: number };

type Delivered = {
  rate: number;
  costMs: number;
  mostMb: number;
  answersMs: number[];
  loop: LoopDelay;
};

/**
 * From the order to begin until the last delivery has arrived, with a call to the ingest port every
 * 20 ms.
 */
async function delivered(
  { receiver, members }: Shop,
  data: string,
  begin: (program: Program) => Promise<void>,
): Promise<Delivered> {
  const program = await startProgram(data, { nodeFlags: watchLoop });
  try {
    await settled(program);
    receiver.send({ expect: members });
    const arrived = receiver.answer<Arrivals>();
    const answersMs: number[] = [];
    let mostMb = 0;
    let isOver = false;
    const asked = (async () => {
      for (let nth = 0; !isOver; nth += 1) {
        const startedAt = performance.now();
        const body = JSON.stringify({
          userId: `other-${nth}`,
          event: "Asked",
          integrations: { All: false },
        });
        await fetch(`${program.ingestUrl}/v1/track`, {
          method: "POST",
          headers: { authorization: `Basic ${btoa("bench:")}` },
          body,
        });
        answersMs.push(performance.now() - startedAt);
        mostMb = Math.max(mostMb, program.residentBytes() / 1e6);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
    program.send({});
    await program.answer();
    const costBefore = program.processorMs();
    const startedAt = performance.timeOrigin + performance.now();
    await begin(program);
    const { lastAt } = await arrived;
    isOver = true;
    await asked;
    await settled(program);
    program.send({});
    const loop = await program.answer<LoopDelay>();
    const costMs = (program.processorMs() - costBefore) / members;
    return { rate: (members * 1000) / (lastAt - startedAt), costMs, mostMb, answersMs, loop };
  } finally {
    await program.stop();
  }
}

/** As many identifies as members, which wait in the queue of a destination until it is enabled. */
function plain(shop: Shop): Promise<Delivered> {
  return withDirectory(async (data) => {
    const store = openStore(data);
    const source = addSource(store, "Bench", "bench");
    const destination = addDestination(store, {
      name: "Bench",
      source,
      url: shop.url,
      sharedSecret: "s",
    });
    fillWith(store, source, shop.members, identify);
    store.updateDestination({ ...destination, enabled: false });
    store.close();
    return delivered(shop, data, async (program) => {
      const { items } = await program.call<{ items: { id: string }[] }>("GET", "/api/destinations");
      await program.call("PATCH", `/api/destinations/${items[0]?.id}`, { enabled: true });
    });
  });
}

function synced(shop: Shop): Promise<Delivered> {
  return withDirectory(async (data) => {
    const store = openStore(data);
    const source = addSource(store, "Bench", "bench");
    fillWith(store, source, shop.members, identify);
    addDestination(store, { name: "Bench", source, url: shop.url, sharedSecret: "s" });
    store.close();
    return delivered(shop, data, async (program) => {
      const { size } = await program.call<{ size: number }>("POST", "/api/audiences", {
        name: "Pros",
        rule,
      });
      if (size !== shop.members) throw new Error(`${size} members`);
    });
  });
}

export const firstSync: Row = {
  name: "first-sync",
  async run(options) {
    const members = options.quick ? 20_000 : 100_000;
    const receiver = startScript("receiver.ts");
    try {
      const { url } = await receiver.answer<{ url: string }>();
      const shop = { receiver, url, members };
      const runs: { ours: Delivered; floor: Delivered }[] = [];
      for (let run = 0; run < (options.quick ? 1 : 3); run += 1) {
        const one = { ours: await synced(shop), floor: await plain(shop) };
        runs.push(one);
        options.say(
          Object.values(one)
            .map(({ rate, mostMb }) => `${Math.round(rate)}/s, ${Math.round(mostMb)} MB`)
            .join(" : "),
        );
      }
      const both = (read: (of: Delivered) => number) => ({
        value: median(runs.map(({ ours }) => read(ours))),
        floor: median(runs.map(({ floor }) => read(floor))),
        ratio: median(runs.map(({ ours, floor }) => read(ours) / read(floor))),
      });
      const p99 = ({ answersMs }: Delivered): number => percentile(answersMs, 0.99);
      return [
        {
          figure: `first sync of ${members.toLocaleString("en-US")} members, to the last arrival`,
          unit: "members/s",
          ...both((of) => of.rate),
          runs,
        },
        {
          figure: "the same, of the processors for each member",
          unit: "ms",
          ...both((of) => of.costMs),
        },
        {
          figure: "resident memory meanwhile, at most",
          unit: "MB",
          ...both((of) => of.mostMb),
          mustReach: { atMost: 400 },
        },
        { figure: "a call at ingest meanwhile, p99", unit: "ms", ...both(p99) },
        {
          figure: "block of the event loop meanwhile, p99.9",
          unit: "ms",
          ...both(({ loop }) => loop.p999),
          mustReach: { atMost: 50 },
        },
        {
          figure: "block of the event loop meanwhile, longest",
          unit: "ms",
          ...both(({ loop }) => loop.max),
          mustReach: { atMost: 200 },
        },
      ];
    } finally {
      await receiver.stop();
    }
  },
};
