/**
 * What tells audiences and computed traits from each other while they are made or changed, and what
 * their names become.
 */

import type { AnswerOf, InputOf } from "../../../contract/contract.ts";
import type { AudienceCalls } from "../../../domain/configuration.ts";
import type { Aggregate, Computation, Rule, Sync } from "../../../domain/rules.ts";
import { snakeCase } from "../../../domain/snake-case.ts";
import { userIdsIn, userIdText } from "../../kit/user-ids.ts";
import { differing, draftStore, type UseDrafts } from "../../stores/drafts.ts";
import { call } from "../../transport/transport.ts";
import { missingIn } from "./rule-draft.ts";

export type Named = { id: string; name: string; key: string };

export type CommonDraft = { name: string; sync: Sync; destinationIds: string[] };

export type ComputedKind<Saved extends Named, Draft extends CommonDraft> = {
  useDrafts: UseDrafts<Draft>;
  /** Before its id in the address. */
  path: readonly string[];
  empty(destinationIds: readonly string[]): Draft;
  draftOf(saved: Saved): Draft;
  /** What stops it from being asked about and made, apart from the name. */
  missingIn(draft: Draft): string | null;
  create(draft: Draft): Promise<{ id: string }>;
  /** What is the same as `before` is not sent. */
  update(id: string, draft: Draft, before: Draft): Promise<unknown>;
  remove(id: string): Promise<unknown>;
};

/** The trait that receivers get, and why the name cannot be used. A saved one keeps its key. */
export function keyOf(
  name: string,
  saved: Named | null,
  others: readonly Named[],
): { key: string; problem: string | null } {
  const derived = snakeCase(name);
  const key = saved?.key ?? derived;
  if (name.trim() === "") return { key, problem: "Enter a name." };
  if (derived === "") {
    const why = saved === null ? ", because the key is derived from it" : "";
    return { key, problem: `A name needs at least one letter or digit${why}.` };
  }
  const taken = saved === null ? others.find((other) => other.key === key) : undefined;
  return {
    key,
    problem:
      taken === undefined
        ? null
        : `The key ${key} is already used by ${taken.name}. Choose another name.`,
  };
}

export type Audience = AnswerOf<"audiences.get">;

type AudienceDraft = {
  name: string;
  by: "rule" | "members";
  rule: Rule;
  /** As they are typed, a line each. */
  members: string;
  /** Of a saved list that is too long to be shown: it stays while nothing is typed. */
  kept: number;
  sync: Sync;
  destinationIds: string[];
};

/**
 * An audience while it is being made or changed: what is typed, what is wrong with it, and what is
 * sent to the API.
 */
export function emptyDraft(destinationIds: readonly string[]): AudienceDraft {
  return {
    name: "",
    by: "rule",
    rule: { all: [{ event: "", atLeast: 1 }] },
    members: "",
    kept: 0,
    sync: "each-event",
    destinationIds: [...destinationIds],
  };
}

export function draftOf({ name, rule, sync, destinationIds, ...list }: Audience): AudienceDraft {
  return {
    name,
    by: rule === null ? "members" : "rule",
    rule: rule ?? { all: [] },
    members: (list.members ?? []).map(userIdText).join("\n"),
    kept: list.membersLeftOut ?? 0,
    sync,
    destinationIds: [...destinationIds],
  };
}

export function changesOf(draft: AudienceDraft) {
  const { name, by, rule, members, sync, destinationIds } = draft;
  return {
    name,
    ...(by === "rule" ? { rule } : keepsList(draft) ? {} : { members: userIdsIn(members) }),
    sync,
    destinationIds,
  } satisfies InputOf<"audiences.create">;
}

export const keepsList = ({ by, members, kept }: AudienceDraft): boolean =>
  by === "members" && kept > 0 && userIdsIn(members).length === 0;

export function missingInDraft(draft: AudienceDraft): string | null {
  const { by, rule, members } = draft;
  if (by === "rule") return missingIn(rule);
  if (keepsList(draft)) return null;
  return userIdsIn(members).length === 0 ? "A fixed list needs at least one userId." : null;
}

