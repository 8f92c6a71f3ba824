/** The facts of one profile that rules and computations need. */

import type { MessageRowId } from "./ids.ts";
import type { Json, JsonObject } from "./json.ts";
import { dayMs, type Computation, type EventCondition, type Rule } from "./rules.ts";

/** A trait's value, and the timestamp of its message. */
export type TraitFact = { value: Json; at: number; messageId?: MessageRowId };

export type EventFact = { at: number; properties: JsonObject; messageId: MessageRowId };

/**
 * Names are well-formed, as the store returns them. A trait that was never set is left out. The
 * events of a name are in the order of their times; those of the same time, in the order in which
 * they arrived.
 */
export type ProfileFacts = {
  traits: ReadonlyMap<string, TraitFact>;
  events: ReadonlyMap<string, readonly EventFact[]>;
};

/** Which events of one name are needed. More of them never change a result. */
type EventNeed = {
  /** Those after `now - withinMs`; null for all times. */
  withinMs: number | null;
  /** Only this many of the newest are needed; null for all. */
  newest: number | null;
  /** The properties that are needed; others may be left out. */
  properties: readonly string[];
};

/** Names are spelled as in `ProfileChange`. */
export type Needs = { traits: ReadonlySet<string>; events: ReadonlyMap<string, EventNeed> };

/**
 * Work that may be long, in pieces of this many steps of about a microsecond. It ends a piece by
 * yielding when none are left; the caller then gives it new ones, in another turn of the event loop.
 */
export type Steps = { left: number };
export type InPieces<Result> = Generator<undefined, Result, undefined>;

/** More than 100 ms never come together from a few of these. */
export const stepsOfPiece = 30_000;

/** Parsing and comparing a text of this length takes as long as a step. */
export const charactersPerStep = 200;

/** The result, if the first piece has it. */
export function atOnce<Result>(pieces: InPieces<Result>): Result | null {
  const first = pieces.next();
  if (first.done === true) return first.value;
  pieces.return(undefined as never);
  return null;
}

/** The facts that all of these need. */
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
      add(nameOf(one.event), {
        withinMs: windowMs(one),
        newest: null,
        properties: propertiesOf(one),
      });
    } else visit(one);
  }
  return { traits, events };
}

/** The same, with all events of each name, for explanations. */
export function allOf(needs: Needs): Needs {
  const events = [...needs.events].map(
    ([name, need]) => [name, { ...need, withinMs: null, newest: null }] as const,
  );
  return { traits: needs.traits, events: new Map(events) };
}

/** Names are stored as UTF-8, which has no halves of surrogate pairs. */
export function nameOf(name: string): string {
  return name.toWellFormed();
}

/**
 * An event is in the window while its time is after `now - windowMs`; null where there is no
 * window.
 */
export function windowMs({ withinDays }: { withinDays?: number }): number | null {
  return withinDays === undefined ? null : Math.max(1, Math.round(withinDays * dayMs));
}

/** The names of the properties that decide about an event. */
export function propertiesOf({
  property,
  where = [],
}: Partial<Pick<Computation, "property" | "where">>): string[] {
  const names = where.map((condition) => condition.property);
  return [...new Set(property === undefined ? names : [property, ...names])];
}

function needOf(condition: EventCondition): EventNeed {
  return hasWhere(condition)
    ? { withinMs: windowMs(condition), newest: null, properties: propertiesOf(condition) }
    : { withinMs: windowMs(condition), newest: condition.atLeast ?? 1, properties: [] };
}

function hasWhere({ where }: { where?: readonly unknown[] }): boolean {
  return where !== undefined && where.length > 0;
}

function widened(a: EventNeed, b: EventNeed): EventNeed {
  return {
    withinMs: a.withinMs === null || b.withinMs === null ? null : Math.max(a.withinMs, b.withinMs),
    newest: a.newest === null || b.newest === null ? null : Math.max(a.newest, b.newest),
    properties: [...new Set([...a.properties, ...b.properties])],
  };
}
