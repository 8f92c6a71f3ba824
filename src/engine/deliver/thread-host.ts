/**
 * The delivery thread's own program: carries the requests that the main thread sends it, with the
 * code that carries them in process. `delivery-thread.ts` starts it. It knows no clock, no store
 * and no shared secret.
 */

import { parentPort, workerData } from "node:worker_threads";
import { monotonic } from "../real-time.ts";
import { createTargets, createTrust } from "./dial.ts";
import type { Carrier, Exchange } from "./exchange.ts";
import { createCarrier } from "./sender.ts";
import {
  inColumns,
  phaseOrder,
  timesOfEach,
  type Ended,
  type ToThread,
} from "./thread-messages.ts";

function serve(
  port: NonNullable<typeof parentPort>,
  { idleMs }: { idleMs: number | undefined },
): void {
  let localAuthority: string | null = null;
  const trust = createTrust({ localAuthority: () => localAuthority });
  const targets = createTargets();
  const carriers = new Map<number, Carrier>();
  const underWay = new Map<number, Exchange>();
  let ended: Ended[] = [];

  function carrierOf(id: number): Carrier {
    let carrier = carriers.get(id);
    if (carrier === undefined) {
      carrier = createCarrier({ trust, idleMs });
      carriers.set(id, carrier);
    }
    return carrier;
  }

  function send({ ids, carriers, urls, heads, timeouts, sizes, bodies }: ToThread["sends"]): void {
    let offset = 0;
    for (const [place, id] of ids.entries()) {
      const size = sizes[place] as number;
      const timeoutMs = timeouts[place] as number;
      const times = Array.from({ length: timesOfEach }, () => -1);
      const startedAt = monotonic();
      const target = targets(urls[place] as string);
      // The main thread has parsed it.
      if (target === null) continue;
      const exchange = carrierOf(carriers[place] as number).carry(
        target,
        {
          url: urls[place] as string,
          headers: [],
          body: bodies.subarray(offset, offset + size),
          timeoutMs: timeoutMs < 0 ? undefined : timeoutMs,
          onPhase: (phase) => {
            times[phaseOrder.indexOf(phase)] = monotonic() - startedAt;
          },
          onSocket: () => {},
        },
        heads[place] as string,
      );
      offset += size;
      underWay.set(id, exchange);
      void exchange.done.then((result) => {
        underWay.delete(id);
        times[timesOfEach - 1] = monotonic() - startedAt;
        if (ended.length === 0) setImmediate(answer);
        ended.push({ id, result, times });
      });
    }
  }

  function answer(): void {
    const message = inColumns(ended);
    ended = [];
    port.postMessage(message, [message.bodies.buffer, message.times.buffer] as ArrayBuffer[]);
  }

  port.on("message", ({ sends, aborts, closedCarriers, localAuthority: pem }: ToThread) => {
    localAuthority ??= pem;
    send(sends);
    for (const id of aborts) underWay.get(id)?.abort("stopped");
    for (const id of closedCarriers) {
      carriers.get(id)?.close();
      carriers.delete(id);
    }
  });
}

if (parentPort !== null) {
  serve(parentPort, workerData as { idleMs: number | undefined });
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- not a window
  parentPort.postMessage("ready");
}
