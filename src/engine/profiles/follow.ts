/**
 * Applies messages to profiles, in the order of their rows, within a transaction of the caller. The
 * resulting profiles do not depend on how the messages are cut into slices.
 */

import type { MessageRowId, ProfileId, SourceId } from "../../domain/ids.ts";
import { isObject, type Json, type JsonObject } from "../../domain/json.ts";
import type {
  FollowedMessage,
  NewEmail,
  ProfileChange,
  ProfileEffects,
  ProfileStore,
} from "../profile-ports.ts";
import { createIdentities, eventsIn } from "./identity.ts";

export type Followed = {
  upTo: MessageRowId;
  changes: ProfileChange[];
  /** Profiles of the messages. */
  profiles: ProfileId[];
  /** Messages that could not be parsed, and were skipped. */
  unreadable: MessageRowId[];
};

export type ChangedProfile = ProfileEffects & { profileId: ProfileId };

/** The transaction of a slice cannot merge a profile with so many events. */
export class LargeMerge extends Error {
  readonly by: MessageRowId;
  readonly from: ProfileId;
  readonly into: ProfileId;

  constructor(by: MessageRowId, from: ProfileId, into: ProfileId) {
    super(`The message in row ${by} merges a profile with very many events.`);
    this.by = by;
    this.from = from;
    this.into = into;
  }
}

type FollowOptions = {
  store: ProfileStore;
  /** Rows to read. */
  limit: number;
  /** Has to be the first message of its slice. */
  first?: MessageRowId | null;
  /**
   * Called after each message, with the effects on its profile so far; the remaining ones are left
   * to the next slice.
   */
  isTimeUp: (changed: ChangedProfile | null) => boolean;
};

/** Throws `LargeMerge`. */
export function follow({ store, limit, first = null, isTimeUp }: FollowOptions): Followed {
  const slice = new Slice(store);
  const identities = createIdentities({
    store,
    onCreate: (message, profile) => slice.create(message, profile),
    onMerge(message, from, into) {
      // A profile that the message itself created is in no other transaction.
      if (!slice.isFirst(into, message) && store.hasManyEvents(from))
        throw new LargeMerge(message.id, from, into);
      slice.merge(from, into);
    },
    onUser: (profile, userId, before) => slice.user(profile, userId, before),
  });
  const unreadable: MessageRowId[] = [];
  const next = store.nextToFollow(limit);
  let stoppedAt: MessageRowId | null = null;
  for (const message of next.messages) {
    if (message.id === first && !slice.isEmpty) {
      stoppedAt = (message.id - 1) as MessageRowId;
      break;
    }
    const profile = message.members === null ? null : apply(message, message.members);
    if (message.members === null) unreadable.push(message.id);
    if (!isTimeUp(slice.changed(profile))) continue;
    stoppedAt = message.id;
    break;
  }
  const upTo = stoppedAt ?? next.upTo;
  const { changes, profiles } = slice.finish();
  store.markFollowed(upTo);
  return { upTo, changes, profiles, unreadable };

  function apply(message: FollowedMessage, members: JsonObject): ProfileId | null {
    const profile = identities.profileOf(message);
    if (profile === null) return null;
    slice.see(profile, message);
    switch (message.type) {
      case "identify": {
        const traits = Object.entries(objectOf(members["traits"])).map(
          ([name, value]) => [name.toWellFormed(), value] as const,
        );
        const { timestamp: at, id: messageId } = message;
        const isFirst = slice.isFirst(profile, message);
        for (const name of store.putTraits(profile, traits, { at, messageId, isFirst }))
          slice.traitChanged(profile, name);
        for (const [name, value] of traits) {
          if (name === "email" && typeof value === "string" && value.trim() !== "")
            if (store.addEmail(profile, value.toWellFormed())) slice.emailAdded(profile, value);
        }
        slice.noteTraits(traits.map(([name]) => name));
        break;
      }
      case "track": {
        if (message.event === null) break;
        const properties = objectOf(members["properties"]);
        store.addEvent(profile, message.event, message.timestamp, properties, message.id);
        slice.event(profile, message.event, properties);
        break;
      }
      case "group": {
        const { groupId } = members;
        if (typeof groupId === "string")
          store.putGroup(profile, groupId, objectOf(members["traits"]), message.timestamp);
      }
    }
    return profile;
  }
}

function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

/** A profile with messages in the slice. */
type Seen = {
  userId: string | null;
  sources: readonly SourceId[];
  /** The message that created it; null for one from before the slice. */
  createdBy: MessageRowId | null;
  /** Not written yet; null when nothing is. */
  times: { firstAt: number; lastAt: number; events: number } | null;
};

type Change = {
  profileId: ProfileId;
  traits: Set<string>;
  events: Set<string>;
  rejoined: boolean;
  formerUserIds: Set<string>;
  emails: NewEmail[];
  isNew: boolean;
};

type SliceStore = Pick<
  ProfileStore,
  "touch" | "knownAs" | "putSources" | "noteSeen" | "emailsOfProfile"
>;

type SeenEvent = { times: number; properties: Map<string, number> };

/**
 * Names that one message adds to the suggestions: nobody chooses from the names of a message with
 * thousands.
 */
const maxNames = 100;

/**
 * The effects of a run of messages: gathered until its end, so that what many of them change is
 * written once.
 */
class Slice {
  readonly #store: SliceStore;
  readonly #seen = new Map<ProfileId, Seen>();
  readonly #changes = new Map<ProfileId, Change>();
  /** Created in this slice, and merged only with profiles created in it. */
  readonly #created = new Set<ProfileId>();
  readonly #traits = new Map<string, number>();
  readonly #events = new Map<string, SeenEvent>();

  constructor(store: SliceStore) {
    this.#store = store;
  }

