/**
 * Serves one request as a step of the program says, on the socket itself; what it waits for is a time of the clock. Called by
 * the endpoints for each request; never chooses the step.
 *
 * While it waits, the attempt at the other end of the socket, when it is ours, is held.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Step } from "../../domain/configuration.ts";
import type { Clock, ClockTimer } from "../clock/clock.ts";
import type { Holdable, Holds } from "../clock/activity.ts";

/** Twice the documented deadline of five seconds, so that a drip without a duration always times out. */
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

/** The last byte is sent when the time is over, the others evenly before it. */
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

/** The waits of one step, one after the other. Each starts at the due time of the one before, however late its timer fired. */
type Wait = {
  now(): number;
  until(at: number, run: () => void): void;
  forMs(ms: number, run: () => void): void;
  /** Until the client disconnects. */
  forever(): void;
  /** Ends a wait before its time. */
  end(): void;
  /** Ends a wait after the client disconnected. */
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
    // One turn later, so that the client has received what was just written before the clock may move.
    setImmediate(() => {
      if (state === "waiting" && wait === waits) hold();
    });
  };
  const release = (at: number): void => {
    // A fast clock can be due before that turn.
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

type StepAnswer = {
  path: string;
  status: number;
  /** Names and values in turn; `Date` is added to each answer. */
  headers: string[];
  hasDate: boolean;
  body: Buffer;
};

/** The answer of each step is created once. */
const answers = new WeakMap<Step, StepAnswer>();

function answerOf(step: Step, path: string): StepAnswer {
  let answer = answers.get(step);
  if (answer?.path !== path) {
    answer = createAnswer(step, path);
    answers.set(step, answer);
  }
  return answer;
}

/** The bodies of steps that need one and have none. The drip has ten bytes: one a second in 10 s. */
const standInBody: Partial<Record<Step["do"], Buffer>> = {
  truncate: Buffer.from("This answer is longer than what will arrive of it.\n"),
  drip: Buffer.from("drip drip\n"),
  garbage: Buffer.from([0x00, 0xff, 0xfe, 0x16, 0x03, 0x7f, ...Buffer.from(" this is not HTTP\r\n\r\n")]),
};

function createAnswer(step: Step, path: string): StepAnswer {
  const body = step.body === undefined ? (standInBody[step.do] ?? Buffer.alloc(0)) : Buffer.from(step.body);
  const status = step.status ?? (step.do === "redirect" ? 302 : 200);
  const headers = Object.entries(step.headers ?? {}).flat();
  const has = (name: string): boolean => Object.keys(step.headers ?? {}).some((given) => given.toLowerCase() === name);
  const mayHaveBody = status !== 204 && status !== 304;
  if (step.do === "redirect" && !has("location")) headers.push("Location", `/${path}?redirected`);
  if (body.byteLength > 0 && mayHaveBody && !has("content-type")) headers.push("Content-Type", contentType(body));
  if (mayHaveBody && !has("content-length") && !has("transfer-encoding")) headers.push("Content-Length", String(body.byteLength));
  return { path, status, headers, hasDate: has("date"), body };
}

function contentType(body: Buffer): string {
  try {
    JSON.parse(body.toString());
    return "application/json";
  } catch {
    return "text/plain; charset=utf-8";
  }
}
