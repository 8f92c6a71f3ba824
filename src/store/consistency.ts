/** What SQLite cannot check of a data file: that counts are those of the rows, and that no row belongs to something that is not there. */

import type { Db } from "./open.ts";

/** Each finds the rows that are wrong. */
const queries: Record<string, string> = {
  "message counts that differ from the rows": `SELECT * FROM (
     SELECT source_id, type, state, n FROM message_counts WHERE n <> 0
     UNION ALL SELECT source_id, type, state, count(*) FROM messages GROUP BY 1, 2, 3)
     GROUP BY 1, 2, 3, 4 HAVING count(*) <> 2`,
  "delivery counts that differ from the rows": `SELECT * FROM (
     SELECT destination_id, state, n FROM delivery_counts WHERE n <> 0
     UNION ALL SELECT destination_id, state, count(*) FROM deliveries GROUP BY 1, 2)
     GROUP BY 1, 2, 3 HAVING count(*) <> 2`,
  "messages without their request": "SELECT id FROM messages WHERE request_id NOT IN (SELECT id FROM requests)",
  "requests without messages": `SELECT id FROM requests
     WHERE messages > 0 AND NOT EXISTS (SELECT 1 FROM messages WHERE messages.id >= first_message AND messages.id < first_message + requests.messages)`,
  "decisions without their message": "SELECT message_id FROM decisions WHERE message_id NOT IN (SELECT id FROM messages)",
  "payloads without their message": "SELECT message_id FROM payloads WHERE message_id NOT IN (SELECT id FROM messages)",
  "deliveries without their message": "SELECT id FROM deliveries WHERE message_id NOT IN (SELECT id FROM messages)",
  "attempts without their delivery": "SELECT id FROM attempts WHERE delivery_id NOT IN (SELECT id FROM deliveries)",
  "transitions without their delivery": "SELECT id FROM transitions WHERE delivery_id NOT IN (SELECT id FROM deliveries)",
  "postings without their message":
    "SELECT block FROM postings WHERE NOT EXISTS (SELECT 1 FROM messages WHERE id >= block * 4096 AND id < (block + 1) * 4096)",
  // The last block is still filling, in memory.
  "blocks of messages that postings do not list": `SELECT id / 4096 AS one, count(*) AS n FROM messages GROUP BY one
     HAVING one < (SELECT max(id) / 4096 FROM messages) AND n IS NOT (SELECT length(message_ids) / 8 FROM postings WHERE block = one)`,
  "profiles with a wrong event count":
    "SELECT id FROM profiles WHERE events <> (SELECT count(*) FROM profile_events WHERE profile_id = profiles.id)",
  "users whose id refers to another profile": `SELECT id FROM profiles WHERE user_id IS NOT NULL
     AND id IS NOT (SELECT profile_id FROM identities WHERE kind = 0 AND value = user_id)`,
  "events without their message": "SELECT id FROM profile_events WHERE id NOT IN (SELECT id FROM messages)",
  ...Object.fromEntries(
    ["identities", "profile_traits", "profile_events", "profile_groups", "profile_sources", "profile_history"].map((table) => [
      `${table} without their profile`,
      `SELECT profile_id FROM ${table} WHERE profile_id NOT IN (SELECT id FROM profiles)`,
    ]),
  ),
  "messages that are not in the first state of their deliveries": `SELECT id FROM messages
     WHERE state <> (SELECT min(state) FROM deliveries WHERE message_id = messages.id)`,
  "messages with a wrong attempt count": `SELECT id FROM messages
     WHERE attempts <> (SELECT count(*) FROM attempts JOIN deliveries ON deliveries.id = delivery_id WHERE message_id = messages.id)`,
};

/** What is wrong, and how many rows of it; empty when all is well. */
export function inconsistenciesIn(db: Db): { what: string; rows: number }[] {
  return Object.entries(queries).flatMap(([what, sql]) => {
    const rows = db.prepare<[], number>(`SELECT count(*) FROM (${sql})`).pluck().get() as number;
    return rows === 0 ? [] : [{ what, rows }];
  });
}
