/**
 * The delivery thread as the main thread sees it: starts it with the first request, gathers the
 * requests of a turn into one message, and gives each exchange its result. Created by `assembly.ts`
 * for the hosts; the senders of the lanes use it. It decides nothing about deliveries.
 *
 * States:
 *   none      no request has needed it yet
 *   starting  messages wait in its port
 *   ready     it has said so
 *   ended     it has ended by itself: what it carried is `interrupted`. After a second a new one
 *             starts, and requests wait for it
 *   useless   the first one could not start. Everything is carried in this thread from now on
 */

import { Worker } from "node:worker_threads";
import { startTimer, type RealTimer } from "../real-time.ts";
import type { Target, Trust } from "./dial.ts";
import { connectionError } from "./exchange.ts";
import type { Carrier, Exchange, ExchangeResult, RequestHead, SendRequest } from "./exchange.ts";
import { eachResult, type Common, type FromThread, type ToThread } from "./thread-messages.ts";

/** A request that ends the thread must not keep a core busy with starting threads. */
const restartMs = 1_000;

/** Its objects live as long as a request. Three times Node's own limit costs 40 MB more. */
const maxYoungGenerationSizeMb = 16;

type DeliveryThreadOptions = {
  trust: Trust;
  /** The ports of this process's test endpoints. */
  ownPorts: readonly number[];
  /** How long a connection waits for its next request; left out, as without a thread. */
  idleMs?: number | undefined;
  /** How long a request waits for a connection before it comes back; the thread's own when left out. */
  waitMs?: number | undefined;
  /** The trouble has begun or ended. */
  onTrouble: () => void;
  report: (error: unknown) => void;
};

type FarCarrier = {
  id: number;
  connections: () => number;
  /** What the worker knows of it; null before its first request. */
  common: Common | null;
  /** Of the worker that knows it. */
  generation: number;
};

export class DeliveryThread {
  readonly #options: DeliveryThreadOptions;
  #state: "none" | "starting" | "ready" | "ended" | "useless" = "none";
  #worker: Worker | null = null;
  #restart: RealTimer | null = null;
  #trouble: string | null = null;
  #isStopped = false;
  /** One of its threads was ready. */
  #isProven = false;
  /** How many have ended. */
  #generation = 0;
  readonly #underWay = new Map<number, SendRequest>();
  #nextId = 1;
  #nextCarrier = 1;
  #outgoing = noMessage();
  #bodies: (Uint8Array | string)[] = [];
  #isScheduled = false;
  #knowsAuthority = false;

  constructor(options: DeliveryThreadOptions) {
    this.#options = options;
  }

  /** Why deliveries wait, or are carried in this thread; null when nothing is wrong. */
  get trouble(): string | null {
    return this.#trouble;
  }

  /** Whether requests to this target are carried in the thread. */
  isFor(target: Target): boolean {
    return this.#state !== "useless" && !this.#options.ownPorts.includes(target.port);
  }

  createCarrier(connections: () => number): Carrier {
    const id = this.#nextCarrier++;
    const carrier: FarCarrier = { id, connections, common: null, generation: 0 };
    return {
      carry: (target, request, head) => this.#carry(carrier, target, request, head),
      close: () => {
        carrier.common = null;
        if (this.#worker === null) return;
        this.#outgoing.closedCarriers.push(carrier.id);
        this.#schedule();
      },
    };
  }

  /** Everything under way has been stopped before. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#restart?.cancel();
    await this.#worker?.terminate();
  }

  #carry(carrier: FarCarrier, target: Target, request: SendRequest, head: RequestHead): Exchange {
    const id = this.#nextId++;
    const { sends } = this.#outgoing;
    sends.ids.push(id);
    sends.carriers.push(carrier.id);
    sends.common.push(this.#commonOf(carrier, request, head));
    sends.sizes.push(Buffer.byteLength(request.body));
    this.#bodies.push(request.body);
    this.#underWay.set(id, request);
    if (target.secure && !this.#knowsAuthority) {
      this.#outgoing.localAuthority = this.#options.trust.localAuthority();
      this.#knowsAuthority = true;
    }
    this.#schedule();
    return {
      abort: () => {
        if (!this.#underWay.delete(id)) return;
        this.#outgoing.aborts.push(id);
        this.#schedule();
        request.onEnd(interrupted);
      },
      // Only a test endpoint of this process holds a request, or says that it has it.
      limit: () => {},
      markReached: () => {},
    };
  }

  /** Null when it is as for the last request of the carrier. */
  #commonOf(carrier: FarCarrier, request: SendRequest, head: RequestHead): Common | null {
    const { url, method, timeoutMs } = request;
    const connections = carrier.connections();
    const { common } = carrier;
    if (
      common !== null &&
      carrier.generation === this.#generation &&
      common.head === head &&
      common.timeoutMs === timeoutMs &&
      common.connections === connections
    )
      return null;
    carrier.common = { url, method, head, timeoutMs, connections };
    carrier.generation = this.#generation;
    return carrier.common;
  }

