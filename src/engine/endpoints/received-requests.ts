/**
 * The newest requests that one test endpoint has received, in memory only. Adding a request copies
 * and parses nothing, so that a flood of them costs little; its message and signature are read when
 * the list is.
 */

import { createHmac } from "node:crypto";
import type { DestinationId, EndpointId, ReceivedRequestId } from "../../domain/ids.ts";
import { isObject, type Json, type JsonObject } from "../../domain/json.ts";
import type { MessageFacts } from "../../domain/program.ts";
import { coverable } from "../../domain/signature.ts";
import { messageTypes } from "../../domain/states.ts";
import type { ForwardedExchange, ReceivedRequest } from "../endpoint-pipeline.ts";
import { headerPairs } from "../http-port.ts";
import type { StoredRequest } from "../store-ports.ts";

/** Enough to look back over a run; longer histories are searched by message. */
const maxRequests = 1_000;
/** A dozen endpoints under load take a third of the 300 MB of the whole process. */
const maxBytes = 8 * 1024 * 1024;
/**
 * Twice the largest message, so that every payload is kept whole; attempts keep as much of an
 * answer.
 */
const maxBodyKept = 64 * 1024;

/** Of each endpoint, from one run to the next. */
const maxStored = 512 * 1024;

export type KnownSecret = { destinationId: DestinationId; name: string; secret: string };

export type NewReceivedRequest = Omit<StoredRequest, "body" | "read"> & {
  /** The whole body; `add` cuts it. */
  body: Uint8Array;
};

type Read = NonNullable<StoredRequest["read"]>;

export type ReceivedEntry = {
  /** Called when the head of the answer is sent, at a time of the clock. */
  answer(status: number, at: number): void;
  /** Adds a forwarded request; the caller sets its outcome and its response. */
  forward(exchange: Omit<ForwardedExchange, "bodyLength">): ForwardedExchange;
  /** Counts what came back. */
  answered(exchange: ForwardedExchange): void;
};

type Entry = NewReceivedRequest & {
  bytes: number;
  forwarded: ForwardedExchange[];
  /** Read at once when the body was cut. */
  read: Read | null;
};

export class ReceivedRequests {
  /** A ring: entries lie at `#first`, `#first + 1`, … modulo its size, oldest first. */
  #ring: (Entry | undefined)[] = [];
  #first = 0;
  #count = 0;
  #bytes = 0;
  #dropped = 0;
  readonly #endpointId: EndpointId;
  readonly #secrets: () => KnownSecret[];

  constructor(endpointId: EndpointId, secrets: () => KnownSecret[]) {
    this.#endpointId = endpointId;
    this.#secrets = secrets;
  }

