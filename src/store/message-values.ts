/** What messages have been seen with, and how often: for suggestions. */

import type { SourceId } from "../domain/ids.ts";
import { outcomes } from "../domain/states.ts";
import type { MessageValueKey, QueryStore } from "../engine/ports.ts";
import { nextTurn } from "../engine/real-time.ts";
import { type Course, courseOf, type MessageFacts, planOf } from "./message-facts.ts";
import type { Postings } from "./postings.ts";
import type { Db } from "./transactions.ts";

type Values = Pick<QueryStore, "messageValues" | "messagesBySource" | "usersNamed">;

/** Blocks of postings that are looked up between two turns of the event loop. */
const blocksPerTurn = 32;

/** What a course has of a key. */
const valuesOf: Record<Exclude<MessageValueKey, "event">, (course: Course) => string[]> = {
  reason: ({ reason }) => (reason === null ? [] : [reason]),
  attempts: ({ attempts }) => [String(attempts)],
  status: (course) =>
    course.outcomes.flatMap(({ status }) => (status === null ? [] : [String(status)])),
  plan: (course) => [planOf(course)],
  outcome: (course) => course.outcomes.map(({ outcome }) => outcomes[outcome] as string),
};

export function createMessageValues({
  db,
  postings,
  facts,
}: {
  db: Db;
  postings: Postings;
  facts: MessageFacts;
}): Values {
  const bySource = db.prepare<[], { id: SourceId; n: number }>(
    "SELECT source_id AS id, sum(n) AS n FROM message_counts GROUP BY source_id",
  );
  const named = db
    .prepare<[number, string, string, number], string>(
      "SELECT value FROM identities WHERE kind = ? AND value >= ? AND value < ? ORDER BY value LIMIT ?",
    )
    .pluck();

  async function countUser(user: string): Promise<number> {
    let n = 0;
    let blocks = 0;
    for (const ids of postings.candidates("users", [user])) {
      n += ids.length;
      blocks += 1;
      if (blocks % blocksPerTurn === 0) await nextTurn();
    }
    return n;
  }

  return {
    async messageValues(key) {
      const counts = new Map<string, number>();
      for (const counted of facts.counted(key === "event" ? "events" : "courses")) {
        for (const [text, n] of counted) {
          if (text === null) continue;
          const values = key === "event" ? [text] : new Set(valuesOf[key](courseOf(text)));
          for (const value of values) counts.set(value, (counts.get(value) ?? 0) + n);
        }
        await nextTurn();
      }
      return counts;
    },

    messagesBySource: () => new Map(bySource.all().map(({ id, n }) => [id, n])),

    async usersNamed(start, limit) {
      const users = new Set<string>();
      for (const kind of [0, 1])
        for (const begin of spellingsOf(start))
          for (const user of named.all(kind, begin, `${begin}\u{10ffff}`, limit)) users.add(user);
      const counts = new Map<string, number>();
      for (const user of users) counts.set(user, await countUser(user));
      return counts;
    },
  };
}

/** Ids are found by an index, which knows their case. */
function spellingsOf(start: string): Set<string> {
  const lower = start.toLowerCase();
  return new Set([
    start,
    lower,
    start.toUpperCase(),
    `${lower.slice(0, 1).toUpperCase()}${lower.slice(1)}`,
  ]);
}
