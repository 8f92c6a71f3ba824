import { z } from "zod";
import {
  attemptIds,
  deliveryIds,
  destinationIds,
  jobIds,
  messageIds,
  type DeliveryId,
  webhookIds,
} from "../domain/ids.ts";
import { deliveryStates, messageTypes, outcomes } from "../domain/states.ts";
import { defineCall } from "./call.ts";
import {
  byId,
  bytes,
  cursorOf,
  idOf,
  isoTime,
  listOf,
  page,
  pageOf,
  time,
  recordedExchange,
} from "./shapes.ts";

const deliveryState = z.enum(deliveryStates).meta({ id: "DeliveryState" });

const id = idOf(deliveryIds);

/** A delivery; in the order of due times, its due time and a slash before it. */
type Place = DeliveryId | { at: number; id: DeliveryId };
const cursor = cursorOf<Place>({
  parse(text) {
    const [time, id] = text.includes("/") ? text.split("/", 2) : [undefined, text];
    const delivery = deliveryIds.parse(id ?? "");
    if (delivery === null || time === undefined) return delivery;
    const at = Date.parse(time);
    return Number.isNaN(at) ? null : { at, id: delivery };
  },
  format: (place) =>
    typeof place === "number"
      ? deliveryIds.format(place)
      : `${isoTime(place.at)}/${deliveryIds.format(place.id)}`,
});

export const deliverySummary = z
  .object({
    id,
    messageRowId: idOf(messageIds).describe("The `id` of its message."),
    destinationId: idOf(destinationIds),
    state: deliveryState,
    reason: z.string().nullable(),
    createdAt: time,
    firstAttemptAt: time.nullable(),
    nextAttemptAt: time.nullable(),
    windowEndsAt: time.nullable().describe("No attempt starts later; null before the first."),
    rounds: z.int(),
    messages: z
      .array(idOf(messageIds))
      .optional()
      .describe("Of a batch: the `id`s of its messages that are kept, in its order."),
  })
  .meta({ id: "DeliverySummary" });
export type DeliverySummaryAnswer = z.input<typeof deliverySummary>;

export const listedDelivery = z
  .object({
    ...deliverySummary.shape,
    type: z.enum(messageTypes).nullable().describe("Of its message, like the next three."),
    event: z.string().nullable(),
    userId: z.string().nullable(),
    anonymousId: z.string().nullable(),
    marks: z
      .array(z.object({ round: z.int(), startedAt: time, outcome: z.enum(outcomes) }))
      .describe("Its rounds, each with one attempt: the successful one, else the longest."),
  })
  .meta({ id: "ListedDelivery" });
export type ListedDeliveryAnswer = z.input<typeof listedDelivery>;

const phase = z.number().optional();

const attempt = z
  .object({
    id: idOf(attemptIds),
    round: z.int(),
    webhookId: idOf(webhookIds),
    webhookUrl: z.string(),
    startedAt: time,
    durationMs: z.number(),
    simulated: z
      .boolean()
      .describe("Durations are clock time, because a test endpoint held the attempt."),
    phases: z
      .object({
        dns: phase,
        connect: phase,
        tls: phase,
        sent: phase,
        firstByte: phase,
        done: phase,
      })
      .describe("Milliseconds since the start, for each phase that was reached."),
    outcome: z.enum(outcomes),
    retryable: z.boolean(),
    ...recordedExchange,
    leftOut: z
      .boolean()
      .describe(
        "True when headers and bodies are left out, because the answer would be larger than 1 MB: `deliveries.attempt` has them.",
      ),
  })
  .meta({ id: "Attempt" });
export const testAttempt = attempt
  .omit({ id: true, round: true, leftOut: true })
  .extend({ mapping: z.string().nullable().describe("The mapping that made the request.") })
  .meta({ id: "TestAttempt" });

export const mappingDecision = z
  .object({
    name: z.string(),
    reason: z
      .string()
      .describe("`routed`, `mapping_disabled`, `trigger_not_met` or `payload_error`."),
    detail: z.string(),
  })
  .meta({ id: "MappingDecision" });

export type AttemptAnswer = z.input<typeof attempt>;

