/**
 * Makes a schedule that fails as small as it can be: fewer steps, then fewer and simpler faults,
 * then the order of the file.
 */

import type { Violation } from "./claims.ts";
import type { Runner } from "./runner.ts";
import type { Schedule, Step } from "./schedule.ts";

type Shrunk = { schedule: Schedule; violations: Violation[]; runs: number };

/** A smaller schedule has to fail so many times in a row. */
const repeats = 3;
/**
 * Effects that never come are waited for in every round: for a second, or twice as long as effects
 * took here. What comes later is found when the last is confirmed.
 */
const patienceMs = { atLeast: 1_000, atMost: 3_000 };

type Failing = { runner: Runner; schedule: Schedule; kind: Violation["kind"] };

/** Null when it does not fail every time, so that nothing could be shown. */
export async function shrink({
  runner,
  schedule,
  kind,
  signal,
}: Failing & { signal?: AbortSignal | undefined }): Promise<Shrunk | null> {
  let runs = 0;
  const failing = async (
    schedules: readonly Schedule[],
    patience?: number,
  ): Promise<Schedule[]> => {
    const all = schedules.flatMap((one) => Array<Schedule>(repeats).fill(one));
    runs += all.length;
    const states = kind === "state" || kind === "gone";
    const results = await runner.run(all, {
      states,
      ...(patience === undefined ? {} : { patienceMs: patience }),
    });
    const failed = results.map((violations) => violations.some((one) => one.kind === kind));
    return schedules.filter((_, index) =>
      failed.slice(index * repeats, (index + 1) * repeats).every(Boolean),
    );
  };

  // A message that fails alone needs no rounds; where it hangs, each takes a quarter of a minute.
  // Beside a schedule that ends the receiver, each would have to run again.
  const simplest = kind === "gone" ? [] : alone(schedule);
  const [first] = await failing([...simplest, schedule, ...withMoreCopies(schedule)]);
  if (first === undefined) return null;
  const patience = Math.max(patienceMs.atLeast, 2 * runner.effectsMs);
  const accepted = [first];
  for (let current = first; signal?.aborted !== true;) {
    const smaller = candidatesOf(current).filter((one) => isSmaller(one, current));
    const [best] = (await failing(smaller, Math.min(patience, patienceMs.atMost))).toSorted(
      (one, other) => compareWeights(weightOf(one), weightOf(other)),
    );
    if (best === undefined) break;
    accepted.push(best);
    current = best;
  }
  for (const one of accepted.toReversed()) {
    const violations = await confirmed({ runner, schedule: one, kind });
    runs += repeats;
    if (violations !== null) return { schedule: one, violations, runs };
  }
  return null;
}

/** Alone, as the scenario will run. */
async function confirmed({ runner, schedule, kind }: Failing): Promise<Violation[] | null> {
  let last: Violation[] = [];
  runner.forgetStates();
  for (let nth = 0; nth < repeats; nth += 1) {
    // After a message that was not accepted, the state is another one anyway.
    const [violations = []] = await runner.run([schedule], { states: kind !== "answer" });
    if (!violations.some((one) => one.kind === kind)) return null;
    last = violations;
  }
  return last;
}

function alone(schedule: Schedule): Schedule[] {
  if (schedule.length < 2) return [];
  return messagesOf(schedule).map((message) => [{ do: "send", message }]);
}

function messagesOf(schedule: Schedule): number[] {
  return [...new Set(schedule.flatMap((step) => ("message" in step ? [step.message] : [])))];
}

/** A race that two copies win now and then is won every time by more. */
function withMoreCopies(schedule: Schedule): Schedule[] {
  const isRace = (step: Step): boolean =>
    step.do === "together" || (step.do === "lose" && step.hangUp !== "at-first-byte");
  return [2, 8].flatMap((copies) =>
    schedule.flatMap((step, at) =>
      isRace(step) && "message" in step
        ? [schedule.with(at, { do: "together", message: step.message, copies, apartMs: 0 })]
        : [],
    ),
  );
}

function candidatesOf(schedule: Schedule): Schedule[] {
  const messages = messagesOf(schedule);
  const withoutOne = messages.map((message) =>
    schedule.filter((step) => !("message" in step && step.message === message)),
  );
  const onlyOne = messages.map((message) =>
    schedule.filter((step) => !("message" in step) || step.message === message),
  );
  const shorter = schedule.map((_, at) => schedule.toSpliced(at, 1));
  const simpler = schedule.flatMap((step, at) =>
    simplerOf(step).map((one) => schedule.with(at, one)),
  );
  const swapped = schedule.flatMap((step, at) => {
    const next = schedule[at + 1];
    return next === undefined ? [] : [schedule.toSpliced(at, 2, next, step)];
  });
  const all = [...onlyOne, ...withoutOne, ...shorter, ...simpler, ...swapped].filter(isPossible);
  return [...new Map(all.map((one) => [JSON.stringify(one), one])).values()];
}

function simplerOf(step: Step): Step[] {
  switch (step.do) {
    case "lose":
      return [
        { do: "send", message: step.message },
        { ...step, hangUp: "at-first-byte", waitMs: 0 },
        { ...step, hangUp: "when-sent", waitMs: 0 },
      ];
    case "together":
      return [
        { do: "send", message: step.message },
        { ...step, copies: 2 },
        { ...step, copies: 4 },
        { ...step, apartMs: 0 },
      ];
    case "wait":
      return [{ ...step, ms: Math.floor(step.ms / 2) }];
    default:
      return [];
  }
}

/**
 * A message whose answer was lost is sent again; an empty schedule and a restart of nothing show
 * nothing.
 */
function isPossible(schedule: Schedule): boolean {
  if (!schedule.some((step) => "message" in step)) return false;
  return schedule.every(
    (step, at) =>
      step.do !== "lose" ||
      schedule
        .slice(at + 1)
        .some(
          (later) => "message" in later && later.message === step.message && later.do !== "lose",
        ),
  );
}

/** Steps, then faults, then pairs that are out of order, then time. */
function weightOf(schedule: Schedule): number[] {
  const order = schedule.flatMap((step) => ("message" in step ? [step.message] : []));
  const outOfOrder = order.reduce(
    (sum, one, at) => sum + order.slice(at + 1).filter((later) => later < one).length,
    0,
  );
  const faults = schedule.reduce((sum, step) => sum + faultWeight(step), 0);
  const timeMs = schedule.reduce(
    (sum, step) => sum + (step.do === "wait" ? step.ms : step.do === "together" ? step.apartMs : 0),
    0,
  );
  return [schedule.length, faults, outOfOrder, timeMs];
}

function faultWeight(step: Step): number {
  switch (step.do) {
    case "send":
      return 0;
    case "wait":
      return 1;
    case "restart":
      return 2;
    case "lose":
      return { "at-first-byte": 3, "when-sent": 4, "while-working": 5 }[step.hangUp];
    case "together":
      return 1 + step.copies;
  }
}

function compareWeights(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((weight, index) => weight !== other[index]);
  return at === -1 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
}

function isSmaller(one: Schedule, other: Schedule): boolean {
  return compareWeights(weightOf(one), weightOf(other)) < 0;
}
