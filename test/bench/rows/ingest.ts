/**
 * Messages committed per second: batches over 8 connections and single calls over 16 without a
 * destination, and batches while the queue of another source is being delivered.
 */

import { startProgram, startScript, type Program } from "../children.ts";
import { takePairs, warmUp, type BenchOptions, type Row } from "../measure.ts";
import { sendLoad } from "../send-load.ts";
import { events } from "../messages.ts";
import type { Load } from "../sender.ts";
import { withDirectory } from "../temporary.ts";
import { fillQueue, withReceiver } from "./delivery.ts";

const writeKey = "bench";

type Kind = Pick<Load, "batch" | "connections" | "requests"> & { warm: number };

/** Messages per second, after some that are not counted. */
async function rateAt(url: string, { batch, connections, requests, warm }: Kind): Promise<number> {
  const load = { url, batch, connections, writeKey };
  await sendLoad({ ...load, requests: warm / batch, seed: 1 });
  return (await sendLoad({ ...load, requests, seed: 2 })) * batch;
}

type Ours = {
  webhookUrl?: string | null;
  /** A queue that is being delivered meanwhile, of a source of its own. */
  queue?: { url: string; deliveries: number };
  plan?: object | null;
  /** Instead of the messages of a second those of a second of the program's processor time. */
  ofProcessor?: boolean;
};

export function ours(
  kind: Kind,
  { webhookUrl = null, queue, plan = null, ofProcessor = false }: Ours = {},
): Promise<number> {
  return withDirectory(async (data) => {
    if (queue !== undefined) fillQueue(data, { ...queue, name: "Queue", writeKey: "queue" });
    const program = await startProgram(data);
    try {
      const { id } = await program.call<{ id: string }>("POST", "/api/sources", {
        name: "Bench",
        writeKey,
        plan,
      });
      if (webhookUrl !== null) {
        await program.call("POST", "/api/destinations", {
          name: "Bench",
          sourceIds: [id],
          webhooks: [{ url: webhookUrl }],
          sharedSecret: "s",
        });
      }
      const warm = await rateAt(program.ingestUrl, kind);
      const before = program.processorMs();
      const rate = ofProcessor ? await rateAt(program.ingestUrl, kind) : warm;
      const messages = kind.warm + kind.requests * kind.batch;
      const queued = queue?.deliveries ?? 0;
      await checkCommitted(program, queued + (ofProcessor ? 2 * messages : messages));
      if (queued > 0) await checkDelivering(program);
      return ofProcessor ? (messages / (program.processorMs() - before)) * 1000 : rate;
    } finally {
      await program.stop();
    }
  });
}

async function checkCommitted(program: Program, messages: number): Promise<void> {
  const stats = await program.call<{
    messages: { total: number; byState: { rejected: number; duplicate: number } };
  }>("GET", "/api/stats");
  const { total, byState } = stats.messages;
  if (total - byState.rejected - byState.duplicate !== messages)
    throw new Error(`${messages} messages sent: ${JSON.stringify(stats)}`);
}

/** Otherwise a part of the ingest had the machine for itself. */
async function checkDelivering(program: Program): Promise<void> {
  const { queueDepth } = await program.call<{ queueDepth: number }>("GET", "/api/stats");
  if (queueDepth === 0) throw new Error("the queue was delivered before the ingest ended");
}

function floor(kind: Kind): Promise<number> {
  return withDirectory(async (data) => {
    const server = startScript("floors/ingest-floor.ts", { data });
    try {
      const { url } = await server.answer<{ url: string }>();
      return await rateAt(url, kind);
    } finally {
      await server.stop();
    }
  });
}

export const batches = (options: BenchOptions): Kind => ({
  batch: 100,
  connections: 8,
  requests: options.quick ? 400 : 1000,
  warm: warmUp(options),
});

export const ingestBatches: Row = {
  name: "ingest-batches",
  async run(options) {
    const kind = batches(options);
    const pairs = await takePairs(
      options,
      () => ours(kind),
      () => floor(kind),
      5,
    );
    return [
      { figure: "ingest, batches of 100", unit: "messages/s", ...pairs, mustReach: { ratio: 0.8 } },
    ];
  },
};

export const ingestSingles: Row = {
  name: "ingest-singles",
  async run(options) {
    const requests = options.quick ? 12_000 : 30_000;
    const kind = { batch: 1, connections: 16, requests, warm: warmUp(options) };
    const pairs = await takePairs(
      options,
      () => ours(kind),
      () => floor(kind),
      5,
    );
    return [
      {
        figure: "ingest, single calls, 16 connections",
        unit: "calls/s",
        ...pairs,
        mustReach: { ratio: 1 },
      },
    ];
  },
};

export const ingestDelivering: Row = {
  name: "ingest-delivering",
  run: (options) =>
    withReceiver(async ({ url }) => {
      const kind = { ...batches(options), requests: options.quick ? 100 : 400 };
      const queue = { url, deliveries: options.quick ? 20_000 : 60_000 };
      const pairs = await takePairs(
        options,
        () => ours(kind, { queue }),
        () => ours(kind),
        5,
      );
      return [
        {
          figure: "ingest, batches of 100, while a queue is delivered; floor: ingest alone",
          unit: "messages/s",
          ...pairs,
          mustReach: { ratio: 0.8 },
        },
      ];
    }),
};

/** Forty events, twenty of which are sent; eleven properties each, with what plans usually ask. */
function shopPlan(): object {
  const properties = {
    orderId: { type: "string", format: "uuid" },
    sku: { type: "string", pattern: "^SKU-\\d+$" },
    name: { type: "string", maxLength: 200 },
    category: { type: "string" },
    price: { type: "number", minimum: 0 },
    quantity: { type: "integer", minimum: 1 },
    currency: { enum: ["EUR", "USD", "GBP"] },
    coupon: { type: ["string", "null"] },
    step: { type: "integer" },
    email: { type: "string", format: "email" },
    products: {
      type: "array",
      items: {
        type: "object",
        properties: { sku: { type: "string" }, price: { type: "number" } },
      },
    },
  };
  const names = [...events, ...events.map((event) => `${event} Again`)];
  const schema = { type: "object", properties, required: ["orderId", "sku", "price"] };
  return {
    schemas: {
      events: Object.fromEntries(names.map((name) => [name, schema])),
      identify: { properties: { email: { type: "string", format: "email" } } },
    },
  };
}

export const ingestPlan: Row = {
  name: "ingest-plan",
  async run(options) {
    const kind = batches(options);
    const pairs = await takePairs(
      options,
      () => ours(kind, { plan: shopPlan(), ofProcessor: true }),
      () => ours(kind, { ofProcessor: true }),
    );
    return [
      {
        figure: "ingest with a tracking plan of 40 events, beside without",
        unit: "messages/s of the processor",
        ...pairs,
        mustReach: { ratio: 0.9 },
      },
    ];
  },
};
