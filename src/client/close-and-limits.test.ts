import { afterEach, describe, expect, test } from "vitest";
import { startBatchServer, stopServers } from "../../test/support/batch-server.ts";
import { lastingPort } from "../../test/support/free-ports.ts";
import { start, startClient } from "../../test/support/observed-client.ts";
import { Analytics } from "./analytics.ts";
import type { AnalyticsOptions } from "./options.ts";

afterEach(stopServers);

describe("close", () => {
  test("sends what is queued, then refuses calls", async () => {
    const { server, client, track } = await start();
    track(7);
    const closed = client.close();
    expect(() => track(1)).toThrow(expect.objectContaining({ code: "closed" }));
    await closed;
    await client.close();
    expect(server.received.map(({ ids }) => ids.length)).toEqual([7]);
  });

  test("in the middle of a retry it goes on trying, and then sends the rest", async () => {
    const { server, client, time, track, next } = await start({ flushAt: 2 }, [{ status: 503 }]);
    const retried = next("retried");
    track(3);
    await retried;
    const closed = client.close();
    expect(client.state).toMatchObject({ queued: 0, batches: 2 });
    time.advanceBy(100);
    await closed;
    expect(server.received.map(({ ids }) => ids)).toEqual([
      ["id-1", "id-2"],
      ["id-1", "id-2"],
      ["id-4"],
    ]);
  });

  test("with a deadline it hands over what waits for a retry, and what waits behind it", async () => {
    const { server, client, time, track, next, errors } = await start({ flushAt: 2 }, [
      { status: 503 },
    ]);
    const retried = next("retried");
    track(3);
    await retried;
    const closed = client.close({ timeoutMs: 50 });
    time.advanceBy(50);
    await closed;
    expect(server.received).toHaveLength(1);
    expect(
      errors.map(({ messages, tries, status }) => [
        messages.map(({ messageId }) => messageId),
        tries,
        status,
      ]),
    ).toEqual([
      [["id-1", "id-2"], 1, 503],
      [["id-4"], 0, null],
    ]);
    expect(time.scheduled()).toEqual([]);
  });

  test("with a deadline it does not wait for an answer that does not come", async () => {
    const { client, time, track, errors } = await start({ size: 1 }, ["hang"]);
    track(1);
    const closed = client.close({ timeoutMs: 1000 });
    time.advanceBy(1000);
    await closed;
    expect(errors).toMatchObject([
      {
        tries: 1,
        message: "1 message was not sent: the client was closed before it could be sent.",
      },
    ]);
  });

  test("with no time at all it sends nothing more, and breaks off what is on the wire", async () => {
    const { server, client, track, next, errors } = await start({ flushAt: 2 }, ["hang"]);
    const sending = next("sending");
    track(5);
    await sending;
    await client.close({ timeoutMs: 0 });
    expect(errors.map(({ messages, tries }) => [messages.length, tries])).toEqual([
      [2, 1],
      [2, 0],
      [1, 0],
    ]);
    expect(server.received.length).toBeLessThanOrEqual(1);
  });

  test("leaves no timer behind", async () => {
    const { client, time, track } = await start();
    track(3);
    expect(time.scheduled()).toHaveLength(1);
    await client.close({ timeoutMs: 1000 });
    expect(time.scheduled()).toEqual([]);
  });
});