export const deliveryDetails = z
  .object({
    ...deliverySummary.shape,
    payload: bytes.describe(
      "Empty when the answer would be larger than 1 MB: `deliveries.get` has it.",
    ),
    payloadSize: z.int(),
    webhookId: idOf(webhookIds)
      .optional()
      .describe("Of a delivery that a mapping made: the mapping's `id`, of its webhook too."),
    url: z.string().optional().describe("Of a delivery that a mapping made: where it goes."),
    signed: bytes
      .nullable()
      .optional()
      .describe(
        "Of a delivery that a mapping made: the bytes that its signature covers, of a batch those of its first element; null when there is nothing to sign.",
      ),
    transitions: z
      .array(
        z.object({
          at: time,
          state: deliveryState,
          reason: z.string(),
          nextAttemptAt: time.nullable(),
        }),
      )
      .describe("At most the newest 2,000, fewer where there are many deliveries."),
    attempts: z
      .array(attempt)
      .describe("At most the newest 1,000, fewer where there are many deliveries."),
  })
  .meta({ id: "DeliveryDetails" });
export type DeliveryDetailsAnswer = z.input<typeof deliveryDetails>;

export const job = z
  .object({
    id: idOf(jobIds),
    state: z.enum(["running", "done", "cancelled"]),
    count: z.int().describe("How many deliveries matched."),
    total: z.int(),
    done: z.int(),
    retried: z.int().describe("Requeued; the others had changed state in the meantime."),
  })
  .meta({ id: "Job" });

const filter = z
  .strictObject({ state: deliveryState.optional(), destinationId: idOf(destinationIds).optional() })
  .meta({ id: "DeliveryFilter" });

export const deliveryCalls = [
  defineCall({
    name: "deliveries.list",
    summary: "Deliveries, newest first or by due time.",
    query: filter.extend({
      order: z
        .enum(["newest", "due"])
        .default("newest")
        .describe(
          "`due`: those with `state: waiting`, the next due first; a cursor is then the `nextAttemptAt` and the `id` of a delivery, with a `/` between them.",
        ),
      ...page(cursor),
    }),
    answer: pageOf(listedDelivery, cursor),
  }),
  defineCall({
    name: "deliveries.retryAll",
    summary:
      "Retries all that match and are waiting, failed, expired or cancelled. With `dryRun` it only counts them.",
    body: z.strictObject({ filter, dryRun: z.boolean().optional() }),
    answer: z.union([job, z.object({ count: z.int() })]),
  }),
  defineCall({
    name: "deliveries.get",
    summary: "One delivery with its attempts.",
    params: byId(id),
    answer: deliveryDetails,
  }),
  defineCall({
    name: "deliveries.attempt",
    summary: "One attempt with its bytes.",
    params: byId(id).extend({ attempt: idOf(attemptIds) }),
    answer: attempt,
  }),
  defineCall({
    name: "deliveries.signature",
    summary:
      "Which bytes of the body the signature covers, and why a receiver's digest, or its body, differs.",
    params: byId(id),
    body: z.strictObject({
      digest: z.string().max(1000).optional().describe("What the receiver computed."),
      body: z
        .string()
        .max(1_000_000)
        .optional()
        .describe("The body that it computed the digest over."),
    }),
    answer: z.object({
      signature: z.string().nullable().describe("Null when it is not signed."),
      from: z.int().describe("The first covered byte of the body, counted from 0."),
      length: z.int(),
      covers: z.string().describe("The same in a sentence."),
      cause: z.string().describe("`none`, `whole_batch`, `spaces`, `wrong_secret` and so on."),
      sentence: z.string(),
    }),
  }),
  defineCall({
    name: "deliveries.retry",
    summary: "Retries now. 409 while it is being sent.",
    params: byId(id),
    answer: deliverySummary,
  }),
  defineCall({
    name: "deliveries.cancel",
    summary: "Cancels it.",
    params: byId(id),
    answer: deliverySummary,
  }),
  defineCall({
    name: "jobs.list",
    summary: "Jobs since the start: the running ones, and the newest hundred that have ended.",
    answer: listOf(job),
  }),
  defineCall({
    name: "jobs.get",
    summary: "The progress of a job.",
    params: byId(idOf(jobIds)),
    answer: job,
  }),
  defineCall({
    name: "jobs.cancel",
    summary: "Cancels a job.",
    params: byId(idOf(jobIds)),
    answer: job,
  }),
] as const;
