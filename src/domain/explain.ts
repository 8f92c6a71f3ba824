/** Why a rule is true or false for a profile: every condition with the fact that decides it. */

import { comparesAll } from "./compare.ts";
import { evaluate } from "./evaluate.ts";
import { nameOf, windowMs, type ProfileFacts } from "./facts.ts";
import { conditionWords, nameWords, times, valueWords } from "./rule-words.ts";
import type { EventCondition, Rule, TraitCondition } from "./rules.ts";
import { formatTimestamp } from "./timestamp.ts";

export type Explanation = { sentence: string; holds: boolean; fact: string; parts: Explanation[] };

/** Needs the facts of `allOf(needsOf(rule))`; with fewer, the sentences count fewer events. */
export function explain(rule: Rule, facts: ProfileFacts, now: number): Explanation {
  if ("not" in rule) {
    const part = explain(rule.not, facts, now);
    return { sentence: "not", holds: !part.holds, fact: part.holds ? "it holds" : "it does not hold", parts: [part] };
  }
  if ("all" in rule || "any" in rule) {
    const parts = ("all" in rule ? rule.all : rule.any).map((part) => explain(part, facts, now));
    const holding = parts.filter((part) => part.holds).length;
    const holds = "all" in rule ? holding === parts.length : holding > 0;
    return {
      sentence: "all" in rule ? "all of" : "any of",
      holds,
      fact: `${holding} of ${parts.length} ${holding === 1 ? "holds" : "hold"}`,
      parts,
    };
  }
  const { value: holds, until } = evaluate(rule, facts, now);
  const fact = "trait" in rule ? traitFact(rule, facts) : eventFact(rule, facts, now);
  const end = until === null ? "" : `; holds until ${formatTimestamp(until)}`;
  return { sentence: conditionWords(rule), holds, fact: fact + end, parts: [] };
}

function traitFact({ trait }: TraitCondition, facts: ProfileFacts): string {
  const name = nameWords(trait);
  const fact = facts.traits.get(nameOf(trait));
  if (fact === undefined) return `${name} was never set`;
  if (fact.value === null) return `${name} was removed at ${formatTimestamp(fact.at)}`;
  return `${name} is ${valueWords(fact.value)} as of ${formatTimestamp(fact.at)}`;
}

function eventFact(condition: EventCondition, facts: ProfileFacts, now: number): string {
  const { event, where = [] } = condition;
  const events = facts.events.get(nameOf(event)) ?? [];
  const last = events.at(-1);
  if (last === undefined) return `never did ${nameWords(event)}`;
  const window = windowMs(condition);
  const since = window === null ? "" : ` since ${formatTimestamp(now - window)}`;
  const wanted = `${where.length === 0 ? "" : " with these properties"}${since}`;
  const counted = events.filter(({ at, properties }) => (window === null || at > now - window) && comparesAll(where, properties));
  const lastCounted = counted.at(-1);
  const did = `did ${nameWords(event)} ${times(events.length)}`;
  if (lastCounted === undefined) return `${did}, ${countOf(0, events.length)}${wanted}; the last one at ${formatTimestamp(last.at)}`;
  if (counted.length === events.length) return `${did}${wanted}; the last one at ${formatTimestamp(last.at)}`;
  return `${did}, ${countOf(counted.length, events.length)}${wanted}; the last of these at ${formatTimestamp(lastCounted.at)}`;
}

function countOf(count: number, all: number): string {
  if (count === 0) return all === 1 ? "but not" : "none of them";
  return `${count} of them`;
}
