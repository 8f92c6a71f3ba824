/**
 * Sends one request to the receiver under check and records both sides. A plain POST goes through
 * the pipeline's own sender; what that sender never does (another method, a slow body, a hang-up in
 * the middle) goes over a socket of its own. Called by the probe.
 */

import type { Socket } from "node:net";
import { dial, parseTarget, type Target, type Trust } from "../engine/deliver/dial.ts";
import {
  closedFailure,
  deadlineFailure,
  keptConnectionFailure,
  socketFailure,
  type Failure,
  type Stage,
} from "../engine/deliver/exchange.ts";
import type { ExchangeResult } from "../engine/deliver/exchange.ts";
import { ResponseParser } from "../engine/deliver/response-parser.ts";
import { createSender, type Sender } from "../engine/deliver/sender.ts";
import {
  monotonic,
  runAfterPoll,
  startDeadline,
  startTimer,
  wallClockNow,
} from "../engine/real-time.ts";

/**
 * When the client leaves, and how: `reset` as a broken network looks, `end` as a client that gives
 * up.
 */
export type HangUp =
  | { after: "sent" | "first-byte"; waitMs?: number; by: "reset" | "end" }
  | { after: "unread"; waitMs: number; by: "end" };

export type WireRequest = {
  method: string;
  headers: [string, string][];
  body: Uint8Array;
  /** The body goes out in pieces of this many bytes, so many milliseconds apart. */
  slow?: { bytes: number; everyMs: number } | undefined;
  hangUp?: HangUp | undefined;
  /**
   * `kept`: on one connection after the other, as long as the receiver keeps it. `close`: on a new
   * one that ends with the request.
   */
  connection?: "kept" | "close" | undefined;
};

export type WireResult = {
  startedAt: number;
  durationMs: number;
  /** Request line and headers as sent; empty when no byte was written. */
  requestHead: string;
  outcome: "answered" | "timeout" | "connection_error" | "tls_error" | "hung_up";
  error: { code: string; message: string } | null;
  status: number | null;
  responseHead: string;
  responseBody: Uint8Array;
};

/** A connection that is open already, for requests that have to arrive at the same time. */
export type OpenConnection = { send(request: WireRequest): Promise<WireResult>; close(): void };

/** `close` closes those that are kept. */
export type Connections = {
  send(request: WireRequest): Promise<WireResult>;
  open(): Promise<OpenConnection | WireResult>;
  close(): void;
};

/** `beside` gives connections that share no kept one with any others. Each is closed by itself. */
export type Wire = Connections & { beside(): Connections };

const nothing = new Uint8Array(0);

/** `url` is a full http or https URL. */
export function createWire({
  url,
  trust,
  timeoutMs,
}: {
  url: string;
  trust: Trust;
  timeoutMs: number;
}): Wire {
  const target = parseTarget(url);
  if (target === null) throw new Error(`${url} is not a full http or https URL.`);
  const sender = createSender({ trust });
  const open = async (): Promise<RawConnection | WireResult> => {
    const connection = new RawConnection(target, trust, timeoutMs);
    return (await connection.ready) ?? connection;
  };
  const beside = (): Connections =>
    createConnections(open, (request) => post(sender, url, request, timeoutMs));
  const own = beside();
  return {
    ...own,
    beside,
    close() {
      sender.close();
      own.close();
    },
  };
}

function createConnections(
  open: () => Promise<RawConnection | WireResult>,
  postPlainly: (request: WireRequest) => Promise<WireResult>,
): Connections {
  const kept = new Set<RawConnection>();
  /** Those of `kept` without a request: two at the same time must not share one. */
  const free: RawConnection[] = [];
  const takeFree = async (): Promise<RawConnection | null> => {
    for (let one = free.pop(); one !== undefined; one = free.pop())
      if (await isStillFree(one)) return one;
    return null;
  };
  return {
    async send(request) {
      const { method, slow, hangUp, connection } = request;
      if (
        method === "POST" &&
        slow === undefined &&
        hangUp === undefined &&
        connection === undefined
      )
        return postPlainly(request);
      const isKept = connection === "kept";
      const opened = (isKept ? await takeFree() : null) ?? (await open());
      if (!(opened instanceof RawConnection)) return opened;
      if (isKept) kept.add(opened);
      const result = await opened.send(request);
      if (isKept) free.push(opened);
      else opened.close();
      return result;
    },
    open,
    close() {
      for (const connection of kept) connection.close();
    },
  };
}

