/**
 * Which profile a message belongs to, and what it joins.
 *
 * A message with both a userId and an anonymousId says that the two are one user; so does an alias of its previousId and its
 * userId. An anonymous profile then becomes the user's, or is joined to the one that the user has. An anonymousId that
 * belongs to another known user already is a device that two people share: it goes on to the new one, and what was done
 * before stays. An alias of two known users joins them, for that is what it says. A profile goes by the userId that was
 * joined last, and keeps all its identities.
 */

import type { ProfileId } from "../../domain/ids.ts";
import type { FollowedMessage, IdentityValue, ProfileStore } from "../profile-ports.ts";
import * as sentences from "./sentences.ts";

type Identities = {
  /** Null for a message that names nobody. */
  profileOf(message: FollowedMessage): ProfileId | null;
};

type IdentitiesOptions = {
  store: Pick<ProfileStore, "profileOf" | "createProfile" | "addIdentity" | "setUser" | "user" | "addHistory" | "merge">;
  onMake: (profile: ProfileId) => void;
  /** Told before `from` is gone. */
  onMerge: (from: ProfileId, into: ProfileId) => void;
  onUser: (profile: ProfileId, userId: string, before: string | null) => void;
};

const user = (value: string): IdentityValue => ({ kind: "userId", value });
const anonymous = (value: string): IdentityValue => ({ kind: "anonymousId", value });

export function createIdentities({ store, onMake, onMerge, onUser }: IdentitiesOptions): Identities {
  function create(message: FollowedMessage, identities: readonly IdentityValue[]): ProfileId {
    const userId = identities.find(({ kind }) => kind === "userId")?.value ?? null;
    const profile = store.createProfile(message.timestamp, userId);
    onMake(profile);
    for (const identity of identities) add(message, profile, identity);
    store.addHistory(profile, message.timestamp, "created", sentences.created(message, identities), message.id);
    if (userId !== null) onUser(profile, userId, null);
    return profile;
  }

  const add = ({ timestamp, id }: FollowedMessage, profile: ProfileId, identity: IdentityValue): void =>
    store.addIdentity(profile, identity, timestamp, id);

  /** It goes by this userId from now on. */
  function named(profile: ProfileId, userId: string): ProfileId {
    const before = store.user(profile);
    if (before === userId) return profile;
    store.setUser(profile, userId);
    onUser(profile, userId, before);
    return profile;
  }

  function merge(message: FollowedMessage, from: ProfileId, into: ProfileId, by: IdentityValue): ProfileId {
    onMerge(from, into);
    const { events } = store.merge(from, into);
    store.addHistory(into, message.timestamp, "merged", sentences.merged(message, by, events), message.id);
    return into;
  }

  function alone(message: FollowedMessage, identity: IdentityValue): ProfileId {
    return store.profileOf(identity) ?? create(message, [identity]);
  }

  function joinAnonymous(message: FollowedMessage, userId: string, anonymousId: string): ProfileId {
    const known = store.profileOf(user(userId));
    const other = store.profileOf(anonymous(anonymousId));
    const { timestamp, id } = message;
    if (other === null) {
      if (known === null) return create(message, [user(userId), anonymous(anonymousId)]);
      add(message, known, anonymous(anonymousId));
      store.addHistory(known, timestamp, "identified", sentences.added(message, anonymous(anonymousId), userId), id);
      return known;
    }
    if (other === known) return known;
    const owner = store.user(other);
    if (owner === null && known !== null) return merge(message, other, known, anonymous(anonymousId));
    if (owner === null) {
      add(message, other, user(userId));
      store.addHistory(other, timestamp, "identified", sentences.identified(message, anonymousId, userId), id);
      return named(other, userId);
    }
    const into = known ?? alone(message, user(userId));
    add(message, into, anonymous(anonymousId));
    const detail = sentences.moved(message, anonymousId, owner, userId);
    for (const profile of [other, into]) store.addHistory(profile, timestamp, "moved", detail, id);
    return into;
  }

  function alias(message: FollowedMessage, userId: string, previousId: string): void {
    if (previousId === userId) return;
    const previous = store.profileOf(user(previousId));
    if (previous !== null) named(joinUsers(message, userId, previous, previousId), userId);
    else if (store.profileOf(anonymous(previousId)) !== null) named(joinAnonymous(message, userId, previousId), userId);
    else {
      // Nothing has come of it yet. What comes may call it a userId or an anonymousId.
      const profile = alone(message, user(userId));
      for (const identity of [user(previousId), anonymous(previousId)]) add(message, profile, identity);
      store.addHistory(profile, message.timestamp, "identified", sentences.added(message, user(previousId), userId), message.id);
      named(profile, userId);
    }
  }

  function joinUsers(message: FollowedMessage, userId: string, previous: ProfileId, previousId: string): ProfileId {
    const known = store.profileOf(user(userId));
    if (known === previous) return known;
    if (known !== null) return merge(message, previous, known, user(previousId));
    add(message, previous, user(userId));
    store.addHistory(previous, message.timestamp, "identified", sentences.added(message, user(previousId), userId), message.id);
    return previous;
  }

  return {
    profileOf(message) {
      const { userId, anonymousId, type, members } = message;
      const previousId = members?.["previousId"];
      if (type === "alias" && userId !== null && typeof previousId === "string") alias(message, userId, previousId.toWellFormed());
      if (userId !== null && anonymousId !== null) return joinAnonymous(message, userId, anonymousId);
      if (userId !== null) return alone(message, user(userId));
      return anonymousId === null ? null : alone(message, anonymous(anonymousId));
    },
  };
}
