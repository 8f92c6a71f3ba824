import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { DeliveryId, DestinationId, MessageRowId, SourceId } from "../domain/ids.ts";
import type { TestStore } from "./store.fixture.ts";
import {
  attempt,
  expectConsistent,
  moveTo,
  openTestStore,
  passOver,
  request,
  startOfTime,
  temporaryDirectory,
} from "./store.fixture.ts";

/**
 * Messages of one request each, delivered with an attempt on record, but for those in `unsettled`.
 */
function fill(one: TestStore, count: number, { unsettled = [] as number[] } = {}): void {
  for (let n = 1; n <= count; n += 1)
    one.store.commit([
      request([{ messageId: `m-${n}`, userId: "ada", to: [1], text: `{"n":${n}}` }], {
        at: startOfTime + n,
      }),
    ]);
  for (
    let claimed = one.store.claim(1 as DestinationId, startOfTime, 500);
    claimed.length > 0;
    claimed = one.store.claim(1 as DestinationId, startOfTime, 500)
  ) {
    const settled = claimed.filter(({ messageRow }) => !unsettled.includes(messageRow));
    one.store.record(
      settled.map(({ id }) => attempt(id)),
      settled.map(({ id }) => moveTo(id, "delivered")),
    );
  }
}

function ids({ db }: TestStore): number[] {
  return db.prepare("SELECT id FROM messages ORDER BY id").pluck().all() as number[];
}

/** As upkeep calls it, until there is nothing left to do. */
function removeAll(
  one: TestStore,
  limits: { maxMessages?: number; maxBytes?: number; olderThanWall?: number },
  slice = 7,
): number {
  passOver(one);
  let removed = 0;
  for (;;) {
    const { removed: now } = one.store.removeOld(
      { maxMessages: null, maxBytes: null, olderThanWall: null, ...limits },
      slice,
    );
    expect(now).toBeLessThanOrEqual(slice);
    if (now === 0) return removed;
    removed += now;
  }
}

const rejection = { reason: "missing_event", detail: "A track needs `event`." };

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, n) => from + n);

