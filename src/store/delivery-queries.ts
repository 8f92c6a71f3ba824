import type { AttemptId, DeliveryId, MessageRowId, WebhookId } from "../domain/ids.ts";
import { deliveryStates, messageStates, type DeliveryState, type MessageState } from "../domain/states.ts";
import type {
  AttemptRecord,
  DeliveryDetails,
  DeliveryFilter,
  DeliverySummary,
  Page,
  QueryStore,
  Stats,
  Transition,
} from "../engine/ports.ts";
import { deliveryStateAt, messageStateAt, outcomeAt, stateCode, typeAt } from "./codes.ts";
import { deliverySummary, type DeliveryRow } from "./delivery-store.ts";
import type { Db } from "./open.ts";

export function createDeliveryQueries(db: Db): Pick<QueryStore, "deliveries" | "stats"> {
  const kinds = db.prepare<[], { destination_id: number; state: number; n: number }>(
    "SELECT destination_id, state, n FROM delivery_counts WHERE n > 0",
  );
  const newest = db.prepare<[number, number, number, number], DeliveryRow>(
    `SELECT * FROM deliveries INDEXED BY deliveries_by_state
     WHERE destination_id = ? AND state = ? AND id < ? ORDER BY id DESC LIMIT ?`,
  );

  return {
    deliveries(filter: DeliveryFilter, limit: number, before: DeliveryId | null): Page<DeliverySummary, DeliveryId> {
      const matching = kinds
        .all()
        .filter(
          (kind) =>
            (filter.destinationId === undefined || kind.destination_id === filter.destinationId) &&
            (filter.state === undefined || kind.state === stateCode(filter.state)),
        );
      const rows = matching
        .flatMap((kind) => newest.all(kind.destination_id, kind.state, before ?? Number.MAX_SAFE_INTEGER, limit + 1))
        .sort((a, b) => b.id - a.id);
      const items = rows.slice(0, limit).map(deliverySummary);
      const total = matching.reduce((sum, kind) => sum + kind.n, 0);
      return { items, nextCursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null, total, totalCapped: false };
    },

    stats(): Stats {
      const messages = { total: 0, byState: zeroes<MessageState>(messageStates), byType: {} as Record<string, number> };
      const counted = db.prepare<[], { type: number; state: number; n: number }>(
        "SELECT type, state, sum(n) AS n FROM message_counts GROUP BY type, state",
      );
      for (const { type, state, n } of counted.all()) {
        messages.total += n;
        messages.byState[messageStateAt(state)] += n;
        const name = typeAt(type) ?? "unknown";
        messages.byType[name] = (messages.byType[name] ?? 0) + n;
      }
      const deliveries = { total: 0, byState: zeroes<DeliveryState>(deliveryStates) };
      for (const { state, n } of kinds.all()) {
        deliveries.total += n;
        deliveries.byState[deliveryStateAt(state)] += n;
      }
      return { messages, deliveries };
    },
  };
}

function zeroes<State extends string>(states: readonly State[]): Record<State, number> {
  return Object.fromEntries(states.map((state) => [state, 0])) as Record<State, number>;
}

export function deliveriesOfMessage(db: Db, id: MessageRowId): DeliveryDetails[] {
  const rows = db.prepare<[number], DeliveryRow>("SELECT * FROM deliveries WHERE message_id = ? ORDER BY id").all(id);
  const payloads = db
    .prepare<[number], { documented: Buffer | null; full: Buffer | null }>("SELECT documented, full FROM payloads WHERE message_id = ?")
    .get(id);
  return rows.map((row) => ({
    ...deliverySummary(row),
    payload: (row.shape === 0 ? payloads?.documented : payloads?.full) ?? Buffer.alloc(0),
    transitions: transitionsOf(db, row.id),
    attempts: attemptsOf(db, row.id),
  }));
}

function transitionsOf(db: Db, deliveryId: number): Transition[] {
  return db
    .prepare<[number], { at: number; state: number; reason: string; next_attempt_at: number | null }>(
      "SELECT at, state, reason, next_attempt_at FROM transitions WHERE delivery_id = ? ORDER BY id",
    )
    .all(deliveryId)
    .map(({ at, state, reason, next_attempt_at }) => ({
      deliveryId: deliveryId as DeliveryId,
      at,
      state: deliveryStateAt(state),
      reason,
      nextAttemptAt: next_attempt_at,
    }));
}

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

function attemptsOf(db: Db, deliveryId: number): (AttemptRecord & { id: AttemptId })[] {
  return db
    .prepare<[number], AttemptRow>("SELECT * FROM attempts WHERE delivery_id = ? ORDER BY round, started_at, id")
    .all(deliveryId)
    .map((row) => ({
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
      error: row.error_code === null ? null : { code: row.error_code, message: row.error_message ?? "" },
      method: "POST",
      requestHead: row.request_head,
      response:
        row.status === null
          ? null
          : {
              status: row.status,
              head: row.response_head ?? "",
              body: row.response_body ?? Buffer.alloc(0),
              bodyLength: row.response_length ?? 0,
            },
    }));
}
