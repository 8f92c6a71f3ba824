/** The words of the list, and of the stages above it. */

import { clockTime, count, span } from "../../kit/words.ts";
import type { Outcome } from "../../../domain/states.ts";
import type { MessageRow } from "./cached-rows.ts";

const rejections: Record<string, string> = {
  missing_type: "type is missing",
  missing_event: "event is missing",
  missing_user_id: "userId is missing",
  missing_group_id: "groupId is missing",
  missing_previous_id: "previousId is missing",
  message_too_large: "larger than 32 KB",
  batch_too_long: "over the limit of a batch",
  unknown_type: "unknown type",
  invalid_type: "a field has the wrong type",
  not_an_object: "not a JSON object",
  suppressed: "the user is suppressed",
};

/** Why a message was rejected, in few words; the details have the sentence. */
export function rejectionWords(reason: string | null): string {
  if (reason === null) return "rejected";
  return rejections[reason] ?? reason.replaceAll("_", " ");
}

/** What violates the plan, in one line. */
export function violationWords(violations: MessageRow["violations"]): string {
  const [first] = violations;
  if (first === undefined) return "";
  const more = violations.length === 1 ? "" : `, and ${violations.length - 1} more`;
  return `${first.path} ${first.message}${more}`;
}

/** A count that a stage has room for; never more than there are. */
export function shortCount(n: number): string {
  if (n < 100_000) return count(n);
  if (n < 1_000_000) return `${Math.floor(n / 1000)} K`;
  return `${(Math.floor(n / 10_000) / 100).toFixed(2)} M`;
}

/** The event, or what an identify sets. */
export function subjectOf({ event, traits }: Pick<MessageRow, "event" | "traits">): string | null {
  return event === null || event === "" ? traits : event;
}

export function userOf({
  userId,
  anonymousId,
}: Pick<MessageRow, "userId" | "anonymousId">): string | null {
  return userId ?? anonymousId;
}

const failureWords: Record<Exclude<Outcome, "success" | "http_error">, string> = {
  timeout: "timeout",
  connection_error: "connection",
  tls_error: "TLS",
};

/** How the newest attempt that failed ended, in one word; null once the message is delivered. */
export function lastFailure({
  marks,
  state,
}: Pick<MessageRow, "marks" | "state">): { outcome: Outcome; words: string } | null {
  if (state === "delivered") return null;
  for (const { outcome, status } of marks.toReversed()) {
    if (outcome === "success") continue;
    const words = outcome === "http_error" ? String(status ?? "error") : failureWords[outcome];
    return { outcome, words };
  }
  return null;
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** The day, unless it is today's on the clock. */
export function dayOf(at: number, now: number | null): string | null {
  const day = new Date(at);
  if (now !== null && day.toDateString() === new Date(now).toDateString()) return null;
  return `${day.getDate()} ${months[day.getMonth()]}`;
}

/** How long until the next round, in the clock's time. */
export function untilWords(nextAttemptAt: string | null, now: number | null): string {
  if (nextAttemptAt === null || now === null) return "";
  const left = Date.parse(nextAttemptAt) - now;
  return left <= 0 ? "due" : span(left);
}

/** More of a name than a row has room for; names from outside may have 30 KB. */
const maxShown = 200;

/** A name from outside, as much of it as can be seen. */
export function shortened(name: string): string {
  return name.length <= maxShown ? name : `${name.slice(0, maxShown).toWellFormed()}…`;
}

type RowFacts = { row: MessageRow; source: string; day: string | null; until: string };

/** The whole row, for screen readers. */
export function rowSentence({ row, source, day, until }: RowFacts): string {
  const user = userOf(row);
  const subject = subjectOf(row);
  const what = [
    row.type ?? "message",
    subject === null ? null : shortened(subject),
    user === null ? null : `of ${shortened(user)}`,
  ]
    .filter((part) => part !== null)
    .join(" ");
  const reason =
    row.state === "rejected"
      ? `: ${rejectionWords(row.reason)}`
      : row.state === "filtered" && row.reason !== null
        ? `: ${row.reason}`
        : "";
  const failure = lastFailure(row);
  const last = failure === null ? "" : `, last ${failure.words}`;
  const plan = row.plan === "violations" ? ", violates its plan" : "";
  const attempts =
    row.attempts === 0 ? "" : `, ${row.attempts} ${row.attempts === 1 ? "attempt" : "attempts"}`;
  const next =
    until === "" ? "" : until === "due" ? ", next round due" : `, next round in ${until}`;
  const time = clockTime(Date.parse(row.receivedAt));
  return `${what}, from ${source}, received ${day === null ? "" : `${day} `}${time}, ${row.state}${reason}${last}${plan}${attempts}${next}`;
}