describe("limits", () => {
  const sized = (bytes: number) => ({
    userId: "u",
    event: "e",
    messageId: "m",
    timestamp: "t",
    properties: { text: "x".repeat(bytes) },
  });
  const bare = Buffer.byteLength(
    '{"properties":{"text":""},"userId":"u","event":"e","type":"track","messageId":"m","timestamp":"t"}',
  );

  test("a call may have 32,768 bytes and not one more; nothing of the one that is refused is queued", async () => {
    const { server, client } = await start();
    client.track(sized(32_768 - bare));
    expect(() => client.track(sized(32_769 - bare))).toThrow(
      expect.objectContaining({
        code: "call_too_large",
        message: "The track has 32769 bytes, more than the 32768 of one call.",
      }),
    );
    expect(client.state).toMatchObject({ queued: 1, bytes: 32_768 });
    await client.close();
    expect(Buffer.byteLength(JSON.stringify(server.received[0]?.messages[0]))).toBe(32_768);
  });

  test("bytes are counted, not characters", async () => {
    const { client } = await start();
    expect(() => client.track({ userId: "u", event: "é".repeat(16_384) })).toThrow(
      expect.objectContaining({ code: "call_too_large" }),
    );
    await client.close();
  });

  test("a batch may have 2,500 messages, more than which ingest does not accept", async () => {
    const { server, client, track } = await start({ flushAt: 3000 });
    track(3000);
    await client.close();
    expect(server.received.map(({ ids }) => ids.length)).toEqual([2500, 500]);
  });

  test.each([
    { over: 0, batches: [16] },
    { over: 1, batches: [15, 1] },
  ])(
    "a batch may have 512,000 bytes: with $over more it is $batches",
    async ({ over, batches }) => {
      const { server, client } = await start({ flushAt: 1000 });
      for (let call = 0; call < 15; call += 1) client.track(sized(32_000 - bare));
      const envelope =
        '{"context":{"library":{"name":"analytics-go","version":"2.1.0"}},"batch":[],"messageId":"id-1","sentAt":"2026-11-21T00:00:00+0000"}';
      client.track(sized(512_000 - 15 * 32_000 - 15 - envelope.length - bare + over));
      await client.close();
      expect(server.received.map(({ ids }) => ids.length)).toEqual(batches);
      expect(Buffer.byteLength(server.received[0]?.body ?? "")).toBe(
        over === 0 ? 512_000 : 15 * 32_000 + 14 + envelope.length,
      );
    },
  );

  test("with the server down the queue grows to its cap, then calls are refused, and the oldest arrive when it is back", async () => {
    const gone = await startBatchServer(undefined, await lastingPort());
    await gone.stop();
    const { client, time, next, events, errors } = startClient({
      endpoint: gone.url,
      maxQueueBytes: 100_000,
      flushAt: 5,
    });
    const retried = next("retried");
    const refused: number[] = [];
    for (let call = 0; call < 200; call += 1) {
      try {
        client.track({ ...sized(1000 - bare), messageId: undefined, event: String(call) });
      } catch (error) {
        expect(error).toMatchObject({ code: "queue_full" });
        refused.push(call);
      }
    }
    expect(refused.length).toBeGreaterThan(90);
    expect(Math.max(...events.map(({ state }) => state.bytes))).toBeLessThanOrEqual(100_000);
    expect(client.state.bytes).toBeGreaterThan(98_000);
    await retried;
    const back = await startBatchServer(undefined, gone.port);
    const closed = client.close();
    time.advanceBy(100);
    await closed;
    expect(back.received.flatMap(({ messages }) => messages.map(({ event }) => event))).toEqual(
      Array.from({ length: 200 - refused.length }, (_, call) => String(call)),
    );
    expect([refused[0], errors]).toEqual([200 - refused.length, []]);
  });
});

test("an observer may make calls; they come after what was there", async () => {
  const { server, client, track } = await start({
    size: 2,
    onEvent: (event) => {
      if (event.event === "flushed" && event.messages === 2 && client.state.batches === 1) track(3);
    },
  });
  track(2);
  await client.close();
  expect(server.received.map(({ messages }) => messages.map(({ event }) => event))).toEqual([
    ["Event 0", "Event 1"],
    ["Event 0", "Event 1"],
    ["Event 2"],
  ]);
});

test("a large default context leaves room for a message in each batch, and each batch has one", async () => {
  const defaultContext = { text: "x".repeat(467_900) };
  const options = { wire: "v3" as const, defaultContext };
  const { server, client } = await start({ ...options, flushAt: 3 });
  const properties = { text: "y".repeat(31_000) };
  client.track({ userId: "u", event: "a", properties });
  client.track({ userId: "u", event: "b", properties });
  // It is the program's own, and may have grown since.
  defaultContext.text += "x".repeat(100_000);
  client.track({ userId: "u", event: "c" });
  await client.close();
  expect(server.received.map(({ messages }) => messages.map(({ event }) => event))).toEqual([
    ...[["a"], ["b"], ["c"]],
  ]);
});

