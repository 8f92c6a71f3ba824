import type { AttemptsClaim } from "../file/expectation-schema.ts";
import { formatDuration } from "../file/duration.ts";
import { durationRangeText, isWithin } from "../file/matcher.ts";
import type { AttemptResult, SeenAttempt, SeenDelivery } from "../run/history.ts";
import { isOneOf, choosesDelivery, deliveryLabel } from "./kinds.ts";
import { wrong, type Kind, type View, type Wrong } from "./kind.ts";
import { wrongInParts } from "./parts.ts";

/** One attempt; or, where a claim is about their order, all those of a delivery at one webhook. */
type AttemptSeries = { delivery: SeenDelivery; webhook: string; attempts: SeenAttempt[] };

export const attempts: Kind<AttemptsClaim, AttemptSeries> = {
  nouns: ["attempt", "attempts"],
  total: (history) => history.deliveries.reduce((sum, { attempts }) => sum + attempts.length, 0),
  chosen: (history, claim) => history.deliveries.flatMap((delivery) => seriesOf(delivery, claim)),
  wrongWith(series, claim, view) {
    return [...wrongOrder(series, claim), ...series.attempts.flatMap((attempt) => wrongAttempt(series.delivery, attempt, claim, view))];
  },
  countOf: ({ attempts }) => attempts.length,
  label({ delivery, webhook, attempts }) {
    const [first] = attempts;
    return `${deliveryLabel(delivery)}, ${attempts.length === 1 && first !== undefined ? `round ${first.details.round} at ` : ""}${webhook}`;
  },
  behind: ({ delivery, webhook }) => delivery.attempts.filter((attempt) => attempt.webhook === webhook),
  idOf: ({ attempts }) => attempts[0]?.details.id ?? "",
  versionOf: ({ attempts }) => attempts.length,
};

function seriesOf(delivery: SeenDelivery, { of, results, at }: AttemptsClaim): AttemptSeries[] {
  if (!choosesDelivery(of, delivery)) return [];
  const chosen = delivery.attempts.filter((attempt) => choosesAttempt(of, attempt));
  if (results === undefined && at === undefined)
    return chosen.map((attempt) => ({ delivery, webhook: attempt.webhook, attempts: [attempt] }));
  // Of a delivery that was never attempted the order is not as claimed either.
  if (delivery.attempts.length === 0 && of?.webhook === undefined) return [{ delivery, webhook: "any webhook", attempts: [] }];
  return [...Map.groupBy(chosen, ({ webhook }) => webhook)].map(([webhook, attempts]) => ({ delivery, webhook, attempts }));
}

function choosesAttempt(of: AttemptsClaim["of"], { webhook, result, details }: SeenAttempt): boolean {
  if (of === undefined) return true;
  const chosenResults = of.result === undefined ? undefined : [of.result].flat();
  return (
    isOneOf(of.webhook, webhook) &&
    isOneOf(of.round, details.round) &&
    (chosenResults === undefined || chosenResults.some((one) => isResult(one, result, details.outcome)))
  );
}

/** `503` is an answer's status; a word is an outcome. A status may be in quotes. */
function isResult(wanted: AttemptResult, result: AttemptResult, outcome: string): boolean {
  return String(wanted) === String(result) || wanted === outcome;
}

function wrongOrder({ delivery, attempts }: AttemptSeries, { results, at }: AttemptsClaim): Wrong[] {
  const wrongs: Wrong[] = [];
  if (results !== undefined) {
    const wanted = results.flatMap(repeated);
    const fits =
      wanted.length === attempts.length &&
      attempts.every(({ result, details }, index) => isResult(wanted[index] ?? "", result, details.outcome));
    if (!fits) wrongs.push(...wrong("results", runsText(wanted), runsText(attempts.map(({ result }) => result))));
  }
  if (at !== undefined) {
    const times = attempts.map((attempt) => attempt.at - delivery.message.at);
    const fits = at.length === times.length && at.every((range, index) => isWithin(times[index] ?? -1, range));
    if (!fits) wrongs.push(...wrong("at", at.map(durationRangeText).join(", "), times.map(formatDuration).join(", ")));
  }
  return wrongs;
}

/** `503 x3` is three of them. */
function repeated(results: number | string): AttemptResult[] {
  const [result = "", times] = String(results).split(" x");
  return Array.from({ length: Number(times ?? 1) }, () => result);
}

/** `503 x3, timeout, 200` */
function runsText(results: readonly AttemptResult[]): string {
  const runs: { result: AttemptResult; times: number }[] = [];
  for (const result of results) {
    const last = runs.at(-1);
    if (last !== undefined && String(last.result) === String(result)) last.times += 1;
    else runs.push({ result, times: 1 });
  }
  return runs.length === 0 ? "none" : runs.map(({ result, times }) => (times === 1 ? String(result) : `${result} x${times}`)).join(", ");
}

function wrongAttempt(delivery: SeenDelivery, { result: actual, details }: SeenAttempt, claim: AttemptsClaim, { secretOf }: View): Wrong[] {
  const { result, error, response } = claim;
  const { request, response: answer } = details;
  return [
    ...(result === undefined || isResult(result, actual, details.outcome) ? [] : wrong("result", String(result), String(actual))),
    ...(error === undefined || error === details.error?.code ? [] : wrong("error", error, details.error?.code ?? "none")),
    ...wrongInParts(claim, { headers: request.headers, body: request.body, secret: secretOf(delivery.destination) }),
    ...(response === undefined
      ? []
      : wrongInParts(response, { headers: answer?.headers ?? [], body: answer?.body ?? "", secret: null }).map((one) => ({
          ...one,
          what: `response ${one.what}`,
        }))),
  ];
}
