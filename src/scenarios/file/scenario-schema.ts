/** The whole scenario file. `resources/scenario.schema.json` is generated from it. */

import { z } from "zod";
import { highestStatus, lowestStatus } from "../../domain/http-status.ts";
import { duration } from "./matcher.ts";
import { expectation, ofDeliveries } from "./expectation-schema.ts";
import { members } from "./members.ts";
import { wantedVerbs } from "./sentences.ts";
import {
  destination,
  endpoint,
  everyStep,
  name,
  named,
  oneOf,
  retryProfile,
  settings,
  source,
  text,
  whole,
} from "./setup-schema.ts";
import { audience, computedTrait, userIds, change, creation } from "./change-schema.ts";
import { commandStep, requestStep } from "./request-schema.ts";
import type { PlacedValue } from "./yaml-places.ts";

export const callTypes = ["identify", "track", "page", "screen", "group", "alias"] as const;

const callMembers = ["userId", "anonymousId", "messageId", "groupId", "previousId"];
const plainName = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, "");

/** The members that a message lacks and has in another spelling, which ingest does not read. */
export function misspelledMembers(message: object): [name: string, meant: string][] {
  return Object.keys(message).flatMap((name): [string, string][] => {
    const plain = plainName(name);
    const meant = callMembers.find((known) => plainName(known) === plain);
    return meant === undefined || Object.hasOwn(message, meant) ? [] : [[name, meant]];
  });
}

/** Members beside the type are sent unchanged, also invalid ones: ingest reports those. */
const message = z
  .looseObject({ type: oneOf(callTypes) }, { error: "a message: a mapping with a type" })
  .superRefine((given, context) => {
    for (const [name, meant] of misspelledMembers(given))
      context.addIssue({
        code: "custom",
        path: [name],
        message: `${name} is unknown. Did you mean ${meant}? A post step sends any body.`,
      });
  })
  .meta({ id: "ScenarioMessage" });

const answer = z.union([whole(lowestStatus, highestStatus), z.literal("cut")], {
  error: "a status such as 200, or cut",
});

/**
 * For everything that is sent: the source, how often, and the expected answer of the ingest port.
 */
const sending = {
  ...everyStep,
  from: name.optional().describe("The source; may be left out when there is only one."),
  resend: whole(1, 100)
    .optional()
    .describe(
      "How many times each request is sent again, byte for byte, as a client does that missed the response.",
    ),
  answers: z
    .union([answer, z.array(answer).min(1, "a list that is not empty")])
    .optional()
    .describe(
      "The expected ingest response to each request: 200 when left out; a list for the request and each time that it is sent again.",
    ),
};

const send = members({
  send: z
    .union([message, z.array(message).min(1, "a list with at least one message")])
    .describe("A message is sent as its own call, a list as one batch."),
  ...sending,
  users: z
    .array(text.min(1, "a text that is not empty"))
    .min(1, "a list with at least one user")
    .optional()
    .describe("Sent once as each of these users."),
  repeat: whole(1, 10_000).optional().describe("Sent this many times."),
  every: duration.optional().describe("Clock time between the repetitions."),
  batch: whole(1, 2500).optional().describe("Sent in batches of this many messages."),
  rejected: whole(0, 1_000_000)
    .optional()
    .describe("How many messages of the batches ingest must reject: 0 when left out."),
}).meta({ id: "ScenarioSend" });

const post = members({
  post: text.describe("A raw body, which may be malformed."),
  call: oneOf([...callTypes, "batch"])
    .optional()
    .describe("The path: batch when left out."),
  ...sending,
}).meta({ id: "ScenarioPost" });

const advance = members({
  advance: z
    .union([oneOf(["next-due", "idle"]), duration], {
      error: "a duration such as 90m, or next-due, or idle",
    })
    .describe(
      "How far the clock advances: a duration, next-due, or idle: until nothing is queued, sending or waiting.",
    ),
  ...everyStep,
}).meta({ id: "ScenarioAdvance" });

