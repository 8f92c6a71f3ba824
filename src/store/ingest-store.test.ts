import { describe, expect, test } from "vitest";
import type { DestinationId, MessageRowId } from "../domain/ids.ts";
import type { MessageDraft, TestStore } from "./store.fixture.ts";
import {
  expectConsistent,
  openTestStore,
  passOver,
  request,
  startOfTime,
  tables,
} from "./store.fixture.ts";

const day = 24 * 60 * 60 * 1000;

function commitOne(
  { store }: TestStore,
  draft: MessageDraft,
  more: { at?: number; sourceId?: number } = {},
) {
  const [message] = store
    .commit([request([draft], more)])
    .flat()
    .map(({ id }) => store.message(id));
  if (!message) throw new Error("nothing was committed");
  return message;
}

describe("a message id that comes again", () => {
  test("from the same source within 24 hours is a duplicate of the first", () => {
    const one = openTestStore();
    expect(commitOne(one, { messageId: "a", to: [1] })).toMatchObject({
      state: "queued",
      duplicateOf: null,
    });
    expect(commitOne(one, { messageId: "a", to: [1] }, { at: startOfTime + day })).toMatchObject({
      state: "duplicate",
      duplicateOf: 1,
    });
    expect(one.store.message(2 as never)).toMatchObject({
      state: "duplicate",
      reason: "duplicate",
      duplicateOf: 1,
      deliveries: [],
      decisions: [],
    });
    const third = request([{ messageId: "a", to: [1] }]);
    expect(one.store.commit([third])).toMatchObject([[{ duplicateOf: 1, decisions: [] }]]);
  });

  test("is found after a start, whether all ids, some or none have been read, and after a failure meanwhile", () => {
    const one = openTestStore();
    for (let n = 0; n < 30; n += 1)
      one.store.commit([
        request(Array.from({ length: 1000 }, (_, place) => ({ messageId: `m-${n}-${place}` }))),
      ]);
    for (const slices of [0, 1, 100]) {
      const again = one.restarted();
      for (let slice = 0; slice < slices; slice += 1) again.store.prepareLookups();
      const failure = new Error("not today");
      const failing = [request([{ messageId: "x", deduplicate: false }, { failure }])];
      expect(() => again.store.commit(failing)).toThrow("not today");
      expect(commitOne(again, { messageId: `y-${slices}`, deduplicate: false }).state).toBe(
        "filtered",
      );
      expect(commitOne(again, { messageId: "m-0-0" }).duplicateOf).toBe(1);
      expect(commitOne(again, { messageId: "m-29-999" }).duplicateOf).toBe(30_000);
      expect(commitOne(again, { messageId: `y-${slices}` }).state).toBe("duplicate");
      expect(commitOne(again, { messageId: `x-${slices}` }).duplicateOf).toBe(null);
    }
    expect(one.store.prepareLookups()).toBe(false);
  });

  test("after 24 hours, from another source, or where duplicates are wanted, is a message like any other", () => {
    const one = openTestStore();
    commitOne(one, { messageId: "a" });
    expect(commitOne(one, { messageId: "a" }, { sourceId: 2 }).state).toBe("filtered");
    expect(commitOne(one, { messageId: "a", deduplicate: false }).state).toBe("filtered");
    expect(commitOne(one, { messageId: "a" }, { at: startOfTime + day + 1 }).state).toBe(
      "filtered",
    );
  });

  test("is a duplicate of the first even when the ones between were duplicates, and not of a rejected one", () => {
    const one = openTestStore();
    const rejection = { reason: "missing_event", detail: "There is no event." };
    commitOne(one, { messageId: "a", rejection });
    expect(commitOne(one, { messageId: "a" })).toMatchObject({ id: 2, state: "filtered" });
    expect(commitOne(one, { messageId: "a" }).duplicateOf).toBe(2);
    expect(commitOne(one, { messageId: "a" }).duplicateOf).toBe(2);
    expect(commitOne(one, { messageId: "a", rejection }).state).toBe("rejected");
  });

  test("within one request, and within one commit", () => {
    const one = openTestStore();
    const twice = { messageId: "a" };
    const committed = one.store.commit([request([twice, twice]), request([twice])]).flat();
    expect(committed.map(({ id }) => one.store.message(id)?.state)).toEqual([
      "filtered",
      "duplicate",
      "duplicate",
    ]);
  });

  test("is known after a restart, and among tens of thousands", () => {
    const one = openTestStore();
    for (let n = 0; n < 30; n += 1)
      one.store.commit([
        request(Array.from({ length: 1000 }, (_, i) => ({ messageId: `m-${n}-${i}` }))),
      ]);
    expect(commitOne(one, { messageId: "m-29-999" }).duplicateOf).toBe(30_000);
    const again = one.restarted();
    expect(commitOne(again, { messageId: "m-0-0" }).duplicateOf).toBe(1);
    expect(commitOne(again, { messageId: "m-29-999" }).duplicateOf).toBe(30_000);
    expect(commitOne(again, { messageId: "m-30-0" }).duplicateOf).toBe(null);
  });

  test("with a lone surrogate in it is known too, before and after a restart", () => {
    const one = openTestStore();
    commitOne(one, { messageId: "a\ud800" });
    expect(commitOne(one, { messageId: "a\ud800" }).duplicateOf).toBe(1);
    expect(commitOne(one.restarted(), { messageId: "a\ud800" }).duplicateOf).toBe(1);
  });

  test("is new again when retention has removed the first", () => {
    const one = openTestStore();
    commitOne(one, { messageId: "a" });
    passOver(one);
    one.store.removeOld({ maxMessages: 0, olderThanWall: null }, 10);
    expect(commitOne(one, { messageId: "a" })).toMatchObject({
      state: "filtered",
      duplicateOf: null,
    });
  });
});

