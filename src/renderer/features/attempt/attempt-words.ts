/** What an attempt came to, in a word and in sentences. Pure. */

import { sizeOf } from "../../kit/byte-rows.ts";
import { duration } from "../../kit/words.ts";
import type { Attempt, Delivery } from "../timeline/timeline-model.ts";

const codes: Readonly<Record<string, string>> = {
  ECONNREFUSED: "refused",
  ECONNRESET: "reset",
  EPIPE: "reset",
  ENOTFOUND: "DNS",
  EAI_AGAIN: "DNS",
  closed_without_answer: "closed",
  kept_connection_closed: "closed",
  body_cut_short: "cut short",
};

/** `503`, `refused`, `timeout`: the shortest that tells attempts apart. */
export function attemptWord({ outcome, error, response }: Attempt): string {
  if (outcome === "success" || outcome === "http_error") return String(response?.status ?? outcome);
  if (outcome === "connection_error") return codes[error?.code ?? ""] ?? "no response";
  return outcome;
}

/** The host, in two parts: what tells it apart, and the rest. */
export function hostOf(url: string): { name: string; rest: string } {
  if (!URL.canParse(url)) return { name: url, rest: "" };
  const { hostname, port, pathname } = new URL(url);
  const suffix = port === "" ? "" : `:${port}`;
  // Test endpoints share a host; their path tells them apart.
  if (/^127\.|^\[::1\]$|^localhost$/.test(hostname) && pathname !== "/")
    return { name: pathname.slice(1), rest: "" };
  if (/^[\d.]+$|^\[/.test(hostname)) return { name: hostname, rest: suffix };
  const dot = hostname.indexOf(".");
  return dot === -1
    ? { name: hostname, rest: suffix }
    : { name: hostname.slice(0, dot), rest: hostname.slice(dot) + suffix };
}

/** The announced length of the body; null when the response does not have one. */
export function announcedLength({ response }: Attempt): number | null {
  const value =
    response?.headers.find(([name]) => name.toLowerCase() === "content-length")?.[1] ?? "";
  return /^\d+$/.test(value) ? Number(value) : null;
}

type OutcomeSentences = { lead: string; rest: string[] };

/** `clock` says a time of the clock. */
export function outcomeSentences(
  attempt: Attempt,
  delivery: Delivery,
  clock: (at: string) => string,
): OutcomeSentences {
  const { lead, rest } = whatCame(attempt);
  return {
    lead,
    rest: [...rest, ...partOfAnswer(attempt), ...consequence(attempt, delivery, clock)],
  };
}

function whatCame({ outcome, response, error, durationMs, retryable }: Attempt): OutcomeSentences {
  const status = response?.status ?? 0;
  if (outcome === "success")
    return { lead: `The receiver answered ${status} after ${duration(durationMs)}.`, rest: [] };
  if (outcome === "http_error") {
    const rest = status >= 300 && status < 400 ? ["Redirects are not followed."] : [];
    return {
      lead: `The receiver answered ${status}.`,
      rest: retryable ? rest : [...rest, `The retry profile does not retry ${status}.`],
    };
  }
  const message = error?.message ?? "No response.";
  const end = /[.!?] (?=[A-Z])/.exec(message);
  return end === null
    ? { lead: message, rest: [] }
    : { lead: message.slice(0, end.index + 1), rest: [message.slice(end.index + 2)] };
}

function partOfAnswer({ outcome, response }: Attempt): string[] {
  if (response === null || outcome === "success" || outcome === "http_error") return [];
  return [`The status ${response.status} does not count, because the response is incomplete.`];
}

function consequence(
  attempt: Attempt,
  delivery: Delivery,
  clock: (at: string) => string,
): string[] {
  const { attempts, state, nextAttemptAt } = delivery;
  if (attempt.outcome === "success") {
    const others = attempts.some(({ webhookId }) => webhookId !== attempt.webhookId);
    return [
      others
        ? "The message is delivered, and the other webhooks are not retried."
        : "The message is delivered.",
    ];
  }
  const later = attempts.find(
    ({ webhookId, round }) => webhookId === attempt.webhookId && round > attempt.round,
  );
  if (later !== undefined) return [`Retried in round ${later.round} at ${clock(later.startedAt)}.`];
  if (!attempt.retryable) return ["Not retried."];
  switch (state) {
    case "waiting":
      return nextAttemptAt === null
        ? []
        : [`Retried in round ${lastRound(delivery) + 1} at ${clock(nextAttemptAt)}.`];
    case "delivered":
      return ["Not retried, because another webhook answered 2xx."];
    case "expired":
      return ["Not retried, because the retry window closed."];
    case "cancelled":
      return ["Not retried, because the delivery was cancelled."];
    case "failed":
      return ["Not retried, because the webhook has been removed."];
    case "queued":
    case "sending":
      return ["It is being retried."];
  }
}

const lastRound = ({ attempts }: Delivery): number =>
  attempts.reduce((most, { round }) => Math.max(most, round), 0);

/** Null for a line that is none of an answer. */
export function statusLine(
  startLine: string,
): { version: string; status: string; reason: string } | null {
  const [, version, status, reason] = /^(\S+) (\d{3})(?: (.*))?$/s.exec(startLine) ?? [];
  return version === undefined || status === undefined
    ? null
    : { version, status, reason: reason ?? "" };
}

/** `HTTP/1.1`, as the request spells it. */
export function requestVersion(startLine: string): string {
  return startLine.slice(startLine.lastIndexOf(" ") + 1);
}

/** Heads are one byte a character; each line ends in two, and an empty one ends the head. */
export function requestSize({ startLine, headers, body }: Attempt["request"]): number {
  const lines = [startLine, ...headers.map(([name, value]) => `${name}: ${value}`), ""];
  return lines.reduce((sum, line) => sum + line.length + 2, 0) + sizeOf(body);
}
