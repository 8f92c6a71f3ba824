/**
 * Profiles as they are built: the messages that are to be followed, and what each of them leaves.
 * Every call is one or a few statements by an index; the follower makes a transaction of many.
 */

import type { MessageRowId, ProfileId, SourceId } from "../domain/ids.ts";
import { isObject, type Json, type JsonObject } from "../domain/json.ts";
import { MemberRemoval } from "../domain/member-path.ts";
import type { MessageType } from "../domain/states.ts";
import type {
  FollowedMessage,
  HistoryKind,
  IdentityKind,
  IdentityValue,
  ProfileStore,
} from "../engine/profile-ports.ts";
import { stateCode, typeAt, typeCode } from "./codes.ts";
import type { LastSeen } from "./last-seen.ts";
import { Recent } from "./recent.ts";
import type { RequestBodies } from "./request-bodies.ts";
import { createProfileRemoval, maxEmails } from "./profile-removal.ts";
import { placeOrText } from "./shared-bytes.ts";
import type { Db, Transactions } from "./transactions.ts";

type Row = {
  id: number;
  request_id: number;
  offset: number;
  size: number;
  source_id: number;
  type: number;
  state: number;
  user_id: string | null;
  anonymous_id: string | null;
  event: string | null;
  timestamp: number;
  extra: string | null;
};

const rejected = stateCode("rejected");
const duplicate = stateCode("duplicate");
const deletion = typeCode("delete");
/** What these leave in a profile is in the row: they are not parsed. */
const rowSuffices: ReadonlySet<number> = new Set([typeCode("page"), typeCode("screen")]);

const identityKinds: readonly IdentityKind[] = ["userId", "anonymousId"];
const identityCode = (kind: IdentityKind): 0 | 1 => (kind === "userId" ? 0 : 1);
export const identityKindAt = (code: number): IdentityKind => identityKinds[code] as IdentityKind;

type Building = Pick<
  ProfileStore,
  | "followed"
  | "nextToFollow"
  | "markFollowed"
  | "profileOf"
  | "profileWithUser"
  | "createProfile"
  | "touch"
  | "addIdentity"
  | "setUser"
  | "putTraits"
  | "addEmail"
  | "emailsOf"
  | "emailsOfProfile"
  | "addEvent"
  | "putGroup"
  | "knownAs"
  | "putSources"
  | "addHistory"
  | "hasManyEvents"
  | "mergeEvents"
  | "merge"
  | "removeProfile"
  | "removeRest"
  | "user"
  | "userIdsOf"
>;

/** The id of the profile whose current userId it is: a former one is among its identities too. */
export const profileOfUser = (userId: string): string =>
  `SELECT id FROM profiles WHERE user_id = ${userId} AND id =
     (SELECT profile_id FROM identities WHERE kind = 0 AND value = ${userId})`;

/** As many lines of a profile's history are shown. */
export const maxHistory = 1000;

/**
 * The history of a profile is trimmed with each of its lines whose id this divides: one in a hundred,
 * and a prime, so that profiles whose lines alternate all have their turn.
 */
const trimEvery = 101;

/** Identities, and profiles, in memory: some 4 MB. */
const maxRecent = 20_000;

type ProfileStoreOptions = {
  db: Db;
  bodies: RequestBodies;
  lastSeen: LastSeen;
  transactions: Transactions;
};

