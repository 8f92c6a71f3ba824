/**
 * The sending side: HTTP/1.1 over our own sockets, one request at a time per connection. Called by
 * a webhook's lane and by the forwarding of test endpoints, which own the deadline (`abort`) and
 * the number of exchanges in progress. It never retries, never follows a redirect, and records what
 * was sent and what was received byte for byte.
 */

import { monotonic, runAfterPoll, startIdleTimer, type RealTimer } from "../real-time.ts";
import { Connection } from "./connection.ts";
import { createTargets, type Target, type Trust } from "./dial.ts";
import { writeHead } from "./exchange.ts";
import type { Carrier, Exchange, RequestHead, RequestHeaders, SendRequest } from "./exchange.ts";

export type Sender = {
  send(request: SendRequest): Exchange;
  /** Whether requests to this URL are carried in the delivery thread. */
  isAway(url: string): boolean;
  /** Closes the idle connections, and the others as soon as their exchange is over. */
  close(): void;
};

/**
 * How long a connection waits for its next request. A receiver that closes an idle connection at
 * the moment we send on it looks like one that reset the request. One second keeps a busy lane's
 * connections open and is shorter than every common idle limit (Node 5 s, most others more).
 */
const defaultIdleMs = 1_000;

type CarrierOptions = { trust: Trust; maxIdle?: number; idleMs?: number | undefined };

/** Carries in the thread that calls it. */
export function createCarrier({
  trust,
  maxIdle = 64,
  idleMs = defaultIdleMs,
}: CarrierOptions): Carrier {
  const idle = new IdleConnections({ maxIdle, idleMs });
  return {
    carry(target, request, head) {
      const body = typeof request.body === "string" ? Buffer.from(request.body) : request.body;
      const connection =
        idle.take(target.origin) ?? new Connection({ target, trust, keeper: idle });
      return connection.carry({ ...request, body }, writeHead(head, body));
    },
    close: () => idle.close(),
  };
}

/** A delivery thread, as the senders see it. */
type CarrierThread = {
  /** Whether requests to this target are carried there. */
  isFor(target: Target): boolean;
  createCarrier(connections: () => number): Carrier;
};

/**
 * A lane has one sender, which keeps the lane's idle connections. With a delivery thread, requests
 * are carried there, except those to the ports of this process's test endpoints: they may be held
 * on the clock, and the clock is here.
 */
export function createSender({
  thread,
  connections = () => Infinity,
  ...options
}: CarrierOptions & {
  thread?: CarrierThread | undefined;
  /** That the thread opens at most; in process, the caller counts. */
  connections?: () => number;
}): Sender {
  const targets = createTargets();
  const here = createCarrier(options);
  const there = thread?.createCarrier(connections);
  const isFor = (target: Target): boolean => thread?.isFor(target) === true;
  /** Of the headers that are still in use. */
  const heads = new WeakMap<RequestHeaders, Prepared>();

  function prepare(request: SendRequest): Prepared {
    const known = heads.get(request.headers);
    if (known?.url === request.url && known.method === request.method) return known;
    const { url, method, headers } = request;
    const target = targets(url);
    const wrong = target === null ? invalidUrl : headProblem(headers);
    const prepared =
      target === null || wrong !== null
        ? { url, method, wrong: wrong ?? invalidUrl }
        : { url, method, target, head: headOf(target, request), wrong: null };
    heads.set(headers, prepared);
    return prepared;
  }

  return {
    isAway(url) {
      const target = targets(url);
      return target !== null && isFor(target);
    },
    send(request) {
      const prepared = prepare(request);
      if (prepared.wrong !== null) return refused(request, prepared.wrong);
      const { target, head } = prepared;
      const carrier = there !== undefined && isFor(target) ? there : here;
      return carrier.carry(target, request, head);
    },
    close() {
      here.close();
      there?.close();
    },
  };
}

type Wrong = { code: string; message: string };

type Prepared = Pick<SendRequest, "url" | "method"> &
  ({ target: Target; head: RequestHead; wrong: null } | { wrong: Wrong });

const invalidUrl: Wrong = {
  code: "invalid_url",
  message: "The URL of the webhook is not a full http or https URL.",
};

function refused({ onEnd }: SendRequest, error: Wrong): Exchange {
  queueMicrotask(() =>
    onEnd({ outcome: "connection_error", error, requestHead: "", response: null }),
  );
  return { abort: () => {}, limit: () => {}, markReached: () => {} };
}

const bodiless = new Set(["GET", "HEAD", "OPTIONS", "DELETE", "TRACE"]);
const legalName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const legalValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** What would break the framing of the request; null when there is nothing. */
function headProblem(headers: RequestHeaders): Wrong | null {
  const invalid = (message: string): Wrong => ({ code: "invalid_header", message });
  for (const [name, value] of headers) {
    if (!legalName.test(name))
      return invalid(`The header name ${JSON.stringify(name)} is not legal in HTTP.`);
    if (typeof value === "string" && !legalValue.test(value))
      return invalid(
        `The value of the header ${name} contains a character that is not legal in HTTP.`,
      );
  }
  return null;
}

function headOf(target: Target, { method = "POST", headers }: SendRequest): RequestHead {
  const head: RequestHead = {
    opening: `${method} ${target.opening}`,
    secret: null,
    closing: "",
    isBodiless: bodiless.has(method),
  };
  if (!headers.some(([name]) => name.toLowerCase() === "authorization"))
    head.opening += target.authorization;
  for (const [name, value] of headers) {
    const part = head.secret === null ? "opening" : "closing";
    if (typeof value === "string") head[part] += `${name}: ${value}\r\n`;
    else {
      head.secret = value.secret;
      head.opening += `${name}: `;
      head.closing = "\r\n";
    }
  }
  return head;
}

