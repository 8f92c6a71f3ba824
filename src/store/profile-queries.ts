/**
 * Profiles as the API shows them: in a list, one with everything, and the facts that rules ask for.
 */

import { charactersPerStep, type EventFact, type TraitFact } from "../domain/facts.ts";
import type { MessageRowId, ProfileId, SourceId } from "../domain/ids.ts";
import type { Json, JsonObject } from "../domain/json.ts";
import type {
  HistoryKind,
  ProfileDetails,
  ProfileStore,
  ProfileSummary,
  ProfileCursor,
  ProfileFilter,
} from "../engine/profile-ports.ts";
import { eventMembers, eventProperties, eventSize, stepsOfSize } from "./shared-bytes.ts";
import type { Db } from "./transactions.ts";
import { groupTraits, identityKindAt } from "./profile-store.ts";
import type { LastSeen } from "./last-seen.ts";
import type { Page } from "../engine/ports.ts";

/**
 * Identities, traits, steps of the history and the like that one profile is shown with: more than anybody
 * reads.
 */
const shown = 1000;

/** Traits that a profile has in a list. */
const listedTraits = 100;

type TraitRow = { name: string; value: string; at: number; messageId: MessageRowId };

/** Profiles that are read in a few milliseconds, before the first list. */
const readAtOnce = 10_000;

type Reading = Pick<ProfileStore, "facts" | "profileDetails" | "profiles" | "readForLists">;

export function createProfileQueries(db: Db, lastSeen: LastSeen): Reading {
  const traitsOf = db.prepare<[number], TraitRow>(
    `SELECT name, value, at, message_id AS messageId FROM profile_traits WHERE profile_id = ? ORDER BY name LIMIT ${shown}`,
  );
  const firstTraits = db.prepare<[number], TraitRow>(
    `SELECT name, value, at, message_id AS messageId FROM profile_traits WHERE profile_id = ? ORDER BY name LIMIT ${listedTraits}`,
  );
  const anonymousId = db
    .prepare<[number], string>(
      "SELECT value FROM identities WHERE profile_id = ? AND kind = 1 LIMIT 1",
    )
    .pluck();

  function summary(
    row: ProfileRow,
    traits: readonly TraitRow[] = firstTraits.all(row.id),
  ): ProfileSummary {
    const present = traits.flatMap(({ name, value }) =>
      value === "null" ? [] : [[name, JSON.parse(value) as Json] as const],
    );
    return {
      id: row.id as ProfileId,
      userId: row.user_id,
      anonymousId: anonymousId.get(row.id) ?? null,
      firstSeenAt: row.first_seen_at,
      lastSeenAt: row.last_seen_at,
      events: row.events,
      traits: Object.fromEntries(present),
    };
  }

  return {
    readForLists: () => lastSeen.read(readAtOnce),
    facts: facts(db),
    profiles: createProfileList(db, lastSeen, (row) => summary(row)),
    profileDetails: details(db, { summary, traitsOf: (id) => traitsOf.all(id) }),
  };
}

function facts(db: Db): ProfileStore["facts"] {
  type TraitRow = { value: string; at: number; messageId: MessageRowId };
  const trait = db.prepare<[number, string], TraitRow>(
    "SELECT value, at, message_id AS messageId FROM profile_traits WHERE profile_id = ? AND name = ?",
  );
  type EventRow = { id: MessageRowId; at: number; size: number; properties: string };
  /** The events before the one that was read last. */
  type Asked = {
    profile: ProfileId;
    name: string;
    after: number;
    lastAt: number;
    lastId: number;
    limit: number;
  };
  const events = (properties: string) =>
    db.prepare<[Asked & Record<string, string | number>], EventRow>(
      `SELECT id, at, ${eventSize(properties)} AS size, ${properties} AS properties FROM profile_events
       WHERE profile_id = @profile AND event = @name AND at > @after
       AND at <= @lastAt AND (at < @lastAt OR id < @lastId)
       ORDER BY at DESC, id DESC LIMIT @limit`,
    );
  const statements = new Map<string, ReturnType<typeof events>>();
  const statement = (sql: string) => {
    const known = statements.get(sql) ?? events(sql);
    statements.set(sql, known);
    return known;
  };
  return function* (profile, needs, now, steps) {
    const traits = new Map<string, TraitFact>();
    for (const name of needs.traits) {
      const row = trait.get(profile, name);
      if (row !== undefined) traits.set(name, { ...row, value: JSON.parse(row.value) as Json });
    }
    const done = new Map<string, EventFact[]>();
    for (const [name, { withinMs, newest, properties }] of needs.events) {
      const after = withinMs === null ? Number.MIN_SAFE_INTEGER : now - withinMs;
      const bound: Record<string, string> = {};
      const sql = eventMembers(properties, (value) => {
        const parameter = `p${Object.keys(bound).length}`;
        bound[parameter] = value;
        return `@${parameter}`;
      });
      const found: EventFact[] = [];
      for (let isAll = false; !isAll;) {
        if (steps.left <= 0) yield;
        const last = found.at(-1);
        const asked: Asked = {
          profile,
          name,
          after,
          lastAt: last?.at ?? Number.MAX_SAFE_INTEGER,
          lastId: last?.messageId ?? Number.MAX_SAFE_INTEGER,
          limit: newest === null ? -1 : newest - found.length,
        };
        isAll = true;
        for (const { id, at, size, properties: text } of statement(sql).iterate({
          ...bound,
          ...asked,
        })) {
          found.push({ at, properties: JSON.parse(text) as JsonObject, messageId: id });
          steps.left -= 1 + stepsOfSize(size) + Math.floor(text.length / charactersPerStep);
          isAll = steps.left > 0;
          if (!isAll) break;
        }
      }
      if (found.length > 0) done.set(name, found.reverse());
    }
    return { traits, events: done };
  };
}

