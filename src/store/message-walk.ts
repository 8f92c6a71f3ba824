/**
 * Which messages may match a filter: a walk goes along the narrowest thing that the filter names,
 * newest first. Batches are ranges of ids; users have postings; free text is looked for in the bytes
 * of the requests; destinations have an index; all else is in memory.
 */

import { nameTest, numberTest } from "../domain/message-filter.ts";
import type { MessageFilter, OneOrMany } from "../engine/ports.ts";
import { outcomeCode, stateCode, typeCode } from "./codes.ts";
import { deliveredTo } from "./delivered-walk.ts";
import type { MappedRequests } from "./mapped-requests.ts";
import {
  planOf,
  type Course,
  type MessageFacts,
  type MessageKind,
  type WantedFacts,
} from "./message-facts.ts";
import type { TextSearch } from "./message-text.ts";
import type { Postings } from "./postings.ts";
import type { Db } from "./transactions.ts";

/** SQL with a `?` for each of its values. */
type Condition = { sql: string; values: (string | number)[] };
/** `members`: of how many members of the filter it is made. */
type RowCondition = Condition & { members: number };

type Word = ReturnType<TextSearch["words"]>[number];

export type Walk = {
  /** Ids before one, newest first. `spent` grows with the bytes that were searched. */
  from(before: number, spent: { bytes: number }): Iterable<number[]> | AsyncIterable<number[]>;
  /** Whether it finds only what the filter means, so that no row has to be read to count them. */
  isExact: boolean;
  /** How many there are, where that is known without a walk. */
  total: (() => number) | null;
  /** What a row has to be asked, all of it. */
  condition: Condition;
  /** That a row has to carry, and those that it must not. */
  words: readonly Word[];
  without: readonly Word[];
};

type Sources = {
  db: Db;
  mapped: MappedRequests;
  postings: Postings;
  facts: MessageFacts;
  text: TextSearch;
};

export function createWalks(sources: Sources): (filter: MessageFilter) => Walk {
  const { db, mapped: requests, postings, facts, text } = sources;
  const kindCounts = db.prepare<[], { sourceId: number; type: number; state: number; n: number }>(
    "SELECT source_id AS sourceId, type, state, n FROM message_counts WHERE n > 0",
  );
  const batchOf = db.prepare<[number], { first: number; n: number }>(
    `SELECT first_message AS first, requests.messages AS n
     FROM messages JOIN requests ON requests.id = request_id WHERE messages.id = ?`,
  );
  const delivered = deliveredTo(db, requests);

  const rangesOf = (batch: OneOrMany<number>): { first: number; end: number }[] =>
    valuesOf(batch).flatMap((id) => {
      const found = batchOf.get(id);
      return found === undefined ? [] : [{ first: found.first, end: found.first + found.n }];
    });

  return (filter) => {
    const { userId, destinationId, webhookId, batch, search } = filter;
    const { not = {} } = filter;
    const wanted = wantedFacts(filter);
    const test = facts.test(wanted);
    const words = text.words(search === undefined ? [] : valuesOf(search));
    const without = text.words(not.search === undefined ? [] : valuesOf(not.search));
    const outside = not.batch === undefined ? [] : rangesOf(not.batch);
    const within = batch === undefined ? null : rangesOf(batch);
    const { kind, event, course, since, until } = wanted;
    const isTimed = since !== -Infinity || until !== Infinity;
    const isOfKind = event === null && course === null && !isTimed && outside.length === 0;
    const isOfAny = isOfKind && kind === null;
    const isInside = (id: number): boolean => !outside.some(has(id));
    const inside = (ids: number[]): number[] => (outside.length === 0 ? ids : ids.filter(isInside));
    const holding = (ids: number[]): number[] => inside(ids).filter((id) => test.holds(id));
    const among = isOfAny ? (ids: number[]): number[] => ids : holding;
    const all = (before: number): Iterable<number[]> => mapped(test.matching(before), inside);
    const condition = rowCondition(filter, requests.hasBatches);
    // What a row has to be asked, of which a walk may go along one.
    const others = condition.members + without.length;
    const walk = (
      from: Walk["from"],
      isExact: boolean,
      total: Walk["total"] = null,
      left: readonly Word[] = words,
    ): Walk => ({ from, isExact, total, condition, words: left, without });

    // A batch also had messages that are gone.
    if (within !== null)
      return walk(
        (before) => stretchesOf(within, before, holding),
        others === 0 && words.length === 0,
      );
    if (userId !== undefined)
      return walk(
        (before) => mapped(postings.candidates("users", valuesOf(userId), before), among),
        others === 1 && words.length === 0,
      );
    if (words.length > 0)
      return walk(
        (before, spent) => text.matching(words, all(before), { before, among, spent }),
        others === 0,
        null,
        [],
      );
    if (destinationId !== undefined || webhookId !== undefined) {
      const ids =
        destinationId === undefined
          ? delivered.destinationsOf(valuesOf(webhookId as OneOrMany<number>))
          : valuesOf(destinationId);
      if (ids !== null) {
        const isExact = others === 1 && webhookId === undefined;
        // Without mappings, a message has one delivery to a destination.
        const isCounted = isExact && isOfAny && ids.length === 1 && !requests.hasRequests;
        return walk(
          (before) => mapped(delivered.to(ids, before), among),
          isExact,
          isCounted ? () => delivered.count(ids[0] as number) : null,
        );
      }
    }
    const total = (): number =>
      kindCounts.all().reduce((sum, each) => (kind === null || kind(each) ? sum + each.n : sum), 0);
    return walk(all, others === 0, isOfKind && others === 0 ? total : null);
  };
}

