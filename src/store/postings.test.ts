import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { blockSize, type PostingField } from "./posting-segments.ts";
import { Postings, hash40, type PostingEntry } from "./postings.ts";
import { inconsistenciesIn } from "./examine.ts";
import { openTestStore } from "./store.fixture.ts";
import { Transactions, type Db } from "./transactions.ts";
import { anyCharacter } from "../../test/support/any-character.ts";

type World = { db: Db; transactions: Transactions; postings: Postings; rows: PostingEntry[] };

const insertSql = `INSERT INTO messages (id, request_id, offset, size, message_id, source_id, type, state, user_id, anonymous_id, event, received_at, timestamp)
  VALUES (?, 1, 0, 0, ?, 1, 0, 0, ?, ?, ?, 0, 0)`;

/** Three levels within eight blocks, with many pieces and slices. */
const small = { fanOut: 2, pieceEntries: 150, piecesPerSlice: 4 };

function world(): World {
  const { db } = openTestStore();
  const transactions = new Transactions(db);
  return { db, transactions, postings: new Postings(db, transactions, small), rows: [] };
}

function restart(one: World): void {
  one.postings = new Postings(one.db, one.transactions, small);
}

function mergeAll({ postings }: World): void {
  while (postings.mergeSlice());
}

/** Numbers that a seed repeats. */
function draws(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function newRow(id: number, draw: (below: number) => number): PostingEntry {
  const maybe = (value: string): string | null => (draw(4) === 0 ? null : value);
  const userId = maybe(`user-${draw(50)}`);
  return {
    id,
    messageId: `m-${draw(3000)}`,
    userId,
    anonymousId: draw(3) === 0 ? userId : maybe(`user-${draw(50)}`),
  };
}

/** In one transaction, as ingest does it. */
function add(
  { db, transactions, postings, rows }: World,
  added: PostingEntry[],
  { rollBack = false } = {},
): void {
  const insert = db.prepare(insertSql);
  const run = transactions.wrap(() => {
    for (const row of added) {
      insert.run(row.id, row.messageId, row.userId, row.anonymousId, null);
      postings.add(row);
    }
    if (rollBack) throw new Error("rolled back");
  });
  if (!rollBack) {
    run();
    rows.push(...added);
    return;
  }
  expect(run).toThrow("rolled back");
}

function remove(world: World, ids: Set<number>, { rollBack = false } = {}): void {
  const removal = world.db.prepare("DELETE FROM messages WHERE id = ?");
  const run = world.transactions.wrap(() => {
    for (const id of ids) removal.run(id);
    world.postings.remove(ids);
    if (rollBack) throw new Error("rolled back");
  });
  if (rollBack) {
    expect(run).toThrow("rolled back");
  } else {
    run();
    world.rows = world.rows.filter(({ id }) => !ids.has(id));
  }
}

const carries: Record<PostingField, (row: PostingEntry, value: string) => boolean> = {
  users: (row, value) => row.userId === value || row.anonymousId === value,
  message_ids: (row, value) => row.messageId === value,
};

function expectBruteForce({ postings, rows }: World, before?: number): void {
  const values: [PostingField, string[]][] = [
    ["users", ["user-0", "user-7", "user-49", "nobody"]],
    ["message_ids", ["m-0", "m-1500", "m-2999", "never"]],
  ];
  for (const [field, each] of values) {
    for (const value of each) {
      const expected = rows
        .filter((row) => carries[field](row, value) && (before === undefined || row.id < before))
        .map(({ id }) => id);
      expect({ value, ids: [...postings.candidates(field, [value], before)].flat() }).toEqual({
        value,
        ids: expected.toReversed(),
      });
    }
  }
}

/** What `hookyard doctor` says of postings. */
function expectNothingLost({ db }: World): void {
  expect(inconsistenciesIn(db).filter(({ what }) => what.includes("postings"))).toEqual([]);
}

const sameUser = (id: number): PostingEntry => ({
  id,
  messageId: `m-${id}`,
  userId: "u",
  anonymousId: null,
});

const sameUsers = (from: number, to: number): PostingEntry[] =>
  Array.from({ length: to - from + 1 }, (_, n) => sameUser(from + n));

const newestFirst = (to: number): number[] => Array.from({ length: to }, (_, n) => to - n);

describe("candidates are what a look at every row finds, newest first", () => {
  const step = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant("add"),
        count: fc.integer({ min: 1, max: blockSize * 2 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant("fail to add"),
        count: fc.integer({ min: 1, max: blockSize * 2 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant("remove"),
        count: fc.integer({ min: 1, max: blockSize * 2 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant("fail to remove"),
        count: fc.integer({ min: 1, max: blockSize }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant("merge"), count: fc.integer({ min: 1, max: 400 }) }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("merge all"), count: fc.constant(0) }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant("fail to merge"), count: fc.constant(0) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("start again"), count: fc.constant(0) }) },
  );

  test("over several blocks, with merges, failures, removals and restarts in between", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 2, maxLength: 12 }), fc.nat(), (steps, seed) => {
        const draw = draws(seed);
        const one = world();
        let nextId = 1;
        for (const { do: what, count } of steps) {
          const added = (): PostingEntry[] =>
            Array.from({ length: count }, (_, n) => newRow(nextId + n, draw));
          const oldest = (): Set<number> =>
            new Set(
              one.rows
                .filter(() => draw(10) > 0)
                .slice(0, count)
                .map(({ id }) => id),
            );
          if (what === "add") {
            add(one, added());
            nextId += count;
          } else if (what === "fail to add") add(one, added(), { rollBack: true });
          else if (what === "remove") remove(one, oldest());
          else if (what === "fail to remove") remove(one, oldest(), { rollBack: true });
          else if (what === "merge all") mergeAll(one);
          else if (what === "merge") for (let n = 0; n < count; n += 1) one.postings.mergeSlice();
          else if (what === "fail to merge") {
            const failing = one.transactions.wrap(() => {
              one.postings.mergeSlice();
              throw new Error("rolled back");
            });
            expect(failing).toThrow("rolled back");
          } else restart(one);
          expectBruteForce(one);
        }
        // What is lost stays lost.
        expectNothingLost(one);
        for (const before of [1, 2, blockSize, blockSize + 1, nextId - 1, draw(nextId)])
          expectBruteForce(one, before);
      }),
      { numRuns: 12 },
    );
  });

  test("a merge that failed at any of its slices begins again", () => {
    const one = world();
    const draw = draws(2);
    add(
      one,
      Array.from({ length: 4 * blockSize }, (_, n) => newRow(n + 1, draw)),
    );
    const fail = one.transactions.wrap(() => {
      one.postings.mergeSlice();
      throw new Error("rolled back");
    });
    for (const slices of [0, 1, 2, 3, 6]) {
      for (let slice = 0; slice < slices; slice += 1) one.postings.mergeSlice();
      expect(fail).toThrow("rolled back");
      expectBruteForce(one);
    }
    mergeAll(one);
    expectBruteForce(one);
    expectNothingLost(one);
  });

  test("a message that is removed while its block is merged is no candidate", () => {
    const one = world();
    const draw = draws(1);
    add(
      one,
      Array.from({ length: 4 * blockSize }, (_, n) => newRow(n + 1, draw)),
    );
    for (let slice = 0; slice < 2; slice += 1) one.postings.mergeSlice();
    remove(one, new Set(one.rows.filter(({ userId }) => userId === "user-7").map(({ id }) => id)));
    mergeAll(one);
    expectBruteForce(one);
  });

  test("a walk that is going on while its block is filled up shows each message once", () => {
    const one = world();
    const row = (id: number): PostingEntry => ({
      id,
      messageId: `m-${id}`,
      userId: "u",
      anonymousId: null,
    });
    add(
      one,
      Array.from({ length: blockSize + 100 }, (_, n) => row(n + 1)),
    );
    const walk = one.postings.candidates("users", ["u"]);
    const seen = [...(walk.next().value as number[])];
    add(
      one,
      Array.from({ length: blockSize * 2 }, (_, n) => row(blockSize + 101 + n)),
    );
    seen.push(...[...walk].flat());
    expect(seen).toEqual(Array.from({ length: blockSize + 100 }, (_, n) => blockSize + 100 - n));
  });

  test("a walk that is going on while its blocks are merged shows each message once", () => {
    const one = world();
    add(one, sameUsers(1, blockSize * 9));
    const walk = one.postings.candidates("users", ["u"]);
    const seen: number[] = [];
    for (const ids of walk) {
      seen.push(...ids);
      for (let slice = 0; slice < 40; slice += 1) one.postings.mergeSlice();
    }
    expect(seen).toEqual(newestFirst(blockSize * 9));
    expect(one.db.prepare("SELECT level FROM posting_segments WHERE state = 1").all()).toEqual([
      { level: 3 },
    ]);
  });

  test("of several values, each message once and newest first, in merged blocks too", () => {
    const one = world();
    const rows = sameUsers(1, blockSize * 5).map((row) => ({
      ...row,
      userId: row.id % 3 === 0 ? "a" : "b",
      anonymousId: row.id % 100 === 0 ? "c" : "a",
    }));
    add(one, rows);
    mergeAll(one);
    const all = [...one.postings.candidates("users", ["a", "b", "c", "a"])].flat();
    expect(all).toEqual(newestFirst(blockSize * 5));
    const few = [...one.postings.candidates("users", ["c", "nobody"], 500)].flat();
    expect(few).toEqual([400, 300, 200, 100]);
  });

  test("whatever the value is, before and after a restart", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: anyCharacter, minLength: 1, maxLength: 6 }), {
          minLength: 1,
          maxLength: 20,
        }),
        (values) => {
          const one = world();
          add(
            one,
            values.map((value, n) => ({
              id: n + 1,
              messageId: value,
              userId: value,
              anonymousId: null,
            })),
          );
          for (const postings of [one.postings, new Postings(one.db, one.transactions)]) {
            for (const value of values) {
              const stored = value.toWellFormed();
              const expected = values
                .flatMap((each, n) => (each.toWellFormed() === stored ? [n + 1] : []))
                .toReversed();
              for (const field of ["users", "message_ids"] as const)
                expect([...postings.candidates(field, [stored])].flat()).toEqual(expected);
            }
          }
        },
      ),
      { numRuns: 50 },
    );
  });
});

