/**
 * The life of a simulated client: closed, opened again, changed, deleted, reset, kept over a
 * restart, moved to another installation.
 */

import { test as base, describe, expect } from "vitest";
import { starting, until } from "../support/running-app.ts";
import { clientOf, received, startWithClient } from "../support/simulated-client.ts";

const test = base.extend("start", starting);

const unavailable = [{ do: "answer" as const, status: 503 }];

describe("close", () => {
  test("in the middle of a retry goes on trying, sends the rest, and takes calls again only when it is opened", async ({
    start,
  }) => {
    const { app, id, source, track, get, batches, lines } = await startWithClient(start, {
      flushAt: 2,
    });
    await app.call("sources.update", {
      id: source.id,
      faults: [{ do: "answer", status: 503, times: 2 }],
    });
    await track(3);
    await app.settle();
    expect(await app.call("clients.close", { id })).toMatchObject({
      state: "closing",
      queued: 0,
      underWay: 2,
    });
    expect(
      await app.refused("clients.call", {
        id,
        type: "track",
        call: { userId: "u", event: "Late" },
      }),
    ).toEqual({
      status: 409,
      code: "closed",
    });
    expect(await app.refused("clients.generate", { id, count: 1, perSecond: 1 })).toEqual({
      status: 409,
      code: "closed",
    });
    await app.advance({ to: "next-due" });
    expect(await get()).toMatchObject({
      state: "closing",
      current: { state: "waiting", tries: [{}, {}] },
    });
    await app.advance({ byMs: 10_000 });
    await app.settle();
    expect(await get()).toMatchObject({
      state: "closed",
      underWay: 0,
      bytes: 0,
      counts: { sent: 3, failed: 0 },
    });
    expect(await batches()).toMatchObject([
      { reason: "close", messages: 1 },
      { reason: "size", messages: 2 },
    ]);
    expect((await lines()).at(-1)).toBe("analytics closed");
    expect(await received(app)).toBe(3);

    expect(await app.call("clients.reopen", { id })).toMatchObject({
      state: "running",
      counts: { sent: 3 },
    });
    expect(await track(1)).toMatchObject({ queued: 1 });
  });

  test("with a time gives up what is not sent by then", async ({ start }) => {
    const { app, id, source, track, get, batches } = await startWithClient(start, { flushAt: 2 });
    await app.call("sources.update", { id: source.id, faults: unavailable });
    await track(3);
    await app.settle();
    await app.call("clients.close", { id, timeoutMs: 60 });
    await app.advance({ byMs: 60 });
    await until(async () => (await get()).state === "closed");
    expect(await batches()).toMatchObject([
      { state: "failed", messages: 1, tries: [] },
      { state: "failed", messages: 2, nextTryAt: null, tries: [{ status: 503 }] },
    ]);
    expect(await get()).toMatchObject({ counts: { sent: 0, failed: 3 } });
    expect(await app.call("clock.get", {})).toMatchObject({ nextDueAt: null });
  });
});

