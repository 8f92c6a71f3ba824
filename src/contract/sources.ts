import { z } from "zod";
import { refusedRequestIds, sourceIds } from "../domain/ids.ts";
import { highestStatus } from "../domain/http-status.ts";
import { messageTypes, sourceKinds } from "../domain/states.ts";
import {
  ingestFaultActions,
  planActions,
  unplannedEventActions,
  unplannedPropertyActions,
} from "../domain/configuration.ts";
import { defineCall } from "./call.ts";
import { planRuleTypes } from "../domain/tracking-plan.ts";
import { anyMembers, answerMode, byId, deleted, idOf, listOf, textInPath, time } from "./shapes.ts";

const sourceKind = z.enum(sourceKinds);

export const ingestFault = z
  .strictObject({
    do: z
      .enum(ingestFaultActions)
      .describe(
        "`lose-answer` commits the messages, then resets the connection. `limit` answers 429 above `perSecond` requests a second.",
      ),
    status: z.int().min(200).max(highestStatus).optional().describe("`answer`: 500 when left out."),
    retryAfter: z
      .int()
      .min(0)
      .optional()
      .describe(
        "Seconds in the `Retry-After` header of `answer`, and in both headers of `limit`: there 1 when left out.",
      ),
    delayMs: z
      .int()
      .min(0)
      .max(600_000)
      .optional()
      .describe(
        "How long the request waits first; of `delay-answer`, how long the answer waits after the messages are committed.",
      ),
    perSecond: z
      .int()
      .min(0)
      .max(1_000_000)
      .optional()
      .describe(
        "`limit`: requests of the source in a second of the clock that are accepted; 1,000 when left out.",
      ),
    times: z.int().min(0).optional().describe("Serves this many requests, then ends."),
    chance: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .describe("Serves this share of the requests, 0 to 1."),
  })
  .meta({ id: "IngestFault" });

const id = idOf(sourceIds);

const clockSkewCorrection = z
  .union([z.literal("auto"), z.boolean()])
  .describe(
    "`auto`: when the clock was moved, the timestamps of clients that live by the machine's time are moved too. true: the hosted service's formula. false: timestamps are kept.",
  );

/** Checked by the pipeline, which says what is wrong with it. */
const schemas = z
  .union([z.record(z.string(), z.unknown()), z.array(z.unknown())])
  .describe(
    'A tracking plan of the hosted service, as its API returns it, or a JSON Schema of the properties of each event: `{"Order Completed": {…}, identify: {…}, group: {…}}`.',
  );

export const planMembers = {
  schemas,
  onViolation: z
    .enum(planActions)
    .describe(
      "`record` delivers the message as it is, `drop-properties` without what violates the plan, `block` does not deliver it.",
    ),
  unplannedEvents: z
    .enum(unplannedEventActions)
    .describe("Tracks whose event is not in the plan: `record` makes that a violation."),
  unplannedProperties: z
    .enum(unplannedPropertyActions)
    .describe(
      "Properties and traits that the plan does not name: `record` and `drop` make each a violation.",
    ),
};

const { schemas: _schemas, ...planSettings } = planMembers;

const planDraft = z
  .strictObject({
    name: z.string().max(200).nullable().optional(),
    schemas: schemas.optional().describe("What is left out stays as it is."),
    onViolation: planSettings.onViolation.optional(),
    unplannedEvents: planSettings.unplannedEvents.optional(),
    unplannedProperties: planSettings.unplannedProperties.optional(),
  })
  .meta({ id: "PlanDraft" });

const planRule = z
  .object({
    type: z.enum(planRuleTypes),
    key: z.string().nullable().describe("The event of a track, the name of a page or screen."),
    version: z.int(),
    jsonSchema: anyMembers.describe("Of the whole message."),
  })
  .meta({ id: "PlanRule" });

const sourceAnswer = z
  .object({
    id,
    name: z.string(),
    kind: z
      .enum([...sourceKinds, "audience"])
      .describe("A source of the kind `audience` belongs to one audience or computed trait."),
    writeKey: z.string(),
    mode: answerMode,
    deduplicate: z.boolean(),
    correctClockSkew: clockSkewCorrection,
    faults: z.array(ingestFault),
    plan: z
      .object({ name: z.string().nullable(), rules: z.int(), ...planSettings })
      .nullable()
      .describe("Its tracking plan, with the number of its rules."),
    createdAt: time,
  })
  .meta({ id: "Source" });
export type SourceAnswer = z.input<typeof sourceAnswer>;

/** A tracking plan may have as many as fit in a megabyte. */
const valuesWithPlan = 240_000;

