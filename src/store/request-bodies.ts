/**
 * The bodies of the newest requests, and of those that were read last. Deliveries and profiles need
 * each of them within moments of its commit, once for every message: to read a part of a large body
 * from the file costs as much as all of it up to there.
 */

import type { Db, Transactions } from "./transactions.ts";

/** The largest request may be here 16 times. */
const maxBytes = 8 * 1024 * 1024;

/** Of small requests, what is kept for long costs the collector more than it saves. */
const maxBodies = 2000;

export class RequestBodies {
  readonly #bodies = new Map<number, Buffer>();
  /** Goes on where it was: one that begins again passes all places of those that are gone. */
  #oldest = this.#bodies.keys();
  #bytes = 0;
  readonly #inFile;
  readonly #requestOf;

  constructor(db: Db, transactions: Transactions) {
    this.#inFile = db.prepare<[number], Buffer>("SELECT body FROM requests WHERE id = ?").pluck();
    this.#requestOf = db
      .prepare<[number], number>("SELECT request_id FROM messages WHERE id = ?")
      .pluck();
    transactions.onReload(() => {
      this.#bodies.clear();
      this.#oldest = this.#bodies.keys();
      this.#bytes = 0;
    });
  }

  /** In the transaction that stores it. If that fails, the next request has the number. */
  add(id: number, body: Uint8Array): void {
    this.#put(
      id,
      Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength),
    );
  }

  get(id: number): Buffer | undefined {
    const known = this.#bodies.get(id);
    if (known !== undefined) return known;
    const body = this.#inFile.get(id);
    if (body !== undefined) this.#put(id, body);
    return body;
  }

  /** A part of the body that brought this message. */
  partOf(messageId: number, offset: number, length: number): Buffer {
    const request = this.#requestOf.get(messageId);
    const body = request === undefined ? undefined : this.get(request);
    if (body === undefined) throw new Error(`Message ${messageId} has no request.`);
    return body.subarray(offset, offset + length);
  }

  #put(id: number, body: Buffer): void {
    this.remove(id);
    this.#bodies.set(id, body);
    this.#bytes += body.length;
    while (this.#bytes > maxBytes || this.#bodies.size > maxBodies)
      this.remove(this.#oldest.next().value as number);
  }

  /** It is not kept, or another one in the file. */
  remove(id: number): void {
    this.#bytes -= this.#bodies.get(id)?.length ?? 0;
    this.#bodies.delete(id);
  }
}
