/** The sentences of marks: for a screen reader, and for the float beside a mark. Pure. */

import { dayAndTime, duration, milliseconds } from "../../kit/words.ts";
import type { MarkGroup } from "./timeline-layout.ts";
import { type Mark, resultOf } from "./timeline-model.ts";

/** `Round 3: http_error 503, took 142 ms, started 15:51:28.`; another day than the start is said. */
export function markSentence(mark: Mark, startsAt: number): string {
  const time = dayAndTime(mark.at, startsAt);
  switch (mark.kind) {
    case "attempt": {
      const { attempt } = mark;
      const error = attempt.error === null ? "" : ` ${attempt.error.message}`;
      return `Round ${mark.round}: ${outcomeWords(mark)}, took ${durationWords(mark)}, started ${time}.${error}`;
    }
    case "under_way":
      return `Round ${mark.round}: in progress since ${time}.`;
    case "never":
      return `Round ${mark.round}: does not happen.`;
    case "coming":
      return mark.next
        ? `Round ${mark.round}: next, at ${time}.`
        : `Round ${mark.round}: coming at ${time}, if no earlier round succeeds.`;
  }
}

export function groupSentence({ marks, lead }: MarkGroup, startsAt: number): string {
  const [first, last] = [marks[0], marks.at(-1)];
  if (first === undefined || last === undefined || marks.length === 1)
    return markSentence(lead, startsAt);
  const what = lead.kind === "coming" ? "coming rounds" : "attempts";
  return `${marks.length} ${what}, rounds ${first.round} to ${last.round}. ${markSentence(lead, startsAt)}`;
}

export function outcomeWords(mark: Mark): string {
  if (mark.kind === "under_way") return "in progress";
  if (mark.kind === "never") return "does not happen";
  if (mark.kind === "coming") return mark.next ? "next round" : "coming";
  const result = resultOf(mark.attempt);
  return result === mark.attempt.outcome ? result : `${mark.attempt.outcome} ${result}`;
}

export function durationWords({ attempt }: Extract<Mark, { kind: "attempt" }>): string {
  return `${duration(attempt.durationMs)}${attempt.simulated ? " of clock time" : ""}`;
}

export function shortDuration({ attempt }: Extract<Mark, { kind: "attempt" }>): string {
  return duration(attempt.durationMs);
}

/** To the millisecond where the record has it; coming rounds are whole seconds. */
export function timeWords(mark: Mark, startsAt: number): string {
  const time = dayAndTime(mark.at, startsAt);
  return mark.kind === "coming" ? time : `${time}${milliseconds(mark.at)}`;
}
