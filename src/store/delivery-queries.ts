import type { DeliveryId } from "../domain/ids.ts";
import { deliveryStates, messageStates, type DeliveryState, type MessageState } from "../domain/states.ts";
import type { DeliveryFilter, DeliveryStore, DeliverySummary, Page, QueryStore, RoundMark, Stats } from "../engine/ports.ts";
import { deliveryStateAt, messageStateAt, outcomeAt, stateCode, typeAt } from "./codes.ts";
import { createDeliveryReader, deliverySummary, type DeliveryRow } from "./delivery-rows.ts";
import type { Db } from "./open.ts";

type Queries = Pick<QueryStore, "deliveries" | "deliveriesByDue" | "deliveryDetails" | "listed" | "stats"> &
  Pick<DeliveryStore, "countByState">;

type Made = { round: number; started_at: number; duration_ms: number; outcome: number };
type Kind = { destination_id: number; state: number; n: number };

const waiting = stateCode("waiting");

export function createDeliveryQueries(db: Db): Queries {
  const kinds = db.prepare<[], Kind>("SELECT destination_id, state, n FROM delivery_counts WHERE n > 0");
  const newest = db.prepare<[number, number, number, number], DeliveryRow>(
    `SELECT * FROM deliveries INDEXED BY deliveries_by_state
     WHERE destination_id = ? AND state = ? AND id < ? ORDER BY id DESC LIMIT ?`,
  );

  const dueAt = db.prepare<[number, number, number, number], DeliveryRow>(
    `SELECT * FROM deliveries WHERE destination_id = ? AND state = ${waiting} AND next_attempt_at = ? AND id > ? ORDER BY id LIMIT ?`,
  );
  const dueAfter = db.prepare<[number, number, number], DeliveryRow>(
    `SELECT * FROM deliveries WHERE destination_id = ? AND state = ${waiting} AND next_attempt_at > ? ORDER BY next_attempt_at, id LIMIT ?`,
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
    return {
      items: found.slice(0, limit).map(deliverySummary),
      nextCursor: found.length > limit ? placeOf(found[limit - 1] as DeliveryRow) : null,
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

    deliveryDetails: createDeliveryReader(db).delivery,

    ...listing(db),
    ...counting(db, kinds),
  };
}

/** A delivery as its list shows it: with its message, and a mark for each round. */
function listing(db: Db): Pick<Queries, "listed"> {
  const message = db.prepare<[number], { type: number; event: string | null; user_id: string | null; anonymous_id: string | null }>(
    "SELECT type, event, user_id, anonymous_id FROM messages WHERE id = ?",
  );
  const made = db.prepare<[number], Made>(
    "SELECT round, started_at, duration_ms, outcome FROM attempts WHERE delivery_id = ? ORDER BY round, started_at, id",
  );

  return {
    listed(delivery) {
      const row = message.get(delivery.messageRow);
      const rounds = Map.groupBy(made.all(delivery.id), ({ round }) => round);
      const marks = [...rounds].map(([round, attempts]): RoundMark => {
        const weight = ({ outcome, duration_ms }: Made): number => (outcomeAt(outcome) === "success" ? Infinity : duration_ms);
        const shown = attempts.reduce((most, each) => (weight(each) > weight(most) ? each : most));
        return { round, startedAt: (attempts[0] as Made).started_at, outcome: outcomeAt(shown.outcome) };
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
  };
}

function counting(db: Db, kinds: { all(): Kind[] }): Pick<Queries, "stats" | "countByState"> {
  function countByState(): Record<DeliveryState, number> {
    const counted = zeroes<DeliveryState>(deliveryStates);
    for (const { state, n } of kinds.all()) counted[deliveryStateAt(state)] += n;
    return counted;
  }

  return {
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
      const byState = countByState();
      return { messages, deliveries: { total: Object.values(byState).reduce((sum, n) => sum + n, 0), byState } };
    },
    countByState,
  };
}

const dueOf = ({ next_attempt_at }: DeliveryRow): number => next_attempt_at as number;

function zeroes<State extends string>(states: readonly State[]): Record<State, number> {
  return Object.fromEntries(states.map((state) => [state, 0])) as Record<State, number>;
}
