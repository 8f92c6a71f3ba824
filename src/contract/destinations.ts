import { z } from "zod";
import {
  audienceCalls,
  batchKeys,
  destinationKinds,
  mappingMethods,
  filterActions,
  sampleBys,
} from "../domain/configuration.ts";
import { destinationIds, endpointIds, messageIds, sourceIds, webhookIds } from "../domain/ids.ts";
import { defineCall } from "./call.ts";
import { maxConditionLength } from "./conditions.ts";
import { job, mappingDecision, testAttempt } from "./deliveries.ts";
import { step } from "./endpoints.ts";
import { byId, bytes, deleted, headers, idOf, listOf, messageType, time } from "./shapes.ts";

export const audienceCallsShape = z
  .enum(audienceCalls)
  .describe(
    "How it gets the values of audiences and computed traits: as `identify`, as `track` (`Audience Entered`, `Audience Exited`, `Trait Computed`), or both. `identify` when left out.",
  );
export const payloadShape = z.enum(["documented", "full"]);

const id = idOf(destinationIds);

export const destinationFilter = z
  .strictObject({
    name: z.string().max(200),
    enabled: z.boolean().default(true),
    if: z
      .string()
      .max(10_000)
      .default("")
      .describe(
        "A condition in the hosted service's filter query language, such as `type = 'track' and match(event, 'Order *')`; empty: all messages.",
      ),
    action: z
      .enum(filterActions)
      .describe(
        "`drop` keeps the message from the destination, `sample` all but a share; `allow-properties` removes all others of the same object, `drop-properties` these.",
      ),
    share: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .describe("`sample`: the share that is delivered, 0 to 1."),
    by: z
      .enum(sampleBys)
      .optional()
      .describe("`sample`: all messages of a user or none, or each on its own, as when left out."),
    properties: z
      .array(z.string().max(1000))
      .optional()
      .describe("Members such as `properties.email`, `traits.address.city` or `context.ip`."),
  })
  .meta({ id: "DestinationFilter" });

const json = z.unknown();

const mappingMembers = {
  name: z.string(),
  enabled: z.boolean(),
  trigger: z
    .string()
    .max(maxConditionLength)
    .nullable()
    .describe("A condition; null matches every message."),
  url: json.describe("A text or a directive of the mapping kit."),
  method: z.enum(mappingMethods),
  headers: json.describe("An object of names and values, or a directive."),
  data: json.describe("What is sent: an object with directives in it, or one directive."),
  batch: z.strictObject({
    enabled: z.boolean(),
    size: z.int().describe("Messages of a request at most, 1 to 4,000; 1,000 when left out."),
    keys: z
      .array(z.enum(batchKeys))
      .describe("Messages that agree in these share a batch; url, method and headers by default."),
    waitMs: z
      .int()
      .describe("Clock time until a batch that is not full is sent; a second when left out."),
  }),
};

export const mappingDraft = z
  .strictObject(mappingMembers)
  .partial()
  .required({ name: true })
  .extend({ batch: mappingMembers.batch.partial().required({ enabled: true }).optional() })
  .meta({ id: "MappingDraft" });

const destinationAnswer = z
  .object({
    id,
    kind: z.enum(destinationKinds),
    name: z.string(),
    enabled: z.boolean(),
    sourceIds: z.array(idOf(sourceIds)),
    webhooks: z.array(
      z.object({
        id: idOf(webhookIds),
        url: z.string(),
        headers,
        behind: z
          .object({ endpointId: idOf(endpointIds), name: z.string(), url: z.string() })
          .optional()
          .describe("The test endpoint in front of it, and the URL that an undo restores."),
      }),
    ),
    mappings: z
      .array(z.object({ id: idOf(webhookIds), ...mappingMembers }).meta({ id: "Mapping" }))
      .describe("Of `webhooks-actions`. Each has a webhook, with the URL if that is a text."),
    hasSharedSecret: z.boolean(),
    retryProfile: z.string(),
    payload: payloadShape,
    audienceCalls: audienceCallsShape,
    filters: z.array(destinationFilter),
    connectionMode: z.literal("cloud"),
    createdAt: time,
  })
  .meta({ id: "Destination" });
