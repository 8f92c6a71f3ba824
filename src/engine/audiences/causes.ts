/**
 * Why a value is sent, in a sentence for people. Called only for values that differ, within the
 * transaction that sends them, so that the facts are those that were evaluated. Of a user who did
 * too much for one turn of the event loop, it does not name the event that made the difference.
 */

import {
  causeNeeds,
  decidingEvent,
  decidingFacts,
  type Cause,
  type Deciding,
  type Focus,
} from "../../domain/cause.ts";
import { evaluateInPieces } from "../../domain/evaluate.ts";
import {
  atOnce,
  stepsOfPiece,
  type InPieces,
  type ProfileFacts,
  type Steps,
} from "../../domain/facts.ts";
import { nameWords, valueWords } from "../../domain/explain.ts";
import type { DestinationId, ProfileId } from "../../domain/ids.ts";
import type { Json } from "../../domain/json.ts";
import type { Computation, Rule } from "../../domain/rules.ts";
import type { ProfileChange, ProfileStore } from "../profile-ports.ts";
import type { Computed, CauseOf, UserValue } from "./registry.ts";

type CausesOptions = {
  store: Pick<ProfileStore, "facts" | "profileWithUser" | "user">;
  now: () => number;
};

export type Causes = {
  firstSync: CauseOf;
  ofSync: CauseOf;
  ofTime: CauseOf;
  /** Of changes of profiles, by the current and the former userIds. */
  ofEvents(changes: readonly ProfileChange[]): CauseOf;
  ofEmail(email: string, from: string | null): CauseOf;
  ofConnection(destination: string, id: DestinationId): CauseOf;
  ofEnabling(destination: string, id: DestinationId): CauseOf;
};

