/**
 * What crosses between the main thread and the delivery thread: one message each way per turn of
 * the event loop, in columns, because copying an object for each request costs more than sending
 * it.
 */

import type { Phase, RecordedResponse } from "../ports.ts";
import type { ExchangeResult, RequestHead } from "./exchange.ts";

/** In the order in which they usually happen. */
export const phaseOrder: readonly Phase[] = ["dns", "connect", "tls", "sent", "firstByte", "done"];

const noBytes = new Uint8Array(0);

/** What the requests of a carrier have in common, until it says otherwise. */
export type Common = {
  url: string;
  method: string | undefined;
  head: RequestHead;
  timeoutMs: number | undefined;
  /** So many of its carrier are carried at once, and the others wait for a connection. */
  connections: number;
};

export type ToThread = {
  sends: {
    ids: number[];
    carriers: number[];
    /** Null when it is as for the last request of the carrier. */
    common: (Common | null)[];
    sizes: number[];
    /** One after the other. */
    bodies: Uint8Array;
  };
  aborts: number[];
  closedCarriers: number[];
  /** Crosses once, before the first request over TLS. */
  localAuthority: string | null;
};

export type FromThread = {
  ids: number[];
  /** Places in `outcomeOrder`. */
  outcomes: number[];
  /** By place. */
  errors: [place: number, code: string, message: string][];
  requestHeads: string[];
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

const outcomeOrder: readonly ExchangeResult["outcome"][] = [
  "answered",
  "timeout",
  "connection_error",
  "tls_error",
];

export const timesOfEach = phaseOrder.length + 1;

/** A request that has ended in the thread, and when its phases were. */
export type Ended = { id: number; result: ExchangeResult; times: number[] };

export function inColumns(ended: readonly Ended[], unsent: number[] = []): FromThread {
  const responses = ended.map(({ result }) => result.response);
  const size = responses.reduce((sum, response) => sum + (response?.body.length ?? 0), 0);
  const message: FromThread = {
    ids: ended.map(({ id }) => id),
    outcomes: ended.map(({ result }) => outcomeOrder.indexOf(result.outcome)),
    errors: [],
    requestHeads: ended.map(({ result }) => result.requestHead),
    statuses: responses.map((response) => response?.status ?? 0),
    heads: responses.map((response) => response?.head ?? ""),
    sizes: responses.map((response) => response?.body.length ?? 0),
    lengths: responses.map((response) => response?.bodyLength ?? 0),
    bodies: size === 0 ? noBytes : new Uint8Array(size),
    times: new Float64Array(ended.length * timesOfEach),
    unsent,
  };
  let offset = 0;
  for (const [place, { result, times }] of ended.entries()) {
    if (result.error !== null)
      message.errors.push([place, result.error.code, result.error.message]);
    if (size > 0 && result.response !== null) message.bodies.set(result.response.body, offset);
    offset += result.response?.body.length ?? 0;
    message.times.set(times, place * timesOfEach);
  }
  return message;
}

/** What came of each, as its sender would have got it in process. */
export function eachResult(
  message: FromThread,
  take: (id: number, result: ExchangeResult) => void,
): void {
  const { ids, outcomes, requestHeads, statuses, heads, sizes, lengths, bodies, times } = message;
  const errors = new Map(
    message.errors.map(([place, code, text]) => [place, { code, message: text }]),
  );
  let offset = 0;
  for (let place = 0; place < ids.length; place += 1) {
    const size = sizes[place] as number;
    const status = statuses[place] as number;
    const response: RecordedResponse | null =
      status === 0
        ? null
        : {
            status,
            head: heads[place] as string,
            body: size === 0 ? noBytes : bodies.subarray(offset, offset + size),
            bodyLength: lengths[place] as number,
          };
    offset += size;
    const at = place * timesOfEach;
    take(ids[place] as number, {
      outcome: outcomeOrder[outcomes[place] as number] as ExchangeResult["outcome"],
      error: errors.get(place) ?? null,
      requestHead: requestHeads[place] as string,
      response,
      phases: phasesAt(times, at),
      durationMs: times[at + phaseOrder.length],
    });
  }
}

function phasesAt(times: Float64Array, at: number): Partial<Record<Phase, number>> {
  const phases: Partial<Record<Phase, number>> = {};
  for (let place = 0; place < phaseOrder.length; place += 1) {
    const time = times[at + place] as number;
    if (time >= 0) phases[phaseOrder[place] as Phase] = time;
  }
  return phases;
}