describe("retention", () => {
  test("shortens the file by the pages that nothing uses, until an eighth of it is free", () => {
    const data = temporaryDirectory();
    const one = openTestStore(data);
    const size = (): number => {
      one.db.pragma("wal_checkpoint(TRUNCATE)");
      return statSync(join(data, "hookyard.db")).size;
    };
    for (let n = 1; n <= 40; n += 1)
      one.store.commit([
        request([{ messageId: `m-${n}`, text: JSON.stringify("x".repeat(300_000)) }]),
      ]);
    const full = size();
    expect(one.store.giveBack(200)).toBe(0);
    expect(removeAll(one, { maxMessages: 1 })).toBe(39);
    expect(size()).toBeGreaterThanOrEqual(full);
    expect(one.store.giveBack(200)).toBe(200);
    while (one.store.giveBack(200) > 0);
    expect(full).toBeGreaterThan(12_000_000);
    expect(size()).toBeLessThan(5_000_000);
    expect(one.db.pragma("integrity_check", { simple: true })).toBe("ok");
    expectConsistent(one.db);
  });

  test("begins to shorten the file when a quarter of it is free, and stops at an eighth", () => {
    const one = openTestStore();
    const commit = (megabytes: number): void => {
      one.store.commit([request([{ text: JSON.stringify("x".repeat(megabytes * 1_000_000)) }])]);
      passOver(one);
    };
    const freeShare = (): number =>
      Number(one.db.pragma("freelist_count", { simple: true })) /
      Number(one.db.pragma("page_count", { simple: true }));
    commit(20);
    commit(40);
    one.store.pin(2 as MessageRowId, true);
    commit(1);
    expect(one.store.removeOld({ maxMessages: 2, olderThanWall: null }, 10).removed).toBe(1);
    expect(freeShare()).toBeGreaterThan(0.25);
    while (one.store.giveBack(1000) > 0);
    expect(freeShare()).toBeLessThan(0.126);
    expect(freeShare()).toBeGreaterThan(0.124);
    commit(8);
    commit(1);
    expect(one.store.removeOld({ maxMessages: 2, olderThanWall: null }, 10).removed).toBe(2);
    expect(freeShare()).toBeGreaterThan(0.15);
    expect(one.store.giveBack(1000)).toBe(0);
  });

  test("by count keeps the newest, with all that came of them, and nothing of the others", () => {
    const one = openTestStore();
    fill(one, 50);
    expect(removeAll(one, { maxMessages: 20 })).toBe(30);
    expect(ids(one)).toEqual(range(31, 50));
    expectConsistent(one.db);
    for (const table of ["requests", "decisions", "payloads", "deliveries", "attempts"]) {
      expect(one.db.prepare(`SELECT count(*) FROM ${table}`).pluck().get()).toBe(20);
    }
    expect(removeAll(one, { maxMessages: 20 })).toBe(0);
  });

  test("by count counts what was accepted: what was not makes no room, and does not go", () => {
    const one = openTestStore();
    one.store.commit([request(range(1, 10).map((n) => ({ messageId: `m-${n}` })))]);
    one.store.commit([
      request(range(1, 10).map((n) => ({ messageId: `m-${n}`, deduplicate: true }))),
    ]);
    one.store.commit([request(range(1, 10).map(() => ({ rejection })))]);
    expect(removeAll(one, { maxMessages: 10 })).toBe(0);
    expect(removeAll(one, { maxMessages: 4 })).toBe(6);
    expect(ids(one)).toEqual(range(7, 30));
    expect(removeAll(one, { olderThanWall: startOfTime + 1 })).toBe(24);
    expect([ids(one), one.store.rejectedBytes()]).toEqual([[], 0]);
    expectConsistent(one.db);
  });

  test("by bytes keeps the newest within the size of the file, beside the quotas", () => {
    const one = openTestStore();
    const large = (n: number): string => `{"n":${n},"filler":"${"x".repeat(20_000)}"}`;
    one.store.commit([request(range(1, 60).map((n) => ({ rejection, text: large(n) })))]);
    for (const n of range(61, 160)) one.store.commit([request([{ text: large(n) }])]);
    const quota = one.store.rejectedBytes();
    expect(quota).toBeGreaterThan(1_200_000);
    expect(removeAll(one, { maxBytes: 10_000_000 })).toBe(0);
    removeAll(one, { maxBytes: 1_000_000 });
    const kept = ids(one);
    const accepted = kept.filter((id) => id > 60);
    expect(kept.filter((id) => id <= 60)).toEqual(range(1, 60));
    expect(accepted).toEqual(range(161 - accepted.length, 160));
    // 20 KB each, and some for everything else.
    expect(accepted.length).toBeGreaterThan(20);
    expect(accepted.length).toBeLessThan(50);
    expectConsistent(one.db);
  });

  test("by age uses wall-clock time", () => {
    const one = openTestStore();
    for (const n of range(1, 10))
      one.store.commit([request([{}], { at: startOfTime, wallAt: 1000 * n })]);
    expect(removeAll(one, { olderThanWall: 4000 })).toBe(3);
    expect(ids(one)).toEqual(range(4, 10));
    expectConsistent(one.db);
  });

  test("by age passes over messages that arrived while the machine's clock was ahead", () => {
    const one = openTestStore();
    for (const wallAt of [1, Date.UTC(2999, 0), 2, 9])
      one.store.commit([request([{}], { at: startOfTime, wallAt })]);
    expect(removeAll(one, { olderThanWall: 5 })).toBe(2);
    expect(ids(one)).toEqual([2, 4]);
    expect(removeAll(one, { maxMessages: 1, olderThanWall: 5 })).toBe(1);
    expect(ids(one)).toEqual([4]);
  });

  test("keeps what is pinned and what still moves, and takes newer ones for the count instead", () => {
    const one = openTestStore();
    fill(one, 40, { unsettled: [3, 4] });
    one.store.pin(1 as MessageRowId, true);
    one.store.pin(12 as MessageRowId, true);
    expect(removeAll(one, { maxMessages: 10 })).toBe(30);
    expect(ids(one)).toEqual([1, 3, 4, 12, ...range(35, 40)]);
    one.store.pin(1 as MessageRowId, false);
    one.store.record([], [moveTo(3 as DeliveryId, "cancelled")]);
    expect(removeAll(one, { maxMessages: 0 })).toBe(8);
    expect(ids(one)).toEqual([4, 12]);
    expectConsistent(one.db);
  });

  test("goes past thousands that have to stay within one call", () => {
    const one = openTestStore();
    one.store.commit([request(range(1, 3000).map(() => ({ to: [1] })))]);
    one.store.commit([request(range(1, 5).map(() => ({})))]);
    passOver(one);
    expect(one.store.removeOld({ maxMessages: 3001, olderThanWall: null }, 200).removed).toBe(4);
    expect(ids(one)).toEqual([...range(1, 3000), 3005]);
  });

  test("takes fewer messages in a call when they have many deliveries or attempts", () => {
    const one = openTestStore();
    one.store.commit([
      request([
        ...range(1, 20).map(() => ({ to: range(1, 200) })),
        ...range(1, 30).map(() => ({ to: [1] })),
      ]),
    ]);
    const deliveries = range(1, 4030) as DeliveryId[];
    one.store.record(
      deliveries.slice(4000).flatMap((id) => range(1, 100).map((round) => attempt(id, { round }))),
      deliveries.map((id) => moveTo(id, "delivered")),
    );
    passOver(one);
    const removed: number[] = [];
    do removed.push(one.store.removeOld({ maxMessages: 0, olderThanWall: null }, 100).removed);
    while (removed.at(-1) !== 0);
    // 200 deliveries, or one with a hundred attempts.
    expect(removed).toEqual([13, 7 + 11, 19, 0]);
    expectConsistent(one.db);
  });

  test("keeps a request as long as one of its messages is there", () => {
    const one = openTestStore();
    one.store.commit([request([{ text: '{"a":1}' }, { text: '{"b":2}' }]), request([{}])]);
    expect(removeAll(one, { maxMessages: 2 })).toBe(1);
    expect(Buffer.from(one.store.message(2 as MessageRowId)?.raw ?? "").toString()).toBe('{"b":2}');
    expect(one.db.prepare("SELECT id FROM requests").pluck().all()).toEqual([1, 2]);
    expect(removeAll(one, { maxMessages: 1 })).toBe(1);
    expect(one.db.prepare("SELECT id FROM requests").pluck().all()).toEqual([2]);
  });

  test("leaves totals exact, in full blocks of postings and in the one that is filling", async () => {
    const one = openTestStore();
    for (let n = 0; n < 50; n += 1)
      one.store.commit([request(range(1, 100).map(() => ({ userId: "ada", event: "Bought" })))]);
    for (const maxMessages of [4000, 800, 100, 0]) {
      removeAll(one, { maxMessages }, 200);
      for (const each of [one, one.restarted()]) {
        for (const filter of [
          { userId: "ada" },
          { event: "Bought" },
          { userId: "ada", event: "Bought" },
          { search: "{" },
        ]) {
          expect(await each.store.messages(filter, 1, null)).toMatchObject({
            total: maxMessages,
            items: maxMessages > 0 ? [{ id: 5000 }] : [],
          });
        }
      }
      expectConsistent(one.db);
    }
  });

  test("passes over five thousand in one call, and goes on behind them in the next", () => {
    const one = openTestStore();
    one.store.commit([request(range(1, 5000).map(() => ({ rejection })))]);
    one.store.commit([request(range(1, 5).map(() => ({})))]);
    passOver(one);
    const removed = range(1, 3).map(() =>
      one.store.removeOld({ maxMessages: 1, olderThanWall: null }, 1000),
    );
    expect(removed).toEqual([
      { removed: 0, more: true },
      { removed: 4, more: false },
      { removed: 0, more: false },
    ]);
  });

  test("takes the event of a profile with its message, and counts it", () => {
    const one = openTestStore();
    one.store.commit([request([{ to: [1] }, {}])]);
    const profile = one.store.createProfile(startOfTime, null);
    for (const id of [1, 2])
      one.store.addEvent(profile, "Bought", startOfTime, {}, id as MessageRowId);
    one.store.touch(profile, { firstAt: startOfTime, lastAt: startOfTime, events: 2 });
    one.store.record([], [moveTo(1 as DeliveryId, "failed"), moveTo(1 as DeliveryId, "cancelled")]);
    expect(removeAll(one, { maxMessages: 1 })).toBe(1);
    expect(one.store.profileDetails(profile)).toMatchObject({
      events: 1,
      eventList: [{ count: 1, lastMessageId: 2 }],
    });
    expectConsistent(one.db);
  });

  test("that fails leaves everything as it was, and goes on afterwards", async () => {
    const one = openTestStore();
    fill(one, 30);
    passOver(one);
    one.db.exec(
      "CREATE TRIGGER refuse BEFORE DELETE ON messages WHEN old.id = 5 BEGIN SELECT raise(ABORT, 'not this one'); END",
    );
    expect(() => one.store.removeOld({ maxMessages: 10, olderThanWall: null }, 200)).toThrow(
      "not this one",
    );
    expect(ids(one)).toEqual(range(1, 30));
    expect(await one.store.messages({ userId: "ada" }, 1, null)).toMatchObject({ total: 30 });
    one.db.exec("DROP TRIGGER refuse");
    expect(removeAll(one, { maxMessages: 10 })).toBe(20);
    expectConsistent(one.db);
  });

  test("does not let an attempt that ends later leave a row behind", () => {
    const one = openTestStore();
    fill(one, 1);
    removeAll(one, { maxMessages: 0 });
    one.store.record([attempt(1 as DeliveryId)], [moveTo(1 as DeliveryId, "delivered")]);
    expectConsistent(one.db);
    expect(one.db.prepare("SELECT count(*) FROM attempts").pluck().get()).toBe(0);
  });
});

