/** What a trace says of a message, without its bytes. */

import type { DestinationId, SourceId } from "../domain/ids.ts";
import type { TracedMessage, TraceStore } from "../engine/ports.ts";
import { messageStateAt, typeAt } from "./codes.ts";
import type { Db } from "./transactions.ts";

type TracedRow = Omit<TracedMessage, "type" | "state" | "decisions"> & {
  type: number;
  state: number;
  sourceId: SourceId;
};

export function createTraceQueries(db: Db): TraceStore {
  const messages = db.prepare<[number], TracedRow>(
    `SELECT messages.message_id AS messageId, messages.type, messages.state, messages.reason,
       messages.source_id AS sourceId, messages.received_at AS receivedAt, requests.wall_at AS wallAt
     FROM messages JOIN requests ON requests.id = messages.request_id WHERE messages.id = ?`,
  );
  const decisions = db.prepare<[number], { destinationId: DestinationId; reason: string }>(
    "SELECT destination_id AS destinationId, reason FROM decisions WHERE message_id = ? ORDER BY destination_id",
  );
  const ids = db.prepare<[number], string>("SELECT message_id FROM messages WHERE id = ?").pluck();
  return {
    tracedMessage(id) {
      const row = messages.get(id);
      if (row === undefined) return null;
      return {
        ...row,
        type: typeAt(row.type),
        state: messageStateAt(row.state),
        decisions: decisions.all(id),
      };
    },
    messageIdOf: (id) => ids.get(id) ?? null,
  };
}
