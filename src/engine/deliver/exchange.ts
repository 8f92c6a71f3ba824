/**
 * The sending side: HTTP/1.1 over our own sockets, one POST at a time per connection. Called by a webhook's lane, which
 * owns the deadline (`abort`) and the number of exchanges under way. It never retries, never follows a redirect, and
 * records what was sent and what came back byte for byte.
 */

import type { Phase, RecordedResponse } from "../ports.ts";
import { Connection } from "./connection.ts";
import { createIdleConnections } from "./idle-connections.ts";
import { headProblem, writeRequestHead } from "./request-head.ts";
import { parseTarget } from "./target.ts";
import type { Target } from "./target.ts";
import type { Trust } from "./trust.ts";

export type Exchange = {
  /** Resolves always, exactly once. */
  done: Promise<ExchangeResult>;
  /** Ends it now: the socket is destroyed, and the outcome is `timeout`, or `connection_error` when it is stopped. */
  abort(reason: EndOfExchange): void;
  /** The receiver has the request, as only a test endpoint can say: how it ends the connection now is its answer. */
  markReached(): void;
};

/** Its time is over, or the process ends. */
export type EndOfExchange = { timeoutMs: number } | "stopped";

export type ExchangeResult = {
  outcome: "answered" | "timeout" | "connection_error" | "tls_error";
  /** The message is a sentence for a person. */
  error: { code: string; message: string } | null;
  /** Request line and headers exactly as sent (latin1); empty when not one byte was written. */
  requestHead: string;
  /** There as soon as the head was complete, also when the exchange then failed. */
  response: RecordedResponse | null;
};

export type SendRequest = {
  url: string;
  /** Sent as they are, in this order. The configuration has refused those that the sender writes itself. */
  headers: [string, string][];
  body: Uint8Array;
  /** On a reused connection the first calls come before `send` returns. */
  onPhase(phase: Phase): void;
  /** Our end of the connection, before the first byte of the request is written. */
  onSocket(address: string, port: number): void;
};

export type Sender = {
  send(request: SendRequest): Exchange;
  /** Ends the idle connections, and the others as soon as their exchange is over. */
  close(): void;
};

// A lane has one URL, and a few more in its life when the user changes it.
const knownTargets = 100;

/**
 * How long a connection waits for its next request. A receiver that closes an idle connection at the moment we send on it looks like one
 * that reset the request. One second keeps a busy lane's connections open and is shorter than every common idle limit (Node 5 s, most
 * others more).
 */
const defaultIdleMs = 1_000;

/** One per webhook lane: it keeps its idle connections. */
export function createSender({ trust, maxIdle = 64, idleMs = defaultIdleMs }: { trust: Trust; maxIdle?: number; idleMs?: number }): Sender {
  const targets = new Map<string, Target | null>();
  const idle = createIdleConnections({ maxIdle, idleMs });

  function targetOf(url: string): Target | null {
    let target = targets.get(url);
    if (target === undefined) {
      target = parseTarget(url);
      if (targets.size === knownTargets) targets.clear();
      targets.set(url, target);
    }
    return target;
  }

  return {
    send(request) {
      const target = targetOf(request.url);
      if (!target) return refused("invalid_url", "The URL of the webhook is no full http or https URL.");
      const problem = headProblem(request.headers);
      if (problem) return refused("invalid_header", problem);
      const head = writeRequestHead(target, request.headers, request.body.length);
      const connection = idle.take(target.origin) ?? new Connection({ target, trust, keeper: idle });
      return connection.carry(request, head);
    },
    close: () => idle.close(),
  };
}

function refused(code: string, message: string): Exchange {
  return {
    done: Promise.resolve({ outcome: "connection_error", error: { code, message }, requestHead: "", response: null }),
    abort: () => {},
    markReached: () => {},
  };
}
