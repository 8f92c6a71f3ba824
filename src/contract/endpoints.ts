import { z } from "zod";
import { destinationIds, endpointIds, receivedRequestIds, webhookIds } from "../domain/ids.ts";
import { holdOrders, losses, lossLooks, stepActions, tamperings } from "../domain/configuration.ts";
import { outcomes } from "../domain/states.ts";
import { defineCall } from "./call.ts";
import {
  byId,
  bytes,
  cursorOf,
  deleted,
  headers,
  idOf,
  listOf,
  page,
  recordedHeaders,
  recordedPageOf,
  time,
  messageType,
  recordedExchange,
} from "./shapes.ts";

const after = z.enum(["repeat-last", "start-over"]);

export const step = z
  .strictObject({
    times: z
      .int()
      .optional()
      .describe(
        "How many requests it serves; when left out, one, or as many as it holds, or any number with `chance`.",
      ),
    match: z
      .strictObject({
        type: messageType.optional(),
        event: z.string().optional(),
        userId: z.string().optional(),
        messageId: z.string().optional(),
      })
      .optional()
      .describe("It serves, and counts, only requests whose message matches."),
    chance: z
      .number()
      .optional()
      .describe("It serves this share of the requests that reach it, 0 to 1."),
    do: z.enum(stepActions),
    status: z.int().optional(),
    headers: headers.optional(),
    body: z.string().optional(),
    delayMs: z.int().optional().describe("Clock time before the step does what it does."),
    forMs: z
      .int()
      .optional()
      .describe(
        "`hang` and `drip`: clock time for which it lasts. `hold`: clock time for which the first request waits for the others.",
      ),
    to: z.string().optional().describe("`forward`: the full URL of the receiver."),
    lose: z
      .enum(losses)
      .optional()
      .describe(
        "`forward`: `answer`: the receiver gets the request, the sender no answer; `request`: the receiver gets nothing.",
      ),
    loseAs: z
      .enum(lossLooks)
      .optional()
      .describe(
        "What the sender sees of a loss: a reset (when left out), or nothing until it times out.",
      ),
    delayAfterMs: z
      .int()
      .optional()
      .describe(
        "`forward`: clock time between the receiver's answer and the answer to the sender.",
      ),
    copies: z
      .int()
      .optional()
      .describe(
        "`forward`: how often the receiver gets the request; the sender gets the first answer.",
      ),
    together: z
      .boolean()
      .optional()
      .describe(
        "The copies are sent at the same time; otherwise each when the one before it was answered.",
      ),
    tamper: z
      .enum(tamperings)
      .optional()
      .describe(
        "`forward`: `body`: one more member; `signature`: a wrong one; `no-signature`: none; `reserialise`: the same JSON in other bytes.",
      ),
    hold: z
      .int()
      .optional()
      .describe("`forward`: keeps this many requests, then releases them one after the other."),
    order: z
      .enum(holdOrders)
      .optional()
      .describe("In which order; `reverse` when left out, or drawn from the seed."),
  })
  .meta({ id: "Step" });

const id = idOf(endpointIds);
const cursor = cursorOf(receivedRequestIds);

const endpointAnswer = z
  .object({
    id,
    name: z.string(),
    path: z.string(),
    url: z.string(),
    tlsUrl: z.string(),
    steps: z.array(step),
    after,
    perMessage: z
      .boolean()
      .optional()
      .describe("Each message meets the first step first, however many others came before it."),
    inFrontOf: z
      .object({ destinationId: idOf(destinationIds), webhookId: idOf(webhookIds), url: z.string() })
      .nullish()
      .describe("The webhook that points here, and the URL that it had before."),
    createdAt: time,
    position: z.object({
      step: z
        .int()
        .nullable()
        .describe("The step that serves the next request, from 0; null when none is left."),
      served: z.int().describe("How many requests that step has served."),
      received: z.int().describe("Since the last rewind."),
    }),
  })
  .meta({ id: "Endpoint" });

