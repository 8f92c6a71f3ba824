/**
 * The faults of a source, which spoil requests to the ingest port and its answers on demand.
 * `ingest.ts` asks which a request meets; `send` of `ingest-server.ts` asks for those of the answer.
 */

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { IngestFault, Source } from "../../domain/configuration.ts";
import { problem, type Problem } from "../../domain/problem.ts";
import { drawUnit } from "../../domain/random.ts";
import { startTimer } from "../real-time.ts";

/** The delays of faults that a request meets, and the fault that ends it. */
type MetFault = { delayMs: number; answerDelayMs: number; end: IngestFault | null };

/** Separates the draws of ingest faults from all other draws of the same seed. */
const drawsOfIngest = 0x1f;

/** As the hosted service has it. */
const defaultPerSecond = 1000;

type Progress = { seen: number; served: number; second: { from: number; requests: number } | null };

/**
 * Which faults each request of a source meets. Counts start at zero again when a source's faults
 * are changed.
 */
export function createFaults(seed: () => number, now: () => number): (source: Source) => MetFault {
  const progress = new WeakMap<IngestFault, Progress>();

  /** Counts the request in its second of the clock. */
  function isWithinLimit({ perSecond = defaultPerSecond }: IngestFault, count: Progress): boolean {
    const at = now();
    let { second } = count;
    // A reset may set the clock back.
    if (second === null || at < second.from || at >= second.from + 1000)
      second = { from: at, requests: 0 };
    second.requests += 1;
    count.second = second;
    return second.requests <= perSecond;
  }

  return (source) => {
    const met: MetFault = { delayMs: 0, answerDelayMs: 0, end: null };
    for (const [place, fault] of source.faults.entries()) {
      const count = progress.get(fault) ?? { seen: 0, served: 0, second: null };
      progress.set(fault, count);
      if (fault.times !== undefined && count.served >= fault.times) continue;
      if (fault.do === "limit" && isWithinLimit(fault, count)) continue;
      count.seen += 1;
      if (
        fault.chance !== undefined &&
        drawUnit(seed(), drawsOfIngest, source.id, place, count.seen) >= fault.chance
      )
        continue;
      count.served += 1;
      if (fault.do === "delay-answer") met.answerDelayMs += fault.delayMs ?? 0;
      else met.delayMs += fault.delayMs ?? 0;
      if (fault.do !== "delay" && fault.do !== "delay-answer") return { ...met, end: fault };
    }
    return met;
  };
}

type AnswerFault = { delayMs: number; isLost: boolean };

const ofAnswers = new WeakMap<ServerResponse, AnswerFault>();

/**
 * Delays the request, and notes what happens to its answer. Returns how a fault ends the request:
 * with an answer, or with a cut; null when it continues.
 */
export async function applyFault(
  source: Source,
  { delayMs, answerDelayMs, end }: MetFault,
  socket: Socket,
  response: ServerResponse,
): Promise<Problem | "cut" | null> {
  await wait(delayMs, socket);
  if (end?.do === "cut") {
    socket.destroy();
    return "cut";
  }
  const isLost = end?.do === "lose-answer";
  if (isLost || answerDelayMs > 0) ofAnswers.set(response, { delayMs: answerDelayMs, isLost });
  if (end === null || isLost) return null;
  return end.do === "limit" ? limited(source, end, response) : answered(source, end, response);
}

function answered(source: Source, fault: IngestFault, response: ServerResponse): Problem {
  const { status = 500, retryAfter } = fault;
  if (retryAfter !== undefined) setRetryHeaders(response, { "Retry-After": retryAfter });
  return problem(
    status,
    "fault",
    `This response is intended: the source ${source.name} has a fault that answers ${status}.`,
  );
}

/** Both headers have the seconds after which the request may be sent again. */
function limited(source: Source, fault: IngestFault, response: ServerResponse): Problem {
  const { perSecond = defaultPerSecond, retryAfter = 1 } = fault;
  setRetryHeaders(response, { "Retry-After": retryAfter, "X-RateLimit-Reset": retryAfter });
  return problem(
    429,
    "rate_limited",
    `This response is intended: the source ${source.name} has a fault that limits it to ${perSecond} requests a second.`,
  );
}

/** A page can read them only when they are exposed to it. */
function setRetryHeaders(response: ServerResponse, headers: Record<string, number>): void {
  for (const [name, seconds] of Object.entries(headers)) response.setHeader(name, String(seconds));
  if (response.hasHeader("Access-Control-Allow-Origin"))
    response.setHeader("Access-Control-Expose-Headers", Object.keys(headers).join(", "));
}

/** Returns whether a fault has the answer: then it is sent later, by `send`, or never. */
export function answerFaultOf(response: ServerResponse, send: () => void): boolean {
  const fault = ofAnswers.get(response);
  const { socket } = response;
  if (fault === undefined || socket === null) return false;
  ofAnswers.delete(response);
  void wait(fault.delayMs, socket).then(() => {
    if (fault.isLost) reset(socket);
    else send();
  });
  return true;
}

/** A TLS connection has no reset of its own, so it is cut. */
function reset(socket: Socket): void {
  if ("encrypted" in socket) socket.destroy();
  else socket.resetAndDestroy();
}

/** In real time. Ends early when the client disconnects. */
function wait(ms: number, socket: Socket): Promise<void> {
  if (ms <= 0) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      timer.cancel();
      socket.off("close", end);
      resolve();
    };
    const timer = startTimer(ms, end);
    socket.once("close", end);
  });
}
