/**
 * What profiles, audiences, computed traits and deletions need from a store. As in `ports.ts`,
 * calls are synchronous, and each call that writes is a transaction, or part of the one that
 * `atomically` has open.
 */

import type { InPieces, Needs, ProfileFacts, Steps } from "../domain/facts.ts";
import type {
  DeletionId,
  AudienceId,
  ComputedTraitId,
  DestinationId,
  MessageRowId,
  ProfileId,
  SourceId,
} from "../domain/ids.ts";
import type { Json, JsonObject } from "../domain/json.ts";
import type { Computation, Rule, Sync } from "../domain/rules.ts";
import type { MessageState, MessageType } from "../domain/states.ts";
import type { Page } from "./ports.ts";

export type IdentityKind = "userId" | "anonymousId";
export type IdentityValue = { kind: IdentityKind; value: string };

/**
 * A message that profiles follow: not rejected, no duplicate, no delete, not from an audience, and no
 * replay but the first one of a message that was rejected or blocked.
 */
export type FollowedMessage = {
  id: MessageRowId;
  sourceId: SourceId;
  type: MessageType;
  userId: string | null;
  anonymousId: string | null;
  event: string | null;
  timestamp: number;
  /**
   * The message as received, with all its members; null when it cannot be parsed. Empty for a page
   * and a screen.
   */
  members: JsonObject | null;
};

/** What chooses the rules to evaluate again after messages changed a profile. */
export type ProfileEffects = {
  /** Names of traits whose value changed, and of events that occurred, as returned by `nameOf`. */
  traits: ReadonlySet<string>;
  events: ReadonlySet<string>;
  /**
   * Two profiles were merged, or the profile got its first or another userId: any rule may now have
   * another result.
   */
  rejoined: boolean;
  /** The slice created it: it has only the traits and events named here. */
  isNew: boolean;
  /**
   * Email addresses that the profile got: from a trait, with an anonymous profile, or (`from`) with
   * another user's profile.
   */
  emails: readonly NewEmail[];
};

/** What a slice of messages changed in one profile. */
export type ProfileChange = ProfileEffects & {
  profileId: ProfileId;
  userId: string | null;
  /** UserIds that no longer have a profile of their own, because it was merged into this one. */
  formerUserIds: readonly string[];
};

export type NewEmail = { email: string; from: string | null };

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
  eventList: {
    event: string;
    count: number;
    firstAt: number;
    lastAt: number;
    lastProperties: JsonObject;
    lastMessageId: MessageRowId;
  }[];
  sourceIds: SourceId[];
  history: { at: number; kind: HistoryKind; detail: string; messageId: MessageRowId }[];
};

export type ProfileFilter = { search?: string; userId?: string; members?: SourceId };
/** Where a page of profiles ends: they are listed by the time they were last seen. */
export type ProfileCursor = { lastSeenAt: number; id: ProfileId };

export type ProfileStore = {
  /** The newest message that was followed, and the newest message. */
  followed(): { upTo: MessageRowId; newest: MessageRowId };
  /**
   * The next messages in order, read one by one. `rows` and `upTo` are how many rows were read so
   * far, and the last of them. Rows that are not followed are skipped, and count towards `limit`.
   */
  nextToFollow(limit: number): {
    messages: Iterable<FollowedMessage>;
    readonly rows: number;
    readonly upTo: MessageRowId;
  };
  markFollowed(upTo: MessageRowId): void;

  profileOf(identity: IdentityValue): ProfileId | null;
  /** The profile of a userId, also when it was merged into another user's. */
  profileWithUser(userId: string): ProfileId | null;
  /** With what its first message adds. */
  createProfile(
    at: number,
    userId: string | null,
    first?: { sources: SourceId[]; events: number },
  ): ProfileId;
  /** Its current userId, and the sources that know it. */
  knownAs(profile: ProfileId): { userId: string | null; sources: readonly SourceId[] };
  /** Extends the time in which it was seen, and adds to its number of events. */
  touch(profile: ProfileId, seen: { firstAt: number; lastAt: number; events: number }): void;
  /** An identity of another profile moves to this one. */
  addIdentity(
    profile: ProfileId,
    identity: IdentityValue,
    at: number,
    messageId: MessageRowId,
  ): void;
  setUser(profile: ProfileId, userId: string): void;
  /**
   * The value of the newest message wins, by timestamp, then by row. Returns the names of those whose
   * value changed. `isFirst`: the profile has no traits yet.
   */
  putTraits(
    profile: ProfileId,
    traits: readonly (readonly [name: string, value: Json])[],
    by: { at: number; messageId: MessageRowId; isFirst?: boolean },
  ): string[];
  /** Returns false when the profile has it already, or has as many as it may have. */
  addEmail(profile: ProfileId, email: string): boolean;
  /** Of the profile whose current userId this is. */
  emailsOf(userId: string): string[];
  emailsOfProfile(profile: ProfileId): string[];
  /** Does not count the event; `touch` does. */
  addEvent(
    profile: ProfileId,
    event: string,
    at: number,
    properties: JsonObject,
    messageId: MessageRowId,
  ): void;
  putGroup(profile: ProfileId, groupId: string, traits: JsonObject, at: number): void;
  putSources(profile: ProfileId, sources: readonly SourceId[]): void;
  addHistory(
    profile: ProfileId,
    at: number,
    kind: HistoryKind,
    detail: string,
    messageId: MessageRowId,
  ): void;
  /** More than one transaction should move: `mergeEvents` moves most of them before a merge. */
  hasManyEvents(profile: ProfileId): boolean;
  /** Moves a part of the events of `from`, which `merge` then counts too. */
  mergeEvents(from: ProfileId, into: ProfileId): void;
  /**
   * Moves everything from `from` to `into` and removes `from`. Keeps the newer of two values of a
   * trait. Returns how many events moved.
   */
  merge(from: ProfileId, into: ProfileId): { events: number };
  /** Nobody finds it afterwards. Of one with many events, some are left for `removeRest`. */
  removeProfile(profile: ProfileId): void;
  /** Removes a part of what removed profiles left; returns whether there is more. */
  removeRest(): boolean;
  user(profile: ProfileId): string | null;
  /** All of its userIds, including those of profiles merged into it. */
  userIdsOf(profile: ProfileId): string[];

  /** At least what `needs` asks for. */
  facts(profile: ProfileId, needs: Needs, now: number, steps: Steps): InPieces<ProfileFacts>;
  profileDetails(id: ProfileId): ProfileDetails | null;
  profiles(
    filter: ProfileFilter,
    limit: number,
    before: ProfileCursor | null,
  ): Page<ProfileSummary, ProfileCursor>;
  /** Reads a part of what lists need; returns whether it has all of it. A list reads the rest. */
  readForLists(): boolean;
  noteSeen(names: SeenNames): void;
  /** The most frequent first. */
  seenNames(): { traits: string[]; events: { event: string; properties: string[] }[] };
};

