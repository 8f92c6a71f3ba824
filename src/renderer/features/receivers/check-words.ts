/**
 * What the view of a check computes from the answers: groups, findings, the requests to show, the
 * lines between the two lanes.
 */

import type {
  CheckLine,
  CheckRequestAnswer,
  CheckResultAnswer,
  CheckState,
  ReceiverCheck,
} from "../../../contract/checks.ts";
import type { OutcomeName } from "../../kit/glyph.tsx";

export const verdicts = ["pass", "fail", "warn", "skipped"] as const;

export type CheckGroup = {
  name: string;
  lines: CheckLine[];
  passed: number;
  /** It has something to look at. */
  isTelling: boolean;
};

export function groupsOf({ checks }: Pick<ReceiverCheck, "checks">): CheckGroup[] {
  return [...Map.groupBy(checks, ({ group }) => group)].map(([name, lines]) => ({
    name,
    lines,
    passed: lines.filter(({ state }) => state === "pass").length,
    isTelling: lines.some(
      ({ state }) => state === "fail" || state === "warn" || state === "running",
    ),
  }));
}

export function countOf({ checks }: Pick<ReceiverCheck, "checks">, wanted: CheckState): number {
  return checks.filter(({ state }) => state === wanted).length;
}

export function isOver(state: CheckState): boolean {
  return state !== "coming" && state !== "running";
}

/** In the order of the list. */
export function findingsOf({ checks }: Pick<ReceiverCheck, "checks">): string[] {
  return checks.filter(({ state }) => state === "fail" || state === "warn").map(({ id }) => id);
}

/** The finding after or before a check, around the ends; from elsewhere the first or the last. */
export function findingBeside(
  findings: readonly string[],
  open: string | undefined,
  by: 1 | -1,
): string | undefined {
  const at = findings.indexOf(open ?? "");
  if (at === -1) return findings.at(by === 1 ? 0 : -1);
  return findings.at((at + by) % findings.length);
}

/** The sentence that stands alone, and what follows it. */
export function sentencesOf({ verdict, title, brief, detail }: CheckResultAnswer): {
  first: string;
  rest: string;
} {
  if (detail === "") return { first: `${title}.`, rest: verdict === "pass" ? brief : "" };
  const end = /[.!?] (?=[A-Z/])/.exec(detail);
  return end === null
    ? { first: detail, rest: "" }
    : { first: detail.slice(0, end.index + 1), rest: detail.slice(end.index + 2) };
}

type WithToken = Pick<CheckResultAnswer, "effects" | "requests">;

/** The token that took effect too often or never. */
function wrongToken({ effects }: Pick<CheckResultAnswer, "effects">): string | undefined {
  return effects.find(({ wanted, found }) => found.length !== wanted)?.token;
}

/** The requests that explain the verdict, and the others. */
export function chosenRequests(result: WithToken): { shown: number[]; others: number[] } {
  const all = result.requests.map((_, nth) => nth);
  const token = wrongToken(result);
  const telling =
    token === undefined ? [] : all.filter((nth) => result.requests[nth]?.body.includes(token));
  const crashed = all.filter((nth) => (result.requests[nth]?.status ?? 500) >= 500);
  const chosen = telling.length > 0 ? telling : crashed;
  // Otherwise, a check ends with the request that decided it.
  const shown =
    chosen.length > 0 ? [...new Set([...chosen.slice(0, 1), ...chosen.slice(-1)])] : all.slice(-2);
  return { shown, others: all.filter((nth) => !shown.includes(nth)) };
}

export type SequenceStep = {
  number: number;
  isLost: boolean;
  answer: string;
  outcome: OutcomeName;
};
export type Sequence = {
  steps: SequenceStep[];
  isTogether: boolean;
  effects: number;
  wanted: number;
};

/** Room for three requests between the lanes. */
const maxSteps = 3;

/** Of a message that was sent more than once and took effect other than once. */
export function sequenceOf(result: WithToken): Sequence | null {
  const effects = result.effects.find(({ wanted, found }) => wanted > 0 && found.length !== wanted);
  if (effects === undefined) return null;
  const numbered = result.requests.map((request, nth) => ({ request, number: nth + 1 }));
  const those = numbered.filter(({ request }) => request.body.includes(effects.token));
  if (those.length < 2) return null;
  const steps =
    those.length > maxSteps ? [...those.slice(0, maxSteps - 1), ...those.slice(-1)] : those;
  return {
    steps: steps.map(({ request, number }) => ({ number, ...answerOf(request) })),
    isTogether: steps.every(({ request }) => request.sentAs?.includes("copies") === true),
    effects: effects.found.length,
    wanted: effects.wanted,
  };
}

export function answerOf({ outcome, status, error }: CheckRequestAnswer): {
  isLost: boolean;
  answer: string;
  outcome: OutcomeName;
} {
  if (outcome === "hung_up")
    return { isLost: true, answer: "answer lost", outcome: "connection_error" };
  if (status === null || error !== null)
    return {
      isLost: true,
      answer: error ?? "no answer",
      outcome: outcome === "answered" ? "connection_error" : outcome,
    };
  return {
    isLost: false,
    answer: String(status),
    outcome: status >= 200 && status < 300 ? "success" : "http_error",
  };
}

/** `once`, `twice!`: the nth time that a message took effect. */
export function nthTime(nth: number): string {
  return nth === 0 ? "once" : nth === 1 ? "twice!" : `${nth + 1} times!`;
}
