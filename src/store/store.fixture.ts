/**
 * A store whose database is in hand, requests as ingest makes them, attempts as delivery makes
 * them, and what must always hold.
 */

import { chownSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished } from "vitest";
import { atOnce, type Needs, type ProfileFacts } from "../domain/facts.ts";
import type { DeliveryId, DestinationId, ProfileId, SourceId, WebhookId } from "../domain/ids.ts";
import type { DeliveryState, MessageType, Outcome } from "../domain/states.ts";
import type { AttemptRecord, IncomingRequest, NewMessage, Transition } from "../engine/ports.ts";
import type { Decision, MappedRequest } from "../engine/route/decision.ts";
import type { Store } from "../engine/store-ports.ts";
import { inconsistenciesIn } from "./examine.ts";
import { StoreHealth } from "./health.ts";
import { compilingLate } from "./late-statements.ts";
import { openDatabase } from "./open.ts";
import type { OpenedDatabase } from "./open.ts";
import type { Db } from "./transactions.ts";
import { createStore, openStore } from "./sqlite-store.ts";
import { OpenError } from "../app-errors.ts";

export function temporaryDirectory(parent = tmpdir()): string {
  const path = mkdtempSync(join(parent, "hookyard-store-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** What this process holds open in a directory; known on Linux only. */
export function openFilesIn(directory: string): string[] {
  if (process.platform !== "linux") return [];
  const links = readdirSync("/proc/self/fd").flatMap((descriptor) => {
    try {
      return [readlinkSync(`/proc/self/fd/${descriptor}`)];
    } catch {
      // The one that listed them is closed by now.
      return [];
    }
  });
  return links.filter((path) => path.startsWith(`${directory}/`)).toSorted();
}

/** What the file consists of, however its SQL is laid out. */
export function schemaOf(db: Db): unknown[] {
  const rows = db
    .prepare<[], { sql: string | null }>(
      "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name",
    )
    .all();
  return rows.map(({ sql, ...row }) => ({
    ...row,
    sql: sql?.replace(/\s*([,()])\s*|\s+/g, "$1 "),
  }));
}

export type TestStore = {
  db: Db;
  store: Store;
  health: StoreHealth;
  /** The same data in a new store, as after a start: nothing is left of what was in memory. */
  restarted(): TestStore;
};

export function openTestStore(data = ":memory:"): TestStore {
  const opened = data === ":memory:" ? openInMemory() : openDatabase(data);
  onTestFinished(() => opened.close());
  return testStoreOn(opened);
}

let emptyDatabase: Buffer | null = null;

/** A copy of an empty database is there in a fifth of the time of a new one. */
function openInMemory(): OpenedDatabase {
  if (emptyDatabase === null) {
    const opened = openDatabase(":memory:");
    emptyDatabase = opened.db.serialize();
    opened.close();
  }
  const db = compilingLate(new Database(emptyDatabase));
  const health = new StoreHealth(db, null);
  const close = (): void => {
    health.end();
    db.close();
  };
  return { db, health, close };
}

function testStoreOn(opened: OpenedDatabase): TestStore {
  return {
    db: opened.db,
    health: opened.health,
    store: createStore(opened),
    restarted: () => testStoreOn(opened),
  };
}

/** All of them in one piece. */
export const storedFacts = (
  store: Store,
  profile: ProfileId,
  needs: Needs,
  now: number,
): ProfileFacts => atOnce(store.facts(profile, needs, now, { left: Infinity })) as ProfileFacts;

export type MessageDraft = Partial<Omit<NewMessage, "offset" | "size" | "route" | "type">> & {
  type?: MessageType | null;
  /** Where it goes. */
  to?: number[];
  /** Where a mapping sends it, or collects it in batches, of three or that many, by their key. */
  mappedTo?: { to: number; key: string | null; size?: number }[];
  /** Destinations that leave it out. */
  notTo?: number[];
  text?: string;
  /** Thrown where the message is routed, in the middle of the commit. */
  failure?: Error;
};

export const startOfTime = Date.UTC(2026, 10, 21);

let nextMessageId = 1;

export function request(
  messages: MessageDraft[],
  {
    sourceId = 1,
    at = startOfTime,
    wallAt = at,
  }: { sourceId?: number; at?: number; wallAt?: number } = {},
): IncomingRequest {
  const texts = messages.map(({ text = "{}" }) => text);
  const sizes = texts.map((text) => Buffer.byteLength(text));
  let offset = 1;
  return {
    sourceId: sourceId as SourceId,
    receivedAt: at,
    wallAt,
    method: "POST",
    path: "/v1/batch",
    headers: [["Content-Type", "application/json"]],
    ip: "127.0.0.1",
    body: Buffer.from(`[${texts.join(",")}]`),
    messages: messages.map((draft, place) => {
      const size = sizes[place] ?? 0;
      const begin = offset;
      offset += size + 1;
      return message(draft, begin, size, at);
    }),
  };
}

/** With the messages in the member `batch`, as in all stored requests that have several. */
export function batchRequest(...given: Parameters<typeof request>): IncomingRequest {
  const { body, messages, ...rest } = request(...given);
  const start = '{"batch":';
  return {
    ...rest,
    body: Buffer.from(`${start}${Buffer.from(body).toString()}}`),
    messages: messages.map((each) => ({ ...each, offset: each.offset + start.length })),
  };
}

function message(
  { to = [], mappedTo = [], notTo = [], text = "{}", failure, ...draft }: MessageDraft,
  offset: number,
  size: number,
  at: number,
): NewMessage {
  const decision = (id: number, reason: string): Decision => ({
    destinationId: id as DestinationId,
    routed: reason === "routed",
    reason,
    detail: `It is ${reason}.`,
    warnings: [],
    payload: "documented",
  });
  return {
    messageId: `made-${nextMessageId++}`,
    type: "track",
    userId: null,
    anonymousId: null,
    event: null,
    traits: null,
    timestamp: at,
    warnings: [],
    rejection: null,
    deduplicate: true,
    replayOf: null,
    computed: false,
    ...draft,
    offset,
    size,
    route() {
      if (failure !== undefined) throw failure;
      return {
        decisions: [
          ...to.map((id) => decision(id, "routed")),
          ...[...Map.groupBy(mappedTo, (mapped) => mapped.to)].map(([id, mapped]) => ({
            ...decision(id, "routed"),
            requests: mapped.map(({ key, size = 3 }) => mappedRequest(id, key, size)),
          })),
          ...notTo.map((id) => decision(id, "disabled")),
        ],
        plan: null,
        payloads: to.length > 0 ? { documented: Buffer.from(text) } : {},
      };
    },
  };
}

const mappedRequest = (id: number, key: string | null, size: number): MappedRequest => ({
  webhookId: id as WebhookId,
  url: "http://127.0.0.1/hook",
  method: "POST",
  headers: [],
  body: Buffer.from("{}"),
  batch: key === null ? null : { key, size, waitMs: 1000 },
});

export function attempt(
  deliveryId: DeliveryId,
  more: Partial<AttemptRecord> & { status?: number } = {},
): AttemptRecord {
  const { status = 200, ...rest } = more;
  const outcome: Outcome = status < 300 ? "success" : "http_error";
  return {
    deliveryId,
    round: 1,
    webhookId: 1 as WebhookId,
    webhookUrl: "http://127.0.0.1/hook",
    startedAt: startOfTime,
    durationMs: 1.25,
    phases: { connect: 0.25, sent: 0.5, firstByte: 1, done: 1.25 },
    simulated: false,
    outcome,
    retryable: status >= 500,
    error: null,
    requestHead: "POST /hook HTTP/1.1\r\n\r\n",
    response: {
      status,
      head: `HTTP/1.1 ${status} Said\r\n\r\n`,
      body: Buffer.from("said"),
      bodyLength: 4,
    },
    ...rest,
  };
}

export function moveTo(
  deliveryId: DeliveryId,
  state: DeliveryState,
  nextAttemptAt: number | null = null,
  at = startOfTime,
): Transition {
  return { deliveryId, at, state, reason: `is_${state}`, nextAttemptAt };
}

/** As if the profiles had looked at all messages: what they have not looked at stays. */
export function passOver({ store }: TestStore): void {
  store.markFollowed(store.followed().newest);
}

/** Every row of every table. */
export function tables({ db }: TestStore): Record<string, unknown[]> {
  const names = db
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table'")
    .pluck()
    .all() as string[];
  // Each store has an id of its own.
  const own = (name: string): string => (name === "meta" ? " WHERE key <> 'data'" : "");
  return Object.fromEntries(
    names.map((name) => [name, db.prepare(`SELECT * FROM ${name}${own(name)}`).all()]),
  );
}

/** Counts are those of the rows, and no row belongs to something that is not there. */
export function expectConsistent(db: Db): void {
  const remembering = remembered.get(db) ?? rememberingStatements(db);
  remembered.set(db, remembering);
  expect(inconsistenciesIn(remembering)).toEqual([]);
}

const remembered = new WeakMap<Db, Db>();

/** The statements of a check take longer to compile than to run on a few rows. */
function rememberingStatements(db: Db): Db {
  const statements = new Map<string, ReturnType<Db["prepare"]>>();
  const prepare = (sql: string): ReturnType<Db["prepare"]> => {
    const statement = statements.get(sql) ?? db.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  return new Proxy(db, {
    get: (_, name) => (name === "prepare" ? prepare : Reflect.get(db, name)),
  });
}

/**
 * A refusal leaves nothing open. SQLite keeps a file open for as long as others of the process have
 * locks on it.
 */
export function refusal(data: string): string {
  const before = openFilesIn(data);
  try {
    openStore(data).close();
  } catch (error) {
    expect(error).toBeInstanceOf(OpenError);
    if (before.length === 0) expect(openFilesIn(data)).toEqual([]);
    return (error as Error).message;
  }
  throw new Error("it was opened");
}

/** root becomes another user below, who may have no way into root's own temporary directory. */
export const whereOthersReach = process.geteuid?.() === 0 ? "/tmp" : tmpdir();

/**
 * What a user without special rights meets. The superuser may write anywhere, so it steps down for
 * a moment.
 */
export function withoutRights<Result>(run: () => Result): Result {
  if (process.geteuid?.() !== 0) return run();
  process.seteuid?.(65_534);
  try {
    return run();
  } finally {
    process.seteuid?.(0);
  }
}

/** To the user that `withoutRights` steps down to. */
export function giveAway(data: string): void {
  if (process.geteuid?.() !== 0) return;
  for (const path of [data, ...readdirSync(data).map((name) => join(data, name))])
    chownSync(path, 65_534, 65_534);
}