describe("a commit that fails in the middle", () => {
  const failure = new Error("no room");

  test("leaves nothing, and the next one goes on as if it had not been tried", async () => {
    const one = openTestStore();
    commitOne(one, { messageId: "before", userId: "ada", to: [1] });
    const before = tables(one);
    // Long enough to fill a block of postings and to make the table of recent ids grow.
    const many = Array.from({ length: 9000 }, (_, n) => ({
      messageId: `lost-${n}`,
      userId: "ada",
      event: "Lost",
      to: [1, 2],
    }));
    expect(() =>
      one.store.commit([request([{ messageId: "a" }]), request([...many, { failure }])]),
    ).toThrow(failure);
    expect(tables(one)).toEqual(before);

    expect(commitOne(one, { messageId: "lost-0", userId: "ada", to: [1] })).toMatchObject({
      id: 2,
      state: "queued",
      duplicateOf: null,
    });
    expect(commitOne(one, { messageId: "a" })).toMatchObject({ id: 3, duplicateOf: null });
    expect(commitOne(one, { messageId: "before" }).duplicateOf).toBe(1);
    expect(
      one.store
        .claim(1 as DestinationId, startOfTime, 10)
        .map(({ id, messageRow }) => [id, messageRow]),
    ).toEqual([
      [1, 1],
      [2, 2],
    ]);
    expect(
      (await one.store.messages({ userId: "ada" }, 10, null)).items.map(({ id }) => id),
    ).toEqual([2, 1]);
    expect((await one.store.messages({ event: "Lost" }, 10, null)).total).toBe(0);
    expectConsistent(one.db);
  });

  test("a hundred times over does not grow what is in memory: the ids that are there are still found", () => {
    const one = openTestStore();
    commitOne(one, { messageId: "before" });
    for (let n = 0; n < 100; n += 1) {
      expect(() =>
        one.store.commit([
          request([
            ...Array.from({ length: 50 }, (_, i) => ({ messageId: `lost-${i}` })),
            { failure },
          ]),
        ]),
      ).toThrow(failure);
    }
    expect(commitOne(one, { messageId: "before" }).duplicateOf).toBe(1);
    expect(commitOne(one, { messageId: "lost-3" })).toMatchObject({ id: 3, duplicateOf: null });
  });

  test("because the file has no room says so with SQLite's code, and works again with room", () => {
    const one = openTestStore();
    const pages = one.db.pragma("page_count", { simple: true }) as number;
    one.db.pragma(`max_page_count = ${pages + 5}`);
    const text = JSON.stringify({ text: "x".repeat(1000) });
    const fill = (): void =>
      void one.store.commit([request(Array.from({ length: 10 }, () => ({ text, to: [1] })))]);
    expect(() => {
      for (let n = 0; n < 100; n += 1) fill();
    }).toThrow(expect.objectContaining({ code: "SQLITE_FULL" }));
    expectConsistent(one.db);
    const kept = one.store.stats().messages.total;
    one.db.pragma("max_page_count = 100000");
    fill();
    expect(one.store.stats().messages.total).toBe(kept + 10);
    expectConsistent(one.db);
  });
});

