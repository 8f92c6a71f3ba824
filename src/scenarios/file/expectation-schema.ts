/**
 * What a scenario can expect. Each subject chooses things with `of` and then says what must be true
 * of every one of them.
 */

import { z } from "zod";
import { stepActions } from "../../domain/configuration.ts";
import { highestStatus, lowestStatus } from "../../domain/http-status.ts";
import { deliveryStates, messageStates, outcomes } from "../../domain/states.ts";
import {
  duration,
  expectedCount,
  expectedDuration,
  expectedNumber,
  expectedValue,
} from "./matcher.ts";
import { members } from "./members.ts";
import { anyOf, messageTypeName, name, oneOf, text, whole } from "./setup-schema.ts";

function oneOrSeveral<Value extends z.ZodType>(value: Value) {
  return z.union([value, z.array(value).min(1, "a list that is not empty")]);
}

const messageChoice = {
  source: oneOrSeveral(name).optional(),
  type: oneOrSeveral(messageTypeName).optional(),
  event: oneOrSeveral(text)
    .optional()
    .describe("Of a track; the name of a page or screen; the group of a group."),
  userId: oneOrSeveral(text).optional().describe("A userId or an anonymousId."),
  messageId: oneOrSeveral(text).optional(),
};
/** Of the others, the status says what the endpoint did. */
const faultActions = stepActions.filter(
  (action) => action !== "answer" && action !== "redirect" && action !== "forward",
);
const messageState = oneOf(messageStates);
const deliveryState = oneOf(deliveryStates);

const valid = z
  .boolean({ error: "true or false" })
  .describe("false: it violates the tracking plan of its source.");
const ofMessages = members({
  ...messageChoice,
  state: oneOrSeveral(messageState).optional(),
  valid: valid.optional(),
});
export const ofDeliveries = members({
  ...messageChoice,
  destination: oneOrSeveral(name).optional(),
  state: oneOrSeveral(deliveryState).optional(),
}).meta({ id: "ScenarioDeliveries" });

const resultPattern = new RegExp(`^(?:[1-9]\\d\\d|${outcomes.join("|")})$`);
const resultWords =
  "a status such as 503, or success, http_error, timeout, connection_error or tls_error";
/** An attempt in one word: the status of the answer, or its outcome. */
const result = z.union(
  [whole(lowestStatus, highestStatus), z.string().regex(resultPattern, resultWords)],
  { error: resultWords },
);
const resultsPattern = new RegExp(`^(?:[1-9]\\d\\d|${outcomes.join("|")})(?: x[1-9]\\d{0,3})?$`);
const resultsWords = `${resultWords}; several alike as 503 x3`;
const results = z.union(
  [whole(lowestStatus, highestStatus), z.string().regex(resultsPattern, resultsWords)],
  { error: resultsWords },
);

const ofAttempts = members({
  ...messageChoice,
  destination: oneOrSeveral(name).optional(),
  state: oneOrSeveral(deliveryState).optional().describe("Of the delivery."),
  webhook: oneOrSeveral(text).optional().describe("The name of an endpoint, or a url."),
  round: oneOrSeveral(whole(1, 100_000)).optional(),
  result: oneOrSeveral(result).optional(),
});
const ofRequests = members({
  endpoint: oneOrSeveral(name).optional(),
  type: messageChoice.type,
  event: messageChoice.event,
  userId: messageChoice.userId,
  messageId: messageChoice.messageId,
});

const timing = {
  within: duration
    .optional()
    .describe(
      "Within this much clock time after the previous step; the clock advances until then. Later results do not count.",
    ),
  never: z
    .literal(true, { error: "true, or left out" })
    .optional()
    .describe(
      "None exists, and none has existed so far; with within, none appears in that time either.",
    ),
};
const counted = { ...timing, count: expectedCount.optional() };

const recordedParts = {
  headers: z
    .record(z.string(), expectedValue, { error: "a mapping of header names and values" })
    .optional()
    .describe("Names in any case. If a header is repeated, one of its values must match."),
  body: z
    .record(z.string(), expectedValue, {
      error: "a mapping of paths such as $.properties.total and values",
    })
    .optional()
    .describe(
      "Paths into the JSON of the body, such as $.properties.items[0].sku, and the values there.",
    ),
};
const signed = {
  signature: oneOf(["valid", "invalid", "none"])
    .optional()
    .describe("Whether X-Signature verifies with the destination's shared secret."),
  signedWith: name.optional().describe("X-Signature verifies with this secret."),
};

/** `never` together with a count or a value is a mistake. */
function noCountWithNever<Schema extends z.ZodType<{ never?: true | undefined; count?: unknown }>>(
  schema: Schema,
) {
  return schema.refine((claim) => claim.never === undefined || claim.count === undefined, {
    error: "never means that none exists, so it cannot be combined with count.",
    path: ["count"],
  });
}

const messagesClaim = noCountWithNever(
  members({
    of: ofMessages.optional().describe("Which ones; all of them when left out."),
    ...counted,
    state: messageState.optional(),
    reason: text.optional(),
    decisions: z
      .record(name, text, {
        error: "a mapping of destinations and reasons such as routed or integrations_false",
      })
      .optional()
      .describe("Destinations, and the reason of the decision for each."),
    valid: valid.optional(),
    violations: z
      .array(text, { error: "a list of places such as properties.total" })
      .optional()
      .describe("What violates the plan, as places such as properties.total, in any order."),
  }),
);

