/**
 * What a delivery would have become if one attempt had been answered differently. The delivery is
 * written as a scenario and run in a pipeline of its own, once unchanged, as a proof that it gives
 * what was recorded, and once with that one answer changed. Nothing is sent to its webhooks.
 */

import {
  deliveryDetails,
  type AttemptAnswer,
  type DeliveryDetailsAnswer,
} from "../../contract/deliveries.ts";
import type { AnswerOf, InputOf } from "../../contract/contract.ts";
import type { MessageDetailsAnswer } from "../../contract/messages.ts";
import type { WhatIfDifference } from "../../contract/scenarios.ts";
import { conflict, isProblem, notFound, problem, type Problem } from "../../domain/problem.ts";
import { nextTurn } from "../../engine/real-time.ts";
import { profileOf } from "../../domain/retry.ts";
import { readWritten } from "../file/read-scenario.ts";
import type { ScenarioInput } from "../file/scenario-schema.ts";
import { scenarioYaml } from "../record/record.ts";
import { lostOf } from "../run/deliveries.ts";
import { CallRefused, type ScenarioPipeline, type StartPipeline } from "../run/pipeline.ts";
import { problemsOf, runRead } from "../run/run-scenario.ts";
import { differencesOf } from "./differences.ts";
import { answerWords, isMapped, scenarioOf, webhooksOf, type Recorded } from "./scenario.ts";

type WhatIf = {
  text: string;
  changedLine: number | null;
  name: string;
  notes: string[];
  asItWas: ReturnType<typeof deliveryDetails.parse>;
  whatIf: ReturnType<typeof deliveryDetails.parse>;
  differences: WhatIfDifference[];
};

type Options = InputOf<"scenarios.whatIf"> & { own: ScenarioPipeline; start: StartPipeline };

export async function whatIf(options: Options): Promise<WhatIf | Problem> {
  try {
    return await answerOf(options);
  } catch (error) {
    if (!(error instanceof CallRefused)) throw error;
    const { status, code, data } = error.problem;
    return problem(status, code, error.message, data);
  }
}

async function answerOf({
  messageId,
  attemptId,
  answer,
  own,
  start,
}: Options): Promise<WhatIf | Problem> {
  const recorded = await recordedOf(own, messageId, attemptId);
  const about = recorded?.delivery.attempts.find(({ id }) => id === attemptId);
  if (recorded === null || about === undefined) return notFound("attempt", attemptId);
  const webhooks = webhooksOf(recorded);
  if (webhooks.length > 5)
    return conflict(
      "too_many_webhooks",
      "The delivery has attempts at more than five webhooks, because its destination was changed. A scenario has at most five.",
    );
  const notes = new Set<string>();
  const note = (sentence: string): void => void notes.add(sentence);
  tellWhatIsLeftOut(recorded, note);
  const does = answer.do ?? "answer";
  const changed = does === "answer" ? { status: answer.status ?? 200 } : ({ do: does } as const);
  const scenario = (what: typeof changed | null): ScenarioInput =>
    scenarioOf(recorded, { about, answer: what }, note);

  const control = await play(scenario(null), recorded, start, note);
  if (isProblem(control)) return control;
  const played = await play(scenario(changed), recorded, start, note);
  if (isProblem(played)) return played;
  const unchangedText = await scenarioYaml(scenario(null));
  const text = await scenarioYaml(scenario(changed));
  const strays = strayWords(recorded.delivery, control);
  if (strays !== null) note(strays);
  const shown = [recorded.delivery, played].map((delivery) =>
    deliveryDetails.parse(deliveryWithin(delivery, note)),
  ) as [WhatIf["asItWas"], WhatIf["whatIf"]];
  return {
    name: `What if round ${about.round} had answered ${answerWords(changed)}`,
    text,
    changedLine: changedLineOf(unchangedText, text),
    notes: [...notes],
    asItWas: shown[0],
    whatIf: shown[1],
    differences: differencesOf({
      asItWas: recorded.delivery,
      whatIf: played,
      webhooks,
      isMapped: isMapped(recorded),
    }),
  };
}

