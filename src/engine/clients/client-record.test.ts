import { describe, expect, test } from "vitest";
import type { ClientEvent } from "../../client/client.ts";
import { ClientRecord } from "./client-record.ts";

const state = { queued: 0, flushAt: 20, flushAfter: 5000, nextFlushAt: null, batches: 0, bytes: 0 };
const answer = { status: 503, body: "busy", retryAfter: null };
const took = { durationMs: 12, simulated: true, failedBy: "timeout" as const };

type Told<Name> = Omit<Extract<ClientEvent, { event: Name }>, "event" | "at" | "state">;

/** A record, with shorthands for what a client tells it, all at the time 1,000. */
function startRecord() {
  const record = new ClientRecord();
  const note = <Name extends ClientEvent["event"]>(
    event: Name,
    told: Told<Name>,
    call: Parameters<ClientRecord["note"]>[1] = null,
  ): void =>
    record.note(
      { event, ...told, at: 1000, state } as unknown as ClientEvent,
      call,
      event === "failed" || event === "sent" ? took : null,
    );
  return {
    record,
    queue(messageId: string, call: Parameters<ClientRecord["note"]>[1] = null): void {
      note("queued", { type: "track", messageId, messageBytes: 10 }, call);
    },
    flush(...batches: { batchId: string; messages: number }[]): void {
      const all = batches.reduce((sum, { messages }) => sum + messages, 0);
      note("flushed", {
        reason: "size",
        messages: all,
        batches: batches.map((batch) => ({ ...batch, bytes: 7 * batch.messages })),
      });
    },
    begin: (batchId: string, tries = 1): void =>
      note("sending", { batchId, messages: 1, batchBytes: 99, tries }),
    send: (batchId: string, messages = 1): void =>
      note("sent", { batchId, messages, tries: 1, answer: { ...answer, status: 200 } }),
    fail: (batchId: string, messages = 1): void =>
      note("failed", { batchId, messages, tries: 1, failure: "no", answer: null }),
    close: (): void => note("closed", {}),
    retry(batchId: string, tookThat: typeof took | null = took): void {
      const event = {
        event: "retried" as const,
        batchId,
        messages: 1,
        tries: 1,
        failure: "503",
        answer,
        nextTryAt: 5000,
        at: 1000,
        state,
      };
      record.note(event, null, tookThat);
    },
  };
}

test("a flush moves the oldest calls of the queue into its batches, in order, and names a hundred of each", () => {
  const { record, queue, flush } = startRecord();
  for (let call = 1; call <= 253; call += 1) queue(`m${call}`, { event: `E${call}`, userId: null });
  expect(record.queue).toHaveLength(100);
  expect(record.queue[0]).toEqual({ type: "track", messageId: "m1", event: "E1", userId: null });
  flush({ batchId: "b1", messages: 150 }, { batchId: "b2", messages: 2 });
  const [second, first] = record.batches(10, null).items;
  expect(first?.calls.map(({ messageId }) => messageId)).toEqual(
    Array.from({ length: 100 }, (_, nth) => `m${nth + 1}`),
  );
  expect(second?.calls.map(({ messageId }) => messageId)).toEqual(["m151", "m152"]);
  expect(first).toMatchObject({
    id: "b1",
    number: 1,
    state: "queued",
    reason: "size",
    flushedAt: 1000,
    messages: 150,
    bytes: 1050,
  });
  expect([second?.number, second?.tries, second?.nextTryAt]).toEqual([2, [], null]);
  expect(record.queue.map(({ messageId }) => messageId)).toEqual(
    Array.from({ length: 100 }, (_, nth) => `m${nth + 153}`),
  );
  expect([record.underWay, record.current]).toEqual([2, null]);
});

