/**
 * Deliveries per second to one webhook over 64 connections: of a full queue, and with ingest going
 * on in front of it.
 */

import { openStore } from "../../../src/store/sqlite-store.ts";
import { startProgram, startScript, type Child, type Program } from "../children.ts";
import { addDestination, addSource, fill } from "../fill.ts";
import type { DeliveryFloor } from "../floors/delivery-floor.ts";
import { makeMessage, seeded } from "../messages.ts";
import { median, takePairs, warmUp, type BenchOptions, type Row } from "../measure.ts";
import type { Arrivals, Expected } from "../receiver.ts";
import { sendLoad } from "../send-load.ts";
import type { Load, Sent } from "../sender.ts";
import { withDirectory } from "../temporary.ts";

export const secret = "a shared secret of the bench";
const writeKey = "bench";
export const connections = 64;

export type Receiver = { child: Child; url: string };

export async function withReceiver<T>(
  use: (receiver: Receiver) => Promise<T>,
  { silent = false } = {},
): Promise<T> {
  const child = startScript("receiver.ts", { silent });
  try {
    const { url } = await child.answer<{ url: string }>();
    return await use({ child, url });
  } finally {
    await child.stop();
  }
}

type Counted = { deliveries: number; warm: number };

async function floor(
  { child, url }: Receiver,
  { deliveries, warm }: Counted,
  over: DeliveryFloor["over"] = "undici",
): Promise<number> {
  const loop = startScript("floors/delivery-floor.ts", {
    over,
    url,
    deliveries: warm + deliveries,
    connections,
    secret,
  } satisfies DeliveryFloor);
  try {
    await loop.answer();
    child.send({ expect: deliveries, after: warm } satisfies Expected);
    const arrived = child.answer<Arrivals>();
    loop.send({});
    const { firstAt, lastAt } = await arrived;
    return (deliveries * 1000) / (lastAt - firstAt);
  } finally {
    await loop.stop();
  }
}

/** Resolves when profiles have followed too; all that arrived is on record as delivered. */
async function checkRecorded(program: Program, deliveries: number): Promise<void> {
  const { settled } = await program.call<{ settled: boolean }>("POST", "/api/settle", {
    timeoutMs: 60_000,
  });
  const stats = await program.call<{ deliveries: { byState: { delivered: number } } }>(
    "GET",
    "/api/stats",
  );
  if (!settled || stats.deliveries.byState.delivered !== deliveries)
    throw new Error(`${deliveries} deliveries: ${JSON.stringify(stats)}`);
}

type Queue = { name: string; writeKey: string; url: string; deliveries: number };

/** A source with its destination and a queue, written through the store. */
export function fillQueue(data: string, { name, writeKey, url, deliveries }: Queue): void {
  const store = openStore(data);
  const source = addSource(store, name, writeKey);
  const destinations = [addDestination(store, { name, source, url, sharedSecret: secret })];
  const random = seeded(1);
  for (let done = 0; done < deliveries; done += 500) {
    fill(store, [
      {
        source,
        destinations,
        receivedAt: Date.now(),
        messages: Array.from({ length: 500 }, () => makeMessage(random)),
      },
    ]);
  }
  store.close();
}

/** Sources that have a destination each. */
function addPairs(data: string, count: number, url: string): void {
  const store = openStore(data);
  store.atomically(() => {
    for (let nth = 0; nth < count; nth += 1)
      addDestination(store, {
        name: `Bench ${nth}`,
        source: addSource(store, `Bench ${nth}`, `${writeKey}-${nth}`),
        url,
        sharedSecret: secret,
      });
  });
  store.close();
}

type Delivered = {
  perSecond: number;
  /** Microseconds of the main thread for each delivery, with what it follows meanwhile. */
  mainThreadUs: number;
};

export function queued(
  { child, url }: Receiver,
  { deliveries, warm }: Counted,
  others = 0,
): Promise<Delivered> {
  return withDirectory(async (data) => {
    addPairs(data, others, url);
    fillQueue(data, { name: "Queue", writeKey, url, deliveries: warm + deliveries });
    child.send({ expect: deliveries, after: warm } satisfies Expected);
    const arrived = child.answer<Arrivals>();
    const program = await startProgram(data);
    const mainThread = sampled(program.mainThreadMs);
    try {
      const { firstAt, lastAt } = await arrived;
      const mainThreadMs = mainThread.at(lastAt) - mainThread.at(firstAt);
      await checkRecorded(program, warm + deliveries);
      return {
        perSecond: (deliveries * 1000) / (lastAt - firstAt),
        mainThreadUs: (mainThreadMs * 1000) / deliveries,
      };
    } finally {
      mainThread.stop();
      await program.stop();
    }
  });
}

