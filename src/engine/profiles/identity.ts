/**
 * Finds the profile of a message, and creates and merges profiles.
 *
 * A message with both a userId and an anonymousId says that the two are one user; an alias says the
 * same of its previousId and its userId. An anonymous profile then becomes the user's, or is merged
 * into the user's profile. An anonymousId that already belongs to another known user is a device
 * that two people share: it moves to the new user, and earlier events stay. An alias of two known
 * users merges them. A profile has the userId that was added last, and keeps all its identities.
 */

import type { ProfileId } from "../../domain/ids.ts";
import type {
  FollowedMessage,
  HistoryKind,
  IdentityValue,
  ProfileStore,
} from "../profile-ports.ts";

type Identities = {
  /** Null for a message without a userId and an anonymousId. */
  profileOf(message: FollowedMessage): ProfileId | null;
};

type IdentitiesOptions = {
  store: Pick<
    ProfileStore,
    "profileOf" | "createProfile" | "addIdentity" | "setUser" | "user" | "addHistory" | "merge"
  >;
  onCreate: (message: FollowedMessage, profile: ProfileId) => void;
  /** Called before `from` is removed. When it throws, nothing was merged. */
  onMerge: (message: FollowedMessage, from: ProfileId, into: ProfileId) => void;
  onUser: (profile: ProfileId, userId: string, before: string | null) => void;
};

const user = (value: string): IdentityValue => ({ kind: "userId", value });
const anonymous = (value: string): IdentityValue => ({ kind: "anonymousId", value });

/** How many events it adds to a profile. */
export const eventsIn = ({ type, event }: FollowedMessage): number =>
  type === "track" && event !== null ? 1 : 0;

export function createIdentities(options: IdentitiesOptions): Identities {
  const { store } = options;
  const { add, create, merge, addHistory, setUser } = createWrites(options);

  const findOrCreate = (message: FollowedMessage, identity: IdentityValue): ProfileId =>
    store.profileOf(identity) ?? create(message, [identity]);

  function joinAnonymous(message: FollowedMessage, userId: string, anonymousId: string): ProfileId {
    const known = store.profileOf(user(userId));
    const other = store.profileOf(anonymous(anonymousId));
    if (other === null) {
      if (known === null) return create(message, [user(userId), anonymous(anonymousId)]);
      add(message, known, anonymous(anonymousId));
      addHistory(
        message,
        known,
        "identified",
        addedDetail(message, anonymous(anonymousId), userId),
      );
      return known;
    }
    if (other === known) return known;
    const owner = store.user(other);
    if (owner === null && known !== null)
      return merge(message, other, known, anonymous(anonymousId));
    if (owner === null) {
      add(message, other, user(userId));
      addHistory(message, other, "identified", identifiedDetail(message, anonymousId, userId));
      return setUser(other, userId);
    }
    const into = known ?? findOrCreate(message, user(userId));
    add(message, into, anonymous(anonymousId));
    const detail = movedDetail(message, anonymousId, owner, userId);
    for (const profile of [other, into]) addHistory(message, profile, "moved", detail);
    return into;
  }

  function alias(message: FollowedMessage, userId: string, previousId: string): void {
    if (previousId === userId) return;
    const previous = store.profileOf(user(previousId));
    if (previous !== null) setUser(joinUsers(message, userId, previous, previousId), userId);
    else if (store.profileOf(anonymous(previousId)) !== null)
      setUser(joinAnonymous(message, userId, previousId), userId);
    else {
      // Not seen before. A later message may have it as a userId or as an anonymousId, unless this
      // one says which it is.
      const profile = findOrCreate(message, user(userId));
      const identities = [anonymous(previousId)];
      if (message.anonymousId !== previousId) identities.unshift(user(previousId));
      for (const identity of identities) add(message, profile, identity);
      addHistory(
        message,
        profile,
        "identified",
        addedDetail(message, identities[0] as IdentityValue, userId),
      );
      setUser(profile, userId);
    }
  }

  function joinUsers(
    message: FollowedMessage,
    userId: string,
    previous: ProfileId,
    previousId: string,
  ): ProfileId {
    const known = store.profileOf(user(userId));
    if (known === previous) return known;
    if (known !== null) return merge(message, previous, known, user(previousId));
    add(message, previous, user(userId));
    addHistory(message, previous, "identified", addedDetail(message, user(previousId), userId));
    return previous;
  }

  return {
    profileOf(message) {
      const { userId, anonymousId, type, members } = message;
      const previousId = members?.["previousId"];
      if (type === "alias" && userId !== null && typeof previousId === "string")
        alias(message, userId, previousId.toWellFormed());
      if (userId !== null && anonymousId !== null)
        return joinAnonymous(message, userId, anonymousId);
      if (userId !== null) return findOrCreate(message, user(userId));
      return anonymousId === null ? null : findOrCreate(message, anonymous(anonymousId));
    },
  };
}

