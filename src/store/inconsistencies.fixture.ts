/** What may not be found in any data file, whatever happened to it: rows of what is not there, and counts that differ from rows. */

import type { Db } from "./open.ts";

const queries: Record<string, string> = {
  "counts of messages that differ from their rows": `SELECT source_id, type, state, n FROM message_counts WHERE n <> 0
     EXCEPT SELECT source_id, type, state, count(*) FROM messages GROUP BY 1, 2, 3`,
  "messages that are not counted": `SELECT source_id, type, state, count(*) FROM messages GROUP BY 1, 2, 3
     EXCEPT SELECT source_id, type, state, n FROM message_counts`,
  "counts of deliveries that differ from their rows": `SELECT destination_id, state, n FROM delivery_counts WHERE n <> 0
     EXCEPT SELECT destination_id, state, count(*) FROM deliveries GROUP BY 1, 2`,
  "deliveries that are not counted": `SELECT destination_id, state, count(*) FROM deliveries GROUP BY 1, 2
     EXCEPT SELECT destination_id, state, n FROM delivery_counts`,
  "messages without their request": "SELECT id FROM messages WHERE request_id NOT IN (SELECT id FROM requests)",
  "requests without messages":
    "SELECT id FROM requests WHERE NOT EXISTS (SELECT 1 FROM messages WHERE messages.request_id = requests.id) AND messages > 0",
  "decisions of no message": "SELECT message_id FROM decisions WHERE message_id NOT IN (SELECT id FROM messages)",
  "payloads of no message": "SELECT message_id FROM payloads WHERE message_id NOT IN (SELECT id FROM messages)",
  "deliveries of no message": "SELECT id FROM deliveries WHERE message_id NOT IN (SELECT id FROM messages)",
  "attempts of no delivery": "SELECT id FROM attempts WHERE delivery_id NOT IN (SELECT id FROM deliveries)",
  "transitions of no delivery": "SELECT id FROM transitions WHERE delivery_id NOT IN (SELECT id FROM deliveries)",
  "postings of no message": "SELECT block FROM postings WHERE NOT EXISTS (SELECT 1 FROM messages WHERE id / 4096 = block)",
  "profiles that count their events wrongly":
    "SELECT id FROM profiles WHERE events <> (SELECT count(*) FROM profile_events WHERE profile_id = profiles.id)",
  "users whose id leads elsewhere": `SELECT id FROM profiles WHERE user_id IS NOT NULL
     AND id IS NOT (SELECT profile_id FROM identities WHERE kind = 0 AND value = user_id)`,
  "events of no message": "SELECT id FROM profile_events WHERE id NOT IN (SELECT id FROM messages)",
  ...Object.fromEntries(
    ["identities", "profile_traits", "profile_events", "profile_groups", "profile_sources", "profile_history"].map((table) => [
      `${table} of no profile`,
      `SELECT profile_id FROM ${table} WHERE profile_id NOT IN (SELECT id FROM profiles)`,
    ]),
  ),
  "messages that are not in the first state of their deliveries": `SELECT id FROM messages
     WHERE state <> (SELECT min(state) FROM deliveries WHERE message_id = messages.id)`,
  "messages that count their attempts wrongly": `SELECT id FROM messages
     WHERE attempts <> (SELECT count(*) FROM attempts JOIN deliveries ON deliveries.id = delivery_id WHERE message_id = messages.id)`,
};

/** What is found, in words; nothing in a file that is as it should be. */
export function inconsistencies(db: Pick<Db, "prepare">): { what: string; rows: unknown[] }[] {
  return Object.entries(queries).flatMap(([what, sql]) => {
    const rows = db.prepare(sql).all();
    return rows.length === 0 ? [] : [{ what, rows }];
  });
}
