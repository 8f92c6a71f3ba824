/**
 * What profiles, audiences, computed traits and deletions need of a store. The rules of `ports.ts` hold here too:
 * synchronous, and each call that writes is a transaction, or part of the one that `atomically` holds open.
 */

import type { Needs, ProfileFacts } from "../domain/facts.ts";
import type { DeletionId, AudienceId, ComputedTraitId, MessageRowId, ProfileId, SourceId } from "../domain/ids.ts";
import type { Json, JsonObject } from "../domain/json.ts";
import type { Computation, Rule, Sync } from "../domain/rules.ts";
import type { MessageState, MessageType } from "../domain/states.ts";
import type { Page } from "./ports.ts";

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
  /** The message as it came, with all its members; null when it cannot be read. */
  members: JsonObject | null;
};

/** What a run of messages did to one profile: who evaluates rules for it needs to know no more. */
export type ProfileChange = {
  profileId: ProfileId;
  userId: string | null;
  /** Names of traits that have another value now, and of events that were done, as `nameOf` spells them. */
  traits: ReadonlySet<string>;
  events: ReadonlySet<string>;
  /** Two profiles became one, or the profile got its first or another userId: every rule may have another answer. */
  rejoined: boolean;
  /** The run made it: nothing is known of it but what is named here. */
  isNew: boolean;
  /** UserIds that lead to no profile of their own any more, since they were joined to this one. */
  formerUserIds: readonly string[];
};

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
  /**
   * The next messages in order, read one by one, and up to which row they reach. Rows that are not followed are passed
   * over and count to `limit`.
   */
  nextToFollow(limit: number): { messages: Iterable<FollowedMessage>; rows: number; upTo: MessageRowId };
  markFollowed(upTo: MessageRowId): void;

  profileOf(identity: IdentityValue): ProfileId | null;
  /** Whom a userId leads to, also one that was joined to another user's. */
  profileWithUser(userId: string): ProfileId | null;
  createProfile(at: number, userId: string | null): ProfileId;
  /** It was seen from `firstAt` to `lastAt`, and did so many events more. */
  touch(profile: ProfileId, seen: { firstAt: number; lastAt: number; events: number }): void;
  /** One that belongs to another profile goes over to this one. */
  addIdentity(profile: ProfileId, identity: IdentityValue, at: number, messageId: MessageRowId): void;
  setUser(profile: ProfileId, userId: string): void;
  /** The value of the newest message wins, by its timestamp, then by its row. Answers whether the value is another one now. */
  putTrait(profile: ProfileId, name: string, value: Json, at: number, messageId: MessageRowId): boolean;
  /** To be counted with `touch`. */
  addEvent(profile: ProfileId, event: string, at: number, properties: JsonObject, messageId: MessageRowId): void;
  putGroup(profile: ProfileId, groupId: string, traits: JsonObject, at: number): void;
  addSource(profile: ProfileId, source: SourceId): void;
  addHistory(profile: ProfileId, at: number, kind: HistoryKind, detail: string, messageId: MessageRowId): void;
  /** All that `from` has goes to `into`, and `from` is gone. Of two values of one trait the newer one stays. Answers how many events came along. */
  merge(from: ProfileId, into: ProfileId): { events: number };
  removeProfile(profile: ProfileId): void;
  user(profile: ProfileId): string | null;
  /** All of its userIds, also those that were joined to it. */
  userIdsOf(profile: ProfileId): string[];

  /** What is asked for, or more. */
  facts(profile: ProfileId, needs: Needs, now: number): ProfileFacts;
  profileDetails(id: ProfileId): ProfileDetails | null;
  profiles(filter: ProfileFilter, limit: number, before: ProfileCursor | null): Page<ProfileSummary, ProfileCursor>;
  sourcesThatKnow(profile: ProfileId): SourceId[];
  noteSeen(names: SeenNames): void;
  /** The most frequent first. */
  seenNames(): { traits: string[]; events: { event: string; properties: string[] }[] };
};

/** Names of traits, and of events with their properties, and how often they came. */
export type SeenNames = {
  traits: ReadonlyMap<string, number>;
  events: ReadonlyMap<string, { times: number; properties: ReadonlyMap<string, number> }>;
};

/**
 * One user of a slice: what the rule says of the user now, until when that stays, and what receivers were told last
 * (null: nothing). A value is `true` or `false` for a rule, else the computed value, null when there is none.
 */
export type Evaluated = { profileId: ProfileId; userId: string; value: Json; until: number | null; told: Json };

/** A walk over all known users (profiles with a userId) in the order of their profiles' ids, in slices, so that the event loop stays free. */
export type Walk = {
  /** The next users, at most `limit` of them, fewer when each is asked much; a `seen` of 0 ends it. */
  next(limit: number): { seen: number; evaluated: Evaluated[] };
};

