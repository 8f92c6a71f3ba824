/**
 * Simulated clients in the whole pipeline: on its clock, through its ingest port, against its test
 * endpoints.
 */

import { test as base, describe, expect } from "vitest";
import type { InputOf } from "../../src/contract/contract.ts";
import { starting, until } from "../support/running-app.ts";
import { received, startWithClient } from "../support/simulated-client.ts";

const test = base.extend("start", starting);

test("of version 3 has its size, its strictness and its requests", async ({ start }) => {
  const { app, id, get, track } = await startWithClient(start, { wire: "v3" });
  expect(await get()).toMatchObject({ wire: "v3", flushAt: 250, strict: false });
  await app.call("clients.call", { id, type: "page", call: { anonymousId: "a" } });
  await track(249);
  await app.settle();
  expect((await get()).counts).toMatchObject({ sent: 250, batches: 1 });
  const { items } = await app.call("messages.list", { limit: 1 });
  const { request, raw } = await app.message(items[0]?.id ?? "");
  expect(request.headers).toContainEqual(["User-Agent", "analytics-go (version: 3.0.0)"]);
  expect(raw).toMatch(
    /^\{"type":"track",.*"timestamp":"[\d:T-]{19}\.\d{4,9}(?:Z|[+-]\d\d:\d\d)"\}$/,
  );
});

