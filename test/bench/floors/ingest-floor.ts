/**
 * The least that takes messages in and keeps them: a server, a parser, a transaction for each
 * request.
 */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import Database from "better-sqlite3";
import { scriptData } from "../children.ts";
import type { BenchMessage } from "../messages.ts";

const db = new Database(join(scriptData<{ data: string }>().data, "floor.db"));
db.pragma("journal_mode = WAL");
db.pragma("synchronous = NORMAL");
db.exec(
  "CREATE TABLE messages (id INTEGER PRIMARY KEY, message_id TEXT, type TEXT, user_id TEXT, event TEXT, received_at INTEGER, raw TEXT)",
);
const insert = db.prepare(
  "INSERT INTO messages (message_id, type, user_id, event, received_at, raw) VALUES (?, ?, ?, ?, ?, ?)",
);
const commit = db.transaction((messages: BenchMessage[]) => {
  for (const message of messages) {
    insert.run(
      message.messageId,
      message.type,
      message.userId,
      message.event,
      Date.now(),
      JSON.stringify(message),
    );
  }
});

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const body = JSON.parse(Buffer.concat(chunks).toString()) as BenchMessage & {
      batch?: BenchMessage[];
    };
    commit(body.batch ?? [body]);
    response.end('{"success":true}');
  });
});
server.listen(0, "127.0.0.1", () =>
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }),
);
