/** One delivery as its row and what hangs on it say it is. */

import type { PayloadShape } from "../domain/configuration.ts";
import type { AttemptId, DeliveryId, DestinationId, MessageRowId, WebhookId } from "../domain/ids.ts";
import type { AttemptRecord, DeliveryDetails, DeliverySummary, Transition } from "../engine/ports.ts";
import { deliveryStateAt, outcomeAt, shapeAt } from "./codes.ts";
import type { Db } from "./open.ts";

export type DeliveryRow = {
  id: number;
  message_id: number;
  destination_id: number;
  state: number;
  shape: number;
  created_at: number;
  rounds: number;
  window_round: number;
  first_attempt_at: number | null;
  next_attempt_at: number | null;
  reason: string | null;
};

type AttemptRow = {
  id: number;
  delivery_id: number;
  round: number;
  webhook_id: number;
  webhook_url: string;
  started_at: number;
  duration_ms: number;
  phases: string;
  simulated: number;
  outcome: number;
  retryable: number;
  error_code: string | null;
  error_message: string | null;
  request_head: string;
  status: number | null;
  response_head: string | null;
  response_body: Buffer | null;
  response_length: number | null;
};

type TransitionRow = { delivery_id: number; at: number; state: number; reason: string; next_attempt_at: number | null };

type DeliveryReader = {
  delivery(id: DeliveryId): DeliveryDetails | null;
  ofMessage(id: MessageRowId): DeliveryDetails[];
};

export function createDeliveryReader(db: Db): DeliveryReader {
  const one = db.prepare<[number], DeliveryRow>("SELECT * FROM deliveries WHERE id = ?");
  const ofMessage = db.prepare<[number], DeliveryRow>("SELECT * FROM deliveries WHERE message_id = ? ORDER BY id");
  const transitions = db.prepare<[number], TransitionRow>(
    "SELECT delivery_id, at, state, reason, next_attempt_at FROM transitions WHERE delivery_id = ? ORDER BY id",
  );
  const attempts = db.prepare<[number], AttemptRow>("SELECT * FROM attempts WHERE delivery_id = ? ORDER BY round, started_at, id");
  const payloadOf = createPayloadReader(db);

  const details = (row: DeliveryRow): DeliveryDetails => ({
    ...deliverySummary(row),
    payload: payloadOf(row),
    transitions: transitions.all(row.id).map(transitionOf),
    attempts: attempts.all(row.id).map(attemptOf),
  });

  return {
    delivery(id) {
      const row = one.get(id);
      return row === undefined ? null : details(row);
    },
    ofMessage: (id) => ofMessage.all(id).map(details),
  };
}

/** The bytes that a delivery sends. */
export function createPayloadReader(db: Db): (row: Pick<DeliveryRow, "message_id" | "shape">) => Uint8Array {
  const payloads = db.prepare<[number], Record<PayloadShape, Buffer | null>>("SELECT documented, full FROM payloads WHERE message_id = ?");
  return ({ message_id, shape }) => payloads.get(message_id)?.[shapeAt(shape)] ?? new Uint8Array();
}

export function deliverySummary(row: DeliveryRow): DeliverySummary {
  return {
    id: row.id as DeliveryId,
    messageRow: row.message_id as MessageRowId,
    destinationId: row.destination_id as DestinationId,
    state: deliveryStateAt(row.state),
    reason: row.reason,
    createdAt: row.created_at,
    firstAttemptAt: row.first_attempt_at,
    nextAttemptAt: row.next_attempt_at,
    rounds: row.rounds,
  };
}

function transitionOf({ delivery_id, at, state, reason, next_attempt_at }: TransitionRow): Transition {
  return { deliveryId: delivery_id as DeliveryId, at, state: deliveryStateAt(state), reason, nextAttemptAt: next_attempt_at };
}

function attemptOf(row: AttemptRow): AttemptRecord & { id: AttemptId } {
  return {
    id: row.id as AttemptId,
    deliveryId: row.delivery_id as DeliveryId,
    round: row.round,
    webhookId: row.webhook_id as WebhookId,
    webhookUrl: row.webhook_url,
    startedAt: row.started_at,
    durationMs: row.duration_ms,
    phases: JSON.parse(row.phases) as AttemptRecord["phases"],
    simulated: row.simulated === 1,
    outcome: outcomeAt(row.outcome),
    retryable: row.retryable === 1,
    error: row.error_code === null ? null : { code: row.error_code, message: row.error_message as string },
    requestHead: row.request_head,
    response:
      row.status === null
        ? null
        : {
            status: row.status,
            head: row.response_head as string,
            body: row.response_body as Uint8Array,
            bodyLength: row.response_length as number,
          },
  };
}
