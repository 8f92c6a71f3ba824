/**
 * The delivery thread's own program: carries the requests that the main thread sends it, with the
 * code that carries them in process. `delivery-thread.ts` starts it. It knows no clock and no
 * store.
 */

import { parentPort, workerData } from "node:worker_threads";
import { monotonic, startTimer, toMicroseconds, type RealTimer } from "../real-time.ts";
import { createTargets, createTrust } from "./dial.ts";
import type { Phase } from "../ports.ts";
import type { Carrier, Exchange, ExchangeResult } from "./exchange.ts";
import { createCarrier } from "./sender.ts";
import {
  inColumns,
  phaseOrder,
  timesOfEach,
  type Common,
  type Ended,
  type FromThread,
  type ToThread,
} from "./thread-messages.ts";

/**
 * How long a request waits for a connection: longer than the main thread needs for a commit. A quick
 * receiver takes all that wait in less.
 */
const defaultWaitMs = 50;

type HostOptions = { idleMs: number | undefined; waitMs: number | undefined };

/** The requests of one lane. Those that wait for a connection are in the order of their arrival. */
type Waiting = { id: number; since: number; common: Common; body: Uint8Array };

type Lane = {
  carrier: Carrier;
  carried: number;
  /** Of its last request. */
  common: Common | null;
  waiting: Waiting[];
  /** Looks for those that have waited for too long. */
  timer: RealTimer | null;
};

/** The main thread, as this one sees it. */
type Port = {
  on(event: "message", take: (message: ToThread) => void): unknown;
  postMessage(message: FromThread, moved: ArrayBuffer[]): void;
};

export function serve(port: Port, { idleMs, waitMs = defaultWaitMs }: HostOptions): void {
  let localAuthority: string | null = null;
  const trust = createTrust({ localAuthority: () => localAuthority });
  const targets = createTargets();
  const lanes = new Map<number, Lane>();
  const underWay = new Map<number, Exchange>();
  let ended: Ended[] = [];

  function laneOf(id: number): Lane {
    let lane = lanes.get(id);
    if (lane === undefined) {
      lane = {
        carrier: createCarrier({ trust, idleMs }),
        carried: 0,
        common: null,
        waiting: [],
        timer: null,
      };
      lanes.set(id, lane);
    }
    return lane;
  }

  function send({ ids, carriers, common: all, sizes, bodies }: ToThread["sends"]): void {
    const since = monotonic();
    let end = 0;
    for (const [place, id] of ids.entries()) {
      const lane = laneOf(carriers[place] as number);
      const common = all[place] ?? lane.common;
      const start = end;
      end += sizes[place] as number;
      // The first request of a lane says.
      if (common === null) continue;
      lane.common = common;
      lane.waiting.push({ id, since, common, body: bodies.subarray(start, end) });
      carryNext(lane);
      if (lane.waiting.length > 0) lane.timer ??= startTimer(waitMs, () => handBack(lane));
    }
  }

  /** Of a lane that has had a request. */
  function carryNext(lane: Lane): void {
    const { connections } = lane.common as Common;
    while (lane.carried < connections) {
      const next = lane.waiting.shift();
      if (next === undefined) return;
      carry(lane, next);
    }
  }

  function carry(lane: Lane, { id, common, body }: Waiting): void {
    const { url, method, head, timeoutMs } = common;
    const times = Array.from({ length: timesOfEach }, () => -1);
    const startedAt = monotonic();
    const elapsed = (): number => toMicroseconds(monotonic() - startedAt);
    const target = targets(url);
    // The main thread has parsed it.
    if (target === null) return;
    const onPhase = (phase: Phase): void => {
      times[phaseOrder.indexOf(phase)] = elapsed();
    };
    const onEnd = (result: ExchangeResult): void => {
      underWay.delete(id);
      times[timesOfEach - 1] = elapsed();
      if (ended.length === 0) setImmediate(answer);
      ended.push({ id, result, times });
      lane.carried -= 1;
      carryNext(lane);
    };
    const request = { url, method, headers: [], body, timeoutMs };
    lane.carried += 1;
    underWay.set(
      id,
      lane.carrier.carry(target, { ...request, onPhase, onSocket: () => {}, onEnd }, head),
    );
  }

  /** What has waited for too long, so that nothing seems to be in progress that is not. */
  function handBack(lane: Lane): void {
    const until = monotonic() - waitMs;
    const stays = lane.waiting.findIndex(({ since }) => since > until);
    const late = lane.waiting.splice(0, stays < 0 ? lane.waiting.length : stays);
    if (late.length > 0) post(inColumns([], late.map(({ id }) => id).reverse()));
    const [first] = lane.waiting;
    lane.timer =
      first === undefined
        ? null
        : startTimer(Math.max(1, first.since - until), () => handBack(lane));
  }

  function answer(): void {
    const message = inColumns(ended);
    ended = [];
    post(message);
  }

  function post(message: FromThread): void {
    const { bodies, times } = message;
    const all = bodies.length === 0 ? [times.buffer] : [times.buffer, bodies.buffer];
    port.postMessage(message, all as ArrayBuffer[]);
  }

  function abort(ids: ReadonlySet<number>): void {
    for (const lane of lanes.values()) lane.waiting = lane.waiting.filter(({ id }) => !ids.has(id));
    for (const id of ids) underWay.get(id)?.abort("stopped");
  }

  port.on("message", ({ sends, aborts, closedCarriers, localAuthority: pem }) => {
    localAuthority ??= pem;
    send(sends);
    if (aborts.length > 0) abort(new Set(aborts));
    for (const id of closedCarriers) {
      lanes.get(id)?.carrier.close();
      lanes.delete(id);
    }
  });
}

if (parentPort !== null) {
  serve(parentPort, workerData as HostOptions);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- not a window
  parentPort.postMessage("ready");
}
