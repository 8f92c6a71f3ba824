/** What must hold after a schedule, as expectations of a scenario, and whether it does. */

import { isObject, type Json } from "../domain/json.ts";
import { countEffects, type Effects, type EffectsSource } from "../receiver/effects.ts";
import { partAbout, partsIn } from "../receiver/state.ts";
import { isWithin, rangeText, type Range } from "../scenarios/file/matcher.ts";
import type { Exploration } from "./explore-file.ts";
import type { Schedule } from "./schedule.ts";

/** `{{token}}` in it stands for the run. */
export type Claim =
  | { source: EffectsSource; about: string; token: string; times: Range }
  /** What it shows is as if the same messages had come once each, in the order of the file. */
  | { source: EffectsSource; about: string; sameAs: Schedule };

export type Violation = {
  /**
   * While a schedule is made smaller, it must stay wrong in the same way. `gone`: the receiver ended
   * or broke a connection, or it no longer shows its effects.
   */
  kind: "answer" | "twice" | "never" | "state" | "gone";
  text: string;
  /** What the source of a state shows, or so much that what differs is seen. */
  states?: { expected: string; actual: string };
};

export function claimsOf({ messages, receiver, always }: Exploration, schedule: Schedule): Claim[] {
  const sent = [
    ...new Set(schedule.flatMap((step) => ("message" in step ? [step.message] : []))),
  ].toSorted((one, other) => one - other);
  const claims: Claim[] = [];
  const { effects } = receiver;
  if (effects !== null && always.effects !== "any number") {
    for (const index of sent) {
      const message = messages[index];
      if (message === undefined || message.token === null) continue;
      const { replaces, timestamp, token, title } = message;
      const isReplaced = sent.some(
        (other) =>
          replaces !== null &&
          messages[other]?.replaces === replaces &&
          messages[other].timestamp > timestamp,
      );
      const times = isReplaced || always.effects === "at most once" ? { atMost: 1 } : 1;
      claims.push({ source: effects, about: title, token, times });
    }
  }
  if (effects !== null)
    for (const { token, times, of } of always.expect)
      if (of.every((message) => sent.includes(message)))
        claims.push({ source: effects, about: token.replaceAll("{{token}}-", ""), token, times });
  for (const source of always.same)
    claims.push({
      source,
      about: "The end state",
      sameAs: sent.map((message) => ({ do: "send", message })),
    });
  return claims;
}

export function judgeTimes(
  { about, times }: Extract<Claim, { times: Range }>,
  count: number,
): Violation | null {
  if (isWithin(count, times)) return null;
  const least = typeof times === "number" ? times : (times.atLeast ?? 0);
  return {
    kind: count < least ? "never" : "twice",
    text: `${about} took effect ${timesText(count)}, and not ${times === 1 ? "once" : `${rangeText(times)} times`}.`,
  };
}

function timesText(count: number): string {
  return ["never", "once", "twice"][count] ?? `${count} times`;
}

/**
 * An answer about many runs, cut into the parts about each once, however many tokens are then
 * counted in it.
 */
export class Answer {
  readonly #text: string;
  readonly #partAbout: (token: string) => string;
  readonly #parts = new Map<string, string>();
  readonly #runOf: (token: string) => string | undefined;

  constructor(
    text: string,
    runs: { prefix: string; runOf: (token: string) => string | undefined },
  ) {
    this.#text = partAbout(text, runs.prefix);
    this.#partAbout = partsIn(this.#text);
    this.#runOf = runs.runOf;
  }

  count(token: string): Effects {
    return countEffects(this.partAbout(token), token);
  }

  partAbout(token: string): string {
    const run = this.#runOf(token);
    if (run === undefined) return this.#text;
    const part = this.#parts.get(run) ?? this.#partAbout(run);
    this.#parts.set(run, part);
    return part;
  }
}

/**
 * The members that differ between two states of which nobody did anything differently: ids, and
 * times of arrival. Lists may have another order in each.
 */
export function changingMembers(one: string, other: string): string[] {
  try {
    const [before, after] = [one, other].map((state) => valuesOf(JSON.parse(state) as Json));
    if (before === undefined || after === undefined) return [];
    // Where something is missing, the members of all others would differ.
    if (before.lengths.toSorted().join() !== after.lengths.toSorted().join()) return [];
    const names = new Set([...before.values.keys(), ...after.values.keys()]);
    const inOrder = (values: string[] = []): string => values.toSorted().join();
    return [...names].filter(
      (name) => inOrder(before.values.get(name)) !== inOrder(after.values.get(name)),
    );
  } catch {
    return [];
  }
}

/** By the name of the member: all its plain values; and how long its lists are. */
function valuesOf(state: Json): { values: Map<string, string[]>; lengths: string[] } {
  const values = new Map<string, string[]>();
  const lengths: string[] = [];
  const add = (value: Json, name: string): void => {
    if (Array.isArray(value)) {
      lengths.push(`${name} ${value.length}`);
      for (const element of value) add(element, name);
    } else if (isObject(value)) {
      for (const [member, of] of Object.entries(value)) add(of, member);
    } else if (name !== "") {
      const others = values.get(name) ?? [];
      others.push(JSON.stringify(value));
      values.set(name, others);
    }
  };
  add(state, "");
  return { values, lengths };
}
