/** Deletion requests with what was done for each user, and who is suppressed. */

import type { DeletionId, MessageRowId } from "../domain/ids.ts";
import type { MessageState } from "../domain/states.ts";
import type { DeletedUser, Deletion, DeletionStore, Suppression } from "../engine/profile-ports.ts";
import type { Page } from "../engine/ports.ts";
import { messageStateAt } from "./codes.ts";
import type { Db } from "./transactions.ts";

/** A total is counted exactly up to here. */
const totalCap = 10_000;

/** A page of requests ends with the one that brings its users to this number. */
const maxUsersOfPage = 8000;

type Row = { id: number; requested_at: number; suppress: number; send: number };

export function createDeletionStore(db: Db): DeletionStore {
  return { ...requests(db), ...suppressions(db) };
}

function requests(db: Db) {
  const insert = db.prepare<[number, number, number]>(
    "INSERT INTO deletions (requested_at, suppress, send) VALUES (?, ?, ?)",
  );
  const insertUser = db.prepare<[number, number, string]>(
    "INSERT INTO deletion_users VALUES (?, ?, ?, NULL)",
  );
  const one = db.prepare<[number], Row>("SELECT * FROM deletions WHERE id = ?");
  const before = db.prepare<[number, number], Row>(
    "SELECT * FROM deletions WHERE id < ? ORDER BY id DESC LIMIT ?",
  );
  const count = db
    .prepare<[], number>(`SELECT count(*) FROM (SELECT 1 FROM deletions LIMIT ${totalCap + 1})`)
    .pluck();
  const users = db.prepare<[number], { user_id: string; body: string | null }>(
    "SELECT user_id, body FROM deletion_users WHERE deletion_id = ? ORDER BY place",
  );
  const left = db.prepare<[number, number], { place: number; userId: string }>(
    "SELECT place, user_id AS userId FROM deletion_users INDEXED BY deletion_users_left WHERE deletion_id = ? AND body IS NULL ORDER BY place LIMIT ?",
  );
  const unfinished = db
    .prepare<[], number>("SELECT DISTINCT deletion_id FROM deletion_users WHERE body IS NULL")
    .pluck();
  const putUser = db.prepare<[string, number, number]>(
    "UPDATE deletion_users SET body = ? WHERE deletion_id = ? AND place = ?",
  );
  const insertMessage = db.prepare<[number, number]>(
    "INSERT INTO deletion_messages VALUES (?, ?, NULL)",
  );
  const messages = db.prepare<[], { messageId: MessageRowId; deletionId: DeletionId }>(
    "SELECT message_id AS messageId, deletion_id AS deletionId FROM deletion_messages",
  );
  const state = db
    .prepare<[number], number | null>(
      `SELECT min(coalesce(messages.state, sent.state)) FROM deletion_messages AS sent LEFT JOIN messages ON messages.id = sent.message_id
       WHERE sent.deletion_id = ?`,
    )
    .pluck();
  const removals = [
    "deletion_messages WHERE deletion_id",
    "deletion_users WHERE deletion_id",
    "deletions WHERE id",
  ].map((what) => db.prepare<[number]>(`DELETE FROM ${what} = ?`));

  const read = ({ id, requested_at, suppress, send }: Row): Deletion => ({
    id: id as DeletionId,
    suppress: suppress === 1,
    send: send === 1,
    requestedAt: requested_at,
    users: users.all(id).map(({ user_id, body }) => ({
      userId: user_id,
      deleted: body === null ? null : (JSON.parse(body) as Omit<DeletedUser, "userId">),
    })),
  });

  return {
    insertDeletion: db.transaction(
      (deletion: {
        suppress: boolean;
        send?: boolean;
        requestedAt: number;
        userIds: readonly string[];
      }): DeletionId => {
        const id = Number(
          insert.run(
            deletion.requestedAt,
            deletion.suppress ? 1 : 0,
            deletion.send === false ? 0 : 1,
          ).lastInsertRowid,
        );
        for (const [place, userId] of deletion.userIds.entries()) insertUser.run(id, place, userId);
        return id as DeletionId;
      },
    ),
    deletion(id: DeletionId): Deletion | null {
      const row = one.get(id);
      return row === undefined ? null : read(row);
    },
    deletions(limit: number, from: DeletionId | null): Page<Deletion, DeletionId> {
      const rows = before.all(from ?? Number.MAX_SAFE_INTEGER, limit + 1);
      const items: Deletion[] = [];
      let listed = 0;
      for (const row of rows.slice(0, limit)) {
        const deletion = read(row);
        items.push(deletion);
        listed += deletion.users.length;
        if (listed >= maxUsersOfPage) break;
      }
      const total = count.get() as number;
      return {
        items,
        nextCursor: rows.length > items.length ? (items.at(-1)?.id ?? null) : null,
        total: Math.min(total, totalCap),
        totalCapped: total > totalCap,
      };
    },
    deleteDeletion: db.transaction(
      (id: DeletionId): boolean => removals.map((remove) => remove.run(id).changes).at(-1) === 1,
    ),
    unfinishedDeletions: (): DeletionId[] => unfinished.all() as DeletionId[],
    usersToDelete: (id: DeletionId, limit: number) => left.all(id, limit),
    putDeleted: db.transaction(
      (id: DeletionId, place: number, { userId: _, ...outcome }: DeletedUser): void => {
        putUser.run(JSON.stringify(outcome), id, place);
        for (const message of outcome.messageIds) insertMessage.run(message, id);
      },
    ),
    stateOfMessages(id: DeletionId): MessageState | null {
      const code = state.get(id) as number | null;
      return code === null ? null : messageStateAt(code);
    },
    deleteMessages: () => messages.all(),
  };
}

