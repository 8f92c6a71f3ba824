/**
 * The machine that a simulated Hookyard runs on. Time, timers and random ids are replaced beneath
 * the whole program, so that they follow from the seed alone; sockets are real. Timers fire when
 * the driver moves the time, one by one, and never while an event of a socket or a turn of the
 * event loop is outstanding. Imported before the program under test.
 *
 * `die` is the death of the process: its sockets, servers and timers are gone at that moment.
 */

import crypto from "node:crypto";
import { subscribe } from "node:diagnostics_channel";
import { syncBuiltinESMExports } from "node:module";
import type { Server, Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { Random } from "./random.ts";

type VirtualTimer = { at: number; order: number; run: () => void };

/**
 * A promise that is open after this much real time never settles: thousands of requests that hang
 * one after the other take less.
 */
const patienceMs = 72_000_000;

/** Turns of the event loop without any event after which nothing more comes by itself. */
const idleTurns = 3;

const start = Date.UTC(2026, 10, 21, 9);

/** The process is dead: whatever it was asked has no answer. */
export class Killed extends Error {}

class Stuck extends Error {}

export class Platform {
  /** What the machine's clock shows minus what has really passed. */
  #skew = 0;
  #elapsed = 0;
  #order = 0;
  #epoch = 0;
  #immediates = 0;
  #dead = false;
  #timers = new Map<number, VirtualTimer>();
  #random = new Random(0, 0);
  readonly #turn = setImmediate;
  readonly #sockets = new Set<Socket>();
  readonly #servers = new Set<Server>();
  /** Servers of the world outside, which outlive the process. */
  readonly outside = new Set<unknown>();

  constructor() {
    Date.now = () => Math.floor(start + this.#skew + this.#elapsed);
    performance.now = () => this.#elapsed;
    performance.eventLoopUtilization = () => ({ idle: 1, active: 0, utilization: 0 });
    const setVirtual = (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
      this.#set(() => run(...args), ms);
    globalThis.setTimeout = setVirtual as unknown as typeof setTimeout;
    globalThis.clearTimeout = ((timer?: { id: number }) =>
      this.#timers.delete(timer?.id ?? 0)) as typeof clearTimeout;
    globalThis.setImmediate = ((run: () => void) =>
      this.#soon(run)) as unknown as typeof setImmediate;
    crypto.randomUUID = () => {
      const hex = Array.from({ length: 32 }, () => this.#random.below(16).toString(16)).join("");
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
    };
    syncBuiltinESMExports();
    const keep = ({ socket }: { socket: Socket }): void => {
      // What a dead process still has on its stack reaches nobody.
      if (this.#dead) socket.on("error", () => {}).destroy();
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    };
    subscribe("net.client.socket", (message) => keep(message as { socket: Socket }));
    subscribe("net.server.socket", (message) => keep(message as { socket: Socket }));
    subscribe("tracing:net.server.listen:asyncEnd", (message) =>
      this.#servers.add((message as { server: Server }).server),
    );
  }

  /** A machine as new, for the next run. */
  begin(random: Random): void {
    this.revive();
    this.#random = random;
    this.#skew = 0;
    this.#elapsed = 0;
    this.#order = 0;
  }

  get timers(): number {
    return this.#timers.size;
  }

  get sockets(): number {
    return this.#sockets.size;
  }

  /** The process dies: nothing of it runs, sends or answers any more. */
  die(): void {
    this.#dead = true;
    this.#epoch += 1;
    this.#timers.clear();
    for (const server of this.#servers) {
      if (this.outside.has(server)) continue;
      this.#servers.delete(server);
      if (server.listening) server.close();
    }
    for (const socket of this.#sockets) {
      socket.on("error", () => {});
      if (socket.connecting) socket.destroy();
      else socket.resetAndDestroy();
    }
  }

  /** Another process may be started. */
  revive(): void {
    this.#dead = false;
    this.#epoch += 1;
    this.#timers.clear();
  }

  /** Somebody sets the machine's clock. */
  setClock(byMs: number): void {
    this.#skew += byMs;
  }

  /** Until nothing moves any more without time. */
  async quiet(): Promise<void> {
    for (let idle = 0; idle < idleTurns;) {
      const { events } = performance.nodeTiming.uvMetricsInfo;
      const busy = this.#immediates > 0;
      await new Promise<void>((resolve) => this.#turn(resolve));
      idle =
        busy || this.#immediates > 0 || performance.nodeTiming.uvMetricsInfo.events !== events
          ? 0
          : idle + 1;
    }
  }

  /** Real time goes on by so much, and everything happens that is due meanwhile. */
  async pass(ms: number): Promise<void> {
    const until = this.#elapsed + ms;
    await this.quiet();
    while (this.#fireNext(until)) await this.quiet();
    this.#elapsed = until;
  }

  /** Lets happen what has to, in as much time as it takes, until the promise settles. */
  async until<Result>(what: string, promise: Promise<Result>): Promise<Result> {
    let open = true;
    const settled = (): void => void (open = false);
    promise.then(settled, settled);
    const limit = this.#elapsed + patienceMs;
    await this.quiet();
    while (open) {
      if (this.#dead) throw new Killed();
      if (!this.#fireNext(limit)) throw new Stuck(`${what} never ends`);
      await this.quiet();
    }
    if (this.#dead) throw new Killed();
    return promise;
  }

  #fireNext(until: number): boolean {
    let next: VirtualTimer | undefined;
    for (const timer of this.#timers.values()) {
      if (
        next === undefined ||
        timer.at < next.at ||
        (timer.at === next.at && timer.order < next.order)
      )
        next = timer;
    }
    if (next === undefined || next.at > until) return false;
    this.#timers.delete(next.order);
    this.#elapsed = Math.max(this.#elapsed, next.at);
    try {
      next.run();
    } catch (error) {
      // As in a process: nobody is there to catch it.
      process.emit("uncaughtException", error as Error);
    }
    return true;
  }

  #set(run: () => void, ms: number): object {
    const id = ++this.#order;
    this.#timers.set(id, { at: this.#elapsed + Math.max(1, Math.floor(ms)), order: id, run });
    const timer = { id, ref: () => timer, unref: () => timer, hasRef: () => true };
    return timer;
  }

  #soon(run: () => void): unknown {
    if (this.#dead) return undefined;
    const epoch = this.#epoch;
    this.#immediates += 1;
    return this.#turn(() => {
      this.#immediates -= 1;
      if (epoch === this.#epoch) run();
    });
  }
}