export const endpointDraft = z
  .strictObject({
    name: z.string(),
    path: z.string().optional(),
    steps: z.array(step),
    after: after.optional(),
    perMessage: z
      .boolean()
      .optional()
      .describe("Counts the requests of each message apart: false when left out."),
  })
  .meta({ id: "EndpointDraft" });

const forwardedExchange = z
  .object({
    startedAt: time,
    durationMs: z.number().nullable().describe("Null while it is in progress."),
    simulated: z
      .boolean()
      .describe("The duration is clock time, because another test endpoint held the request."),
    outcome: z.enum(outcomes).nullable().describe("Null while it is in progress."),
    ...recordedExchange,
    bodyLength: z.int().describe("Of the request; its first 64 KB are recorded."),
  })
  .meta({ id: "ForwardedExchange" });

const receivedRequest = z
  .object({
    id: idOf(receivedRequestIds),
    endpointId: id,
    receivedAt: time,
    tls: z.boolean(),
    method: z.string(),
    path: z.string(),
    headers: recordedHeaders,
    body: bytes,
    bodyLength: z.int(),
    step: z.int().nullable().describe("The step that served it, from 0; null when none did."),
    did: z.enum([...stepActions, "default"]),
    status: z.int().nullable(),
    answeredAt: time.optional().describe("When the answer began; left out before that."),
    message: z.object({
      type: messageType.nullable(),
      messageId: z.string().nullable(),
      event: z.string().nullable(),
      userId: z.string().nullable(),
    }),
    signature: z
      .object({
        value: z.string(),
        verifies: z.array(
          z.object({ destinationId: idOf(destinationIds), name: z.string(), valid: z.boolean() }),
        ),
      })
      .nullable(),
    forwarded: z
      .array(forwardedExchange)
      .describe(
        "What a `forward` step sent to the receiver, and what came back, in the order of sending.",
      ),
  })
  .meta({ id: "ReceivedRequest" });
export type ReceivedRequestAnswer = z.input<typeof receivedRequest>;

export const endpointCalls = [
  defineCall({
    name: "endpoints.list",
    summary: "All test endpoints.",
    answer: listOf(endpointAnswer),
  }),
  defineCall({
    name: "endpoints.create",
    summary: "Creates a test endpoint.",
    body: endpointDraft,
    answer: endpointAnswer,
    status: 201,
  }),
  defineCall({
    name: "endpoints.get",
    summary: "One test endpoint, with the current step of its program.",
    params: byId(id),
    answer: endpointAnswer,
  }),
  defineCall({
    name: "endpoints.update",
    summary: "Changes the given members.",
    params: byId(id),
    body: endpointDraft.partial(),
    answer: endpointAnswer,
  }),
  defineCall({
    name: "endpoints.delete",
    summary: "Deletes a test endpoint.",
    params: byId(id),
    answer: deleted(id),
  }),
  defineCall({
    name: "endpoints.rewind",
    summary: "Rewinds the program to its first step.",
    params: byId(id),
    answer: endpointAnswer,
  }),
  defineCall({
    name: "endpoints.requests",
    summary: "The received requests of a test endpoint, newest first.",
    params: byId(id),
    query: z.strictObject(page(cursor)),
    answer: recordedPageOf(receivedRequest, cursor),
  }),
  defineCall({
    name: "endpoints.clearRequests",
    summary: "Deletes its received requests.",
    params: byId(id),
    answer: deleted(id),
  }),
  defineCall({
    name: "endpoints.presets",
    summary: "Programs for common cases.",
    answer: listOf(
      z
        .object({
          name: z.string(),
          title: z.string(),
          steps: z.array(step),
          after,
          host: z.string().optional().describe("The host name to use on the TLS port."),
        })
        .meta({ id: "EndpointPreset" }),
    ),
  }),
] as const;
