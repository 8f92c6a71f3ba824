/** What a run of messages does, gathered until its end: what is written once for many of them, and what is told of it. */

import type { ProfileId, SourceId } from "../../domain/ids.ts";
import type { JsonObject } from "../../domain/json.ts";
import type { ProfileChange, ProfileStore } from "../profile-ports.ts";

type Seen = { firstAt: number; lastAt: number; events: number };

type Change = {
  traits: Set<string>;
  events: Set<string>;
  rejoined: boolean;
  formerUserIds: Set<string>;
};

type SeenEvent = { times: number; properties: Map<string, number> };

/** Names that one message adds to the suggestions: one that has thousands is not what people choose names from. */
const mostNames = 100;

export class Slice {
  readonly #store: Pick<ProfileStore, "touch" | "addSource" | "noteSeen" | "user">;
  readonly #seen = new Map<ProfileId, Seen>();
  readonly #sources = new Map<ProfileId, Set<SourceId>>();
  readonly #changes = new Map<ProfileId, Change>();
  /** Those that were made in this run, and were joined by no other but such. */
  readonly #made = new Set<ProfileId>();
  readonly #traits = new Map<string, number>();
  readonly #events = new Map<string, SeenEvent>();

  constructor(store: Pick<ProfileStore, "touch" | "addSource" | "noteSeen" | "user">) {
    this.#store = store;
  }

  make(profile: ProfileId): void {
    this.#made.add(profile);
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

  noteTraits(names: readonly string[]): void {
    count(names, this.#traits);
  }

  /** After `see`. */
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

  /** The profile goes by this userId from now on. */
  user(profile: ProfileId, userId: string, before: string | null): void {
    const change = this.#change(profile);
    change.rejoined = true;
    change.formerUserIds.delete(userId);
    if (before !== null) change.formerUserIds.add(before);
  }

  /** Before `from` is joined to `into`. */
  merge(from: ProfileId, into: ProfileId): void {
    const change = this.#change(into);
    change.rejoined = true;
    const former = this.#store.user(from);
    if (former !== null) change.formerUserIds.add(former);
    const gone = this.#changes.get(from);
    for (const userId of gone?.formerUserIds ?? []) change.formerUserIds.add(userId);
    for (const name of gone?.traits ?? []) change.traits.add(name);
    for (const name of gone?.events ?? []) change.events.add(name);
    if (!this.#made.has(from)) this.#made.delete(into);
    this.#touch(from);
    this.#changes.delete(from);
    this.#seen.delete(from);
    this.#sources.delete(from);
  }

  /** Writes what was gathered. Answers what it did to each profile, and which profiles it met, in the order of their first message. */
  finish(): { changes: ProfileChange[]; profiles: ProfileId[] } {
    for (const profile of this.#seen.keys()) this.#touch(profile);
    this.#store.noteSeen({ traits: this.#traits, events: this.#events });
    const changes = [...this.#changes].map(([profileId, { formerUserIds, ...change }]) => {
      const userId = this.#store.user(profileId);
      return {
        profileId,
        userId,
        ...change,
        isNew: this.#made.has(profileId),
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
      change = { traits: new Set(), events: new Set(), rejoined: false, formerUserIds: new Set() };
      this.#changes.set(profile, change);
    }
    return change;
  }
}

function count(names: readonly string[], counts: Map<string, number>): void {
  for (const name of names.slice(0, mostNames)) counts.set(name, (counts.get(name) ?? 0) + 1);
}