describe("changing what only a new client has", () => {
  test("sends what is queued as it was, and the rest as it is then", async ({ start }) => {
    const { app, id, track, batches } = await startWithClient(start);
    const other = await app.call("sources.create", { name: "Other", writeKey: "other" });
    await track(3);
    expect(
      await app.call("clients.update", { id, sourceId: other.id, wire: "v1.2" }),
    ).toMatchObject({
      queued: 0,
      underWay: 1,
      writeKey: "other",
      sourceId: other.id,
      url: `${app.ingestUrl}/v1/import`,
    });
    await track(2);
    await app.call("clients.flush", { id });
    await app.settle();
    expect(await batches()).toMatchObject([
      { messages: 2, reason: "flush" },
      { messages: 3, reason: "close" },
    ]);
    const { items } = await app.call("messages.list", { sourceId: other.id });
    expect(items).toHaveLength(2);
    const newest = await app.call("messages.get", { id: items[0]?.id ?? "" });
    expect(newest.request.path).toBe("/v1/import");
    expect(Object.fromEntries(newest.request.headers)["User-Agent"]).toBe(
      "analytics-go (version: 1.2.0)",
    );
    expect(await received(app)).toBe(5);
  });

  test("is refused when it is wrong, in a sentence, and changes nothing", async ({ start }) => {
    const { app, id, get } = await startWithClient(start);
    const before = await get();
    for (const [changes, said] of [
      [{ name: " " }, "needs a name"],
      [{ flushAt: 0 }, "flushAt must be a whole number of messages from 1 to 10000."],
      [{ flushAt: 10_001 }, "flushAt must be a whole number of messages from 1 to 10000."],
      [{ flushAfter: 0 }, "flushAfter must be a whole number of milliseconds"],
      [{ flushAfter: 86_400_001 }, "milliseconds from 1 to 86400000."],
      [{ endpoint: "localhost:4700" }, "endpoint must be a full http or https URL"],
      [{ sourceId: "src_000000009" }, "There is no source src_000000009"],
      [{ sourceId: before.sourceId ?? "", writeKey: "k" }, "not both"],
      [{ name: "n".repeat(2001) }, "at most 2000 characters"],
      [{ writeKey: "k".repeat(2001) }, "at most 2000 characters"],
      [{ endpoint: `http://h/${"p".repeat(1992)}` }, "at most 2000 characters"],
    ] as const) {
      const { status, body } = await app.answer("clients.update", { id, ...changes });
      expect([status, (body as { message: string }).message]).toEqual([
        400,
        expect.stringContaining(said),
      ]);
    }
    expect(await get()).toEqual(before);
    const largest = {
      ...{ flushAt: 10_000, flushAfter: 86_400_000, name: "n".repeat(2000) },
      ...{ writeKey: "k".repeat(2000), endpoint: `http://h/${"p".repeat(1991)}` },
    };
    for (const good of [largest, { flushAt: 1, flushAfter: 1 }])
      expect(await app.call("clients.update", { id, ...good })).toMatchObject(good);
    const { body } = await app.answer("clients.create", { name: "Nobody's" });
    expect(body).toMatchObject({
      message: "A client needs a source, or a write key: pass sourceId or writeKey.",
    });
    expect(await app.refused("clients.update", { id: "clt_000000009", name: "A" })).toEqual({
      status: 404,
      code: "not_found",
    });
  });
});

describe("a client that is deleted", () => {
  test("is gone at once, and what it held is sent", async ({ start }) => {
    const { app, id, track } = await startWithClient(start);
    await track(4);
    expect(await app.call("clients.delete", { id })).toEqual({ id });
    expect((await app.call("clients.list", {})).items).toEqual([]);
    expect(await app.refused("clients.get", { id })).toEqual({ status: 404, code: "not_found" });
    await app.settle();
    expect(await received(app)).toBe(4);
  });
});

describe("reset", () => {
  test("of messages empties queues and records", async ({ start }) => {
    const { app, id, source, track, get, batches, lines } = await startWithClient(start, {
      flushAt: 2,
    });
    await app.call("sources.update", { id: source.id, faults: unavailable });
    await track(3);
    await app.settle();
    await app.call("clients.generate", { id, count: 100, perSecond: 1 });
    await app.call("pipeline.reset", { what: "messages" });
    expect(await get()).toMatchObject({
      name: "Checkout",
      queued: 0,
      underWay: 0,
      bytes: 0,
      generating: null,
      counts: { calls: 0, retries: 0 },
    });
    expect(await batches()).toEqual([]);
    expect(await lines()).toEqual([]);
    expect(await app.call("clock.get", {})).toMatchObject({ nextDueAt: null });
    await app.call("sources.update", { id: source.id, faults: [] });
    await track(2);
    await app.settle();
    expect(await received(app)).toBe(2);
  });

  test("of everything removes them, and nothing of theirs arrives afterwards", async ({
    start,
  }) => {
    const { app, track } = await startWithClient(start);
    await track(5);
    await app.call("pipeline.reset", { what: "everything" });
    expect((await app.call("clients.list", {})).items).toEqual([]);
    await app.advance({ byMs: 60_000 });
    expect((await app.call("unknownKeys.list", {})).items).toEqual([]);
    expect(await app.call("clients.create", { name: "New", writeKey: "k" })).toMatchObject({
      id: "clt_000000001",
    });
  });
});