test("every pair of hash and message from a message on is among the entries", () => {
  const one = world();
  const draw = draws(3);
  add(
    one,
    Array.from({ length: blockSize * 5 + 50 }, (_, n) => newRow(n + 1, draw)),
  );
  const from = blockSize + 10;
  const expected = one.rows
    .filter(({ id }) => id >= from)
    .map(({ id, messageId }) => `${hash40(messageId)} ${id}`);
  for (const prepare of [() => undefined, () => mergeAll(one)]) {
    prepare();
    const seen: string[] = [];
    for (const { hashes, ids } of one.postings.entries("message_ids", from))
      for (const [at, id] of ids.entries()) if (id >= from) seen.push(`${hashes[at]} ${id}`);
    expect(seen.toSorted()).toEqual(expected.toSorted());
  }
});

test("hashes of a hundred thousand similar values are all different", () => {
  const hashes = new Set(Array.from({ length: 100_000 }, (_, n) => hash40(`user-${n}`)));
  expect(hashes.size).toBe(100_000);
});

test("a hash is the same in every version, because data files hold it", () => {
  expect(["", "user-1", "ünï-🌈", "a\ud800"].map(hash40)).toEqual([
    554547805361, 1053652406941, 626749686746, 898579918705,
  ]);
  expect(hash40("a\ud800")).toBe(hash40("a\ufffd"));
});

