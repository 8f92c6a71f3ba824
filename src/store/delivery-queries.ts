/** Reads pages of deliveries, and counts them. */

import type { DeliveryId, DestinationId, WebhookId } from "../domain/ids.ts";
import {
  deliveryStates,
  messageStates,
  type DeliveryState,
  type MessageState,
} from "../domain/states.ts";
import type {
  DeliveryFilter,
  DeliveryStore,
  DeliverySummary,
  Page,
  QueryStore,
  RoundMark,
  Stats,
} from "../engine/ports.ts";
import { deliveryStateAt, messageStateAt, outcomeAt, stateCode, typeAt } from "./codes.ts";
import { createDeliveryReader, deliverySummary, type DeliveryRow } from "./delivery-reader.ts";
import { deliveriesOfMessage, type MappedRequests } from "./mapped-requests.ts";
import type { Db } from "./transactions.ts";

type Queries = Pick<
  QueryStore,
  | "deliveries"
  | "deliveriesByDestination"
  | "deliveriesByDue"
  | "dueTimes"
  | "deliveriesOf"
  | "lastOutcome"
  | "deliveryDetails"
  | "attempt"
  | "listed"
  | "newestAttempts"
  | "stats"
> &
  Pick<DeliveryStore, "countByState">;

type Made = { round: number; started_at: number; duration_ms: number; outcome: number };
type Kind = { destination_id: number; state: number; n: number };

const waiting = stateCode("waiting");

/** Of batches, a page ends with the one that brings its messages to this number. */
const maxMessagesOfPage = 8000;

export function createDeliveryQueries(db: Db, mapped: MappedRequests): Queries {
  const reader = createDeliveryReader(db, mapped);
  const summaryOf = (row: DeliveryRow): DeliverySummary => deliverySummary(row, mapped);
  const kinds = db.prepare<[], Kind>(
    "SELECT destination_id, state, n FROM delivery_counts WHERE n > 0",
  );
  const kindsOf = db.prepare<[number], Kind>(
    "SELECT destination_id, state, n FROM delivery_counts WHERE destination_id = ? AND n > 0",
  );
  const newest = db.prepare<[number, number, number, number], DeliveryRow>(
    `SELECT * FROM deliveries INDEXED BY deliveries_by_state
     WHERE destination_id = ? AND state = ? AND id < ? ORDER BY id DESC LIMIT ?`,
  );
  const ofMessage = db.prepare<
    [number],
    Pick<DeliveryRow, "id" | "destination_id" | "state" | "reason">
  >(`SELECT id, destination_id, state, reason FROM (${deliveriesOfMessage}) ORDER BY state, id`);

  const dueAt = db.prepare<[number, number, number, number], DeliveryRow>(
    `SELECT * FROM deliveries WHERE destination_id = ? AND state = ${waiting} AND next_attempt_at = ? AND id > ? ORDER BY id LIMIT ?`,
  );
  const dueAfter = db.prepare<[number, number, number], DeliveryRow>(
    `SELECT * FROM deliveries WHERE destination_id = ? AND state = ${waiting} AND next_attempt_at > ? ORDER BY next_attempt_at, id LIMIT ?`,
  );
  const dueTimes = db
    .prepare<[number, number], number>(
      `SELECT next_attempt_at FROM deliveries WHERE destination_id = ? AND state = ${waiting} ORDER BY next_attempt_at LIMIT ?`,
    )
    .pluck();

  function matching({ destinationId, state }: DeliveryFilter): Kind[] {
    const all = destinationId === undefined ? kinds.all() : kindsOf.all(destinationId);
    return state === undefined ? all : all.filter((kind) => kind.state === stateCode(state));
  }

  function page<Place>(
    found: DeliveryRow[],
    from: readonly Kind[],
    limit: number,
    placeOf: (row: DeliveryRow) => Place,
  ): Page<DeliverySummary, Place> {
    const items: DeliverySummary[] = [];
    let messages = 0;
    for (const row of found.slice(0, limit)) {
      const summary = summaryOf(row);
      items.push(summary);
      messages += summary.messages?.length ?? 0;
      if (messages >= maxMessagesOfPage) break;
    }
    const last = found[items.length - 1];
    return {
      items,
      nextCursor: last !== undefined && found.length > items.length ? placeOf(last) : null,
      total: from.reduce((sum, { n }) => sum + n, 0),
      totalCapped: false,
    };
  }

  return {
    deliveries(filter, limit, before) {
      const from = matching(filter);
      const found = firstOf({
        lists: from.map(
          ({ destination_id, state }) =>
            (last, most) =>
              newest.all(
                destination_id,
                state,
                last?.id ?? before ?? Number.MAX_SAFE_INTEGER,
                most,
              ),
        ),
        count: limit + 1,
        compare: (a, b) => b.id - a.id,
      });
      return page(found, from, limit, ({ id }) => id as DeliveryId);
    },

    deliveriesByDue(filter, limit, after) {
      const from = matching({ ...filter, state: "waiting" });
      const start = after ?? { at: Number.MIN_SAFE_INTEGER, id: 0 };
      const found = firstOf({
        lists: from.map(({ destination_id }) => (last, most) => {
          const { at, id } = last === null ? start : { at: dueOf(last), id: last.id };
          const same = dueAt.all(destination_id, at, id, most);
          return [...same, ...dueAfter.all(destination_id, at, most - same.length)];
        }),
        count: limit + 1,
        compare: (a, b) => dueOf(a) - dueOf(b) || a.id - b.id,
      });
      return page(found, from, limit, (row) => ({ at: dueOf(row), id: row.id as DeliveryId }));
    },

    dueTimes: (destination, limit) => dueTimes.all(destination, limit),

    deliveriesOf: (message) =>
      ofMessage.all(message).map(({ id, destination_id, state, reason }) => ({
        id: id as DeliveryId,
        destinationId: destination_id as DestinationId,
        state: deliveryStateAt(state),
        reason,
      })),

    deliveryDetails: reader.delivery,
    attempt: reader.attempt,

    ...outcomesOf(db),
    ...listing(db),
    ...counting(db, kinds),
  };
}