describe("a restart", () => {
  test("sends what was queued, and comes back with an empty queue, the same settings and a new port", async ({
    start,
  }) => {
    const data = await start.directory();
    const { app, id, track } = await startWithClient(
      start,
      { flushAt: 30, flushAfter: 90_000, wire: "v2.0", strict: false },
      data,
    );
    await track(7);
    await app.stop();

    const again = await start.app({ data });
    const { get, track: trackAgain } = clientOf(again, id);
    expect(await received(again)).toBe(7);
    expect(await get()).toMatchObject({
      ...{
        name: "Checkout",
        flushAt: 30,
        flushAfter: 90_000,
        wire: "v2.0",
        strict: false,
        endpoint: null,
      },
      ...{ queued: 0, underWay: 0, counts: { calls: 0 }, url: `${again.ingestUrl}/v1/batch` },
    });
    await trackAgain(1);
    await again.call("clients.flush", { id });
    await again.settle();
    expect(await received(again)).toBe(8);
  });

  test("does not wait until a server that does not answer is there again", async ({ start }) => {
    const data = await start.directory();
    const { app, id, source, track } = await startWithClient(start, { flushAt: 2 }, data);
    await app.call("sources.update", { id: source.id, faults: unavailable });
    await track(3);
    await app.settle();
    await app.stop();
    const again = await start.app({ data });
    expect(await clientOf(again, id).get()).toMatchObject({ queued: 0 });
    expect(await received(again)).toBe(0);
  });
});

describe("calls made by itself", () => {
  test("come at a pace of the clock, the same for the same seed, until they are stopped", async ({
    start,
  }) => {
    const events = async (): Promise<unknown[]> => {
      const { app, id, get } = await startWithClient(start, { flushAfter: 60_000 });
      expect(await app.call("clients.generate", { id, count: 12, perSecond: 2 })).toMatchObject({
        generating: { count: 12, made: 0, perSecond: 2 },
      });
      await app.settle();
      expect(await get()).toMatchObject({ queued: 1, generating: { made: 1 } });
      await app.advance({ byMs: 3000 });
      expect(await get()).toMatchObject({ queued: 7, flushAt: 20, generating: { made: 7 } });
      await app.call("clients.stopGenerating", { id });
      await app.advance({ byMs: 3000 });
      const { queue, generating } = await get();
      expect(generating).toBeNull();
      await app.call("clients.generate", { id, count: 1, perSecond: 1 });
      await app.settle();
      expect(await get()).toMatchObject({ queued: 8, generating: null });
      return queue.map(({ type, event, userId }) => [type, event, userId]);
    };
    const first = await events();
    expect(first).toHaveLength(7);
    expect(new Set(first.map(String)).size).toBeGreaterThan(4);
    expect(await events()).toEqual(first);
  });

  test("are accepted by a strict client and by the pipeline, all of them", async ({ start }) => {
    const { app, id, get } = await startWithClient(start);
    await app.call("clients.generate", { id, count: 500, perSecond: 1000 });
    await app.advance({ byMs: 6000 });
    await app.settle();
    expect(await get()).toMatchObject({
      generating: null,
      queued: 0,
      counts: { calls: 500, sent: 500, failed: 0 },
    });
    const { messages } = await app.call("stats.get", {});
    expect(messages.byState).toMatchObject({ filtered: 500 });
    expect(Object.keys(messages.byType).toSorted()).toEqual(["identify", "page", "track"]);
  });
});