test("a block of which nothing is left leaves no row, and neither does one that was never filled", () => {
  const one = world();
  const row = (id: number): PostingEntry => ({
    id,
    messageId: `m-${id}`,
    userId: "u",
    anonymousId: null,
  });
  const blocks = (): unknown =>
    one.db.prepare("SELECT block FROM postings ORDER BY block").pluck().all();
  add(one, [row(blockSize + 1)]);
  expect(blocks()).toEqual([]);
  remove(one, new Set([blockSize + 1]));
  add(one, [row(blockSize * 2 + 1), row(blockSize * 2 + 2)]);
  expect(blocks()).toEqual([]);
  add(one, [row(blockSize * 3)]);
  expect(blocks()).toEqual([2]);
  // The newest message that is left is one of a block that has its row.
  remove(one, new Set([blockSize * 3]));
  restart(one);
  expectBruteForce(one);
  expect([...one.postings.candidates("users", ["u"])].flat()).toEqual([
    blockSize * 2 + 2,
    blockSize * 2 + 1,
  ]);
  const visited: number[] = [];
  for (const { ids } of one.postings.entries("message_ids", 0)) visited.push(...ids);
  expect(new Set(visited)).toEqual(new Set([blockSize * 2 + 1, blockSize * 2 + 2]));
  remove(one, new Set([blockSize * 2 + 1, blockSize * 2 + 2]));
  expect(blocks()).toEqual([]);
  expect([...one.postings.candidates("users", ["u"])].flat()).toEqual([]);
});