  /** After all callbacks of this turn, so that all of them share a message. */
  #schedule(): void {
    if (this.#isScheduled || this.#state === "ended") return;
    this.#isScheduled = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#isScheduled = false;
    if (this.#isStopped || this.#state === "ended") return;
    this.#worker ??= this.#start();
    const message = this.#outgoing;
    message.sends.bodies = joined(this.#bodies, message.sends.sizes);
    this.#outgoing = noMessage();
    this.#bodies = [];
    this.#worker.postMessage(message, [message.sends.bodies.buffer as ArrayBuffer]);
  }

  #start(): Worker {
    this.#state = "starting";
    // In a bundle, the host's program is a file beside this one.
    const file = import.meta.url.endsWith(".ts") ? "./thread-host.ts" : "./thread-host.js";
    const worker = new Worker(new URL(file, import.meta.url), {
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb },
      workerData: { idleMs: this.#options.idleMs, waitMs: this.#options.waitMs },
    });
    let reason: unknown = null;
    worker.on("message", (message: FromThread | "ready") => {
      if (message !== "ready") return this.#answered(message);
      this.#state = "ready";
      this.#isProven = true;
      this.#setTrouble(null);
    });
    worker.on("error", (error) => {
      reason = error;
    });
    worker.on("exit", (code) => this.#ended(reason ?? new Error(`exit code ${code}`)));
    // A connection that waits for its next request does not keep the process alive. A listener of
    // messages would undo it.
    worker.unref();
    return worker;
  }

  #setTrouble(trouble: string | null): void {
    if (this.#trouble === trouble) return;
    this.#trouble = trouble;
    this.#options.onTrouble();
  }

  #answered(message: FromThread): void {
    eachResult(message, (id, result) => this.#end(id, result));
    for (const id of message.unsent) this.#end(id, unsent);
  }

  #end(id: number, result: ExchangeResult): void {
    const request = this.#underWay.get(id);
    if (request === undefined) return;
    this.#underWay.delete(id);
    request.onEnd(result);
  }

  #ended(reason: unknown): void {
    this.#worker = null;
    this.#generation += 1;
    this.#knowsAuthority = false;
    if (this.#isStopped) return;
    this.#options.report(new Error("The delivery thread has ended.", { cause: reason }));
    this.#state = this.#isProven ? "ended" : "useless";
    this.#setTrouble(this.#isProven ? hasEnded : cannotStart);
    this.#outgoing = noMessage();
    this.#bodies = [];
    const lost = [...this.#underWay.values()];
    this.#underWay.clear();
    for (const { onEnd } of lost) onEnd(interrupted);
    if (!this.#isProven) return;
    this.#restart = startTimer(restartMs, () => {
      this.#worker = this.#start();
      this.#flush();
    });
  }
}

const hasEnded =
  "The thread that sends deliveries has ended. A new one is being started, and what the old one was sending is sent again.";
const cannotStart =
  "The thread that sends deliveries cannot be started. Deliveries are sent without it, which is slower.";

const interrupted: ExchangeResult = {
  ...connectionError("interrupted", "The delivery thread ended while it sent this request."),
  isInterrupted: true,
  requestHead: "",
  response: null,
};

const unsent: ExchangeResult = {
  outcome: "connection_error",
  error: null,
  isUnsent: true,
  requestHead: "",
  response: null,
};

const noBytes = new Uint8Array(0);

function noMessage(): ToThread {
  return {
    sends: { ids: [], carriers: [], common: [], sizes: [], bodies: noBytes },
    aborts: [],
    closedCarriers: [],
    localAuthority: null,
  };
}

function joined(pieces: readonly (Uint8Array | string)[], sizes: readonly number[]): Uint8Array {
  // A buffer of its own, because it is transferred.
  const all = Buffer.allocUnsafeSlow(sizes.reduce((sum, size) => sum + size, 0));
  let offset = 0;
  for (const [place, piece] of pieces.entries()) {
    if (typeof piece === "string") all.write(piece, offset);
    else all.set(piece, offset);
    offset += sizes[place] as number;
  }
  return all;
}