export function createProfileStore({
  db,
  bodies,
  lastSeen,
  transactions,
}: ProfileStoreOptions): Building {
  const identity = db
    .prepare<[number, string], number>(
      "SELECT profile_id FROM identities WHERE kind = ? AND value = ?",
    )
    .pluck();
  const insertProfile = db.prepare<[string | null, number, number, number, string]>(
    "INSERT INTO profiles (user_id, first_seen_at, last_seen_at, events, sources) VALUES (?, ?, ?, ?, ?)",
  );
  const touch = db.prepare<[number, number, number, number]>(
    "UPDATE profiles SET first_seen_at = min(first_seen_at, ?), last_seen_at = max(last_seen_at, ?), events = events + ? WHERE id = ?",
  );
  const putIdentity = db.prepare<[number, string, number, number, number]>(
    `INSERT INTO identities VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET profile_id = excluded.profile_id, since = excluded.since, message_id = excluded.message_id`,
  );
  const setUser = db.prepare<[string, number]>("UPDATE profiles SET user_id = ? WHERE id = ?");
  const user = db
    .prepare<[number], string | null>("SELECT user_id FROM profiles WHERE id = ?")
    .pluck();
  const known = db.prepare<[number], { userId: string | null; sources: string }>(
    "SELECT user_id AS userId, sources FROM profiles WHERE id = ?",
  );
  const userIds = db
    .prepare<[number, number], string>(
      "SELECT value FROM identities WHERE profile_id = ? AND kind = ?",
    )
    .pluck();
  const insertEvent = db.prepare<[number, number, string, number, string]>(
    "INSERT INTO profile_events VALUES (?, ?, ?, ?, ?)",
  );
  const putSources = db.prepare<[string, number]>("UPDATE profiles SET sources = ? WHERE id = ?");
  const insertHistory = db.prepare<[number, number, string, string, number]>(
    "INSERT INTO profile_history (profile_id, at, kind, body, message_id) VALUES (?, ?, ?, ?, ?)",
  );
  const trimHistory = db.prepare<{ profile: number }>(
    `DELETE FROM profile_history WHERE id IN (
       SELECT id FROM profile_history WHERE profile_id = @profile AND id <
         (SELECT id FROM profile_history WHERE profile_id = @profile ORDER BY id DESC LIMIT 1 OFFSET ${maxHistory - 1})
       ORDER BY id LIMIT ${maxHistory})`,
  );

  const { removeProfile, isRemoving, merge, ...removing } = createProfileRemoval(
    db,
    lastSeen,
    transactions,
  );
  const read = (code: number, value: string): ProfileId | null => {
    const found = identity.get(code, value);
    return found === undefined || isRemoving(found) ? null : (found as ProfileId);
  };
  const profilesOf = identityKinds.map(
    (_, code) => new Recent(transactions, maxRecent, (value: string) => read(code, value)),
  ) as [userIds: Recent<string, ProfileId | null>, anonymousIds: Recent<string, ProfileId | null>];
  const profileOf = ({ kind, value }: IdentityValue): ProfileId | null =>
    profilesOf[identityCode(kind)].get(value);
  const knownAs = new Recent(transactions, maxRecent, (profile: ProfileId) => {
    const { userId, sources } = known.get(profile) as { userId: string | null; sources: string };
    return { userId, sources: JSON.parse(sources) as SourceId[] };
  });
  /** Many identities lead to a profile that goes. */
  const forgetAll = (): void => {
    for (const recent of [...profilesOf, knownAs]) recent.rollback();
  };

  const { textOf, ...followingMethods } = following(db, bodies);
  return {
    ...followingMethods,
    profileOf,
    profileWithUser: (userId) => profileOf({ kind: "userId", value: userId.toWellFormed() }),
    createProfile(at, userId, { sources, events } = { sources: [], events: 0 }) {
      const { lastInsertRowid } = insertProfile.run(
        userId,
        at,
        at,
        events,
        JSON.stringify(sources),
      );
      const profile = Number(lastInsertRowid) as ProfileId;
      lastSeen.note(profile, at);
      knownAs.put(profile, { userId, sources });
      return profile;
    },
    knownAs: (profile) => knownAs.get(profile),
    touch(profile, { firstAt, lastAt, events }) {
      touch.run(firstAt, lastAt, events, profile);
      lastSeen.note(profile, lastAt);
    },
    addIdentity(profile, { kind, value }: IdentityValue, at, messageId) {
      putIdentity.run(identityCode(kind), value, profile, at, messageId);
      profilesOf[identityCode(kind)].put(value, profile);
    },
    setUser(profile, userId) {
      setUser.run(userId, profile);
      knownAs.forget(profile);
    },
    user: (profile) => user.get(profile) as string | null,
    userIdsOf: (profile) => userIds.all(profile, identityCode("userId")),
    addEvent: (profile, event, at, properties, messageId) =>
      void insertEvent.run(messageId, profile, event, at, textOf(properties, messageId)),
    putSources(profile, sources) {
      putSources.run(JSON.stringify(sources), profile);
      knownAs.forget(profile);
    },
    addHistory(profile, at, kind: HistoryKind, detail, messageId) {
      const { lastInsertRowid } = insertHistory.run(profile, at, kind, detail, messageId);
      if (Number(lastInsertRowid) % trimEvery === 0) trimHistory.run({ profile });
    },
    putTraits: puttingTraits(db),
    putGroup: puttingGroups(db),
    ...keepingEmails(db),
    merge(from, into) {
      forgetAll();
      return merge(from, into);
    },
    removeProfile(profile) {
      forgetAll();
      removeProfile(profile);
    },
    ...removing,
  };
}

/** Traits that one statement reads or writes: an identify seldom has more. */
const traitsAtOnce = 8;

