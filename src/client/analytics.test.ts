import { afterEach, describe, expect, test } from "vitest";
import { startBatchServer, stopServers } from "../../test/support/batch-server.ts";
import type { BatchAnswer } from "../../test/support/batch-server.ts";
import { createSteppedClock } from "../../test/support/stepped-clock.ts";
import { Analytics } from "./analytics.ts";
import type { NotSentError } from "./errors.ts";
import type { ClientEvent } from "./events.ts";
import type { AnalyticsOptions } from "./options.ts";

afterEach(stopServers);

async function start(options: AnalyticsOptions = {}, answers: BatchAnswer[] = []) {
  const server = await startBatchServer((request) => answers[request] ?? { status: 200 });
  return { server, ...startClient({ endpoint: server.url, ...options }) };
}

function startClient(options: AnalyticsOptions) {
  const time = createSteppedClock();
  const events: ClientEvent[] = [];
  const errors: NotSentError[] = [];
  let ids = 0;
  const waiting: { name: ClientEvent["event"]; resolve: (event: ClientEvent) => void }[] = [];
  const client = new Analytics("key", {
    time,
    random: () => 0,
    newId: () => `id-${(ids += 1)}`,
    onError: (error) => errors.push(error),
    onEvent(event) {
      events.push(event);
      for (const waiter of waiting.splice(0)) {
        if (waiter.name === event.event) waiter.resolve(event);
        else waiting.push(waiter);
      }
    },
    ...options,
  });
  return {
    client,
    time,
    events,
    errors,
    names: () => events.map(({ event }) => event),
    /** The next event of that name. */
    next: (name: ClientEvent["event"]) => new Promise<ClientEvent>((resolve) => waiting.push({ name, resolve })),
    track(count: number): void {
      for (let call = 0; call < count; call += 1) client.track({ userId: "u", event: `Event ${call}` });
    },
  };
}

describe("when a flush comes", () => {
  test("20 messages flush at the 20th, in one batch, and 19 do not", async () => {
    const { server, client, track, names, next } = await start();
    track(19);
    expect(names()).toEqual(Array.from({ length: 19 }, () => "queued"));
    expect(client.state).toMatchObject({ queued: 19, flushAt: 20, batches: 0 });
    const sent = next("sent");
    track(1);
    expect(names().slice(19)).toEqual(["queued", "flushed", "sending"]);
    await sent;
    expect(server.received.map(({ ids }) => ids.length)).toEqual([20]);
    expect(client.state).toMatchObject({ queued: 0, batches: 0, bytes: 0, nextFlushAt: null });
  });

  test("19 flush when 5 s have passed since the last flush, not since the first of them", async () => {
    const { server, time, track, names, next } = await start();
    time.advanceBy(3000);
    track(19);
    time.advanceBy(1999);
    expect(names()).not.toContain("flushed");
    const sent = next("sent");
    time.advanceBy(1);
    expect(await sent).toMatchObject({ messages: 19 });
    expect(server.received).toHaveLength(1);
  });

  test("a flush by count puts off the one by time", async () => {
    const { client, time, track, names, events } = await start();
    time.advanceBy(4000);
    track(21);
    expect(events.filter(({ event }) => event === "flushed")).toHaveLength(1);
    expect(client.state.nextFlushAt).toBe(time.now() + 5000);
    time.advanceBy(4999);
    expect(names().filter((name) => name === "flushed")).toHaveLength(1);
    time.advanceBy(1);
    expect(names().filter((name) => name === "flushed")).toHaveLength(2);
    await client.close();
  });

  test("the first message after a long rest does not cause a request by itself", async () => {
    const { client, time, track, names } = await start();
    time.advanceBy(62_000);
    track(1);
    expect(names()).toEqual(["queued"]);
    expect(client.state.nextFlushAt).toBe(time.now() + 3000);
    await client.close();
  });

  test("with size 1 each leaves within its call, one after the other", async () => {
    const { server, client, track, names } = await start({ size: 1 });
    track(1);
    expect(names()).toEqual(["queued", "flushed", "sending"]);
    track(2);
    await client.flush();
    expect(server.received.map(({ ids }) => ids)).toEqual([["id-1"], ["id-3"], ["id-5"]]);
    expect([server.most, server.connections]).toEqual([1, 1]);
  });

  test("a burst leaves in batches of the size, in order, over one connection", async () => {
    const { server, client, track } = await start({ flushAt: 10 });
    track(35);
    expect(client.state).toMatchObject({ queued: 5, batches: 3 });
    await client.flush();
    expect(server.received.map(({ messages }) => messages.length)).toEqual([10, 10, 10, 5]);
    expect(server.received.flatMap(({ messages }) => messages.map(({ event }) => event))).toEqual(
      Array.from({ length: 35 }, (_, index) => `Event ${index}`),
    );
    expect([server.most, server.connections]).toEqual([1, 1]);
  });

  test("an empty flush and an empty close send nothing", async () => {
    const { server, client, names } = await start();
    await client.flush();
    await client.close();
    expect([server.received, names()]).toEqual([[], ["closed"]]);
  });

  test("a flush is done when all that was queued before it has been answered", async () => {
    const { server, client, track } = await start({ flushAt: 2 });
    track(5);
    const flushed = client.flush();
    track(1);
    await flushed;
    expect(server.received.map(({ ids }) => ids.length)).toEqual([2, 2, 1]);
    await client.close();
    expect(server.received.map(({ ids }) => ids.length)).toEqual([2, 2, 1, 1]);
  });
});