/** What a value was at a moment that is known only afterwards. */
function sampled(read: () => number): { at: (time: number) => number; stop: () => void } {
  const samples: { time: number; value: number }[] = [];
  const take = (): void => {
    samples.push({ time: performance.timeOrigin + performance.now(), value: read() });
  };
  take();
  const timer = setInterval(take, 10);
  return {
    at: (time) => (samples.findLast((sample) => sample.time <= time) ?? samples[0]!).value,
    stop: () => clearInterval(timer),
  };
}

type Ingested = {
  /** From the first byte at the ingest port to the last arrival at the receiver. */
  perSecond: number;
  /** The same until profiles have followed. */
  followedPerSecond: number;
  /** Microseconds of the processors for each message, and of the main thread alone. */
  processorUs: number;
  mainThreadUs: number;
  /** Kilobytes written to the disk for each message, with what the log and its checkpoints repeat. */
  writtenKb: number;
  /** Milliseconds to create one more source with its destination. */
  oneMoreMs: number;
};

type Ingesting = Counted & {
  flags?: readonly string[];
  /** Sources, each with a destination of its own, that get the messages in turn. */
  sources?: number;
} & Partial<Pick<Load, "batch" | "messageBytes">>;

function ingested(
  { child, url }: Receiver,
  { deliveries, warm, flags = [], sources = 1, batch = 500, messageBytes = 0 }: Ingesting,
): Promise<Ingested> {
  return withDirectory(async (data) => {
    addPairs(data, sources, url);
    const program = await startProgram(data, { flags });
    const load: Load = {
      url: program.ingestUrl,
      connections: 8,
      batch,
      messageBytes,
      requests: deliveries / batch,
      writeKey,
      keys: sources,
      seed: 3,
    };
    let sender: Child | null = null;
    try {
      await sendLoad({ ...load, requests: warm / batch, seed: 4 });
      await checkRecorded(program, warm);
      // Not before: its connections would wait for their first request too long.
      sender = startScript("sender.ts", load);
      await sender.answer();
      child.send({ expect: deliveries } satisfies Expected);
      const arrived = child.answer<Arrivals>();
      const before = program.processorMs();
      const beforeOfMain = program.mainThreadMs();
      const written = program.writtenBytes();
      sender.send({});
      const [{ startedAt }, { lastAt }] = await Promise.all([sender.answer<Sent>(), arrived]);
      await checkRecorded(program, warm + deliveries);
      const followedAt = performance.timeOrigin + performance.now();
      return {
        perSecond: (deliveries * 1000) / (lastAt - startedAt),
        followedPerSecond: (deliveries * 1000) / (followedAt - startedAt),
        processorUs: ((program.processorMs() - before) * 1000) / deliveries,
        mainThreadUs: ((program.mainThreadMs() - beforeOfMain) * 1000) / deliveries,
        writtenKb: (program.writtenBytes() - written) / 1024 / deliveries,
        oneMoreMs: await oneMore(program, url),
      };
    } finally {
      await sender?.stop();
      await program.stop();
    }
  });
}

/** The first hundred do not count: their code is not compiled yet. */
async function oneMore(program: Program, url: string): Promise<number> {
  const times: number[] = [];
  for (let nth = 0; nth < 120; nth += 1) {
    const startedAt = performance.now();
    const name = `One more ${nth}`;
    const { id } = await program.call<{ id: string }>("POST", "/api/sources", { name });
    await program.call("POST", "/api/destinations", {
      name,
      sourceIds: [id],
      webhooks: [{ url }],
    });
    times.push(performance.now() - startedAt);
  }
  return median(times.slice(100));
}

const countOf = (options: BenchOptions): Counted => ({
  deliveries: options.quick ? 10_000 : 20_000,
  warm: warmUp(options),
});

export const deliveryQueued: Row = {
  name: "delivery",
  run: (options) =>
    withReceiver(async (receiver) => {
      const n = countOf(options);
      const bare: number[] = [];
      const mainThreadUs: number[] = [];
      const pairs = await takePairs(
        options,
        async () => {
          const run = await queued(receiver, n);
          mainThreadUs.push(run.mainThreadUs);
          return run.perSecond;
        },
        async () => {
          bare.push(await floor(receiver, n, "node:net"));
          return floor(receiver, n);
        },
        5,
      );
      return [
        {
          figure: "delivery of queued messages, 64 connections; floor: undici",
          unit: "deliveries/s",
          ...pairs,
          mustReach: { ratio: 0.8 },
        },
        {
          figure: "the same, processor time of the main thread for each delivery",
          unit: "µs",
          value: median(mainThreadUs),
          // On more processors, the main thread then leaves room for 25,000 a second.
          mustReach: { atMost: 40 },
          runs: mainThreadUs,
        },
        {
          figure: "the floor over bare sockets; floor: undici",
          unit: "deliveries/s",
          value: median(bare),
          floor: pairs.floor,
          ratio: median(bare) / pairs.floor,
          runs: bare,
        },
      ];
    }),
};