type SuppressionRow = { user_id: string; since: number; deletion_id: number | null };

const suppressionOf = ({ user_id, since, deletion_id }: SuppressionRow): Suppression => ({
  userId: user_id,
  since,
  deletionId: deletion_id as DeletionId | null,
});

function suppressions(db: Db) {
  const users = db.prepare<[], string>("SELECT user_id FROM suppressions").pluck();
  const insert = db.prepare<[string, number, number | null]>(
    "INSERT INTO suppressions VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
  );
  const remove = db.prepare<[string]>("DELETE FROM suppressions WHERE user_id = ?");
  // Its request may have been removed.
  const columns =
    "user_id, since, (SELECT id FROM deletions WHERE id = deletion_id) AS deletion_id";
  const one = db.prepare<[string], SuppressionRow>(
    `SELECT ${columns} FROM suppressions WHERE user_id = ?`,
  );
  const span = "FROM suppressions WHERE user_id >= ? AND user_id < ? AND user_id > ?";
  const page = db.prepare<[string, string, string, number], SuppressionRow>(
    `SELECT ${columns} ${span} ORDER BY user_id LIMIT ?`,
  );
  const count = db
    .prepare<[string, string, string], number>(
      `SELECT count(*) FROM (SELECT 1 ${span} LIMIT ${totalCap + 1})`,
    )
    .pluck();
  return {
    suppressedUsers: (): string[] => users.all(),
    suppress: (userId: string, since: number, deletionId: DeletionId | null): void =>
      void insert.run(userId, since, deletionId),
    suppression(userId: string): Suppression | null {
      const row = one.get(userId);
      return row === undefined ? null : suppressionOf(row);
    },
    lift: (userId: string): boolean => remove.run(userId).changes === 1,
    suppressions(search: string, limit: number, after: string | null): Page<Suppression, string> {
      // Beyond every text that begins with the search: texts are compared by their UTF-8 bytes.
      const end = `${search}\u{10ffff}`;
      const rows = page.all(search, end, after ?? "", limit + 1);
      const total = count.get(search, end, "") as number;
      return {
        items: rows.slice(0, limit).map(suppressionOf),
        nextCursor: rows.length > limit ? (rows[limit - 1] as SuppressionRow).user_id : null,
        total: Math.min(total, totalCap),
        totalCapped: total > totalCap,
      };
    },
  };
}
