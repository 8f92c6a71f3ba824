/**
 * Audiences and computed traits as the one thing that they are to a sync: something that has a value for each user. The
 * value of an audience is `true` for its members and null for everybody else, that of a computed trait is what is
 * computed, null where there is none. Receivers are told of every value that is another than the one they were told last.
 */

import { compute } from "../../domain/compute.ts";
import { evaluate } from "../../domain/evaluate.ts";
import { needsOf, type Needs, type ProfileFacts } from "../../domain/facts.ts";
import { audienceIds, computedTraitIds, type ProfileId } from "../../domain/ids.ts";
import type { Json } from "../../domain/json.ts";
import type { Computation, Rule } from "../../domain/rules.ts";
import type { Audience, ComputedTrait } from "../profile-ports.ts";

export type Asks = { rule: Rule } | { members: ReadonlySet<string> } | { computation: Computation };

type Common = {
  /** As the API spells it, and as its messages carry it. */
  id: string;
  /** The same object for as long as it is defined in the same way. */
  asks: Asks;
  /** It follows each event. */
  isLive: boolean;
};
export type AudienceComputed = Common & { kind: "audience"; row: Audience };
export type TraitComputed = Common & { kind: "computed_trait"; row: ComputedTrait };
export type Computed = AudienceComputed | TraitComputed;

/** The value of a user now; `until` is when time alone may change it, null for never. */
export type Standing = { userId: string; profileId: ProfileId | null; value: Json; until: number | null };

export function audienceOf(row: Audience, before?: AudienceComputed): AudienceComputed {
  const same = before?.row.rule === row.rule && before.row.members === row.members;
  const asks = before !== undefined && same ? before.asks : row.rule === null ? { members: new Set(row.members) } : { rule: row.rule };
  return { kind: "audience", id: audienceIds.format(row.id), row, asks, isLive: row.sync === "each-event" };
}

export function computedTraitOf(row: ComputedTrait, before?: TraitComputed): TraitComputed {
  const asks = before?.row.computation === row.computation ? before.asks : { computation: row.computation };
  return { kind: "computed_trait", id: computedTraitIds.format(row.id), row, asks, isLive: row.sync === "each-event" };
}

/** What has to be known of a profile. A fixed list asks nothing. */
export function needsOfAll(asking: readonly Pick<Computed, "asks">[]): Needs {
  return needsOf(
    ...asking.flatMap(({ asks }): (Rule | Computation)[] =>
      "rule" in asks ? [asks.rule] : "computation" in asks ? [asks.computation] : [],
    ),
  );
}

export function valueOf(asks: Exclude<Asks, { members: unknown }>, facts: ProfileFacts, now: number): Pick<Standing, "value" | "until"> {
  if ("computation" in asks) return compute(asks.computation, facts, now);
  const { value, until } = evaluate(asks.rule, facts, now);
  return { value: value ? true : null, until };
}