type StoredTrait = { name: string; value: string; at: number; message_id: number };

function puttingTraits(db: Db): ProfileStore["putTraits"] {
  const list = (item: string, length: number): string => Array(length).fill(item).join(", ");
  const statements = Array.from({ length: traitsAtOnce }, (_, place) => ({
    read: db.prepare<unknown[], StoredTrait>(
      `SELECT name, value, at, message_id FROM profile_traits
       WHERE profile_id = ? AND name IN (${list("?", place + 1)})`,
    ),
    put: db.prepare(
      `INSERT OR REPLACE INTO profile_traits VALUES ${list("(?, ?, ?, ?, ?)", place + 1)}`,
    ),
  }));

  return (profile, traits, { at, messageId, isFirst = false }) => {
    const changed: string[] = [];
    for (let from = 0; from < traits.length; from += traitsAtOnce) {
      const some = traits.slice(from, from + traitsAtOnce);
      const known = new Map<string, StoredTrait>();
      const { read } = statements[some.length - 1] as (typeof statements)[number];
      const before = isFirst ? [] : read.all(profile, ...some.map(([name]) => name));
      for (const trait of before) known.set(trait.name, trait);
      const newer: unknown[] = [];
      for (const [name, value] of some) {
        const stored = known.get(name);
        if (
          stored !== undefined &&
          (stored.at > at || (stored.at === at && stored.message_id > messageId))
        )
          continue;
        const text = JSON.stringify(value);
        newer.push(profile, name, text, at, messageId);
        if (text !== (stored?.value ?? "null")) changed.push(name);
      }
      statements[newer.length / 5 - 1]?.put.run(...newer);
    }
    return changed;
  };
}

function keepingEmails(db: Db): Pick<ProfileStore, "addEmail" | "emailsOf" | "emailsOfProfile"> {
  const putEmail = db.prepare<{ profile: number; email: string }>(
    `INSERT OR IGNORE INTO profile_emails SELECT @profile, @email
     WHERE (SELECT count(*) FROM profile_emails WHERE profile_id = @profile) < ${maxEmails}`,
  );
  const select = "SELECT email FROM profile_emails WHERE profile_id =";
  const ofUser = db
    .prepare<{ userId: string }, string>(`${select} (${profileOfUser("@userId")}) ORDER BY email`)
    .pluck();
  const ofProfile = db.prepare<[number], string>(`${select} ? ORDER BY email`).pluck();
  return {
    addEmail: (profile, email) => putEmail.run({ profile, email }).changes > 0,
    emailsOf: (userId) => ofUser.all({ userId }),
    emailsOfProfile: (profile) => ofProfile.all(profile),
  };
}

function puttingGroups(db: Db): ProfileStore["putGroup"] {
  const putMembership = db.prepare<[number, string, number]>(
    "INSERT INTO profile_groups VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET at = max(at, excluded.at)",
  );
  const group = db.prepare<[string], { traits: string }>(
    "SELECT traits FROM groups WHERE group_id = ?",
  );
  const putGroup = db.prepare<[string, string, number]>(
    "INSERT INTO groups VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET traits = excluded.traits, at = max(at, excluded.at)",
  );
  return (profile, groupId, traits, at) => {
    putMembership.run(profile, groupId, at);
    putGroup.run(groupId, mergedGroupTraits(group.get(groupId)?.traits, traits, at), at);
  };
}

/** Each member with its own time, so that an older message does not bring back an older value. */
type GroupTraits = Record<string, [value: Json, at: number]>;

/** Each call of a group writes all of its traits again. */
const maxGroupTraits = 131_072;

function mergedGroupTraits(before: string | undefined, traits: JsonObject, at: number): string {
  const known = new Map(
    Object.entries(before === undefined ? {} : (JSON.parse(before) as GroupTraits)),
  );
  for (const [name, value] of Object.entries(traits))
    if (at >= (known.get(name)?.[1] ?? -Infinity)) known.set(name, [value, at]);
  const text = JSON.stringify(Object.fromEntries(known));
  if (text.length <= maxGroupTraits) return text;
  // Those that were sent last stay.
  let length = 0;
  const kept = [...known]
    .toSorted(([, [, a]], [, [, b]]) => b - a)
    .filter((member) => (length += JSON.stringify(member).length) <= maxGroupTraits);
  return JSON.stringify(Object.fromEntries(kept));
}

export function groupTraits(text: string): JsonObject {
  const known = Object.entries(JSON.parse(text) as GroupTraits);
  return Object.fromEntries(
    known.flatMap(([name, [value]]) => (value === null ? [] : [[name, value]])),
  );
}

