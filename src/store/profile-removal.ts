/**
 * Removes a profile. Its identities and all that it knows go at once, so that nobody finds it any
 * more; of its events and its history only so many, because one user may have a million. The rest
 * goes with later calls, also after a restart: until then it is a profile without identities.
 */

import type { ProfileId } from "../domain/ids.ts";
import type { ProfileStore } from "../engine/profile-ports.ts";
import type { LastSeen } from "./last-seen.ts";
import type { Db, Transactions } from "./transactions.ts";

/** Rows that one call deletes: some 5 ms. */
const rowsAtOnce = 5000;

const tables = ["identities", "profile_traits", "profile_emails", "profile_groups"];

export function createProfileRemoval(
  db: Db,
  lastSeen: LastSeen,
  transactions: Transactions,
): Pick<ProfileStore, "removeProfile" | "removeRest"> {
  const strips = [
    ...tables.map((table) => `DELETE FROM ${table} WHERE profile_id = ?`),
    "UPDATE profiles SET user_id = NULL WHERE id = ?",
  ].map((sql) => db.prepare<[number]>(sql));
  const some = (table: string) =>
    db.prepare<[number, number]>(
      `DELETE FROM ${table} WHERE id IN (SELECT id FROM ${table} WHERE profile_id = ? LIMIT ?)`,
    );
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

  const restsLeft = (): ProfileId[] => JSON.parse(rests.get() ?? "[]") as ProfileId[];

  /** Returns whether nothing of it is left. */
  function removeSome(profile: ProfileId): boolean {
    const events = someEvents.run(profile, rowsAtOnce).changes;
    const others = someHistory.run(profile, rowsAtOnce - events).changes;
    lastSeen.remove(profile);
    if (events + others === rowsAtOnce) {
      countEvents.run(events, profile);
      return false;
    }
    removeRow.run(profile);
    return true;
  }

  return {
    removeProfile: transactions.wrap((profile) => {
      for (const strip of strips) strip.run(profile);
      if (!removeSome(profile)) putRests.run(JSON.stringify([...restsLeft(), profile]));
    }),
    removeRest: transactions.wrap(() => {
      const [first, ...others] = restsLeft();
      if (first === undefined || !removeSome(first)) return first !== undefined;
      if (others.length === 0) forgetRests.run();
      else putRests.run(JSON.stringify(others));
      return others.length > 0;
    }),
  };
}