export const deliveryAmongMany: Row = {
  name: "delivery-among-many",
  run: (options) =>
    withReceiver(async (receiver) => {
      const n = countOf(options);
      const pairs = await takePairs(
        options,
        async () => (await queued(receiver, n, 1000)).perSecond,
        async () => (await queued(receiver, n)).perSecond,
      );
      return [
        {
          figure: "the same, beside 1,000 idle sources and destinations; floor: without them",
          unit: "deliveries/s",
          ...pairs,
        },
      ];
    }),
};

export const deliveryIngested: Row = {
  name: "ingest-to-delivered",
  run: (options) =>
    withReceiver(async (receiver) => {
      const n = countOf(options);
      const runs: Ingested[] = [];
      const pairs = await takePairs(
        options,
        async () => {
          const run = await ingested(receiver, n);
          runs.push(run);
          return run.perSecond;
        },
        () => floor(receiver, n),
        5,
      );
      const followed = median(runs.map(({ followedPerSecond }) => followedPerSecond));
      return [
        {
          figure: "from ingest (batches of 500) to delivered",
          unit: "deliveries/s",
          ...pairs,
          mustReach: { ratio: 0.6 },
        },
        {
          figure: "the same, until profiles have followed",
          unit: "messages/s",
          value: followed,
          floor: pairs.floor,
          ratio: followed / pairs.floor,
          mustReach: { ratio: 0.45 },
          runs,
        },
        {
          figure: "the same, processor time of the main thread for each message",
          unit: "µs",
          value: median(runs.map(({ mainThreadUs }) => mainThreadUs)),
        },
      ];
    }),
};

/**
 * Two messages in a request, so that the deliveries of a second open as many connections as most
 * systems let a process have.
 */
export const manyInUse: Row = {
  name: "many-in-use",
  run: (options) =>
    withReceiver(async (receiver) => {
      const deliveries = options.quick ? 4000 : 20_000;
      const oneMoreMs: number[] = [];
      const besideOneMs: number[] = [];
      const cost = async (sources: number): Promise<number> => {
        const run = await ingested(receiver, { deliveries, warm: 2000, sources, batch: 2 });
        (sources > 1 ? oneMoreMs : besideOneMs).push(run.oneMoreMs);
        return run.processorUs;
      };
      const pairs = await takePairs(
        options,
        () => cost(1000),
        () => cost(1),
      );
      return [
        {
          figure: "attempt with 1,000 sources and destinations in use; floor: one of each",
          unit: "µs",
          ...pairs,
          mustReach: { ratioAtMost: 1.3 },
        },
        {
          figure: "one more source with its destination, beside 1,000; floor: beside one",
          unit: "ms",
          value: median(oneMoreMs),
          floor: median(besideOneMs),
          mustReach: { atMost: 5 },
          runs: oneMoreMs,
        },
      ];
    }),
};

export const largeMessages: Row = {
  name: "large-messages",
  run: (options) =>
    withReceiver(async (receiver) => {
      const runs: Ingested[] = [];
      for (let run = 0; run < 3; run += 1) {
        runs.push(
          await ingested(receiver, {
            deliveries: options.quick ? 1000 : 3000,
            warm: 500,
            batch: 10,
            // Below the limit of a message, 32,768 bytes.
            messageBytes: 32_000,
          }),
        );
        const { processorUs, mainThreadUs, writtenKb } = runs.at(-1) as Ingested;
        options.say(
          `${Math.round(processorUs)} µs, main thread ${Math.round(mainThreadUs)} µs, ${Math.round(writtenKb)} KB`,
        );
      }
      const figure = "a message of 32 KB, ingest to delivered";
      const of = (read: (run: Ingested) => number): number => median(runs.map(read));
      return [
        {
          figure: `${figure}: processor time of the main thread`,
          unit: "µs",
          value: of(({ mainThreadUs }) => mainThreadUs),
          mustReach: { atMost: 400 },
          runs,
        },
        {
          figure: `${figure}: of all threads`,
          unit: "µs",
          value: of(({ processorUs }) => processorUs),
        },
        {
          figure: `${figure}: written`,
          unit: "KB",
          value: of(({ writtenKb }) => writtenKb),
          mustReach: { atMost: 120 },
        },
      ];
    }),
};

export const traces: Row = {
  name: "traces",
  run: (options) =>
    withReceiver((receiver) =>
      withReceiver(async (collector) => {
        const n = countOf(options);
        const cost = async (...flags: string[]): Promise<number> =>
          (await ingested(receiver, { ...n, flags })).processorUs;
        const pairs = await takePairs(
          options,
          () => cost("--traces", collector.url),
          () => cost(),
        );
        return [
          {
            figure: "processor time per message with traces; floor: without them",
            unit: "µs",
            ...pairs,
          },
        ];
      }),
    ),
};