type Parts = {
  summary: (row: ProfileRow, traits: readonly TraitRow[]) => ProfileSummary;
  traitsOf: (id: ProfileId) => TraitRow[];
};

function details(db: Db, { summary, traitsOf }: Parts): ProfileStore["profileDetails"] {
  const one = db.prepare<[number], ProfileRow>("SELECT * FROM profiles WHERE id = ?");
  const identities = db.prepare<
    [number],
    { kind: number; value: string; since: number; messageId: MessageRowId }
  >(
    `SELECT kind, value, since, message_id AS messageId FROM identities WHERE profile_id = ? LIMIT ${shown}`,
  );
  const groups = db.prepare<[number], { groupId: string; at: number; traits: string }>(
    `SELECT profile_groups.group_id AS groupId, profile_groups.at, groups.traits FROM profile_groups
     JOIN groups ON groups.group_id = profile_groups.group_id WHERE profile_id = ? LIMIT ${shown}`,
  );
  const events = db.prepare<
    [number],
    { event: string; count: number; firstAt: number; lastAt: number }
  >(
    `SELECT event, count(*) AS count, min(at) AS firstAt, max(at) AS lastAt
     FROM profile_events WHERE profile_id = ? GROUP BY event`,
  );
  const lastEvent = db.prepare<[number, string], { id: MessageRowId; properties: string }>(
    `SELECT id, ${eventProperties} AS properties FROM profile_events
     WHERE profile_id = ? AND event = ? ORDER BY at DESC, id DESC LIMIT 1`,
  );
  const history = db.prepare<
    [number],
    { at: number; kind: HistoryKind; detail: string; messageId: MessageRowId }
  >(
    `SELECT at, kind, body AS detail, message_id AS messageId FROM profile_history WHERE profile_id = ? ORDER BY id DESC LIMIT ${shown}`,
  );

  return (id): ProfileDetails | null => {
    const row = one.get(id);
    if (row === undefined) return null;
    const traits = traitsOf(id);
    const newest = events
      .all(id)
      .sort((a, b) => b.lastAt - a.lastAt || (a.event < b.event ? -1 : 1))
      .slice(0, shown);
    return {
      ...summary(row, traits),
      identities: identities
        .all(id)
        .map(({ kind, ...rest }) => ({ kind: identityKindAt(kind), ...rest }))
        .sort((a, b) => a.since - b.since || a.messageId - b.messageId),
      traitList: traits.map(({ value, ...rest }) => ({
        ...rest,
        value: JSON.parse(value) as Json,
      })),
      groups: groups
        .all(id)
        .map(({ traits, ...rest }) => ({ ...rest, traits: groupTraits(traits) })),
      eventList: newest.map((event) => {
        const last = lastEvent.get(id, event.event) as { id: MessageRowId; properties: string };
        return {
          ...event,
          lastProperties: JSON.parse(last.properties) as JsonObject,
          lastMessageId: last.id,
        };
      }),
      sourceIds: JSON.parse(row.sources) as SourceId[],
      history: history.all(id).reverse(),
    };
  };
}

/** A total is counted exactly up to here. */
const totalCap = 10_000;

/** Behind every text that begins the same: the highest character there is. */
const highest = "\u{10FFFF}";

type ProfileRow = {
  id: number;
  user_id: string | null;
  first_seen_at: number;
  last_seen_at: number;
  events: number;
  sources: string;
};

/**
 * The profiles that a filter leaves: all of them, unless it is capped. Of more, the profiles are gone
 * through from the one seen last, and soon enough match.
 */
