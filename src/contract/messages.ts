import { z } from "zod";
import { askedStatusPattern } from "../domain/http-status.ts";
import {
  audienceIds,
  computedTraitIds,
  deletionIds,
  destinationIds,
  messageIds,
  sourceIds,
} from "../domain/ids.ts";
import { filterKeys } from "../domain/message-filter.ts";
import { messageStates, outcomes, planStates, causeReasons } from "../domain/states.ts";
import { defineCall } from "./call.ts";
import { deliveryDetails, job, mappingDecision } from "./deliveries.ts";
import {
  byId,
  bytes,
  cursorOf,
  idOf,
  listOf,
  messageType,
  oneOrMany,
  page,
  pageOf,
  recordedHeaders,
  time,
} from "./shapes.ts";

export const messageState = z.enum(messageStates).meta({ id: "MessageState" });

/** Longer than anybody writes; each word of it is looked for. */
const filterText = z.string().max(2000);

const id = idOf(messageIds);
const cursor = cursorOf(messageIds);

const planViolation = z
  .object({ path: z.string().describe("Such as `properties.total`."), message: z.string() })
  .meta({ id: "PlanViolation" });

export const messageSummary = z
  .object({
    id,
    messageId: z.string(),
    sourceId: idOf(sourceIds),
    type: messageType.nullable(),
    userId: z.string().nullable(),
    anonymousId: z.string().nullable(),
    event: z
      .string()
      .nullable()
      .describe("The event of a track, the name of a page or screen, the group of a group."),
    traits: z
      .string()
      .nullable()
      .describe(
        "The names of an identify's traits: `email, plan`, or `big_spenders: true` for a single boolean.",
      ),
    receivedAt: time,
    timestamp: time,
    state: messageState,
    reason: z.string().nullable(),
    attempts: z.int().describe("How many were made."),
    lastStatus: z.int().nullable().describe("Of the newest response."),
    pinned: z.boolean(),
    replayOf: id.nullable(),
    plan: z
      .enum(planStates)
      .exclude(["none"])
      .nullable()
      .describe(
        "Whether it meets its source's tracking plan; null when there was none, and for what was not accepted.",
      ),
    violations: z.array(planViolation).describe("What violates the plan: the first twenty."),
    nextAttemptAt: time.nullable().describe("The earliest of its deliveries' next rounds."),
    marks: z
      .array(
        z.object({
          lane: z.int(),
          round: z.int(),
          outcome: z.enum(outcomes),
          status: z.int().nullable(),
        }),
      )
      .describe(
        "Its attempts, in the order of the rounds: the lane of a webhook, counted from 0, the outcome, and the status of the response.",
      ),
  })
  .meta({ id: "MessageSummary" });
export type MessageSummaryAnswer = z.input<typeof messageSummary>;

export const decision = z
  .object({
    destinationId: idOf(destinationIds),
    routed: z.boolean(),
    reason: z.string(),
    detail: z.string(),
    warnings: z.array(z.string()),
    filtered: z
      .object({
        filters: z.array(z.object({ name: z.string(), action: z.string() })),
        bodies: z.object({ before: bytes, after: bytes }).nullable(),
      })
      .optional()
      .describe(
        "The filters of the destination that did something, and the payload without and with them where they changed it.",
      ),
    mappings: z
      .array(mappingDecision)
      .optional()
      .describe("Of a destination with mappings: what became of it at each."),
  })
  .meta({ id: "Decision" });

const cause = z
  .object({
    reason: z.enum(causeReasons),
    sentence: z
      .string()
      .describe("For a person: who, what, and the fact that made the difference."),
    audienceId: idOf(audienceIds).nullable(),
    computedTraitId: idOf(computedTraitIds).nullable(),
    messageId: id.nullable().describe("The message with the event or the trait."),
    destinationId: idOf(destinationIds).nullable().describe("The one that was connected later."),
    deletionId: idOf(deletionIds).nullable(),
  })
  .meta({
    id: "Cause",
    description:
      "Why an audience, a computed trait or a deletion request sent the message; null for all other messages.",
  });

export const messageDetails = z
  .object({
    ...messageSummary.shape,
    detail: z.string().nullable(),
    duplicateOf: id.nullable(),
    warnings: z.array(z.string()),
    dropped: z
      .array(z.string())
      .describe("The first 500 members that the tracking plan removed from what is delivered."),
    raw: bytes.describe("The message as received; the first 64 KB of a rejected one."),
    rawSize: z.int().describe("Its size in bytes."),
    request: z
      .object({
        method: z.string(),
        path: z.string(),
        headers: recordedHeaders,
        size: z.int(),
        messages: z.int(),
      })
      .describe("The request that contained it."),
    cause: cause.nullable(),
    decisions: z.array(decision),
    deliveries: z.array(deliveryDetails),
  })
  .meta({ id: "MessageDetails" });
export type MessageDetailsAnswer = z.input<typeof messageDetails>;