export type WalkOptions = {
  /** Whose told values are looked up; null when nobody was told anything. */
  source: SourceId | null;
  /**
   * Which users are answered:
   * `present`     those for whom the rule holds, or who have a computed value
   * `differing`   those with another value than they were told; a rule's false is told as nothing
   * `unsettled`   those that differ, and those whose `until` is not when they are to be looked at again
   */
  which: "present" | "differing" | "unsettled";
};

export type RuleStore = {
  walkRule(rule: Rule, now: number, options: WalkOptions): Walk;
  walkComputation(computation: Computation, now: number, options: WalkOptions): Walk;
  countKnownUsers(): number;
};

type Computed<Id> = {
  id: Id;
  name: string;
  key: string;
  sync: Sync;
  sourceId: SourceId;
  createdAt: number;
  /** Set while a sync is under way, so that it goes on after a crash: what it has sent so far. */
  openSync: { startedAt: number; entered: number; left: number } | null;
  lastSync: { at: number; entered: number; left: number } | null;
  nextSyncAt: number | null;
};
export type Audience = Computed<AudienceId> & { rule: Rule | null; members: string[] | null };
export type ComputedTrait = Computed<ComputedTraitId> & { computation: Computation };

/**
 * What receivers were told of a user by one audience or computed trait, which its source stands for: `true`, or the
 * computed value. Null: nothing, or that it is over; such a row is kept only for its `recheckAt`.
 */
export type ToldValue = { sourceId: SourceId; userId: string; value: Json; since: number; recheckAt: number | null };

export type ComputedStore = {
  audiences(): Audience[];
  insertAudience(audience: Omit<Audience, "id">): Audience;
  /** All but its members. */
  updateAudience(audience: Audience): void;
  setMembers(id: AudienceId, members: string[] | null): void;
  deleteAudience(id: AudienceId): void;
  computedTraits(): ComputedTrait[];
  insertComputedTrait(trait: Omit<ComputedTrait, "id">): ComputedTrait;
  updateComputedTrait(trait: ComputedTrait): void;
  deleteComputedTrait(id: ComputedTraitId): void;
  /** The id of this installation's space, which is made once. */
  space(make: () => string): string;

  told(source: SourceId, userId: string): ToldValue | null;
  toldOf(userId: string): ToldValue[];
  putTold(value: ToldValue): void;
  removeTold(source: SourceId, userId: string): void;
  removeToldOf(userId: string): void;
  /** Up to `limit` of them; answers how many. */
  removeAllTold(source: SourceId, limit: number): number;
  /** How many users were told a value but null. */
  countTold(source: SourceId): number;
  /** Sources that values are kept for, also those that are gone. */
  toldSources(): SourceId[];
  /** By userId, after `after`. */
  toldAfter(source: SourceId, after: string, limit: number): ToldValue[];
  /** Of the next told users by userId: where they end, and those that are no profile's `userId` any more. `upTo` null ends it. */
  strandedAfter(source: SourceId, after: string, limit: number): { upTo: string | null; over: ToldValue[] };
  /** The earliest time at which a value may change by time alone, and those that may by `now`. */
  nextRecheckAt(source: SourceId): number | null;
  dueForRecheck(source: SourceId, now: number, limit: number): ToldValue[];
};

export type DeletedUser = { userId: string; known: boolean; detail: string; sourceIds: SourceId[]; messageIds: MessageRowId[] };
/** A user that is still to be deleted has no outcome. */
type RequestedUser = { userId: string; deleted: Omit<DeletedUser, "userId"> | null };
export type Deletion = { id: DeletionId; suppress: boolean; requestedAt: number; users: RequestedUser[] };
export type Suppression = { userId: string; since: number; deletionId: DeletionId | null };

export type DeletionStore = {
  insertDeletion(deletion: { suppress: boolean; requestedAt: number; userIds: readonly string[] }): DeletionId;
  deletion(id: DeletionId): Deletion | null;
  deletions(limit: number, before: DeletionId | null): Page<Deletion, DeletionId>;
  deleteDeletion(id: DeletionId): boolean;
  /** Those that a crash interrupted. */
  unfinishedDeletions(): DeletionId[];
  /** Users that are still to be deleted, by their place in the request. */
  usersToDelete(id: DeletionId, limit: number): { place: number; userId: string }[];
  putDeleted(id: DeletionId, place: number, user: DeletedUser): void;
  /** The first state that any of its delete messages is in, of those that are gone too; null without any. */
  stateOfMessages(id: DeletionId): MessageState | null;
  deleteMessages(): { messageId: MessageRowId; deletionId: DeletionId }[];

  suppressedUsers(): string[];
  suppress(userId: string, since: number, deletionId: DeletionId | null): void;
  lift(userId: string): boolean;
  suppressions(search: string, limit: number, after: string | null): Page<Suppression, string>;
};

export type Atomically = {
  /**
   * Runs `write` in one transaction, all of whose store calls are then one commit, or none of it: also what is committed
   * by `IngestStore.commit` in it. `write` lets the store's errors through: a disk that is full has ended the whole transaction.
   */
  atomically<Result>(write: () => Result): Result;
};