/** Names of traits, and of events with their properties, and how often each was seen. */
export type SeenNames = {
  traits: ReadonlyMap<string, number>;
  events: ReadonlyMap<string, { times: number; properties: ReadonlyMap<string, number> }>;
};

/**
 * One user of a slice: the current value, until when it is valid, and the value last sent to
 * receivers (null: none). The value of a rule is `true` or `false`, else it is the computed value,
 * or null when there is none.
 */
export type Evaluated = {
  profileId: ProfileId;
  userId: string;
  value: Json;
  until: number | null;
  lastSent: Json;
};

/**
 * Iterates over all known users (profiles with a userId) by profile id, in slices, so that the
 * event loop stays free.
 */
export type Walk = {
  /**
   * At most `limit` users, fewer when the conditions are expensive. At the end, `seen` is 0. The last
   * one seen may be `large`: not evaluated, because a turn of the event loop is too short for it.
   */
  next(limit: number): { seen: number; evaluated: Evaluated[]; large: ProfileId | null };
};

export type WalkOptions = {
  /** The source whose last sent values are compared; null when nothing was sent. */
  source: SourceId | null;
  /**
   * Which users are returned:
   * `present`     those for which the rule is true, or who have a computed value
   * `differing`   those whose value differs from the one last sent; the false of a rule is sent as
   * no value `unsettled`   those that differ, and those whose `until` is not their `recheckAt`
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
  /** Set while a sync is running, so that it continues after a crash: what it has sent so far. */
  openSync: { startedAt: number; entered: number; left: number } | null;
  lastSync: { at: number; entered: number; left: number } | null;
  /** The newest sync, when it was cancelled: how far it was and what it had sent. */
  cancelledSync?: CancelledSync | null;
  nextSyncAt: number | null;
  /** Destinations that have received what was sent so far. Missing in rows of older versions. */
  reached?: readonly DestinationId[];
  /** Destinations that were disconnected after they had received values: they know the users. */
  formerly?: readonly DestinationId[];
  /**
   * When they were disconnected, until a first sync has sent them who left since. Missing in rows of
   * older versions.
   */
  goneAt?: Readonly<Record<number, number>>;
  firstSyncs?: FirstSync[];
  skipped?: readonly Skipped[];
};

/**
 * A destination that was connected later has received the values of the users up to `after`, by
 * userId: an empty text before the first of them.
 */
export type FirstSync = {
  destinationId: DestinationId;
  after: string;
  sent: number;
  /** It waits for the next manual sync. */
  cancelled?: true;
};

/**
 * A value that a destination which was connected later, or a new email address, was not sent because
 * the user is suppressed; it is sent after the suppression. Or one that a destination missed.
 */
export type Skipped =
  | { userId: string; destinationId: DestinationId }
  | { userId: string; email: string }
  | Missed;

/**
 * A destination was disabled when the user's value changed from the one that it has; it is sent the
 * current one when it is enabled.
 */
export type Missed = { userId: string; destinationId: DestinationId; had: Json };