export type DestinationAnswer = z.input<typeof destinationAnswer>;

export const webhookDraft = z
  .strictObject({
    url: z.string(),
    headers: headers.optional(),
  })
  .meta({ id: "WebhookDraft" });

const destinationDraft = z
  .strictObject({
    kind: z.enum(destinationKinds).optional().describe("`webhooks` when left out."),
    name: z.string(),
    sourceIds: z.array(idOf(sourceIds)),
    webhooks: z.array(webhookDraft).optional().describe("Of the kind `webhooks`: 1 to 5."),
    mappings: z
      .array(mappingDraft)
      .optional()
      .describe("Of the kind `webhooks-actions`: 1 to 5, each with a url."),
    sharedSecret: z.string().nullable().optional().describe("Null or an empty string: none."),
    enabled: z.boolean().optional().describe("True when left out."),
    retryProfile: z
      .string()
      .optional()
      .describe("The name of one; `documented`, or `actions` with mappings, when left out."),
    payload: payloadShape.optional(),
    audienceCalls: audienceCallsShape.optional(),
    filters: z.array(destinationFilter).optional().describe("Applied in this order."),
    connectionMode: z
      .enum(["cloud", "device"])
      .optional()
      .describe("Only `cloud` exists; `device` is refused."),
  })
  .meta({ id: "DestinationDraft" });
export type DestinationChanges = Partial<z.output<typeof destinationDraft>>;

const catalogEntry = z
  .object({
    kind: z.enum(destinationKinds),
    name: z.string().describe("Its name in the integrations object."),
    title: z.string(),
    description: z.string(),
    connectionModes: z.array(z.literal("cloud")),
    settings: z.array(
      z.object({
        name: z.string(),
        title: z.string(),
        description: z.string(),
        required: z.boolean(),
      }),
    ),
  })
  .meta({ id: "CatalogEntry" });

const funnelStage = z
  .object({
    count: z.int(),
    reasons: z
      .array(
        z.object({
          reason: z.string(),
          count: z.int(),
          samples: z.array(idOf(messageIds)).describe("The newest, three at most."),
        }),
      )
      .describe("The most frequent first."),
  })
  .meta({ id: "FunnelStage" });

