/**
 * Deliveries on their way. A delivery's state changes here and nowhere else, and its message's
 * state with it.
 *
 * A claim from the queue may be in memory only (`claims.ts`); everything here that reads states
 * writes the claims first.
 *
 * The record of a change is a row of `transitions`, but for two, whose record is an attempt's own
 * row: `sending` (the attempt's start) and `delivered` (the attempt that succeeded).
 */

import type { DeliveryId, DestinationId, MessageRowId } from "../domain/ids.ts";
import type { AttemptRecord, DeliveryStore, DeliverySummary } from "../engine/ports.ts";
import { deliveryStateAt, outcomeCode, stateCode } from "./codes.ts";
import {
  claimable,
  type Claimable,
  Claims,
  claiming,
  moved,
  seeing,
  type OfMessage,
  type RefreshMessage,
} from "./claims.ts";
import type { Counts } from "./counts.ts";
import { deliverySummary, type DeliveryRow } from "./delivery-reader.ts";
import { deliveriesOfMessage, type DeliveryKey, type MappedRequests } from "./mapped-requests.ts";
import type { MessageKind } from "./message-facts.ts";
import type { RequestBodies } from "./request-bodies.ts";
import type { Transactions, Db } from "./transactions.ts";

const sending = stateCode("sending");
const queued = stateCode("queued");
const waiting = stateCode("waiting");

type Parts = {
  db: Db;
  counts: Counts;
  transactions: Transactions;
  mapped: MappedRequests;
  bodies: RequestBodies;
  claims: Claims;
  refreshMessage: RefreshMessage;
};

export function createDeliveryStore(
  db: Db,
  counts: Counts,
  transactions: Transactions,
  mapped: MappedRequests,
  bodies: RequestBodies,
  health: { beforeWrite(): void },
): Omit<DeliveryStore, "countByState"> & { seeClaims: () => void } {
  const claims = new Claims(db, counts, transactions, mapped);
  const refreshMessage = refreshing(db, counts, mapped);
  const parts: Parts = { db, counts, transactions, mapped, bodies, claims, refreshMessage };
  const recordClaims = (): void => claims.write(refreshMessage);
  const seeClaims = (): void => {
    try {
      health.beforeWrite();
      recordClaims();
    } catch {
      // A full disk or damage keeps nobody from reading. The next record reports it.
    }
  };
  return {
    ...claiming(parts),
    recordClaims,
    recordOlderClaims: () => claims.writeOlder(refreshMessage),
    record: transactions.wrap(recording(parts)),
    seeClaims,
    ...seeing(seeClaims, { ...atStart(parts), ...readers(db, mapped) }),
    ...withoutClaims(db, counts),
    ...windows(parts, seeClaims),
  };
}

/**
 * A message has the first state, in the order of the list, that any of its deliveries is in. Its
 * other deliveries are read only when the change leaves that open.
 */
function refreshing(db: Db, counts: Counts, mapped: MappedRequests): RefreshMessage {
  const read = db.prepare<[number], MessageKind & { outcomes: string | null }>(
    "SELECT source_id AS sourceId, type, state, outcomes FROM messages WHERE id = ?",
  );
  const own = "FROM deliveries WHERE message_id = messages.id";
  const readWithNow = db.prepare<[number], MessageKind & { outcomes: string | null; now: number }>(
    `SELECT source_id AS sourceId, type, state, outcomes,
       CASE WHEN EXISTS (SELECT 1 ${own} AND state = messages.state) THEN state
         ELSE (SELECT min(state) ${own}) END AS now
     FROM messages WHERE id = ?`,
  );
  const hasState = db
    .prepare<[number, number], number>(
      `SELECT EXISTS (SELECT 1 FROM (${deliveriesOfMessage}) WHERE state = ?)`,
    )
    .pluck();
  const first = db
    .prepare<[number], number>(`SELECT min(state) FROM (${deliveriesOfMessage})`)
    .pluck();
  const setMessageState = db.prepare("UPDATE messages SET state = ? WHERE id = ?");
  const setMessageAttempts = db.prepare(
    `UPDATE messages SET state = ?, attempts = attempts + ?, last_status = coalesce(?, last_status),
       outcomes = ? WHERE id = ?`,
  );

  const stateAfter = (id: number, state: number, { from, to }: OfMessage): number => {
    if (to <= state) return to;
    if (from > state) return state;
    return hasState.get(id, state) === 1 ? state : (first.get(id) as number);
  };

  return (id, change) => {
    const { to, attempts, lastStatus, outcomes } = change;
    const isDecided = to === sending;
    const before = (mapped.hasBatches || isDecided ? read : readWithNow).get(id) as MessageKind & {
      outcomes: string | null;
      now?: number;
    };
    const { sourceId, type, now } = before;
    // An earlier state than the message's is that of a delivery that has changed.
    const state = now === undefined ? stateAfter(id, before.state, change) : Math.min(now, to);
    if (attempts > 0) {
      setMessageAttempts.run(state, attempts, lastStatus, allOf(before.outcomes, outcomes), id);
      counts.attempted(id);
    } else if (state !== before.state) setMessageState.run(state, id);
    if (state !== before.state) counts.message(id, before, { sourceId, type, state });
  };
}

