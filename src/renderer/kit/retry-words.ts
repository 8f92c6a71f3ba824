/**
 * A retry profile in words, and the pieces of it that are typed as text: delays and ranges of
 * statuses.
 */

import type { RetryProfile } from "../../domain/configuration.ts";
import { durationText, parseDuration } from "./duration-text.ts";

/** Delays of a schedule that are listed one by one. */
const maxListed = 4;

/** `after 10 s, 20 s, 40 s, 80 s …, at most every 30 m, ±10 %` */
export function scheduleWords({
  schedule,
  jitter,
}: Pick<RetryProfile, "schedule" | "jitter">): string {
  const spread = jitter === 0 ? "" : `, ±${Math.round(jitter * 1000) / 10} %`;
  if (schedule.kind === "list") {
    return schedule.delaysMs.length === 0
      ? "no retries"
      : `after ${delaysText(schedule.delaysMs)}${spread}`;
  }
  const { firstMs, factor, capMs } = schedule;
  const delays = Array.from({ length: maxListed }, (_, n) =>
    Math.min(capMs, Math.round(firstMs * factor ** n)),
  );
  if (delays[0] === delays[maxListed - 1])
    return `every ${durationText(delays[0] ?? firstMs)}${spread}`;
  return `after ${delaysText(delays)} …, at most every ${durationText(capMs)}${spread}`;
}

/** `5xx, timeouts, connection errors` */
export function retriedWords(
  profile: Pick<
    RetryProfile,
    "retriedStatuses" | "retryTimeouts" | "retryConnectionErrors" | "honourRetryAfter"
  >,
): string {
  const words = [
    ...(profile.retriedStatuses.length > 0 ? [statusesText(profile.retriedStatuses)] : []),
    ...(profile.retryTimeouts ? ["timeouts"] : []),
    ...(profile.retryConnectionErrors ? ["connection errors"] : []),
  ];
  const after = profile.honourRetryAfter ? "; Retry-After counts" : "";
  return words.length === 0 ? "nothing" : `${words.join(", ")}${after}`;
}

export const delaysText = (delaysMs: readonly number[]): string =>
  delaysMs.map(durationText).join(", ");

/** Null when a piece of it is no duration. */
export function parseDelays(text: string): number[] | null {
  const delays = pieces(text).map((piece) => parseDuration(piece));
  return delays.every((delay) => delay !== null) ? delays : null;
}

type Range = { from: number; to: number };

/** Whole classes are `5xx`, others `500-503` or `429`. */
export function statusesText(ranges: readonly Range[]): string {
  return ranges.map(rangeText).join(", ");
}

function rangeText({ from, to }: Range): string {
  if (from === to) return String(from);
  const hundred = Math.floor(from / 100);
  return from % 100 === 0 && to === from + 99 ? `${hundred}xx` : `${from}-${to}`;
}

/** Null when a piece of it is neither a status, nor a range, nor a class. */
export function parseStatuses(text: string): Range[] | null {
  const ranges = pieces(text).map(parseRange);
  return ranges.every((range) => range !== null) ? ranges : null;
}

function parseRange(text: string): Range | null {
  const hundred = /^([1-9])xx$/i.exec(text)?.[1];
  if (hundred !== undefined) return { from: Number(hundred) * 100, to: Number(hundred) * 100 + 99 };
  const match = /^([1-9]\d\d)(?:\s*[-–]\s*([1-9]\d\d))?$/.exec(text);
  if (match === null) return null;
  const from = Number(match[1]);
  return { from, to: match[2] === undefined ? from : Number(match[2]) };
}

const pieces = (text: string): string[] =>
  text
    .split(",")
    .map((piece) => piece.trim())
    .filter((piece) => piece !== "");
