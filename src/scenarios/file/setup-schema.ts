/**
 * What a scenario sets up before its steps: the same things as in the control API, under their
 * names, with times as people write them.
 */

import { z } from "zod";
import { destinationFilter as apiFilter } from "../../contract/destinations.ts";
import { step as apiStep } from "../../contract/endpoints.ts";
import { ingestFault as apiFault, planMembers } from "../../contract/sources.ts";
import {
  batchKeys,
  destinationKinds,
  holdOrders,
  ingestFaultActions,
  losses,
  lossLooks,
  mappingMethods,
  tamperings,
  filterActions,
  sampleBys,
  planActions,
  unplannedEventActions,
  unplannedPropertyActions,
} from "../../domain/configuration.ts";
import { audienceCalls, parities } from "../../domain/configuration.ts";
import { highestStatus, lowestStatus } from "../../domain/http-status.ts";
import { sourceKinds, messageTypes } from "../../domain/states.ts";
import { token } from "../../domain/webhook-rules.ts";
import { duration } from "./matcher.ts";
import { members } from "./members.ts";

export const text = z.string({ error: "a text" });
export const name = text.min(1, "a text that is not empty");
/** What every step may have. */
export const everyStep = {
  name: text.optional().describe("What the step is for, in the report."),
  caption: text
    .min(1, "a text that is not empty")
    .optional()
    .describe("Begins a scene of a story. Values stand in braces, such as {Big spenders.size}."),
  why: text.optional().describe("The line below the caption: the cause."),
  open: text
    .optional()
    .describe(
      "The view that the scene opens, such as flow, audiences/Big spenders, live/ada, or stage/ada/Big spenders/CRM sync.",
    ),
  highlight: text.optional().describe("The text of the element that the scene highlights."),
};

const flag = z.boolean({ error: "true or false" });
const share = z
  .number({ error: "a share from 0 to 1" })
  .min(0, "a share from 0 to 1")
  .max(1, "a share from 0 to 1");
export const whole = (least: number, most: number) => {
  const wanted = `a whole number from ${least} to ${most}`;
  return z.int({ error: wanted }).min(least, wanted).max(most, wanted);
};
export const oneOf = <const Values extends readonly string[]>(values: Values) =>
  z.enum(values, { error: anyOf(values) });
const headers = z.record(
  z.string(),
  z.string({ error: "a text, in quotes where it looks like a number" }),
  {
    error: "a mapping of header names and values",
  },
);

export function anyOf(values: readonly string[]): string {
  return values.length < 2
    ? values.join("")
    : `${values.slice(0, -1).join(", ")} or ${values.at(-1)}`;
}

/** Under their names. What is left out of one may be all of it: `Shop:` alone will do. */
export function named<Thing extends z.ZodType>(thing: Thing) {
  return z.record(name, thing, { error: "a mapping of names" });
}

const fault = members({
  do: oneOf(ingestFaultActions).describe(apiFault.shape.do.description ?? ""),
  status: whole(200, highestStatus)
    .optional()
    .describe(apiFault.shape.status.description ?? ""),
  retryAfter: whole(0, 86_400)
    .optional()
    .describe(apiFault.shape.retryAfter.description ?? ""),
  delay: duration
    .optional()
    .describe("In real time: how long the request, or the answer of `delay-answer`, waits."),
  perSecond: whole(0, 1_000_000)
    .optional()
    .describe(apiFault.shape.perSecond.description ?? ""),
  times: whole(0, 1_000_000)
    .optional()
    .describe(apiFault.shape.times.description ?? ""),
  chance: share.optional().describe(apiFault.shape.chance.description ?? ""),
}).meta({ id: "ScenarioFault" });
export type FileFault = z.output<typeof fault>;

const plan = members({
  name: text.optional(),
  schemas: z
    .union([z.record(z.string(), z.unknown()), z.array(z.unknown())], {
      error: "a plan of the hosted service, or JSON Schemas by event",
    })
    .optional()
    .describe(planMembers.schemas.description ?? ""),
  onViolation: oneOf(planActions)
    .optional()
    .describe(planMembers.onViolation.description ?? ""),
  unplannedEvents: oneOf(unplannedEventActions)
    .optional()
    .describe(planMembers.unplannedEvents.description ?? ""),
  unplannedProperties: oneOf(unplannedPropertyActions)
    .optional()
    .describe(planMembers.unplannedProperties.description ?? ""),
}).meta({
  id: "ScenarioPlan",
  description: "The tracking plan of the source; null takes it away.",
});

export const sourceMembers = {
  kind: oneOf(sourceKinds).optional().describe("server when left out."),
  writeKey: name.optional().describe("Derived from the name when left out."),
  mode: oneOf(["explain", "production"]).optional(),
  deduplicate: flag.optional(),
  correctClockSkew: z
    .union([z.literal("auto"), z.boolean()], { error: "auto, true or false" })
    .optional(),
  plan: plan.nullable().optional(),
  faults: z
    .array(fault, { error: "a list of faults" })
    .optional()
    .describe("Faults that clients of the source meet."),
};
export const source = members(sourceMembers).meta({ id: "ScenarioSource" });