/** Each once. Most messages have one attempt. */
function allOf(known: string | null, outcomes: readonly string[]): string {
  const all = known === null ? outcomes : [...known.split(","), ...outcomes];
  return all.length === 1 ? (all[0] as string) : [...new Set(all)].sort().join(",");
}

/**
 * Runs inside a transaction. Deliveries that retention has removed since, with their messages, are
 * passed over.
 */
function recording({ db, counts, mapped, claims, refreshMessage }: Parts): DeliveryStore["record"] {
  const one = db.prepare<[number], Claimable>(`${claimable} WHERE id = ?`);
  const setDeliveryState = db.prepare(
    "UPDATE deliveries SET state = ?, reason = ?, next_attempt_at = ?, first_attempt_at = coalesce(?, first_attempt_at) WHERE id = ?",
  );
  const endRound = db.prepare(
    "UPDATE deliveries SET state = ?, reason = ?, next_attempt_at = ?, first_attempt_at = coalesce(?, first_attempt_at), rounds = rounds + 1 WHERE id = ?",
  );
  const setFirstAttempt = db.prepare("UPDATE deliveries SET first_attempt_at = ? WHERE id = ?");
  const reopen = db.prepare(
    "UPDATE deliveries SET window_round = rounds + 1, first_attempt_at = NULL WHERE id = ?",
  );
  const takeBackRound = takingBackRound(db);
  const insertTransition = insertingTransition(db);
  const insertAttempt = insertingAttempt(db);

  const writeClaim = (delivery: Touched): void => {
    if (!delivery.claimed) return;
    claims.writeOne(delivery);
    delivery.claimed = false;
    delivery.state = sending;
  };

  return (attempts, transitions) => {
    const deliveries = new Map<number, Touched | null>();
    const messages = new Map<number, OfMessage>();
    /** Null when retention has taken it, with its message, since the attempt began. */
    const touch = (id: number): Touched | null => {
      let delivery = deliveries.get(id);
      if (delivery === undefined) {
        const claimed = claims.takeOut(id);
        const row = claimed ?? one.get(id);
        delivery =
          row === undefined
            ? null
            : {
                id,
                destination_id: row.destination_id,
                state: row.state,
                window_round: row.window_round,
                first_attempt_at: row.first_attempt_at,
                before: row.state,
                firstAt: null,
                claimed: claimed !== undefined,
                messages: mapped.messagesOf(row),
              };
        deliveries.set(id, delivery);
        for (const message of delivery?.messages ?? [])
          if (!messages.has(message)) messages.set(message, moved(Infinity, Infinity));
      }
      return delivery;
    };
    for (const attempt of attempts) {
      const delivery = touch(attempt.deliveryId);
      if (delivery === null) continue;
      insertAttempt(attempt);
      // Attempts are recorded as they end, and the first that ends may not be the first that
      // started.
      if (attempt.startedAt < (delivery.firstAt ?? delivery.first_attempt_at ?? Infinity))
        delivery.firstAt = attempt.startedAt;
      for (const id of delivery.messages) {
        const message = messages.get(id) as OfMessage;
        message.attempts += 1;
        message.lastStatus = attempt.response?.status ?? message.lastStatus;
        message.outcomes.push(`${outcomeCode(attempt.outcome)}:${attempt.response?.status ?? ""}`);
      }
    }
    for (const { deliveryId, at, state, reason, nextAttemptAt } of transitions) {
      const delivery = touch(deliveryId);
      if (delivery === null) continue;
      const code = stateCode(state);
      if (state === "queued") {
        writeClaim(delivery);
        if (delivery.state > waiting) reopen.run(deliveryId);
        if (delivery.state === sending) takeBackRound(delivery);
        claims.requeued(delivery.destination_id);
      }
      const setState = delivery.claimed ? endRound : setDeliveryState;
      delivery.claimed = false;
      setState.run(code, reason, nextAttemptAt, delivery.firstAt, deliveryId);
      if (state !== "delivered") insertTransition(deliveryId, at, code, reason, nextAttemptAt);
      counts.delivery(delivery.destination_id, delivery.state, -1);
      counts.delivery(delivery.destination_id, code, 1);
      delivery.state = code;
      delivery.firstAt = null;
    }
    for (const delivery of deliveries.values()) {
      if (delivery === null) continue;
      writeClaim(delivery);
      if (delivery.firstAt !== null) setFirstAttempt.run(delivery.firstAt, delivery.id);
      for (const id of delivery.messages) {
        const message = messages.get(id) as OfMessage;
        message.from = Math.min(message.from, delivery.before);
        message.to = Math.min(message.to, delivery.state);
      }
    }
    for (const [id, added] of messages) refreshMessage(id, added);
  };
}