test("requests with an unknown write key are kept, the newest thousand of them", () => {
  const { store } = openTestStore();
  const keep = (writeKey: string, at: number): void =>
    store.keepUnknownKeyRequest(
      {
        writeKey,
        receivedAt: at,
        wallAt: at,
        method: "POST",
        path: `/v1/${at}`,
        headers: [["A", "b"]],
        ip: "127.0.0.1",
        body: Buffer.from(String(at)),
      },
      1_000_000,
    );
  for (let n = 1; n <= 1003; n += 1) keep(n % 2 === 0 ? "even" : "odd", n);
  expect(store.unknownKeys()).toEqual([
    { writeKey: "odd", requests: 500, firstAt: 5, lastAt: 1003, lastPath: "/v1/1003" },
    { writeKey: "even", requests: 500, firstAt: 4, lastAt: 1002, lastPath: "/v1/1002" },
  ]);
  expect(store.oldestUnknownKeyRequest("even")).toMatchObject({
    receivedAt: 4,
    headers: [["A", "b"]],
    body: Buffer.from("4"),
  });
  store.forgetUnknownKey("even");
  expect(store.unknownKeys().map(({ writeKey }) => writeKey)).toEqual(["odd"]);
});

test("a row holds of what only some messages have no more than its message has", () => {
  const one = openTestStore();
  const rejection = { reason: "missing_event", detail: "No." };
  one.store.commit([
    request([
      { messageId: "a" },
      { messageId: "a" },
      { warnings: ["Odd."] },
      { rejection },
      { replayOf: 1 as MessageRowId },
      { computed: true },
      { traits: "Ada" },
    ]),
  ]);
  const extra = one.db.prepare("SELECT extra FROM messages ORDER BY id").pluck().all() as (
    | string
    | null
  )[];
  expect(extra).toEqual([
    null,
    '{"duplicateOf":1}',
    '{"warnings":["Odd."]}',
    '{"detail":"No."}',
    '{"replayOf":1}',
    '{"computed":true}',
    '{"traits":"Ada"}',
  ]);
  expect(one.store.message(5 as MessageRowId)).toMatchObject({
    replayOf: 1,
    detail: null,
    duplicateOf: null,
    warnings: [],
    traits: null,
  });
  expect(one.store.message(7 as MessageRowId)).toMatchObject({ replayOf: null, traits: "Ada" });
});

test("why a message goes nowhere: the first decision, or that there is no destination", () => {
  const one = openTestStore();
  one.store.commit([request([{}, { notTo: [2, 3] }, { to: [1], notTo: [2] }])]);
  const said = [1, 2, 3].map((id) => one.store.message(id as MessageRowId));
  expect(said.map((message) => [message?.state, message?.reason])).toEqual([
    ["filtered", "no_destination"],
    ["filtered", "disabled"],
    ["queued", null],
  ]);
  expect(one.db.prepare("SELECT message_id, warnings FROM decisions").raw().all()).toEqual(
    [2, 2, 3, 3].map((id) => [id, null]),
  );
  expect(one.db.prepare("SELECT message_id FROM payloads").pluck().all()).toEqual([3]);
});

