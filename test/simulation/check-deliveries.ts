/**
 * The record of one delivery: its state follows from it, and its rounds are when the profile says.
 */

import type { Database } from "better-sqlite3";
import type { RetryProfile } from "../../src/domain/configuration.ts";
import { deliveryStates, type DeliveryState } from "../../src/domain/states.ts";
import { destinationOf } from "./model.ts";
import { Broken } from "./broken.ts";
import type { Simulation } from "./simulation.ts";

export type DeliveryRow = {
  id: number;
  message_id: number;
  destination_id: number;
  state: number;
  created_at: number;
  rounds: number;
  window_round: number;
  first_attempt_at: number | null;
  next_attempt_at: number | null;
  /** The only one of a mapping's request. */
  webhook_id: number | null;
};
type AttemptRow = {
  id: number;
  round: number;
  webhook_id: number;
  started_at: number;
  outcome: number;
  retryable: number;
};
type TransitionRow = {
  id: number;
  at: number;
  state: number;
  reason: string;
  next_attempt_at: number | null;
};

/**
 * From which states a change may come, by its reason. Sending is not recorded: it comes of queued
 * and waiting.
 */
const moving: readonly DeliveryState[] = ["queued", "waiting"];
const allowed: Record<string, { from: readonly DeliveryState[]; to: DeliveryState }> = {
  collecting: { from: ["queued"], to: "waiting" },
  full: { from: ["waiting"], to: "waiting" },
  retry: { from: moving, to: "waiting" },
  overdue: { from: ["waiting"], to: "waiting" },
  restarted: { from: moving, to: "queued" },
  disabled: { from: moving, to: "queued" },
  retry_now: { from: ["waiting", "failed", "expired", "cancelled"], to: "queued" },
  cancelled: { from: moving, to: "cancelled" },
  destination_deleted: { from: moving, to: "cancelled" },
  not_retried: { from: moving, to: "failed" },
  no_webhook_left: { from: moving, to: "failed" },
  window_closed: { from: moving, to: "expired" },
  window_closed_while_disabled: { from: moving, to: "expired" },
};

/** Those that have changed since the rows up to these were looked at. */
export function checkRecords(
  sim: Simulation,
  db: Database,
  upTo: { attempt: number; transition: number },
): void {
  const touched = db
    .prepare<[number, number], DeliveryRow>(
      `SELECT d.*, r.webhook_id FROM deliveries AS d LEFT JOIN mapped_requests AS r ON r.delivery_id = d.id WHERE d.id IN (SELECT delivery_id FROM attempts WHERE id > ? UNION SELECT delivery_id FROM transitions WHERE id > ?)`,
    )
    .all(upTo.attempt, upTo.transition);
  const attemptsOf = db.prepare<[number], AttemptRow>(
    "SELECT id, round, webhook_id, started_at, outcome, retryable FROM attempts WHERE delivery_id = ? ORDER BY id",
  );
  const transitionsOf = db.prepare<[number], TransitionRow>(
    "SELECT * FROM transitions WHERE delivery_id = ? ORDER BY id",
  );
  for (const delivery of touched)
    checkDelivery(sim, delivery, attemptsOf.all(delivery.id), transitionsOf.all(delivery.id));
}

function checkDelivery(
  sim: Simulation,
  delivery: DeliveryRow,
  attempts: readonly AttemptRow[],
  transitions: readonly TransitionRow[],
): void {
  const fail = (sentence: string, expected: unknown): never => {
    throw new Broken(sentence, expected, {
      delivery: { ...delivery, state: deliveryStates[delivery.state] },
      attempts: attempts,
      transitions,
    });
  };
  checkStates(delivery, attempts, transitions, fail);
  checkRounds(delivery, attempts, fail);
  if (!transitions.some(({ reason }) => reason === "restarted"))
    checkWebhooks(sim, delivery, attempts, fail);
  checkSchedule(sim, delivery, attempts, transitions, fail);
}

type Fail = (sentence: string, expected: unknown) => never;

function checkStates(
  delivery: DeliveryRow,
  attempts: readonly AttemptRow[],
  transitions: readonly TransitionRow[],
  fail: Fail,
): void {
  let state: DeliveryState = "queued";
  let at = 0;
  for (const transition of transitions) {
    const rule = allowed[transition.reason];
    const to = deliveryStates[transition.state];
    if (rule === undefined || rule.to !== to || !rule.from.includes(state))
      fail("a change of state is allowed", { from: state, transition });
    if (transition.at < at) fail("changes of state are in the order of their times", at);
    if ((transition.next_attempt_at !== null) !== (to === "waiting"))
      fail("what waits has a time, and nothing else", transition);
    at = transition.at;
    state = rule.to;
  }
  const actual = deliveryStates[delivery.state] as DeliveryState;
  const succeeded = attempts.some(({ outcome }) => outcome === 0);
  if (succeeded !== (actual === "delivered"))
    fail("delivered means that an attempt succeeded", succeeded);
  const mayBe: DeliveryState[] = moving.includes(state) ? [state, "sending", "delivered"] : [state];
  if (!mayBe.includes(actual)) fail("the state follows from the record", mayBe);
  const next = transitions.at(-1)?.next_attempt_at ?? null;
  if (actual === "waiting" && delivery.next_attempt_at !== next)
    fail("the next round is when the record says", next);
  if (actual !== "waiting" && delivery.next_attempt_at !== null)
    fail("only what waits has a next round", null);
}