const shareProgress = z.object({
  writing: z
    .object({ done: z.int(), total: z.int().describe("Messages; 0 until they are counted.") })
    .nullable()
    .describe("Null while none is being written."),
});

/** A share file: `contract/share.ts` reads it. */
export const shareCalls = [
  defineCall({
    name: "shares.write",
    summary:
      "A share file of the newest messages that match, up to 10,000, with their attempts and bytes, the configuration and the clock. It can be opened by any Hookyard, or as a page without one.",
    body: z.strictObject({
      as: z.enum(["hookyard", "html"]).default("hookyard").describe("`html`: a page."),
      filter: filterText.default("").describe("As in the inspector's filter field."),
      ids: z.array(z.string()).max(10_000).optional().describe("Only these, if they match."),
      secrets: z.boolean().default(false).describe("Includes secrets and credentials."),
      redact: z
        .array(z.string().min(1).max(200))
        .max(100)
        .default([])
        .describe("Members to leave out, such as `properties.email`."),
    }),
    answer: z.object({
      name: z.string().describe("For the file."),
      messages: z.int(),
      size: z.int().describe("In bytes."),
      base64: z.string(),
    }),
  }),
  defineCall({
    name: "shares.progress",
    summary: "The progress of the share file that is being written.",
    answer: shareProgress,
  }),
  defineCall({
    name: "shares.cancel",
    summary: "Cancels the share file that is being written: its call answers `share_cancelled`.",
    answer: shareProgress,
  }),
] as const;

export const messageCalls = [
  defineCall({
    name: "messages.list",
    summary:
      "Messages, newest first. A parameter that is given several times matches any of its values.",
    query: z.strictObject({
      sourceId: oneOrMany(idOf(sourceIds)).optional(),
      type: oneOrMany(messageType).optional(),
      state: oneOrMany(messageState).optional(),
      userId: oneOrMany(z.string()).optional().describe("A userId or an anonymousId."),
      event: oneOrMany(z.string()).optional(),
      reason: oneOrMany(z.string()).optional(),
      status: oneOrMany(
        z.string().regex(askedStatusPattern, "use 503, 5xx, >=500, or last=503 for the newest"),
      )
        .optional()
        .describe(
          "The status of any response: `503`, `5xx` for the whole class, `>=500`; `last=503` for the newest.",
        ),
      attempts: oneOrMany(z.string().regex(/^([<>]=?)?\d{1,6}$/, "use 3, >3, >=3, <3 or <=3"))
        .optional()
        .describe("The number of attempts: `3`, `>3`, `>=3`, `<3`, `<=3`."),
      plan: oneOrMany(z.enum(planStates))
        .optional()
        .describe("Of the source's tracking plan; `none`: not checked."),
      search: z
        .string()
        .optional()
        .describe("Text to find in the message, in its payload, or in what a list shows of it."),
      filter: filterText
        .optional()
        .describe(
          'The same as text, as in the inspector\'s filter field: `state:failed,expired -type:track event:"Order Completed" last:5m refund`. Its conditions hold together with the other parameters.',
        ),
      ...page(cursor),
    }),
    answer: pageOf(messageSummary, cursor),
  }),
  defineCall({
    name: "messages.get",
    summary: "One message with all its results.",
    params: byId(id),
    answer: messageDetails,
  }),
  defineCall({
    name: "messages.values",
    summary:
      "Values that messages have been seen with, for a filter: those that contain a text, the most frequent first.",
    query: z.strictObject({
      key: z
        .enum(filterKeys)
        .optional()
        .describe("A key of the filter; all of them when left out."),
      text: z.string().max(200).default(""),
    }),
    answer: listOf(
      z.object({
        key: z.enum(filterKeys),
        value: z.string(),
        count: z
          .int()
          .nullable()
          .describe("Of all messages, or of all deliveries to a destination; null: not counted."),
      }),
    ),
  }),
  defineCall({
    name: "messages.retryAll",
    summary:
      "Retries the deliveries of the newest 10,000 messages that match a filter, or of the named messages, where they are waiting, failed, expired or cancelled. With `dryRun` it only counts them.",
    body: z.strictObject({
      filter: filterText.optional(),
      ids: z.array(id).max(1000).optional(),
      dryRun: z.boolean().optional(),
    }),
    answer: z.union([job, z.object({ count: z.int() })]),
  }),
  defineCall({
    name: "messages.replay",
    summary: "Sends the message again, as a new message.",
    params: byId(id),
    answer: messageSummary,
  }),
  defineCall({
    name: "messages.defaults",
    summary:
      "What the batch of a message has beside its messages, for each of them. Of a single call nothing.",
    params: byId(id),
    answer: z.object({
      context: z.record(z.string(), z.unknown()).optional(),
      integrations: z.record(z.string(), z.unknown()).optional(),
    }),
  }),
  defineCall({
    name: "messages.pin",
    summary: "A pinned message survives retention.",
    params: byId(id),
    body: z.strictObject({ pinned: z.boolean() }),
    answer: messageSummary,
  }),
] as const;
