/** What every kind of expectation has: how it chooses things, what is wrong with one, and how it is shown. */

import type { History, SeenAttempt } from "../run/history.ts";

/** One claim that a thing does not meet. */
export type Wrong = { what: string; expected: string; actual: string };

/** Which expectations are about one thing: a delivery, say, or the attempts of one at a webhook. */
export type Kind<Claim, Thing> = {
  /** `delivery`, `deliveries` */
  nouns: readonly [one: string, many: string];
  /** How many there are, chosen or not. */
  total(history: History): number;
  chosen(history: History, claim: Claim): Thing[];
  /** Empty when the thing is as claimed. */
  wrongWith(thing: Thing, claim: Claim, view: View): Wrong[];
  /** How many a thing counts for. */
  countOf(thing: Thing): number;
  label(thing: Thing): string;
  /** The attempts that led to it. */
  behind(thing: Thing, history: History): SeenAttempt[];
  idOf(thing: Thing): string;
  /** Grows with each change of the thing. */
  versionOf(thing: Thing): number;
};

/** What the judging needs beside the history. */
export type View = {
  startedAt: number;
  now: number;
  /** The shared secret that a destination has now. */
  secretOf(destination: string): string | null;
};

/** `state delivered` against `state waiting` */
export function wrong(what: string, expected: string, actual: string): Wrong[] {
  return [{ what, expected, actual }];
}