/** Rows of messages: more only when the reader gets there. */
const readAtOnce = 64;

type Following = Pick<ProfileStore, "followed" | "nextToFollow" | "markFollowed"> & {
  /** As it is stored: the message that was read last has its large properties. */
  textOf(properties: JsonObject, messageId: MessageRowId): string;
};

function following(db: Db, bodies: RequestBodies): Following {
  const upTo = db.prepare<[], string>("SELECT value FROM meta WHERE key = 'followed'").pluck();
  const mark = db.prepare<[string]>(
    "INSERT INTO meta VALUES ('followed', ?) ON CONFLICT DO UPDATE SET value = excluded.value",
  );
  const newest = db.prepare<[], number>("SELECT coalesce(max(id), 0) FROM messages").pluck();
  const after = db.prepare<[number, number], Row>(
    `SELECT id, request_id, offset, size, source_id, type, state, user_id, anonymous_id, event, timestamp, extra
     FROM messages WHERE id > ? ORDER BY id LIMIT ?`,
  );
  const followedUpTo = (): number => Number(upTo.get() ?? 0);

  let latest: { row: Row; body: Buffer } | null = null;

  /** Read one by one, because the reader may stop after any of them. */
  function* read(rows: readonly Row[]): Generator<FollowedMessage> {
    let request = -1;
    let body: Buffer | undefined;
    for (const row of rows) {
      if (!isFollowed(row)) continue;
      if (row.request_id !== request) {
        request = row.request_id;
        body = bodies.get(request);
      }
      latest = body === undefined ? null : { row, body };
      yield messageOf(row, body);
    }
    latest = null;
  }

  return {
    followed() {
      const from = followedUpTo();
      return {
        upTo: from as MessageRowId,
        newest: Math.max(from, newest.get() as number) as MessageRowId,
      };
    },
    nextToFollow(limit) {
      const from = followedUpTo();
      let rows = after.all(from, Math.min(limit, readAtOnce));
      const next = { messages: messages(), rows: rows.length, upTo: lastOf(from) };
      return next;

      function lastOf(before: number): MessageRowId {
        return (rows.at(-1)?.id ?? before) as MessageRowId;
      }
      function* messages(): Generator<FollowedMessage> {
        while (rows.length > 0) {
          yield* read(rows);
          rows = after.all(next.upTo, Math.min(limit - next.rows, readAtOnce));
          next.rows += rows.length;
          next.upTo = lastOf(next.upTo);
        }
      }
    },
    markFollowed: (row) => void mark.run(String(row)),
    textOf(properties, messageId) {
      return latest?.row.id === messageId
        ? placeOrText(properties, { ...latest.row, body: latest.body })
        : JSON.stringify(properties);
    },
  };
}

type Extra = {
  replayOf?: number;
  /** A replay in place of a message that did not count. */
  counts?: boolean;
  computed?: boolean;
  /** What its tracking plan did: it goes nowhere, or without some members. */
  blocked?: boolean;
  dropped?: string[][];
};

function isFollowed({ state, type, extra }: Row): boolean {
  if (state === rejected || state === duplicate || type === deletion) return false;
  if (extra === null) return true;
  const { replayOf, counts, computed, blocked } = JSON.parse(extra) as Extra;
  return (replayOf === undefined || counts === true) && computed !== true && blocked !== true;
}

function messageOf(row: Row, body: Buffer | undefined): FollowedMessage {
  const { dropped = [] } = row.extra === null ? {} : (JSON.parse(row.extra) as Extra);
  const members = rowSuffices.has(row.type)
    ? {}
    : body === undefined
      ? null
      : membersOf(body.toString("utf8", row.offset, row.offset + row.size));
  return {
    id: row.id as MessageRowId,
    sourceId: row.source_id as SourceId,
    // Only what is rejected has no type that is known.
    type: typeAt(row.type) as MessageType,
    userId: row.user_id,
    anonymousId: row.anonymous_id,
    event: row.event,
    timestamp: row.timestamp,
    members: members === null ? null : without(members, dropped),
  };
}

function without(members: JsonObject, paths: readonly (readonly string[])[]): JsonObject {
  const removal = new MemberRemoval(members);
  for (const path of paths) removal.remove(path);
  return removal.rest;
}

function membersOf(text: string): JsonObject | null {
  try {
    const members = JSON.parse(text) as Json;
    return isObject(members) ? members : null;
  } catch {
    return null;
  }
}
