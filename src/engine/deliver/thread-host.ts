/**
 * The delivery thread's own program: carries the requests that the main thread sends it, with the
 * code that carries them in process. `delivery-thread.ts` starts it. It knows no clock, no store
 * and no shared secret.
 */

import { parentPort, workerData } from "node:worker_threads";
import { monotonic, startTimer, type RealTimer } from "../real-time.ts";
import { createTargets, createTrust } from "./dial.ts";
import type { Phase } from "../ports.ts";
import type { Carrier, Exchange } from "./exchange.ts";
import { createCarrier } from "./sender.ts";
import {
  inColumns,
  phaseOrder,
  requestsOf,
  timesOfEach,
  type Ended,
  type FromThread,
  type Sent,
  type ToThread,
} from "./thread-messages.ts";

/**
 * How long a request waits for a connection: longer than the main thread needs for a commit. A quick
 * receiver takes all that wait in less.
 */
const defaultWaitMs = 50;

type HostOptions = { idleMs: number | undefined; waitMs: number | undefined };

/** The requests of one lane. Those that wait for a connection are in the order of their arrival. */
type Lane = {
  carrier: Carrier;
  carried: number;
  connections: number;
  waiting: { id: number; since: number; carry: () => void }[];
  /** Looks for those that have waited for too long. */
  timer: RealTimer | null;
};

function serve(
  port: NonNullable<typeof parentPort>,
  { idleMs, waitMs = defaultWaitMs }: HostOptions,
): void {
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
        connections: 1,
        waiting: [],
        timer: null,
      };
      lanes.set(id, lane);
    }
    return lane;
  }

  function send(sends: ToThread["sends"]): void {
    const since = monotonic();
    for (const { id, carrier, connections, request } of requestsOf(sends)) {
      const lane = laneOf(carrier);
      lane.connections = connections;
      lane.waiting.push({ id, since, carry: () => carry(lane, id, request) });
      carryNext(lane);
      if (lane.waiting.length > 0) lane.timer ??= startTimer(waitMs, () => handBack(lane));
    }
  }

  function carryNext(lane: Lane): void {
    while (lane.carried < lane.connections && lane.waiting.length > 0)
      lane.waiting.shift()?.carry();
  }

  function carry(lane: Lane, id: number, { head, ...request }: Sent["request"]): void {
    const times = Array.from({ length: timesOfEach }, () => -1);
    const startedAt = monotonic();
    const target = targets(request.url);
    // The main thread has parsed it.
    if (target === null) return;
    const onPhase = (phase: Phase): void => {
      times[phaseOrder.indexOf(phase)] = monotonic() - startedAt;
    };
    const exchange = lane.carrier.carry(
      target,
      { ...request, headers: [], onPhase, onSocket: () => {} },
      head,
    );
    lane.carried += 1;
    underWay.set(id, exchange);
    void exchange.done.then((result) => {
      underWay.delete(id);
      times[timesOfEach - 1] = monotonic() - startedAt;
      if (ended.length === 0) setImmediate(answer);
      ended.push({ id, result, times });
      lane.carried -= 1;
      carryNext(lane);
    });
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
    port.postMessage(message, [message.bodies.buffer, message.times.buffer] as ArrayBuffer[]);
  }

  function abort(ids: ReadonlySet<number>): void {
    for (const lane of lanes.values()) lane.waiting = lane.waiting.filter(({ id }) => !ids.has(id));
    for (const id of ids) underWay.get(id)?.abort("stopped");
  }

  port.on("message", ({ sends, aborts, closedCarriers, localAuthority: pem }: ToThread) => {
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
