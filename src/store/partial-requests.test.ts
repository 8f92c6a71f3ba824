import { expect, test } from "vitest";
import { follow } from "../engine/profiles/follow.ts";
import type { DestinationId, MessageRowId } from "../domain/ids.ts";
import {
  batchRequest as request,
  expectConsistent,
  openTestStore,
  passOver,
  startOfTime,
  type TestStore,
} from "./store.fixture.ts";
import { eventProperties } from "./shared-bytes.ts";

const rejection = { reason: "invalid", detail: "It is." } as never;
const long = Array.from({ length: 2000 }, (_, n) => `word${n}`).join(" ");
const track = (text: string): string => `{"type":"track","properties":{"text":"${text}"}}`;
const bad = `{"bad":"${"x".repeat(50_000)}"}`;

const bytesIn = ({ db }: TestStore): number =>
  db.prepare("SELECT sum(length(body)) FROM requests").pluck().get() as number;

/** Messages of which one was rejected. */
const mixed = () =>
  request([
    { text: "{}" },
    { rejection, text: bad },
    { userId: "ada", event: "Bought", text: track(long), to: [1] },
    { rejection, text: "1" },
    { rejection, text: bad },
    { text: `{"é":1}` },
  ]);

/** What is kept of the messages that are left. */
function kept({ db, store }: TestStore): unknown {
  const ids = db.prepare("SELECT id FROM messages ORDER BY id").pluck().all() as MessageRowId[];
  return ids.map((id) => {
    const { raw, deliveries } = store.message(id)!;
    const payloads = deliveries.map(({ payload }) => Buffer.from(payload).toString());
    return [id, Buffer.from(raw).toString(), payloads];
  });
}

test("a batch gives back the bytes of its rejected messages, and what is left stays as it was", async () => {
  const one = openTestStore();
  one.store.commit([mixed(), request([{}])]);
  one.store.atomically(() => follow({ store: one.store, limit: 100, isTimeUp: () => false }));
  const rejected = new Set([2, 4, 5]);
  const before = (kept(one) as [number][]).filter(([id]) => !rejected.has(id));
  const properties = (): unknown =>
    one.db.prepare(`SELECT ${eventProperties} FROM profile_events`).pluck().all();
  const events = properties();
  expect(events).toEqual([JSON.stringify({ text: long })]);
  expect(one.store.removeRejected(0, 10)).toBe(3);
  for (const each of [one, one.restarted()]) expect(kept(each)).toEqual(before);
  expect(properties()).toEqual(events);
  expect(bytesIn(one)).toBeLessThan(25_000);
  const body = one.db.prepare("SELECT CAST(body AS TEXT) FROM requests WHERE id = 1").pluck().get();
  expect(JSON.parse(body as string)).toMatchObject({
    batch: [{}, null, { type: "track" }, 1, null, { é: 1 }],
  });
  const [claimed] = one.store.claim(1 as DestinationId, startOfTime, 10);
  expect(Buffer.from(claimed!.payload).toString()).toBe(track(long));
  expectConsistent(one.db);
});

test("rejected messages do not keep the bytes of accepted ones that came with them", () => {
  const one = openTestStore();
  one.store.commit([request([{ text: track(long) }, { rejection }, { text: track(long) }])]);
  one.store.commit([request([{ text: track(long) }, { text: track(long) }])]);
  passOver(one);
  const before = bytesIn(one);
  one.store.removeOld({ maxMessages: 1, olderThanWall: null }, 10);
  // Of a request without rejected messages, the rest goes next.
  expect(bytesIn(one)).toBeLessThan(before / 2 + 100);
  expect(bytesIn(one)).toBeGreaterThan(before / 2 - 100);
  expect(kept(one)).toEqual([
    [2, "{}", []],
    [5, track(long), []],
  ]);
  expectConsistent(one.db);
});

test("a batch whose rejected messages go one at a time gives back their bytes too", () => {
  const one = openTestStore();
  const text = `{"bad":"${"x".repeat(4_900)}"}`;
  const rejected = Array.from({ length: 100 }, () => ({ rejection, text }));
  one.store.commit([request([...rejected, { text: track(long) }])]);
  const before = kept(one) as [number][];
  const quota = one.store.rejectedBytes();
  for (let n = 0; n < 100; n += 1) {
    one.store.commit([request([{ rejection, text }])]);
    one.store.removeRejected(quota, 2500);
  }
  const bytes = one.db.prepare("SELECT length(body) FROM requests WHERE id = 1").pluck();
  expect(bytes.get()).toBeLessThan(20_000);
  expect((kept(one) as [number][]).filter(([id]) => id <= 101)).toEqual(
    before.filter(([id]) => id === 101),
  );
  expectConsistent(one.db);
});

test("what is over the limit of a batch is given back as one message", () => {
  const one = openTestStore();
  const { messages, ...rest } = request([{ text: "{}" }, { rejection, text: bad }, { text: bad }]);
  const [accepted, first] = messages as [(typeof messages)[0], (typeof messages)[0]];
  const surplus = { ...first, size: 2 * bad.length + 1 };
  // A larger message of the next request takes nothing away.
  const next = request([{ text: `"${"x".repeat(3 * bad.length)}"` }]);
  one.store.commit([{ ...rest, messages: [accepted, surplus] }, next]);
  expect(one.store.removeRejected(0, 10)).toBe(1);
  const body = one.db.prepare("SELECT CAST(body AS TEXT) FROM requests WHERE id = 1").pluck();
  expect(body.get()).toBe('{"batch":[{},null]}');
});

test("what is rejected beside accepted messages displaces none of those", () => {
  const one = openTestStore();
  const mixedWith = (text: string) => request([{ text: "{}" }, { rejection, text }]);
  for (let n = 0; n < 100; n += 1) {
    one.store.commit([mixedWith(`"${"x".repeat(100_000)}"`)]);
    one.store.removeRejected(500_000, 100);
  }
  passOver(one);
  expect(bytesIn(one)).toBeLessThan(600_000);
  expect(
    one.store.removeOld({ maxMessages: null, maxBytes: 1_000_000, olderThanWall: null }, 100),
  ).toEqual({ removed: 0, more: false });
});

test("a removal that fails leaves the request and its messages as they were", () => {
  const one = openTestStore();
  one.store.commit([mixed(), request([{}])]);
  const before = kept(one);
  one.db.exec(
    "CREATE TRIGGER refuse BEFORE UPDATE ON payloads BEGIN SELECT raise(ABORT, 'not this one'); END",
  );
  expect(() => one.store.removeRejected(0, 10)).toThrow("not this one");
  expect(kept(one)).toEqual(before);
  const [claimed] = one.store.claim(1 as DestinationId, startOfTime, 10);
  expect(Buffer.from(claimed!.payload).toString()).toBe(track(long));
});