/** What happens to a profile, with its line in the history. */
function createWrites({ store, onCreate, onMerge, onUser }: IdentitiesOptions) {
  function create(message: FollowedMessage, identities: readonly IdentityValue[]): ProfileId {
    const userId = identities.find(({ kind }) => kind === "userId")?.value ?? null;
    const profile = store.createProfile(message.timestamp, userId, {
      sources: [message.sourceId],
      events: eventsIn(message),
    });
    onCreate(message, profile);
    for (const identity of identities) add(message, profile, identity);
    addHistory(message, profile, "created", createdDetail(message, identities));
    if (userId !== null) onUser(profile, userId, null);
    return profile;
  }

  const add = (
    { timestamp, id }: FollowedMessage,
    profile: ProfileId,
    identity: IdentityValue,
  ): void => store.addIdentity(profile, identity, timestamp, id);

  const addHistory = (
    message: FollowedMessage,
    profile: ProfileId,
    kind: HistoryKind,
    detail: string,
  ): void => store.addHistory(profile, message.timestamp, kind, detail, message.id);

  function setUser(profile: ProfileId, userId: string): ProfileId {
    const before = store.user(profile);
    if (before === userId) return profile;
    store.setUser(profile, userId);
    onUser(profile, userId, before);
    return profile;
  }

  function merge(
    message: FollowedMessage,
    from: ProfileId,
    into: ProfileId,
    by: IdentityValue,
  ): ProfileId {
    onMerge(message, from, into);
    const { events } = store.merge(from, into);
    addHistory(message, into, "merged", mergedDetail(message, by, events));
    return into;
  }

  return { add, create, merge, addHistory, setUser };
}

// The sentences of a profile's history.

/** Of an id in a sentence. */
const maxQuoted = 100;

const quoted = (value: string): string =>
  `"${value.length > maxQuoted ? `${value.slice(0, maxQuoted)}…` : value}"`;
const identityName = ({ kind, value }: IdentityValue): string => `${kind} ${quoted(value)}`;
const userNamed = (userId: string): string => `userId ${quoted(userId)}`;

function messageName({ type }: FollowedMessage, { capital = false } = {}): string {
  const article = /^[aeiou]/.test(type) ? "an" : "a";
  return `${capital ? `${article.charAt(0).toUpperCase()}${article.slice(1)}` : article} ${type}`;
}

function createdDetail(by: FollowedMessage, identities: readonly IdentityValue[]): string {
  return `Created by ${messageName(by)} with ${identities.map(identityName).join(" and ")}.`;
}

function identifiedDetail(by: FollowedMessage, anonymousId: string, userId: string): string {
  return `${messageName(by, { capital: true })} linked anonymousId ${quoted(anonymousId)} to ${userNamed(userId)}. Earlier events count for the user.`;
}

function addedDetail(by: FollowedMessage, identity: IdentityValue, userId: string): string {
  return `${messageName(by, { capital: true })} added ${identityName(identity)} to ${userNamed(userId)}.`;
}

function mergedDetail(by: FollowedMessage, identity: IdentityValue, events: number): string {
  const along =
    events === 0 ? "" : events === 1 ? ", and one event with it" : `, and ${events} events with it`;
  return `${messageName(by, { capital: true })} merged the profile of ${identityName(identity)} into this one${along}.`;
}

function movedDetail(by: FollowedMessage, anonymousId: string, from: string, to: string): string {
  return `${messageName(by, { capital: true })} moved anonymousId ${quoted(anonymousId)} from ${userNamed(from)} to ${userNamed(to)}: two users on one device. Earlier events stay with the first.`;
}
