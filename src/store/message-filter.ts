/** Which messages a filter means. Several values of one member mean any of them; several members, all of them. */

import type { MessageFilter, OneOrMany } from "../engine/ports.ts";
import { stateCode, typeCode } from "./codes.ts";
import { kindTest, type KindTest } from "./message-kinds.ts";

/** SQL with a `?` for each of its values. */
type Condition = { sql: string; values: (string | number)[] };

/** Null for a filter that names no source, type or state. */
export function kindTestOf({ sourceId, type, state }: MessageFilter): KindTest | null {
  if (sourceId === undefined && type === undefined && state === undefined) return null;
  return kindTest({
    sourceIds: sourceId === undefined ? null : new Set(valuesOf(sourceId)),
    types: type === undefined ? null : new Set(valuesOf(type).map(typeCode)),
    states: state === undefined ? null : new Set(valuesOf(state).map(stateCode)),
  });
}

/** Whether it needs values that only the rows have. */
export function asksOfRows({ reason, status, attempts }: MessageFilter): boolean {
  return reason !== undefined || status !== undefined || attempts !== undefined;
}

/** What all but the free text asks of a row. */
export function rowCondition(filter: MessageFilter): Condition {
  const userIs = (values: readonly string[]): Condition => anyOf([isOneOf("user_id", values), isOneOf("anonymous_id", values)]);
  const asked = [
    given(filter.sourceId, (values) => isOneOf("source_id", values)),
    given(filter.type, (values) => isOneOf("type", values.map(typeCode))),
    given(filter.state, (values) => isOneOf("state", values.map(stateCode))),
    given(filter.userId, userIs),
    given(filter.event, (values) => isOneOf("event", values)),
    given(filter.reason, (values) => isOneOf("reason", values)),
    given(filter.status, (values) => anyOf(values.map(statusIs))),
    given(filter.attempts, (values) => anyOf(values.map(attemptsAre))),
  ];
  return joined(asked.flat(), " AND ");
}

export function valuesOf<Value extends string | number>(value: OneOrMany<Value>): readonly Value[] {
  return typeof value === "object" ? value : [value];
}

function given<Value extends string | number>(
  value: OneOrMany<Value> | undefined,
  condition: (values: readonly Value[]) => Condition,
): Condition[] {
  return value === undefined ? [] : [condition(valuesOf(value))];
}

function isOneOf(column: string, values: readonly (string | number)[]): Condition {
  return { sql: `${column} IN (${values.map(() => "?").join(", ")})`, values: [...values] };
}

/** `503`, or `5xx` for the whole class. */
function statusIs(text: string): Condition {
  const from = Number(text.replace("xx", "00"));
  return { sql: "last_status BETWEEN ? AND ?", values: [from, text.endsWith("xx") ? from + 99 : from] };
}

/** `3`, `>3`, `>=3`, `<3`, `<=3`. */
function attemptsAre(text: string): Condition {
  const [, sign = "=", digits] = /^([<>]=?)?(\d+)$/.exec(text) as RegExpExecArray;
  return { sql: `attempts ${sign} ?`, values: [Number(digits)] };
}

function anyOf(conditions: Condition[]): Condition {
  return joined(conditions, " OR ");
}

function joined(conditions: Condition[], by: " AND " | " OR "): Condition {
  if (conditions.length === 0) return { sql: by === " AND " ? "TRUE" : "FALSE", values: [] };
  return { sql: `(${conditions.map(({ sql }) => sql).join(by)})`, values: conditions.flatMap(({ values }) => values) };
}
