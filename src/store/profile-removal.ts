/**
 * Removes a profile. What it knows goes at once, and nobody finds it any more; of its identities, its
 * events and its history only so many go, because one user may have a million. The rest goes with
 * later calls, also after a restart: until then its identities lead to no profile, and may become
 * those of another one.
 */

import type { ProfileId } from "../domain/ids.ts";
import type { ProfileStore } from "../engine/profile-ports.ts";
import type { LastSeen } from "./last-seen.ts";
import type { Db, Transactions } from "./transactions.ts";

/** Rows that one call deletes: some 5 ms. */
const rowsAtOnce = 5000;

const tables = ["profile_traits", "profile_emails", "profile_groups"];

export function createProfileRemoval(
  db: Db,
  lastSeen: LastSeen,
  transactions: Transactions,
): Pick<ProfileStore, "removeProfile" | "removeRest"> & {
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
