/** What a check says in the end, and the sentences that several checks share. */

import { isAccepted, isCrash } from "../receiver/request.ts";
import { answerOf, type Probe, type Recorded } from "./probe.ts";
import type { Advice } from "../domain/advice.ts";

export type Verdict = "pass" | "fail" | "warn" | "skipped";

export type Outcome = {
  verdict: Verdict;
  /** A few words for the row of a list. */
  brief: string;
  /** Whole sentences: what happened, and what follows from it. */
  detail: string;
  /** The usual fix. */
  advice?: Advice;
};

export type Check = {
  id: string;
  /** What a right receiver does. */
  title: string;
  group: "Answers" | "Messages" | "Signature" | "Bad requests" | "Exactly once" | "Connections";
  needs?: "effects" | "secret";
  /**
   * What a right receiver answers to each of its requests, `2xx` when left out; `any` where only
   * the effects count.
   */
  answers?: "2xx" | "refused" | "no crash" | "any";
  /** How many of its messages are under way at a time, all the time. */
  atOnce?: number;
  /**
   * `first` one after the other, before everything else; `together` beside each other; `alone` one
   * after the other, because each may bring the receiver down; `load` the same, because each takes
   * all it has; `last` at the end.
   */
  phase: "first" | "together" | "alone" | "load" | "last";
  run(probe: Probe): Promise<Outcome>;
};

/** A request and its answer, as text where the bytes are text. */
export type CheckRequest = {
  at: string;
  head: string;
  body: string;
  sentAs: string | null;
  outcome: Recorded["outcome"];
  status: number | null;
  durationMs: number;
  answerHead: string;
  answerBody: string;
  error: string | null;
};

export type CheckResult = {
  id: string;
  title: string;
  group: string;
  verdict: Verdict;
  brief: string;
  detail: string;
  advice: Advice | null;
  /** What the receiver says it has done, for each token of the check. */
  effects: { token: string; wanted: number; found: string[] }[];
  requests: CheckRequest[];
  /** A failed check as a scenario file. */
  scenario: string | null;
};

export type CheckReport = {
  url: string;
  startedAt: string;
  durationMs: number;
  seed: number;
  verdict: "pass" | "fail";
  score: number;
  checks: CheckResult[];
};

/** The documented deadline of the hosted service. */
export const deadlineMs = 5_000;

export function pass(brief: string, detail = ""): Outcome {
  return { verdict: "pass", brief, detail };
}

export function fail(brief: string, detail: string, advice?: Advice): Outcome {
  return { verdict: "fail", brief, detail, ...(advice === undefined ? {} : { advice }) };
}

export function warn(brief: string, detail: string, advice?: Advice): Outcome {
  return { ...fail(brief, detail, advice), verdict: "warn" };
}

export function skipped(reason: string): Outcome {
  return { verdict: "skipped", brief: "skipped", detail: reason };
}

/** Why an answer whose head has come may never end. */
export const endMissing =
  "The end of its answer is missing: give every answer a Content-Length, also one without a body.";

export function tooSlow({ durationMs, outcome, status }: Recorded, when: string): Outcome {
  const seconds = `${(durationMs / 1000).toFixed(1)} s`;
  if (outcome === "timeout" && status !== null)
    return fail(
      `no end of the answer in ${seconds}`,
      `The receiver answered ${status}, and had not sent the whole answer after ${seconds}${when}. A sender waits 5 s, then it counts the attempt as failed and sends the message again. ${endMissing}`,
    );
  const took =
    outcome === "timeout" ? `did not answer within ${seconds}` : `took ${seconds} to answer`;
  return fail(
    outcome === "timeout" ? `no answer in ${seconds}` : seconds,
    `The receiver ${took}${when}. A sender waits 5 s, then it counts the attempt as failed and sends the message again. Store the message, answer, and do the work afterwards.`,
    "answer-first",
  );
}

/** `500 in 3 ms`, or `no answer`, short enough for a row. */
export function briefOf(sent: Recorded): string {
  return sent.status === null || sent.error !== null ? noAnswer(sent) : answerOf(sent);
}

function noAnswer({ outcome, error, durationMs }: Recorded): string {
  if (outcome === "timeout") return `no answer in ${(durationMs / 1000).toFixed(1)} s`;
  return error === null ? "no answer" : error.code;
}

/** What it did, as the middle of a sentence: `answered 500`. */
export function did({ status, error }: Recorded): string {
  if (status !== null && error === null) return `answered ${status}`;
  const why = error?.message ?? "the connection ended";
  return status === null ? `did not answer (${why})` : `answered ${status} and broke off (${why})`;
}

/** `what` is the subject of the sentences: `a message with 50 levels`. */
export function mustAccept(sent: Recorded, what: string, why: string, advice?: Advice): Outcome {
  if (isAccepted(sent)) return pass(briefOf(sent));
  return fail(briefOf(sent), `The receiver ${did(sent)} to ${what}. ${why}`, advice);
}

/** The receiver may refuse it, but has to survive it. */
export function mustSurvive(
  sent: Recorded,
  what: string,
  why: string,
  refused: (sent: Recorded) => Outcome,
): Outcome {
  if (isCrash(sent)) return fail(briefOf(sent), `The receiver ${did(sent)} to ${what}. ${why}`);
  return isAccepted(sent) ? pass(briefOf(sent)) : refused(sent);
}

export function times(count: number): string {
  return count === 1 ? "once" : count === 2 ? "twice" : `${count} times`;
}