/** As the pipeline does, it notices an end that has arrived already. */
async function isStillFree(connection: RawConnection): Promise<boolean> {
  if (connection.isFree) await new Promise<void>(runAfterPoll);
  return connection.isFree;
}

async function post(
  sender: Sender,
  url: string,
  { headers, body }: WireRequest,
  timeoutMs: number,
): Promise<WireResult> {
  const startedAt = wallClockNow();
  const began = monotonic();
  const done = Promise.withResolvers<ExchangeResult>();
  const exchange = sender.send({
    url,
    headers,
    body,
    onPhase: () => undefined,
    onSocket: () => undefined,
    onEnd: done.resolve,
  });
  const deadline = startDeadline(timeoutMs, () => exchange.abort({ timeoutMs }));
  const { outcome, error, requestHead, response } = await done.promise;
  deadline.cancel();
  return {
    startedAt,
    durationMs: monotonic() - began,
    requestHead,
    outcome,
    error,
    status: response?.status ?? null,
    responseHead: response?.head ?? "",
    responseBody: response?.body ?? nothing,
  };
}

/** One socket, and one request at a time. */
class RawConnection implements OpenConnection {
  /** The failure when it could not be opened. */
  readonly ready: Promise<WireResult | null>;
  readonly #target: Target;
  readonly #timeoutMs: number;
  readonly #socket: Socket;
  #parser = new ResponseParser();
  /** A request on a connection that has carried others, before the first byte of its answer. */
  #mayCrossEnd = false;
  /** What came after the last answer; a client without a poll reads it as the next. */
  #early: Buffer[] = [];
  #stage: Stage = "connecting";
  #startedAt = wallClockNow();
  #began = monotonic();
  #head = "";
  #hangUp: HangUp | undefined;
  #finish: (result: WireResult | null) => void = () => undefined;
  #isEnded = false;

