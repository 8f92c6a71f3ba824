import { z } from "zod";
import { deliveryStates, messageStates } from "../domain/states.ts";
import { destinationIds, endpointIds, sourceIds } from "../domain/ids.ts";
import { defineCall } from "./call.ts";
import { idOf, timeText } from "./shapes.ts";

const count = z.int();
const stats = z
  .object({
    messages: z.object({
      total: count,
      byState: z.record(z.enum(messageStates), count),
      byType: z.record(z.string(), count),
    }),
    deliveries: z.object({ total: count, byState: z.record(z.enum(deliveryStates), count) }),
    rates: z
      .object({ ingestedPerSecond: z.number(), attemptsPerSecond: z.number() })
      .describe(
        "Messages committed and attempts recorded per second of real time, averaged over the last five.",
      ),
    queueDepth: count.describe("Deliveries that are queued or being sent."),
    dataBytes: count
      .optional()
      .describe(
        "The size of the data file without its write-ahead log, or of the data in memory. Absent from a share file.",
      ),
    dataId: z
      .string()
      .optional()
      .describe(
        "Which data this is. A reset of everything changes it, because ids start again then. Absent from a share file.",
      ),
    trouble: z
      .string()
      .nullable()
      .describe(
        "The problem with the data file: it is damaged, it is missing, or the last write failed. Null when no problem is known.",
      ),
    deliveryTrouble: z
      .string()
      .nullable()
      .describe(
        "The problem with the thread that sends deliveries: it has ended, or it cannot be started. Null when there is none.",
      ),
  })
  .meta({ id: "Stats" });

const what = z.enum(["messages", "everything"]);

export const pipelineCalls = [
  defineCall({
    name: "stats.get",
    summary: "Counts, rates, queue depth and data size.",
    answer: stats,
  }),
  defineCall({
    name: "pipeline.settle",
    summary:
      "Returns when nothing is queued or being sent, or at the timeout. Waiting retries may remain, and so may deliveries that a disabled destination pauses or that a test endpoint holds on a paused clock.",
    body: z.strictObject({ timeoutMs: z.int().min(0).max(600_000).default(30_000) }),
    answer: z.object({ settled: z.boolean(), queued: count, sending: count }),
  }),
  defineCall({
    name: "pipeline.reset",
    summary:
      "Removes all messages, or the configuration as well, and sets the clock to real time if asked to. The settings stay.",
    body: z.strictObject({
      what,
      clock: z
        .boolean()
        .default(false)
        .describe("Whether the clock shows real time afterwards, which may be earlier than now."),
    }),
    answer: z.object({ what }),
  }),
] as const;

const about = z
  .object({
    version: z.string(),
    ingestUrl: z.string(),
    ingestTlsUrl: z.string().nullable().describe("Null when ingest has no port for TLS."),
    endpointsUrl: z.string(),
    endpointsTlsUrl: z.string(),
    dataDir: z.string().nullable().describe("Null when the data is in memory only."),
    shared: timeText
      .optional()
      .describe("Only of a share file: when it was saved. Nothing in it changes or is sent."),
  })
  .meta({ id: "About" });
export type AboutAnswer = z.output<typeof about>;

export const aboutCalls = [
  defineCall({
    name: "about.get",
    summary: "The running Hookyard: its version, its addresses and its data directory.",
    answer: about,
  }),
  defineCall({
    name: "about.health",
    summary:
      "Whether Hookyard runs and its data file works; otherwise the status is 503. Needs no token.",
    isPublic: true,
    answer: z.object({ status: z.literal("ok"), version: z.string() }),
  }),
] as const;

const demoState = z.object({
  demo: z
    .boolean()
    .describe("The demo is open: its shop sends messages, also after a restart of Hookyard."),
});

export const workspaceCalls = [
  defineCall({
    name: "workspaces.get",
    summary: "Whether the demo is open.",
    answer: demoState,
  }),
  defineCall({
    name: "workspaces.open",
    summary:
      "Sets up a workspace to start from, once: a first source, destination and test endpoint, or a shop that generates traffic until it is closed.",
    body: z.strictObject({ kind: z.enum(["first", "demo"]) }),
    answer: z
      .object({
        sourceId: idOf(sourceIds),
        destinationId: idOf(destinationIds),
        endpointId: idOf(endpointIds),
      })
      .describe("The objects to show first. Existing ones are reused."),
  }),
  defineCall({
    name: "workspaces.close",
    summary: "Closes the demo: its shop sends nothing more. What it created stays.",
    body: z.strictObject({}),
    answer: demoState,
  }),
] as const;