export const sourceDraft = z
  .strictObject({
    name: z.string(),
    kind: sourceKind.optional(),
    writeKey: z.string().optional().describe("Generated when left out."),
    mode: answerMode.optional(),
    deduplicate: z.boolean().optional(),
    correctClockSkew: clockSkewCorrection.optional(),
    faults: z.array(ingestFault).optional(),
    plan: planDraft.nullable().optional().describe("Null removes it."),
  })
  .meta({ id: "SourceDraft" });

export const sourceCalls = [
  defineCall({
    name: "sources.list",
    summary: "All sources.",
    answer: listOf(sourceAnswer),
  }),
  defineCall({
    name: "sources.create",
    summary: "Creates a source.",
    body: sourceDraft,
    maxValues: valuesWithPlan,
    answer: sourceAnswer,
    status: 201,
  }),
  defineCall({
    name: "sources.get",
    summary: "One source.",
    params: byId(id),
    answer: sourceAnswer,
  }),
  defineCall({
    name: "sources.plan",
    summary: "The tracking plan of a source, with its rules; null when it has none.",
    params: byId(id),
    answer: z.object({
      plan: z
        .object({ name: z.string().nullable(), rules: z.array(planRule), ...planSettings })
        .nullable(),
    }),
  }),
  defineCall({
    name: "sources.update",
    summary: "Changes the given members.",
    params: byId(id),
    body: sourceDraft.partial(),
    maxValues: valuesWithPlan,
    answer: sourceAnswer,
  }),
  defineCall({
    name: "sources.send",
    summary:
      "Sends one call to the ingest port as this source, over HTTP as a client would; returns the port's response.",
    params: byId(id),
    body: z.strictObject({
      type: z
        .enum([...messageTypes, "batch"])
        .exclude(["delete"])
        .describe("The call, which decides the path."),
      body: z.string().describe("The JSON of the call, sent as it is."),
    }),
    answer: z.object({ status: z.int(), body: z.string() }),
  }),
  defineCall({
    name: "sources.delete",
    summary: "Deletes a source. Its messages stay.",
    params: byId(id),
    answer: deleted(id),
  }),
] as const;

const byWriteKey = z.strictObject({ writeKey: textInPath });

export const unknownKeyCalls = [
  defineCall({
    name: "unknownKeys.list",
    summary: "Write keys that no source has, with the number of stored requests.",
    answer: listOf(
      z
        .object({
          writeKey: z.string(),
          requests: z.int(),
          firstAt: time,
          lastAt: time,
          lastPath: z.string(),
        })
        .meta({ id: "UnknownKey" }),
    ),
  }),
  defineCall({
    name: "unknownKeys.adopt",
    summary: "Creates a source with the key and accepts the stored requests.",
    params: byWriteKey,
    body: z.strictObject({ name: z.string() }),
    answer: sourceAnswer,
    status: 201,
  }),
  defineCall({
    name: "unknownKeys.forget",
    summary: "Deletes the key and its stored requests.",
    params: byWriteKey,
    answer: z.object({ writeKey: z.string() }),
  }),
] as const;

const refusedRequest = z
  .object({
    id: idOf(refusedRequestIds),
    firstAt: time,
    lastAt: time,
    count: z.int().describe("Equal ones: the same path, reason and library."),
    address: z
      .string()
      .nullable()
      .describe("Where the last one came from; null when its connection was closed before."),
    method: z.string().nullable().describe("Null when no HTTP arrived."),
    path: z.string().nullable().describe("Without the query; null when no HTTP arrived."),
    library: z
      .object({
        id: z.string().nullable().describe("Null when its lines of code are not known."),
        name: z.string(),
        version: z.string().nullable(),
        recognisedBy: z.enum(["user-agent", "body"]).nullable(),
      })
      .describe("The client library, or the program that sent the request."),
    status: z
      .int()
      .nullable()
      .describe(
        "The answer's: 200 in production mode, where the hosted service has it; null when there was none.",
      ),
    code: z.string(),
    message: z.string().describe("What was wrong."),
    advice: z.string().nullable().describe("What to do, when `message` and `line` do not say it."),
    line: z.string().nullable().describe("The line of code to change, as it should be."),
    writeKey: z.string().nullable(),
    sourceId: id
      .nullable()
      .describe("The source whose key it had; Live has what arrived as rejected messages."),
  })
  .meta({ id: "RefusedRequest" });

export const refusedCalls = [
  defineCall({
    name: "refused.list",
    summary:
      "Requests that the ingest port refused, the last one first. Those that are kept for an unknown write key are listed there.",
    answer: z.object({
      items: z.array(refusedRequest),
      dropped: z.int().describe("Entries that were removed in favour of newer ones."),
    }),
  }),
  defineCall({
    name: "refused.clear",
    summary: "Empties the list of refused requests.",
    answer: z.object({ count: z.int() }),
  }),
] as const;
