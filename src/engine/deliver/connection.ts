/**
 * One socket to a receiver, and the exchange it carries. Created by the sender; after that the
 * socket's events drive it. It carries one exchange at a time and never sends anything by itself.
 *
 * States:
 *   connecting   looking up, TCP, TLS (`stage` says which); the request waits
 *   busy         the request is being sent, or its response is arriving
 *   idle         kept for the next request; any event of the socket ends it
 *   checking     has the next request but has not written it: an end that has already arrived here
 *                is noticed first. A connection that has ended, or may end now, hands the request
 *                to a new one
 *   closed       the socket is destroyed
 */

import type { Socket } from "node:net";
import { monotonic, runAfterPoll, startDeadline, type RealTimer } from "../real-time.ts";
import { dial } from "./dial.ts";
import type { Target, Trust } from "./dial.ts";
import {
  closedFailure,
  connectionError,
  deadlineFailure,
  keptConnectionFailure,
  socketFailure,
} from "./exchange.ts";
import type {
  EndOfExchange,
  Exchange,
  ExchangeResult,
  Failure,
  SendRequest,
  Stage,
} from "./exchange.ts";
import { ResponseParser } from "./response-parser.ts";

/** Its head is written. */
type CarriedRequest = Omit<SendRequest, "url" | "headers"> & { body: Uint8Array };

/** Who keeps connections between exchanges. */
type ConnectionKeeper = {
  /** Returns false when it does not keep the connection. */
  put(connection: Connection, limitMs: number | null): boolean;
  remove(connection: Connection): void;
  /** Whether an open connection that was idle for this long is safe to write to. */
  isSafe(origin: string, idleForMs: number, promised: boolean): boolean;
  /** The receiver ended a connection that had been idle for this long. */
  noteEnd(origin: string, idleForMs: number, promised: boolean): void;
};

// The usual response arrives in one read; a long one takes a few more. Each connection has its own
// buffer, so 64 of them are 1 MB.
const readBufferSize = 16 * 1024;

// Below this size head and body fit into Node's buffer pool, and one copy is cheaper than a write
// of two pieces.
const oneWriteLimit = 4 * 1024 - 1;

/**
 * No round trip takes longer: a connection that ends later than this after the write had delivered
 * the request.
 */
const raceMs = 1_000;

export class Connection {
  readonly target: Target;
  readonly #trust: Trust;
  readonly #keeper: ConnectionKeeper;
  readonly #socket: Socket;
  #state: "connecting" | "checking" | "busy" | "idle" | "closed" = "connecting";
  #stage: Stage;
  #address = "";
  #port = 0;
  #exchange: RunningExchange | null = null;
  #parser = new ResponseParser();
  /** Bytes of the request are still in this process. */
  #sending = false;
  /** The number of requests it has carried, and the number that the receiver allows. */
  #carried = 0;
  #allowed = Infinity;
  #idleSince = 0;
  #idleForMs = 0;
  /** The last response said how long the receiver keeps the connection. */
  #promised = false;
  #writtenAt = 0;

