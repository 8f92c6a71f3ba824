/**
 * The work in progress. Every part of the pipeline marks work that ends without the clock, so that
 * an advance of the clock and `settle` know when everything that was started has ended. Work that
 * only the clock can move on (an attempt held by a test endpoint) is marked as held: nothing waits
 * for it while the clock stands still.
 *
 * During an advance, work has one of two origins. Arrivals are requests at the ingest port since
 * the advance began, and what follows from them. Everything else is the advance's own, including
 * what ran when it began. The advance waits for its own work only, so steady traffic cannot stop
 * it. Without an advance all work is own.
 */

import type { Socket } from "node:net";
import type { EndpointId } from "../../domain/ids.ts";

export type Origin = "own" | "arrival";

export type Work = {
  readonly origin: Origin;
  readonly isHeld: boolean;
  /** From now on only the clock can move this on. */
  hold(): void;
  /** It runs again. */
  release(): void;
  /** It has ended. Further calls do nothing. */
  end(): void;
};

type Waiter = { isReady: () => boolean; resolve: () => void; reject: (error: unknown) => void };
type Tally = { running: number };
/** `changed` is called when something has ended, or only the clock can move it on. */
type AllWork = Tally & { held: number; changed: () => void };

class RunningWork implements Work {
  readonly origin: Origin;
  readonly #all: AllWork;
  /** Counts it too, while it runs. */
  readonly #some: Tally | null;
  #state: "running" | "held" | "over" = "running";

  constructor(origin: Origin, all: AllWork, some: Tally | null) {
    this.origin = origin;
    this.#all = all;
    this.#some = some;
    this.#run(1);
  }

  get isHeld(): boolean {
    return this.#state === "held";
  }