describe("options that are wrong are named", () => {
  const endless: Record<string, unknown> = {};
  endless["endless"] = endless;
  const wrong: [string, AnalyticsOptions][] = [
    ["flushAt", { flushAt: 0 }],
    ["size", { size: 1.5 }],
    ["size", { size: 5, flushAt: 6 }],
    ["flushAfter", { flushAfter: 0 }],
    ["endpoint", { endpoint: "localhost:4700" }],
    ["endpoint", { endpoint: "" }],
    ["endpoint", { endpoint: "http://127.0.0.1:4700 " }],
    ["maxQueueBytes", { maxQueueBytes: 0 }],
    ["maxTries", { maxTries: 0 }],
    ["timeout", { timeout: Number.NaN }],
    ["wire", { wire: "v4" as "v3" }],
    ["retryAfter", { retryAfter: 100 as never }],
    ["onError", { onError: "log" as never }],
    ["onError", { onError: null as never }],
    ["onEvent", { onEvent: {} as never }],
    ["newId", { newId: "id" as never }],
    ["random", { random: 1 as never }],
    ["callback", { callback: null as never }],
    ["callback", { callback: (() => {}) as never }],
    ["callback", { callback: { failure: true as never } }],
    ["agent", { agent: true as never }],
    ["strict", { strict: "false" as never }],
    ["time", { time: { now: Date.now } as never }],
    ["defaultContext", { defaultContext: { locale: "de" } }],
    ["defaultContext", { wire: "v3", defaultContext: { text: "x".repeat(468_000) } }],
    ["defaultContext", { wire: "v3", defaultContext: endless }],
  ];
  test.each(wrong)("%s in %j", (field, options) => {
    expect(() => new Analytics("key", options)).toThrow(
      expect.objectContaining({ code: "invalid_option", field }),
    );
  });

  test.each([
    ["Interval", "Use 'flushAfter'."],
    ["BatchSize", "Use 'flushAt'."],
    ["FlushAt", "Use 'flushAt'."],
    ["flushat", "Use 'flushAt'."],
    ["flusAfter", "Use 'flushAfter'."],
    ["endpoints", "Use 'endpoint'."],
    ["host", "Use 'endpoint'."],
    ["logger", "There are flushAt, size,"],
  ])("an option %s is refused: %s", (name, advice) => {
    expect(() => new Analytics("key", { [name]: 1 })).toThrow(
      expect.objectContaining({
        code: "invalid_option",
        field: name,
        message: expect.stringContaining(`'${name}' is not an option. ${advice}`),
      }),
    );
    const client = new Analytics("key");
    expect(() => client.configure({ [name]: 1 })).toThrow(`'${name}' is not an option.`);
  });

  test("with version 3 the size, the limits and strictness are those of version 3", () => {
    const client = new Analytics("key", { wire: "v3", onError: () => undefined });
    expect(client.state.flushAt).toBe(250);
    client.page({ anonymousId: "a" });
    const properties = { text: "x".repeat(32_000) };
    expect(() => client.track({ userId: "u", event: "e", properties })).toThrow("the 32000 of one");
    return client.close({ timeoutMs: 0 });
  });

  test("also in configure, which then changes nothing", () => {
    const client = new Analytics("key");
    expect(() => client.configure({ flushAt: 5, endpoint: "nowhere" })).toThrow(
      expect.objectContaining({ field: "endpoint" }),
    );
    expect(() => client.configure({ endpoint: "http://127.0.0.1:1 " })).toThrow(
      expect.objectContaining({ field: "endpoint" }),
    );
    expect(() => client.configure({ endpoint: "http://127.0.0.1:1", flushAt: -1 })).toThrow(
      expect.objectContaining({ field: "flushAt" }),
    );
    expect([client.endpoint, client.state.flushAt]).toEqual(["http://127.0.0.1:4700", 20]);
  });
});