type Found = { ids: readonly number[]; capped: boolean };

type From = { at: number; id: number; limit: number };

/** The list of profiles: those that were seen last come first. */
function createProfileList(
  db: Db,
  lastSeen: LastSeen,
  summary: (row: ProfileRow) => ProfileSummary,
): ProfileStore["profiles"] {
  const one = db.prepare<[number], ProfileRow>("SELECT * FROM profiles WHERE id = ?");
  const withUser = db
    .prepare<[string], number>("SELECT profile_id FROM identities WHERE kind = 0 AND value = ?")
    .pluck();
  const countAll = db
    .prepare<[number], number>("SELECT count(*) FROM (SELECT 1 FROM profiles LIMIT ?)")
    .pluck();
  const named = db
    .prepare<[number, string, string, number], number>(
      "SELECT profile_id FROM identities WHERE kind = ? AND value >= ? AND value < ? LIMIT ?",
    )
    .pluck();
  const ofProfile = db
    .prepare<[number, string, string], number>(
      "SELECT 1 FROM identities WHERE profile_id = ? AND value >= ? AND value < ? LIMIT 1",
    )
    .pluck();
  const members = db
    .prepare<[number, number], number>(
      `SELECT profiles.id FROM computed_values
       JOIN identities ON kind = 0 AND identities.value = computed_values.user_id
       JOIN profiles ON profiles.id = profile_id AND profiles.user_id = computed_values.user_id
       WHERE source_id = ? AND computed_values.value = 'true' LIMIT ?`,
    )
    .pluck();
  const member = db
    .prepare<[number, SourceId], number>(
      `SELECT 1 FROM profiles JOIN computed_values ON computed_values.user_id = profiles.user_id
       WHERE id = ? AND source_id = ? AND value = 'true'`,
    )
    .pluck();

  function find({ userId, search = "", members: source }: ProfileFilter): Found | null {
    const narrowed = search !== "" || userId !== undefined;
    if (!narrowed && source === undefined) return null;
    if (!narrowed) return upToCap(members.all(source as SourceId, totalCap + 1));
    const ofUser = userId === undefined ? null : withUser.all(userId);
    const isNamed = (id: number): boolean =>
      search === "" || ofProfile.get(id, search, search + highest) !== undefined;
    const found =
      ofUser === null
        ? upToCap(...[0, 1].map((kind) => named.all(kind, search, search + highest, totalCap + 1)))
        : upToCap(ofUser.filter(isNamed));
    if (source === undefined) return found;
    if (found.capped) {
      const all = upToCap(members.all(source, totalCap + 1));
      if (!all.capped) return { ...all, ids: all.ids.filter(isNamed) };
    }
    return { ...found, ids: found.ids.filter((id) => member.get(id, source) !== undefined) };
  }

  /** Through all profiles, from the one seen last. */
  function walk({ search = "", members: source }: ProfileFilter, from: From): ProfileRow[] {
    const rows: ProfileRow[] = [];
    for (const id of lastSeen.before(from)) {
      if (search !== "" && ofProfile.get(id, search, search + highest) === undefined) continue;
      if (source !== undefined && member.get(id, source) === undefined) continue;
      rows.push(one.get(id) as ProfileRow);
      if (rows.length === from.limit) break;
    }
    return rows;
  }

  return (filter, limit, before): Page<ProfileSummary, ProfileCursor> => {
    const from: From = {
      at: before?.lastSeenAt ?? Number.MAX_SAFE_INTEGER,
      id: before?.id ?? Number.MAX_SAFE_INTEGER,
      limit: limit + 1,
    };
    const found = find(filter) ?? countOf(countAll.get(totalCap + 1) as number);
    const rows =
      "ids" in found && !found.capped
        ? lastSeen.latestOf(found.ids, from).map((id) => one.get(id) as ProfileRow)
        : walk(filter, from);
    const count = "ids" in found ? found.ids.length : found.count;
    const items = rows.slice(0, limit).map(summary);
    const last = items.at(-1);
    return {
      items,
      nextCursor:
        rows.length > limit && last !== undefined
          ? { lastSeenAt: last.lastSeenAt, id: last.id }
          : null,
      total: Math.min(count, totalCap),
      totalCapped: found.capped,
    };
  };
}

const countOf = (count: number) => ({ count, capped: count > totalCap });

/** Of queries that look for one more than the cap; several rows may be of one profile. */
const upToCap = (...rows: readonly number[][]): Found => {
  const ids = [...new Set(rows.flat())];
  return {
    ids: ids.slice(0, totalCap),
    capped: ids.length > totalCap || rows.some(({ length }) => length > totalCap),
  };
};
