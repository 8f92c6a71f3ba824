/**
 * What profiles, audiences, computed traits and deletions need of a store. The rules of `ports.ts` hold here too:
 * synchronous, and each call that writes is a transaction, or part of the one that `atomically` holds open.
 */

import type { DeletionId, AudienceId, ComputedTraitId, MessageRowId, ProfileId, SourceId } from "../domain/ids.ts";
import type { Json, JsonObject } from "../domain/json.ts";
import type { Computation, Rule, Sync } from "../domain/rules.ts";
import type { MessageState, MessageType } from "../domain/states.ts";
import type { Page } from "./ports.ts";

// ── profiles ─────────────────────────────────────────────────────────────────────────────────────────────────

export type IdentityKind = "userId" | "anonymousId";
export type IdentityValue = { kind: IdentityKind; value: string };

/** A message as the profiles follow it: neither rejected nor a duplicate, not a delete, not a replay, not from an audience. */
export type FollowedMessage = {
  id: MessageRowId;
  sourceId: SourceId;
  type: MessageType;
  userId: string | null;
  anonymousId: string | null;
  event: string | null;
  timestamp: number;
  /** The message as it came, with all its members. */
  members: JsonObject;
};

/** What a run of messages did to one profile: who evaluates rules for it needs to know no more. */
export type ProfileChange = {
  profileId: ProfileId;
  userId: string | null;
  /** Names of traits that have another value now, and of events that were done. */
  traits: ReadonlySet<string>;
  events: ReadonlySet<string>;
  /** Two profiles became one, or the profile got its first or another userId: every rule may have another answer. */
  rejoined: boolean;
  /** UserIds that lead to no profile of their own any more, since they were joined to this one. */
  formerUserIds: readonly string[];
};

/** Times and properties of events, oldest first. */
export type EventFact = { at: number; properties: JsonObject; messageId: MessageRowId };

/** What a rule has to know of one profile. Traits hold JSON values; a trait that is not there is left out. */
export type ProfileFacts = {
  traits: ReadonlyMap<string, Json>;
  events: ReadonlyMap<string, readonly EventFact[]>;
};

/** Which facts a rule or a computation asks for. */
export type Needs = { traits: ReadonlySet<string>; events: ReadonlySet<string> };

export type ProfileSummary = {
  id: ProfileId;
  userId: string | null;
  anonymousId: string | null;
  firstSeenAt: number;
  lastSeenAt: number;
  events: number;
  traits: JsonObject;
};

export type HistoryKind = "created" | "identified" | "merged" | "moved";

export type ProfileDetails = ProfileSummary & {
  identities: (IdentityValue & { since: number; messageId: MessageRowId })[];
  traitList: { name: string; value: Json; at: number; messageId: MessageRowId }[];
  groups: { groupId: string; traits: JsonObject; at: number }[];
  eventList: { event: string; count: number; firstAt: number; lastAt: number; lastProperties: JsonObject; lastMessageId: MessageRowId }[];
  sourceIds: SourceId[];
  history: { at: number; kind: HistoryKind; detail: string; messageId: MessageRowId }[];
};

export type ProfileFilter = { search?: string; userId?: string; members?: SourceId };
/** Where a page of profiles ends: they are listed by the time they were last seen. */
export type ProfileCursor = { lastSeenAt: number; id: ProfileId };

export type ProfileStore = {
  /** The newest message that has been followed, and the newest there is. */
  followed(): { upTo: MessageRowId; newest: MessageRowId };
  /** The next messages in order, and up to which row they reach; rows that are not followed are passed over. */
  nextToFollow(limit: number): { messages: FollowedMessage[]; upTo: MessageRowId };
  markFollowed(upTo: MessageRowId): void;

  profileOf(identity: IdentityValue): ProfileId | null;
  profileWithUser(userId: string): ProfileId | null;
  createProfile(at: number): ProfileId;
  touch(profile: ProfileId, at: number): void;
  addIdentity(profile: ProfileId, identity: IdentityValue, at: number, messageId: MessageRowId): void;
  setUser(profile: ProfileId, userId: string): void;
  /** The value of the newest message wins, by its timestamp, then by its row. Answers whether the value is another one now. */
  putTrait(profile: ProfileId, name: string, value: Json, at: number, messageId: MessageRowId): boolean;
  addEvent(profile: ProfileId, event: string, at: number, properties: JsonObject, messageId: MessageRowId): void;
  putGroup(profile: ProfileId, groupId: string, traits: JsonObject, at: number): void;
  addSource(profile: ProfileId, source: SourceId): void;
  addHistory(profile: ProfileId, at: number, kind: HistoryKind, detail: string, messageId: MessageRowId): void;
  /** All that `from` has goes to `into`, and `from` is gone. Of two values of one trait the newer one stays. */
  merge(from: ProfileId, into: ProfileId): void;
  removeProfile(profile: ProfileId): void;
  user(profile: ProfileId): string | null;

  facts(profile: ProfileId, needs: Needs): ProfileFacts;
  profileDetails(id: ProfileId): ProfileDetails | null;
  profiles(filter: ProfileFilter, limit: number, before: ProfileCursor | null): Page<ProfileSummary, ProfileCursor>;
  sourcesThatKnow(profile: ProfileId): SourceId[];
  seenNames(): { traits: string[]; events: { event: string; properties: string[] }[] };
};