test("a batch has its tries, and what became of each", () => {
  const { record, queue, flush, begin, retry, send, close } = startRecord();
  queue("m1");
  expect(record.queue).toEqual([{ type: "track", messageId: "m1", event: null, userId: null }]);
  flush({ batchId: "b1", messages: 1 });
  begin("b1");
  const onTheWire = {
    startedAt: 1000,
    durationMs: null,
    simulated: false,
    outcome: null,
    status: null,
    failure: null,
  };
  const empty = { answer: "", answerLength: 0 };
  expect(record.current).toMatchObject({
    state: "sending",
    bytes: 99,
    nextTryAt: null,
    tries: [{ ...onTheWire, ...empty }],
  });
  retry("b1");
  const failed = {
    durationMs: 12,
    simulated: true,
    outcome: "http_error",
    status: 503,
    failure: "503",
    answer: "busy",
    answerLength: 4,
  };
  expect(record.current).toMatchObject({
    state: "waiting",
    nextTryAt: 5000,
    tries: [{ startedAt: 1000, ...failed }],
  });
  expect(record.counts).toEqual({ calls: 1, sent: 0, failed: 0, batches: 0, retries: 1 });
  begin("b1", 2);
  expect(record.current).toMatchObject({ state: "sending", nextTryAt: null });
  send("b1");
  expect([record.underWay, record.current]).toEqual([0, null]);
  expect(record.batches(1, null)).toMatchObject({
    items: [
      {
        state: "sent",
        nextTryAt: null,
        tries: [failed, { ...failed, outcome: "success", status: 200, failure: null }],
      },
    ],
    nextCursor: null,
    total: 1,
    dropped: 0,
  });
  expect(record.counts).toEqual({ calls: 1, sent: 1, failed: 0, batches: 1, retries: 1 });
  close();
  expect(record.log(10, null).items.map(({ event }) => event)).toEqual([
    "closed",
    "sent",
    "sending",
    "retried",
    "sending",
    "flushed",
    "queued",
  ]);
});

test("a try without an answer ended by what the wire says, and a batch given up while it waits keeps its last try", () => {
  const { record, flush, begin, fail, retry } = startRecord();
  flush({ batchId: "b1", messages: 3 }, { batchId: "b2", messages: 4 });
  begin("b1");
  fail("b1", 3);
  const given = { outcome: "timeout", status: null, failure: "no", answer: "", answerLength: 0 };
  expect(record.batches(1, 2).items).toMatchObject([{ id: "b1", state: "failed", tries: [given] }]);
  begin("b2");
  retry("b2");
  retry("b2", null);
  expect(record.current?.tries).toMatchObject([{ outcome: "http_error", status: 503 }]);
  expect(record.counts).toEqual({ calls: 0, sent: 0, failed: 3, batches: 1, retries: 2 });
});

test("an answer is kept up to its first 2,000 characters, with its length", () => {
  const { record, flush, begin } = startRecord();
  flush({ batchId: "b1", messages: 1 });
  begin("b1");
  const body = "x".repeat(2001);
  record.note(
    {
      event: "sent",
      batchId: "b1",
      messages: 1,
      tries: 1,
      answer: { ...answer, status: 200, body },
      at: 1,
      state,
    },
    null,
    took,
  );
  const [attempt] = record.batches(1, null).items[0]?.tries ?? [];
  expect([attempt?.answer.length, attempt?.answerLength]).toEqual([2000, 2001]);
});

test("what a reader was given does not change, and events of unknown batches change nothing", () => {
  const { record, flush, begin, send, fail, retry } = startRecord();
  for (const act of [begin, send, fail, retry]) act("nobody");
  expect(record.counts).toEqual({ calls: 0, sent: 0, failed: 0, batches: 0, retries: 0 });
  flush({ batchId: "b1", messages: 1 });
  const queued = record.batches(1, null).items[0];
  begin("b1");
  const { counts, current } = record;
  retry("b1");
  expect([queued?.state, queued?.tries]).toEqual(["queued", []]);
  expect([counts.retries, current?.state, current?.tries[0]?.status]).toEqual([0, "sending", null]);
});