describe("the quota of what was not accepted", () => {
  /** What the index says, which is what a start begins with. */
  const summed = ({ db }: TestStore): unknown =>
    db.prepare("SELECT coalesce(sum(quota_bytes), 0) FROM messages").pluck().get();

  test("lets the oldest go, but neither what was accepted, nor what is pinned, nor the newest", () => {
    const one = openTestStore();
    one.store.commit([request([{ messageId: "a" }, { rejection }, { rejection }])]);
    one.store.commit([request([{ messageId: "a", deduplicate: true }, { rejection }])]);
    one.store.commit([request([{ rejection }])]);
    one.store.pin(3 as MessageRowId, true);
    expect(one.store.removeRejected(1_000_000, 10)).toBe(0);
    expect(one.store.removeRejected(0, 2)).toBe(2);
    expect(ids(one)).toEqual([1, 3, 5, 6]);
    expect(one.store.removeRejected(0, 10)).toBe(1);
    expect(ids(one)).toEqual([1, 3, 6]);
    expect(one.db.prepare("SELECT id FROM requests").pluck().all()).toEqual([1, 3]);
    expectConsistent(one.db);
  });

  test("ends where it is kept to", () => {
    const one = openTestStore();
    for (let n = 1; n <= 20; n += 1) one.store.commit([request([{ rejection, text: `{"n":1}` }])]);
    const all = one.store.rejectedBytes();
    expect(one.store.removeRejected(all / 2, 100)).toBe(10);
    expect(one.store.rejectedBytes()).toBeLessThanOrEqual(all / 2);
    expect(ids(one)).toEqual(range(11, 20));
  });

  test("counts the bytes of a message, of its row, and of the request around it, once", () => {
    const one = openTestStore();
    const text = `"${"x".repeat(1000)}"`;
    one.store.commit([request([{ rejection, text }])]);
    const first = one.store.rejectedBytes();
    expect(first).toBeGreaterThan(1002 + 512);
    one.store.commit([
      request([
        { rejection, text },
        { rejection, text: "1" },
      ]),
    ]);
    expect(one.store.rejectedBytes() - first).toBe(first + 1 + 1 + 512);
    const padded = request([{ rejection, text: "1" }]);
    one.store.commit([
      { ...padded, body: Buffer.concat([padded.body, Buffer.alloc(100_000, 0x20)]) },
    ]);
    expect(one.store.rejectedBytes()).toBeGreaterThan(100_000);
    expect(one.store.rejectedBytes()).toBe(summed(one));
    expect(one.restarted().store.rejectedBytes()).toBe(summed(one));
  });

  test("is right after a commit and a removal that failed", () => {
    const one = openTestStore();
    one.store.commit([request([{ rejection }]), request([{ rejection }])]);
    const before = one.store.rejectedBytes();
    expect(() =>
      one.store.commit([request([{ rejection }, { to: [1], failure: new Error("of the route") }])]),
    ).toThrow("of the route");
    expect(one.store.rejectedBytes()).toBe(before);
    one.db.exec(
      "CREATE TRIGGER refuse BEFORE DELETE ON messages BEGIN SELECT raise(ABORT, 'not this one'); END",
    );
    expect(() => one.store.removeRejected(0, 10)).toThrow("not this one");
    expect(one.store.rejectedBytes()).toBe(before);
    one.db.exec("DROP TRIGGER refuse");
    one.store.clearMessages();
    expect(one.store.rejectedBytes()).toBe(0);
  });
});

