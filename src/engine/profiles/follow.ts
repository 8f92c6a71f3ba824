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
import { createIdentities } from "./identity.ts";

export type Followed = {
  upTo: MessageRowId;
  /** Why it ended: no row was left, the time was over, or `limit` was reached. */
  end: "no more" | "time" | "limit";
  changes: ProfileChange[];
  /** Profiles of the messages. */
  profiles: ProfileId[];
  /** Messages that could not be parsed, and were skipped. */
  unreadable: MessageRowId[];
};

export type ChangedProfile = ProfileEffects & { profileId: ProfileId };

type FollowOptions = {
  store: ProfileStore;
  /** Rows to read. */
  limit: number;
  /**
   * Called after each message, with the effects on its profile so far; the remaining ones are left
   * to the next slice.
   */
  isTimeUp: (changed: ChangedProfile | null) => boolean;
};

export function follow({ store, limit, isTimeUp }: FollowOptions): Followed {
  const slice = new Slice(store);
  const identities = createIdentities({
    store,
    onCreate: (profile) => slice.create(profile),
    onMerge: (from, into) => slice.merge(from, into),
    onUser: (profile, userId, before) => slice.user(profile, userId, before),
  });
  const unreadable: MessageRowId[] = [];
  const next = store.nextToFollow(limit);
  let upTo = next.upTo;
  let end: Followed["end"] = next.rows < limit ? "no more" : "limit";
  for (const message of next.messages) {
    const profile = message.members === null ? null : apply(message, message.members);
    if (message.members === null) unreadable.push(message.id);
    if (!isTimeUp(slice.changed(profile))) continue;
    upTo = message.id;
    end = "time";
    break;
  }
  const { changes, profiles } = slice.finish();
  store.markFollowed(upTo);
  return { upTo, end, changes, profiles, unreadable };

  function apply(message: FollowedMessage, members: JsonObject): ProfileId | null {
    const profile = identities.profileOf(message);
    if (profile === null) return null;
    slice.see(profile, message.timestamp, message.sourceId);
    switch (message.type) {
      case "identify": {
        const traits = Object.entries(objectOf(members["traits"])).map(
          ([name, value]) => [name.toWellFormed(), value] as const,
        );
        for (const [name, value] of traits) {
          if (store.putTrait(profile, name, value, message.timestamp, message.id))
            slice.traitChanged(profile, name);
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

type Seen = { firstAt: number; lastAt: number; events: number };

type Change = {
  traits: Set<string>;
  events: Set<string>;
  rejoined: boolean;
  formerUserIds: Set<string>;
  emails: NewEmail[];
};

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
  readonly #store: Pick<ProfileStore, "touch" | "addSource" | "noteSeen" | "user" | "emailsOf">;
  readonly #seen = new Map<ProfileId, Seen>();
  readonly #sources = new Map<ProfileId, Set<SourceId>>();
  readonly #changes = new Map<ProfileId, Change>();
  /** Created in this slice, and merged only with profiles created in it. */
  readonly #created = new Set<ProfileId>();
  readonly #traits = new Map<string, number>();
  readonly #events = new Map<string, SeenEvent>();

  constructor(store: Pick<ProfileStore, "touch" | "addSource" | "noteSeen" | "user" | "emailsOf">) {
    this.#store = store;
  }

  create(profile: ProfileId): void {
    this.#created.add(profile);
  }

  see(profile: ProfileId, at: number, source: SourceId): void {
    const seen = this.#seen.get(profile);
    if (seen === undefined) this.#seen.set(profile, { firstAt: at, lastAt: at, events: 0 });
    else {
      seen.firstAt = Math.min(seen.firstAt, at);
      seen.lastAt = Math.max(seen.lastAt, at);
    }
    const sources = this.#sources.get(profile);
    if (sources?.has(source) === true) return;
    this.#store.addSource(profile, source);
    if (sources === undefined) this.#sources.set(profile, new Set([source]));
    else sources.add(source);
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

  /** Called after `see`. */
  event(profile: ProfileId, event: string, properties: JsonObject): void {
    const seen = this.#seen.get(profile);
    if (seen !== undefined) seen.events += 1;
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
    change.formerUserIds.delete(userId);
    if (before !== null) change.formerUserIds.add(before);
  }

  /** Called before `from` is merged into `into`. */
  merge(from: ProfileId, into: ProfileId): void {
    const change = this.#change(into);
    change.rejoined = true;
    const former = this.#store.user(from);
    if (former !== null) {
      change.formerUserIds.add(former);
      const moved = this.#store.emailsOf(former);
      change.emails.push(...moved.map((email) => ({ email, from: former })));
    }
    const gone = this.#changes.get(from);
    for (const userId of gone?.formerUserIds ?? []) change.formerUserIds.add(userId);
    for (const name of gone?.traits ?? []) change.traits.add(name);
    for (const name of gone?.events ?? []) change.events.add(name);
    if (!this.#created.has(from)) this.#created.delete(into);
    this.#touch(from);
    this.#changes.delete(from);
    this.#seen.delete(from);
    this.#sources.delete(from);
  }

  changed(profileId: ProfileId | null): ChangedProfile | null {
    const change = profileId === null ? undefined : this.#changes.get(profileId);
    if (profileId === null || change === undefined) return null;
    return { ...change, profileId, isNew: this.#created.has(profileId) };
  }

  /**
   * Writes what was gathered. Returns the changes of each profile, and all profiles in the order of
   * their first message.
   */
  finish(): { changes: ProfileChange[]; profiles: ProfileId[] } {
    for (const profile of this.#seen.keys()) this.#touch(profile);
    this.#store.noteSeen({ traits: this.#traits, events: this.#events });
    const changes = [...this.#changes].map(([profileId, { formerUserIds, ...change }]) => {
      const userId = this.#store.user(profileId);
      return {
        profileId,
        userId,
        ...change,
        isNew: this.#created.has(profileId),
        formerUserIds: [...formerUserIds].filter((former) => former !== userId),
      };
    });
    return { changes, profiles: [...this.#seen.keys()] };
  }

  #touch(profile: ProfileId): void {
    const seen = this.#seen.get(profile);
    if (seen !== undefined) this.#store.touch(profile, seen);
  }

  #change(profile: ProfileId): Change {
    let change = this.#changes.get(profile);
    if (change === undefined) {
      change = {
        traits: new Set(),
        events: new Set(),
        rejoined: false,
        formerUserIds: new Set(),
        emails: [],
      };
      this.#changes.set(profile, change);
    }
    return change;
  }
}

function count(names: readonly string[], counts: Map<string, number>): void {
  for (const name of names.slice(0, maxNames)) counts.set(name, (counts.get(name) ?? 0) + 1);
}
