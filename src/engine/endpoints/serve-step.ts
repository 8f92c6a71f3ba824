/**
 * Serves one request as a step of the program says, on the socket itself; what it waits for is a
 * time of the clock. Called by the endpoints for each request; never chooses the step.
 *
 * While it waits, the attempt at the other end of the socket, when it is ours, is held.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type Step, stepBehaviours } from "../../domain/configuration.ts";
import type { Holds } from "../clock/activity.ts";
import type { Clock } from "../clock/clock.ts";
import { answerOf, writeAnswerHead } from "./step-answer.ts";
import { createWait, type Wait } from "./wait.ts";

/**
 * Twice the documented deadline of five seconds, so that a drip without a duration always times
 * out.
 */
const defaultDripMs = 10_000;

export type Exchange = {
  request: IncomingMessage;
  response: ServerResponse;
  /** The TCP socket, below TLS where there is TLS. */
  tcp: Socket;
};

export type Serving = {
  /** Called when the endpoint is removed: cancels what is scheduled, and destroys the socket. */
  abandon(): void;
};

type ServeStep = {
  step: Step;
  /** The endpoint's path, the target of a redirect without a `Location`. */
  path: string;
  exchange: Exchange;
  clock: Clock;
  holds: Holds;
  /** Called when the head of an answer is sent. */
  answered: (status: number) => void;
};

/** Null when it was served at once. */
export function serveStep(options: ServeStep): Serving | null {
  const { step, exchange, holds } = options;
  if (exchange.tcp.destroyed) return null;
  holds.find(exchange.tcp)?.received?.();
  const delayMs = step.delayMs ?? 0;
  const { lasts } = stepBehaviours[step.do];
  if (delayMs === 0 && !lasts) {
    act(options, null);
    return null;
  }
  const wait = createWait({ tcp: exchange.tcp, ...options });
  exchange.response.once("close", () => wait.cancel());
  if (delayMs === 0) act(options, wait);
  else wait.forMs(delayMs, () => act(options, wait));
  return {
    abandon: () => {
      wait.end();
      exchange.tcp.destroy();
    },
  };
}

function act(options: ServeStep, wait: Wait | null): void {
  const { request, response, tcp } = options.exchange;
  switch (options.step.do) {
    case "answer":
    case "redirect":
      response.end(writeHead(options));
      return;
    case "hang":
      if (wait !== null) hang(options, wait);
      return;
    case "drip":
      if (wait !== null) drip(options, wait);
      return;
    case "truncate": {
      const body = writeHead(options);
      response.flushHeaders();
      response.write(body.subarray(0, body.byteLength >> 1), () => request.socket.destroySoon());
      return;
    }
    case "garbage":
      request.socket.write(answerOf(options.step, options.path).body);
      request.socket.destroySoon();
      return;
    case "close":
      request.socket.destroySoon();
      return;
    case "reset":
      tcp.resetAndDestroy();
      return;
    case "forward":
      throw new Error("A forward is served by the forwarding.");
    default:
      throw new Error(`A step cannot ${String(options.step.do satisfies never)}.`);
  }
}

function hang({ step, exchange }: ServeStep, wait: Wait): void {
  if (step.forMs === undefined) wait.forever();
  else if (step.forMs === 0) exchange.request.socket.destroySoon();
  else wait.forMs(step.forMs, () => exchange.request.socket.destroySoon());
}

/** The last byte is sent when the time is over, the others evenly before it. */
function drip(options: ServeStep, wait: Wait): void {
  const { step } = options;
  const { response } = options.exchange;
  const body = writeHead(options);
  response.flushHeaders();
  const start = wait.now();
  const forMs = step.forMs ?? defaultDripMs;
  const dueAt = (byte: number): number =>
    start + Math.round((forMs * (byte + 1)) / body.byteLength);
  let sent = 0;
  const next = (): void => {
    const from = sent;
    while (sent < body.byteLength && dueAt(sent) <= wait.now()) sent += 1;
    if (sent > from) response.write(body.subarray(from, sent));
    if (sent < body.byteLength) wait.until(dueAt(sent), next);
    else response.end();
  };
  next();
}

function writeHead({ step, path, clock, exchange, answered }: ServeStep): Buffer {
  const { response } = exchange;
  const body = writeAnswerHead({ step, path, response, now: clock.now() });
  answered(response.statusCode);
  return body;
}