describe("pages", () => {
  test("of batches go from the newest to the oldest, those under way and those that ended in one order", () => {
    const { record, flush, send } = startRecord();
    flush(...["b1", "b2", "b3", "b4", "b5"].map((batchId) => ({ batchId, messages: 1 })));
    expect(record.batches(2, null).nextCursor).toBe(4);
    for (const batchId of ["b1", "b2", "b3"]) send(batchId);
    const page = (limit: number, before: number | null) => {
      const { items, nextCursor, total } = record.batches(limit, before);
      return [items.map(({ number }) => number), nextCursor, total];
    };
    expect(page(2, null)).toEqual([[5, 4], 4, 5]);
    expect(page(2, 4)).toEqual([[3, 2], 2, 5]);
    expect(page(2, 2)).toEqual([[1], null, 5]);
    expect(page(4, null)).toEqual([[5, 4, 3, 2], 2, 5]);
    expect(page(5, null)).toEqual([[5, 4, 3, 2, 1], null, 5]);
    expect(page(5, 1)).toEqual([[], null, 5]);
    send("b5");
    send("b4");
    expect(page(2, null)).toEqual([[5, 4], 4, 5]);
    expect(page(1, 2)).toEqual([[1], null, 5]);
  });

  test("of batches end at the two hundredth that has ended, and count those that were removed", () => {
    const { record, flush, send } = startRecord();
    const numbers = Array.from({ length: 202 }, (_, nth) => nth + 1);
    flush(...numbers.map((number) => ({ batchId: `b${number}`, messages: 1 })));
    for (const number of numbers.slice(0, 200)) send(`b${number}`);
    expect(record.batches(1, null)).toMatchObject({ total: 202, dropped: 0 });
    for (const number of numbers.slice(200)) send(`b${number}`);
    const { items, ...page } = record.batches(500, null);
    expect([items.length, items[0]?.number, items.at(-1)?.number]).toEqual([200, 202, 3]);
    expect(page).toEqual({ nextCursor: null, total: 200, dropped: 2 });
  });

  test("of the log go from the newest to the oldest line, and end at the thousandth", () => {
    const { record, queue } = startRecord();
    for (let line = 1; line <= 1000; line += 1) queue(`m${line}`);
    const page = (limit: number, before: number | null) => {
      const { items, ...rest } = record.log(limit, before);
      return { numbers: items.map(({ number }) => number), ...rest };
    };
    expect(page(2, null)).toEqual({
      numbers: [1000, 999],
      nextCursor: 999,
      total: 1000,
      dropped: 0,
    });
    expect(page(2, 3)).toEqual({ numbers: [2, 1], nextCursor: null, total: 1000, dropped: 0 });
    queue("m1001");
    expect(page(1, 3)).toEqual({ numbers: [2], nextCursor: null, total: 1000, dropped: 1 });
    expect(page(1, 2)).toEqual({ numbers: [], nextCursor: null, total: 1000, dropped: 1 });
    expect(page(1, 1)).toEqual({ numbers: [], nextCursor: null, total: 1000, dropped: 1 });
    expect(page(1, 5000)).toEqual({ numbers: [1001], nextCursor: 1001, total: 1000, dropped: 1 });
    expect(record.log(1, null).items).toMatchObject([
      { number: 1001, at: 1000, event: "queued", line: expect.stringContaining("m1001") as string },
    ]);
  });

  test("of an empty record are empty", () => {
    const { record } = startRecord();
    expect(record.batches(5, null)).toEqual({ items: [], nextCursor: null, total: 0, dropped: 0 });
    expect(record.log(5, null)).toEqual({ items: [], nextCursor: null, total: 0, dropped: 0 });
  });

  test("of the log hold a megabyte of lines, and the newest line whatever its length", () => {
    const { record, queue } = startRecord();
    const half = "h".repeat(512 * 1024 - 100);
    queue(half);
    queue(half);
    expect(record.log(9, null).total).toBe(2);
    queue("short");
    queue(half);
    expect(record.log(9, null).items.map(({ number }) => number)).toEqual([4, 3, 2]);
    queue("l".repeat(2 * 1024 * 1024));
    expect(record.log(9, null)).toMatchObject({ total: 1, dropped: 4 });
    queue("after");
    queue("that");
    expect(record.log(9, null).items.map(({ number }) => number)).toEqual([7, 6]);
  });

  test("of the log hold exactly a megabyte, and not one character more", () => {
    for (const [more, total] of [
      [0, 2],
      [1, 1],
    ] as const) {
      const { record, queue } = startRecord();
      queue("m");
      const around = (record.log(1, null).items[0]?.line.length ?? 0) - 1;
      queue("m".repeat(1024 * 1024 - 2 * around - 1 + more));
      expect(record.log(9, null).total).toBe(total);
    }
  });
});
