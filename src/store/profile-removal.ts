/**
 * Removes a profile, or merges it into another.
 *
 * Of one that is removed, what it knows goes at once, and nobody finds it any more; of its
 * identities, its events and its history only so many go, because one user may have a million. The
 * rest goes with later calls, also after a restart: until then its identities lead to no profile,
 * and may become those of another one.
 *
 * Of one that is merged, all goes at once. If it has too many events for that, most of them move
 * with earlier calls.
 */

import type { ProfileId } from "../domain/ids.ts";
import type { ProfileStore } from "../engine/profile-ports.ts";
import type { LastSeen } from "./last-seen.ts";
import type { Db, Transactions } from "./transactions.ts";

/** Rows that one call deletes or moves: some 5 or 10 ms. */
const rowsAtOnce = 5000;

/** Audiences send a call for each: a user with a thousand of them would make a thousand. */
export const maxEmails = 5;

const tables = ["profile_traits", "profile_emails", "profile_groups"];

export function createProfileRemoval(
  db: Db,
  lastSeen: LastSeen,
  transactions: Transactions,
): Pick<
  ProfileStore,
  "hasManyEvents" | "mergeEvents" | "merge" | "removeProfile" | "removeRest"
> & {
  isRemoving(profile: number): boolean;
} {
  const strips = [
    ...tables.map((table) => `DELETE FROM ${table} WHERE profile_id = ?`),
    "UPDATE profiles SET user_id = NULL WHERE id = ?",
  ].map((sql) => db.prepare<[number]>(sql));
  const some = (table: string, key = "id") =>
    db.prepare<[number, number]>(
      `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE profile_id = ? LIMIT ?)`,
    );
  const someIdentities = some("identities", "kind, value");
  const someEvents = some("profile_events");
  const someHistory = some("profile_history");
  const countEvents = db.prepare<[number, number]>(
    "UPDATE profiles SET events = events - ? WHERE id = ?",
  );
  const removeRow = db.prepare<[number]>("DELETE FROM profiles WHERE id = ?");
  const rests = db.prepare<[], string>("SELECT value FROM meta WHERE key = 'removing'").pluck();
  const putRests = db.prepare<[string]>(
    "INSERT INTO meta VALUES ('removing', ?) ON CONFLICT DO UPDATE SET value = excluded.value",
  );
  const forgetRests = db.prepare("DELETE FROM meta WHERE key = 'removing'");

  /** Null until it is read. */
  let removing: readonly ProfileId[] | null = null;
  const forget = (): void => void (removing = null);
  transactions.onReload(forget);
  const restsLeft = (): readonly ProfileId[] =>
    (removing ??= JSON.parse(rests.get() ?? "[]") as ProfileId[]);
  function keepRests(profiles: readonly ProfileId[]): void {
    transactions.onRollback(forget);
    if (profiles.length === 0) forgetRests.run();
    else putRests.run(JSON.stringify(profiles));
    removing = profiles;
  }

  /** Returns whether nothing of it is left. */
  function removeSome(profile: ProfileId): boolean {
    const identities = someIdentities.run(profile, rowsAtOnce).changes;
    const events = someEvents.run(profile, rowsAtOnce - identities).changes;
    const others = someHistory.run(profile, rowsAtOnce - identities - events).changes;
    lastSeen.remove(profile);
    if (identities + events + others === rowsAtOnce) {
      countEvents.run(events, profile);
      return false;
    }
    removeRow.run(profile);
    return true;
  }

  return {
    ...merging(db, lastSeen, transactions),
    removeProfile: transactions.wrap((profile) => {
      for (const strip of strips) strip.run(profile);
      if (!removeSome(profile)) keepRests([...restsLeft(), profile]);
    }),
    isRemoving: (profile) => restsLeft().includes(profile as ProfileId),
    removeRest: transactions.wrap(() => {
      const [first, ...others] = restsLeft();
      if (first === undefined || !removeSome(first)) return first !== undefined;
      keepRests(others);
      return others.length > 0;
    }),
  };
}

/** Of a profile that is being merged, how many events have moved. */
type Moved = { from: number; into: number; events: number };