/**
 * How much earlier than the receiver we close a connection, when the receiver announces its limit:
 * its response and our request both take time.
 */
const marginMs = 500;

/**
 * Reused within this time without knowing anything about the origin. Longer than a busy event
 * loop's turn, shorter than any idle limit in use.
 */
const unprovenMs = 20;

/**
 * The part of the time for which a connection stayed open that counts as safe: a request arrives
 * later than we write it.
 */
const provenShare = 0.75;

/**
 * After a receiver has closed an idle connection, it is not tested again for this long: its
 * configuration seldom changes.
 */
const endsEarlyMs = 60_000;

type Idle = { connection: Connection; since: number; until: number };

type Origin = {
  /** The most recently used is last. */
  idle: Idle[];
  /** An idle connection may be used for this long. */
  safeMs: number;
  /** Until then no connection is kept for longer than `safeMs`. */
  endsEarlyUntil: number;
  /** It has closed connections earlier than it promised. */
  breaksPromises: boolean;
};

/** The URLs of a mapping may lead to any number of them. */
const maxOrigins = 1000;

/**
 * The connections of one sender that wait for their next request, by origin.
 *
 * A receiver that ends an idle connection at the moment we write to it looks as if it had failed
 * the request, and most receivers do not announce how long they wait. So a connection is used again
 * only within a time that is safe at its origin: right after a response; as long as the receiver
 * promises; or as long as one was seen to stay open. The decision is
 * docs/decisions/0016-kept-connections.md.
 */
class IdleConnections {
  readonly #maxIdle: number;
  readonly #idleMs: number;
  readonly #origins = new Map<string, Origin>();
  #size = 0;
  #timer: RealTimer | null = null;
  #closed = false;

  constructor({ maxIdle, idleMs }: { maxIdle: number; idleMs: number }) {
    this.#maxIdle = maxIdle;
    this.#idleMs = idleMs;
  }

  /** The most recently used. */
  take(name: string): Connection | undefined {
    const idle = this.#origins.get(name)?.idle.pop();
    if (!idle) return undefined;
    this.#size -= 1;
    if (idle.until > monotonic()) return idle.connection;
    // The timer is late, because the process was busy or asleep.
    idle.connection.destroy();
    return this.take(name);
  }

  /**
   * `limitMs` is what the receiver promises. Returns false when the connection is not kept: then
   * the caller closes it.
   */
  put(connection: Connection, limitMs: number | null): boolean {
    const origin = this.#originOf(connection.target.origin);
    const now = monotonic();
    const longest =
      origin.endsEarlyUntil > now ? Math.min(this.#idleMs, origin.safeMs) : this.#idleMs;
    const keepMs = limitMs === null ? longest : Math.min(longest, limitMs - marginMs);
    if (this.#closed || this.#size >= this.#maxIdle || keepMs < 1) return false;
    origin.idle.push({ connection, since: now, until: now + keepMs });
    this.#size += 1;
    this.#startSweep();
    return true;
  }

  /** Whether an open connection that was idle for this long is safe to write to. */
  isSafe(name: string, idleForMs: number, promised: boolean): boolean {
    const origin = this.#originOf(name);
    if (idleForMs <= origin.safeMs || (promised && !origin.breaksPromises)) return true;
    prove(origin, idleForMs);
    return false;
  }

  remove(connection: Connection): void {
    const list = this.#origins.get(connection.target.origin)?.idle;
    const index = list?.findIndex((idle) => idle.connection === connection) ?? -1;
    if (!list || index === -1) return;
    list.splice(index, 1);
    this.#size -= 1;
  }

  /** The receiver closed a connection that had been idle for this long. */
  noteEnd(name: string, idleForMs: number, promised: boolean): void {
    const origin = this.#originOf(name);
    origin.safeMs = Math.min(origin.safeMs, idleForMs / 2);
    origin.endsEarlyUntil = monotonic() + endsEarlyMs;
    origin.breaksPromises ||= promised;
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#timer = null;
    for (const { idle } of this.#origins.values())
      for (const { connection } of [...idle]) connection.destroy();
  }

  #originOf(name: string): Origin {
    let origin = this.#origins.get(name);
    if (!origin) {
      if (this.#origins.size >= maxOrigins) this.#forgetOldest();
      origin = { idle: [], safeMs: unprovenMs, endsEarlyUntil: -Infinity, breaksPromises: false };
      this.#origins.set(name, origin);
    }
    return origin;
  }

  /** Of those without a connection: they are as many as there are more than `maxIdle`. */
  #forgetOldest(): void {
    for (const [name, { idle }] of this.#origins) {
      if (idle.length > 0) continue;
      this.#origins.delete(name);
      return;
    }
  }

  #sweep(): void {
    this.#timer = null;
    const now = monotonic();
    for (const origin of this.#origins.values()) {
      for (const { connection, since, until } of [...origin.idle]) {
        if (until > now) continue;
        prove(origin, until - since);
        connection.destroy();
      }
    }
    this.#startSweep();
  }

  #startSweep(): void {
    if (this.#timer !== null || this.#size === 0) return;
    let earliest = Infinity;
    for (const { idle } of this.#origins.values())
      for (const { until } of idle) earliest = Math.min(earliest, until);
    // A connection whose end has already arrived must not count as one that stayed open.
    this.#timer = startIdleTimer(Math.max(1, Math.ceil(earliest - monotonic())), () =>
      runAfterPoll(() => this.#sweep()),
    );
  }
}

function prove(origin: Origin, idleForMs: number): void {
  origin.safeMs = Math.max(origin.safeMs, idleForMs * provenShare);
}
