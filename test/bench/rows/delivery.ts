/**
 * Deliveries per second to one webhook over 64 connections: of a full queue, and with ingest going
 * on in front of it.
 */

import { openStore } from "../../../src/store/sqlite-store.ts";
import { startProgram, startScript, type Child, type Program } from "../children.ts";
import { addDestination, addSource, fill } from "../fill.ts";
import type { DeliveryFloor } from "../floors/delivery-floor.ts";
import { makeMessage, seeded } from "../messages.ts";
import { median, takePairs, type BenchOptions, type Row } from "../measure.ts";
import type { Arrivals } from "../receiver.ts";
import type { Load, Sent } from "../sender.ts";
import { withDirectory } from "../temporary.ts";

const secret = "a shared secret of the bench";
const writeKey = "bench";
const connections = 64;

type Receiver = { child: Child; url: string };

async function withReceiver<T>(use: (receiver: Receiver) => Promise<T>): Promise<T> {
  const child = startScript("receiver.ts");
  try {
    const { url } = await child.answer<{ url: string }>();
    return await use({ child, url });
  } finally {
    await child.stop();
  }
}

async function floor({ child, url }: Receiver, deliveries: number): Promise<number> {
  const loop = startScript("floors/delivery-floor.ts", {
    url,
    deliveries,
    connections,
    secret,
  } satisfies DeliveryFloor);
  try {
    await loop.answer();
    child.send({ expect: deliveries });
    const arrived = child.answer<Arrivals>();
    loop.send({});
    const { firstAt, lastAt } = await arrived;
    return (deliveries * 1000) / (lastAt - firstAt);
  } finally {
    await loop.stop();
  }
}

/** All that arrived is on record as delivered. */
async function checkRecorded(program: Program, deliveries: number): Promise<void> {
  const { settled } = await program.call<{ settled: boolean }>("POST", "/api/settle", {
    timeoutMs: 10_000,
  });
  const stats = await program.call<{ deliveries: { byState: { delivered: number } } }>(
    "GET",
    "/api/stats",
  );
  if (!settled || stats.deliveries.byState.delivered !== deliveries)
    throw new Error(`${deliveries} deliveries: ${JSON.stringify(stats)}`);
}

/** `others`: sources that have a destination each, and no messages. */
function fillQueue(data: string, url: string, deliveries: number, others: number): void {
  const store = openStore(data);
  store.atomically(() => {
    for (let n = 0; n < others; n += 1)
      addDestination(store, {
        name: `Other ${n}`,
        source: addSource(store, `Other ${n}`, `other-${n}`),
        url,
        sharedSecret: null,
      });
  });
  const source = addSource(store, "Bench", writeKey);
  const destinations = [
    addDestination(store, { name: "Bench", source, url, sharedSecret: secret }),
  ];
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

function queued({ child, url }: Receiver, deliveries: number, others = 0): Promise<number> {
  return withDirectory(async (data) => {
    fillQueue(data, url, deliveries, others);
    child.send({ expect: deliveries });
    const arrived = child.answer<Arrivals>();
    const program = await startProgram(data);
    try {
      const { firstAt, lastAt } = await arrived;
      await checkRecorded(program, deliveries);
      return (deliveries * 1000) / (lastAt - firstAt);
    } finally {
      await program.stop();
    }
  });
}

type Ingested = {
  /** From the first byte at the ingest port to the last arrival at the receiver. */
  perSecond: number;
  /** Microseconds of the processors for each message. */
  processorUs: number;
  /** Kilobytes written to the disk for each message, with what the log and its checkpoints repeat. */
  writtenKb: number;
};

type Ingesting = { deliveries: number; flags?: readonly string[] } & Partial<
  Pick<Load, "batch" | "messageBytes">
>;

function ingested(
  { child, url }: Receiver,
  { deliveries, flags = [], batch = 500, messageBytes = 0 }: Ingesting,
): Promise<Ingested> {
  return withDirectory(async (data) => {
    const program = await startProgram(data, { flags });
    const load: Load = {
      url: program.ingestUrl,
      connections: 8,
      batch,
      messageBytes,
      requests: deliveries / batch,
      writeKey,
      seed: 3,
    };
    const sender = startScript("sender.ts", load);
    try {
      const { id } = await program.call<{ id: string }>("POST", "/api/sources", {
        name: "Bench",
        writeKey,
      });
      await program.call("POST", "/api/destinations", {
        name: "Bench",
        sourceIds: [id],
        webhooks: [{ url }],
        sharedSecret: secret,
      });
      await sender.answer();
      child.send({ expect: deliveries });
      const arrived = child.answer<Arrivals>();
      const before = program.processorMs();
      const written = program.writtenBytes();
      sender.send({});
      const [{ startedAt }, { lastAt }] = await Promise.all([sender.answer<Sent>(), arrived]);
      await checkRecorded(program, deliveries);
      return {
        perSecond: (deliveries * 1000) / (lastAt - startedAt),
        processorUs: ((program.processorMs() - before) * 1000) / deliveries,
        writtenKb: (program.writtenBytes() - written) / 1024 / deliveries,
      };
    } finally {
      await sender.stop();
      await program.stop();
    }
  });
}

const countOf = ({ quick }: BenchOptions): number => (quick ? 10_000 : 20_000);

export const deliveryQueued: Row = {
  name: "delivery",
  run: (options) =>
    withReceiver(async (receiver) => {
      const n = countOf(options);
      const pairs = await takePairs(
        options,
        () => queued(receiver, n),
        () => floor(receiver, n),
      );
      return [
        {
          figure: "delivery of queued messages, 64 connections",
          unit: "deliveries/s",
          ...pairs,
          mustReach: { ratio: 0.5 },
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
        () => queued(receiver, n, 1000),
        () => queued(receiver, n),
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
      const pairs = await takePairs(
        options,
        async () => (await ingested(receiver, { deliveries: n })).perSecond,
        () => floor(receiver, n),
      );
      return [
        {
          figure: "from ingest (batches of 500) to delivered",
          unit: "deliveries/s",
          ...pairs,
          mustReach: { ratio: 0.35 },
        },
      ];
    }),
};

export const largeMessages: Row = {
  name: "large-messages",
  run: (options) =>
    withReceiver(async (receiver) => {
      const runs: Ingested[] = [];
      for (let run = 0; run < (options.quick ? 3 : 5); run += 1) {
        runs.push(
          await ingested(receiver, {
            deliveries: options.quick ? 1000 : 3000,
            batch: 10,
            // Below the limit of a message, 32,768 bytes.
            messageBytes: 32_000,
          }),
        );
        const { processorUs, writtenKb } = runs.at(-1) as Ingested;
        options.say(`${Math.round(processorUs)} µs, ${Math.round(writtenKb)} KB`);
      }
      const figure = "a message of 32 KB, ingest to delivered";
      return [
        {
          figure: `${figure}: processor time`,
          unit: "µs",
          value: median(runs.map(({ processorUs }) => processorUs)),
          mustReach: { atMost: 400 },
          runs,
        },
        {
          figure: `${figure}: written`,
          unit: "KB",
          value: median(runs.map(({ writtenKb }) => writtenKb)),
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
          (await ingested(receiver, { deliveries: n, flags })).processorUs;
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
