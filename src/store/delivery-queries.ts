import type { AttemptId, DeliveryId, MessageRowId, WebhookId } from "../domain/ids.ts";
import { deliveryStates, messageStates, type DeliveryState, type MessageState } from "../domain/states.ts";
import type {
  AttemptRecord,
  DeliveryDetails,
  DeliveryFilter,
  DeliverySummary,
  Page,
  QueryStore,
  RoundMark,
  Stats,
  Transition,
} from "../engine/ports.ts";
import { deliveryStateAt, messageStateAt, outcomeAt, stateCode, typeAt } from "./codes.ts";
import { deliverySummary, type DeliveryRow } from "./delivery-store.ts";
import type { Db } from "./open.ts";

type Kind = { destination_id: number; state: number; n: number };

export function createDeliveryQueries(db: Db): Pick<QueryStore, "deliveries" | "deliveriesByDue" | "listed" | "stats"> {
  const kinds = db.prepare<[], Kind>("SELECT destination_id, state, n FROM delivery_counts WHERE n > 0");
  const newest = db.prepare<[number, number, number, number], DeliveryRow>(
    `SELECT * FROM deliveries INDEXED BY deliveries_by_state
     WHERE destination_id = ? AND state = ? AND id < ? ORDER BY id DESC LIMIT ?`,
  );

  const dueAt = db.prepare<[number, number, number, number], DeliveryRow>(
    "SELECT * FROM deliveries WHERE destination_id = ? AND state = 2 AND next_attempt_at = ? AND id > ? ORDER BY id LIMIT ?",
  );
  const dueAfter = db.prepare<[number, number, number], DeliveryRow>(
    "SELECT * FROM deliveries WHERE destination_id = ? AND state = 2 AND next_attempt_at > ? ORDER BY next_attempt_at, id LIMIT ?",
  );
  const message = db.prepare<[number], { type: number; event: string | null; user_id: string | null; anonymous_id: string | null }>(
    "SELECT type, event, user_id, anonymous_id FROM messages WHERE id = ?",
  );
  const made = db.prepare<[number], { round: number; started_at: number; duration_ms: number; outcome: number }>(
    "SELECT round, started_at, duration_ms, outcome FROM attempts WHERE delivery_id = ? ORDER BY round, started_at, id",
  );

  function matching({ destinationId, state }: DeliveryFilter): Kind[] {
    return kinds
      .all()
      .filter(
        (kind) =>
          (destinationId === undefined || kind.destination_id === destinationId) &&
          (state === undefined || kind.state === stateCode(state)),
      );
  }

  function page<Place>(
    found: DeliveryRow[],
    from: readonly Kind[],
    limit: number,
    placeOf: (row: DeliveryRow) => Place,
  ): Page<DeliverySummary, Place> {
    const last = found[limit - 1];
    return {
      items: found.slice(0, limit).map(deliverySummary),
      nextCursor: found.length > limit && last !== undefined ? placeOf(last) : null,
      total: from.reduce((sum, { n }) => sum + n, 0),
      totalCapped: false,
    };
  }

  return {
    deliveries(filter, limit, before) {
      const from = matching(filter);
      const found = from
        .flatMap((kind) => newest.all(kind.destination_id, kind.state, before ?? Number.MAX_SAFE_INTEGER, limit + 1))
        .sort((a, b) => b.id - a.id);
      return page(found, from, limit, ({ id }) => id as DeliveryId);
    },

    deliveriesByDue(filter, limit, after) {
      const from = matching({ ...filter, state: "waiting" });
      const { at, id } = after ?? { at: Number.MIN_SAFE_INTEGER, id: 0 };
      const found = from
        .flatMap(({ destination_id }) => {
          const same = dueAt.all(destination_id, at, id, limit + 1);
          return [...same, ...dueAfter.all(destination_id, at, limit + 1 - same.length)];
        })
        .sort((a, b) => dueOf(a) - dueOf(b) || a.id - b.id);
      return page(found, from, limit, (row) => ({ at: dueOf(row), id: row.id as DeliveryId }));
    },

    listed(delivery) {
      const row = message.get(delivery.messageRow);
      const rounds = Map.groupBy(made.all(delivery.id), ({ round }) => round);
      const marks = [...rounds].map(([round, attempts]): RoundMark => {
        const weight = ({ outcome, duration_ms }: (typeof attempts)[number]): number =>
          outcomeAt(outcome) === "success" ? Infinity : duration_ms;
        const shown = attempts.reduce((most, each) => (weight(each) > weight(most) ? each : most));
        return { round, startedAt: attempts[0]?.started_at ?? 0, outcome: outcomeAt(shown.outcome) };
      });
      return {
        ...delivery,
        type: row === undefined ? null : typeAt(row.type),
        event: row?.event ?? null,
        userId: row?.user_id ?? null,
        anonymousId: row?.anonymous_id ?? null,
        marks,
      };
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

const dueOf = ({ next_attempt_at }: DeliveryRow): number => next_attempt_at ?? 0;

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