describe("settings that change while it runs", () => {
  test("a smaller size flushes what is enough for it", async () => {
    const { server, client, track } = await start();
    track(7);
    client.configure({ size: 8 });
    expect(client.state).toMatchObject({ queued: 7, flushAt: 8 });
    client.configure({ size: 7 });
    await client.flush();
    expect(server.received.map(({ ids }) => ids.length)).toEqual([7]);
  });

  test("another interval counts from the last flush too", async () => {
    const { client, time, track, names } = await start();
    track(1);
    time.advanceBy(3000);
    client.configure({ flushAfter: 4000 });
    expect(client.state).toMatchObject({ flushAfter: 4000, nextFlushAt: time.now() + 1000 });
    client.configure({ flushAfter: Number.POSITIVE_INFINITY });
    time.advanceBy(3_600_000);
    expect(names()).toEqual(["queued"]);
    client.configure({ flushAfter: 1000 });
    expect(names()).toContain("flushed");
    await client.close();
  });

  test("another endpoint gets what is sent from then on", async () => {
    const other = await startBatchServer();
    const { server, client, track } = await start({ size: 1 });
    track(1);
    await client.flush();
    client.configure({ endpoint: `${other.url}/prefix` });
    track(1);
    await client.close();
    expect(server.received).toHaveLength(1);
    expect(other.received.map(({ url }) => url)).toEqual(["/prefix/v1/batch"]);
  });
});