const changeStep = members({ change, ...everyStep });
const create = members({
  create: creation.describe(
    "Audiences and computed traits, created now: each sends its first sync immediately.",
  ),
  ...everyStep,
});
const sync = members({
  sync: name.describe("The audience or computed trait that sends its differences now."),
  ...everyStep,
});
const deletion = members({
  users: userIds,
  suppress: z.boolean({ error: "true or false" }).optional().describe("true when left out."),
});
const deleteStep = members({
  delete: z.union([userIds, deletion]).describe("A deletion request for these users."),
  ...everyStep,
});
const lift = members({
  lift: userIds.describe("Messages of these suppressed users are accepted again."),
  ...everyStep,
});
const manualStep = {
  ifPossible: z
    .boolean({ error: "true or false" })
    .optional()
    .describe(
      "true: deliveries for which it is refused, because they are being sent or over, stay as they are. When left out, the step fails then, and when there is no delivery.",
    ),
  ...everyStep,
};
const retry = members({ retry: ofDeliveries, ...manualStep });
const cancel = members({ cancel: ofDeliveries, ...manualStep });

const waitStep = members({
  wait: duration
    .refine((ms) => ms <= 60_000, { error: "wait must be at most 60s." })
    .describe("Real time, for receivers that are not Hookyard's."),
  ...everyStep,
});

const expectStep = members({
  expect: z.union([
    expectation,
    z.array(expectation).min(1, "a list with at least one expectation"),
  ]),
  ...everyStep,
});

export const verbs = [
  "send",
  "post",
  "advance",
  "change",
  "create",
  "sync",
  "delete",
  "lift",
  "retry",
  "cancel",
  "request",
  "command",
  "wait",
  "expect",
] as const;
export type Verb = (typeof verbs)[number];
const step = z.union(
  [
    send,
    post,
    advance,
    changeStep,
    create,
    sync,
    deleteStep,
    lift,
    retry,
    cancel,
    requestStep,
    commandStep,
    waitStep,
    expectStep,
  ],
  {
    error: wantedVerbs(verbs),
  },
);

/** The clock does not go beyond it. */
const endOfTimes = Date.UTC(3000, 0);

export const scenarioFile = members({
  name: name.describe("What the scenario shows."),
  description: text.optional(),
  seed: z
    .int({ error: "a whole number" })
    .optional()
    .describe("The seed of all random values: 1 when left out."),
  startAt: z.iso
    .datetime({ offset: true, error: "a time such as 2026-11-21T09:00:00Z", abort: true })
    .refine((text) => Date.parse(text) >= 0 && Date.parse(text) <= endOfTimes, {
      error: "startAt must be a time from 1970 to 2999.",
    })
    .optional()
    .describe("The time of the clock at the beginning: 2026-11-21T09:00:00Z when left out."),
  settings: settings.optional(),
  retryProfiles: named(retryProfile)
    .optional()
    .describe("For destinations, beside those built in."),
  sources: named(source.nullable())
    .optional()
    .describe("One source with the name Source when left out."),
  endpoints: named(endpoint).optional().describe("Test endpoints, and their programs."),
  destinations: named(destination).optional(),
  audiences: named(audience)
    .optional()
    .describe(
      "Created before the first step, when they have no members; a create step creates one later.",
    ),
  computedTraits: named(computedTrait).optional(),
  steps: z.array(step, { error: "a list of steps" }).min(1, "a list with at least one step"),
}).meta({ id: "Scenario", title: "A scenario of Hookyard" });

export type Scenario = z.output<typeof scenarioFile>;

/** A checked scenario with the places of its parts. */
export type ReadScenario = { scenario: Scenario; file: PlacedValue };
export type ScenarioStep = z.output<typeof step>;
/** As they are written. */
export type ScenarioInput = z.input<typeof scenarioFile>;
export type SendInput = z.input<typeof send>;
export type PostInput = z.input<typeof post>;
export type AdvanceInput = z.input<typeof advance>;
export type ChangeInput = z.input<typeof change>;
export type DeliveriesInput = z.input<typeof ofDeliveries>;
export type CreateInput = z.input<typeof creation>;
export type DeleteInput = z.input<typeof deleteStep>;
export type ExpectInput = z.input<typeof expectStep>;
export type SendStep = z.output<typeof send>;
export type PostStep = z.output<typeof post>;
export type Message = z.output<typeof message>;

export const defaultStartAt = "2026-11-21T09:00:00Z";
export const defaultSeed = 1;
