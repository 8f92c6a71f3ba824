/** Audiences, computed traits, and the value last sent for each user. */

import type { AudienceId, ComputedTraitId, SourceId } from "../domain/ids.ts";
import type { Json } from "../domain/json.ts";
import type { Audience, ComputedStore, ComputedTrait, LastSent } from "../engine/profile-ports.ts";
import { profileOfUser } from "./profile-store.ts";
import type { Db } from "./transactions.ts";

type LastSentRow = {
  source_id: number;
  user_id: string;
  value: string;
  since: number;
  recheck_at: number | null;
};

const lastSentOfRow = ({
  source_id,
  user_id,
  value,
  since,
  recheck_at,
}: LastSentRow): LastSent => ({
  sourceId: source_id as SourceId,
  userId: user_id,
  value: JSON.parse(value) as Json,
  since,
  recheckAt: recheck_at,
});

export function createComputedStore(db: Db): ComputedStore {
  const meta = db.prepare<[], string>("SELECT value FROM meta WHERE key = 'space'").pluck();
  const saveMeta = db.prepare<[string]>("INSERT INTO meta VALUES ('space', ?)");
  return {
    ...audiences(db),
    ...computedTraits(db),
    ...lastSentQueries(db),
    space(make) {
      const known = meta.get();
      if (known !== undefined) return known;
      const made = make();
      saveMeta.run(made);
      return made;
    },
  };
}

function audiences(db: Db) {
  const select = db.prepare<[], { id: number; body: string; members: string | null }>(
    "SELECT id, body, members FROM audiences ORDER BY id",
  );
  const insert = db.prepare<[number, string, string | null]>(
    "INSERT INTO audiences (source_id, body, members) VALUES (?, ?, ?)",
  );
  const update = db.prepare<[string, number]>("UPDATE audiences SET body = ? WHERE id = ?");
  const setMembers = db.prepare<[string | null, number]>(
    "UPDATE audiences SET members = ? WHERE id = ?",
  );
  const remove = db.prepare<[number]>("DELETE FROM audiences WHERE id = ?");
  const list = (members: readonly string[] | null): string | null =>
    members === null ? null : JSON.stringify(members);
  const bodyOf = ({
    id: _,
    members: _members,
    ...body
  }: Omit<Audience, "id"> & { id?: AudienceId }): string => JSON.stringify(body);
  return {
    audiences: (): Audience[] =>
      select.all().map(({ id, body, members }) => ({
        ...(JSON.parse(body) as Omit<Audience, "id" | "members">),
        id: id as AudienceId,
        members: members === null ? null : (JSON.parse(members) as string[]),
      })),
    insertAudience(audience: Omit<Audience, "id">): Audience {
      const { lastInsertRowid } = insert.run(
        audience.sourceId,
        bodyOf(audience),
        list(audience.members),
      );
      return { ...audience, id: Number(lastInsertRowid) as AudienceId };
    },
    updateAudience: (audience: Audience): void => void update.run(bodyOf(audience), audience.id),
    setMembers: (id: AudienceId, members: string[] | null): void =>
      void setMembers.run(list(members), id),
    deleteAudience: (id: AudienceId): void => void remove.run(id),
  };
}

function computedTraits(db: Db) {
  const select = db.prepare<[], { id: number; body: string }>(
    "SELECT id, body FROM computed_traits ORDER BY id",
  );
  const insert = db.prepare<[number, string]>(
    "INSERT INTO computed_traits (source_id, body) VALUES (?, ?)",
  );
  const update = db.prepare<[string, number]>("UPDATE computed_traits SET body = ? WHERE id = ?");
  const remove = db.prepare<[number]>("DELETE FROM computed_traits WHERE id = ?");
  const bodyOf = ({
    id: _,
    ...body
  }: Omit<ComputedTrait, "id"> & { id?: ComputedTraitId }): string => JSON.stringify(body);
  return {
    computedTraits: (): ComputedTrait[] =>
      select.all().map(({ id, body }) => ({
        ...(JSON.parse(body) as Omit<ComputedTrait, "id">),
        id: id as ComputedTraitId,
      })),
    insertComputedTrait(trait: Omit<ComputedTrait, "id">): ComputedTrait {
      const { lastInsertRowid } = insert.run(trait.sourceId, bodyOf(trait));
      return { ...trait, id: Number(lastInsertRowid) as ComputedTraitId };
    },
    updateComputedTrait: (trait: ComputedTrait): void => void update.run(bodyOf(trait), trait.id),
    deleteComputedTrait: (id: ComputedTraitId): void => void remove.run(id),
  };
}

