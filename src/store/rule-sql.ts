/**
 * Rules and computations as SQL that asks all users of a slice at once. What SQL answers exactly as
 * `domain/` does, it answers itself: an equal value is an equal JSON text, since all are written by
 * one hand, and times are whole numbers. What it would read differently (the order of numbers and
 * texts, texts in texts, what properties hold) goes to the domain's own functions, which
 * `rule-store.ts` has registered. Values only ever come in as parameters.
 */

import { compares, comparesAll, type Condition } from "../domain/evaluate.ts";
import { nameOf, propertiesOf, windowMs } from "../domain/facts.ts";
import type { Json, JsonObject } from "../domain/json.ts";
import type { Computation, EventCondition, Rule, TraitCondition } from "../domain/rules.ts";
import { eventMembers, eventSize } from "./shared-bytes.ts";

/** Decides about a JSON text of the database; statements name it by its place in `tests`. */
export type TextTest = (text: string) => boolean;

export type Question = {
  /** Has the parameters `@after`, `@upTo`, `@source`, `@now` and those of `parameters`. */
  sql: string;
  parameters: Record<string, string | number>;
  tests: TextTest[];
};

type RuleQuestion = Question & {
  /**
   * Column `c0` belongs to the first of these, and so on: its end as `evaluateBy` wants it, null
   * for one that does not hold.
   */
  conditions: Condition[];
};

/** Which rows the question has; those of `unsettled` are evaluated again. */
type RuleRows = "present" | "differing" | "unsettled";

const whereOf: Record<RuleRows, (ends: readonly string[]) => string> = {
  present: () => "value",
  differing: () => "value <> last_sent",
  unsettled: (ends) =>
    [
      "value <> last_sent",
      "recheck_at IS NOT NULL",
      ...ends.map((end) => `${end} IS NOT NULL`),
    ].join(" OR "),
};

/**
 * The users of a slice in the order of their profiles, through the index that holds no anonymous
 * profile.
 */
const users =
  "profiles AS user INDEXED BY profiles_known WHERE user.user_id IS NOT NULL AND user.id > @after AND user.id <= @upTo";
const joinLastSent =
  "LEFT JOIN computed_values AS last_sent ON last_sent.source_id = @source AND last_sent.user_id = asked.user_id";

export function ruleQuestion(rule: Rule, rows: RuleRows): RuleQuestion {
  const parameters: Question["parameters"] = {};
  const tests: TextTest[] = [];
  const conditions: Condition[] = [];
  const columns: string[] = [];
  const timed: string[] = [];
  const bind = (value: string | number): string => {
    const name = `p${Object.keys(parameters).length}`;
    parameters[name] = value;
    return `@${name}`;
  };
  const test = (decide: TextTest): number => tests.push(decide) - 1;

  const ask = (condition: Condition): string => {
    const column = `c${conditions.length}`;
    conditions.push(condition);
    if ("trait" in condition) {
      columns.push(`${traitEnd(condition, bind, test)} AS ${column}`);
    } else {
      columns.push(`${eventEnd(condition, bind, test)} AS ${column}`);
      if (condition.withinDays !== undefined) timed.push(column);
    }
    return `${column} IS NOT NULL`;
  };
  const join = (part: Rule): string => {
    if ("not" in part) return `NOT (${join(part.not)})`;
    if ("all" in part) return part.all.map((one) => `(${join(one)})`).join(" AND ");
    if ("any" in part) return part.any.map((one) => `(${join(one)})`).join(" OR ");
    return ask(part);
  };
  const value = join(rule);
  // Materialized, so that each condition is asked once though it is named several times.
  const sql = `
    WITH asked AS MATERIALIZED (SELECT user.id, user.user_id, ${columns.join(", ")} FROM ${users}),
    answered AS (
      SELECT asked.*, ${value} AS value, last_sent.value IS 'true' AS last_sent, last_sent.recheck_at
      FROM asked ${joinLastSent}
    )
    SELECT * FROM answered WHERE ${whereOf[rows](timed)}`;
  return { sql, parameters, tests, conditions };
}

type Bind = (value: string | number) => string;
type Test = (decide: TextTest) => number;

/** 9e999 is infinite: a trait does not change by time. */
function traitEnd(condition: TraitCondition, bind: Bind, test: Test): string {
  const trait = `profile_traits WHERE profile_id = user.id AND name = ${bind(nameOf(condition.trait))}`;
  const { op, value } = condition;
  if (op === "is") return `(SELECT 9e999 FROM ${trait} AND value = ${bind(JSON.stringify(value))})`;
  if (op === "isNot")
    return `iif(EXISTS (SELECT 1 FROM ${trait} AND value = ${bind(JSON.stringify(value))}), NULL, 9e999)`;
  if (op === "exists" && value === false)
    return `iif(EXISTS (SELECT 1 FROM ${trait} AND value <> 'null'), NULL, 9e999)`;
  if (op === "exists") return `(SELECT 9e999 FROM ${trait} AND value <> 'null')`;
  const decide = test((text) => compares(condition, JSON.parse(text) as Json));
  return `(SELECT 9e999 FROM ${trait} AND hookyard_test(user.id, ${decide}, value, 0))`;
}

/** The event that makes up the number ends the condition when it leaves the window. */
function eventEnd(condition: EventCondition, bind: Bind, test: Test): string {
  const { atLeast = 1, where = [] } = condition;
  const window = windowMs(condition);
  const end = window === null ? "9e999" : `at + ${bind(window)}`;
  const inWindow = window === null ? "" : ` AND at > @now - ${bind(window)}`;
  const members = eventMembers(propertiesOf(condition), bind);
  const properties =
    where.length === 0
      ? ""
      : ` AND hookyard_test(user.id, ${test((text) => comparesAll(where, JSON.parse(text) as JsonObject))}, ${members}, ${eventSize(members)})`;
  return `(SELECT ${end} FROM profile_events INDEXED BY profile_events_by_profile
    WHERE profile_id = user.id AND event = ${bind(nameOf(condition.event))}${inWindow}${properties}
    ORDER BY at DESC LIMIT 1 OFFSET ${bind(atLeast - 1)})`;
}

/**
 * Its column `place` says where `hookyard_compute` has put the user's value; null for a user
 * without an event that may count.
 */
export function computationQuestion(computation: Computation): Question {
  const window = windowMs(computation);
  const parameters: Question["parameters"] = { event: nameOf(computation.event) };
  if (window !== null) parameters["window"] = window;
  const properties = eventMembers(propertiesOf(computation), (value) => {
    const name = `p${Object.keys(parameters).length}`;
    parameters[name] = value;
    return `@${name}`;
  });
  const sql = `
    WITH asked AS MATERIALIZED (
      SELECT user.id, user.user_id, (
        SELECT hookyard_compute(user.id, at, properties, size) FROM (
          SELECT at, ${eventSize(properties)} AS size, ${properties} AS properties FROM profile_events INDEXED BY profile_events_by_profile
          WHERE profile_id = user.id AND event = @event${window === null ? "" : " AND at > @now - @window"}
          ORDER BY at, id
        )
      ) AS place
      FROM ${users}
    )
    SELECT asked.*, last_sent.value AS last_sent, last_sent.recheck_at FROM asked ${joinLastSent}
    WHERE place IS NOT NULL OR last_sent.value IS NOT NULL`;
  return { sql, parameters, tests: [] };
}
