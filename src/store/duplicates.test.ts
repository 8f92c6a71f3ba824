import fc from "fast-check";
import { expect, test } from "vitest";
import type { IncomingRequest, NewMessage } from "../engine/ports.ts";
import Database from "better-sqlite3";
import { stateCode } from "./codes.ts";
import { Duplicates, RecentIds } from "./duplicates.ts";
import { hash40 } from "./postings.ts";
import { schema } from "./schema.ts";

/**
 * Few hashes, so that many ids share one and many lie side by side; none that differ only in what a
 * table leaves out.
 */
const entry = fc.record({
  hash: fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 2 ** 20, max: 2 ** 38 - 1 })),
  id: fc.integer({ min: 1, max: 60 }),
});

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("add" as const), entry }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("remove" as const), entry }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("take back" as const), entry: fc.constant(null) }),
  },
);

const sorted = (numbers: Iterable<number>): number[] => [...numbers].toSorted((a, b) => a - b);

test("what is found is what was added and not taken back", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const recent = new RecentIds(() => 0);
      const model: { hash: number; id: number }[] = [];
      const hashes = new Set<number>();
      for (const each of steps) {
        const of = each.entry ?? model.at(-1);
        if (of === undefined) continue;
        hashes.add(of.hash);
        if (each.do === "add") {
          recent.add(of.hash, of.id);
          model.push(of);
        } else {
          recent.remove(of.hash, of.id);
          const place = model.findIndex(({ hash, id }) => hash === of.hash && id === of.id);
          if (place >= 0) model.splice(place, 1);
        }
      }
      for (const hash of hashes) {
        const expected = sorted(model.filter((each) => each.hash === hash).map(({ id }) => id));
        expect(sorted(recent.find(hash))).toEqual(expected);
        expect(recent.has(hash)).toBe(expected.length > 0);
      }
    }),
    { numRuns: 500 },
  );
});

/** Spread over 40 bits, and never twice the same. */
const hashOf = (id: number): number => (id * 7_919_017) % 2 ** 40;

test("it grows to hundreds of thousands, each of which is found", () => {
  const recent = new RecentIds(() => 0);
  for (let id = 1; id <= 200_000; id += 1) recent.add(hashOf(id), id);
  for (let id = 1; id <= 200_000; id += 997) expect([...recent.find(hashOf(id))]).toEqual([id]);
  expect(recent.has(hashOf(200_001))).toBe(false);
});

test("when it is full it lets go of what is too old, and keeps the rest", () => {
  let oldest = 0;
  const recent = new RecentIds(() => oldest);
  for (let id = 1; id <= 100_000; id += 1) {
    oldest = Math.max(0, id - 1000);
    recent.add(hashOf(id), id);
  }
  expect(recent.has(hashOf(1))).toBe(false);
  expect(recent.has(hashOf(90_000))).toBe(false);
  for (let id = 99_000; id <= 100_000; id += 1) expect([...recent.find(hashOf(id))]).toEqual([id]);
});

test("after clearing nothing is found", () => {
  const recent = new RecentIds(() => 0);
  for (let id = 1; id <= 5000; id += 1) recent.add(hashOf(id), id);
  recent.clear();
  expect(recent.has(hashOf(1))).toBe(false);
  recent.add(hashOf(1), 7);
  expect([...recent.find(hashOf(1))]).toEqual([7]);
});

test("taken back from among many that lie side by side, each of the others is still found", () => {
  const recent = new RecentIds(() => 0);
  for (let id = 1; id <= 2000; id += 1) recent.add(hashOf(id), id);
  for (let id = 2; id <= 2000; id += 3) recent.remove(hashOf(id), id);
  for (let id = 1; id <= 2000; id += 1)
    expect([...recent.find(hashOf(id))]).toEqual(id % 3 === 2 ? [] : [id]);
});

test("a table grows when it is half full, to twice to four times the places of what is still relevant", () => {
  let oldest = 0;
  const recent = new RecentIds(() => oldest);
  // All in the first of the 64 tables.
  const add = (from: number, to: number): void => {
    for (let id = from; id <= to; id += 1) recent.add(id * 64, id);
  };
  const found = (...ids: number[]): boolean[] => ids.map((id) => recent.has(id * 64));
  add(1, 127);
  recent.remove(777 * 64, 777);
  recent.remove(64, 2);
  recent.remove(127 * 64, 127);
  add(127, 127);
  oldest = 20;
  add(128, 128);
  expect(found(1, 19)).toEqual([true, true]);
  add(129, 129);
  expect(found(1, 19, 20, 128, 129)).toEqual([false, false, true, true, true]);
  oldest = 200;
  add(130, 275);
  expect(found(20, 199, 275)).toEqual([true, true, true]);
  add(276, 276);
  expect(found(20, 199, 200, 276)).toEqual([false, false, true, true]);
});