  get isEmpty(): boolean {
    return this.#seen.size === 0;
  }

  create({ id, sourceId }: FollowedMessage, profile: ProfileId): void {
    this.#created.add(profile);
    this.#seen.set(profile, {
      userId: null,
      sources: [sourceId],
      createdBy: id,
      times: null,
    });
  }

  see(profile: ProfileId, message: FollowedMessage): void {
    const seen = this.#seenOf(profile);
    // `createProfile` has written what it adds.
    if (seen.createdBy === message.id) return;
    const { timestamp, sourceId } = message;
    const { firstAt = timestamp, lastAt = timestamp, events = 0 } = seen.times ?? {};
    seen.times = {
      firstAt: Math.min(firstAt, timestamp),
      lastAt: Math.max(lastAt, timestamp),
      events: events + eventsIn(message),
    };
    if (seen.sources.includes(sourceId)) return;
    seen.sources = sourceSet([...seen.sources, sourceId]);
    this.#store.putSources(profile, seen.sources);
  }

  #seenOf(profile: ProfileId): Seen {
    let seen = this.#seen.get(profile);
    if (seen === undefined) {
      seen = { ...this.#store.knownAs(profile), createdBy: null, times: null };
      this.#seen.set(profile, seen);
    }
    return seen;
  }

  /** The message created it, so it has no traits. */
  isFirst(profile: ProfileId, message: FollowedMessage): boolean {
    return this.#seen.get(profile)?.createdBy === message.id;
  }

  traitChanged(profile: ProfileId, name: string): void {
    this.#change(profile).traits.add(name);
  }

  emailAdded(profile: ProfileId, email: string): void {
    this.#change(profile).emails.push({ email: email.toWellFormed(), from: null });
  }

  noteTraits(names: readonly string[]): void {
    count(names, this.#traits);
  }

  event(profile: ProfileId, event: string, properties: JsonObject): void {
    this.#change(profile).events.add(event);
    let known = this.#events.get(event);
    if (known === undefined) {
      known = { times: 0, properties: new Map() };
      this.#events.set(event, known);
    }
    known.times += 1;
    count(Object.keys(properties), known.properties);
  }

  /** The profile has this userId from now on. */
  user(profile: ProfileId, userId: string, before: string | null): void {
    const change = this.#change(profile);
    change.rejoined = true;
    if (before !== null) change.formerUserIds.add(before);
    else this.#addEmails(change, profile);
    this.#seenOf(profile).userId = userId;
  }

  /** Those that the profile had while it was anonymous. */
  #addEmails({ emails }: Change, profile: ProfileId): void {
    // All of its addresses were added in this slice.
    if (this.#created.has(profile)) return;
    for (const email of this.#store.emailsOfProfile(profile))
      if (!emails.some((one) => one.email === email)) emails.push({ email, from: null });
  }

  /** Called before `from` is merged into `into`. */
  merge(from: ProfileId, into: ProfileId): void {
    const change = this.#change(into);
    change.rejoined = true;
    const { userId: former, sources } = this.#seenOf(from);
    if (former !== null) change.formerUserIds.add(former);
    const seen = this.#seen.get(into);
    if (seen !== undefined) seen.sources = sourceSet([...seen.sources, ...sources]);
    const gone = this.#changes.get(from);
    const moved = this.#store.emailsOfProfile(from);
    const known = moved.length === 0 ? [] : this.#store.emailsOfProfile(into);
    for (const email of moved) {
      const added = gone?.emails.find((one) => one.email === email) ?? { email, from: former };
      if (added.from !== null || !known.includes(email)) change.emails.push(added);
    }
    for (const userId of gone?.formerUserIds ?? []) change.formerUserIds.add(userId);
    for (const name of gone?.traits ?? []) change.traits.add(name);
    for (const name of gone?.events ?? []) change.events.add(name);
    if (!this.#created.has(from)) {
      this.#created.delete(into);
      change.isNew = false;
    }
    this.#touch(from);
    this.#changes.delete(from);
    this.#seen.delete(from);
  }

  changed(profileId: ProfileId | null): ChangedProfile | null {
    return profileId === null ? null : (this.#changes.get(profileId) ?? null);
  }

  /**
   * Writes what was gathered. Returns the changes of each profile, and all profiles in the order of
   * their first message.
   */
  finish(): { changes: ProfileChange[]; profiles: ProfileId[] } {
    for (const profile of this.#seen.keys()) this.#touch(profile);
    this.#store.noteSeen({ traits: this.#traits, events: this.#events });
    const changes = [...this.#changes.values()].map(({ formerUserIds, ...change }) => {
      const { userId } = this.#seenOf(change.profileId);
      return {
        userId,
        ...change,
        formerUserIds: [...formerUserIds].filter((former) => former !== userId),
      };
    });
    return { changes, profiles: [...this.#seen.keys()] };
  }

  #touch(profile: ProfileId): void {
    const times = this.#seen.get(profile)?.times ?? null;
    if (times !== null) this.#store.touch(profile, times);
  }

  #change(profile: ProfileId): Change {
    let change = this.#changes.get(profile);
    if (change === undefined) {
      change = {
        profileId: profile,
        traits: new Set(),
        events: new Set(),
        rejoined: false,
        formerUserIds: new Set(),
        emails: [],
        isNew: this.#created.has(profile),
      };
      this.#changes.set(profile, change);
    }
    return change;
  }
}

function sourceSet(sources: readonly SourceId[]): SourceId[] {
  return [...new Set(sources)].sort((a, b) => a - b);
}

function count(names: readonly string[], counts: Map<string, number>): void {
  for (const name of names.slice(0, maxNames)) counts.set(name, (counts.get(name) ?? 0) + 1);
}