  hold(): void {
    if (this.#state !== "running") return;
    this.#state = "held";
    this.#run(-1);
    this.#all.held += 1;
    this.#all.changed();
  }

  release(): void {
    if (this.#state !== "held") return;
    this.#state = "running";
    this.#all.held -= 1;
    this.#run(1);
  }

  end(): void {
    if (this.#state === "running") this.#run(-1);
    if (this.#state === "held") this.#all.held -= 1;
    this.#state = "over";
    this.#all.changed();
  }

  #run(by: 1 | -1): void {
    this.#all.running += by;
    if (this.#some !== null) this.#some.running += by;
  }
}

export class Activity {
  readonly #all: AllWork = { running: 0, held: 0, changed: () => this.#check() };
  /**
   * Requests in progress to the ingest port from the pipeline itself: simulated clients and the
   * demo shop.
   */
  readonly #sending: Tally = { running: 0 };
  /**
   * Running arrivals of the advance under way; a fresh one for each advance, so that older arrivals
   * count as own.
   */
  #arrivals: Tally | null = null;
  #origin: Origin = "own";
  #waiters: Waiter[] = [];
  #awaited = 0;
  #onAwaited: (() => void)[] = [];
  #onAdvance: ((isUnderWay: boolean) => void)[] = [];
  #checkScheduled = false;

  begin(origin: Origin = "own"): Work {
    const arrivals = origin === "arrival" ? this.#arrivals : null;
    return new RunningWork(arrivals === null ? "own" : "arrival", this.#all, arrivals);
  }

  /**
   * A request from the pipeline itself to the ingest port: while it runs, what is committed there
   * is not an arrival.
   */
  beginSending(): Work {
    return new RunningWork("own", this.#all, this.#sending);
  }

  get isAdvancing(): boolean {
    return this.#arrivals !== null;
  }

  /** The origin of a request that arrives at the ingest port now. */
  get ingestOrigin(): Origin {
    return this.#arrivals !== null && this.#sending.running === 0 ? "arrival" : "own";
  }

  /** The origin of the code that runs now, within `as`. */
  get origin(): Origin {
    return this.#origin;
  }

  as<Result>(origin: Origin, run: () => Result): Result {
    const before = this.#origin;
    this.#origin = origin;
    try {
      return run();
    } finally {
      this.#origin = before;
    }
  }

  beginAdvance(): void {
    this.#arrivals = { running: 0 };
    for (const run of this.#onAdvance) run(true);
  }

  endAdvance(): void {
    this.#arrivals = null;
    for (const run of this.#onAdvance) run(false);
  }

  /** Runs whenever an advance begins or ends. */
  onAdvance(run: (isUnderWay: boolean) => void): void {
    this.#onAdvance.push(run);
  }

  isQuiet(includeHeld: boolean): boolean {
    return this.#all.running === 0 && (!includeHeld || this.#all.held === 0);
  }

  /** Somebody waits until nothing runs, so slow work should wait. */
  get isAwaited(): boolean {
    return this.#awaited > 0;
  }

  /** Runs whenever somebody begins to wait until nothing runs. */
  onAwaited(run: () => void): void {
    this.#onAwaited.push(run);
  }

  /**
   * Resolves once nothing runs. Checked between two turns of the event loop, so that work passed on
   * in a callback counts.
   */
  async whenQuiet({
    includeHeld = false,
    signal,
  }: { includeHeld?: boolean; signal?: AbortSignal } = {}): Promise<void> {
    this.#awaited += 1;
    for (const run of this.#onAwaited) run();
    await this.#when(() => this.isQuiet(includeHeld), signal);
    this.#awaited -= 1;
  }

  /**
   * The same for the advance's own work; `waits` says whether own work still waits behind arrivals.
   */
  whenOwnQuiet({ waits, signal }: { waits: () => boolean; signal: AbortSignal }): Promise<void> {
    return this.#when(
      () => this.#all.running === (this.#arrivals?.running ?? 0) && !waits(),
      signal,
    );
  }

  #when(isReady: () => boolean, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        signal?.removeEventListener("abort", waiter.resolve);
      };
      const waiter: Waiter = {
        isReady,
        resolve: () => {
          leave();
          resolve();
        },
        reject: (error) => {
          leave();
          reject(error);
        },
      };
      this.#waiters.push(waiter);
      signal?.addEventListener("abort", waiter.resolve);
      if (signal?.aborted === true) waiter.resolve();
      this.#check();
    });
  }

  #check(): void {
    if (this.#checkScheduled || this.#waiters.length === 0) return;
    this.#checkScheduled = true;
    setImmediate(() => {
      this.#checkScheduled = false;
      for (const waiter of this.#waiters) {
        try {
          if (waiter.isReady()) waiter.resolve();
        } catch (error) {
          // The check asks the store, which could not be read.
          waiter.reject(error);
        }
      }
    });
  }
}

export type Holdable = {
  /** Of the work that waits for the answer. */
  origin?: Origin;
  /** Its deadline, if it is a delivery's. */
  timeoutMs?: number;
  /** The test endpoints that the request has come through. */
  via?: readonly EndpointId[] | undefined;
  /** The endpoint has the request, and has not reacted to it yet. */
  received?(): void;
  /** The endpoint holds the request, since this time of the clock. */
  hold(since: number): void;
  /**
   * The endpoint continues with it as of this time: when its wait ended, not when its timer fired.
   */
  release(at: number): void;
  /** The endpoint has passed the request on, so that its receiver's real time counts. */
  passedOn?(): void;
};

type EndpointSocket = Partial<Pick<Socket, "remoteAddress" | "remotePort" | "localPort">>;

/**
 * Finds the attempt that a test endpoint holds: both ends of a loopback connection are in this
 * process, and the client's address and port and the server's port identify it on both sides. A
 * request from another program has no entry here.
 */
export class Holds {
  #byConnection = new Map<string, Holdable>();

  /**
   * Called by the sending side before the first byte of a request. Returns a function that removes
   * the entry.
   */
  register(address: string, port: number, serverPort: number, exchange: Holdable): () => void {
    const key = connectionKey(address, port, serverPort);
    this.#byConnection.set(key, exchange);
    return () => {
      if (this.#byConnection.get(key) === exchange) this.#byConnection.delete(key);
    };
  }

  /** Called by the test endpoint with its end of the connection. */
  find({ remoteAddress, remotePort, localPort }: EndpointSocket): Holdable | null {
    if (remoteAddress === undefined || remotePort === undefined || localPort === undefined)
      return null;
    return this.#byConnection.get(connectionKey(remoteAddress, remotePort, localPort)) ?? null;
  }
}

function connectionKey(address: string, port: number, serverPort: number): string {
  return `${address.replace(/^::ffff:/, "")} ${port} ${serverPort}`;
}