// ── rules for all profiles, in SQL ───────────────────────────────────────────────────────────────────────────

/** One user of a slice: what the rule says of the user now, and what receivers were told last (null: nothing). */
export type Evaluated = { profileId: ProfileId; userId: string; value: Json; until: number | null; told: Json };

/**
 * A walk over all known users (profiles with a userId) in the order of their profiles' ids, in slices, so that the event
 * loop stays free. A value is `true` or `false` for a rule, else the computed value, null when there is none.
 * `until` is when time alone may change it, null for never.
 */
export type Walk = {
  /** The next users, at most `limit` profiles looked at; an empty `seen` of 0 ends it. */
  next(limit: number): { seen: number; evaluated: Evaluated[] };
};

export type RuleStore = {
  /** Only users whose value is another than what was told to the receivers of `source` are answered, if `differing`; else all with a value but false and null. */
  walkRule(rule: Rule, now: number, options: { source: SourceId | null; differing: boolean }): Walk;
  walkComputation(computation: Computation, now: number, options: { source: SourceId | null; differing: boolean }): Walk;
  countKnownUsers(): number;
};

// ── audiences and computed traits ────────────────────────────────────────────────────────────────────────────

type Computed<Id> = {
  id: Id;
  name: string;
  key: string;
  sync: Sync;
  sourceId: SourceId;
  createdAt: number;
  /** Set while a sync is under way, so that it goes on after a crash. */
  syncStartedAt: number | null;
  lastSync: { at: number; entered: number; left: number } | null;
  nextSyncAt: number | null;
};
export type Audience = Computed<AudienceId> & { rule: Rule | null; members: string[] | null };
export type ComputedTrait = Computed<ComputedTraitId> & { computation: Computation };

/** What receivers were told of a user by one audience or computed trait, which its source stands for. */
export type ToldValue = { sourceId: SourceId; userId: string; value: Json; since: number; recheckAt: number | null };

export type ComputedStore = {
  audiences(): Audience[];
  insertAudience(audience: Omit<Audience, "id">): Audience;
  updateAudience(audience: Audience): void;
  deleteAudience(id: AudienceId): void;
  computedTraits(): ComputedTrait[];
  insertComputedTrait(trait: Omit<ComputedTrait, "id">): ComputedTrait;
  updateComputedTrait(trait: ComputedTrait): void;
  deleteComputedTrait(id: ComputedTraitId): void;

  told(source: SourceId, userId: string): ToldValue | null;
  toldOf(userId: string): ToldValue[];
  putTold(value: ToldValue): void;
  removeTold(source: SourceId, userId: string): void;
  removeToldOf(userId: string): void;
  removeAllTold(source: SourceId): void;
  /** How many users were told `true` (an audience) or any value but null (a computed trait). */
  countTold(source: SourceId): number;
  /** Told users, by userId, after `after`: for those that no profile stands behind any more, and for fixed lists. */
  toldAfter(source: SourceId, after: string, limit: number): ToldValue[];
  /** The earliest time at which a value may change by time alone, and those that may by `now`. */
  nextRecheckAt(sources: readonly SourceId[]): number | null;
  dueForRecheck(sources: readonly SourceId[], now: number, limit: number): ToldValue[];
};

// ── deletion ─────────────────────────────────────────────────────────────────────────────────────────────────

export type DeletedUser = { userId: string; known: boolean; detail: string; sourceIds: SourceId[]; messageIds: MessageRowId[] };
export type Deletion = { id: DeletionId; suppress: boolean; requestedAt: number; users: DeletedUser[] };
export type Suppression = { userId: string; since: number; deletionId: DeletionId | null };

export type DeletionStore = {
  insertDeletion(deletion: Omit<Deletion, "id">): Deletion;
  deletion(id: DeletionId): Deletion | null;
  deletions(limit: number, before: DeletionId | null): Page<Deletion, DeletionId>;
  deleteDeletion(id: DeletionId): boolean;
  /** The states of its messages, for those that are still kept. */
  statesOfMessages(ids: readonly MessageRowId[]): MessageState[];
  /** Which deletions a message belongs to: for the feed of changes. */
  deletionsOf(messages: readonly MessageRowId[]): DeletionId[];
  suppressedUsers(): string[];
  suppress(userId: string, since: number, deletionId: DeletionId | null): void;
  lift(userId: string): boolean;
  isSuppressed(userId: string): boolean;
  suppressions(search: string, limit: number, after: string | null): Page<Suppression, string>;
};

export type Atomically = {
  /**
   * Runs `write` in one transaction, all of whose store calls are then one commit, or none of it: also what is committed
   * by `IngestStore.commit` in it. `write` lets the store's errors through: a disk that is full has ended the whole transaction.
   */
  atomically<Result>(write: () => Result): Result;
};