test("a segment that loses its last message goes with all its pieces, also while it is merged", () => {
  const one = world();
  const rowsOf = (table: string): unknown =>
    one.db.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
  add(one, sameUsers(1, blockSize * 5));
  mergeAll(one);
  const upTo = (id: number): Set<number> => new Set(newestFirst(id));
  remove(one, upTo(blockSize - 1));
  expectBruteForce(one);
  expectNothingLost(one);
  // What is left is merged once more, and half of it goes meanwhile.
  add(one, sameUsers(blockSize * 5 + 1, blockSize * 8 + 1));
  for (let slice = 0; slice < 20; slice += 1) one.postings.mergeSlice();
  remove(one, new Set(one.rows.map(({ id }) => id).filter((id) => id < blockSize * 3)));
  mergeAll(one);
  expectBruteForce(one);
  expectNothingLost(one);
  remove(one, new Set(one.rows.map(({ id }) => id).filter((id) => id < blockSize * 8)));
  mergeAll(one);
  expectNothingLost(one);
  expect([rowsOf("posting_segments"), rowsOf("posting_pieces")]).toEqual([0, 0]);
});

test("a merge whose blocks retention has removed meanwhile leaves nothing behind", () => {
  const one = world();
  add(one, sameUsers(1, blockSize * 3));
  for (let slice = 0; slice < 2; slice += 1) one.postings.mergeSlice();
  remove(one, new Set(newestFirst(blockSize * 2)));
  mergeAll(one);
  expectBruteForce(one);
  expectNothingLost(one);
  expect(one.db.prepare("SELECT id FROM posting_segments").all()).toEqual([]);
});

test("a walk that is going on while retention removes the blocks before it ends without them", () => {
  const one = world();
  const row = (id: number): PostingEntry => ({
    id,
    messageId: `m-${id}`,
    userId: "u",
    anonymousId: null,
  });
  add(
    one,
    Array.from({ length: blockSize * 3 }, (_, n) => row(n + 1)),
  );
  const walk = one.postings.candidates("users", ["u"]);
  walk.next();
  walk.next();
  remove(one, new Set(Array.from({ length: blockSize * 2 - 1 }, (_, n) => n + 1)));
  expect([...walk].flat()).toEqual([]);
});

test("lists of closed blocks are read once, and the 64 read last are kept", () => {
  const { db } = openTestStore();
  let reads = 0;
  const counting = new Proxy(db, {
    get: (_, name) =>
      name !== "prepare"
        ? Reflect.get(db, name)
        : (sql: string) => {
            const statement = db.prepare(sql);
            if (!sql.startsWith("SELECT users FROM postings")) return statement;
            const get = statement.pluck().get.bind(statement);
            return { pluck: () => ({ get: (block: number) => ((reads += 1), get(block)) }) };
          },
  });
  const postings = new Postings(counting, new Transactions(db));
  const insert = db.prepare("INSERT INTO postings VALUES (?, x'', x'', x'')");
  db.prepare(insertSql).run(blockSize * 100, "m", null, null, null);
  for (let block = 1; block <= 65; block += 1) insert.run(block);
  const readsOf = (before: number): number => {
    reads = 0;
    for (const ids of postings.candidates("users", ["u"], (before + 1) * blockSize))
      expect(ids).toEqual([]);
    return reads;
  };
  expect(readsOf(63)).toBe(63);
  expect(readsOf(63)).toBe(0);
  expect(readsOf(64)).toBe(1);
  expect(readsOf(64)).toBe(0);
  // Block 65 takes the place of block 63, which was read first, that one the place of block 62,
  // and so on.
  expect(readsOf(65)).toBe(64);
});
