/** What is known of one profile, as far as a rule or a computation asks, and what each of them asks for. */

import type { MessageRowId } from "./ids.ts";
import type { Json, JsonObject } from "./json.ts";
import { dayMs, type Computation, type EventCondition, type Rule } from "./rules.ts";

/** A trait's value, and the timestamp of the message that it is from. */
export type TraitFact = { value: Json; at: number };

export type EventFact = { at: number; properties: JsonObject; messageId: MessageRowId };

/**
 * Names are well-formed texts, as a store gives them back. A trait that was never set is left out. The events of one
 * name are the oldest first; of one time, the first to come first.
 */
export type ProfileFacts = {
  traits: ReadonlyMap<string, TraitFact>;
  events: ReadonlyMap<string, readonly EventFact[]>;
};

/** Which of a profile's events of one name are asked for. More of them never change an answer. */
type EventNeed = {
  /** Those after `now - withinMs`; null for all times. */
  withinMs: number | null;
  /** So many of the newest are enough; null for all. */
  newest: number | null;
  /** Whether anybody looks at their properties; if not, they may be given as `{}`. */
  properties: boolean;
};

/** The names are those that a change can be looked up by. */
export type Needs = { traits: ReadonlySet<string>; events: ReadonlyMap<string, EventNeed> };

/** Which facts answer all of these. */
export function needsOf(...asking: readonly (Rule | Computation)[]): Needs {
  const traits = new Set<string>();
  const events = new Map<string, EventNeed>();
  const add = (name: string, need: EventNeed): void => {
    const known = events.get(name);
    events.set(name, known === undefined ? need : widened(known, need));
  };
  const visit = (rule: Rule): void => {
    if ("trait" in rule) traits.add(nameOf(rule.trait));
    else if ("event" in rule) add(nameOf(rule.event), needOf(rule));
    else if ("not" in rule) visit(rule.not);
    else for (const part of "all" in rule ? rule.all : rule.any) visit(part);
  };
  for (const one of asking) {
    if ("aggregate" in one) {
      const properties = one.property !== undefined || hasWhere(one);
      add(nameOf(one.event), { withinMs: windowMs(one), newest: null, properties });
    } else visit(one);
  }
  return { traits, events };
}

/** The same, with all the events of each name: for who wants to tell of them. */
export function allOf(needs: Needs): Needs {
  const events = [...needs.events].map(([name, need]) => [name, { ...need, withinMs: null, newest: null }] as const);
  return { traits: needs.traits, events: new Map(events) };
}

/** Names are kept as UTF-8, which knows no halves of surrogate pairs. */
export function nameOf(name: string): string {
  return name.toWellFormed();
}

/** An event is in the window while its time is after `now - windowMs`; null where there is no window. */
export function windowMs({ withinDays }: { withinDays?: number }): number | null {
  return withinDays === undefined ? null : Math.max(1, Math.round(withinDays * dayMs));
}

function needOf(condition: EventCondition): EventNeed {
  return hasWhere(condition)
    ? { withinMs: windowMs(condition), newest: null, properties: true }
    : { withinMs: windowMs(condition), newest: condition.atLeast ?? 1, properties: false };
}

function hasWhere({ where }: { where?: readonly unknown[] }): boolean {
  return where !== undefined && where.length > 0;
}

function widened(a: EventNeed, b: EventNeed): EventNeed {
  return {
    withinMs: a.withinMs === null || b.withinMs === null ? null : Math.max(a.withinMs, b.withinMs),
    newest: a.newest === null || b.newest === null ? null : Math.max(a.newest, b.newest),
    properties: a.properties || b.properties,
  };
}