  constructor(target: Target, trust: Trust, timeoutMs: number) {
    this.#target = target;
    this.#timeoutMs = timeoutMs;
    const buffer = Buffer.allocUnsafeSlow(16 * 1024);
    this.#socket = dial({
      target,
      trust,
      onread: { buffer, callback: (length) => this.#received(buffer, length) },
      onLookup: () => undefined,
    });
    this.ready = this.#untilFinished(() => undefined);
    this.#socket.once("connect", () => {
      if (target.secure) this.#stage = "securing";
      else this.#opened();
    });
    if (target.secure) this.#socket.once("secureConnect", () => this.#opened());
    this.#socket.on("error", (error) =>
      this.#fail(socketFailure(error, target, this.#stage, this.#parser.progress)),
    );
    this.#socket.on("end", () => this.#ended());
    this.#socket.on("close", () => this.#ended());
  }

  /** It has carried a request, and the receiver keeps it. */
  get isFree(): boolean {
    return this.#parser.complete && this.#parser.keepAlive && !this.#isEnded;
  }

  async send({
    method,
    headers,
    body,
    slow,
    hangUp,
    connection,
  }: WireRequest): Promise<WireResult> {
    this.#mayCrossEnd = this.#parser.complete;
    this.#parser = new ResponseParser({ method });
    this.#startedAt = wallClockNow();
    this.#began = monotonic();
    this.#hangUp = hangUp;
    this.#head = this.#headOf(
      method,
      headers,
      body.byteLength,
      connection === "close" ? "close" : "keep-alive",
    );
    const result = await this.#untilFinished(() => {
      // The receiver may have closed it before the request.
      if (this.#isEnded) this.#ended();
      else void this.#write(body, slow);
      for (const bytes of this.#early.splice(0)) this.#received(bytes, bytes.length);
    });
    return result ?? this.#result("hung_up", null);
  }

  close(): void {
    this.#socket.destroy();
  }

  #headOf(method: string, headers: [string, string][], length: number, connection: string): string {
    const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`);
    if (length > 0 || method === "POST") lines.push(`Content-Length: ${length}\r\n`);
    return `${method} ${this.#target.opening}${lines.join("")}${this.#target.authorization}Connection: ${connection}\r\n\r\n`;
  }

  async #write(body: Uint8Array, slow: WireRequest["slow"]): Promise<void> {
    if (this.#hangUp?.after === "unread") this.#socket.pause();
    if (slow === undefined) {
      this.#socket.cork();
      this.#socket.write(this.#head, "latin1");
      this.#socket.write(body, () => this.#sent());
      this.#socket.uncork();
      return;
    }
    const middle = this.#head.length >> 1;
    this.#socket.write(this.#head.slice(0, middle), "latin1");
    await pause(slow.everyMs);
    this.#socket.write(this.#head.slice(middle), "latin1");
    for (let at = 0; at < body.byteLength && !this.#socket.destroyed; at += slow.bytes) {
      await pause(slow.everyMs);
      this.#socket.write(body.subarray(at, at + slow.bytes));
    }
  }

  #sent(): void {
    const hangUp = this.#hangUp;
    if (hangUp === undefined || hangUp.after === "first-byte") return;
    const waitMs = hangUp.waitMs ?? 0;
    if (waitMs === 0) this.#leave(hangUp);
    else startTimer(waitMs, () => this.#leave(hangUp));
  }

  #leave({ by }: HangUp): void {
    // Node resets no connection with TLS on it.
    if (by === "reset" && !this.#target.secure) this.#socket.resetAndDestroy();
    else this.#socket.destroy();
    this.#finish(null);
  }

  #opened(): void {
    this.#stage = "open";
    this.#finish(null);
  }

  #received(buffer: Buffer, length: number): boolean {
    if (this.#hangUp?.after === "first-byte") this.#leave(this.#hangUp);
    else {
      this.#mayCrossEnd = false;
      const end = this.#parser.push(buffer, length);
      if (this.#parser.complete) {
        this.#keep(buffer.subarray(end, length));
        this.#finish(this.#result("answered", null));
      } else if (this.#parser.failure)
        this.#fail({ outcome: "connection_error", error: this.#parser.failure });
    }
    return true;
  }

  /** For the next request; empty lines mean nothing. */
  #keep(bytes: Buffer): void {
    if (/[^\r\n]/.test(bytes.toString("latin1"))) this.#early.push(Buffer.from(bytes));
  }

  #ended(): void {
    this.#isEnded = true;
    this.#parser.end();
    if (this.#parser.complete) this.#finish(this.#result("answered", null));
    else
      this.#fail(
        closedFailure(this.#target, this.#stage, this.#parser.headComplete, this.#parser.progress),
      );
  }

  #fail(failure: Failure): void {
    const { outcome, error } =
      this.#mayCrossEnd && failure.outcome === "connection_error"
        ? keptConnectionFailure()
        : failure;
    this.#isEnded = true;
    this.#socket.destroy();
    this.#finish(this.#result(outcome, error));
  }

  #result(outcome: WireResult["outcome"], error: WireResult["error"]): WireResult {
    const response = this.#parser.response();
    return {
      startedAt: this.#startedAt,
      durationMs: monotonic() - this.#began,
      requestHead: this.#head,
      outcome,
      error,
      status: response?.status ?? null,
      responseHead: response?.head ?? "",
      responseBody: response?.body ?? nothing,
    };
  }

  /** Resolves at the next end of something, or when the deadline passes. */
  #untilFinished(begin: () => void): Promise<WireResult | null> {
    return new Promise((resolve) => {
      const deadline = startDeadline(this.#timeoutMs, () =>
        this.#fail(
          deadlineFailure(this.#timeoutMs, this.#target, this.#stage, this.#parser.progress),
        ),
      );
      this.#finish = (result) => {
        this.#finish = () => undefined;
        deadline.cancel();
        resolve(result);
      };
      begin();
    });
  }
}

/** Rejects when the signal is aborted. */
export function pause(ms: number, signal: AbortSignal | null = null): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      timer.cancel();
      reject(signal?.reason as Error);
    };
    const timer = startTimer(ms, () => {
      signal?.removeEventListener("abort", end);
      resolve();
    });
    signal?.addEventListener("abort", end, { once: true });
  });
}