  /** `known` was read before the body was cut. */
  add(request: NewReceivedRequest, known: Read | null = null): ReceivedEntry {
    const cut = request.body.byteLength > maxBodyKept;
    const body = cut ? copyOf(request.body.subarray(0, maxBodyKept)) : withoutSlack(request.body);
    const read = cut
      ? {
          message: readMessageFacts(request.body),
          signature: this.#signature(request.rawHeaders, request.body),
        }
      : known;
    const bytes = body.byteLength + request.path.length + headerBytes(request.rawHeaders);
    const entry: Entry = { ...request, body, read, bytes, forwarded: [] };
    this.#bytes += entry.bytes;
    while (this.#count > 0 && (this.#count === maxRequests || this.#bytes > maxBytes))
      this.#dropOldest();
    this.#ring[(this.#first + this.#count) % maxRequests] = entry;
    this.#count += 1;
    return this.#writable(entry, request.body);
  }

  #writable(entry: Entry, whole: Uint8Array): ReceivedEntry {
    return {
      answer(status, at) {
        entry.status = status;
        entry.answeredAt = at;
      },
      forward: (exchange) => {
        const isSame = Buffer.compare(exchange.body, whole) === 0;
        const body = isSame ? entry.body : copyOf(exchange.body.subarray(0, maxBodyKept));
        const forwarded = { ...exchange, body, bodyLength: exchange.body.byteLength };
        entry.forwarded.push(forwarded);
        this.#grow(entry, exchange.url.length + (isSame ? 0 : body.byteLength));
        return forwarded;
      },
      answered: (exchange) => {
        const { response } = exchange;
        if (response !== null)
          exchange.response = { ...response, body: copyOf(response.body.subarray(0, maxBodyKept)) };
        this.#grow(
          entry,
          exchange.requestHead.length +
            (response?.head.length ?? 0) +
            (exchange.response?.body.byteLength ?? 0),
        );
      },
    };
  }

  /** One that was dropped meanwhile is kept by nobody. */
  #grow(entry: Entry, bytes: number): void {
    if (
      this.#countBelow(entry.id) === this.#count ||
      this.#at(this.#countBelow(entry.id)) !== entry
    )
      return;
    entry.bytes += bytes;
    this.#bytes += bytes;
    while (this.#count > 1 && this.#bytes > maxBytes) this.#dropOldest();
  }

  list(limit: number, before: ReceivedRequestId | null) {
    const end = before === null ? this.#count : this.#countBelow(before);
    const start = Math.max(0, end - limit);
    const items: ReceivedRequest[] = [];
    for (let index = end - 1; index >= start; index -= 1) items.push(this.#read(this.#at(index)));
    const nextCursor = start > 0 ? (items.at(-1)?.id ?? null) : null;
    return { items, nextCursor, total: this.#count, dropped: this.#dropped };
  }

  /** As text, oldest first; few enough that a start stays quick. */
  newest(): StoredRequest[] {
    const kept: StoredRequest[] = [];
    let bytes = 0;
    for (let index = this.#count - 1; index >= 0; index -= 1) {
      const { body, bytes: size, forwarded: _, ...entry } = this.#at(index);
      bytes += size;
      if (bytes > maxStored) break;
      kept.push({ ...entry, body: Buffer.from(body).toString("base64") });
    }
    return kept.toReversed();
  }

  restore(stored: readonly StoredRequest[]): void {
    for (const { body, read, ...entry } of stored)
      this.add({ ...entry, body: Uint8Array.from(Buffer.from(body, "base64")) }, read);
  }

  /** 0 when there is none. */
  lastId(): number {
    return this.#count === 0 ? 0 : this.#at(this.#count - 1).id;
  }

  clear(): void {
    this.#ring = [];
    this.#count = 0;
    this.#bytes = 0;
    this.#dropped = 0;
  }

  #dropOldest(): void {
    this.#bytes -= this.#at(0).bytes;
    this.#ring[this.#first] = undefined;
    this.#first = (this.#first + 1) % maxRequests;
    this.#count -= 1;
    this.#dropped += 1;
  }

  #at(index: number): Entry {
    return this.#ring[(this.#first + index) % maxRequests] as Entry;
  }

  #countBelow(id: ReceivedRequestId): number {
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#at(middle).id < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #read(entry: Entry): ReceivedRequest {
    const { rawHeaders, bytes: _, read, ...rest } = entry;
    const found = read ?? {
      message: readMessageFacts(entry.body),
      signature: this.#signature(rawHeaders, entry.body),
    };
    return { ...rest, endpointId: this.#endpointId, headers: headerPairs(rawHeaders), ...found };
  }

  #signature(rawHeaders: readonly string[], body: Uint8Array): ReceivedRequest["signature"] {
    const value = headerPairs(rawHeaders).find(
      ([name]) => name.toLowerCase() === "x-signature",
    )?.[1];
    if (value === undefined) return null;
    const parts = coverable(body);
    const verifies = this.#secrets().map(({ destinationId, name, secret }) => ({
      destinationId,
      name,
      valid: parts.some((part) => createHmac("sha1", secret).update(part).digest("hex") === value),
    }));
    return { value, verifies };
  }
}

function headerBytes(rawHeaders: readonly string[]): number {
  return rawHeaders.reduce((sum, text) => sum + text.length, 0);
}

/** A small view would keep the whole buffer behind it alive. */
function withoutSlack(body: Uint8Array): Uint8Array {
  return body.buffer.byteLength > body.byteLength ? copyOf(body) : body;
}

function copyOf(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(bytes);
}

const unknown: MessageFacts = { type: null, messageId: null, event: null, userId: null };

/**
 * What a delivered payload says about its message: enough to match a step and to name it in a list.
 */
export function readMessageFacts(body: Uint8Array): MessageFacts {
  const payload = parse(body);
  if (!isObject(payload)) return unknown;
  const type = messageTypes.find((known) => known === payload["type"]) ?? null;
  return {
    type,
    messageId: text(payload, "messageId"),
    event: text(
      payload,
      type === "group" ? "groupId" : type === "page" || type === "screen" ? "name" : "event",
    ),
    userId: text(payload, "userId") ?? text(payload, "User ID"),
  };
}

function parse(body: Uint8Array): Json | undefined {
  if (body.byteLength === 0) return undefined;
  try {
    return JSON.parse(
      Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString(),
    ) as Json;
  } catch {
    return undefined;
  }
}

function text(payload: JsonObject, member: string): string | null {
  const value = payload[member];
  return typeof value === "string" ? value : null;
}
