/**
 * Event, reason, attempts and answers of every message, in memory, as numbers of the values that
 * were seen: a filter is asked once for each value, and a million messages are then a million looks
 * into a table. Blocks of 4,096 messages, each read when it is first asked for, which takes two
 * milliseconds; what changes is read again when it is next asked for.
 */

import type { PlanState } from "../domain/states.ts";
import { blockSize } from "./posting-segments.ts";
import type { Db, Transactions } from "./transactions.ts";

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
type WantedFacts = {
  event: ((event: string | null) => boolean) | null;
  course: ((course: Course) => boolean) | null;
  since: number;
  until: number;
};

/** Of one block; null when none of its messages can match. Called with a place in the block. */
export type FactsTest = (block: number) => ((place: number) => boolean) | null;

/** 80 MB, for ten million messages. */
const maxBlocks = 2500;

/** Values beyond these are not told apart in memory; their rows are read. */
const maxValues = 65_535;

const beyond = maxValues;

/** Changes of a block that are read one by one. */
const maxStale = 512;

type Row = { id: number; event: string | null; course: string; at: number };

type Block = {
  events: Uint16Array;
  courses: Uint16Array;
  /** Those that were seen in it; some may be gone. */
  eventCodes: Set<number>;
  courseCodes: Set<number>;
  /** Where messages were received: the earliest and the latest time. */
  from: number;
  to: number;
  stale: Set<number>;
};

/** The values that were seen, numbered from 1; 0 stands where there is no message. */
class Values {
  readonly texts: (string | null)[] = [null];
  readonly #codes = new Map<string | null, number>();

  codeOf(text: string | null): number {
    const known = this.#codes.get(text);
    if (known !== undefined) return known;
    if (this.texts.length >= maxValues) return beyond;
    this.texts.push(text);
    this.#codes.set(text, this.texts.length - 1);
    return this.texts.length - 1;
  }

  /** Asks for each value once, and each time for those that have no number. */
  test(allows: (text: string | null) => boolean): ValueTest {
    const table = new Uint8Array(maxValues + 1);
    table[0] = no;
    const ofCode = (code: number): boolean => {
      if (code === beyond) return true;
      if (table[code] === unasked)
        table[code] = allows(this.texts[code] as string | null) ? yes : no;
      return table[code] === yes;
    };
    return { table, ofCode, ofText: allows };
  }
}

const unasked = 0;
const yes = 1;
const no = 2;

type ValueTest = {
  /** By code, as far as they were asked. */
  table: Uint8Array;
  /** True for a code that many values share. */
  ofCode: (code: number) => boolean;
  ofText: (text: string | null) => boolean;
};

const columns = `id, event, received_at AS at,
  coalesce(reason, '') || char(1) || attempts || char(1) || coalesce(last_status, '') || char(1) ||
  coalesce(outcomes, '') || char(1) || coalesce(plan, '') AS course`;

export class MessageFacts {
  readonly #transactions;
  readonly #range;
  readonly #some;
  readonly #one;
  readonly #within;
  readonly #numbers;
  readonly #blocks = new Map<number, Block>();
  #events = new Values();
  #courses = new Values();