function lastSentQueries(db: Db) {
  const one = db.prepare<[number, string], LastSentRow>(
    "SELECT * FROM computed_values WHERE source_id = ? AND user_id = ?",
  );
  const ofUser = db.prepare<[string], LastSentRow>(
    "SELECT * FROM computed_values WHERE user_id = ?",
  );
  const put = db.prepare<[number, string, string, number, number | null]>(
    `INSERT INTO computed_values VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET value = excluded.value, since = excluded.since, recheck_at = excluded.recheck_at`,
  );
  const removeOfUser = db.prepare<[string]>("DELETE FROM computed_values WHERE user_id = ?");
  const removeSome = db.prepare<[number, number, number]>(
    `DELETE FROM computed_values WHERE source_id = ? AND user_id IN (SELECT user_id FROM computed_values WHERE source_id = ? LIMIT ?)`,
  );
  const forgetCount = db.prepare<[number]>("DELETE FROM computed_counts WHERE source_id = ?");
  const count = db
    .prepare<[number], number>("SELECT n FROM computed_counts WHERE source_id = ?")
    .pluck();
  const sources = db.prepare<[], number>("SELECT source_id FROM computed_counts").pluck();
  const after = db.prepare<[number, string, number], LastSentRow>(
    "SELECT * FROM computed_values WHERE source_id = ? AND user_id > ? ORDER BY user_id LIMIT ?",
  );
  const hasProfile = db.prepare<{ userId: string }, number>(profileOfUser("@userId")).pluck();
  const nextRecheck = db
    .prepare<[number, number], number>(
      "SELECT recheck_at FROM computed_values WHERE source_id = ? AND recheck_at > ? ORDER BY recheck_at LIMIT 1",
    )
    .pluck();
  const due = db.prepare<[number, number, number], LastSentRow>(
    "SELECT * FROM computed_values WHERE source_id = ? AND recheck_at <= ? ORDER BY recheck_at LIMIT ?",
  );

  return {
    lastSent(source: SourceId, userId: string): LastSent | null {
      const row = one.get(source, userId);
      return row === undefined ? null : lastSentOfRow(row);
    },
    lastSentFor: (userId: string): LastSent[] => ofUser.all(userId).map(lastSentOfRow),
    putLastSent: ({ sourceId, userId, value, since, recheckAt }: LastSent): void =>
      void put.run(sourceId, userId, JSON.stringify(value), since, recheckAt),
    removeLastSentFor: (userId: string): void => void removeOfUser.run(userId),
    removeLastSentBy: db.transaction((source: SourceId, limit: number): number => {
      const { changes } = removeSome.run(source, source, limit);
      if (changes < limit) forgetCount.run(source);
      return changes;
    }),
    countLastSent: (source: SourceId): number => count.get(source) ?? 0,
    lastSentSources: (): SourceId[] => sources.all() as SourceId[],
    lastSentAfter: (source: SourceId, from: string, limit: number): LastSent[] =>
      after.all(source, from, limit).map(lastSentOfRow),
    strandedAfter(source: SourceId, from: string, limit: number) {
      const rows = after.all(source, from, limit);
      return {
        upTo: rows.at(-1)?.user_id ?? null,
        stranded: rows
          .filter(({ user_id }) => hasProfile.get({ userId: user_id }) === undefined)
          .map(lastSentOfRow),
      };
    },
    nextRecheckAt: (source: SourceId, after = Number.MIN_SAFE_INTEGER): number | null =>
      nextRecheck.get(source, after) ?? null,
    dueForRecheck: (source: SourceId, now: number, limit: number): LastSent[] =>
      due.all(source, now, limit).map(lastSentOfRow),
  };
}
