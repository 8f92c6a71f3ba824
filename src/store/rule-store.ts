/**
 * Walks over all users with a rule or a computation. Reads only; between two slices anything may be
 * written.
 */

import type Database from "better-sqlite3";
import { startComputation, type Computed, type RunningComputation } from "../domain/compute.ts";
import { spellingOf, evaluateBy } from "../domain/evaluate.ts";
import { charactersPerStep, stepsOfPiece } from "../domain/facts.ts";
import type { ProfileId, SourceId } from "../domain/ids.ts";
import type { Json, JsonObject } from "../domain/json.ts";
import type { Computation, Rule } from "../domain/rules.ts";
import type { Evaluated, RuleStore, Walk, WalkOptions } from "../engine/profile-ports.ts";
import type { Db } from "./transactions.ts";
import { stepsOfSize } from "./shared-bytes.ts";
import { computationQuestion, ruleQuestion, type Question, type TextTest } from "./rule-sql.ts";

type Row = { id: number; user_id: string; recheck_at: number | null };
type Slice = { seen: number; upTo: number | null };
type RuleRow = Row & { last_sent: number } & Record<`c${number}`, number | null>;
type ComputationRow = Row & { place: number | null; last_sent: string | null };

/**
 * A slice should take a few milliseconds for every rule. Its cost is counted in steps of about a
 * microsecond: a user, a condition, and each event or value that SQL does not decide by itself.
 */
const stepsPerSlice = 2500;
/**
 * Where users who did much follow users who did little, a slice is cut here, and what it did so far
 * is done again.
 */
const maxSteps = 2 * stepsPerSlice;
/** The first slice has no measurement to go by. */
const firstUsers = 100;
/** Rules that are being edited come and go; those of audiences come again. */
const keptStatements = 100;

type Walking<Found> = {
  question: Question;
  conditions: number;
  begin?: () => RunningComputation;
  now: number;
  source: SourceId | null;
  answer: (row: Found) => Evaluated | null;
};

export function createRuleStore(db: Db): RuleStore {
  const statement = keepingStatements(db);
  const asked = definingFunctions(db);

  const slice = db.prepare<[number, number], Slice>(
    `SELECT count(*) AS seen, max(id) AS upTo FROM (
       SELECT id FROM profiles INDEXED BY profiles_known WHERE user_id IS NOT NULL AND id > ? ORDER BY id LIMIT ?
     )`,
  );
  const countOfSlice = db
    .prepare<[number, number], number>(
      "SELECT count(*) FROM profiles INDEXED BY profiles_known WHERE user_id IS NOT NULL AND id > ? AND id <= ?",
    )
    .pluck();
  const known = db
    .prepare<[], number>(
      "SELECT count(*) FROM profiles INDEXED BY profiles_known WHERE user_id IS NOT NULL",
    )
    .pluck();

  function walk<Found extends Row>({
    question,
    conditions,
    begin,
    now,
    source,
    answer,
  }: Walking<Found>): Walk {
    const query = statement(question.sql);
    let after = 0;
    let users = firstUsers;

    function rowsUpTo(upTo: number): Found[] {
      const ask = (end: number): Found[] => {
        asked.computed = [];
        asked.calls = 0;
        asked.callsBefore = 0;
        asked.user = null;
        return query.all({ ...question.parameters, now, source, after, upTo: end }) as Found[];
      };
      asked.cutBefore = null;
      asked.isLarge = false;
      try {
        return ask(upTo);
      } catch (error) {
        if (asked.cutBefore === null) throw error;
        const { isLarge } = asked;
        const rows = ask(asked.cutBefore - 1);
        asked.isLarge = isLarge;
        return rows;
      }
    }

    return {
      next(limit) {
        const next = slice.get(after, Math.max(1, Math.min(limit, Math.floor(users)))) as Slice;
        if (next.upTo === null) return { seen: 0, evaluated: [], large: null };
        asked.tests = question.tests;
        asked.start = begin;
        const rows = rowsUpTo(next.upTo);
        const large = asked.isLarge ? (asked.cutBefore as ProfileId) : null;
        const upTo = large ?? (asked.cutBefore === null ? next.upTo : asked.cutBefore - 1);
        const seen =
          asked.cutBefore === null ? next.seen : (countOfSlice.get(after, upTo) as number);
        const evaluated = rows.map(answer).filter((one) => one !== null);
        after = upTo;
        users = stepsPerSlice / (1 + conditions + asked.calls / seen);
        return { seen, evaluated, large };
      },
    };
  }

  return {
    walkRule(rule: Rule, now: number, { source, which }: WalkOptions): Walk {
      const question = ruleQuestion(rule, which);
      const columns = new Map(
        question.conditions.map((condition, index) => [condition, `c${index}` as const]),
      );
      const answer = (row: RuleRow): Evaluated | null => {
        const { value, until } = evaluateBy(
          rule,
          (condition) => row[columns.get(condition) as `c${number}`] ?? -Infinity,
          now,
        );
        const isSettled = value === (row.last_sent === 1) && until === row.recheck_at;
        return which === "unsettled" && isSettled
          ? null
          : evaluatedOf(row, value, until, row.last_sent === 1 ? true : null);
      };
      return walk({ question, conditions: question.conditions.length, now, source, answer });
    },

    walkComputation(computation: Computation, now: number, { source, which }: WalkOptions): Walk {
      const answer = (row: ComputationRow): Evaluated | null => {
        const { value, until } = (row.place === null ? undefined : asked.computed[row.place]) ?? {
          value: null,
          until: null,
        };
        const lastSent = row.last_sent === null ? null : (JSON.parse(row.last_sent) as Json);
        const isSent = spellingOf(value) === spellingOf(lastSent);
        const isAnswered = {
          present: value !== null,
          differing: !isSent,
          unsettled: !isSent || until !== row.recheck_at,
        };
        return isAnswered[which] ? evaluatedOf(row, value, until, lastSent) : null;
      };
      const begin = () => startComputation(computation, now);
      return walk({
        question: computationQuestion(computation),
        conditions: 1,
        begin,
        now,
        source,
        answer,
      });
    },

    countKnownUsers: () => known.get() as number,
  };
}

