/**
 * What crosses between the main thread and the delivery thread: one message each way per turn of
 * the event loop, in columns, because copying an object for each request costs more than sending
 * it.
 */

import type { Phase, RecordedResponse } from "../ports.ts";
import type { ExchangeResult } from "./exchange.ts";

/** In the order in which they usually happen. */
export const phaseOrder: readonly Phase[] = ["dns", "connect", "tls", "sent", "firstByte", "done"];

export type ToThread = {
  sends: {
    ids: number[];
    carriers: number[];
    urls: string[];
    heads: string[];
    /** Negative without a deadline. */
    timeouts: number[];
    /**
     * At most this many requests of its carrier are carried at once; the others wait for a
     * connection.
     */
    connections: number[];
    sizes: number[];
    /** One after the other. */
    bodies: Uint8Array;
  };
  aborts: number[];
  closedCarriers: number[];
  /** Crosses once, before the first request over TLS. */
  localAuthority: string | null;
};

/** A request as it arrives in the thread. */
export type Sent = {
  id: number;
  carrier: number;
  connections: number;
  request: { url: string; head: string; body: Uint8Array; timeoutMs: number | undefined };
};

export function* requestsOf(sends: ToThread["sends"]): Generator<Sent> {
  let offset = 0;
  for (const [place, id] of sends.ids.entries()) {
    const size = sends.sizes[place] as number;
    const timeoutMs = sends.timeouts[place] as number;
    yield {
      id,
      carrier: sends.carriers[place] as number,
      connections: sends.connections[place] as number,
      request: {
        url: sends.urls[place] as string,
        head: sends.heads[place] as string,
        body: sends.bodies.subarray(offset, offset + size),
        timeoutMs: timeoutMs < 0 ? undefined : timeoutMs,
      },
    };
    offset += size;
  }
}

export type FromThread = {
  ids: number[];
  outcomes: ExchangeResult["outcome"][];
  /** By place. */
  errors: [place: number, code: string, message: string][];
  /** Places of those that wrote no byte of their request. */
  unwritten: number[];
  /** 0 without a response. */
  statuses: number[];
  heads: string[];
  sizes: number[];
  lengths: number[];
  bodies: Uint8Array;
  /** The phases of `phaseOrder` and the duration for each; -1 for phases that did not happen. */
  times: Float64Array;
  /** Those that have waited for a connection for too long, newest first. */
  unsent: number[];
};

export const timesOfEach = phaseOrder.length + 1;

/** A request that has ended in the thread, and when its phases were. */
export type Ended = { id: number; result: ExchangeResult; times: number[] };

export function inColumns(ended: readonly Ended[], unsent: number[] = []): FromThread {
  const responses = ended.map(({ result }) => result.response);
  const size = responses.reduce((sum, response) => sum + (response?.body.length ?? 0), 0);
  const message: FromThread = {
    ids: ended.map(({ id }) => id),
    outcomes: ended.map(({ result }) => result.outcome),
    errors: [],
    unwritten: [],
    statuses: responses.map((response) => response?.status ?? 0),
    heads: responses.map((response) => response?.head ?? ""),
    sizes: responses.map((response) => response?.body.length ?? 0),
    lengths: responses.map((response) => response?.bodyLength ?? 0),
    bodies: new Uint8Array(size),
    times: new Float64Array(ended.length * timesOfEach),
    unsent,
  };
  let offset = 0;
  for (const [place, { result, times }] of ended.entries()) {
    if (result.error !== null)
      message.errors.push([place, result.error.code, result.error.message]);
    if (result.requestHead === "") message.unwritten.push(place);
    if (result.response !== null) message.bodies.set(result.response.body, offset);
    offset += result.response?.body.length ?? 0;
    message.times.set(times, place * timesOfEach);
  }
  return message;
}

/** The result of each, as its sender would have got it in process. */
export function* resultsOf(
  message: FromThread,
  headOf: (id: number) => string,
): Generator<{ id: number; result: ExchangeResult; times: Float64Array }> {
  const errors = new Map(
    message.errors.map(([place, code, text]) => [place, { code, message: text }]),
  );
  const unwritten = new Set(message.unwritten);
  let offset = 0;
  for (const [place, id] of message.ids.entries()) {
    const size = message.sizes[place] as number;
    const times = message.times.subarray(place * timesOfEach, (place + 1) * timesOfEach);
    const status = message.statuses[place] as number;
    const response: RecordedResponse | null =
      status === 0
        ? null
        : {
            status,
            head: message.heads[place] as string,
            body: message.bodies.subarray(offset, offset + size),
            bodyLength: message.lengths[place] as number,
          };
    offset += size;
    yield {
      id,
      times,
      result: {
        outcome: message.outcomes[place] as FromThread["outcomes"][number],
        error: errors.get(place) ?? null,
        requestHead: unwritten.has(place) ? "" : headOf(id),
        response,
        durationMs: times[timesOfEach - 1],
      },
    };
  }
}