describe("what goes wrong on the way", () => {
  test("a batch is tried again byte for byte, later and later, and the next one waits for it", async () => {
    const { server, client, time, track, next, events } = await start({ size: 1 }, [{ status: 503 }, "cut", { status: 408 }]);
    for (const delay of [100, 200, 400]) {
      const retried = next("retried");
      if (delay === 100) track(2);
      expect(await retried).toMatchObject({ event: "retried", nextTryAt: time.now() + delay });
      time.advanceBy(delay);
    }
    await client.close();
    expect(server.received.map(({ ids }) => ids)).toEqual([["id-1"], ["id-1"], ["id-1"], ["id-1"], ["id-3"]]);
    expect(new Set(server.received.slice(0, 4).map(({ body }) => body)).size).toBe(1);
    expect(events.filter(({ event }) => event === "sent").map((event) => "tries" in event && event.tries)).toEqual([4, 1]);
  });

  test("Retry-After is waited for", async () => {
    const { client, time, track, next, names } = await start({ size: 1 }, [{ status: 429, headers: { "Retry-After": "30" } }]);
    const retried = next("retried");
    track(1);
    expect(await retried).toMatchObject({ failure: "the answer was 429", nextTryAt: time.now() + 30_000 });
    time.advanceBy(29_999);
    expect(names()).not.toContain("sent");
    time.advanceBy(1);
    await client.close();
    expect(names()).toContain("sent");
  });

  test("another 4xx is not tried again: its messages are handed over, and the next batch goes on", async () => {
    const { server, client, track, errors } = await start({ flushAt: 2 }, [{ status: 400, body: "no" }]);
    track(4);
    await client.close();
    expect(server.received).toHaveLength(2);
    expect(errors).toMatchObject([{ code: "not_sent", status: 400, tries: 1, message: "2 messages were not sent: the answer was 400." }]);
    expect(errors[0]?.messages).toMatchObject([
      { type: "track", messageId: "id-1", userId: "u", event: "Event 0" },
      { type: "track", messageId: "id-2", userId: "u", event: "Event 1" },
    ]);
  });

  test.each(["v2.1", "v1.2"] as const)("what was handed over in %s can be queued again as it was", async (wire) => {
    const { server, client, errors } = await start({ wire, newId: () => "new" }, [{ status: 400 }]);
    client.identify({ userId: "u", traits: { a: 1 }, messageId: "m1", timestamp: "2020-01-01T00:00:00Z" });
    client.alias({ userId: "u", previousId: "p", messageId: "m2" });
    await client.flush();
    for (const { type, ...call } of errors[0]?.messages ?? []) client.call(type, call);
    await client.close();
    expect(server.received[1]?.messages).toHaveLength(2);
    expect(server.received[1]?.messages).toEqual(server.received[0]?.messages);
  });

  test("a redirect is not followed, which would lose the batch", async () => {
    const { server, client, track, errors } = await start({ size: 1 }, [{ status: 302, headers: { Location: "/" } }]);
    track(1);
    await client.close();
    expect([server.received.length, errors.map(({ status }) => status)]).toEqual([1, [302]]);
  });

  test("after the last try its messages are handed over", async () => {
    const { server, client, time, track, next, errors, events } = await start({ size: 1, maxTries: 3 }, [
      { status: 500 },
      { status: 500 },
      "cut",
    ]);
    for (const delay of [100, 200]) {
      const retried = next("retried");
      if (delay === 100) track(1);
      await retried;
      time.advanceBy(delay);
    }
    await client.close();
    expect(server.received).toHaveLength(3);
    expect(errors).toMatchObject([{ tries: 3, status: null, batchId: "id-2", messages: [{ messageId: "id-1" }] }]);
    expect(errors[0]?.cause).toBeInstanceOf(Error);
    expect(events.at(-2)).toMatchObject({ event: "failed", messages: 1, tries: 3, state: { batches: 0, bytes: 0 } });
  });

  test("a warning of the process tells who gave no callback", async () => {
    const { client, track } = await start({ size: 1, onError: undefined }, [{ status: 400 }]);
    const warned = new Promise<Error>((resolve) => {
      process.on("warning", function listen(warning) {
        if (warning.name !== "AnalyticsWarning") return;
        process.off("warning", listen);
        resolve(warning);
      });
    });
    track(1);
    await client.close();
    expect((await warned).message).toBe("1 message was not sent: the answer was 400.");
  });
});

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
    expect(server.received.map(({ ids }) => ids)).toEqual([["id-1", "id-2"], ["id-1", "id-2"], ["id-4"]]);
  });

  test("with a deadline it hands over what waits for a retry, and what waits behind it", async () => {
    const { server, client, time, track, next, errors } = await start({ flushAt: 2 }, [{ status: 503 }]);
    const retried = next("retried");
    track(3);
    await retried;
    const closed = client.close({ timeoutMs: 50 });
    time.advanceBy(50);
    await closed;
    expect(server.received).toHaveLength(1);
    expect(errors.map(({ messages, tries, status }) => [messages.map(({ messageId }) => messageId), tries, status])).toEqual([
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
    expect(errors).toMatchObject([{ tries: 1, message: "1 message was not sent: the client was closed before it could be sent." }]);
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
  const sized = (bytes: number) => ({ userId: "u", event: "e", messageId: "m", timestamp: "t", properties: { text: "x".repeat(bytes) } });
  const bare = Buffer.byteLength('{"properties":{"text":""},"userId":"u","event":"e","type":"track","messageId":"m","timestamp":"t"}');

  test("a call may have 32,768 bytes and not one more; nothing of the one that is refused is queued", async () => {
    const { server, client } = await start();
    client.track(sized(32_768 - bare));
    expect(() => client.track(sized(32_769 - bare))).toThrow(
      expect.objectContaining({ code: "call_too_large", message: "The track has 32769 bytes, more than the 32768 of one call." }),
    );
    expect(client.state).toMatchObject({ queued: 1, bytes: 32_768 });
    await client.close();
    expect(Buffer.byteLength(JSON.stringify(server.received[0]?.messages[0]))).toBe(32_768);
  });

  test("bytes are counted, not characters", async () => {
    const { client } = await start();
    expect(() => client.track({ userId: "u", event: "é".repeat(16_384) })).toThrow(expect.objectContaining({ code: "call_too_large" }));
    await client.close();
  });

  test.each([
    { over: 0, batches: [16] },
    { over: 1, batches: [15, 1] },
  ])("a batch may have 512,000 bytes: with $over more it is $batches", async ({ over, batches }) => {
    const { server, client } = await start({ flushAt: 1000 });
    for (let call = 0; call < 15; call += 1) client.track(sized(32_000 - bare));
    const envelope =
      '{"context":{"library":{"name":"analytics-go","version":"2.1.0"}},"batch":[],"messageId":"id-1","sentAt":"2026-11-21T00:00:00+0000"}';
    client.track(sized(512_000 - 15 * 32_000 - 15 - envelope.length - bare + over));
    await client.close();
    expect(server.received.map(({ ids }) => ids.length)).toEqual(batches);
    expect(Buffer.byteLength(server.received[0]?.body ?? "")).toBe(over === 0 ? 512_000 : 15 * 32_000 + 14 + envelope.length);
  });

  test("with the server down the queue grows to its cap, then calls are refused, and the oldest arrive when it is back", async () => {
    const gone = await startBatchServer();
    await gone.stop();
    const { client, time, next, events, errors } = startClient({ endpoint: gone.url, maxQueueBytes: 100_000, flushAt: 5 });
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

describe("options that are wrong are named", () => {
  const wrong: [string, AnalyticsOptions][] = [
    ["flushAt", { flushAt: 0 }],
    ["size", { size: 1.5 }],
    ["size", { size: 5, flushAt: 6 }],
    ["flushAfter", { flushAfter: 0 }],
    ["endpoint", { endpoint: "localhost:4700" }],
    ["endpoint", { endpoint: "" }],
    ["maxQueueBytes", { maxQueueBytes: 0 }],
    ["maxTries", { maxTries: 0 }],
    ["timeout", { timeout: Number.NaN }],
    ["wire", { wire: "v3" as "v2.1" }],
  ];
  test.each(wrong)("%s in %j", (field, options) => {
    expect(() => new Analytics("key", options)).toThrow(expect.objectContaining({ code: "invalid_option", field }));
  });

  test("also in configure, which then changes nothing", () => {
    const client = new Analytics("key");
    expect(() => client.configure({ flushAt: 5, endpoint: "nowhere" })).toThrow(expect.objectContaining({ field: "endpoint" }));
    expect(() => client.configure({ endpoint: "http://127.0.0.1:1", flushAt: -1 })).toThrow(expect.objectContaining({ field: "flushAt" }));
    expect([client.endpoint, client.state.flushAt]).toEqual(["http://127.0.0.1:4700", 20]);
  });
});
