/**
 * Source, type, state, event, reason, attempts and answers of every message, in memory, as numbers
 * of the values that were seen: a filter is asked once for each value, and a million messages are
 * then a million looks into a table. An index in the database would be moved at every change of a
 * state, and answers more slowly. Blocks of 4,096 messages, each read when it is first asked for,
 * which takes a millisecond. Writers set what they know; what else changes is read again when it
 * is next asked for.
 */

import type { PlanState } from "../domain/states.ts";
import { blockOf, Column, type Memory, MessageTest, Times } from "./message-columns.ts";
import { blockSize } from "./posting-segments.ts";
import type { Db, Transactions } from "./transactions.ts";

export type MessageKind = { sourceId: number; type: number; state: number };

/** What happened to a message, as its row says. */
export type Course = {
  reason: string | null;
  attempts: number;
  lastStatus: number | null;
  /** Numbers of outcomes, each with its statuses; null for an attempt without an answer. */
  outcomes: { outcome: number; status: number | null }[];
  /** Whether it meets its plan; null without one. */
  meetsPlan: boolean | null;
};

/** Null for what is not asked. */
export type WantedFacts = {
  kind: ((kind: MessageKind) => boolean) | null;
  event: ((event: string | null) => boolean) | null;
  course: ((course: Course) => boolean) | null;
  since: number;
  until: number;
};

export const anyMessage: WantedFacts = {
  kind: null,
  event: null,
  course: null,
  since: -Infinity,
  until: Infinity,
};

const courseColumns = `coalesce(reason, '') || char(1) || attempts || char(1) || coalesce(last_status, '') || char(1) ||
  coalesce(outcomes, '') || char(1) || coalesce(plan, '')`;

export class MessageFacts {
  readonly #transactions;
  readonly #kinds;
  readonly #events;
  readonly #courses;
  readonly #times;
  readonly #newestBefore;
  readonly #memory: Memory = { version: 0, reads: 0 };

  constructor(db: Db, transactions: Transactions) {
    this.#transactions = transactions;
    transactions.onReload(() => this.rollback());
    this.#kinds = new Column<number>(db, this.#memory, "source_id * 256 + type * 16 + state");
    this.#events = new Column<string | null>(db, this.#memory, "event");
    this.#courses = new Column<string>(db, this.#memory, courseColumns);
    this.#times = new Times(db);
    const newest = db
      .prepare<[number], number | null>("SELECT max(id) FROM messages WHERE id < ?")
      .pluck();
    this.#newestBefore = (id: number): number | null => newest.get(id) as number | null;
  }

  /** In the transaction that writes the row; null before it was there, and when it is removed. */
  set(id: number, before: MessageKind | null, after: MessageKind | null): void {
    this.#changes();
    this.#kinds.set(id, after === null ? undefined : kindNumber(after));
    if (before === null || after === null)
      for (const each of [this.#events, this.#courses, this.#times]) each.changed(id);
  }

  /** In the transaction that records attempts at it. */
  attempted(id: number): void {
    this.#changes();
    this.#courses.changed(id);
  }

  rollback(): void {
    this.#memory.version += 1;
    for (const each of [this.#kinds, this.#events, this.#courses, this.#times]) each.rollback();
  }

  test({ kind, event, course, since, until }: WantedFacts): MessageTest {
    const questions = [
      ...(since === -Infinity && until === Infinity ? [] : [this.#times.question(since, until)]),
      ...(kind === null ? [] : [this.#kinds.question((number) => kind(kindAt(number)))]),
      ...(course === null ? [] : [this.#courses.question((text) => course(courseOf(text)))]),
      ...(event === null ? [] : [this.#events.question(event)]),
    ];
    // Times do not say which messages there are.
    if (kind === null && course === null && event === null)
      questions.push(this.#kinds.question(() => true));
    return new MessageTest(questions, this.#newestBefore, this.#memory);
  }

  /** How many messages have each event, or each course; a block at a time, newest first. */
  *counted(what: "events" | "courses"): Generator<Map<string | null, number>> {
    const column = what === "events" ? this.#events : this.#courses;
    let newest = this.#newestBefore(Number.MAX_SAFE_INTEGER);
    while (newest !== null) {
      yield column.counted(blockOf(newest));
      newest = this.#newestBefore(blockOf(newest) * blockSize);
    }
  }

  #changes(): void {
    this.#transactions.changes(this);
    this.#memory.version += 1;
  }
}

export function kindNumber({ sourceId, type, state }: MessageKind): number {
  return sourceId * 256 + type * 16 + state;
}

function kindAt(number: number): MessageKind {
  return { sourceId: Math.floor(number / 256), type: (number >>> 4) & 15, state: number & 15 };
}

export function courseOf(text: string): Course {
  const [reason = "", attempts = "0", lastStatus = "", outcomes = "", plan = ""] =
    text.split("\u0001");
  return {
    reason: reason === "" ? null : reason,
    attempts: Number(attempts),
    lastStatus: lastStatus === "" ? null : Number(lastStatus),
    meetsPlan: plan === "" ? null : plan === "1",
    outcomes: outcomes
      .split(",")
      .filter((each) => each !== "")
      .map((each) => {
        const [outcome, status = ""] = each.split(":");
        return { outcome: Number(outcome), status: status === "" ? null : Number(status) };
      }),
  };
}

export function planOf({ meetsPlan }: Course): PlanState {
  return meetsPlan === null ? "none" : meetsPlan ? "ok" : "violations";
}
