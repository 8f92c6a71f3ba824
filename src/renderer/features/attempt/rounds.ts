/** The rounds of a delivery: those on record, the one under way, and those to come if no webhook answers 2xx. Pure. */

import type { AnswerOf } from "../../../contract/contract.ts";
import type { Course } from "../timeline/course.ts";

export type Message = AnswerOf<"messages.get">;
export type Delivery = Message["deliveries"][number];
export type Attempt = Delivery["attempts"][number];
export type Webhook = AnswerOf<"destinations.get">["webhooks"][number];

export type Round = { round: number; startedAt: string; attempts: Attempt[] };
export type Ahead = { kind: "under_way" | "coming"; round: number; /** Clock time. */ at: number; isNext: boolean; urls: string[] };

/** Attempts in the order in which they are walked through: by round, then as the destination lists its webhooks. */
export function roundsOf({ attempts }: Delivery, webhooks: readonly Webhook[]): Round[] {
  const placeOf = ({ webhookId }: Attempt): number => {
    const place = webhooks.findIndex(({ id }) => id === webhookId);
    return place === -1 ? webhooks.length : place;
  };
  const rounds = new Map<number, Attempt[]>();
  for (const attempt of attempts) {
    const others = rounds.get(attempt.round);
    if (others === undefined) rounds.set(attempt.round, [attempt]);
    else others.push(attempt);
  }
  return [...rounds]
    .sort(([a], [b]) => a - b)
    .map(([round, all]) => ({
      round,
      startedAt: all.reduce((first, { startedAt }) => (startedAt < first ? startedAt : first), all[0]?.startedAt ?? ""),
      attempts: all.sort((a, b) => placeOf(a) - placeOf(b) || (a.id < b.id ? -1 : 1)),
    }));
}

/** What is not on record yet, with the webhooks that it goes to. */
export function aheadOf(course: Course): Ahead[] {
  const ahead = new Map<string, Ahead>();
  for (const { marks, url } of course.lanes) {
    for (const mark of marks) {
      if (mark.kind === "attempt") continue;
      const { kind, round, at } = mark;
      const key = `${kind} ${round}`;
      const known = ahead.get(key);
      if (known === undefined) ahead.set(key, { kind, round, at, isNext: mark.kind === "coming" && mark.next, urls: [url] });
      else known.urls.push(url);
    }
  }
  return [...ahead.values()].sort((a, b) => a.at - b.at);
}

/** The attempt before or after one, over the rounds of its delivery. */
export function neighbour(rounds: readonly Round[], id: string, by: -1 | 1): Attempt | undefined {
  const all = rounds.flatMap(({ attempts }) => attempts);
  const at = all.findIndex((attempt) => attempt.id === id);
  return at === -1 ? undefined : all[at + by];
}
