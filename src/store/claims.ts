/**
 * Deliveries that were claimed from the queue and whose row does not say so yet. Most attempts end
 * within milliseconds: then their record writes the end, and `sending` is never written. Everything
 * that reads states of deliveries or messages writes the claims first (`seeing`), and the delivery
 * scheduler does when an attempt takes longer.
 */

import type { DeliveryId, DestinationId, MessageRowId, WebhookId } from "../domain/ids.ts";
import type { ClaimedDelivery, DeliveryStore } from "../engine/ports.ts";
import { shapeColumns, stateCode } from "./codes.ts";
import type { Counts } from "./counts.ts";
import { createRequestReader } from "./delivery-reader.ts";
import type { DeliveryKey, MappedRequests } from "./mapped-requests.ts";
import type { RequestBodies } from "./request-bodies.ts";
import { isSmallText } from "./shared-bytes.ts";
import type { Db, Transactions } from "./transactions.ts";

const sending = stateCode("sending");
const queued = stateCode("queued");
const waiting = stateCode("waiting");

/**
 * What changes of a message: the first of the states that its deliveries leave and of those that
 * they are in now, and what the attempts of one recording add to it.
 */
export type OfMessage = {
  from: number;
  to: number;
  attempts: number;
  lastStatus: number | null;
  outcomes: string[];
};

/** The change of state alone. */
export const moved = (from: number, to: number): OfMessage => ({
  from,
  to,
  attempts: 0,
  lastStatus: null,
  outcomes: [],
});

export type RefreshMessage = (id: number, change: OfMessage) => void;

/**
 * Claims that are not written: all of them are written in one transaction when somebody reads
 * states.
 */
const maxUnwritten = 1000;

/** What a claim, and the record of its end, need of a delivery's row. */
export type Claimable = DeliveryKey & {
  destination_id: number;
  state: number;
  rounds: number;
  window_round: number;
  first_attempt_at: number | null;
};

export const claimable =
  "SELECT id, message_id, destination_id, state, shape, rounds, window_round, first_attempt_at FROM deliveries";

/** With its payload, unless that is to be read by `createRequestReader`. */
type Claimed = Claimable & { payload: string | null };

/** A text costs half of what a buffer does. */
const payloadText = shapeColumns
  .map((column, shape) => `WHEN d.shape = ${shape} AND ${isSmallText(column)} THEN ${column}`)
  .join(" ");
const claimableWithPayload = `SELECT d.id, d.message_id, d.destination_id, d.state, d.shape, d.rounds, d.window_round, d.first_attempt_at,
    CAST(CASE ${payloadText} END AS TEXT) AS payload
  FROM deliveries AS d LEFT JOIN payloads ON payloads.message_id = d.message_id`;

export class Claims {
  /** Their rows, which nobody changes before the claim is written; the oldest is first. */
  readonly #unwritten = new Map<number, Claimable>();
  /** Those that were not written at the last `writeOlder`. */
  #older = new Set<number>();
  readonly #ofDestination = new Map<number, number>();
  readonly #claimedUpTo = new Map<number, number>();
  /** Of each destination, the newest that was ever claimed. */
  readonly #newest = new Map<number, number>();
  readonly #transactions;
  readonly #counts;
  readonly #mapped;
  readonly #take;