const has =
  (id: number) =>
  ({ first, end }: { first: number; end: number }): boolean =>
    id >= first && id < end;

function* mapped(
  stretches: Iterable<number[]>,
  change: (ids: number[]) => number[],
): Generator<number[]> {
  for (const ids of stretches) yield change(ids);
}

/** The ids of some ranges, newest first. */
function* stretchesOf(
  ranges: readonly { first: number; end: number }[],
  before: number,
  holding: (ids: number[]) => number[],
): Generator<number[]> {
  const ids = new Set<number>();
  for (const { first, end } of ranges)
    for (let id = Math.min(end, before) - 1; id >= first; id -= 1) ids.add(id);
  yield holding([...ids].sort((a, b) => b - a));
}

function wantedFacts(filter: MessageFilter): WantedFacts {
  const { since = -Infinity, until = Infinity, not = {} } = filter;
  const is = (value: number) => (code: number) => value === code;
  const source = asks(filter.sourceId, not.sourceId, is);
  const type = asks(filter.type, not.type, (value) => is(typeCode(value)));
  const state = asks(filter.state, not.state, (value) => is(stateCode(value)));
  const kinds = [
    source && ((of: MessageKind) => source(of.sourceId)),
    type && ((of: MessageKind) => type(of.type)),
    state && ((of: MessageKind) => state(of.state)),
  ];
  const event = asks(filter.event, not.event, (value) => {
    const isMeant = nameTest(value);
    return (of: string | null) => of !== null && isMeant(of);
  });
  const courses = [
    asks(filter.reason, not.reason, (value) => (course: Course) => course.reason === value),
    asks(filter.status, not.status, statusIs),
    asks(filter.attempts, not.attempts, attemptsAre),
    asks(filter.outcome, not.outcome, (value) => {
      const code = outcomeCode(value);
      return (course: Course) => course.outcomes.some(({ outcome }) => outcome === code);
    }),
    asks(filter.plan, not.plan, (value) => (course: Course) => planOf(course) === value),
  ];
  return { kind: every(kinds), event, course: every(courses), since, until };
}

/** All of what is asked; null when nothing is. */
function every<Of>(tests: readonly (((of: Of) => boolean) | null)[]): ((of: Of) => boolean) | null {
  const asked = tests.filter((test) => test !== null);
  return asked.length === 0 ? null : (of) => asked.every((test) => test(of));
}

