/**
 * Messages committed per second: batches over 8 connections and single calls over 16 without a
 * destination; and, to be looked at, batches while everything that came is being delivered.
 */

import { startProgram, startScript, type Program } from "../children.ts";
import { takePairs, type BenchOptions, type Pairs, type Row } from "../measure.ts";
import { sendLoad } from "../send-load.ts";
import { events } from "../messages.ts";
import type { Load } from "../sender.ts";
import { withDirectory } from "../temporary.ts";

const writeKey = "bench";

type Kind = Pick<Load, "batch" | "connections" | "requests">;

/**
 * Messages per second, after a quarter as many that are not counted: both sides are then as warm as
 * they get.
 */
async function rateAt(url: string, { batch, connections, requests }: Kind): Promise<number> {
  const load = { url, batch, connections, writeKey };
  await sendLoad({ ...load, requests: requests / 4, seed: 1 });
  return (await sendLoad({ ...load, requests, seed: 2 })) * batch;
}

type Ours = {
  webhookUrl?: string | null;
  plan?: object | null;
  /** Instead of the messages of a second those of a second of the program's processor time. */
  ofProcessor?: boolean;
};

function ours(
  kind: Kind,
  { webhookUrl = null, plan = null, ofProcessor = false }: Ours = {},
): Promise<number> {
  return withDirectory(async (data) => {
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
      const messages = kind.requests * 1.25 * kind.batch;
      await checkCommitted(program, ofProcessor ? 2 * messages : messages);
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

function pairsOf(options: BenchOptions, kind: Kind, webhookUrl: string | null): Promise<Pairs> {
  return takePairs(
    options,
    () => ours(kind, { webhookUrl }),
    () => floor(kind),
  );
}

export const ingestBatches: Row = {
  name: "ingest-batches",
  async run(options) {
    const pairs = await pairsOf(
      options,
      { batch: 100, connections: 8, requests: options.quick ? 400 : 1000 },
      null,
    );
    return [
      { figure: "ingest, batches of 100", unit: "messages/s", ...pairs, mustReach: { ratio: 0.5 } },
    ];
  },
};

export const ingestSingles: Row = {
  name: "ingest-singles",
  async run(options) {
    const pairs = await pairsOf(
      options,
      { batch: 1, connections: 16, requests: options.quick ? 12_000 : 30_000 },
      null,
    );
    return [
      {
        figure: "ingest, single calls, 16 connections",
        unit: "calls/s",
        ...pairs,
        mustReach: { ratio: 0.5 },
      },
    ];
  },
};

export const ingestDelivering: Row = {
  name: "ingest-delivering",
  async run(options) {
    const receiver = startScript("receiver.ts");
    try {
      const { url } = await receiver.answer<{ url: string }>();
      const pairs = await pairsOf(
        options,
        { batch: 100, connections: 8, requests: options.quick ? 120 : 240 },
        url,
      );
      return [
        { figure: "ingest, batches of 100, while delivering them", unit: "messages/s", ...pairs },
      ];
    } finally {
      await receiver.stop();
    }
  },
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
    const kind = { batch: 100, connections: 8, requests: options.quick ? 400 : 1000 };
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
