/** Which messages a filter means. Several values of one member mean any of them; several members, all of them. */

import type { MessageFilter, OneOrMany } from "../engine/ports.ts";
import { stateCode, typeCode } from "./codes.ts";
import type { MessageRow } from "./message-rows.ts";

/** A filter made ready for many rows. */
export type RowFilter = {
  matchesKind(kind: { source_id: number; type: number; state: number }): boolean;
  /** All but the free text. */
  matchesRow(row: MessageRow): boolean;
};

export function rowFilter(filter: MessageFilter): RowFilter {
  const sources = setOf(filter.sourceId);
  const types = setOf(filter.type, typeCode);
  const states = setOf(filter.state, stateCode);
  const users = setOf(filter.userId);
  const events = setOf(filter.event);
  const reasons = setOf(filter.reason);
  const statuses = filter.status === undefined ? null : valuesOf(filter.status).map(statusTest);
  const attempts = filter.attempts === undefined ? null : valuesOf(filter.attempts).map(numberTest);

  const matchesKind: RowFilter["matchesKind"] = ({ source_id, type, state }) =>
    (sources === null || sources.has(source_id)) && (types === null || types.has(type)) && (states === null || states.has(state));
  return {
    matchesKind,
    matchesRow: (row) =>
      matchesKind(row) &&
      (users === null || users.has(row.user_id) || users.has(row.anonymous_id)) &&
      (events === null || events.has(row.event)) &&
      (reasons === null || reasons.has(row.reason)) &&
      (statuses === null || statuses.some((test) => test(row.last_status))) &&
      (attempts === null || attempts.some((test) => test(row.attempts))),
  };
}

export function valuesOf<Value extends string | number>(value: OneOrMany<Value>): readonly Value[] {
  return typeof value === "object" ? value : [value];
}

function setOf<Value extends string | number, Code = Value>(
  value: OneOrMany<Value> | undefined,
  code?: (value: Value) => Code,
): Set<unknown> | null {
  if (value === undefined) return null;
  return new Set<unknown>(valuesOf(value).map((each) => (code === undefined ? each : code(each))));
}

/** `503`, or `5xx` for all of its hundred. */
function statusTest(text: string): (status: number | null) => boolean {
  const hundred = /^([1-5])xx$/.exec(text)?.[1];
  if (hundred !== undefined) return (status) => status !== null && Math.floor(status / 100) === Number(hundred);
  return (status) => status === Number(text);
}

/** `3`, `>3`, `>=3`, `<3`, `<=3`. */
function numberTest(text: string): (n: number) => boolean {
  const [, sign = "", digits = ""] = /^([<>]=?)?(\d+)$/.exec(text) ?? [];
  const limit = Number(digits);
  if (sign === ">") return (n) => n > limit;
  if (sign === ">=") return (n) => n >= limit;
  if (sign === "<") return (n) => n < limit;
  if (sign === "<=") return (n) => n <= limit;
  return (n) => n === limit;
}

export function carriesText(row: MessageRow, body: Buffer, lowerCaseNeedle: string): boolean {
  return (
    row.message_id.toLowerCase().includes(lowerCaseNeedle) ||
    includesText(body.subarray(row.offset, row.offset + row.size), lowerCaseNeedle)
  );
}

export function includesText(bytes: Buffer, lowerCaseNeedle: string): boolean {
  return bytes.toString("utf8").toLowerCase().includes(lowerCaseNeedle);
}