describe("the record", () => {
  test("is read in pages, newest first, and keeps the newest", async ({ start }) => {
    const { app, id, track, get } = await startWithClient(start, { flushAt: 1 });
    await track(260);
    await app.settle();
    expect(await get()).toMatchObject({ counts: { calls: 260, batches: 260 } });
    const first = await app.call("clients.batches", { id, limit: 150 });
    expect(first).toMatchObject({ total: 200, dropped: 60 });
    expect(first.items.map(({ number }) => number)).toEqual(
      Array.from({ length: 150 }, (_, place) => 260 - place),
    );
    const second = await app.call("clients.batches", {
      id,
      limit: 150,
      cursor: first.nextCursor ?? "",
    });
    expect(second.items.map(({ number }) => number)).toEqual(
      Array.from({ length: 50 }, (_, place) => 110 - place),
    );
    expect(second.nextCursor).toBeNull();

    const log = await app.call("clients.log", { id, limit: 999 });
    expect(log).toMatchObject({ total: 1000, dropped: 40 });
    const rest = await app.call("clients.log", { id, limit: 999, cursor: log.nextCursor ?? "" });
    expect(rest).toMatchObject({ items: [{ number: 41 }], nextCursor: null });
    expect(await app.refused("clients.log", { id, cursor: "first" })).toEqual({
      status: 400,
      code: "invalid",
    });
  });

  test("lists what is queued behind a batch that is tried again, however much it is, and a full queue refuses calls", async ({
    start,
  }) => {
    const { app, id, source, get } = await startWithClient(start, { flushAt: 10 });
    await app.call("sources.update", { id: source.id, faults: unavailable });
    const text = "x".repeat(32_000);
    let status = 201;
    let made = 0;
    for (; status < 400; made += 1) {
      ({ status } = await app.answer("clients.call", {
        id,
        type: "track",
        call: { userId: "u", event: "Big", properties: { text } },
      }));
    }
    expect([status, made]).toEqual([409, expect.any(Number)]);
    expect(made).toBeGreaterThan(250);
    await app.settle();
    const { underWay, bytes } = await get();
    expect(underWay).toBeGreaterThan(24);
    expect(bytes).toBeLessThanOrEqual(8 * 1024 * 1024);
    const { items, total } = await app.call("clients.batches", { id, limit: 5 });
    expect(total).toBe(underWay);
    expect(items.map(({ state }) => state)).toEqual(Array.from({ length: 5 }, () => "queued"));
    expect((await get()).current).toMatchObject({ number: 1, state: "waiting" });
    await app.call("pipeline.reset", { what: "messages" });
  });
});

test("the configuration carries them to another installation, once", async ({ start }) => {
  const { app } = await startWithClient(start, { flushAt: 7, endpoint: "http://127.0.0.1:9/a" });
  const document = await app.call("configuration.export", {});
  expect(document.clients).toEqual([
    {
      name: "Checkout",
      writeKey: "key",
      wire: "v2.1",
      flushAt: 7,
      flushAfter: 5000,
      endpoint: "http://127.0.0.1:9/a",
      strict: true,
    },
  ]);
  const other = await start.app();
  expect(await other.call("configuration.import", document)).toEqual({ created: 2, updated: 1 });
  expect(await other.call("configuration.import", document)).toEqual({ created: 0, updated: 3 });
  expect((await other.call("clients.list", {})).items).toMatchObject([
    { name: "Checkout", flushAt: 7, sourceId: "src_000000001" },
  ]);
});

test("every change of them is in the feed, many close together as one", async ({ start }) => {
  const { app, id, track } = await startWithClient(start, { flushAt: 50 });
  const from = app.changes.sequence();
  await track(50);
  await app.settle();
  const changes = await until(() => {
    const since = app.changes.since(from)?.filter(({ area }) => area === "clients") ?? [];
    return since.reduce((sum, { count }) => sum + count, 0) >= 53 ? since : undefined;
  });
  expect(changes.length).toBeLessThan(20);
  expect(changes.every(({ ids }) => ids.join() === id)).toBe(true);
});