const allRows = Number.MAX_SAFE_INTEGER;

/** What a start finds: deliveries that were being sent, and retries that are overdue. */
function atStart({
  db,
  counts,
  transactions,
  mapped,
  claims,
  refreshMessage,
}: Parts): Pick<DeliveryStore, "requeueInterrupted" | "spreadOverdue"> {
  const insertTransition = insertingTransition(db);
  return {
    requeueInterrupted: transactions.wrap((now: number, maxMessages = allRows): number => {
      const rows = db
        .prepare<[number], DeliveryRow>(
          `${inState} WHERE c.state = ${sending} AND c.n > 0 AND d.state = ${sending} LIMIT ?`,
        )
        .all(maxMessages);
      const takeBackRound = takingBackRound(db);
      const back = db.prepare(
        `UPDATE deliveries SET state = ${queued}, reason = 'restarted' WHERE id = ?`,
      );
      let requeued = 0;
      let room = maxMessages;
      for (const row of rows) {
        if (room <= 0) break;
        takeBackRound(row);
        back.run(row.id);
        claims.requeued(row.destination_id);
        insertTransition(row.id, now, queued, "restarted", null);
        counts.delivery(row.destination_id, sending, -1);
        counts.delivery(row.destination_id, queued, 1);
        const messages = mapped.messagesOf(row);
        for (const id of messages) refreshMessage(id, moved(sending, queued));
        room -= messages.length;
        requeued += 1;
      }
      return requeued;
    }),

    spreadOverdue: transactions.wrap((now, gapMs, maxMs, before = 0, max = allRows, windowOf) => {
      const overdue = `${inState} WHERE c.state = ${waiting} AND c.n > 0 AND d.state = ${waiting} AND d.next_attempt_at < ?`;
      const count = db.prepare<[number], number>(`SELECT count(*) FROM (${overdue})`);
      const all = before + (count.pluck().get(now) ?? 0);
      const gap = all > 1 ? Math.min(gapMs, maxMs / (all - 1)) : 0;
      const inOrder = `${overdue} ORDER BY d.next_attempt_at, d.id LIMIT ?`;
      // Those that were moved are no longer overdue.
      const rows = db.prepare<[number, number], DeliveryRow>(inOrder).all(now, max);
      const sql = "UPDATE deliveries SET next_attempt_at = ?, reason = 'overdue' WHERE id = ?";
      const move = db.prepare(sql);
      for (const [place, row] of rows.entries()) {
        const window = windowOf?.(row.destination_id as DestinationId) ?? Infinity;
        const windowEnd = (row.first_attempt_at ?? Infinity) + window;
        let at = Math.ceil((now + (before + place) * gap) / 1000) * 1000;
        // Later it would expire without its attempt.
        if (at > windowEnd && now <= windowEnd)
          at = now + Math.floor(((windowEnd - now) * (before + place)) / all);
        move.run(at, row.id);
        insertTransition(row.id, now, waiting, "overdue", at);
      }
      return rows.length;
    }),
  };
}

