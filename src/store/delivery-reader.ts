/** Reads one delivery with everything that belongs to it, and what it sends. */

import type { PayloadShape } from "../domain/configuration.ts";
import type {
  AttemptId,
  DeliveryId,
  DestinationId,
  MessageRowId,
  WebhookId,
} from "../domain/ids.ts";
import type {
  AttemptRecord,
  ClaimedDelivery,
  DeliveryDetails,
  DeliverySummary,
  RecordedAttemptDetails,
  Transition,
} from "../engine/ports.ts";
import { deliveryStateAt, filteredShape, mappedShape, outcomeAt, shapeAt } from "./codes.ts";
import { deliveriesOfMessage, type DeliveryKey, type MappedRequests } from "./mapped-requests.ts";
import type { RequestBodies } from "./request-bodies.ts";
import { createPayloadReader } from "./shared-bytes.ts";
import type { Db } from "./transactions.ts";

/** More of one message, or of one delivery, no answer shows. */
const maxAttempts = 1000;
/** Each round has two, and each manual retry adds some. */
const transitionsOf = (attempts: number): number => 2 * attempts;

/** Of bodies that came back, twice what an answer has room for: the newest. */
const maxBodyBytes = 2_000_000;

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
  body_size: number | null;
  response_length: number | null;
};

/** Without the body that came back. */
const attemptColumns =
  "id, delivery_id, round, webhook_id, webhook_url, started_at, duration_ms, phases, simulated, outcome, retryable, error_code, error_message, request_head, status, response_head, length(response_body) AS body_size, response_length";

type TransitionRow = {
  delivery_id: number;
  at: number;
  state: number;
  reason: string;
  next_attempt_at: number | null;
};

type DeliveryReader = {
  /** With at most so many attempts, and the changes of state that go with as many. */
  delivery(id: DeliveryId, attempts?: number): DeliveryDetails | null;
  ofMessage(id: MessageRowId): DeliveryDetails[];
  attempt(delivery: DeliveryId, id: AttemptId): RecordedAttemptDetails | null;
};

/** Deliveries with their attempts, the newest of them, and their changes of state. */
export function createDeliveryReader(db: Db, mapped: MappedRequests): DeliveryReader {
  const one = db.prepare<[number], DeliveryRow>("SELECT * FROM deliveries WHERE id = ?");
  const ofMessage = db.prepare<[number], DeliveryRow>(`${deliveriesOfMessage} ORDER BY id`);
  const transitions = db.prepare<[number, number], TransitionRow>(
    "SELECT delivery_id, at, state, reason, next_attempt_at FROM transitions WHERE delivery_id = ? ORDER BY id DESC LIMIT ?",
  );
  const newest = db.prepare<[number, number], AttemptRow>(
    `SELECT ${attemptColumns} FROM attempts WHERE delivery_id = ? ORDER BY round DESC, started_at DESC, id DESC LIMIT ?`,
  );
  const attempt = db.prepare<[number, number], AttemptRow>(
    `SELECT ${attemptColumns} FROM attempts WHERE id = ? AND delivery_id = ?`,
  );
  const body = db
    .prepare<[number], Buffer | null>("SELECT response_body FROM attempts WHERE id = ?")
    .pluck();
  const requestOf = createRequestReader(db, mapped);

  function details(rows: readonly DeliveryRow[], most = maxAttempts): DeliveryDetails[] {
    const each = Math.ceil(most / Math.max(1, rows.length));
    const made = rows.map(({ id }) => newest.all(id, each).reverse());
    const withBody = new Set<number>();
    let bytes = 0;
    for (const { id, body_size } of made.flat().sort((a, b) => b.id - a.id)) {
      bytes += body_size ?? 0;
      if (bytes <= maxBodyBytes) withBody.add(id);
    }
    return rows.map((row, place) => ({
      ...deliverySummary(row, mapped),
      ...requestOf(row),
      transitions: transitions.all(row.id, transitionsOf(each)).reverse().map(transitionOf),
      attempts: (made[place] ?? []).map((attempt) =>
        withBody.has(attempt.id) || attempt.body_size === 0 || attempt.body_size === null
          ? attemptOf(attempt, body.get(attempt.id) ?? null)
          : { ...attemptOf(attempt, null), leftOut: true as const },
      ),
    }));
  }

  return {
    delivery(id, attempts) {
      const row = one.get(id);
      return row === undefined ? null : (details([row], attempts)[0] ?? null);
    },
    ofMessage: (id) => details(ofMessage.all(id)),
    attempt(delivery, id) {
      const row = attempt.get(id, delivery);
      return row === undefined ? null : attemptOf(row, body.get(id) ?? null);
    },
  };
}

/** The bytes that a delivery sends, and of a mapping's request all else. */
export function createRequestReader(
  db: Db,
  mapped: MappedRequests,
  bodies?: RequestBodies,
): (
  row: DeliveryKey & Pick<DeliveryRow, "destination_id">,
) => Pick<ClaimedDelivery, "mapped"> & { payload: Uint8Array } {
  const payloadIn = (shape: PayloadShape) =>
    db
      .prepare<[number], Buffer | null>(`SELECT ${shape} FROM payloads WHERE message_id = ?`)
      .pluck();
  const payloads = { documented: payloadIn("documented"), full: payloadIn("full") };
  const complete = createPayloadReader(db, bodies?.partOf.bind(bodies));
  const filtered = db
    .prepare<[number, number], Buffer>(
      "SELECT after FROM filtered WHERE message_id = ? AND destination_id = ?",
    )
    .pluck();
  return (row) => {
    if (row.shape === mappedShape) return mapped.read(row) ?? { payload: new Uint8Array() };
    const payload =
      row.shape === filteredShape
        ? filtered.get(row.message_id, row.destination_id)
        : complete(row.message_id, payloads[shapeAt(row.shape)].get(row.message_id));
    return { payload: payload ?? new Uint8Array() };
  };
}

export function deliverySummary(row: DeliveryRow, mapped: MappedRequests): DeliverySummary {
  const messages = mapped.batchOf(row);
  return {
    ...(messages.length === 0 ? {} : { messages }),
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

function transitionOf({
  delivery_id,
  at,
  state,
  reason,
  next_attempt_at,
}: TransitionRow): Transition {
  return {
    deliveryId: delivery_id as DeliveryId,
    at,
    state: deliveryStateAt(state),
    reason,
    nextAttemptAt: next_attempt_at,
  };
}

function attemptOf(row: AttemptRow, body: Buffer | null): RecordedAttemptDetails {
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
    error:
      row.error_code === null
        ? null
        : { code: row.error_code, message: row.error_message as string },
    requestHead: row.request_head,
    response:
      row.status === null
        ? null
        : {
            status: row.status,
            head: row.response_head as string,
            body: body ?? new Uint8Array(),
            bodyLength: row.response_length as number,
          },
  };
}
