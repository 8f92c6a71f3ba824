/**
 * The lanes: one for each webhook, with its connections and the attempts that wait for one. The
 * delivery scheduler creates them; rounds add their attempts.
 */

import type { WebhookId } from "../../domain/ids.ts";
import type { DeliveryThread } from "./delivery-thread.ts";
import type { Trust } from "./dial.ts";
import { createSender, type Sender } from "./sender.ts";

/**
 * How an attempt leaves its lane: `unsent`, when no connection became free for it in the delivery
 * thread, and `quick`, when its response came so soon that others may be sent ahead.
 */
export type LaneEnd = "unsent" | "quick" | "slow";

export type LaneTask = {
  url: string;
  /** Called when a connection is free. Calls `end` when it is free again. */
  start(end: EndOfTask): void;
};

/** Runs the function, which says how the attempt has ended. */
export type EndOfTask = (howItEnds: () => LaneEnd) => void;

/**
 * For each of its connections, the delivery thread gets so many more requests, which wait there: it
 * has work while the main thread commits. Only while the receiver is quick, because they count as
 * attempts in progress.
 */
const sentAhead = 2;

/**
 * A lane has three claimed deliveries for each connection. While its receiver is quick, it has
 * seven: what ends during one commit (`recorder.ts`) is replaced by those.
 */
const claimedForEach = 3;
const claimedForEachOfQuick = 7;

/**
 * Attempts in progress in all lanes together, beyond which a lane has only so many connections:
 * two hundred webhooks with all of theirs would be 12,800 sockets, and three times as many bodies.
 * A lane that is left with these is never kept waiting by others.
 */
const maxInAllLanes = 2048;
const alwaysInOneLane = 8;

type LaneOptions = {
  sender: Sender;
  connections: () => number;
  /** Attempts in progress in all lanes. */
  all: { active: number };
  report: (error: unknown) => void;
};

/**
 * The lane of one webhook: its connections, and the attempts that wait for one. A webhook that
 * hangs fills its own lane and delays nothing else. A lane exists while its webhook is configured
 * or has attempts.
 */
class Lane {
  readonly sender: Sender;
  readonly #connections: () => number;
  readonly #all: LaneOptions["all"];
  readonly #report: (error: unknown) => void;
  #active = 0;
  /** Of these, carried in the main thread. */
  #here = 0;
  #isQuick = false;
  #isStarting = false;
  #hasStopped = false;
  /** At most a few thousand. One that has started is not kept, because it has its body. */
  #queue: LaneTask[] = [];

  constructor({ sender, connections, all, report }: LaneOptions) {
    this.sender = sender;
    this.#connections = connections;
    this.#all = all;
    this.#report = report;
  }

  /** Attempts in progress or waiting for a connection. */
  get load(): number {
    return this.#active + this.waiting;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /** The load that keeps it busy. */
  get wanted(): number {
    return this.#connections() * (this.#isQuick ? claimedForEachOfQuick : claimedForEach);
  }

  add(task: LaneTask): void {
    this.#queue.push(task);
    this.#next();
  }

  /** One that has started comes back. It is the next to start. */
  putBack(task: LaneTask): void {
    if (!this.#hasStopped) this.#queue.unshift(task);
  }

  /** Of those that have not started. */
  remove(tasks: ReadonlySet<LaneTask>): void {
    this.#queue = this.#queue.filter((task) => !tasks.has(task));
  }

  /** Removes what has not started. */
  clear(): void {
    this.#queue = [];
  }

  /** Nothing new starts. */
  stop(): void {
    this.#hasStopped = true;
    this.clear();
  }

  #next(): void {
    // An attempt may end before it is sent.
    if (this.#isStarting) return;
    this.#isStarting = true;
    this.#startAll();
    this.#isStarting = false;
  }

  #startAll(): void {
    for (;;) {
      const [task] = this.#queue;
      if (task === undefined) return;
      const isAway = this.sender.isAway(task.url);
      const isAhead = this.#isQuick && isAway && this.#here === 0;
      if (this.#active >= this.#connections() * (isAhead ? 1 + sentAhead : 1)) return;
      if (this.#active >= alwaysInOneLane && this.#all.active >= maxInAllLanes) return;
      this.#queue.shift();
      this.#start(task, isAway);
    }
  }

  #start(task: LaneTask, isAway: boolean): void {
    const here = isAway ? 0 : 1;
    this.#active += 1;
    this.#all.active += 1;
    this.#here += here;
    const end: EndOfTask = (howItEnds) => {
      this.#isQuick = this.#reporting(howItEnds) === "quick";
      this.#active -= 1;
      this.#all.active -= 1;
      this.#here -= here;
      this.#next();
    };
    try {
      task.start(end);
    } catch (error) {
      end(() => {
        throw error;
      });
    }
  }

  #reporting(howItEnds: () => LaneEnd): LaneEnd {
    try {
      return howItEnds();
    } catch (error) {
      this.#report(error);
      return "slow";
    }
  }
}

type LanesOptions = {
  trust: Trust;
  thread?: DeliveryThread | undefined;
  idleMs?: number | undefined;
  connections: () => number;
  report: (error: unknown) => void;
};

export type Lanes = ReturnType<typeof createLanes>;

/** The lanes of all webhooks, one each. Created and used by the delivery scheduler. */
export function createLanes({ trust, thread, idleMs, connections, report }: LanesOptions) {
  const lanes = new Map<WebhookId, Lane>();
  const all = { active: 0 };
  return {
    /** Created when it is first needed. */
    of(id: WebhookId): Lane {
      let lane = lanes.get(id);
      if (lane === undefined) {
        const sender = createSender({ trust, thread, connections, idleMs });
        lane = new Lane({ sender, connections, all, report });
        lanes.set(id, lane);
      }
      return lane;
    },
    load: (id: WebhookId): number => lanes.get(id)?.load ?? 0,
    wanted: (id: WebhookId): number => lanes.get(id)?.wanted ?? connections() * claimedForEach,
    hasWaiting: (): boolean => [...lanes.values()].some((lane) => lane.waiting > 0),
    /** Removes what has not started. */
    clear(): void {
      for (const lane of lanes.values()) lane.clear();
    },
    /** Nothing new starts. */
    stop(): void {
      for (const lane of lanes.values()) lane.stop();
    },
    /**
     * Closes the lanes of webhooks that are no longer configured, once they are empty. Returns
     * whether none of them is left.
     */
    closeUnused(configured: ReadonlySet<WebhookId>): boolean {
      let areClosed = true;
      for (const [id, lane] of lanes) {
        if (configured.has(id)) continue;
        if (lane.load > 0) areClosed = false;
        else {
          lane.sender.close();
          lanes.delete(id);
        }
      }
      return areClosed;
    },
    close(): void {
      for (const lane of lanes.values()) lane.sender.close();
    },
  };
}