  constructor(db: Db, counts: Counts, transactions: Transactions, mapped: MappedRequests) {
    this.#mapped = mapped;
    this.#transactions = transactions;
    this.#counts = counts;
    this.#take = db.prepare<[number]>(
      `UPDATE deliveries SET state = ${sending}, rounds = rounds + 1, next_attempt_at = NULL WHERE id = ?`,
    );
    transactions.onReload((isRollback) => {
      if (isRollback) return;
      this.#empty(this.#unwritten);
      this.#empty(this.#ofDestination);
      this.#empty(this.#claimedUpTo);
      this.#empty(this.#newest);
    });
  }

  /** No row says what is in it: it has that again when the transaction fails. */
  #empty<Value>(map: Map<number, Value>): void {
    const before = [...map];
    map.clear();
    this.#transactions.onRollback(() => {
      for (const [key, value] of before) map.set(key, value);
    });
  }

  /** Nothing that is queued up to this id is left to claim. */
  claimedUpTo(destination: number): number {
    return this.#claimedUpTo.get(destination) ?? 0;
  }

  /** How many rows after `claimedUpTo` say `queued` and are not. */
  inQueue(destination: number): number {
    const after = this.claimedUpTo(destination);
    if (after >= (this.#newest.get(destination) ?? 0)) return 0;
    let count = 0;
    for (const { id, destination_id } of this.#unwritten.values())
      if (destination_id === destination && id > after) count += 1;
    return count;
  }

  count(destination: number): number {
    return this.#ofDestination.get(destination) ?? 0;
  }

  has(id: number): boolean {
    return this.#unwritten.has(id);
  }

  /** Claims these, which are the oldest of a destination that are queued. */
  add(destination: number, claimed: readonly Claimable[]): void {
    for (const each of claimed) this.#put(each);
    const last = claimed.at(-1)?.id;
    if (last === undefined) return;
    this.#transactions.onRollback(() => {
      for (const { id } of claimed) this.#remove(id);
      this.requeued(destination);
    });
    this.#claimedUpTo.set(destination, last);
    this.#newest.set(destination, Math.max(last, this.#newest.get(destination) ?? 0));
  }

  #put(claimed: Claimable): void {
    this.#unwritten.set(claimed.id, claimed);
    this.#ofDestination.set(claimed.destination_id, this.count(claimed.destination_id) + 1);
  }

  /** One that may be older than others is queued again. */
  requeued(destination: number): void {
    this.#claimedUpTo.delete(destination);
  }

  /** In the transaction that writes what became of it: its row when its claim was not written. */
  takeOut(id: number): Claimable | undefined {
    const claimed = this.#remove(id);
    if (claimed !== undefined) this.#transactions.onRollback(() => this.#put(claimed));
    return claimed;
  }

  #remove(id: number): Claimable | undefined {
    const claimed = this.#unwritten.get(id);
    if (claimed === undefined) return undefined;
    this.#unwritten.delete(id);
    this.#ofDestination.set(claimed.destination_id, this.count(claimed.destination_id) - 1);
    return claimed;
  }

  /** In a transaction. */
  writeOne({
    id,
    destination_id,
    state,
  }: Pick<Claimable, "id" | "destination_id" | "state">): void {
    this.#take.run(id);
    this.#counts.delivery(destination_id, state, -1);
    this.#counts.delivery(destination_id, sending, 1);
  }

  /** Writes those that were there at the last call. Returns whether any are left. */
  writeOlder(refreshMessage: RefreshMessage): boolean {
    const isNew = (id: number): boolean => !this.#older.has(id);
    const ids = [...this.#unwritten.keys()];
    const place = ids.findIndex(isNew);
    const fresh = place < 0 ? [] : ids.slice(place);
    this.write(refreshMessage, fresh.length);
    this.#older = new Set(fresh);
    return fresh.length > 0;
  }

  /** Writes the oldest, all but this many. */
  write(refreshMessage: RefreshMessage, left = 0): void {
    const count = this.#unwritten.size - left;
    if (count <= 0) return;
    this.#transactions.run(() => {
      for (const claimed of [...this.#unwritten.values()].slice(0, count)) {
        this.takeOut(claimed.id);
        this.writeOne(claimed);
        for (const id of this.#mapped.messagesOf(claimed))
          refreshMessage(id, moved(claimed.state, sending));
      }
    });
  }
}

/** The methods of a group of queries, each of which sees every claim. */
export function seeing<Methods extends object>(see: () => void, methods: Methods): Methods {
  return Object.fromEntries(
    Object.entries(methods).map(([name, method]) => [
      name,
      (...args: unknown[]): unknown => {
        see();
        return (method as (...args: unknown[]) => unknown).apply(methods, args);
      },
    ]),
  ) as Methods;
}

type ClaimingParts = {
  db: Db;
  mapped: MappedRequests;
  bodies: RequestBodies;
  transactions: Transactions;
  counts: Counts;
  claims: Claims;
  refreshMessage: RefreshMessage;
};