const webhooks = [{ url: "http://127.0.0.1/hook", headers: {} }];

const configureSource = ({ store }: TestStore) =>
  store.insertSource({
    name: "Shop",
    kind: "web",
    writeKey: "key",
    mode: "explain",
    deduplicate: true,
    correctClockSkew: false,
    faults: [],
    plan: null,
    createdAt: 1,
  });

function configure(one: TestStore): void {
  const { store } = one;
  const source = configureSource(one);
  store.insertDestination({
    name: "Out",
    enabled: true,
    sourceIds: [source.id],
    webhooks,
    sharedSecret: null,
    retryProfile: "documented",
    payload: "documented",
    filters: [],
    createdAt: 1,
  });
  store.insertEndpoint({ name: "In", path: "in", steps: [], after: "repeat-last", createdAt: 1 });
}

function rowsPerTable({ db }: TestStore): Record<string, unknown> {
  const names = db
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'sqlite_sequence'")
    .pluck()
    .all() as string[];
  return Object.fromEntries(
    names
      .map((name) => [name, db.prepare(`SELECT count(*) FROM ${name}`).pluck().get()])
      .filter(([, rows]) => rows !== 0),
  );
}

describe("a reset", () => {
  test("of the messages leaves the configuration alone, and ids start again", () => {
    const one = openTestStore();
    configure(one);
    fill(one, 20, { unsettled: [7] });
    one.store.keepUnknownKeyRequest(
      {
        writeKey: "x",
        receivedAt: 1,
        wallAt: 1,
        method: "POST",
        path: "/",
        headers: [],
        ip: null,
        body: Buffer.alloc(0),
      },
      1_000_000,
    );
    one.store.clearMessages();
    const configured = { sources: 1, destinations: 1, webhooks: 1, endpoints: 1 };
    expect(rowsPerTable(one)).toEqual({ ...configured, meta: 1 });
    expect(one.store.commit([request([{ messageId: "m-1", to: [1] }])])).toMatchObject([
      [{ id: 1, duplicateOf: null }],
    ]);
    expectConsistent(one.db);
  });

  test("of everything leaves the settings and the clock", () => {
    const one = openTestStore();
    configure(one);
    fill(one, 20);
    one.store.saveSettings({ ...one.store.settings(), vendor: "Acme" });
    one.store.saveClock({ now: 5, wallAt: 6, mode: "paused", speed: 1 });
    one.store.saveDemo({ next: 7 });
    const { dataId } = one.store.stats();
    one.store.clearMessages();
    expect(one.store.demo()).toEqual({ next: 7 });
    expect(one.store.stats().dataId).toBe(dataId);
    one.store.clearEverything();
    expect(one.store.stats().dataId).not.toBe(dataId);
    expect(rowsPerTable(one)).toEqual({ meta: 3 });
    expect(one.store.demo()).toBeNull();
    expect(one.store.settings().vendor).toBe("Acme");
    expect(one.store.loadClock()).toEqual({ now: 5, wallAt: 6, mode: "paused", speed: 1 });
    configure(one);
    expect(one.store.sources().map(({ id }) => Number(id))).toEqual([1]);
  });
});

test("a reset of the messages begins with new profiles, and ids of the configuration go on", () => {
  const one = openTestStore();
  configure(one);
  one.store.deleteSource(1 as SourceId);
  one.store.commit([request([{}])]);
  passOver(one);
  one.store.createProfile(1, null);
  one.store.clearMessages();
  expect(one.store.followed()).toEqual({ upTo: 0, newest: 0 });
  expect(one.store.createProfile(1, null)).toBe(1);
  configureSource(one);
  expect(one.store.sources().map(({ id }) => Number(id))).toEqual([2]);
});