function checkRounds(delivery: DeliveryRow, attempts: readonly AttemptRow[], fail: Fail): void {
  const made = new Set<string>();
  let success = Infinity;
  for (const { round, webhook_id, outcome } of attempts) {
    if (made.has(`${round} ${webhook_id}`))
      fail("a webhook has one attempt in a round", `${round} ${webhook_id}`);
    made.add(`${round} ${webhook_id}`);
    if (outcome === 0) success = Math.min(success, round);
  }
  for (const { round, webhook_id, retryable } of attempts) {
    if (round > success) fail("there is no attempt after the round that succeeded", success);
    if (retryable === 1) continue;
    const again = attempts.find(
      (other) =>
        other.webhook_id === webhook_id &&
        other.round > round &&
        sameWindow(delivery, round, other.round),
    );
    if (again !== undefined)
      fail("a webhook that failed for good is not tried again in the window", again);
  }
  const last = Math.max(0, ...attempts.map(({ round }) => round));
  if (delivery.rounds < last)
    fail("the number of rounds is at least that of the last attempt", last);
  const inWindow = attempts.filter(({ round }) => round >= delivery.window_round);
  const first =
    inWindow.length === 0 ? null : Math.min(...inWindow.map(({ started_at }) => started_at));
  if (delivery.first_attempt_at !== first) fail("the window begins with its first attempt", first);
}

/**
 * In a round that was followed by another, each webhook was tried that had not ended: none is left
 * out.
 */
function checkWebhooks(
  { model }: Simulation,
  delivery: DeliveryRow,
  attempts: readonly AttemptRow[],
  fail: Fail,
): void {
  const { ids: all, since } = model.webhooks.get(delivery.destination_id) ?? { ids: [], since: 0 };
  const ids = all.filter((id) => delivery.webhook_id === null || delivery.webhook_id === id);
  if (model.hasNarrowLanes) return;
  for (const { round, started_at } of attempts) {
    if (
      round < delivery.window_round ||
      started_at <= since ||
      !attempts.some((other) => other.round > round)
    )
      continue;
    const ended = attempts.filter(
      (one) => one.round >= delivery.window_round && one.round < round && one.retryable === 0,
    );
    const there = new Set(
      [...ended, ...attempts.filter((one) => one.round === round)].map(
        ({ webhook_id }) => webhook_id,
      ),
    );
    if (ids.some((id) => !there.has(id)))
      fail("a round tries every webhook that may be tried again", ids);
  }
}

/** Only the current window is known to begin at a certain round. */
const sameWindow = ({ window_round }: DeliveryRow, one: number, other: number): boolean =>
  one >= window_round && other >= window_round;

function checkSchedule(
  sim: Simulation,
  delivery: DeliveryRow,
  attempts: readonly AttemptRow[],
  transitions: readonly TransitionRow[],
  fail: Fail,
): void {
  const profiles = [
    ...(sim.model.past.get(destinationOf(delivery.destination_id))?.profiles.values() ?? []),
  ];
  const reopened = transitions.findLastIndex(
    ({ reason }, place) => reason === "retry_now" && isOver(transitions[place - 1]),
  );
  const rounds = new Map<number, number>();
  for (const { round, started_at } of attempts) {
    if (round >= delivery.window_round)
      rounds.set(round, Math.min(rounds.get(round) ?? Infinity, started_at));
  }
  const first = delivery.first_attempt_at ?? 0;
  const longest = Math.max(...profiles.map(({ windowMs }) => windowMs));
  for (const start of rounds.values())
    if (start > first + longest) fail("no attempt starts after the window", first + longest);
  for (const [place, { at, reason, next_attempt_at: next }] of transitions.entries()) {
    if (place <= reopened || next === null) continue;
    if (next % 1000 !== 0 && !["collecting", "full"].includes(reason))
      fail("a next round is at a whole second", next);
    if (reason !== "retry") continue;
    const fits = [...rounds].some(
      ([round, start]) =>
        start <= at &&
        profiles.some((profile) =>
          isScheduled(profile, round - delivery.window_round + 1, start, first, next),
        ),
    );
    if (!fits && rounds.size > 0)
      fail("the next round is when the profile says", {
        next,
        profiles: profiles.map(({ name, schedule }) => ({ name, schedule })),
      });
    const after = transitions[place + 1];
    if (after?.state === deliveryStates.indexOf("queued")) continue;
    const early = attempts.find(
      ({ started_at }) =>
        started_at > at && started_at < next && started_at < (after?.at ?? Infinity),
    );
    if (early !== undefined) fail("no round begins before it is due", early);
  }
}

const isOver = (transition: TransitionRow | undefined): boolean =>
  transition !== undefined &&
  ["failed", "expired", "cancelled"].includes(deliveryStates[transition.state] ?? "");

/**
 * By the documentation, not by the code: base delay, spread of the jitter, rounded to a whole
 * second.
 */
function isScheduled(
  profile: RetryProfile,
  round: number,
  start: number,
  first: number,
  next: number,
): boolean {
  const { schedule, jitter, windowMs } = profile;
  const delay =
    schedule.kind === "list"
      ? schedule.delaysMs[round - 1]
      : Math.min(schedule.capMs, schedule.firstMs * schedule.factor ** (round - 1));
  if (delay === undefined || next > first + windowMs || next <= start) return false;
  return Math.abs(next - start - delay) <= delay * jitter + 1000;
}
