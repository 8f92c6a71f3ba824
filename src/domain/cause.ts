/**
 * Why an audience or a computed trait sent a message: the fact that made the difference, as a
 * sentence, with the message that it came with. `explain.ts` says everything about a rule; this
 * says only what changed.
 */

import {
  endsInPieces,
  evaluateBy,
  fits,
  memberOf,
  type Condition,
  type EndOf,
} from "./evaluate.ts";
import { nameWords, times, valueWords } from "./explain.ts";
import {
  nameOf,
  needsOf,
  windowMs,
  type EventFact,
  type InPieces,
  type Needs,
  type ProfileFacts,
  type Steps,
} from "./facts.ts";
import type { DeletionId, DestinationId, MessageRowId } from "./ids.ts";
import type { Json } from "./json.ts";
import type { Computation, EventCondition, Rule } from "./rules.ts";
import type { CauseReason } from "./states.ts";

export type Cause = {
  reason: CauseReason;
  sentence: string;
  /** The message with the event or the trait that made the difference. */
  messageId?: MessageRowId | null;
  /** The destination that was connected. */
  destinationId?: DestinationId;
  /** The audience or computed trait, as in the API. */
  computedId?: string;
  deletionId?: DeletionId;
};

/** What made the difference, as the end of a sentence. */
export type Deciding = { words: string; messageId: MessageRowId | null };

/** What to look at: the names that a message changed, or conditions that time ended. */
export type Focus = { traits: ReadonlySet<string>; events: ReadonlySet<string> } | "time" | null;

/** Of the user, and the steps that are left. */
type Given = { facts: ProfileFacts; now: number; steps: Steps };

/** A sentence names so many conditions, and counts the others. */
const maxNamed = 3;

/** An event that has just left its window is still needed. */
export function causeNeeds(of: Rule | Computation): Needs {
  return needsOf(widened(of));
}

function widened<One extends Rule | Computation>(of: One): One {
  const wider = ({ withinDays }: { withinDays?: number }): { withinDays?: number } =>
    withinDays === undefined ? {} : { withinDays: withinDays * 2 };
  if ("not" in of) return { not: widened(of.not) } as One;
  if ("all" in of) return { all: of.all.map(widened) } as One;
  if ("any" in of) return { any: of.any.map(widened) } as One;
  return "trait" in of ? of : { ...of, ...wider(of) };
}

/** Why the rule has its value; null where no single fact says it. */
export function* decidingFacts(rule: Rule, focus: Focus, given: Given): InPieces<Deciding | null> {
  const { facts, now, steps } = given;
  const all = decidersOf(rule, yield* endsInPieces(rule, facts, now, steps), now);
  const wanted: Condition[] = [];
  for (const condition of all)
    if (yield* isInFocus(condition, focus, given)) wanted.push(condition);
  const deciders = wanted.length === 0 ? all : wanted;
  const found: Deciding[] = [];
  for (const condition of deciders.slice(0, maxNamed))
    found.push(
      "trait" in condition
        ? traitWords(condition.trait, facts)
        : yield* eventWords(condition, focus, given),
    );
  const first = found[0];
  if (first === undefined) return null;
  const named = found.map(({ words }) => words);
  const more = deciders.length - named.length;
  if (more > 0) named.push(`${more} more`);
  return { words: listed(named), messageId: first.messageId };
}

/** Why a computed value is what it is now. */
export function* decidingEvent(
  computation: Computation,
  focus: Focus,
  given: Given,
): InPieces<Deciding | null> {
  const { now } = given;
  const { counted, expired } = yield* eventsOf(computation, given);
  const gone = focus === "time" ? expired.at(-1) : undefined;
  if (gone !== undefined) return expiredWords(computation, gone, now);
  const last = decidingOf(counted, computation, focus);
  if (last === undefined) return null;
  return { words: doneWords(computation, last, now), messageId: last.messageId };
}

/** The one that arrived last made the difference, also when its time is before that of others. */
function decidingOf(
  counted: readonly EventFact[],
  { event }: OfEvents,
  focus: Focus,
): EventFact | undefined {
  if (focus === null || focus === "time" || !focus.events.has(nameOf(event))) return counted.at(-1);
  return counted.reduce<EventFact | undefined>(
    (last, each) => (last === undefined || each.messageId >= last.messageId ? each : last),
    undefined,
  );
}

/** `30 Nov 10:00 UTC`, with the year when it is another one. */
export function dateWords(at: number, now: number): string {
  const date = new Date(at);
  const year = date.getUTCFullYear();
  const day = `${date.getUTCDate()} ${months[date.getUTCMonth()] ?? ""}`;
  const isThisYear = year === new Date(now).getUTCFullYear();
  return `${day}${isThisYear ? "" : ` ${year}`} ${date.toISOString().slice(11, 16)} UTC`;
}