async function recordedOf(
  own: ScenarioPipeline,
  messageId: string,
  attemptId: string,
): Promise<Recorded | null> {
  const message = await own.call("messages.get", { id: messageId });
  const delivery = await deliveryOf(own, message, attemptId);
  if (delivery === null) return null;
  const { items } = await own.call("destinations.list", {});
  const destination = items.find(({ id }) => id === delivery.destinationId) ?? null;
  const profiles = (await own.call("retryProfiles.list", {})).items;
  const { seed, jitter, vendor } = await own.call("settings.get", {});
  const { now } = await own.call("clock.get", {});
  const endpoints = (await own.call("endpoints.list", {})).items.filter(
    ({ steps }) => !steps.some((step) => step.do === "forward"),
  );
  return {
    message,
    // The order in which they were made, whichever webhook answered first.
    delivery: {
      ...delivery,
      attempts: delivery.attempts.toSorted(
        (one, other) => one.round - other.round || one.startedAt.localeCompare(other.startedAt),
      ),
    },
    destination,
    profile: profileOf(profiles, destination?.retryProfile),
    isAnsweredHere: (url) => endpoints.some((one) => one.url === url || one.tlsUrl === url),
    seed,
    jitter,
    vendor,
    now: Date.parse(now),
  };
}

/** Of several deliveries, a message lists fewer attempts of each, and not all bytes. */
async function deliveryOf(
  own: ScenarioPipeline,
  message: MessageDetailsAnswer,
  attemptId: string,
): Promise<DeliveryDetailsAnswer | null> {
  const isOf = ({ attempts }: DeliveryDetailsAnswer): boolean =>
    attempts.some(({ id }) => id === attemptId);
  const listed = message.deliveries.find(isOf);
  const some = lostOf(message) > 0 ? message.deliveries : [];
  for (const { id } of listed === undefined ? some : [listed]) {
    const whole = await own.call("deliveries.get", { id });
    if (isOf(whole)) return whole;
  }
  return null;
}

function tellWhatIsLeftOut(recorded: Recorded, note: (sentence: string) => void): void {
  const { message, delivery, destination } = recorded;
  const others = message.deliveries.length - 1;
  const together = message.request.messages - 1;
  if (others > 0)
    note(
      `${others === 1 ? "The other delivery" : `The ${others} other deliveries`} of the message ${others === 1 ? "is" : "are"} left out: no answer to one changes another.`,
    );
  if (together > 0)
    note(
      `${together === 1 ? "The other message" : `The ${together.toLocaleString("en-US")} other messages`} of its request ${together === 1 ? "is" : "are"} left out, and so is everything received before: what led to this attempt is this message and its own rounds.`,
    );
  if (isMapped(recorded)) {
    const rest = (delivery.messages?.length ?? 1) - 1;
    const others =
      rest === 0
        ? " is"
        : rest === 1
          ? " and the other message of the batch are"
          : ` and the ${rest.toLocaleString("en-US")} other messages of the batch are`;
    note(
      `The mapping${others} left out: the scenario sends this message itself. Its rounds and answers are those of the record, its body is another.`,
    );
  }
  if (destination === null)
    note("The destination has been deleted. Its webhooks are those of the attempts.");
  else if (destination.hasSharedSecret)
    note("The shared secret is not recorded: another one replaces it, so the signature differs.");
  const first = delivery.attempts[0];
  if (first !== undefined && first.round > 1)
    note(
      "The first rounds are not among the attempts that are listed, the newest ones. The scenario begins with the first that is.",
    );
}

/** The delivery as it comes out of a run, under the ids of the recorded one. */
async function play(
  scenario: ScenarioInput,
  recorded: Recorded,
  start: StartPipeline,
  note: (sentence: string) => void,
): Promise<DeliveryDetailsAnswer | Problem> {
  let played: DeliveryDetailsAnswer | null = null;
  await nextTurn();
  const report = await runRead({
    read: readWritten(scenario),
    start: async (options) => {
      const pipeline = await start(options);
      return {
        call: pipeline.call,
        stop: async () => {
          played = await deliveryIn(pipeline, recorded);
          await pipeline.stop();
        },
      };
    },
  });
  for (const wrong of problemsOf(report)) note(wrong);
  if (played !== null) return played;
  const wrong =
    report.problems[0]?.message ?? report.steps.find((step) => step.problem !== null)?.problem;
  const what =
    report.state === "unusable"
      ? "The scenario of this attempt cannot be run."
      : "The message of this attempt gives no delivery when it is sent again.";
  return conflict(
    "nothing_to_compare",
    wrong === undefined || wrong === null ? what : `${what} ${wrong}`,
  );
}

