/** Profiles as the API shows them: in a list, one with everything, and the facts that rules ask for. */

import type { EventFact, TraitFact } from "../domain/facts.ts";
import type { MessageRowId, ProfileId, SourceId } from "../domain/ids.ts";
import type { Json, JsonObject } from "../domain/json.ts";
import type { HistoryKind, ProfileDetails, ProfileStore, ProfileSummary } from "../engine/profile-ports.ts";
import type { Db } from "./open.ts";
import { createProfileList, type ProfileRow } from "./profile-list.ts";
import { groupTraits, identityKindAt } from "./profile-store.ts";

/** Identities, steps of the history and the like that one profile is shown with: more than anybody reads. */
const shown = 1000;

/** Traits that a profile has in a list. */
const listedTraits = 100;

type TraitRow = { name: string; value: string; at: number; messageId: MessageRowId };

type Reading = Pick<ProfileStore, "facts" | "profileDetails" | "profiles" | "sourcesThatKnow">;

export function createProfileQueries(db: Db): Reading {
  const traitsOf = db.prepare<[number], TraitRow>(
    "SELECT name, value, at, message_id AS messageId FROM profile_traits WHERE profile_id = ? ORDER BY name",
  );
  const firstTraits = db.prepare<[number], TraitRow>(
    `SELECT name, value, at, message_id AS messageId FROM profile_traits WHERE profile_id = ? ORDER BY name LIMIT ${listedTraits}`,
  );
  const anonymousId = db.prepare<[number], string>("SELECT value FROM identities WHERE profile_id = ? AND kind = 1 LIMIT 1").pluck();
  const sourcesOf = db.prepare<[number], SourceId>("SELECT source_id FROM profile_sources WHERE profile_id = ? ORDER BY source_id").pluck();

  function summary(row: ProfileRow, traits: readonly TraitRow[] = firstTraits.all(row.id)): ProfileSummary {
    const present = traits.flatMap(({ name, value }) => (value === "null" ? [] : [[name, JSON.parse(value) as Json] as const]));
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

  const sourcesThatKnow = (profile: ProfileId): SourceId[] => sourcesOf.all(profile);

  return {
    sourcesThatKnow,
    facts: facts(db),
    profiles: createProfileList(db, (row) => summary(row)),
    profileDetails: details(db, { summary, traitsOf: (id) => traitsOf.all(id), sourcesThatKnow }),
  };
}

function facts(db: Db): ProfileStore["facts"] {
  const trait = db.prepare<[number, string], { value: string; at: number }>(
    "SELECT value, at FROM profile_traits WHERE profile_id = ? AND name = ?",
  );
  type EventRow = { id: MessageRowId; at: number; properties: string };
  type Asked = { profile: ProfileId; name: string; after: number; limit: number };
  const events = (properties: string) =>
    db.prepare<[Asked], EventRow>(
      `SELECT id, at, ${properties} AS properties FROM profile_events
       WHERE profile_id = @profile AND event = @name AND at > @after ORDER BY at DESC, id DESC LIMIT @limit`,
    );
  const whole = events("properties");
  const bare = events("'{}'");
  return (profile, needs, now) => {
    const traits = new Map<string, TraitFact>();
    for (const name of needs.traits) {
      const row = trait.get(profile, name);
      if (row !== undefined) traits.set(name, { value: JSON.parse(row.value) as Json, at: row.at });
    }
    const done = new Map<string, EventFact[]>();
    for (const [name, { withinMs, newest, properties }] of needs.events) {
      const after = withinMs === null ? Number.MIN_SAFE_INTEGER : now - withinMs;
      const rows = (properties ? whole : bare).all({ profile, name, after, limit: newest ?? -1 });
      if (rows.length === 0) continue;
      done.set(
        name,
        rows.toReversed().map(({ id, at, properties: text }) => ({ at, properties: JSON.parse(text) as JsonObject, messageId: id })),
      );
    }
    return { traits, events: done };
  };
}

type Parts = {
  summary: (row: ProfileRow, traits: readonly TraitRow[]) => ProfileSummary;
  traitsOf: (id: ProfileId) => TraitRow[];
  sourcesThatKnow: (id: ProfileId) => SourceId[];
};

function details(db: Db, { summary, traitsOf, sourcesThatKnow }: Parts): ProfileStore["profileDetails"] {
  const one = db.prepare<[number], ProfileRow>("SELECT * FROM profiles WHERE id = ?");
  const identities = db.prepare<[number], { kind: number; value: string; since: number; messageId: MessageRowId }>(
    `SELECT kind, value, since, message_id AS messageId FROM identities WHERE profile_id = ? LIMIT ${shown}`,
  );
  const groups = db.prepare<[number], { groupId: string; at: number; traits: string }>(
    `SELECT profile_groups.group_id AS groupId, profile_groups.at, groups.traits FROM profile_groups
     JOIN groups ON groups.group_id = profile_groups.group_id WHERE profile_id = ? LIMIT ${shown}`,
  );
  const events = db.prepare<[number], { event: string; count: number; firstAt: number; lastAt: number }>(
    `SELECT event, count(*) AS count, min(at) AS firstAt, max(at) AS lastAt
     FROM profile_events WHERE profile_id = ? GROUP BY event`,
  );
  const lastEvent = db.prepare<[number, string], { id: MessageRowId; properties: string }>(
    "SELECT id, properties FROM profile_events WHERE profile_id = ? AND event = ? ORDER BY at DESC, id DESC LIMIT 1",
  );
  const history = db.prepare<[number], { at: number; kind: HistoryKind; detail: string; messageId: MessageRowId }>(
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
      traitList: traits.map(({ value, ...rest }) => ({ ...rest, value: JSON.parse(value) as Json })),
      groups: groups.all(id).map(({ traits, ...rest }) => ({ ...rest, traits: groupTraits(traits) })),
      eventList: newest.map((event) => {
        const last = lastEvent.get(id, event.event) as { id: MessageRowId; properties: string };
        return { ...event, lastProperties: JSON.parse(last.properties) as JsonObject, lastMessageId: last.id };
      }),
      sourceIds: sourcesThatKnow(id),
      history: history.all(id).reverse(),
    };
  };
}
