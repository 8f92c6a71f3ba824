/** The list of profiles: those that were seen last come first. */

import type { SourceId } from "../domain/ids.ts";
import type { Page } from "../engine/ports.ts";
import type { ProfileCursor, ProfileFilter, ProfileStore, ProfileSummary } from "../engine/profile-ports.ts";
import type { Db } from "./open.ts";

/** A total is counted exactly up to here. */
const totalCap = 10_000;

/** So many that a filter finds are read and sorted. Of more, the profiles are gone through from the one seen last, and soon enough match. */
const fewEnough = 1000;

/** Behind every text that begins the same: the highest character there is. */
const highest = "\u{10FFFF}";

export type ProfileRow = { id: number; user_id: string | null; first_seen_at: number; last_seen_at: number; events: number };

/** The profiles that a filter leaves, as far as they were looked for. */
type Found = { ids: readonly number[]; capped: boolean };

const inOrder = "(last_seen_at, id) < (@at, @id)";
const page = "ORDER BY last_seen_at DESC, id DESC LIMIT @limit";
const isNamed = "EXISTS (SELECT 1 FROM identities WHERE profile_id = profiles.id AND value >= @low AND value < @high)";
const isMember =
  "EXISTS (SELECT 1 FROM computed_values WHERE source_id = @source AND computed_values.user_id = profiles.user_id AND value = 'true')";

type From = { at: number; id: number; limit: number };
type Named = { low: string; high: string };
type Member = { source: SourceId };

export function createProfileList(db: Db, summary: (row: ProfileRow) => ProfileSummary): ProfileStore["profiles"] {
  const one = db.prepare<[number], ProfileRow>("SELECT * FROM profiles WHERE id = ?");
  const withUser = db.prepare<[string], number>("SELECT profile_id FROM identities WHERE kind = 0 AND value = ?").pluck();
  const all = db.prepare<[From], ProfileRow>(`SELECT * FROM profiles WHERE ${inOrder} ${page}`);
  const countAll = db.prepare<[number], number>("SELECT count(*) FROM (SELECT 1 FROM profiles LIMIT ?)").pluck();
  const named = db
    .prepare<[number, string, string, number], number>(
      "SELECT profile_id FROM identities WHERE kind = ? AND value >= ? AND value < ? LIMIT ?",
    )
    .pluck();
  const ofProfile = db
    .prepare<[number, string, string], number>("SELECT 1 FROM identities WHERE profile_id = ? AND value >= ? AND value < ? LIMIT 1")
    .pluck();
  const allNamed = db.prepare<[From & Named], ProfileRow>(`SELECT * FROM profiles WHERE ${inOrder} AND ${isNamed} ${page}`);
  const members = db
    .prepare<[number, number], number>(
      `SELECT profiles.id FROM computed_values JOIN profiles ON profiles.user_id = computed_values.user_id
       WHERE source_id = ? AND value = 'true' LIMIT ?`,
    )
    .pluck();
  const member = db.prepare<[{ profile: number } & Member], number>(`SELECT 1 FROM profiles WHERE id = @profile AND ${isMember}`).pluck();
  const allMembers = db.prepare<[From & Member], ProfileRow>(`SELECT * FROM profiles WHERE ${inOrder} AND ${isMember} ${page}`);
  const allNamedMembers = db.prepare<[From & Named & Member], ProfileRow>(
    `SELECT * FROM profiles WHERE ${inOrder} AND ${isNamed} AND ${isMember} ${page}`,
  );

  function find({ userId, search = "", members: source }: ProfileFilter): Found | null {
    const narrowed = search !== "" || userId !== undefined;
    if (!narrowed && source === undefined) return null;
    if (!narrowed) return capped([...new Set(members.all(source as SourceId, totalCap + 1))]);
    const ofUser = userId === undefined ? null : withUser.all(userId);
    const searched = search === "" ? null : [...new Set([0, 1].flatMap((kind) => named.all(kind, search, search + highest, totalCap + 1)))];
    const ids =
      ofUser === null
        ? (searched as number[])
        : searched === null
          ? ofUser
          : ofUser.filter((id) => ofProfile.get(id, search, search + highest) !== undefined);
    const found = capped(ids);
    if (source === undefined) return found;
    return { ids: found.ids.filter((id) => member.get({ profile: id, source }) !== undefined), capped: found.capped };
  }

  function few(ids: readonly number[], { at, id, limit }: From): ProfileRow[] {
    return ids
      .map((each) => one.get(each) as ProfileRow)
      .filter((row) => row.last_seen_at < at || (row.last_seen_at === at && row.id < id))
      .sort((a, b) => b.last_seen_at - a.last_seen_at || b.id - a.id)
      .slice(0, limit);
  }

  function walk({ search = "", members: source }: ProfileFilter, from: From): ProfileRow[] {
    const names = { low: search, high: search + highest };
    if (source === undefined) return search === "" ? all.all(from) : allNamed.all({ ...from, ...names });
    return search === "" ? allMembers.all({ ...from, source }) : allNamedMembers.all({ ...from, ...names, source });
  }

  return (filter, limit, before): Page<ProfileSummary, ProfileCursor> => {
    const from: From = { at: before?.lastSeenAt ?? Number.MAX_SAFE_INTEGER, id: before?.id ?? Number.MAX_SAFE_INTEGER, limit: limit + 1 };
    const found = find(filter) ?? countOf(countAll.get(totalCap + 1) as number);
    const rows = "ids" in found && found.ids.length < fewEnough ? few(found.ids, from) : walk(filter, from);
    const count = "ids" in found ? found.ids.length : found.count;
    const items = rows.slice(0, limit).map(summary);
    const last = items.at(-1);
    return {
      items,
      nextCursor: rows.length > limit && last !== undefined ? { lastSeenAt: last.lastSeenAt, id: last.id } : null,
      total: Math.min(count, totalCap),
      totalCapped: found.capped,
    };
  };
}

const countOf = (count: number) => ({ count, capped: count > totalCap });

const capped = (ids: readonly number[]): Found => ({ ids: ids.slice(0, totalCap), capped: ids.length > totalCap });
