/**
 * One request and the step that serves it: what the step does happens on the socket itself, and what it waits for is a
 * time of the clock. Called by the endpoints for each request; never decides which step it is.
 *
 * While it waits, the attempt at the other end of the socket, when it is one of ours, is told that it is held.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Step } from "../../domain/configuration.ts";
import type { Clock, ClockTimer } from "../clock/clock.ts";
import type { Holdable, Holds } from "../clock/activity.ts";
import { answerOf } from "./step-answer.ts";

/** Twice the documented deadline of five seconds: a drip without a duration never makes it. */
const defaultDripMs = 10_000;

export type Exchange = {
  request: IncomingMessage;
  response: ServerResponse;
  /** The TCP socket, below TLS where there is TLS. */
  tcp: Socket;
};

export type Serving = {
  /** The endpoint is gone: nothing stays scheduled, and the socket ends. */
  abandon(): void;
};

type ServeStep = {
  step: Step;
  /** The endpoint's path, where a redirect leads when the step names no place. */
  path: string;
  exchange: Exchange;
  clock: Clock;
  holds: Holds;
  /** The head of an answer goes out. */
  answered: (status: number) => void;
};

/** Null when it was done with at once. */
export function serveStep(options: ServeStep): Serving | null {
  const { step, exchange, holds } = options;
  if (exchange.tcp.destroyed) return null;
  holds.find(exchange.tcp.remoteAddress, exchange.tcp.remotePort)?.received?.();
  const delayMs = step.delayMs ?? 0;
  const lasts = step.do === "hang" || step.do === "drip";
  if (delayMs === 0 && !lasts) {
    act(options, null);
    return null;
  }
  const wait = createWait(options);
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
  }
}

function hang({ step, exchange }: ServeStep, wait: Wait): void {
  if (step.forMs === undefined) wait.forever();
  else if (step.forMs === 0) exchange.request.socket.destroySoon();
  else wait.forMs(step.forMs, () => exchange.request.socket.destroySoon());
}

/** The last byte goes out when the time is over, the others evenly before it. */
function drip(options: ServeStep, wait: Wait): void {
  const { step } = options;
  const { response } = options.exchange;
  const body = writeHead(options);
  response.flushHeaders();
  const start = wait.now();
  const forMs = step.forMs ?? defaultDripMs;
  const dueAt = (byte: number): number => start + Math.round((forMs * (byte + 1)) / body.byteLength);
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

function writeHead(options: ServeStep): Buffer {
  const { status, headers, hasDate, body } = answerOf(options.step, options.path);
  const { response } = options.exchange;
  response.writeHead(status, hasDate ? headers : [...headers, "Date", new Date(options.clock.now()).toUTCString()]);
  options.answered(status);
  return body;
}

/** The waits of one step, one after the other. Its time goes from due time to due time, however late a timer fires. */
type Wait = {
  now(): number;
  until(at: number, run: () => void): void;
  forMs(ms: number, run: () => void): void;
  /** Until the other side goes. */
  forever(): void;
  /** Over, in the middle of it. */
  end(): void;
  /** Over, and nobody is there any more. */
  cancel(): void;
};

function createWait({ exchange, clock, holds }: ServeStep): Wait {
  const { remoteAddress, remotePort } = exchange.tcp;
  const attempt: Holdable | null = holds.find(remoteAddress, remotePort);
  let timer: ClockTimer | null = null;
  let state: "free" | "waiting" | "held" | "over" = "free";
  let waits = 0;
  let now = clock.now();

  const hold = (): void => {
    state = "held";
    attempt?.hold(now);
  };
  const begin = (): void => {
    state = "waiting";
    waits += 1;
    const wait = waits;
    // A turn later: what was just written is at the other side before the clock may move.
    setImmediate(() => {
      if (state === "waiting" && wait === waits) hold();
    });
  };
  const release = (at: number): void => {
    // A fast clock can be there before that turn.
    if (state === "waiting") hold();
    if (state === "held") attempt?.release(at);
    if (state !== "over") state = "free";
    now = at;
  };
  const until = (at: number, run: () => void): void => {
    if (state === "over") return;
    timer = clock.schedule(at, () => {
      timer = null;
      release(at);
      run();
    });
    begin();
  };
  const cancel = (): void => {
    timer?.cancel();
    timer = null;
    state = "over";
  };
  return {
    now: () => now,
    until,
    forMs: (ms, run) => until(now + ms, run),
    forever() {
      if (state !== "over") begin();
    },
    end() {
      release(clock.now());
      cancel();
    },
    cancel,
  };
}