export const audienceKind: ComputedKind<Audience, AudienceDraft> = {
  useDrafts: draftStore("Audience"),
  path: [],
  empty: emptyDraft,
  draftOf,
  missingIn: missingInDraft,
  create: (draft) => call("audiences.create", changesOf(draft)),
  update: (id, draft, before) =>
    call("audiences.update", { id, ...differing(changesOf(draft), changesOf(before)) }),
  remove: (id) => call("audiences.delete", { id }),
};

export type ComputedTrait = AnswerOf<"computedTraits.get">;

type TraitDraft = { name: string; computation: Computation; sync: Sync; destinationIds: string[] };

/** Computed traits stand below the audiences, with this before their id in the address. */
export const traitsPath = "traits";

export const aggregateWords: Record<Aggregate, string> = {
  count: "how often it happened",
  unique: "the number of different values of",
  first: "the first value of",
  last: "the last value of",
  mostFrequent: "the most frequent value of",
  sum: "the sum of",
  average: "the average of",
  min: "the minimum of",
  max: "the maximum of",
};

function emptyTrait(destinationIds: readonly string[]): TraitDraft {
  return {
    name: "",
    computation: { aggregate: "count", event: "" },
    sync: "each-event",
    destinationIds: [...destinationIds],
  };
}

function traitDraftOf({ name, computation, sync, destinationIds }: ComputedTrait): TraitDraft {
  return { name, computation, sync, destinationIds: [...destinationIds] };
}

function traitChanges({
  name,
  computation,
  sync,
  destinationIds,
}: TraitDraft): InputOf<"computedTraits.create"> {
  return { name, computation, sync, destinationIds };
}

/** `count` takes no property, and all others need one. */
export function withAggregate(
  { property = "", ...rest }: Computation,
  aggregate: Aggregate,
): Computation {
  return aggregate === "count" ? { ...rest, aggregate } : { ...rest, aggregate, property };
}

export function missingInComputation({
  aggregate,
  event,
  property,
  where = [],
}: Computation): string | null {
  if (event === "") return "Enter the event name.";
  if (aggregate !== "count" && (property ?? "") === "") return "Enter the property name.";
  return where.some((one) => one.property === "")
    ? "A condition on a property needs a property name."
    : null;
}

export const traitKind: ComputedKind<ComputedTrait, TraitDraft> = {
  useDrafts: draftStore("ComputedTrait"),
  path: [traitsPath],
  empty: emptyTrait,
  draftOf: traitDraftOf,
  missingIn: ({ computation }) => missingInComputation(computation),
  create: (draft) => call("computedTraits.create", traitChanges(draft)),
  update: (id, draft, before) =>
    call("computedTraits.update", { id, ...differing(traitChanges(draft), traitChanges(before)) }),
  remove: (id) => call("computedTraits.delete", { id }),
};

type SentCall = Exclude<AudienceCalls, "both">;

/** The calls that send a value to these destinations; an identify while there is none. */
export function callsTo(
  destinations: readonly { audienceCalls: AudienceCalls }[],
): readonly SentCall[] {
  if (destinations.length === 0) return ["identify"];
  return (["identify", "track"] as const).filter((call) =>
    destinations.some(({ audienceCalls }) => audienceCalls === "both" || audienceCalls === call),
  );
}

/** As a receiver will see that a user enters, without what is the same in every message. */
export function payloadOf(call: SentCall, audienceKey: string, userId: string): string {
  const key = JSON.stringify(audienceKey === "" ? "…" : audienceKey);
  const values =
    call === "identify"
      ? `"traits":{${key}:true}`
      : `"event":"Audience Entered","properties":{"audience_key":${key},${key}:true}`;
  return `{"type":"${call}","userId":${JSON.stringify(userId)},${values},…}`;
}

/** The value of a trait in a recorded identify or track, as JSON; null when there is none. */
export function sentValue(raw: AnswerOf<"messages.get">["raw"], key: string): string | null {
  if (typeof raw !== "string") return null;
  try {
    type Values = Record<string, unknown>;
    const { type, properties, traits } = JSON.parse(raw) as {
      type?: string;
      properties?: Values;
      traits?: Values;
    };
    const values = type === "track" ? properties : traits;
    return values === undefined || !Object.hasOwn(values, key) ? null : JSON.stringify(values[key]);
  } catch {
    return null;
  }
}
