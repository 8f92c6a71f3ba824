import { z } from "zod";
import { clientIds, sourceIds } from "../domain/ids.ts";
import { wireModes } from "../domain/configuration.ts";
import { messageTypes, outcomes } from "../domain/states.ts";
import { defineCall } from "./call.ts";
import { byId, cursorOf, deleted, idOf, listOf, page, recordedPageOf, time } from "./shapes.ts";

const wire = z.enum(wireModes);
const callType = z.enum(messageTypes).exclude(["delete"]);

const id = idOf(clientIds);
/** The number of the last item of a page. */
const cursor = cursorOf<number>({
  parse: (text) => (/^\d{1,15}$/.test(text) ? Number(text) : null),
  format: String,
});

const clientMembers = {
  id,
  name: z.string(),
  writeKey: z.string(),
  sourceId: idOf(sourceIds).nullable().describe("The source that currently has its write key."),
  wire,
  flushAt: z.int(),
  flushAfter: z.int().describe("Milliseconds of clock time since the last flush."),
  endpoint: z.string().nullable().describe("Null: Hookyard's own ingest port."),
  strict: z.boolean(),
  createdAt: time,
  url: z.string().describe("Where its batches go."),
  state: z.enum(["running", "closing", "closed"]),
  queued: z.int().describe("Messages that wait for a flush: 7 of `flushAt`."),
  nextFlushAt: time.nullable().describe("Null while nothing waits for a flush."),
  underWay: z.int().describe("Flushed batches that are neither sent nor given up."),
  nextTryAt: time
    .nullable()
    .describe("Of the batch that waits for its next try; those behind it wait for it."),
  bytes: z.int().describe("Of all messages that it holds."),
  counts: z
    .object({ calls: z.int(), sent: z.int(), failed: z.int(), batches: z.int(), retries: z.int() })
    .describe(
      "Since its start: accepted calls, messages sent and given up, completed batches, and tries after the first.",
    ),
  generating: z
    .object({ count: z.int(), made: z.int(), perSecond: z.number() })
    .nullable()
    .describe("The calls that it generates."),
};

const client = z.object(clientMembers).meta({ id: "Client" });

const clientCall = z
  .object({
    type: callType,
    messageId: z.string(),
    event: z.string().nullable(),
    userId: z.string().nullable(),
  })
  .meta({ id: "ClientCall" });

const clientBatch = z
  .object({
    id: z.string().describe("Its `messageId` on the wire."),
    number: z.int(),
    state: z.enum(["queued", "sending", "waiting", "sent", "failed"]),
    reason: z.enum(["size", "time", "flush", "close"]).describe("What caused the flush."),
    flushedAt: time,
    messages: z.int(),
    bytes: z.int().describe("Of the request's body; before the first try, of the messages alone."),
    calls: z.array(clientCall).describe("The first hundred of its messages."),
    tries: z.array(
      z.object({
        startedAt: time,
        durationMs: z.number().nullable().describe("Null while it is on the wire."),
        simulated: z
          .boolean()
          .describe("The duration is clock time, because a test endpoint held the request."),
        outcome: z.enum(outcomes).nullable(),
        status: z.int().nullable(),
        failure: z.string().nullable(),
        answer: z.string().describe("The first 2,000 characters of the answer's body."),
        answerLength: z.int().describe("How many characters there were."),
      }),
    ),
    nextTryAt: time.nullable(),
  })
  .meta({ id: "ClientBatch" });

const clientDetails = z
  .object({
    ...clientMembers,
    queue: z.array(clientCall).describe("The first hundred that wait for a flush, oldest first."),
    current: clientBatch
      .nullable()
      .describe("The batch that is on the wire or waits for its next try."),
  })
  .meta({ id: "ClientDetails" });

export const clientDraft = z
  .strictObject({
    name: z.string(),
    sourceId: idOf(sourceIds)
      .optional()
      .describe("Sends with the current write key of this source."),
    writeKey: z.string().optional().describe("Any write key, even one that no source has."),
    wire: wire.optional(),
    flushAt: z.int().optional(),
    flushAfter: z.int().optional(),
    endpoint: z.string().nullable().optional(),
    strict: z.boolean().optional(),
  })
  .meta({ id: "ClientDraft" });

export const clientCalls = [
  defineCall({
    name: "clients.list",
    summary: "All simulated clients.",
    answer: listOf(client),
  }),
  defineCall({
    name: "clients.create",
    summary: "Creates a simulated client, for a source or with any write key.",
    body: clientDraft,
    answer: clientDetails,
    status: 201,
  }),
  defineCall({
    name: "clients.get",
    summary: "One simulated client, its queue, and the batch that it is sending.",
    params: byId(id),
    answer: clientDetails,
  }),
  defineCall({
    name: "clients.update",
    summary:
      "Changes the given members, while it runs. Flushes if at least `flushAt` calls are already queued.",
    params: byId(id),
    body: clientDraft.partial(),
    answer: clientDetails,
  }),
  defineCall({
    name: "clients.delete",
    summary: "Closes and deletes a simulated client. Its queued messages are still sent.",
    params: byId(id),
    answer: deleted(id),
  }),
  defineCall({
    name: "clients.call",
    summary:
      "Makes one call, as a program would. An invalid call returns its error, and nothing is queued.",
    params: byId(id),
    body: z.strictObject({
      type: callType,
      call: z.unknown().describe("The members of the call."),
    }),
    answer: z.object({
      messageId: z.string(),
      batchId: z
        .string()
        .nullable()
        .describe("The batch of this call, if the call caused a flush."),
      client: clientDetails,
    }),
  }),
  defineCall({
    name: "clients.flush",
    summary: "Flushes the queue. Does not wait for the response.",
    params: byId(id),
    answer: clientDetails,
  }),
  defineCall({
    name: "clients.close",
    summary: "Sends the queue, with all retries, and accepts no more calls.",
    params: byId(id),
    body: z.strictObject({
      timeoutMs: z
        .int()
        .min(0)
        .max(86_400_000)
        .optional()
        .describe("Clock time after which unsent messages are given up."),
    }),
    answer: clientDetails,
  }),
  defineCall({
    name: "clients.reopen",
    summary: "Reopens a closed client, as a restart of its program would.",
    params: byId(id),
    answer: clientDetails,
  }),
  defineCall({
    name: "clients.generate",
    summary:
      "Starts generating calls, drawn from the seed, at a rate in clock time. Replaces a running generator.",
    params: byId(id),
    body: z.strictObject({
      count: z.int().min(1).max(10_000),
      perSecond: z.number().min(0.01).max(1000),
    }),
    answer: clientDetails,
  }),
  defineCall({
    name: "clients.stopGenerating",
    summary: "Stops generating calls.",
    params: byId(id),
    answer: clientDetails,
  }),
  defineCall({
    name: "clients.batches",
    summary:
      "Its batches with all their tries, newest first: those in progress, and the newest 200 that have ended.",
    params: byId(id),
    query: z.strictObject(page(cursor)),
    answer: recordedPageOf(clientBatch, cursor),
  }),
  defineCall({
    name: "clients.log",
    summary:
      "The newest 1,000 lines of its debug log, as `DEBUG=analytics` writes it, newest first.",
    params: byId(id),
    query: z.strictObject(page(cursor)),
    answer: recordedPageOf(
      z.object({
        number: z.int(),
        at: time,
        event: z.enum(["queued", "flushed", "sending", "sent", "retried", "failed", "closed"]),
        line: z.string(),
      }),
      cursor,
    ),
  }),
] as const;
