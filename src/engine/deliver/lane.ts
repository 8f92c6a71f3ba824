/**
 * The lane of one webhook: its connections and what waits for one. A webhook that hangs fills its own lane and
 * delays nothing else. Lives as long as its webhook is configured or anything is in it.
 */

import type { Sender } from "./exchange.ts";

type LaneTask = {
  /** Has a connection's place now; the promise ends when the place is free again. */
  start(): Promise<void>;
};

type LaneOptions = { sender: Sender; connections: () => number; report: (error: unknown) => void };

export class Lane {
  readonly sender: Sender;
  readonly #connections: () => number;
  readonly #report: (error: unknown) => void;
  #active = 0;
  #queue: LaneTask[] = [];
  #head = 0;

  constructor({ sender, connections, report }: LaneOptions) {
    this.sender = sender;
    this.#connections = connections;
    this.#report = report;
  }

  /** What is in it, under way or waiting for a place. */
  get load(): number {
    return this.#active + this.waiting;
  }

  get waiting(): number {
    return this.#queue.length - this.#head;
  }

  add(task: LaneTask): void {
    this.#queue.push(task);
    this.#next();
  }

  /** Takes out what has not started. */
  clear(): void {
    this.#queue = [];
    this.#head = 0;
  }

  #next(): void {
    while (this.#active < this.#connections() && this.#head < this.#queue.length) {
      const task = this.#queue[this.#head];
      this.#head += 1;
      if (this.#head > 1024 && this.#head * 2 > this.#queue.length) {
        this.#queue = this.#queue.slice(this.#head);
        this.#head = 0;
      }
      if (task === undefined) continue;
      this.#active += 1;
      const free = (): void => {
        this.#active -= 1;
        this.#next();
      };
      task.start().then(free, (error: unknown) => {
        this.#report(error);
        free();
      });
    }
  }
}