  constructor({
    target,
    trust,
    keeper,
  }: {
    target: Target;
    trust: Trust;
    keeper: ConnectionKeeper;
  }) {
    this.target = target;
    this.#trust = trust;
    this.#keeper = keeper;
    this.#stage = target.literal || target.loopback ? "connecting" : "lookup";
    const buffer = Buffer.allocUnsafeSlow(readBufferSize);
    this.#socket = dial({
      target,
      trust,
      onread: { buffer, callback: (length) => this.#received(buffer, length) },
      onLookup: () => this.#lookedUp(),
    });
    this.#socket.on("connect", () => this.#connected());
    if (target.secure) this.#socket.on("secureConnect", () => this.#ready());
    this.#socket.on("end", () => this.#ended());
    this.#socket.on("error", (error) => this.#failed(error));
    this.#socket.on("close", () => this.#ended());
  }

  /** Starts an exchange on a new or an idle connection. */
  carry(request: CarriedRequest, head: string): Exchange {
    const exchange = new RunningExchange(this, request, head);
    this.#exchange = exchange;
    this.#parser = new ResponseParser(request);
    if (this.#state === "idle") this.#check(exchange);
    return exchange;
  }

  #check(exchange: RunningExchange): void {
    this.#state = "checking";
    this.#idleForMs = monotonic() - this.#idleSince;
    runAfterPoll(() => {
      if (this.#exchange !== exchange) return;
      if (!this.#keeper.isSafe(this.target.origin, this.#idleForMs, this.#promised))
        return this.#handOver();
      this.#socket.ref();
      this.#send(exchange);
    });
  }

  /** The receiver has closed an idle connection. */
  #endedIdle(): void {
    this.#keeper.noteEnd(this.target.origin, monotonic() - this.#idleSince, this.#promised);
    this.#handOver();
  }

  /** Closes an idle connection. A request that it was about to carry gets a new one. */
  #handOver(): void {
    const exchange = this.#exchange;
    this.#exchange = null;
    this.destroy();
    if (!exchange) return;
    const fresh = new Connection({ target: this.target, trust: this.#trust, keeper: this.#keeper });
    exchange.connection = fresh;
    fresh.#exchange = exchange;
    fresh.#parser = new ResponseParser(exchange.request);
  }

  abort(exchange: RunningExchange, reason: EndOfExchange): void {
    if (this.#exchange !== exchange) return;
    if (reason === "stopped")
      this.#finish(
        connectionError("stopped", "Hookyard was stopped while this attempt was in progress."),
      );
    else
      this.#finish(deadlineFailure(reason.timeoutMs, this.target, this.#stage, this.#progress()));
  }

  destroy(): void {
    if (this.#state === "idle") this.#keeper.remove(this);
    this.#state = "closed";
    this.#socket.destroy();
  }

  #lookedUp(): void {
    if (this.#state !== "connecting") return;
    this.#stage = "connecting";
    this.#exchange?.request.onPhase("dns");
  }

  #connected(): void {
    if (this.#state !== "connecting") return;
    this.#address = this.#socket.localAddress ?? "";
    this.#port = this.#socket.localPort ?? 0;
    this.#exchange?.request.onPhase("connect");
    if (this.target.secure) this.#stage = "securing";
    else this.#ready();
  }

  #ready(): void {
    if (this.#state !== "connecting" || !this.#exchange) return;
    this.#stage = "open";
    if (this.target.secure) this.#exchange.request.onPhase("tls");
    this.#send(this.#exchange);
  }

  #send(exchange: RunningExchange): void {
    this.#state = "busy";
    const { request, head } = exchange;
    request.onSocket(this.#address, this.#port, this.target.port);
    exchange.written = true;
    this.#carried += 1;
    this.#writtenAt = monotonic();
    this.#sending = true;
    const size = head.length + request.body.length;
    if (size <= oneWriteLimit) {
      const bytes = Buffer.allocUnsafe(size);
      bytes.write(head, "latin1");
      bytes.set(request.body, head.length);
      this.#socket.write(bytes, this.#sent);
    } else {
      this.#socket.cork();
      this.#socket.write(head, "latin1");
      this.#socket.write(request.body, this.#sent);
      this.#socket.uncork();
    }
  }

  /** The connection carries no other request before this has been called for the last one. */
  readonly #sent = (error?: Error | null): void => {
    if (error) return;
    this.#sending = false;
    this.#exchange?.request.onPhase("sent");
  };

  #received(buffer: Buffer, length: number): boolean {
    const exchange = this.#exchange;
    if (!exchange || this.#state === "checking") {
      this.#endedIdle();
      return true;
    }
    if (!exchange.firstByte) {
      exchange.firstByte = true;
      exchange.request.onPhase("firstByte");
    }
    const parser = this.#parser;
    const used = parser.push(buffer, length);
    if (parser.complete) this.#answered(used === length);
    else if (parser.failure) this.#finish({ outcome: "connection_error", error: parser.failure });
    return true;
  }

  #answered(reusable: boolean): void {
    const exchange = this.#exchange;
    if (!exchange) return;
    this.#exchange = null;
    exchange.request.onPhase("done");
    const parser = this.#parser;
    // Apache counts `max` down from response to response, Node repeats the total: neither serves
    // more than the smallest of these sums.
    this.#allowed = Math.min(this.#allowed, this.#carried - 1 + parser.keepAliveMax);
    // A response that arrives before the whole request is sent leaves the rest of the request in
    // transit.
    const keeps = reusable && parser.keepAlive && !this.#sending && this.#carried < this.#allowed;
    if (keeps && this.#keeper.put(this, parser.keepAliveMs)) {
      this.#state = "idle";
      this.#idleSince = monotonic();
      this.#promised = parser.keepAliveMs !== null;
      // An idle connection does not keep the process alive.
      this.#socket.unref();
    } else {
      this.destroy();
    }
    exchange.end({
      outcome: "answered",
      error: null,
      requestHead: exchange.head,
      response: parser.response(),
    });
  }

  /** The receiver has closed the connection. */
  #ended(): void {
    if (this.#state === "closed") return;
    if (this.#state === "idle" || this.#state === "checking") return this.#endedIdle();
    this.#parser.end();
    if (this.#parser.complete) this.#answered(false);
    else
      this.#finish(
        this.#race() ??
          closedFailure(this.target, this.#stage, this.#parser.headComplete, this.#progress()),
      );
  }

  #failed(error: Error): void {
    if (this.#state === "closed") return;
    if (this.#state === "idle" || this.#state === "checking") return this.#endedIdle();
    const failure = socketFailure(error, this.target, this.#stage, this.#progress());
    this.#finish((failure.outcome === "connection_error" ? this.#race() : null) ?? failure);
  }

  /**
   * The failure when the end of a kept connection may have crossed the request on the network, else
   * null.
   */
  #race(): Failure | null {
    const exchange = this.#exchange;
    if (!exchange || this.#carried < 2 || exchange.firstByte || exchange.reached) return null;
    if (monotonic() - this.#writtenAt > raceMs) return null;
    this.#keeper.noteEnd(this.target.origin, this.#idleForMs, this.#promised);
    return keptConnectionFailure();
  }

  #finish({ outcome, error }: Failure): void {
    const exchange = this.#exchange;
    this.#exchange = null;
    this.destroy();
    exchange?.end({
      outcome,
      error,
      requestHead: exchange.written ? exchange.head : "",
      response: this.#parser.response(),
    });
  }

  #progress(): string {
    return this.#sending ? "while the request was being sent" : this.#parser.progress;
  }
}

class RunningExchange implements Exchange {
  readonly request: CarriedRequest;
  readonly head: string;
  written = false;
  firstByte = false;
  reached = false;
  connection: Connection;
  #deadline: RealTimer | null = null;

  constructor(connection: Connection, request: CarriedRequest, head: string) {
    this.connection = connection;
    this.request = request;
    this.head = head;
    if (request.timeoutMs !== undefined) this.limit(request.timeoutMs);
  }

  end(result: ExchangeResult): void {
    this.#deadline?.cancel();
    this.request.onEnd(result);
  }

  limit(ms: number | null): void {
    this.#deadline?.cancel();
    const { timeoutMs } = this.request;
    this.#deadline =
      ms === null || timeoutMs === undefined
        ? null
        : startDeadline(ms, () => this.abort({ timeoutMs }));
  }

  abort(reason: EndOfExchange): void {
    this.connection.abort(this, reason);
  }

  markReached(): void {
    this.reached = true;
  }
}