/** Two deliveries, and the text, are one answer. */
const maxBytesOfDelivery = 380_000;

const maxTransitions = 500;

/** The first attempts: both deliveries begin alike. Half of the room is for their bytes. */
function deliveryWithin(
  delivery: DeliveryDetailsAnswer,
  note: (sentence: string) => void,
): DeliveryDetailsAnswer {
  const sizeOf = (part: unknown): number => Buffer.byteLength(JSON.stringify(part));
  const rest = { ...delivery, transitions: delivery.transitions.slice(-maxTransitions) };
  let left = maxBytesOfDelivery - sizeOf({ ...rest, attempts: [] });
  const attempts: typeof delivery.attempts = [];
  for (const attempt of delivery.attempts) {
    const isWhole = left - sizeOf(attempt) > maxBytesOfDelivery / 2;
    const next = isWhole ? attempt : withoutBytes(attempt);
    left -= sizeOf(next);
    if (left < 0) break;
    attempts.push(next);
  }
  if (attempts.length < delivery.attempts.length)
    note(
      `Only the first ${attempts.length} of ${delivery.attempts.length.toLocaleString("en-US")} attempts are shown.`,
    );
  return { ...rest, attempts };
}

function withoutBytes({ request, response, ...attempt }: AttemptAnswer): AttemptAnswer {
  const nothing = { headers: [], body: "" };
  return {
    ...attempt,
    request: { ...request, ...nothing },
    response: response && { ...response, ...nothing },
    leftOut: true,
  };
}

async function deliveryIn(
  pipeline: ScenarioPipeline,
  recorded: Recorded,
): Promise<DeliveryDetailsAnswer | null> {
  const { items } = await pipeline.call("messages.list", { limit: 10 });
  const message = items.find(({ type }) => type === recorded.message.type);
  if (message === undefined) return null;
  const [delivery] = (await pipeline.call("messages.get", { id: message.id })).deliveries;
  const [destination] = (await pipeline.call("destinations.list", {})).items;
  if (delivery === undefined || destination === undefined) return null;
  const webhooks = webhooksOf(recorded);
  return {
    ...delivery,
    id: recorded.delivery.id,
    messageRowId: recorded.delivery.messageRowId,
    destinationId: recorded.delivery.destinationId,
    attempts: delivery.attempts.map((attempt) => {
      const place = destination.webhooks.findIndex(({ id }) => id === attempt.webhookId);
      const webhook = webhooks[place];
      return webhook === undefined
        ? attempt
        : { ...attempt, webhookId: webhook.id, webhookUrl: webhook.url };
    }),
  };
}

const isAnswered = (outcome: AttemptAnswer["outcome"]): boolean =>
  outcome === "success" || outcome === "http_error";

/** How far the unchanged scenario is from the record; null when it gives the same. */
function strayWords(
  recorded: DeliveryDetailsAnswer,
  control: DeliveryDetailsAnswer,
): string | null {
  const results = ({ attempts }: AnswerOf<"deliveries.get">): string =>
    attempts
      .map(({ round, webhookId, outcome, response }) =>
        // An answer that breaks off or takes too long has a status too.
        [round, webhookId, outcome, isAnswered(outcome) ? response?.status : ""].join(" "),
      )
      .toSorted()
      .join(", ");
  if (results(recorded) !== results(control) || recorded.state !== control.state)
    return "Without the change, the scenario gives other results than the record: the destination or the clock was changed while the delivery ran. What differs may have that cause too.";
  const startOf = (delivery: DeliveryDetailsAnswer, round: number): number =>
    Date.parse(delivery.attempts.find((attempt) => attempt.round === round)?.startedAt ?? "");
  const latest = Math.max(
    0,
    ...recorded.attempts.map(({ round }) =>
      Math.abs(startOf(recorded, round) - startOf(control, round)),
    ),
  );
  return latest < 1500
    ? null
    : `Without the change, rounds of the scenario come up to ${Math.ceil(latest / 1000)} s from where they came.`;
}

/** From 1; null when the answer is the same. The first lines differ by their names. */
function changedLineOf(before: string, after: string): number | null {
  const [old, now] = [before.split("\n"), after.split("\n")];
  const place = now.findIndex((line, index) => index > 0 && line !== old[index]);
  return place === -1 ? null : place + 1;
}