/** A round that was interrupted and has no attempt on record has not taken place. */
function takingBackRound(db: Db) {
  const lastRound = db
    .prepare<[number], number>("SELECT coalesce(max(round), 0) FROM attempts WHERE delivery_id = ?")
    .pluck();
  const setRounds = db.prepare("UPDATE deliveries SET rounds = ? WHERE id = ?");
  return ({ id, window_round }: Pick<DeliveryRow, "id" | "window_round">): void =>
    void setRounds.run(Math.max(lastRound.get(id) as number, window_round - 1), id);
}

function insertingTransition(db: Db) {
  const insert = db.prepare(
    "INSERT INTO transitions (delivery_id, at, state, reason, next_attempt_at) VALUES (?, ?, ?, ?, ?)",
  );
  return (
    deliveryId: number,
    at: number,
    state: number,
    reason: string | null,
    nextAttemptAt: number | null,
  ): void => void insert.run(deliveryId, at, state, reason, nextAttemptAt);
}

function insertingAttempt(db: Db) {
  const insert = db.prepare(
    `INSERT INTO attempts (delivery_id, round, webhook_id, webhook_url, started_at, duration_ms, phases, simulated, outcome, retryable,
       error_code, error_message, request_head, status, response_head, response_body, response_length)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  return (attempt: AttemptRecord): void => {
    insert.run(
      attempt.deliveryId,
      attempt.round,
      attempt.webhookId,
      attempt.webhookUrl,
      attempt.startedAt,
      attempt.durationMs,
      JSON.stringify(attempt.phases),
      attempt.simulated ? 1 : 0,
      outcomeCode(attempt.outcome),
      attempt.retryable ? 1 : 0,
      attempt.error?.code,
      attempt.error?.message,
      attempt.requestHead,
      attempt.response?.status,
      attempt.response?.head,
      attempt.response?.body,
      attempt.response?.bodyLength,
    );
  };
}

/**
 * A delivery within one recording; `before` is the state of its row, `firstAt` is the start of its first attempt that no change of
 * state has taken note of yet, `claimed` says that its row does not have its claim yet.
 */
type Touched = Omit<Claimable, "message_id" | "shape" | "rounds"> & {
  before: number;
  firstAt: number | null;
  claimed: boolean;
  messages: readonly number[];
};

/** Of every destination that has some in this state, so that the indexes lead to them. */
const inState =
  "SELECT d.* FROM delivery_counts AS c CROSS JOIN deliveries AS d ON d.destination_id = c.destination_id";

function readers(db: Db, mapped: MappedRequests) {
  const one = db.prepare<[number], DeliveryRow>("SELECT * FROM deliveries WHERE id = ?");
  const dueUpTo = db
    .prepare<[number, number, number]>(
      `SELECT EXISTS (SELECT 1 FROM deliveries WHERE destination_id = ? AND state = ${waiting} AND next_attempt_at <= ? AND id <= ?)`,
    )
    .pluck();
  const stateUpTo = db
    .prepare<[number, number, number]>(
      "SELECT EXISTS (SELECT 1 FROM deliveries WHERE destination_id = ? AND state = ? AND id <= ?)",
    )
    .pluck();
  const waitingInWindowUpTo = db
    .prepare<[number, number]>(
      `SELECT EXISTS (SELECT 1 FROM deliveries WHERE destination_id = ? AND state = ${waiting} AND first_attempt_at IS NOT NULL AND id <= ?)`,
    )
    .pluck();
  const unsettled = db.prepare<
    [number],
    { destinationId: DestinationId; code: number; hasWindow: number }
  >(
    `SELECT destination_id AS destinationId, state AS code, first_attempt_at IS NOT NULL AS hasWindow FROM (${deliveriesOfMessage}) WHERE state IN (${queued}, ${sending}, ${waiting})`,
  );

  return {
    delivery(id: DeliveryId): DeliverySummary | null {
      const row = one.get(id);
      return row === undefined ? null : deliverySummary(row, mapped);
    },
    hasRunnableUpTo: (destinationId: DestinationId, now: number, upTo: number): boolean =>
      stateUpTo.get(destinationId, queued, upTo) === 1 ||
      dueUpTo.get(destinationId, now, upTo) === 1,
    hasUnsettledUpTo: (destinationId: DestinationId, isEnabled: boolean, upTo: number): boolean =>
      [sending, ...(isEnabled ? [queued, waiting] : [])].some(
        (state) => stateUpTo.get(destinationId, state, upTo) === 1,
      ) ||
      (!isEnabled && waitingInWindowUpTo.get(destinationId, upTo) === 1),
    unsettledOf: (message: MessageRowId) =>
      unsettled.all(message).map(({ destinationId, code, hasWindow }) => ({
        destinationId,
        state: deliveryStateAt(code),
        hasWindow: hasWindow === 1,
      })),
  };
}

/** Deliveries whose retries wait are never among the claims that are not written. */
function withoutClaims(
  db: Db,
  counts: Counts,
): Pick<DeliveryStore, "nextDueAt" | "newestRows" | "destinationsWithWork"> {
  const newest = db.prepare<[], { message: number; delivery: number }>(
    "SELECT coalesce((SELECT max(id) FROM messages), 0) AS message, coalesce((SELECT max(id) FROM deliveries), 0) AS delivery",
  );
  const nextDue = db
    .prepare<[number]>(
      `SELECT next_attempt_at FROM deliveries WHERE destination_id = ? AND state = ${waiting} ORDER BY next_attempt_at LIMIT 1`,
    )
    .pluck();
  return {
    newestRows: () => newest.get() as { message: number; delivery: number },
    destinationsWithWork: () => counts.destinationsWithWork(),
    nextDueAt(destinationIds: readonly DestinationId[]): number | null {
      let earliest: number | null = null;
      for (const id of destinationIds) {
        if (counts.deliveriesIn(id, waiting) === 0) continue;
        const at = nextDue.get(id) as number | undefined;
        if (at !== undefined && (earliest === null || at < earliest)) earliest = at;
      }
      return earliest;
    },
  };
}

/** The windows of a disabled destination, looked at in each turn in which deliveries are claimed. */
function windows(
  { db, claims, mapped }: Parts,
  seeClaims: () => void,
): Pick<DeliveryStore, "pausedPastWindow" | "nextWindowEnd"> {
  const firstAttempts = db.prepare<[number, number, number], DeliveryKey>(
    `SELECT id, message_id, shape FROM deliveries WHERE destination_id = ? AND state = ${waiting} AND first_attempt_at <= ? ORDER BY first_attempt_at LIMIT ?`,
  );
  const firstAttemptsQueued = db.prepare<[number, number, number], DeliveryKey>(
    `SELECT id, message_id, shape FROM deliveries WHERE destination_id = ? AND state = ${queued} AND first_attempt_at IS NOT NULL AND first_attempt_at <= ? LIMIT ?`,
  );
  const oldestWindowQueued = db
    .prepare<[number]>(
      `SELECT first_attempt_at FROM deliveries WHERE destination_id = ? AND state = ${queued} AND first_attempt_at IS NOT NULL
       ORDER BY first_attempt_at LIMIT 1`,
    )
    .pluck();
  const oldestWindow = db
    .prepare<[number]>(
      `SELECT first_attempt_at FROM deliveries WHERE destination_id = ? AND state = ${waiting} AND first_attempt_at IS NOT NULL ORDER BY first_attempt_at LIMIT 1`,
    )
    .pluck();
  const see = (destinationId: DestinationId): void => {
    if (claims.count(destinationId) > 0) seeClaims();
  };
  return {
    pausedPastWindow(destinationId, now, windowMs, maxMessages) {
      see(destinationId);
      const found: { id: DeliveryId; messages: MessageRowId[] }[] = [];
      let room = maxMessages;
      for (const rows of [firstAttempts, firstAttemptsQueued])
        for (const row of rows.all(destinationId, now - windowMs, Math.max(0, room))) {
          if (room <= 0) break;
          const messages = mapped.messagesOf(row) as MessageRowId[];
          found.push({ id: row.id as DeliveryId, messages });
          room -= messages.length;
        }
      return found;
    },
    nextWindowEnd(destinationId: DestinationId, windowMs: number): number | null {
      see(destinationId);
      const firsts = [oldestWindow.get(destinationId), oldestWindowQueued.get(destinationId)] as (
        | number
        | null
        | undefined
      )[];
      const ends = firsts.flatMap((first) =>
        first === null || first === undefined ? [] : [first + windowMs],
      );
      return ends.length === 0 ? null : Math.min(...ends);
    },
  };
}