const does = apiStep.shape.do.options;
export const messageTypeName = oneOf(messageTypes);

const programStep = members({
  do: oneOf(does).optional().describe("answer when left out."),
  times: whole(1, 1_000_000)
    .optional()
    .describe(apiStep.shape.times.description ?? ""),
  match: members({
    type: messageTypeName.optional(),
    event: text.optional(),
    userId: text.optional(),
    messageId: text.optional(),
  })
    .optional()
    .describe(apiStep.shape.match.description ?? ""),
  chance: share.optional().describe(apiStep.shape.chance.description ?? ""),
  status: whole(200, highestStatus).optional(),
  headers: headers.optional(),
  body: text.optional(),
  delay: duration.optional().describe("Clock time before the step does what it does."),
  for: duration
    .optional()
    .describe(
      "Of hang and drip: clock time for which it lasts. Of hold: how long the first request waits for the others.",
    ),
  to: text
    .optional()
    .describe(
      "Of forward: the full URL of the receiver, or the name of an endpoint above this one.",
    ),
  mayBeDown: flag
    .optional()
    .describe("Of to: do not insist that something listens there before the scenario begins."),
  lose: oneOf(losses)
    .optional()
    .describe(apiStep.shape.lose.description ?? ""),
  loseAs: oneOf(lossLooks)
    .optional()
    .describe(apiStep.shape.loseAs.description ?? ""),
  delayAfter: duration
    .optional()
    .describe("Of forward: clock time between the receiver's answer and the answer to the sender."),
  copies: whole(1, 10)
    .optional()
    .describe(apiStep.shape.copies.description ?? ""),
  together: flag.optional().describe(apiStep.shape.together.description ?? ""),
  tamper: oneOf(tamperings)
    .optional()
    .describe(apiStep.shape.tamper.description ?? ""),
  hold: whole(2, 100)
    .optional()
    .describe(apiStep.shape.hold.description ?? ""),
  order: oneOf(holdOrders)
    .optional()
    .describe(apiStep.shape.order.description ?? ""),
}).meta({ id: "ScenarioProgramStep" });
export type ProgramStep = z.output<typeof programStep>;

export function stepsOf(endpoint: FileEndpoint): ProgramStep[] {
  return Array.isArray(endpoint) ? endpoint : endpoint.steps;
}

/** Any other text is the name of an endpoint. */
export function isUrl(to: string): boolean {
  return to.includes("://");
}

const program = z
  .array(programStep, { error: "a list of steps" })
  .min(1, "a list with at least one step");

export const endpoint = z
  .union([
    program,
    members({
      steps: program,
      after: oneOf(["repeat-last", "start-over"]).optional(),
      perMessage: flag
        .optional()
        .describe("Each message meets the first step first, however many others came before it."),
    }),
  ])
  .meta({
    id: "ScenarioEndpoint",
    description: "Its program: a list of steps, or steps with what comes after the last.",
  });
export type FileEndpoint = z.output<typeof endpoint>;

export const certificates = ["valid", "self-signed", "expired", "wrong-host"] as const;

const mayBeDown = flag
  .optional()
  .describe("Of a url: the receiver does not have to listen there before the scenario begins.");

/** Of a webhook or a mapping. */
function mayBeDownOnlyAtUrl(
  one: { endpoint?: string | undefined; mayBeDown?: boolean | undefined },
  context: z.RefinementCtx,
): void {
  if (one.mayBeDown === undefined || one.endpoint === undefined) return;
  context.addIssue({
    code: "custom",
    message: "mayBeDown requires a url; an endpoint of this file always listens.",
    path: ["mayBeDown"],
  });
}

const webhook = members({
  endpoint: name.optional().describe("The name of an endpoint of this file."),
  certificate: oneOf(certificates)
    .optional()
    .describe("Of an endpoint: over HTTPS, with this certificate."),
  url: text.optional().describe("The URL of a real receiver."),
  mayBeDown,
  headers: headers.optional(),
})
  .superRefine((one, context) => {
    if ((one.endpoint === undefined) === (one.url === undefined)) {
      context.addIssue({
        code: "custom",
        message: "A webhook has either an endpoint, by its name, or a url.",
      });
    }
    if (one.certificate !== undefined && one.url !== undefined) {
      context.addIssue({
        code: "custom",
        message: "certificate requires an endpoint; a receiver at a url has its own.",
        path: ["certificate"],
      });
    }
    mayBeDownOnlyAtUrl(one, context);
  })
  .meta({ id: "ScenarioWebhook" });
export type FileWebhook = z.output<typeof webhook>;

