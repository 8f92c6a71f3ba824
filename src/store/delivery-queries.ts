/** Reads deliveries: pages of them, counts, and one with everything that belongs to it. */

import type {
  DeliveryId,
  AttemptId,
  DestinationId,
  MessageRowId,
  WebhookId,
} from "../domain/ids.ts";
import {
  deliveryStates,
  messageStates,
  type DeliveryState,
  type MessageState,
} from "../domain/states.ts";
import type {
  ClaimedDelivery,
  DeliveryFilter,
  DeliveryStore,
  DeliverySummary,
  Page,
  QueryStore,
  RoundMark,
  Stats,
  AttemptRecord,
  DeliveryDetails,
  Transition,
} from "../engine/ports.ts";
import {
  deliveryStateAt,
  mappedShape,
  messageStateAt,
  outcomeAt,
  stateCode,
  typeAt,
  filteredShape,
  shapeAt,
} from "./codes.ts";
import { deliveriesOfMessage, type DeliveryKey, type MappedRequests } from "./mapped-requests.ts";
import type { RequestBodies } from "./request-bodies.ts";
import { createPayloadReader } from "./shared-bytes.ts";
import type { Db } from "./transactions.ts";
import type { PayloadShape } from "../domain/configuration.ts";

type Queries = Pick<
  QueryStore,
  | "deliveries"
  | "deliveriesByDestination"
  | "deliveriesByDue"
  | "deliveriesOf"
  | "lastOutcome"
  | "deliveryDetails"
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
  const summaryOf = (row: DeliveryRow): DeliverySummary => deliverySummary(row, mapped);
  const kinds = db.prepare<[], Kind>(
    "SELECT destination_id, state, n FROM delivery_counts WHERE n > 0",
  );
  const newest = db.prepare<[number, number, number, number], DeliveryRow>(
    `SELECT * FROM deliveries INDEXED BY deliveries_by_state
     WHERE destination_id = ? AND state = ? AND id < ? ORDER BY id DESC LIMIT ?`,
  );
  const ofMessage = db.prepare<
    [number],
    Pick<DeliveryRow, "id" | "destination_id" | "state" | "reason">
  >(`SELECT id, destination_id, state, reason FROM (${deliveriesOfMessage}) ORDER BY state, id`);
  const lastOutcome = db
    .prepare<[number], number>(
      `SELECT outcome FROM attempts WHERE delivery_id = ? ORDER BY round DESC, duration_ms DESC LIMIT 1`,
    )
    .pluck();

  const dueAt = db.prepare<[number, number, number, number], DeliveryRow>(
    `SELECT * FROM deliveries WHERE destination_id = ? AND state = ${waiting} AND next_attempt_at = ? AND id > ? ORDER BY id LIMIT ?`,
  );
  const dueAfter = db.prepare<[number, number, number], DeliveryRow>(
    `SELECT * FROM deliveries WHERE destination_id = ? AND state = ${waiting} AND next_attempt_at > ? ORDER BY next_attempt_at, id LIMIT ?`,
  );
  const newestAttempts = db.prepare<
    [number],
    { webhookId: WebhookId; outcome: number; status: number | null; durationMs: number }
  >(
    `SELECT webhook_id AS webhookId, outcome, status, duration_ms AS durationMs FROM attempts
     WHERE id > (SELECT max(id) FROM attempts) - ? ORDER BY id DESC`,
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
      const found = from
        .flatMap((kind) =>
          newest.all(kind.destination_id, kind.state, before ?? Number.MAX_SAFE_INTEGER, limit + 1),
        )
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

    deliveriesOf: (message) =>
      ofMessage.all(message).map(({ id, destination_id, state, reason }) => ({
        id: id as DeliveryId,
        destinationId: destination_id as DestinationId,
        state: deliveryStateAt(state),
        reason,
      })),
    lastOutcome(delivery) {
      const outcome = lastOutcome.get(delivery);
      return outcome === undefined ? null : outcomeAt(outcome);
    },

    deliveryDetails: createDeliveryReader(db, mapped).delivery,

    newestAttempts: (limit) =>
      newestAttempts.all(limit).map(({ outcome, ...attempt }) => ({
        ...attempt,
        outcome: outcomeAt(outcome),
      })),

    ...listing(db),
    ...counting(db, kinds),
  };
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

type TransitionRow = {
  delivery_id: number;
  at: number;
  state: number;
  reason: string;
  next_attempt_at: number | null;
};

type DeliveryReader = {
  delivery(id: DeliveryId): DeliveryDetails | null;
  ofMessage(id: MessageRowId): DeliveryDetails[];
};

/** One delivery, with its attempts and its changes of state. */
export function createDeliveryReader(db: Db, mapped: MappedRequests): DeliveryReader {
  const one = db.prepare<[number], DeliveryRow>("SELECT * FROM deliveries WHERE id = ?");
  const ofMessage = db.prepare<[number], DeliveryRow>(`${deliveriesOfMessage} ORDER BY id`);
  const transitions = db.prepare<[number], TransitionRow>(
    "SELECT delivery_id, at, state, reason, next_attempt_at FROM transitions WHERE delivery_id = ? ORDER BY id",
  );
  const attempts = db.prepare<[number], AttemptRow>(
    "SELECT * FROM attempts WHERE delivery_id = ? ORDER BY round, started_at, id",
  );
  const requestOf = createRequestReader(db, mapped);

  const details = (row: DeliveryRow): DeliveryDetails => ({
    ...deliverySummary(row, mapped),
    ...requestOf(row),
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

/** The bytes that a delivery sends, and of a mapping's request all else. */
export function createRequestReader(
  db: Db,
  mapped: MappedRequests,
  bodies?: RequestBodies,
): (
  row: DeliveryKey & Pick<DeliveryRow, "destination_id">,
) => Pick<ClaimedDelivery, "payload" | "mapped"> {
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
            body: row.response_body as Uint8Array,
            bodyLength: row.response_length as number,
          },
  };
}