const deliveriesClaim = noCountWithNever(
  members({
    of: ofDeliveries.optional().describe("Which ones; all of them when left out."),
    ...counted,
    state: deliveryState.optional(),
    reason: text.optional(),
    rounds: expectedNumber.optional(),
    attempts: expectedNumber.optional(),
    took: expectedDuration
      .optional()
      .describe("Clock time from the message's arrival to the last change of state."),
    nextAttempt: expectedDuration.optional().describe("How long until the next round."),
    body: recordedParts.body,
  }),
);

const attemptsClaim = noCountWithNever(
  members({
    of: ofAttempts.optional().describe("Which ones; all of them when left out."),
    ...counted,
    result: result.optional().describe("Of each one."),
    results: z
      .array(results, { error: "a list of results" })
      .min(1, "a list with at least one result")
      .optional()
      .describe("In order, of every delivery at every webhook."),
    at: z
      .array(expectedDuration, { error: "a list of durations" })
      .min(1, "a list with at least one duration")
      .optional()
      .describe(
        "Clock time since the message's arrival, in order, of every delivery at every webhook.",
      ),
    error: text.optional().describe("The code of the error, such as ECONNRESET."),
    ...recordedParts,
    ...signed,
    response: members(recordedParts).optional(),
  }),
);

const requestsClaim = noCountWithNever(
  members({
    of: ofRequests.optional().describe("Which ones; all of them when left out."),
    ...counted,
    ...recordedParts,
    ...signed,
    answered: z
      .union([whole(lowestStatus, highestStatus), oneOf(faultActions)], {
        error: `a status, or ${anyOf(faultActions)}`,
      })
      .optional()
      .describe("What the endpoint did with it."),
  }),
);

const audiencesClaim = noCountWithNever(
  members({
    of: members({ name: oneOrSeveral(name).optional() })
      .optional()
      .describe("Which ones; all of them when left out."),
    ...counted,
    size: expectedNumber
      .optional()
      .describe("How many users are in, by what was sent to receivers."),
    in: oneOrSeveral(name).optional().describe("Receivers were notified that these users are in."),
    notIn: oneOrSeveral(name)
      .optional()
      .describe("They were notified that these users are out, or not notified."),
    entered: expectedNumber
      .optional()
      .describe("How often receivers were notified that a user is in."),
    left: expectedNumber.optional().describe("How often they were notified that a user is out."),
  }),
);

const clockClaim = members({
  elapsed: expectedDuration.optional().describe("Clock time since the scenario began."),
  nextDue: z
    .union([expectedDuration, z.literal("nothing")], {
      error: "a duration, atLeast and atMost, or nothing",
    })
    .optional()
    .describe("How long until the next thing is due, or nothing."),
}).refine((claim) => claim.elapsed !== undefined || claim.nextDue !== undefined, {
  error: "Say elapsed, nextDue, or both.",
});

const effectsClaim = members({
  url: text
    .optional()
    .describe("Is asked with GET; its answer, text or JSON, says what the receiver has done."),
  command: text
    .optional()
    .describe(
      "Its standard output says what the receiver has done. Only hookyard run and hookyard/testing run one.",
    ),
  token: name.describe("What each line or array element of an effect contains: a userId, say."),
  times: expectedNumber.optional().describe("How often it took effect."),
  sameAs: name
    .optional()
    .describe("The part about this other token is the same but for the two tokens, in any order."),
  ignore: z
    .array(name)
    .optional()
    .describe("With sameAs: members that may differ, such as receivedAt."),
})
  .refine(({ url, command }) => (url === undefined) !== (command === undefined), {
    error: "Say how to ask the receiver: either url or command.",
  })
  .refine(({ times, sameAs }) => (times === undefined) !== (sameAs === undefined), {
    error: "Say what there has to be: either times or sameAs.",
  })
  .refine(({ token, sameAs }) => token !== sameAs, {
    path: ["sameAs"],
    error: "sameAs must be another token: what is shown about one is always the same as itself.",
  });

const subjects = {
  messages: messagesClaim.optional(),
  deliveries: deliveriesClaim.optional(),
  attempts: attemptsClaim.optional(),
  requests: requestsClaim.optional(),
  audiences: audiencesClaim.optional(),
  clock: clockClaim.optional(),
  effects: effectsClaim.optional(),
};
export type Subject = keyof typeof subjects;

export const expectation = members(subjects)
  .refine((one) => Object.values(one).some((claim) => claim !== undefined), {
    error: `An expectation is about something: ${Object.keys(subjects).join(", ")}.`,
  })
  .meta({ id: "ScenarioExpectation" });

export type Expectation = z.output<typeof expectation>;
export type MessagesClaim = z.output<typeof messagesClaim>;
export type DeliveriesClaim = z.output<typeof deliveriesClaim>;
export type AttemptsClaim = z.output<typeof attemptsClaim>;
export type RequestsClaim = z.output<typeof requestsClaim>;
export type AudiencesClaim = z.output<typeof audiencesClaim>;
export type ClockClaim = z.output<typeof clockClaim>;
export type EffectsClaim = z.output<typeof effectsClaim>;
export type DeliveryChoice = z.output<typeof ofDeliveries>;