/** Any of some values, and none of others. */
function asks<Value extends string | number, Of>(
  yes: OneOrMany<Value> | undefined,
  no: OneOrMany<Value> | undefined,
  is: (value: Value) => (of: Of) => boolean,
): ((of: Of) => boolean) | null {
  if (yes === undefined && no === undefined) return null;
  const wanted = yes === undefined ? null : valuesOf(yes).map(is);
  const unwanted = no === undefined ? [] : valuesOf(no).map(is);
  return (of) =>
    (wanted === null || wanted.some((test) => test(of))) && !unwanted.some((test) => test(of));
}

/** Of any answer; of the newest after `last=`. */
function statusIs(text: string): (course: Course) => boolean {
  const isIn = numberTest(text);
  return text.startsWith("last=")
    ? ({ lastStatus }) => lastStatus !== null && isIn(lastStatus)
    : ({ outcomes }) => outcomes.some(({ status }) => status !== null && isIn(status));
}

function attemptsAre(text: string): (course: Course) => boolean {
  const isIn = numberTest(text);
  return ({ attempts }) => isIn(attempts);
}

function valuesOf<Value extends string | number>(value: OneOrMany<Value>): readonly Value[] {
  return typeof value === "object" ? value : [value];
}

/** What only the rows, and the deliveries below them, say. */
function rowCondition(
  { userId, destinationId, webhookId, not = {} }: MessageFilter,
  hasBatches: boolean,
): RowCondition {
  const goes = (values: readonly number[]) => inBatchesToo(goesTo(values), hasBatches);
  const tried = (values: readonly number[]) => inBatchesToo(wasTriedAt(values), hasBatches);
  const asked = [
    given(userId, userIs),
    given(destinationId, goes),
    given(webhookId, tried),
    given(not.userId, (values) => no(userIs(values))),
    given(not.destinationId, (values) => no(goes(values))),
    given(not.webhookId, (values) => no(tried(values))),
  ].flat();
  return {
    sql: asked.length === 0 ? "TRUE" : asked.map(({ sql }) => sql).join(" AND "),
    values: asked.flatMap(({ values }) => values),
    members: asked.length,
  };
}

function given<Value extends string | number>(
  value: OneOrMany<Value> | undefined,
  condition: (values: readonly Value[]) => Condition,
): Condition[] {
  return value === undefined ? [] : [condition(valuesOf(value))];
}

const marksFor = (values: readonly unknown[]): string => values.map(() => "?").join(", ");

const no = ({ sql, values }: Condition): Condition => ({ sql: `NOT ${sql}`, values });

const userIs = (values: readonly string[]): Condition => ({
  sql: `(coalesce(user_id IN (${marksFor(values)}), 0) OR coalesce(anonymous_id IN (${marksFor(values)}), 0))`,
  values: [...values, ...values],
});

const goesTo = (values: readonly number[]): Condition => ({
  sql: `EXISTS (SELECT 1 FROM deliveries INDEXED BY deliveries_by_message WHERE message_id = messages.id AND destination_id IN (${marksFor(values)}))`,
  values: [...values],
});

const wasTriedAt = (values: readonly number[]): Condition => ({
  sql: `EXISTS (SELECT 1 FROM deliveries INDEXED BY deliveries_by_message JOIN attempts ON attempts.delivery_id = deliveries.id
    WHERE deliveries.message_id = messages.id AND webhook_id IN (${marksFor(values)}))`,
  values: [...values],
});

/** The same of the batches that a message is part of. */
function inBatchesToo({ sql, values }: Condition, hasBatches: boolean): Condition {
  if (!hasBatches) return { sql, values };
  const ofBatch = sql
    .replaceAll("INDEXED BY deliveries_by_message", "")
    .replace(
      /(deliveries\.)?message_id = messages\.id/,
      "deliveries.id IN (SELECT delivery_id FROM batch_parts WHERE batch_parts.message_id = messages.id)",
    );
  return { sql: `(${sql} OR ${ofBatch})`, values: [...values, ...values] };
}
