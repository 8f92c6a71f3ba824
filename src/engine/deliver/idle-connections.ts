/** The connections of one sender that wait for their next request, by origin. */

import { monotonic, startIdleTimer } from "../wall.ts";
import type { WallTimer } from "../wall.ts";
import type { Connection } from "./connection.ts";

/** How much earlier than the receiver we let go, when it says when it will: its answer and our request both take time on the way. */
const marginMs = 500;

type Idle = { connection: Connection; until: number };

type IdleConnections = {
  /** The one that was used last. */
  take(origin: string): Connection | undefined;
  /** `limitMs` is what the receiver promises. False: not wanted, and the caller ends it. */
  put(connection: Connection, limitMs: number | null): boolean;
  remove(connection: Connection): void;
  close(): void;
};

export function createIdleConnections({ maxIdle, idleMs }: { maxIdle: number; idleMs: number }): IdleConnections {
  // Used last is last.
  const byOrigin = new Map<string, Idle[]>();
  let size = 0;
  let timer: WallTimer | null = null;
  let closed = false;

  function sweep(): void {
    timer = null;
    const now = monotonic();
    for (const [origin, list] of byOrigin) {
      for (const { connection, until } of [...list]) if (until <= now) connection.destroy();
      if (list.length === 0) byOrigin.delete(origin);
    }
    startSweep();
  }

  function startSweep(): void {
    if (timer !== null || size === 0) return;
    let earliest = Infinity;
    for (const list of byOrigin.values()) for (const { until } of list) earliest = Math.min(earliest, until);
    timer = startIdleTimer(Math.max(1, Math.ceil(earliest - monotonic())), sweep);
  }

  function remove(connection: Connection): void {
    const list = byOrigin.get(connection.target.origin);
    const index = list?.findIndex((idle) => idle.connection === connection) ?? -1;
    if (!list || index === -1) return;
    list.splice(index, 1);
    size -= 1;
  }

  return {
    take(origin) {
      const idle = byOrigin.get(origin)?.pop();
      if (!idle) return undefined;
      size -= 1;
      if (idle.until > monotonic()) return idle.connection;
      // The timer is late, because the process was busy or asleep.
      idle.connection.destroy();
      return this.take(origin);
    },
    put(connection, limitMs) {
      const keepMs = limitMs === null ? idleMs : Math.min(idleMs, limitMs - marginMs);
      if (closed || size >= maxIdle || keepMs <= 0) return false;
      const origin = connection.target.origin;
      const list = byOrigin.get(origin);
      const idle = { connection, until: monotonic() + keepMs };
      if (list) list.push(idle);
      else byOrigin.set(origin, [idle]);
      size += 1;
      startSweep();
      return true;
    },
    remove,
    close() {
      closed = true;
      timer?.cancel();
      timer = null;
      for (const list of byOrigin.values()) for (const { connection } of [...list]) connection.destroy();
    },
  };
}
