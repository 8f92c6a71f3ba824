/**
 * The connections of one sender that wait for their next request, by origin.
 *
 * A receiver that ends an idle connection at the moment we write to it looks as if it had failed the request, and most
 * receivers do not announce how long they wait. So a connection is used again only within a time that is safe at its
 * origin: right after an answer; as long as the receiver promises; or as long as one was seen to stay open.
 * The decision is docs/decisions/0016-kept-connections.md.
 */

import { monotonic, runAfterPoll, startIdleTimer } from "../wall.ts";
import type { WallTimer } from "../wall.ts";
import type { Connection } from "./connection.ts";

/** How much earlier than the receiver we end it, when it says when it will: its answer and our request both take time on the way. */
const marginMs = 500;

/** Used again without knowing anything of the origin. Longer than a busy event loop's turn, shorter than any idle limit in use. */
const unprovenMs = 20;

/** Of the time that a connection was seen to stay open: what arrives at the receiver is later than what we write. */
const provenShare = 0.75;

/** For this long nothing is tried with a receiver that has ended an idle connection: its configuration seldom changes. */
const endsEarlyMs = 60_000;

type Idle = { connection: Connection; since: number; until: number };

type Origin = {
  /** The one that was used last is last. */
  idle: Idle[];
  /** An idle connection may be used for this long. */
  safeMs: number;
  /** Until then no connection is kept for longer than `safeMs`. */
  endsEarlyUntil: number;
  /** It has ended connections earlier than it had promised. */
  breaksPromises: boolean;
};

type IdleConnections = {
  /** The one that was used last. */
  take(origin: string): Connection | undefined;
  /** `limitMs` is what the receiver promises. Returns false when it does not keep the connection, and the caller ends it. */
  put(connection: Connection, limitMs: number | null): boolean;
  /** Whether an open connection that was idle for this long is safe to write to. */
  isSafe(origin: string, idleForMs: number, promised: boolean): boolean;
  remove(connection: Connection): void;
  /** The receiver ended a connection that had been idle for this long. */
  noteEnd(origin: string, idleForMs: number, promised: boolean): void;
  close(): void;
};

export function createIdleConnections({ maxIdle, idleMs }: { maxIdle: number; idleMs: number }): IdleConnections {
  const origins = new Map<string, Origin>();
  let size = 0;
  let timer: WallTimer | null = null;
  let closed = false;

  function originOf(name: string): Origin {
    let origin = origins.get(name);
    if (!origin) {
      origin = { idle: [], safeMs: unprovenMs, endsEarlyUntil: -Infinity, breaksPromises: false };
      origins.set(name, origin);
    }
    return origin;
  }

  function prove(origin: Origin, idleForMs: number): void {
    origin.safeMs = Math.max(origin.safeMs, idleForMs * provenShare);
  }

  function sweep(): void {
    timer = null;
    const now = monotonic();
    for (const origin of origins.values()) {
      for (const { connection, since, until } of [...origin.idle]) {
        if (until > now) continue;
        prove(origin, until - since);
        connection.destroy();
      }
    }
    startSweep();
  }

  function startSweep(): void {
    if (timer !== null || size === 0) return;
    let earliest = Infinity;
    for (const { idle } of origins.values()) for (const { until } of idle) earliest = Math.min(earliest, until);
    // An end that has already arrived here must not count as a connection that stayed open.
    timer = startIdleTimer(Math.max(1, Math.ceil(earliest - monotonic())), () => runAfterPoll(sweep));
  }

  function remove(connection: Connection): void {
    const list = origins.get(connection.target.origin)?.idle;
    const index = list?.findIndex((idle) => idle.connection === connection) ?? -1;
    if (!list || index === -1) return;
    list.splice(index, 1);
    size -= 1;
  }

  return {
    take(name) {
      const idle = origins.get(name)?.idle.pop();
      if (!idle) return undefined;
      size -= 1;
      if (idle.until > monotonic()) return idle.connection;
      // The timer is late, because the process was busy or asleep.
      idle.connection.destroy();
      return this.take(name);
    },
    put(connection, limitMs) {
      const origin = originOf(connection.target.origin);
      const now = monotonic();
      const longest = origin.endsEarlyUntil > now ? Math.min(idleMs, origin.safeMs) : idleMs;
      const keepMs = limitMs === null ? longest : Math.min(longest, limitMs - marginMs);
      if (closed || size >= maxIdle || keepMs < 1) return false;
      origin.idle.push({ connection, since: now, until: now + keepMs });
      size += 1;
      startSweep();
      return true;
    },
    isSafe(name, idleForMs, promised) {
      const origin = originOf(name);
      if (idleForMs <= origin.safeMs || (promised && !origin.breaksPromises)) return true;
      prove(origin, idleForMs);
      return false;
    },
    remove,
    noteEnd(name, idleForMs, promised) {
      const origin = originOf(name);
      origin.safeMs = Math.min(origin.safeMs, idleForMs / 2);
      origin.endsEarlyUntil = monotonic() + endsEarlyMs;
      origin.breaksPromises ||= promised;
    },
    close() {
      closed = true;
      timer?.cancel();
      timer = null;
      for (const { idle } of origins.values()) for (const { connection } of [...idle]) connection.destroy();
    },
  };
}