  constructor(db: Db, transactions: Transactions) {
    this.#transactions = transactions;
    transactions.onReload(() => this.rollback());
    this.#range = db.prepare<[number, number], Row>(
      `SELECT ${columns} FROM messages WHERE id >= ? AND id < ?`,
    );
    this.#some = db.prepare<[string], Row>(
      `SELECT ${columns} FROM messages WHERE id IN (SELECT value FROM json_each(?))`,
    );
    this.#one = db.prepare<[number], Row>(`SELECT ${columns} FROM messages WHERE id = ?`);
    this.#within = db
      .prepare<[number, number, number, number], number>(
        "SELECT id FROM messages WHERE id >= ? AND id < ? AND received_at >= ? AND received_at < ?",
      )
      .pluck();
    this.#numbers = db
      .prepare<[number], number | null>("SELECT max(id) FROM messages WHERE id < ?")
      .pluck();
  }

  /** In the transaction that writes the row, or removes it. */
  changed(id: number): void {
    const number = Math.floor(id / blockSize);
    const block = this.#blocks.get(number);
    if (block === undefined) return;
    this.#transactions.changes(this);
    block.stale.add(id);
    if (block.stale.size > maxStale) this.#blocks.delete(number);
  }

  rollback(): void {
    this.#blocks.clear();
    this.#events = new Values();
    this.#courses = new Values();
  }

  test({ event, course, since, until }: WantedFacts): FactsTest {
    const ofEvent = event === null ? null : this.#events.test(event);
    const ofCourse =
      course === null ? null : this.#courses.test((text) => course(courseOf(text as string)));
    return (number) => {
      const block = this.#block(number);
      if (block.to < since || block.from >= until) return null;
      if (!mayHold(block.eventCodes, ofEvent) || !mayHold(block.courseCodes, ofCourse)) return null;
      const { events, courses } = block;
      const first = number * blockSize;
      const row = (place: number): Row | undefined => this.#one.get(first + place);
      const ofCourses = placeTest(courses, ofCourse, (place) => row(place)?.course ?? null);
      const ofEvents = placeTest(events, ofEvent, (place) => row(place)?.event ?? null);
      const within =
        block.from >= since && block.to < until
          ? null
          : new Set(this.#within.all(first, first + blockSize, since, until));
      if (within === null && ofEvents === null) return ofCourses ?? (() => true);
      if (within === null && ofCourses === null) return ofEvents;
      return (place) =>
        (ofCourses === null || ofCourses(place)) &&
        (ofEvents === null || ofEvents(place)) &&
        (within === null || within.has(first + place));
    };
  }

  /** How many messages have each event, or each course; a block at a time, newest first. */
  *counted(what: "events" | "courses"): Generator<Map<string | null, number>> {
    const values = what === "events" ? this.#events : this.#courses;
    let newest = this.#numbers.get(Number.MAX_SAFE_INTEGER) as number | null;
    while (newest !== null) {
      const number = Math.floor(newest / blockSize);
      const codes = new Map<number, number>();
      for (const code of this.#block(number)[what])
        if (code !== 0) codes.set(code, (codes.get(code) ?? 0) + 1);
      yield new Map(
        [...codes].flatMap(([code, n]) =>
          code === beyond ? [] : [[values.texts[code] ?? null, n]],
        ),
      );
      newest = this.#numbers.get(number * blockSize) as number | null;
    }
  }

  #block(number: number): Block {
    const first = number * blockSize;
    const known = this.#blocks.get(number);
    if (known === undefined) {
      const block: Block = {
        events: new Uint16Array(blockSize),
        courses: new Uint16Array(blockSize),
        eventCodes: new Set(),
        courseCodes: new Set(),
        from: Infinity,
        to: -Infinity,
        stale: new Set(),
      };
      for (const row of this.#range.iterate(first, first + blockSize)) this.#keep(block, row);
      if (this.#blocks.size >= maxBlocks)
        this.#blocks.delete(this.#blocks.keys().next().value as number);
      this.#blocks.set(number, block);
      return block;
    }
    if (known.stale.size > 0) {
      for (const id of known.stale) known.events[id - first] = known.courses[id - first] = 0;
      for (const row of this.#some.all(JSON.stringify([...known.stale]))) this.#keep(known, row);
      known.stale.clear();
    }
    return known;
  }

  #keep(block: Block, { id, event, course, at }: Row): void {
    const [ofEvent, ofCourse] = [this.#events.codeOf(event), this.#courses.codeOf(course)];
    block.events[id % blockSize] = ofEvent;
    block.courses[id % blockSize] = ofCourse;
    block.eventCodes.add(ofEvent);
    block.courseCodes.add(ofCourse);
    block.from = Math.min(block.from, at);
    block.to = Math.max(block.to, at);
  }
}

/** Whether any message of a block may pass; all values of the block have been asked then. */
function mayHold(codes: ReadonlySet<number>, test: ValueTest | null): boolean {
  if (test === null) return true;
  let may = false;
  for (const code of codes) if (test.ofCode(code)) may = true;
  return may;
}

/** Of a block whose values have been asked. */
function placeTest(
  codes: Uint16Array,
  test: ValueTest | null,
  textAt: (place: number) => string | null,
): ((place: number) => boolean) | null {
  if (test === null) return null;
  const { table, ofText } = test;
  if (!codes.includes(beyond)) return (place) => table[codes[place] as number] === yes;
  return (place) =>
    codes[place] === beyond ? ofText(textAt(place)) : table[codes[place] as number] === yes;
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
