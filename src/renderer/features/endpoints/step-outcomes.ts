/** What a step comes to, as an outcome and in words. */

import type { AnswerOf } from "../../../contract/contract.ts";
import type { RetryProfile } from "../../../domain/configuration.ts";
import { limitOf, type Offer, Program } from "../../../domain/program.ts";
import { isRetryable, nextRoundAt } from "../../../domain/retry.ts";
import type { Outcome } from "../../../domain/states.ts";
import { printAction, type ProgramStep } from "./program-text.ts";

const reasons: Record<number, string> = {
  200: "OK",
  201: "Created",
  202: "Accepted",
  204: "No Content",
  301: "Moved Permanently",
  302: "Found",
  303: "See Other",
  307: "Temporary Redirect",
  308: "Permanent Redirect",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  408: "Request Timeout",
  409: "Conflict",
  410: "Gone",
  413: "Content Too Large",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  500: "Internal Server Error",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

export const usualStatuses: readonly number[] = Object.keys(reasons).map(Number);
export const redirectStatuses: readonly number[] = usualStatuses.filter(
  (status) => status >= 300 && status < 400,
);

export function statusWords(status: number): string {
  const reason = reasons[status];
  return reason === undefined ? String(status) : `${status} ${reason}`;
}

export const statusOf = (step: ProgramStep): number =>
  step.status ?? (step.do === "redirect" ? 302 : 200);

/** The engine's: a drip without a duration. */
export const usualDripMs = 10_000;

/** What an attempt with this deadline makes of it. */
export function outcomeOf(step: ProgramStep, timeoutMs: number): Outcome {
  const delayMs = step.delayMs ?? 0;
  if (delayMs >= timeoutMs) return "timeout";
  switch (step.do) {
    case "answer":
    case "redirect":
      return ofStatus(statusOf(step));
    case "hang":
      return step.forMs === undefined || delayMs + step.forMs >= timeoutMs
        ? "timeout"
        : "connection_error";
    case "drip":
      return delayMs + (step.forMs ?? usualDripMs) >= timeoutMs
        ? "timeout"
        : ofStatus(statusOf(step));
    case "reset":
    case "close":
    case "truncate":
    case "garbage":
      return "connection_error";
    case "forward":
      return ofForward(step, delayMs, timeoutMs);
  }
}

/** The receiver is taken to answer 200 at once. */
function ofForward(
  { lose, loseAs, delayAfterMs = 0, status }: ProgramStep,
  delayMs: number,
  timeoutMs: number,
): Outcome {
  if (loseAs === "timeout" || delayMs + delayAfterMs >= timeoutMs) return "timeout";
  return lose === undefined ? ofStatus(status ?? 200) : "connection_error";
}

function ofStatus(status: number): Outcome {
  return status >= 200 && status < 300 ? "success" : "http_error";
}

/** `no delay, 1 header, body {"error":…` */
export function extrasWords(
  step: ProgramStep,
  durationText: (ms: number) => string,
): { words: string; body: string | null } {
  const headers = Object.keys(step.headers ?? {}).length;
  const words = [
    (step.delayMs ?? 0) === 0 ? "no delay" : `${durationText(step.delayMs ?? 0)} delay`,
    headers === 0 ? "no headers" : `${headers} header${headers === 1 ? "" : "s"}`,
  ];
  const body = step.body === undefined || step.body === "" ? null : step.body;
  return {
    words: body === null ? `${words.join(", ")}, no body` : `${words.join(", ")}, body`,
    body,
  };
}

type Endpoint = Pick<AnswerOf<"endpoints.get">, "after" | "position" | "perMessage"> & {
  steps: readonly ProgramStep[];
};

export type StepProgress = {
  /** Null when the listed requests do not show it. */
  served: number | null;
  /** Null when it serves any number. */
  of: number | null;
};

/**
 * The step that is next is counted by the API, and those before it are used up. One after it has
 * served something only where a step before it lets requests pass, and then the received requests
 * tell: `recent` are those of this run, newest first.
 */
export function progressOf(
  { steps, after, position, perMessage = false }: Endpoint,
  recent: readonly { step: number | null }[],
  isWhole: boolean,
): StepProgress[] {
  // Each message has its own counts, so what a step served is known of the requests alone.
  if (perMessage)
    return steps.map((_, place) => ({
      served: isWhole ? recent.filter((request) => request.step === place).length : null,
      of: null,
    }));
  const next = position.step ?? steps.length;
  const letsPass = steps.findIndex(
    (step, place) => place >= next && (step.match !== undefined || step.chance !== undefined),
  );
  return steps.map((_, place) => {
    const of = limitOf(steps, place, after);
    if (place === next) return { served: position.served, of };
    if (place < next) return { served: of, of };
    if (letsPass < 0 || letsPass >= place) return { served: 0, of };
    return {
      served: isWhole ? recent.filter((request) => request.step === place).length : null,
      of,
    };
  });
}

export type OutlookOptions = {
  steps: readonly ProgramStep[];
  after: "repeat-last" | "start-over";
  profile: RetryProfile;
  seed: number;
  jitter: boolean;
};

export type Bead = {
  round: number;
  atMs: number;
  outcome: Outcome;
  word: string;
  /** Of a random step before it: what else the round may come to, and how likely. */
  chances: readonly { outcome: Outcome; word: string; share: number; isRetried: boolean }[];
};
type Outlook = {
  beads: Bead[];
  end: "delivered" | "failed" | "expired";
  /** The share of deliveries that end so, in that round; 1 without random steps. */
  share: number;
};

/** Jitter differs from delivery to delivery; the first one of a store stands for all. */
const sequence = 1;

/** A custom profile may allow thousands of rounds. */
const maxRounds = 1000;

/**
 * Assumes a message that every `match` accepts, and that no random step takes it: what such a step
 * would do is a share of its round, and no certain failure.
 */
export function outlookOf({ steps, after, profile, seed, jitter }: OutlookOptions): Outlook {
  const program = new Program(steps, after);
  const offer: Offer = {
    fits: () => true,
    draw: () => almostOne,
  };
  const beads: Bead[] = [];
  let share = 1;
  let atMs = 0;
  for (let round = 1; round <= maxRounds; round += 1) {
    const index = program.serve(offer) ?? steps.length;
    const step = steps[index];
    const outcome = step === undefined ? "success" : outcomeOf(step, profile.timeoutMs);
    const chances = chancesOf(steps.slice(0, index), profile);
    const status = step !== undefined && outcome === "http_error" ? statusOf(step) : null;
    const isRetried = isRetryable(profile, outcome, status);
    // What a random step does alike leads to the same end.
    share *= chances.reduce(
      (rest, chance) =>
        chance.isRetried === isRetried && (chance.outcome === "success") === (outcome === "success")
          ? rest
          : rest - chance.share,
      1,
    );
    const word = step === undefined ? "200" : wordOf(step);
    beads.push({ round, atMs, outcome, word, chances });
    if (outcome === "success") return { beads, end: "delivered", share };
    if (!isRetried) return { beads, end: "failed", share };
    const next = nextRoundAt({
      profile,
      round,
      roundStartedAt: atMs,
      firstAttemptAt: 0,
      seed,
      sequence,
      jitter,
    });
    if (next === null) return { beads, end: "expired", share };
    atMs = next;
  }
  return { beads, end: "expired", share };
}

/** Only a step for all requests takes this draw. */
const almostOne = 1 - Number.EPSILON;

/** Each takes its share of what those before it leave. */
function chancesOf(steps: readonly ProgramStep[], profile: RetryProfile): Bead["chances"] {
  let rest = 1;
  return steps.flatMap((step) => {
    const { chance, times } = step;
    // One that serves few requests says little of any one of them.
    if (chance === undefined || chance === 0 || times !== undefined) return [];
    const share = rest * chance;
    rest -= share;
    const outcome = outcomeOf(step, profile.timeoutMs);
    const status = outcome === "http_error" ? statusOf(step) : null;
    const isRetried = isRetryable(profile, outcome, status);
    return [{ outcome, word: wordOf(step), share, isRetried }];
  });
}

function wordOf(step: ProgramStep): string {
  return printAction({
    do: step.do,
    ...(step.status === undefined ? {} : { status: step.status }),
  });
}

export type Received = AnswerOf<"endpoints.requests">["items"][number];

/** The deadline of the documented retry profile. */
const deadlineMs = 5000;

/** Its step as the program has it now, unless the program has changed since. */
function stepOf(
  { step, did, status }: Received,
  steps: readonly ProgramStep[],
): ProgramStep | null {
  const now = step === null ? undefined : steps[step];
  if (now === undefined || now.do !== did) return null;
  return status === null || now.status === undefined || now.status === status ? now : null;
}

/** What happened to a received request, in a word or two. */
export function didWords(request: Received, steps: readonly ProgramStep[]): string {
  const { did, status } = request;
  if (did === "default") return `${status ?? 200}, no step`;
  const step = stepOf(request, steps);
  if (did === "answer") return status === null ? "not answered" : String(status);
  if (did === "forward")
    return status === null ? (step?.lose === undefined ? "no answer" : "lost") : String(status);
  if (step === null) return did === "redirect" && status !== null ? `redirect ${status}` : did;
  const { body: _, ...shown } = step;
  return printAction(shown);
}

export function didOutcome(request: Received, steps: readonly ProgramStep[]): Outcome {
  const { did, status } = request;
  const step = stepOf(request, steps);
  if (did === "forward" && status !== null) return ofStatus(status);
  if (step !== null && did !== "answer") return outcomeOf(step, deadlineMs);
  if (did === "hang") return "timeout";
  if (status === null) return did === "answer" || did === "drip" ? "timeout" : "connection_error";
  if (did === "truncate") return "connection_error";
  return status >= 200 && status < 300
    ? step === null
      ? "success"
      : outcomeOf({ ...step, status }, deadlineMs)
    : "http_error";
}

export function signatureVerdict({ signature }: Received): {
  word: "verifies" | "differs" | "none";
  detail: string;
} {
  if (signature === null) return { word: "none", detail: "The request has no X-Signature." };
  const valid = signature.verifies.filter((each) => each.valid).map(({ name }) => name);
  if (valid.length > 0)
    return {
      word: "verifies",
      detail: `X-Signature verifies with the shared secret of ${valid.join(", ")}.`,
    };
  const tried = signature.verifies.map(({ name }) => name);
  return {
    word: "differs",
    detail:
      tried.length === 0
        ? "No destination has a shared secret."
        : `X-Signature differs from what the shared secret of ${tried.join(", ")} gives.`,
  };
}
