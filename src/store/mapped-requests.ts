/**
 * The requests of deliveries that mappings made, and the batches of them. A batch collects while its
 * delivery waits with the reason `collecting`; its due time, a claim, a retry or a cancellation
 * closes it. All of it is rows, so a kill loses nothing.
 */

import type { MessageRowId, WebhookId } from "../domain/ids.ts";
import type { ClaimedDelivery } from "../engine/ports.ts";
import type { MappedRequest } from "../engine/route/decision.ts";
import { mappedShape, stateCode } from "./codes.ts";
import type { Counts } from "./counts.ts";
import type { Db } from "./transactions.ts";

const queued = stateCode("queued");
const waiting = stateCode("waiting");

/** A batch is in memory while it is sent. */
const maxBatchBytes = 4_000_000;

/** Of a delivery with parts: those of its messages that are still kept. */
export type DeliveryKey = { id: number; message_id: number; shape: number };

type Stored = {
  webhook_id: number;
  url: string;
  method: string;
  headers: string;
  body: Buffer | null;
  batch_key: string | null;
};

type Open = { id: number; state: number; reason: string | null; parts: number; bytes: number };

/** Of the message that is the statement's only value; as part of a batch too. */
export const deliveriesOfMessage = `SELECT d.* FROM (SELECT ? AS message) AS of
  CROSS JOIN deliveries AS d ON d.id IN (
    SELECT id FROM deliveries WHERE message_id = of.message
    UNION ALL SELECT delivery_id FROM batch_parts WHERE message_id = of.message)`;

export class MappedRequests {
  /** Whether there may be batches: until then nobody looks for them. */
  hasBatches: boolean;
  /** Whether there may be requests of mappings. */
  hasRequests: boolean;
  readonly #parts;
  readonly #bodies;
  readonly #request;
  readonly #messages;

  constructor(db: Db) {
    this.hasBatches =
      db.prepare<[], number>("SELECT EXISTS (SELECT 1 FROM batch_parts)").pluck().get() === 1;
    this.hasRequests =
      db.prepare<[], number>("SELECT EXISTS (SELECT 1 FROM mapped_requests)").pluck().get() === 1;
    this.#bodies = db
      .prepare<[number, number], Buffer>(
        `SELECT r.body FROM deliveries AS d JOIN mapped_requests AS r ON r.delivery_id = d.id
         WHERE d.message_id = ? AND r.body IS NOT NULL
         UNION ALL SELECT body FROM batch_parts WHERE message_id = ? AND body IS NOT NULL`,
      )
      .pluck();
    this.#parts = db
      .prepare<[number], Buffer | null>(
        "SELECT body FROM batch_parts WHERE delivery_id = ? ORDER BY id",
      )
      .pluck();
    this.#messages = db
      .prepare<[number], number>(
        "SELECT message_id FROM batch_parts WHERE delivery_id = ? AND message_id IS NOT NULL ORDER BY id",
      )
      .pluck();
    this.#request = db.prepare<[number], Stored>(
      "SELECT webhook_id, url, method, headers, body, batch_key FROM mapped_requests WHERE delivery_id = ?",
    );
  }

  /** What mappings made of a message. */
  bodiesOf(messageId: number): Buffer[] {
    return this.hasRequests ? this.#bodies.all(messageId, messageId) : [];
  }

  /** Those of a batch; empty for any other delivery. */
  batchOf({ id, shape }: Omit<DeliveryKey, "message_id">): MessageRowId[] {
    return shape === mappedShape && this.hasBatches
      ? (this.#messages.all(id) as MessageRowId[])
      : [];
  }

  /** The messages whose state follows this delivery. */
  messagesOf(delivery: DeliveryKey): readonly number[] {
    const batch = this.batchOf(delivery);
    return batch.length > 0 ? batch : [delivery.message_id];
  }

  /** What is sent, and which bytes of it are signed; null for a delivery without a mapping. */
  read(
    delivery: DeliveryKey,
  ): { payload: Uint8Array; mapped: NonNullable<ClaimedDelivery["mapped"]> } | null {
    const request = delivery.shape === mappedShape ? this.#request.get(delivery.id) : undefined;
    if (request === undefined) return null;
    const bodies = request.batch_key === null ? [request.body] : this.#parts.all(delivery.id);
    return {
      payload: request.batch_key === null ? (request.body ?? new Uint8Array()) : arrayOf(bodies),
      mapped: {
        webhookId: request.webhook_id as WebhookId,
        url: request.url,
        method: request.method,
        headers: JSON.parse(request.headers) as [string, string][],
        signed: bodies[0] ?? null,
        messages: this.batchOf(delivery),
      },
    };
  }
}

const noBody = Buffer.from("null");
const between = Buffer.from(",");

function arrayOf(bodies: readonly (Buffer | null)[]): Uint8Array {
  const pieces = bodies.flatMap((body, index) =>
    index === 0 ? [body ?? noBody] : [between, body ?? noBody],
  );
  return Buffer.concat([Buffer.from("["), ...pieces, Buffer.from("]")]);
}

