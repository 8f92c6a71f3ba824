/** The lanes of all webhooks, one each. Created and used by the delivery scheduler. */

import type { WebhookId } from "../../domain/ids.ts";
import type { Trust } from "./dial.ts";
import { createSender, type Sender } from "./sender.ts";

type LaneTask = {
  /** Called when a connection is free; the promise resolves when it is free again. */
  start(): Promise<void>;
};

type LaneOptions = { sender: Sender; connections: () => number; report: (error: unknown) => void };

/**
 * The lane of one webhook: its connections, and the attempts that wait for one. A webhook that hangs fills its own lane
 * and delays nothing else. A lane exists while its webhook is configured or has attempts.
 */
class Lane {
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

  /** Attempts in progress or waiting for a connection. */
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

  /** Removes what has not started. */
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

type LanesOptions = { trust: Trust; connections: () => number; report: (error: unknown) => void };

export type Lanes = ReturnType<typeof createLanes>;

export function createLanes({ trust, connections, report }: LanesOptions) {
  const lanes = new Map<WebhookId, Lane>();
  return {
    /** Created when it is first needed. */
    of(id: WebhookId): Lane {
      let lane = lanes.get(id);
      if (lane === undefined) {
        lane = new Lane({ sender: createSender({ trust }), connections, report });
        lanes.set(id, lane);
      }
      return lane;
    },
    load: (id: WebhookId): number => lanes.get(id)?.load ?? 0,
    hasWaiting: (): boolean => [...lanes.values()].some((lane) => lane.waiting > 0),
    /** Removes what has not started. */
    clear(): void {
      for (const lane of lanes.values()) lane.clear();
    },
    /** Closes the lanes of webhooks that are no longer configured, once they are empty. */
    closeUnused(configured: readonly WebhookId[]): void {
      if (lanes.size <= configured.length) return;
      for (const [id, lane] of lanes) {
        if (configured.includes(id) || lane.load > 0) continue;
        lane.sender.close();
        lanes.delete(id);
      }
    },
    close(): void {
      for (const lane of lanes.values()) lane.sender.close();
    },
  };
}