test("ids beyond 32 bits are found, taken back and let go of as others are", () => {
  let oldest = 0;
  const recent = new RecentIds(() => oldest);
  const first = 2 ** 32 - 500;
  const ids = Array.from({ length: 1000 }, (_, n) => first + n);
  for (const id of ids.toReversed()) recent.add(hashOf(id), id);
  expect(ids.flatMap((id) => [...recent.find(hashOf(id))])).toEqual(ids);
  for (const id of ids.slice(0, 700)) recent.remove(hashOf(id), id);
  expect(ids.flatMap((id) => [...recent.find(hashOf(id))])).toEqual(ids.slice(700));
  oldest = first + 900;
  for (let n = 0; n < 20_000; n += 1) recent.add(hashOf(first + 1000 + n), first + 1000 + n);
  expect(ids.flatMap((id) => [...recent.find(hashOf(id))])).toEqual(ids.slice(900));
});

/** With a count of the rows that are read. */
function startDuplicates() {
  let rows = 0;
  const db = new Database(":memory:", {
    verbose: (sql) => void (rows += /FROM messages WHERE id = /.test(String(sql)) ? 1 : 0),
  });
  db.exec(schema);
  const insert = db.prepare(
    "INSERT INTO messages (id, request_id, offset, size, message_id, source_id, type, state, received_at, timestamp) VALUES (?, 1, 0, 0, ?, ?, 1, ?, 0, 0)",
  );
  const all: { messageId: string; id: number }[] = [];
  const postings = {
    *entries() {
      yield {
        hashes: Float64Array.from(all, ({ messageId }) => hash40(messageId)),
        ids: Float64Array.from(all, ({ id }) => id),
      };
    },
  };
  const duplicates = new Duplicates({ db, postings, newestReceivedAt: () => 0 });
  return {
    duplicates,
    insert(id: number, messageId: string, { sourceId = 1, state = "queued" as const } = {}): void {
      insert.run(id, messageId, sourceId, stateCode(state));
      all.push({ messageId, id });
    },
    originalOf: (messageId: string, sourceId = 1) =>
      duplicates.originalOf(
        { sourceId, receivedAt: 0 } as IncomingRequest,
        { messageId } as NewMessage,
      ),
    rowsReadBy(act: () => unknown): number {
      const before = rows;
      act();
      return rows - before;
    },
  };
}

test("an id that is accepted again and again is one entry, in each of its sources", () => {
  const { duplicates, insert, originalOf, rowsReadBy } = startDuplicates();
  for (let id = 1; id <= 500; id += 1) {
    const sourceId = 1 + (id % 100);
    insert(id, "same", { sourceId });
    expect(rowsReadBy(() => duplicates.add("same", sourceId, id))).toBeLessThan(2);
  }
  expect(rowsReadBy(() => originalOf("same", 200))).toBe(0);
  expect([1, 50, 100].map((sourceId) => originalOf("same", sourceId))).toEqual([500, 449, 499]);
});

test("what is read from postings is linear for one id in all messages, whatever became of them", () => {
  const { duplicates, insert, originalOf, rowsReadBy } = startDuplicates();
  for (let id = 1; id <= 500; id += 1)
    insert(id, "same", {
      sourceId: 1 + (id % 100),
      state: (id > 200 && id <= 300 ? "duplicate" : "queued") as "queued",
    });
  duplicates.reload();
  expect(rowsReadBy(() => originalOf("other"))).toBeLessThan(1000);
  expect(rowsReadBy(() => originalOf("same", 200))).toBeLessThan(2);
  expect([1, 50, 100].map((sourceId) => originalOf("same", sourceId))).toEqual([500, 449, 499]);
});

test("what is taken back gives its place to the earlier one again", () => {
  const { duplicates, insert, originalOf } = startDuplicates();
  const added: [id: number, earlier: number | null][] = [];
  for (const id of [1, 2, 3]) {
    insert(id, "same");
    added.push([id, duplicates.add("same", 1, id)]);
  }
  expect(added).toEqual([
    [1, null],
    [2, 1],
    [3, 2],
  ]);
  for (const [id, earlier] of added.toReversed()) {
    expect(originalOf("same")).toBe(id);
    duplicates.remove("same", 1, id, earlier);
  }
  expect(originalOf("same")).toBeNull();
});
