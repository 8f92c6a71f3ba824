/**
 * One socket to a receiver, and the exchange it carries. Made by the sender; afterwards the socket's own events move
 * it. It carries one exchange at a time and never sends anything by itself.
 *
 * States:
 *   connecting   looking up, TCP, TLS (`stage` says which); the request waits
 *   busy         the request is on its way, or its answer
 *   idle         kept for the next request; whatever happens to the socket now ends it
 *   closed       the socket is destroyed
 */

import type { Socket } from "node:net";
import { dial } from "./dial.ts";
import type { EndOfExchange, Exchange, ExchangeResult, SendRequest } from "./exchange.ts";
import { closedFailure, connectionError, deadlineFailure, socketFailure } from "./failures.ts";
import type { Failure, Stage } from "./failures.ts";
import { ResponseParser } from "./response-parser.ts";
import type { Target } from "./target.ts";
import type { Trust } from "./trust.ts";

/** Who keeps connections between exchanges. */
type ConnectionKeeper = {
  /** False: not kept. */
  put(connection: Connection, limitMs: number | null): boolean;
  remove(connection: Connection): void;
};

// The usual answer comes in one read; a long one costs a few more. Each connection has its own, so 64 of them are 1 MB.
const readBufferSize = 16 * 1024;

// Below this size head and body fit into Node's buffer pool, and one copy is cheaper than a write of two pieces.
const oneWriteLimit = 4 * 1024 - 1;

export class Connection {
  readonly target: Target;
  readonly #keeper: ConnectionKeeper;
  readonly #socket: Socket;
  #state: "connecting" | "busy" | "idle" | "closed" = "connecting";
  #stage: Stage;
  #address = "";
  #port = 0;
  #exchange: RunningExchange | null = null;
  #parser = new ResponseParser();
  /** Bytes of the request are still in this process. */
  #sending = false;

  constructor({ target, trust, keeper }: { target: Target; trust: Trust; keeper: ConnectionKeeper }) {
    this.target = target;
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
  carry(request: SendRequest, head: string): Exchange {
    const exchange = new RunningExchange(this, request, head);
    this.#exchange = exchange;
    if (this.#state === "idle") {
      this.#parser = new ResponseParser();
      this.#socket.ref();
      this.#send(exchange);
    }
    return exchange;
  }

  abort(exchange: RunningExchange, reason: EndOfExchange): void {
    if (this.#exchange !== exchange) return;
    if (reason === "stopped") this.#finish(connectionError("stopped", "Hookyard was stopped while this attempt was under way."));
    else this.#finish(deadlineFailure(reason.timeoutMs, this.target, this.#stage, this.#progress()));
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
    request.onSocket(this.#address, this.#port);
    exchange.written = true;
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

  /** A connection takes no other request before this was called for the last one. */
  readonly #sent = (error?: Error | null): void => {
    if (error) return;
    this.#sending = false;
    this.#exchange?.request.onPhase("sent");
  };

  #received(buffer: Buffer, length: number): boolean {
    const exchange = this.#exchange;
    if (!exchange) {
      this.destroy();
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
    // An answer that came before the request was sent in full leaves the rest of it on the way.
    if (reusable && parser.keepAlive && !this.#sending && this.#keeper.put(this, parser.keepAliveMs)) {
      this.#state = "idle";
      // An idle connection is no reason for the process to stay.
      this.#socket.unref();
    } else {
      this.destroy();
    }
    exchange.resolve({ outcome: "answered", error: null, requestHead: exchange.head, response: parser.response() });
  }

  /** The receiver has closed the connection. */
  #ended(): void {
    if (this.#state === "closed") return;
    if (!this.#exchange) {
      this.destroy();
      return;
    }
    this.#parser.end();
    if (this.#parser.complete) this.#answered(false);
    else this.#finish(closedFailure(this.target, this.#stage, this.#parser.headComplete, this.#progress()));
  }

  #failed(error: Error): void {
    if (this.#state === "closed") return;
    this.#finish(socketFailure(error, this.target, this.#stage, this.#progress()));
  }

  #finish({ outcome, error }: Failure): void {
    const exchange = this.#exchange;
    this.#exchange = null;
    this.destroy();
    exchange?.resolve({ outcome, error, requestHead: exchange.written ? exchange.head : "", response: this.#parser.response() });
  }

  #progress(): string {
    return this.#sending ? "while the request was being sent" : this.#parser.progress;
  }
}

class RunningExchange implements Exchange {
  readonly done: Promise<ExchangeResult>;
  readonly request: SendRequest;
  readonly head: string;
  resolve: (result: ExchangeResult) => void = () => {};
  written = false;
  firstByte = false;
  readonly #connection: Connection;

  constructor(connection: Connection, request: SendRequest, head: string) {
    this.#connection = connection;
    this.request = request;
    this.head = head;
    this.done = new Promise((resolve) => {
      this.resolve = resolve;
    });
  }

  abort(reason: EndOfExchange): void {
    this.#connection.abort(this, reason);
  }
}