export const destinationCalls = [
  defineCall({
    name: "catalog.list",
    summary: "The kinds of destination that can be created.",
    answer: listOf(catalogEntry),
  }),
  defineCall({
    name: "destinations.list",
    summary: "All destinations.",
    answer: listOf(destinationAnswer),
  }),
  defineCall({
    name: "destinations.create",
    summary: "Creates a destination.",
    body: destinationDraft,
    answer: destinationAnswer,
    status: 201,
  }),
  defineCall({
    name: "destinations.get",
    summary: "One destination.",
    params: byId(id),
    answer: destinationAnswer,
  }),
  defineCall({
    name: "destinations.update",
    summary: "Changes the given members.",
    params: byId(id),
    body: destinationDraft.partial(),
    answer: destinationAnswer,
  }),
  defineCall({
    name: "destinations.delete",
    summary: "Deletes a destination.",
    params: byId(id),
    answer: deleted(id),
  }),
  defineCall({
    name: "destinations.previewFilters",
    summary:
      "What filters would do with the last 100 messages that would go to the destination. Nothing is changed or sent.",
    params: byId(id),
    body: z.strictObject({
      filters: z.array(destinationFilter).optional().describe("Its own when left out."),
    }),
    answer: z.object({
      delivered: z.int(),
      changed: z.int().describe("Of those that are delivered."),
      dropped: z.int(),
      items: z.array(
        z.object({
          id: idOf(messageIds),
          type: messageType.nullable(),
          event: z.string().nullable(),
          userId: z.string().nullable(),
          result: z.enum(["unchanged", "changed", "dropped"]),
          filters: z.array(z.string()).describe("The names of those that did it."),
          detail: z.string(),
          before: bytes.nullable().describe("Null when the answer would become larger than 1 MB."),
          after: bytes.nullable().describe("Null when it is dropped, too."),
        }),
      ),
    }),
  }),
  defineCall({
    name: "destinations.test",
    summary:
      "Sends one event to the destination's webhooks, or what its mappings make of it, once each and also when it is disabled, and answers with what was sent and received. It is no message: no count, profile or delivery changes.",
    params: byId(id),
    body: z.strictObject({
      event: z
        .unknown()
        .optional()
        .describe("A message as a client sends it, with its `type`. A sample when left out."),
    }),
    answer: z.object({
      sent: z
        .boolean()
        .describe(
          "False when a filter or the event's integrations keep it back, or no mapping makes a request of it.",
        ),
      messageId: z.string(),
      reason: z.string(),
      detail: z.string(),
      warnings: z.array(z.string()),
      filters: z.array(z.string()).describe("The filters that did something."),
      mappings: z.array(mappingDecision).describe("What became of it at each mapping."),
      payload: bytes
        .nullable()
        .describe("Null too where each mapping sends its own: its `request` has it."),
      attempts: z.array(testAttempt),
    }),
  }),
  defineCall({
    name: "destinations.funnel",
    summary:
      "What became of the messages of the destination's sources, with reasons: of the newest 10,000 that were received in a period of the clock.",
    params: byId(id),
    query: z.strictObject({
      since: time.optional().describe("Received then or later."),
      until: time.optional().describe("Received before."),
    }),
    answer: z.object({
      received: z.int().describe("The sum of all stages."),
      filteredAtSource: funnelStage.describe("Rejected, duplicate, suppressed, or blocked."),
      filteredAtDestination: funnelStage.describe(
        "By integrations, a filter or triggers, because it was disabled, or not connected yet.",
      ),
      underWay: funnelStage.describe("Queued or being sent."),
      delivered: funnelStage,
      retrying: funnelStage.describe(
        "The reason is how its last round ended, as for `failed` and `expired`.",
      ),
      failed: funnelStage.describe("Also what no mapping could send."),
      expired: funnelStage,
      discarded: funnelStage.describe("Cancelled."),
      isWhole: z.boolean().describe("False when there are more than 10,000 in the period."),
      oldestAt: time.nullable().describe("When the oldest of them was received."),
    }),
  }),
  defineCall({
    name: "destinations.sendAgain",
    summary:
      "Sends the accepted messages of the destination's sources that were received in a period of the clock to this destination alone, oldest first: the newest 10,000 of them, with their own messageIds and today's filters. A job; with `dryRun` it only counts them.",
    params: byId(id),
    body: z.strictObject({
      since: time.describe("Received then or later."),
      until: time.describe("Received before."),
      dryRun: z.boolean().optional(),
    }),
    answer: z.union([job, z.object({ count: z.int() })]),
  }),
  defineCall({
    name: "destinations.putFault",
    summary:
      "Puts a fault in front of a webhook: makes a test endpoint that forwards to its URL, and points it there. The body is the fault, as in a step; with `times`, `match` or `chance` all else passes unchanged.",
    params: z.strictObject({ id, webhookId: idOf(webhookIds) }),
    body: step.omit({ do: true, to: true }).meta({ id: "Fault" }),
    answer: destinationAnswer,
    status: 201,
  }),
  defineCall({
    name: "destinations.undoFault",
    summary:
      "Gives the webhook its own URL back, and deletes the test endpoint that was in front of it.",
    params: z.strictObject({ id, webhookId: idOf(webhookIds) }),
    answer: destinationAnswer,
  }),
  defineCall({
    name: "destinations.secret",
    summary: "The shared secret. No other call returns it.",
    params: byId(id),
    answer: z.object({ sharedSecret: z.string().nullable() }),
  }),
] as const;