/** How attempts ended. */
function outcomesOf(db: Db): Pick<Queries, "lastOutcome" | "newestAttempts"> {
  const lastOutcome = db
    .prepare<[number], number>(
      `SELECT outcome FROM attempts WHERE delivery_id = ? ORDER BY round DESC, duration_ms DESC LIMIT 1`,
    )
    .pluck();

  const newestAttempts = db.prepare<
    [number],
    { webhookId: WebhookId; outcome: number; status: number | null; durationMs: number }
  >(
    `SELECT webhook_id AS webhookId, outcome, status, duration_ms AS durationMs FROM attempts
     WHERE id > (SELECT max(id) FROM attempts) - ? ORDER BY id DESC`,
  );
  return {
    lastOutcome(delivery) {
      const outcome = lastOutcome.get(delivery);
      return outcome === undefined ? null : outcomeAt(outcome);
    },
    newestAttempts: (limit) =>
      newestAttempts.all(limit).map(({ outcome, ...attempt }) => ({
        ...attempt,
        outcome: outcomeAt(outcome),
      })),
  };
}

/** The next rows of an ordered list behind one of them, or its first rows. */
type ReadRows = (last: DeliveryRow | null, most: number) => DeliveryRow[];

/**
 * The first rows of many ordered lists together. Each is read in pieces, because most of a
 * thousand lists have few rows among the first ones, or none.
 */
function firstOf({
  lists,
  count,
  compare,
}: {
  lists: readonly ReadRows[];
  count: number;
  compare: (a: DeliveryRow, b: DeliveryRow) => number;
}): DeliveryRow[] {
  let found: DeliveryRow[] = [];
  let open = lists.map((read) => ({ read, last: null as DeliveryRow | null }));
  for (
    let piece = Math.ceil(count / lists.length);
    open.length > 0;
    piece = Math.min(count, piece * 2)
  ) {
    const unread: typeof open = [];
    for (const { read, last } of open) {
      const rows = read(last, piece);
      found.push(...rows);
      if (rows.length === piece) unread.push({ read, last: rows.at(-1) ?? null });
    }
    found = found.sort(compare).slice(0, count);
    const end = found.length === count ? found.at(-1) : undefined;
    open = unread.filter(
      ({ last }) => end === undefined || (last !== null && compare(last, end) < 0),
    );
  }
  return found;
}

/** A delivery as its list shows it: with its message, and a mark for each round. */
function listing(db: Db): Pick<Queries, "listed"> {
  const message = db.prepare<
    [number],
    { type: number; event: string | null; user_id: string | null; anonymous_id: string | null }
  >("SELECT type, event, user_id, anonymous_id FROM messages WHERE id = ?");
  const made = db.prepare<[number], Made>(
    "SELECT round, started_at, duration_ms, outcome FROM attempts WHERE delivery_id = ? ORDER BY round, started_at, id",
  );

  return {
    listed(delivery) {
      const row = message.get(delivery.messageRow);
      const rounds = Map.groupBy(made.all(delivery.id), ({ round }) => round);
      const marks = [...rounds].map(([round, attempts]): RoundMark => {
        const weight = ({ outcome, duration_ms }: Made): number =>
          outcomeAt(outcome) === "success" ? Infinity : duration_ms;
        const shown = attempts.reduce((most, each) => (weight(each) > weight(most) ? each : most));
        return {
          round,
          startedAt: (attempts[0] as Made).started_at,
          outcome: outcomeAt(shown.outcome),
        };
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

function counting(
  db: Db,
  kinds: { all(): Kind[] },
): Pick<Queries, "stats" | "countByState" | "deliveriesByDestination"> {
  const dataBytes = db
    .prepare<[], number>("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
    .pluck();
  const dataId = db.prepare<[], string>("SELECT value FROM meta WHERE key = 'data'").pluck();

  function countByState(): Record<DeliveryState, number> {
    const counted = zeroes<DeliveryState>(deliveryStates);
    for (const { state, n } of kinds.all()) counted[deliveryStateAt(state)] += n;
    return counted;
  }

  return {
    stats(): Stats {
      const messages = {
        total: 0,
        byState: zeroes<MessageState>(messageStates),
        byType: {} as Record<string, number>,
      };
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
      return {
        messages,
        deliveries: { total: Object.values(byState).reduce((sum, n) => sum + n, 0), byState },
        dataBytes: dataBytes.get() as number,
        dataId: dataId.get() as string,
      };
    },
    countByState,
    deliveriesByDestination() {
      const counted = new Map<DestinationId, Partial<Record<DeliveryState, number>>>();
      for (const { destination_id, state, n } of kinds.all()) {
        const id = destination_id as DestinationId;
        counted.set(id, { ...counted.get(id), [deliveryStateAt(state)]: n });
      }
      return counted;
    },
  };
}

const dueOf = ({ next_attempt_at }: DeliveryRow): number => next_attempt_at as number;

function zeroes<State extends string>(states: readonly State[]): Record<State, number> {
  return Object.fromEntries(states.map((state) => [state, 0])) as Record<State, number>;
}