function keepingStatements(db: Db): (sql: string) => Database.Statement {
  const kept = new Map<string, Database.Statement>();
  return (sql) => {
    const found = kept.get(sql) ?? db.prepare(sql);
    kept.delete(sql);
    kept.set(sql, found);
    for (const oldest of kept.keys()) {
      if (kept.size <= keptStatements) break;
      kept.delete(oldest);
    }
    return found;
  };
}

/**
 * What the calls of our functions in SQL mean for the running statement. Statements never overlap.
 */
type Asked = {
  tests: readonly TextTest[];
  start: (() => RunningComputation) | undefined;
  computed: Computed[];
  calls: number;
  /** Of these, those for the users before this one. */
  callsBefore: number;
  user: number | null;
  /** The slice has to end before this user. */
  cutBefore: number | null;
  /** It ends with this user, who has too much for one turn. */
  isLarge: boolean;
};

function definingFunctions(db: Db): Asked {
  // Each member is set before a statement runs.
  const asked = {} as Asked;

  const countCall = (user: number, text: string, size: number): void => {
    const isFirst = asked.user === null;
    if (asked.user !== user) asked.callsBefore = asked.calls;
    asked.calls += 1 + stepsOfSize(size) + Math.floor(text.length / charactersPerStep);
    asked.isLarge = asked.calls - asked.callsBefore > stepsOfPiece;
    if (asked.isLarge || (asked.calls > maxSteps && !isFirst && asked.user !== user)) {
      asked.cutBefore = user;
      throw new Error("The slice is cut.");
    }
    asked.user = user;
  };
  db.function("hookyard_test", (user: number, test: number, text: string, size: number) => {
    countCall(user, text, size);
    return (asked.tests[test] as TextTest)(text) ? 1 : 0;
  });
  const step = (
    running: RunningComputation | null,
    user: number,
    at: number,
    properties: string,
    size: number,
  ): RunningComputation => {
    countCall(user, properties, size);
    const known = running ?? (asked.start as () => RunningComputation)();
    known.add({
      at,
      properties: JSON.parse(properties) as JsonObject,
    });
    return known;
  };
  db.aggregate<RunningComputation | null>("hookyard_compute", {
    start: () => null,
    // The types know aggregates of one argument only.
    step: step as unknown as (running: RunningComputation | null) => RunningComputation,
    result: (running) => (running === null ? null : asked.computed.push(running.result()) - 1),
  });
  return asked;
}

function evaluatedOf(
  { id, user_id }: Row,
  value: Json,
  until: number | null,
  lastSent: Json,
): Evaluated {
  return { profileId: id as ProfileId, userId: user_id, value, until, lastSent };
}