test("a trace has what became of its message, and nothing of one that is gone", () => {
  const { store } = openTestStore();
  store.commit([request([{ messageId: "m", to: [2], notTo: [1] }], { at: 7000, wallAt: 5000 })]);
  expect(store.tracedMessage(1 as MessageRowId)).toEqual({
    ...{ messageId: "m", type: "track", state: "queued", reason: null, sourceId: 1 },
    ...{ receivedAt: 7000, wallAt: 5000 },
    decisions: [
      { destinationId: 1, reason: "disabled" },
      { destinationId: 2, reason: "routed" },
    ],
  });
  expect(store.messageIdOf(1 as MessageRowId)).toBe("m");
  store.clearMessages();
  expect(store.tracedMessage(1 as MessageRowId)).toBeNull();
  expect(store.messageIdOf(1 as MessageRowId)).toBeNull();
});

test("a duplicate is not an original, when the first is gone and the ids are read again", () => {
  const one = openTestStore();
  commitOne(one, { messageId: "a" });
  commitOne(one, { messageId: "a" });
  passOver(one);
  expect(one.store.removeOld({ maxMessages: 0, olderThanWall: null }, 10).removed).toBe(1);
  expect(commitOne(one.restarted(), { messageId: "a" })).toMatchObject({
    state: "filtered",
    duplicateOf: null,
  });
});

test("a start remembers the ids of 24 hours: up to the bound, and also where few of many messages are so new", () => {
  for (const older of [1, 2, 7, 50]) {
    const one = openTestStore();
    for (let n = 0; n < older; n += 1) commitOne(one, { messageId: `old-${n}` });
    commitOne(one, { messageId: "just" }, { at: startOfTime + 1 });
    commitOne(one, { messageId: "new" }, { at: startOfTime + day + 1 });
    const again = one.restarted();
    expect(commitOne(again, { messageId: "new" }, { at: startOfTime + day + 1 }).state).toBe(
      "duplicate",
    );
    expect(commitOne(again, { messageId: "just" }, { at: startOfTime + day + 1 }).duplicateOf).toBe(
      older + 1,
    );
    expect(commitOne(again, { messageId: "old-0" }, { at: startOfTime + day + 1 }).state).toBe(
      "filtered",
    );
  }
});

test("ids go on behind those that retention took, once profiles have followed them", () => {
  const one = openTestStore();
  commitOne(one, {});
  one.store.markFollowed(7 as MessageRowId);
  one.store.removeOld({ maxMessages: 0, olderThanWall: null }, 10);
  expect(one.restarted().store.commit([request([{ to: [1] }])])).toMatchObject([[{ id: 8 }]]);
  expect(one.restarted().store.commit([request([{ to: [1] }])])).toMatchObject([[{ id: 9 }]]);
  expect(one.store.newestRows()).toEqual({ message: 9, delivery: 2 });
  expect(one.db.prepare("SELECT id FROM requests").pluck().all()).toEqual([1, 2]);
});

test("requests with an unknown write key take no more bytes than they may, the newest first", () => {
  const { store } = openTestStore();
  const keep = (writeKey: string, bytes: number, maxBytes: number): void =>
    store.keepUnknownKeyRequest(
      {
        writeKey,
        receivedAt: 1,
        wallAt: 1,
        method: "POST",
        path: "/",
        headers: [],
        ip: null,
        body: Buffer.alloc(bytes),
      },
      maxBytes,
    );
  const kept = (): string[] =>
    store
      .unknownKeys()
      .map(({ writeKey }) => writeKey)
      .toSorted();
  // Each takes three bytes beside its body: its path and its headers.
  keep("a", 97, 300);
  keep("b", 97, 300);
  keep("c", 97, 300);
  expect(kept()).toEqual(["a", "b", "c"]);
  keep("d", 97, 300);
  expect(kept()).toEqual(["b", "c", "d"]);
  keep("e", 98, 300);
  expect(kept()).toEqual(["d", "e"]);
  keep("f", 298, 300);
  expect(kept()).toEqual([]);
  expect(store.oldestUnknownKeyRequest("f")).toBeNull();
});