describe("the queue", () => {
  test("of 20 waits with 19 until five seconds of the clock have passed, and not of real time", async ({
    start,
  }) => {
    const { app, track, get, batches, lines } = await startWithClient(start);
    const at = await app.toWholeSecond();
    await app.advance({ byMs: 1000 });
    const filled = await track(19);
    expect(filled).toMatchObject({
      queued: 19,
      flushAt: 20,
      underWay: 0,
      current: null,
      nextFlushAt: new Date(Date.parse(filled.createdAt) + 5000).toISOString(),
    });
    expect(filled.queue).toHaveLength(19);
    expect(filled.queue[6]).toMatchObject({ type: "track", event: "Viewed 6", userId: "u1" });
    const clock = await app.call("clock.get", {});
    expect(clock.nextDueAt).toBe(filled.nextFlushAt);
    expect(await received(app)).toBe(0);

    await app.advance({ to: "next-due" });
    await app.settle();
    expect(await get()).toMatchObject({
      queued: 0,
      nextFlushAt: null,
      underWay: 0,
      counts: { calls: 19, sent: 19, failed: 0, batches: 1, retries: 0 },
    });
    expect(await received(app)).toBe(19);
    const [batch] = await batches();
    expect(batch).toMatchObject({
      number: 1,
      state: "sent",
      reason: "time",
      messages: 19,
      tries: [{ outcome: "success", status: 200, simulated: false }],
    });
    expect(batch?.calls.map(({ event }) => event)).toEqual(filled.queue.map(({ event }) => event));
    expect(Date.parse(batch?.flushedAt ?? "") - at).toBeGreaterThanOrEqual(4000);
    const written = await lines();
    expect(written[6]).toBe(`analytics queued track ${filled.queue[6]?.messageId} (7 of 20)`);
    expect(written.slice(19)).toEqual([
      "analytics flushing 19 messages in 1 batch (interval reached)",
      `analytics sending batch ${batch?.id}: 19 messages, ${batch?.bytes} bytes, try 1`,
      expect.stringMatching(/^analytics answer to batch .*: 200 \{"success":true/),
    ]);
  });

  test("is flushed by the 20th call, which is told so", async ({ start }) => {
    const { app, id, track, batches } = await startWithClient(start);
    await track(19);
    const last = await app.call("clients.call", {
      id,
      type: "identify",
      call: { userId: "u1", traits: { plan: "pro" } },
    });
    expect(last.client).toMatchObject({ queued: 0, nextFlushAt: null, underWay: 1 });
    await app.settle();
    const [batch] = await batches();
    expect(batch).toMatchObject({ id: last.batchId, reason: "size", messages: 20, state: "sent" });
    const arrived = await app.call("messages.list", { search: last.messageId });
    expect(arrived.items).toMatchObject([{ type: "identify", messageId: last.messageId }]);
  });

  test("of more than the new size goes out at once, and a size that is not reached changes nothing", async ({
    start,
  }) => {
    const { app, id, track, batches } = await startWithClient(start);
    await track(7);
    expect(await app.call("clients.update", { id, flushAt: 8 })).toMatchObject({
      queued: 7,
      flushAt: 8,
    });
    expect(await app.call("clients.update", { id, flushAt: 5 })).toMatchObject({
      queued: 0,
      flushAt: 5,
      underWay: 2,
    });
    await app.settle();
    const sent = (await batches()).map(({ reason, messages }) => `${messages} for ${reason}`);
    expect(sent.toSorted()).toEqual(["2 for size", "5 for size"]);
    expect(await received(app)).toBe(7);
  });

  test("counts down to an interval that is changed while it counts", async ({ start }) => {
    const { app, id, track, get } = await startWithClient(start);
    const { createdAt } = await track(3);
    const madeAt = Date.parse(createdAt);
    await app.advance({ byMs: 2000 });
    expect(await app.call("clients.update", { id, flushAfter: 60_000 })).toMatchObject({
      queued: 3,
      nextFlushAt: new Date(madeAt + 60_000).toISOString(),
    });
    await app.advance({ byMs: 30_000 });
    expect(await get()).toMatchObject({ queued: 3 });
    expect(await app.call("clients.update", { id, flushAfter: 40_000 })).toMatchObject({
      nextFlushAt: new Date(madeAt + 40_000).toISOString(),
    });
    // More has passed already.
    expect(await app.call("clients.update", { id, flushAfter: 10_000 })).toMatchObject({
      queued: 0,
      underWay: 1,
    });
    await app.settle();
    expect(await received(app)).toBe(3);
  });

  test("neither keeps an advance to idle going nor is waited for", async ({ start }) => {
    const { app, track, get } = await startWithClient(start);
    await track(2);
    expect(await app.settle()).toMatchObject({ settled: true });
    const before = await app.call("clock.get", {});
    expect((await app.advance({ to: "idle" })).now).toBe(before.now);
    expect(await get()).toMatchObject({ queued: 2 });
  });

  test("is flushed when asked, without waiting for the answer", async ({ start }) => {
    const { app, id, track, batches } = await startWithClient(start);
    await track(2);
    expect(await app.call("clients.flush", { id })).toMatchObject({ queued: 0, underWay: 1 });
    await app.settle();
    expect(await batches()).toMatchObject([{ reason: "flush", messages: 2 }]);
    expect(await app.call("clients.flush", { id })).toMatchObject({ underWay: 0 });
  });

  test("takes no call that is wrong, and says which field is", async ({ start }) => {
    const { app, id, get } = await startWithClient(start);
    const wrong: [InputOf<"clients.call">["type"], unknown, string, string | null][] = [
      ["track", { userId: "u" }, "invalid_call", "event"],
      ["page", { anonymousId: "a" }, "invalid_call", "userId"],
      ["alias", { userId: "u" }, "invalid_call", "previousId"],
      ["identify", { userId: "u", traits: "none" }, "invalid_call", "traits"],
      ["identify", { userId: "u", properties: {} }, "invalid_call", "properties"],
      ["identify", null, "invalid_call", null],
      ["identify", undefined, "invalid_call", null],
      ["track", { userId: "u", event: "x".repeat(33_000) }, "call_too_large", null],
    ];
    for (const [type, call, code, field] of wrong) {
      const { status, body } = await app.answer("clients.call", { id, type, call });
      expect([status, (body as { code: string }).code]).toEqual([400, code]);
      expect((body as { data?: { field: string } }).data?.field ?? null).toBe(field);
    }
    expect(await get()).toMatchObject({ queued: 0, counts: { calls: 0 } });
    await app.call("clients.update", { id, strict: false });
    await app.call("clients.call", { id, type: "page", call: { anonymousId: "a", name: "Home" } });
    expect((await get()).queue).toMatchObject([{ type: "page", event: "Home", userId: "a" }]);
  });
});

describe("trouble", () => {
  test("at the ingest port is retried on the clock, and each try is on record with its answer", async ({
    start,
  }) => {
    const { app, source, track, get, batches, lines } = await startWithClient(start, {
      flushAt: 2,
    });
    await app.call("sources.update", {
      id: source.id,
      faults: [
        { do: "answer", status: 503, times: 1 },
        { do: "cut", times: 1 },
        { do: "answer", status: 429, retryAfter: 30, times: 1 },
      ],
    });
    await track(5);
    await app.settle();
    const first = await get();
    expect(first).toMatchObject({
      queued: 1,
      underWay: 2,
      current: { number: 1, state: "waiting", tries: [{ outcome: "http_error", status: 503 }] },
    });
    const started = Date.parse(first.current?.tries[0]?.startedAt ?? "");
    const delay = Date.parse(first.nextTryAt ?? "") - started;
    expect(delay).toBeGreaterThanOrEqual(50);
    expect(delay).toBeLessThanOrEqual(100);
    expect(await batches()).toMatchObject([
      { number: 2, state: "queued", tries: [] },
      { number: 1 },
    ]);
    expect(await app.call("clock.get", {})).toMatchObject({ nextDueAt: first.nextTryAt });

    await app.advance({ to: "next-due" });
    await app.advance({ to: "next-due" });
    await app.settle();
    const asked = await get();
    expect(
      Date.parse(asked.nextTryAt ?? "") - Date.parse(asked.current?.tries[2]?.startedAt ?? ""),
    ).toBe(30_000);
    await app.advance({ byMs: 31_000 });
    await app.settle();
    expect(await get()).toMatchObject({
      queued: 0,
      underWay: 0,
      counts: { calls: 5, sent: 5, failed: 0, batches: 3, retries: 3 },
    });
    expect(
      (await batches()).map(({ number, state, tries }) => [
        number,
        state,
        tries.map(({ outcome }) => outcome),
      ]),
    ).toEqual([
      [3, "sent", ["success"]],
      [2, "sent", ["success"]],
      [1, "sent", ["http_error", "connection_error", "http_error", "success"]],
    ]);
    expect(await received(app)).toBe(5);
    const written = (await lines()).filter((line) => line.includes("again in"));
    expect(written).toHaveLength(3);
    expect(written[2]).toMatch(/^analytics batch .*, try 3: the answer was 429; again in 30 s$/);
  });

  test("is tried again at the same times for the same seed, and at others for another", async ({
    start,
  }) => {
    const delays = async (seed: number): Promise<number[]> => {
      const { app, source, track, get } = await startWithClient(start, { flushAt: 1 });
      await app.call("settings.update", { seed });
      await app.call("sources.update", { id: source.id, faults: [{ do: "answer", status: 503 }] });
      await track(1);
      await app.settle();
      for (let retry = 0; retry < 5; retry += 1) {
        await app.advance({ to: "next-due" });
        await app.settle();
      }
      const starts =
        (await get()).current?.tries.map(({ startedAt }) => Date.parse(startedAt)) ?? [];
      return starts.slice(1).map((at, place) => at - (starts[place] ?? 0));
    };
    const first = await delays(1);
    expect(first).toHaveLength(5);
    expect(await delays(1)).toEqual(first);
    expect(await delays(2)).not.toEqual(first);
  });

  test("with a write key that no source has fails the batch, which can be adopted", async ({
    start,
  }) => {
    const { app, id, track, batches, get } = await startWithClient(start, {
      writeKey: "nobody's",
      flushAt: 2,
    });
    expect(await get()).toMatchObject({ sourceId: null, writeKey: "nobody's" });
    await track(2);
    await app.settle();
    const [batch] = await batches();
    expect(batch).toMatchObject({
      state: "failed",
      messages: 2,
      tries: [{ outcome: "http_error", status: 401, failure: "the answer was 401" }],
    });
    expect(batch?.tries[0]?.answer).toContain("unknown_write_key");
    expect(await get()).toMatchObject({ counts: { failed: 2, sent: 0 } });
    const adopted = await app.call("unknownKeys.adopt", { writeKey: "nobody's", name: "Found" });
    expect(await received(app)).toBe(2);
    expect(await app.call("clients.get", { id })).toMatchObject({ sourceId: adopted.id });
  });

  test("a source that is deleted under it answers 401, as to a real client", async ({ start }) => {
    const { app, source, track, batches } = await startWithClient(start, { flushAt: 1 });
    await track(1);
    await app.settle();
    await app.call("sources.delete", { id: source.id });
    await track(1);
    await app.settle();
    expect(await batches()).toMatchObject([
      { state: "failed", tries: [{ status: 401 }] },
      { state: "sent" },
    ]);
  });

  test("of a test endpoint that hangs takes its ten seconds on the clock", async ({ start }) => {
    const { app, id, track, get, batches } = await startWithClient(start, { flushAt: 1 });
    const endpoint = await app.call("endpoints.create", {
      name: "Hanging",
      steps: [{ do: "hang" }, { do: "answer", delayMs: 3000 }, { do: "answer" }],
    });
    const base = endpoint.url.replace(`/${endpoint.path}`, "");
    await app.call("endpoints.update", { id: endpoint.id, path: "v1/batch" });
    expect(await app.call("clients.update", { id, endpoint: base })).toMatchObject({
      endpoint: base,
      url: `${base}/v1/batch`,
    });
    await track(1);
    await until(
      async () => (await app.call("endpoints.get", { id: endpoint.id })).position.received === 1,
    );
    expect(await app.settle()).toMatchObject({ settled: true });
    expect(await get()).toMatchObject({ current: { state: "sending" } });

    await app.advance({ byMs: 20_000 });
    await app.settle();
    expect(await batches()).toMatchObject([
      {
        state: "sent",
        tries: [
          {
            outcome: "timeout",
            durationMs: 10_000,
            simulated: true,
            failure: "no answer within 10000 ms",
          },
          { outcome: "success", durationMs: 3000, simulated: true },
        ],
      },
    ]);
    expect(await received(app)).toBe(0);
    const { items } = await app.call("endpoints.requests", { id: endpoint.id });
    expect(items).toHaveLength(2);
    expect(items[0]?.body).toBe(items[1]?.body);

    // Back to our own port.
    await app.call("clients.update", { id, endpoint: null });
    await track(1);
    await app.settle();
    expect(await received(app)).toBe(1);
  });

  test("a certificate that nobody vouches for is a tls_error, and one of the local authority is none", async ({
    start,
  }) => {
    const { app, id, track, get, batches } = await startWithClient(start, { flushAt: 1 });
    const endpoint = await app.call("endpoints.create", {
      name: "TLS",
      path: "v1/batch",
      steps: [{ do: "answer" }],
    });
    const selfSigned = endpoint.tlsUrl.replace("/v1/batch", "");
    await app.call("clients.update", { id, endpoint: selfSigned });
    await track(1);
    await app.settle();
    expect((await get()).current).toMatchObject({
      state: "waiting",
      tries: [{ outcome: "tls_error", status: null }],
    });
    await app.call("clients.update", { id, endpoint: selfSigned.replace("self-signed", "valid") });
    await app.advance({ to: "next-due" });
    await app.settle();
    expect(await batches()).toMatchObject([
      { state: "sent", tries: [{ outcome: "tls_error" }, { outcome: "success" }] },
    ]);
  });
});
