/** What an attempt came to, in a word and in sentences. Pure. */

import { duration } from "../../kit/words.ts";
import type { Attempt, Delivery } from "./rounds.ts";

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
  if (outcome === "connection_error") return codes[error?.code ?? ""] ?? "no answer";
  return outcome;
}

/** The host, in two parts: what tells it apart, and the rest. */
export function hostOf(url: string): { name: string; rest: string } {
  if (!URL.canParse(url)) return { name: url, rest: "" };
  const { hostname, port, pathname } = new URL(url);
  const suffix = port === "" ? "" : `:${port}`;
  // Test endpoints share a host; their path tells them apart.
  if (/^127\.|^\[::1\]$|^localhost$/.test(hostname) && pathname !== "/") return { name: pathname.slice(1), rest: "" };
  if (/^[\d.]+$|^\[/.test(hostname)) return { name: hostname, rest: suffix };
  const dot = hostname.indexOf(".");
  return dot === -1 ? { name: hostname, rest: suffix } : { name: hostname.slice(0, dot), rest: hostname.slice(dot) + suffix };
}

/** How long the body was said to be; null when the answer does not say. */
export function announcedLength({ response }: Attempt): number | null {
  const value = response?.headers.find(([name]) => name.toLowerCase() === "content-length")?.[1] ?? "";
  return /^\d+$/.test(value) ? Number(value) : null;
}

type OutcomeSentences = { lead: string; rest: string[] };

/** `clock` says a time of the clock. */
export function outcomeSentences(attempt: Attempt, delivery: Delivery, clock: (at: string) => string): OutcomeSentences {
  const { lead, rest } = whatCame(attempt);
  return { lead, rest: [...rest, ...partOfAnswer(attempt), ...consequence(attempt, delivery, clock)] };
}

function whatCame({ outcome, response, error, durationMs, retryable }: Attempt): OutcomeSentences {
  const status = response?.status ?? 0;
  if (outcome === "success") return { lead: `The receiver answered ${status} after ${duration(durationMs)}.`, rest: [] };
  if (outcome === "http_error") {
    const rest = status >= 300 && status < 400 ? ["Redirects are not followed."] : [];
    return { lead: `The receiver answered ${status}.`, rest: retryable ? rest : [...rest, `The retry profile does not retry ${status}.`] };
  }
  const message = error?.message ?? "No answer came.";
  const end = /[.!?] (?=[A-Z])/.exec(message);
  return end === null ? { lead: message, rest: [] } : { lead: message.slice(0, end.index + 1), rest: [message.slice(end.index + 2)] };
}

function partOfAnswer({ outcome, response }: Attempt): string[] {
  if (response === null || outcome === "success" || outcome === "http_error") return [];
  return [`Its status ${response.status} does not count, because the answer was not whole.`];
}

function consequence(attempt: Attempt, delivery: Delivery, clock: (at: string) => string): string[] {
  const { attempts, state, nextAttemptAt } = delivery;
  if (attempt.outcome === "success") {
    const others = attempts.some(({ webhookId }) => webhookId !== attempt.webhookId);
    return [others ? "So the message is delivered, and its other webhooks are not tried again." : "So the message is delivered."];
  }
  const later = attempts
    .filter(({ webhookId, round }) => webhookId === attempt.webhookId && round > attempt.round)
    .sort((a, b) => a.round - b.round)[0];
  if (later !== undefined) return [`Tried again in round ${later.round} at ${clock(later.startedAt)}.`];
  if (!attempt.retryable) return ["Not tried again."];
  switch (state) {
    case "waiting":
      return nextAttemptAt === null ? [] : [`Tried again in round ${lastRound(delivery) + 1} at ${clock(nextAttemptAt)}.`];
    case "delivered":
      return ["Not tried again, because another webhook answered 2xx."];
    case "expired":
      return ["Not tried again, because the retry window closed."];
    case "cancelled":
      return ["Not tried again, because the delivery was cancelled."];
    case "failed":
      return ["Not tried again, because the webhook has been removed."];
    case "queued":
    case "sending":
      return ["It is being tried again."];
  }
}

const lastRound = ({ attempts }: Delivery): number => attempts.reduce((most, { round }) => Math.max(most, round), 0);