const filterParts = apiFilter.shape;
const filter = members({
  name,
  enabled: flag.optional(),
  if: text.optional().describe(filterParts.if.description ?? ""),
  action: oneOf(filterActions).describe(filterParts.action.description ?? ""),
  share: share.optional().describe(filterParts.share.description ?? ""),
  by: oneOf(sampleBys)
    .optional()
    .describe(filterParts.by.description ?? ""),
  properties: z
    .array(text, { error: "a list of members such as properties.email" })
    .optional()
    .describe(filterParts.properties.description ?? ""),
}).meta({ id: "ScenarioFilter" });

const batch = members({
  enabled: flag.optional().describe("true when left out."),
  size: whole(1, 4000).optional(),
  keys: z.array(oneOf(batchKeys), { error: "a list of keys" }).optional(),
  wait: duration.optional().describe("Clock time until a batch that is not full is sent."),
});

const mapping = members({
  name: name.optional().describe("`Mapping 1` and so on when left out."),
  enabled: flag.optional(),
  trigger: text.optional().describe("A condition; all messages when left out."),
  endpoint: name.optional().describe("The name of an endpoint of this file."),
  url: z.unknown().optional().describe("A text or a directive."),
  mayBeDown,
  method: oneOf(mappingMethods).optional(),
  headers: z.unknown().optional().describe("Names and values, or a directive."),
  data: z.unknown().optional().describe("What is sent; the whole message when left out."),
  batch: batch.optional(),
})
  .superRefine((one, context) => {
    if ((one.endpoint === undefined) === (one.url === undefined))
      context.addIssue({
        code: "custom",
        message: "A mapping has either an endpoint, by its name, or a url.",
      });
    mayBeDownOnlyAtUrl(one, context);
  })
  .meta({ id: "ScenarioMapping" });
export type FileMapping = z.output<typeof mapping>;

export const destinationMembers = {
  kind: oneOf(destinationKinds)
    .optional()
    .describe("webhooks, or webhooks-actions where it has mappings."),
  mappings: z
    .array(mapping, { error: "a list of mappings" })
    .min(1, "a list with at least one mapping")
    .max(5, "a list of at most 5 mappings")
    .optional()
    .describe("Of webhooks-actions, in place of webhooks."),
  sources: z
    .array(name, { error: "a list of names of sources" })
    .optional()
    .describe("All sources when left out."),
  webhooks: z
    .array(webhook, { error: "a list of webhooks" })
    .min(1, "a list with at least one webhook")
    .max(5, "a list of at most 5 webhooks")
    .optional(),
  sharedSecret: z.union([text, z.null()]).optional(),
  enabled: flag.optional(),
  retryProfile: name
    .optional()
    .describe("A built-in one, or one of this file: documented when left out."),
  payload: oneOf(["documented", "full"]).optional(),
  audienceCalls: oneOf(audienceCalls)
    .optional()
    .describe("How it gets the values of audiences and computed traits; identify when left out."),
  filters: z
    .array(filter, { error: "a list of filters" })
    .optional()
    .describe("Applied in this order."),
};
export const destination = members(destinationMembers)
  .superRefine((one, context) => {
    if ((one.webhooks === undefined) === (one.mappings === undefined))
      context.addIssue({
        code: "custom",
        message: "A destination has either webhooks or mappings.",
      });
  })
  .meta({ id: "ScenarioDestination" });
export type FileDestination = z.output<typeof destination>;

const delays = z.array(duration, { error: "a list of durations" });
const statuses = z.string().regex(/^\d{3}(-\d{3})?$/, "statuses such as 503 or 500-599");

/** What is left out is as in `documented`. */
export const retryProfile = members({
  delays: z
    .union([delays, members({ first: duration, factor: z.number(), cap: duration })], {
      error: "a list of durations, or first, factor and cap",
    })
    .optional()
    .describe("From the start of each round to that of the next."),
  jitter: share.optional().describe("0.1 shifts each delay by up to ten per cent."),
  window: duration.optional().describe("No attempt starts later than this after the first."),
  timeout: duration.optional().describe("For a complete response."),
  retried: z
    .array(z.union([whole(lowestStatus, highestStatus), statuses]), { error: "a list of statuses" })
    .optional()
    .describe("Statuses that are retried, such as 503 or 500-599."),
  retryTimeouts: flag.optional(),
  retryConnectionErrors: flag.optional(),
  honourRetryAfter: flag.optional(),
}).meta({ id: "ScenarioRetryProfile" });
export type FileRetryProfile = z.output<typeof retryProfile>;

export const settings = members({
  parity: oneOf(parities)
    .optional()
    .describe("hosted: as at the hosted service, of all sources and destinations too."),
  vendor: text.regex(token, "a product token: letters, digits and -._ without spaces").optional(),
  jitter: flag.optional(),
  laneConnections: whole(1, 64)
    .optional()
    .describe(
      "Connections per webhook: 1 when left out, so that the order of requests is the same in every run.",
    ),
}).meta({ id: "ScenarioSettings" });