export function claiming({
  db,
  mapped,
  bodies,
  transactions,
  counts,
  claims,
  refreshMessage,
}: ClaimingParts): Pick<DeliveryStore, "claim" | "countRunnable"> {
  const due = db.prepare<[number, number, number], Claimed>(
    `${claimableWithPayload} WHERE destination_id = ? AND state = ${waiting} AND next_attempt_at <= ? ORDER BY next_attempt_at, id LIMIT ?`,
  );
  const inQueue = db.prepare<[number, number, number], Claimed>(
    `${claimableWithPayload} WHERE destination_id = ? AND state = ${queued} AND id > ? ORDER BY id LIMIT ?`,
  );
  const countDue = db
    .prepare<[number, number, number]>(
      `SELECT count(*) FROM (SELECT 1 FROM deliveries WHERE destination_id = ? AND state = ${waiting} AND next_attempt_at <= ? LIMIT ?)`,
    )
    .pluck();
  const countQueued = db
    .prepare<[number, number, number]>(
      `SELECT count(*) FROM (SELECT 1 FROM deliveries WHERE destination_id = ? AND state = ${queued} AND id > ? LIMIT ?)`,
    )
    .pluck();
  const requestOf = createRequestReader(db, mapped, bodies);
  const finished = db
    .prepare<[number, number], number>(
      "SELECT webhook_id FROM attempts WHERE delivery_id = ? AND round >= ? AND retryable = 0",
    )
    .pluck();

  const writeNow = transactions.wrap((rows: readonly Claimable[]): void => {
    for (const row of rows) {
      claims.writeOne(row);
      for (const id of mapped.messagesOf(row)) refreshMessage(id, moved(row.state, sending));
    }
  });

  // Of a thousand destinations that have something to do, most are only being sent to.
  const isAnyWaiting = (id: DestinationId): boolean => counts.deliveriesIn(id, waiting) > 0;
  const isAnyQueued = (id: DestinationId): boolean =>
    counts.deliveriesIn(id, queued) > claims.count(id);

  function oldestQueued(destinationId: DestinationId, limit: number): Claimed[] {
    if (limit <= 0 || !isAnyQueued(destinationId)) return [];
    const after = claims.claimedUpTo(destinationId);
    return inQueue
      .all(destinationId, after, limit + claims.inQueue(destinationId))
      .filter(({ id }) => !claims.has(id))
      .slice(0, limit);
  }

  const claimed = (row: Claimed): ClaimedDelivery => ({
    id: row.id as DeliveryId,
    messageRow: row.message_id as MessageRowId,
    destinationId: row.destination_id as DestinationId,
    round: row.rounds + 1,
    windowRound: row.window_round,
    firstAttemptAt: row.first_attempt_at,
    finished:
      row.rounds + 1 > row.window_round
        ? (finished.all(row.id, row.window_round) as WebhookId[])
        : [],
    ...(row.payload === null ? requestOf(row) : { payload: row.payload }),
  });

  return {
    claim(destinationId, now, limit, room = { messages: Infinity, bytes: Infinity }) {
      claims.write(refreshMessage, maxUnwritten);
      const dueRows = isAnyWaiting(destinationId) ? due.all(destinationId, now, limit) : [];
      const rows = [...dueRows, ...oldestQueued(destinationId, limit - dueRows.length)];
      const found: ClaimedDelivery[] = [];
      let { messages, bytes } = room;
      for (const row of rows) {
        if (messages <= 0 || bytes <= 0) break;
        const delivery = claimed(row);
        found.push(delivery);
        messages -= Math.max(1, delivery.mapped?.messages.length ?? 0);
        bytes -= delivery.payload.length;
      }
      // Usually nothing is due and no batch is queued, and then there is nothing to write.
      const isWritten = ({ state }: Claimable, place: number): boolean =>
        state === waiting || (found[place]?.mapped?.messages.length ?? 0) > 1;
      const taken = rows.slice(0, found.length);
      const written = taken.filter(isWritten);
      if (written.length > 0) writeNow(written);
      claims.add(
        destinationId,
        written.length === 0 ? taken : taken.filter((row, place) => !isWritten(row, place)),
      );
      return found;
    },
    countRunnable(destinationId, now, limit) {
      const due = isAnyWaiting(destinationId)
        ? (countDue.get(destinationId, now, limit) as number)
        : 0;
      if (!isAnyQueued(destinationId)) return due;
      const after = claims.claimedUpTo(destinationId);
      const taken = claims.inQueue(destinationId);
      return due + (countQueued.get(destinationId, after, limit - due + taken) as number) - taken;
    },
  };
}