export type CancelledSync = {
  at: number;
  done: number;
  total: number;
  entered: number;
  left: number;
};

export type Audience = Computed<AudienceId> & {
  rule: Rule | null;
  members: string[] | null;
  /** Before its last change, until a sync has sent what changed with it. */
  ruleBefore?: Rule | null;
};
export type ComputedTrait = Computed<ComputedTraitId> & { computation: Computation };

/**
 * The value of a user that an audience or computed trait, identified by its source, last sent to
 * receivers: `true`, or the computed value. Null: that the user left; or nothing was sent, `since`
 * is 0, and the row is kept for its `recheckAt`.
 */
export type LastSent = {
  sourceId: SourceId;
  userId: string;
  value: Json;
  since: number;
  recheckAt: number | null;
};

export type ComputedStore = {
  audiences(): Audience[];
  insertAudience(audience: Omit<Audience, "id">): Audience;
  /** Everything except its members. */
  updateAudience(audience: Audience): void;
  setMembers(id: AudienceId, members: string[] | null): void;
  deleteAudience(id: AudienceId): void;
  computedTraits(): ComputedTrait[];
  insertComputedTrait(trait: Omit<ComputedTrait, "id">): ComputedTrait;
  updateComputedTrait(trait: ComputedTrait): void;
  deleteComputedTrait(id: ComputedTraitId): void;
  /** The id of this installation's space, created at the first call. */
  space(create: () => string): string;

  lastSent(source: SourceId, userId: string): LastSent | null;
  lastSentFor(userId: string): LastSent[];
  putLastSent(value: LastSent): void;
  removeLastSentFor(userId: string): void;
  /** At most `limit` of them; returns how many. */
  removeLastSentBy(source: SourceId, limit: number): number;
  /** How many users have a last sent value other than null. */
  countLastSent(source: SourceId): number;
  /** Sources that have values, including deleted sources. */
  lastSentSources(): SourceId[];
  /** In the order of userIds, after `after`. */
  lastSentAfter(source: SourceId, after: string, limit: number): LastSent[];
  /**
   * Of the next users by userId: the last one, and those that are no longer the `userId` of a
   * profile. At the end, `upTo` is null.
   */
  strandedAfter(
    source: SourceId,
    after: string,
    limit: number,
  ): { upTo: string | null; stranded: LastSent[] };
  /**
   * The earliest time (after `after`) at which a value may change by time alone, and the values that
   * may have changed by `now`.
   */
  nextRecheckAt(source: SourceId, after?: number): number | null;
  dueForRecheck(source: SourceId, now: number, limit: number): LastSent[];
};

export type DeletedUser = {
  userId: string;
  known: boolean;
  detail: string;
  sourceIds: SourceId[];
  messageIds: MessageRowId[];
};
/** `deleted` is null until the user has been deleted. */
type RequestedUser = { userId: string; deleted: Omit<DeletedUser, "userId"> | null };
export type Deletion = {
  id: DeletionId;
  suppress: boolean;
  /** False: no destination gets a delete message. */
  send: boolean;
  requestedAt: number;
  users: RequestedUser[];
};
export type Suppression = { userId: string; since: number; deletionId: DeletionId | null };

export type DeletionStore = {
  insertDeletion(deletion: {
    suppress: boolean;
    /** True when left out. */
    send?: boolean;
    requestedAt: number;
    userIds: readonly string[];
  }): DeletionId;
  deletion(id: DeletionId): Deletion | null;
  /** Fewer than `limit` where they have thousands of users. */
  deletions(limit: number, before: DeletionId | null): Page<Deletion, DeletionId>;
  deleteDeletion(id: DeletionId): boolean;
  /** Requests that a crash interrupted. */
  unfinishedDeletions(): DeletionId[];
  /** Users that are still to be deleted, by their place in the request. */
  usersToDelete(id: DeletionId, limit: number): { place: number; userId: string }[];
  putDeleted(id: DeletionId, place: number, user: DeletedUser): void;
  /**
   * The first state that any of its delete messages is in, including removed ones; null without
   * any.
   */
  stateOfMessages(id: DeletionId): MessageState | null;
  deleteMessages(): { messageId: MessageRowId; deletionId: DeletionId }[];

  suppressedUsers(): string[];
  suppress(userId: string, since: number, deletionId: DeletionId | null): void;
  suppression(userId: string): Suppression | null;
  lift(userId: string): boolean;
  suppressions(search: string, limit: number, after: string | null): Page<Suppression, string>;
};

export type WritingTurns = {
  /**
   * Runs what writes in a later turn of the event loop; while the store wants to finish a checkpoint
   * first, after that.
   */
  inWritingTurn(write: () => void): void;
};

export type Atomically = {
  /**
   * Runs `write` in one transaction: all of its store calls are committed together or not at all,
   * including `IngestStore.commit`. `write` must not catch the store's errors: a full disk ends the
   * whole transaction.
   */
  atomically<Result>(write: () => Result): Result;
};