type CommitOptions = {
  messageId: number;
  destinationId: number;
  request: MappedRequest;
  at: number;
  /** The id of a new delivery. */
  nextId: () => number;
};

/** In the transaction that commits the message. */
export function committingRequests(db: Db, counts: Counts, mapped: MappedRequests) {
  const insertDelivery = db.prepare(
    `INSERT INTO deliveries (id, message_id, destination_id, state, shape, created_at, next_attempt_at, reason)
     VALUES (?, ?, ?, ?, ${mappedShape}, ?, ?, ?)`,
  );
  const insertRequest = db.prepare(
    "INSERT INTO mapped_requests VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
  );
  const insertPart = db.prepare(
    "INSERT INTO batch_parts (delivery_id, message_id, body) VALUES (?, ?, ?)",
  );
  const newest = db.prepare<[number, string], Open>(
    `SELECT d.id, d.state, d.reason, r.parts, r.bytes FROM mapped_requests AS r JOIN deliveries AS d ON d.id = r.delivery_id
     WHERE r.webhook_id = ? AND r.batch_key = ? ORDER BY r.delivery_id DESC LIMIT 1`,
  );
  const addPart = db.prepare(
    "UPDATE mapped_requests SET parts = parts + 1, bytes = bytes + ? WHERE delivery_id = ?",
  );
  const close = db.prepare(
    "UPDATE deliveries SET next_attempt_at = ?, reason = 'full' WHERE id = ?",
  );
  const insertTransition = db.prepare(
    `INSERT INTO transitions (delivery_id, at, state, reason, next_attempt_at) VALUES (?, ?, ${waiting}, ?, ?)`,
  );

  function create(
    { messageId, destinationId, request, at, nextId }: CommitOptions,
    dueAt: number | null,
  ): number {
    const { webhookId, url, method, headers, body, batch } = request;
    const id = nextId();
    const state = dueAt === null ? queued : waiting;
    const reason = dueAt === null ? null : "collecting";
    insertDelivery.run(id, messageId, destinationId, state, at, dueAt, reason);
    counts.delivery(destinationId, state, 1);
    insertRequest.run(
      ...[id, webhookId, url, method, JSON.stringify(headers)],
      ...[batch === null ? body : null, batch?.key ?? null, 0, 0],
    );
    if (dueAt !== null) insertTransition.run(id, at, "collecting", dueAt);
    return id;
  }

  const closeAt = (id: number, at: number): void => {
    close.run(at, id);
    insertTransition.run(id, at, "full", at);
  };

  return (options: CommitOptions): void => {
    const { messageId, request, at } = options;
    const { webhookId, body, batch } = request;
    mapped.hasRequests = true;
    if (batch === null) return void create(options, null);
    mapped.hasBatches = true;
    const bytes = body?.length ?? 4;
    const last = newest.get(webhookId, batch.key);
    const isOpen = last?.state === waiting && last.reason === "collecting";
    const fits = isOpen && last.parts < batch.size && last.bytes + bytes <= maxBatchBytes;
    if (isOpen && !fits) closeAt(last.id, at);
    const id = fits ? last.id : create(options, at + batch.waitMs);
    insertPart.run(id, messageId, body);
    addPart.run(bytes, id);
    if ((fits ? last.parts : 0) + 1 >= batch.size) closeAt(id, at);
  };
}

/** In the transaction that removes a message: what it leaves of its batches. */
export function removingFromBatches(db: Db, mapped: MappedRequests) {
  const batchesOf = db
    .prepare<[number], number>("SELECT delivery_id FROM batch_parts WHERE message_id = ?")
    .pluck();
  const forget = db.prepare("UPDATE batch_parts SET message_id = NULL WHERE message_id = ?");
  const leader = db
    .prepare<[number], number>(
      "SELECT message_id FROM batch_parts WHERE delivery_id = ? AND message_id IS NOT NULL ORDER BY id LIMIT 1",
    )
    .pluck();
  const setLeader = db.prepare("UPDATE deliveries SET message_id = ? WHERE id = ?");
  const removeParts = db.prepare("DELETE FROM batch_parts WHERE delivery_id = ?");
  const removeRequest = db.prepare("DELETE FROM mapped_requests WHERE delivery_id = ?");
  return {
    /** Its batches that have other messages stay, and belong to the first of those. */
    leave(messageId: number): void {
      if (!mapped.hasBatches) return;
      const batches = batchesOf.all(messageId);
      if (batches.length === 0) return;
      forget.run(messageId);
      for (const id of batches) {
        const next = leader.get(id);
        setLeader.run(next ?? messageId, id);
      }
    },
    removeDelivery({ id, shape }: { id: number; shape: number }): void {
      if (shape !== mappedShape) return;
      removeParts.run(id);
      removeRequest.run(id);
    },
  };
}