const months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** The conditions without which the rule would have the other value. */
function decidersOf(rule: Rule, endOf: EndOf, now: number): Condition[] {
  if ("not" in rule) return decidersOf(rule.not, endOf, now);
  if (!("all" in rule) && !("any" in rule)) return [rule];
  const parts = "all" in rule ? rule.all : rule.any;
  const { value } = evaluateBy(rule, endOf, now);
  const isDeciding = (part: Rule): boolean => evaluateBy(part, endOf, now).value === value;
  return parts.filter(isDeciding).flatMap((part) => decidersOf(part, endOf, now));
}

function* isInFocus(condition: Condition, focus: Focus, given: Given): InPieces<boolean> {
  if (focus === null) return true;
  if (focus === "time")
    return "event" in condition && (yield* expiredIn(condition, given)) !== null;
  return "trait" in condition
    ? focus.traits.has(nameOf(condition.trait))
    : focus.events.has(nameOf(condition.event));
}

function traitWords(trait: string, facts: ProfileFacts): Deciding {
  const fact = facts.traits.get(nameOf(trait));
  const isSet = fact !== undefined && fact.value !== null;
  const words = isSet ? `is ${valueWords(fact.value)}` : fact ? "was removed" : "was never set";
  return { words: `${nameWords(trait)} ${words}`, messageId: fact?.messageId ?? null };
}

function* eventWords(condition: EventCondition, focus: Focus, given: Given): InPieces<Deciding> {
  const { now } = given;
  const { event, atLeast = 1 } = condition;
  const { counted, expired } = yield* eventsOf(condition, given);
  const last = counted.at(-1);
  if (counted.length >= atLeast && last !== undefined) {
    const often = `${nameWords(event)} was done ${times(atLeast)}${withinWords(condition)}`;
    const words =
      atLeast === 1
        ? doneWords(condition, last, now)
        : `${often}, the last time on ${dateWords(last.at, now)}`;
    const deciding = decidingOf(counted, condition, focus) ?? last;
    return { words, messageId: deciding.messageId };
  }
  const gone = decidingExpired(condition, { counted, expired });
  if (gone !== null) {
    const { words, messageId } = expiredWords(condition, gone, now);
    const left = atLeast === 1 ? "" : `, which leaves ${counted.length} of ${atLeast}`;
    return { words: words + left, messageId };
  }
  const done = counted.length === 0 ? "was not done" : `was done only ${times(counted.length)}`;
  const needed = atLeast === 1 ? "" : `, and ${atLeast} are needed`;
  return {
    words: `${nameWords(event)} ${done}${withinWords(condition)}${needed}`,
    messageId: last?.messageId ?? null,
  };
}

type OfEvents = Pick<EventCondition, "event" | "withinDays" | "where">;

/** Oldest first: those that count, and those that have left the window. */
type Fitting = { counted: EventFact[]; expired: EventFact[] };

function* eventsOf(of: OfEvents, { facts, now, steps }: Given): InPieces<Fitting> {
  const window = windowMs(of) ?? Infinity;
  const fitting: Fitting = { counted: [], expired: [] };
  for (const fact of facts.events.get(nameOf(of.event)) ?? []) {
    if (steps.left <= 0) yield;
    if (!fits(fact, of.where ?? [], steps)) continue;
    (fact.at > now - window ? fitting.counted : fitting.expired).push(fact);
  }
  return fitting;
}

function* expiredIn(condition: EventCondition, given: Given): InPieces<EventFact | null> {
  return decidingExpired(condition, yield* eventsOf(condition, given));
}

/** The event with which the condition would hold if it were younger. */
function decidingExpired(
  condition: EventCondition,
  { counted, expired }: Fitting,
): EventFact | null {
  const missing = (condition.atLeast ?? 1) - counted.length;
  return missing > 0 && expired.length >= missing ? (expired.at(-1) ?? null) : null;
}

function doneWords(of: OfEvents, event: EventFact, now: number): string {
  return `${nameWords(of.event)}${propertyWords(of, event)} was done on ${dateWords(event.at, now)}`;
}

function expiredWords(of: OfEvents, gone: EventFact, now: number): Deciding {
  const name = `the ${nameWords(of.event)}${propertyWords(of, gone)} of ${dateWords(gone.at, now)}`;
  return { words: `${name} is older than ${daysWords(of)}`, messageId: gone.messageId };
}

/** The properties that the condition asks for, as the event has them. */
function propertyWords({ where = [] }: OfEvents, { properties }: EventFact): string {
  const names = [...new Set(where.map(({ property }) => property))];
  const words = names.flatMap((name) => {
    const value: Json | undefined = memberOf(properties, name);
    return value === undefined ? [] : [`${nameWords(name)} ${valueWords(value)}`];
  });
  return words.length === 0 ? "" : ` with ${listed(words)}`;
}

function withinWords(of: OfEvents): string {
  return of.withinDays === undefined ? "" : ` within ${daysWords(of)}`;
}

function daysWords({ withinDays = 0 }: OfEvents): string {
  return `${withinDays} ${withinDays === 1 ? "day" : "days"}`;
}

function listed(words: readonly string[]): string {
  const last = words.at(-1) ?? "";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} and ${last}`;
}
