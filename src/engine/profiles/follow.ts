/**
 * Applies messages to profiles, in the order of their rows, within a transaction that the caller holds open. However the
 * messages are cut into slices, the same profiles come of them.
 */

import type { MessageRowId, ProfileId } from "../../domain/ids.ts";
import { isObject, type Json, type JsonObject } from "../../domain/json.ts";
import type { FollowedMessage, ProfileChange, ProfileStore } from "../profile-ports.ts";
import { createIdentities } from "./identity.ts";
import { Slice } from "./slice.ts";

export type Followed = {
  upTo: MessageRowId;
  /** Why it ended: no row is left, the time was up before the rows were, or there are more. */
  end: "no more" | "time" | "limit";
  changes: ProfileChange[];
  /** Those that were seen. */
  profiles: ProfileId[];
  /** Messages that could not be read, and were passed over. */
  unreadable: MessageRowId[];
};

type FollowOptions = {
  store: ProfileStore;
  /** Rows to look at. */
  limit: number;
  /** Asked after each message; what is left then is for the next slice. */
  isTimeUp: () => boolean;
};

export function follow({ store, limit, isTimeUp }: FollowOptions): Followed {
  const slice = new Slice(store);
  const identities = createIdentities({
    store,
    onMake: (profile) => slice.make(profile),
    onMerge: (from, into) => slice.merge(from, into),
    onUser: (profile, userId, before) => slice.user(profile, userId, before),
  });
  const unreadable: MessageRowId[] = [];
  const next = store.nextToFollow(limit);
  let upTo = next.upTo;
  let end: Followed["end"] = next.rows < limit ? "no more" : "limit";
  for (const message of next.messages) {
    if (message.members === null) unreadable.push(message.id);
    else apply(message, message.members);
    if (!isTimeUp()) continue;
    upTo = message.id;
    end = "time";
    break;
  }
  const { changes, profiles } = slice.finish();
  store.markFollowed(upTo);
  return { upTo, end, changes, profiles, unreadable };

  function apply(message: FollowedMessage, members: JsonObject): void {
    const profile = identities.profileOf(message);
    if (profile === null) return;
    slice.see(profile, message.timestamp, message.sourceId);
    switch (message.type) {
      case "identify": {
        const traits = Object.entries(objectOf(members["traits"])).map(([name, value]) => [name.toWellFormed(), value] as const);
        for (const [name, value] of traits) {
          if (store.putTrait(profile, name, value, message.timestamp, message.id)) slice.traitChanged(profile, name);
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
        if (typeof groupId === "string") store.putGroup(profile, groupId, objectOf(members["traits"]), message.timestamp);
      }
    }
  }
}

function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}