export function createCauses({ store, now }: CausesOptions): Causes {
  /** Null when the user did too much. */
  function evaluateAtOnce<Result>(
    profile: ProfileId,
    of: Rule | Computation,
    inPieces: (given: { facts: ProfileFacts; now: number; steps: Steps }) => InPieces<Result>,
  ): Result | null {
    const [steps, time] = [{ left: stepsOfPiece }, now()];
    function* pieces(): InPieces<Result> {
      const facts = yield* store.facts(profile, causeNeeds(of), time, steps);
      return yield* inPieces({ facts, now: time, steps });
    }
    return atOnce(pieces());
  }

  function deciding({ definition }: Computed, userId: string, focus: Focus): Deciding | null {
    const profile = store.profileWithUser(userId);
    if (profile === null || "members" in definition) return null;
    if ("computation" in definition) {
      const { computation } = definition;
      return evaluateAtOnce(profile, computation, (given) =>
        decidingEvent(computation, focus, given),
      );
    }
    const { rule } = definition;
    return evaluateAtOnce(profile, rule, (given) => decidingFacts(rule, focus, given));
  }

  const because = (
    reason: Cause["reason"],
    what: string,
    found: Deciding | null,
    context = "",
  ): Cause => ({
    reason,
    sentence: `${what}${context}${found === null ? "" : `: ${found.words}`}.`,
    messageId: found?.messageId ?? null,
  });

  /** Whether the rule before the change had given the same value. */
  function isOfNewRule(computed: Computed, { userId, value }: UserValue): boolean {
    const before = computed.kind === "audience" ? computed.row.ruleBefore : undefined;
    if (before === undefined || before === null) return false;
    const profile = store.profileWithUser(userId);
    if (profile === null) return false;
    const found = evaluateAtOnce(profile, before, ({ facts, now: time, steps }) =>
      evaluateInPieces(before, facts, time, steps),
    );
    return found !== null && found.value !== (value === true);
  }

  return {
    firstSync: (computed, { userId, value }) => ({
      reason: "first_sync",
      sentence: `${has(computed, userId, value)} at the first sync.`,
    }),

    ofSync: (computed, user, before) => {
      const what = changed(computed, user, before);
      if ("members" in computed.definition) {
        const verb = user.value === null ? "taken off" : "put on";
        const sentence = `${what}: the user was ${verb} its list.`;
        return { reason: "members_changed", sentence };
      }
      if (isFormer(user.userId)) return joined(what);
      const isNewRule = isOfNewRule(computed, user);
      const context = isNewRule ? " because its rule was changed" : " at a sync";
      const found = deciding(computed, user.userId, null);
      return because(isNewRule ? "rule_changed" : "sync", what, found, context);
    },

    ofTime: (computed, user, before) =>
      because("time", changed(computed, user, before), deciding(computed, user.userId, "time")),

    ofEvents(changes: readonly ProfileChange[]): CauseOf {
      const current = new Map(changes.map((change) => [change.userId, change]));
      const former = new Map(
        changes.flatMap((change) => change.formerUserIds.map((id) => [id, change.userId])),
      );
      return (computed, user, before) => {
        const what = changed(computed, user, before);
        const into = former.get(user.userId);
        if (into !== undefined && !current.has(user.userId)) return joined(what, into);
        const change = current.get(user.userId);
        const found = deciding(computed, user.userId, change ?? null);
        if (change !== undefined && hasOnlyJoined(change)) return joinedWith(what, change, found);
        return because("event", what, found);
      };
    },

    ofEmail:
      (email, from) =>
      (computed, { userId, value }) => ({
        reason: from === null ? "new_identifier" : "users_joined",
        sentence: `${has(computed, userId, value)}, and the user ${from === null ? `has a new email address, ${email}` : `was joined with ${nameWords(from)}, whose email address is ${email}`}.`,
      }),

    ofConnection:
      (destination, id) =>
      (computed, { userId, value }) => ({
        reason: "destination_connected",
        sentence: `${has(computed, userId, value)}, and ${nameWords(destination)} was connected later.`,
        destinationId: id,
      }),

    ofEnabling:
      (destination, id) =>
      (computed, { userId, value }) => ({
        reason: "destination_enabled",
        sentence: `${has(computed, userId, value)}, and ${nameWords(destination)} was disabled when that changed.`,
        destinationId: id,
      }),
  };

  /** The user has what another one did, and did nothing. */
  function joinedWith(
    what: string,
    { formerUserIds: [first = "", ...more] }: ProfileChange,
    found: Deciding | null,
  ): Cause {
    const others = more.length === 0 ? "" : ` and ${more.length} more`;
    const context = `: the user was joined with ${nameWords(first)}${others}`;
    const fact = found === null ? "" : `, and ${found.words}`;
    return {
      reason: "users_joined",
      sentence: `${what}${context}${fact}.`,
      messageId: found?.messageId ?? null,
    };
  }

  function joined(what: string, into: string | null = null): Cause {
    const other = into === null ? "another user" : nameWords(into);
    return { reason: "users_joined", sentence: `${what}: the user was joined to ${other}.` };
  }

  /** The user's profile has another userId now. */
  function isFormer(userId: string): boolean {
    const profile = store.profileWithUser(userId);
    return profile !== null && store.user(profile) !== userId;
  }
}

const hasOnlyJoined = ({ formerUserIds, traits, events }: ProfileChange): boolean =>
  formerUserIds.length > 0 && traits.size === 0 && events.size === 0;

/** `ada entered Big spenders`, `Orders of ada is 2, and was 1`. */
function changed({ kind, row }: Computed, { userId, value }: UserValue, before: Json): string {
  const user = nameWords(userId);
  const name = nameWords(row.name);
  if (kind === "audience") return `${user} ${value === null ? "left" : "entered"} ${name}`;
  const was = before === null ? "" : `, and was ${valueWords(before)}`;
  return value === null
    ? `${name} of ${user} no longer has a value${was}`
    : `${name} of ${user} is ${valueWords(value)}${was}`;
}

/** `ada is in Big spenders`. */
function has({ kind, row }: Computed, userId: string, value: Json): string {
  const [user, name] = [nameWords(userId), nameWords(row.name)];
  if (kind === "audience") return `${user} is ${value === null ? "not " : ""}in ${name}`;
  return `${name} of ${user} is ${valueWords(value)}`;
}