function merging(
  db: Db,
  lastSeen: LastSeen,
  transactions: Transactions,
): Pick<ProfileStore, "hasManyEvents" | "mergeEvents" | "merge"> {
  const hasMore = db.prepare<[number]>(
    `SELECT 1 FROM profile_events WHERE profile_id = ? LIMIT 1 OFFSET ${rowsAtOnce}`,
  );
  const allEvents = db.prepare<{ from: number; into: number }>(
    "UPDATE profile_events SET profile_id = @into WHERE profile_id = @from",
  );
  const someEvents = db.prepare<{ from: number; into: number }>(
    `UPDATE profile_events SET profile_id = @into WHERE id IN
       (SELECT id FROM profile_events WHERE profile_id = @from LIMIT ${rowsAtOnce})`,
  );
  const countEvents = db.prepare<[number, number]>(
    "UPDATE profiles SET events = events + ? WHERE id = ?",
  );
  const moving = db.prepare<[], string>("SELECT value FROM meta WHERE key = 'moving'").pluck();
  const putMoving = db.prepare<[string]>(
    "INSERT INTO meta VALUES ('moving', ?) ON CONFLICT DO UPDATE SET value = excluded.value",
  );
  const forgetMoving = db.prepare("DELETE FROM meta WHERE key = 'moving'");
  /** Others, because one message may merge two profiles. */
  function movedOf(from: number, into: number): { events: number; others: Moved[] } {
    const all = JSON.parse(moving.get() ?? "[]") as Moved[];
    // Of a merge whose users were deleted before it ended, nothing counts.
    const moved = all.find((each) => each.from === from && each.into === into);
    return { events: moved?.events ?? 0, others: all.filter((each) => each.from !== from) };
  }
  function keepMoved(all: readonly Moved[]): void {
    if (all.length === 0) forgetMoving.run();
    else putMoving.run(JSON.stringify(all));
  }
  const moveAll = [
    `INSERT INTO profile_traits SELECT @into, name, value, at, message_id FROM profile_traits WHERE profile_id = @from
     ON CONFLICT DO UPDATE SET value = excluded.value, at = excluded.at, message_id = excluded.message_id
       WHERE excluded.at > at OR (excluded.at = at AND excluded.message_id > message_id)`,
    "DELETE FROM profile_traits WHERE profile_id = @from",
    `INSERT INTO profile_groups SELECT @into, group_id, at FROM profile_groups WHERE profile_id = @from
     ON CONFLICT DO UPDATE SET at = max(at, excluded.at)`,
    "DELETE FROM profile_groups WHERE profile_id = @from",
    `INSERT INTO profile_emails SELECT @into, email FROM profile_emails AS moved WHERE profile_id = @from
       AND NOT EXISTS (SELECT 1 FROM profile_emails WHERE profile_id = @into AND email = moved.email)
     ORDER BY email LIMIT max(0, ${maxEmails} - (SELECT count(*) FROM profile_emails WHERE profile_id = @into))`,
    "DELETE FROM profile_emails WHERE profile_id = @from",
    "UPDATE identities SET profile_id = @into WHERE profile_id = @from",
    "UPDATE profile_history SET profile_id = @into WHERE profile_id = @from",
    `UPDATE profiles SET first_seen_at = min(profiles.first_seen_at, gone.first_seen_at),
       last_seen_at = max(profiles.last_seen_at, gone.last_seen_at), events = profiles.events + gone.events,
       sources = (SELECT json_group_array(value) FROM (
         SELECT value FROM json_each(profiles.sources) UNION SELECT value FROM json_each(gone.sources) ORDER BY value
       ))
     FROM profiles AS gone WHERE profiles.id = @into AND gone.id = @from`,
    "DELETE FROM profiles WHERE id = @from",
  ].map((sql) => db.prepare<{ from: number; into: number }>(sql));
  return {
    hasManyEvents: (profile) => hasMore.get(profile) !== undefined,
    mergeEvents: transactions.wrap((from, into) => {
      const { changes: events } = someEvents.run({ from, into });
      countEvents.run(-events, from);
      countEvents.run(events, into);
      const before = movedOf(from, into);
      keepMoved([...before.others, { from, into, events: before.events + events }]);
    }),
    merge(from, into) {
      const before = movedOf(from, into);
      keepMoved(before.others);
      const { changes: events } = allEvents.run({ from, into });
      for (const move of moveAll) move.run({ from, into });
      lastSeen.merge(from, into);
      return { events: before.events + events };
    },
  };
}
