import { afterEach, describe, expect, test } from "vitest";
import { startBatchServer, stopServers } from "../../test/support/batch-server.ts";
import { start } from "../../test/support/observed-client.ts";

afterEach(stopServers);

describe("when a flush comes", () => {
  test("20 messages flush at the 20th, in one batch, and 19 do not", async () => {
    const { server, client, track, names, events, next } = await start();
    track(19);
    expect(names()).toEqual(Array.from({ length: 19 }, () => "queued"));
    expect(client.state).toMatchObject({ queued: 19, flushAt: 20, batches: 0 });
    const sent = next("sent");
    track(1);
    expect(names().slice(19)).toEqual(["queued", "flushed", "sending"]);
    const bytes = events.reduce(
      (sum, event) => sum + (event.event === "queued" ? event.messageBytes : 0),
      0,
    );
    expect(events.find(({ event }) => event === "flushed")).toMatchObject({
      batches: [{ messages: 20, bytes }],
      state: { bytes },
    });
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

  test("a much smaller size flushes batches of that size", async () => {
    const { server, client, track } = await start();
    track(9);
    client.configure({ size: 4 });
    await client.flush();
    expect(server.received.map(({ ids }) => ids.length)).toEqual([4, 4, 1]);
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
    const { server, client, time, track, next, events } = await start({ size: 1 }, [
      { status: 503 },
      "cut",
      { status: 408 },
    ]);
    for (const delay of [100, 200, 400]) {
      const retried = next("retried");
      if (delay === 100) track(2);
      expect(await retried).toMatchObject({ event: "retried", nextTryAt: time.now() + delay });
      time.advanceBy(delay);
    }
    await client.close();
    expect(server.received.map(({ ids }) => ids)).toEqual([
      ["id-1"],
      ["id-1"],
      ["id-1"],
      ["id-1"],
      ["id-3"],
    ]);
    expect(new Set(server.received.slice(0, 4).map(({ body }) => body)).size).toBe(1);
    expect(
      events
        .filter(({ event }) => event === "sent")
        .map((event) => "tries" in event && event.tries),
    ).toEqual([4, 1]);
  });

  test("Retry-After is waited for", async () => {
    const { client, time, track, next, names } = await start({ size: 1 }, [
      { status: 429, headers: { "Retry-After": "30" } },
    ]);
    const retried = next("retried");
    track(1);
    expect(await retried).toMatchObject({
      failure: "the answer was 429",
      nextTryAt: time.now() + 30_000,
    });
    time.advanceBy(29_999);
    expect(names()).not.toContain("sent");
    time.advanceBy(1);
    await client.close();
    expect(names()).toContain("sent");
  });

  test("another 4xx is not tried again: its messages are handed over, and the next batch goes on", async () => {
    const { server, client, track, errors } = await start({ flushAt: 2 }, [
      { status: 400, body: "no" },
    ]);
    track(4);
    await client.close();
    expect(server.received).toHaveLength(2);
    expect(errors).toMatchObject([
      {
        code: "not_sent",
        status: 400,
        tries: 1,
        message: "2 messages were not sent: the answer was 400.",
      },
    ]);
    expect(errors[0]?.messages).toMatchObject([
      { type: "track", messageId: "id-1", userId: "u", event: "Event 0" },
      { type: "track", messageId: "id-2", userId: "u", event: "Event 1" },
    ]);
  });

  test.each(["v2.1", "v1.2"] as const)(
    "what was handed over in %s can be queued again as it was",
    async (wire) => {
      const { server, client, errors } = await start({ wire, newId: () => "new" }, [
        { status: 400 },
      ]);
      client.identify({
        userId: "u",
        traits: { a: 1 },
        messageId: "m1",
        timestamp: "2020-01-01T00:00:00Z",
      });
      client.alias({ userId: "u", previousId: "p", messageId: "m2" });
      await client.flush();
      for (const { type, ...call } of errors[0]?.messages ?? []) client.call(type, call);
      await client.close();
      expect(server.received[1]?.messages).toHaveLength(2);
      expect(server.received[1]?.messages).toEqual(server.received[0]?.messages);
    },
  );

  test("an array with a hole is sent and handed over with null there", async () => {
    const { server, client, errors } = await start({}, [{ status: 400 }]);
    const list: number[] = [];
    list[1] = 2;
    client.track({ userId: "u", event: "e", properties: { list } });
    await client.close();
    expect(server.received[0]?.messages).toMatchObject([{ properties: { list: [null, 2] } }]);
    expect(errors[0]?.messages).toMatchObject([{ properties: { list: [null, 2] } }]);
  });

  test("large numbers are handed over with all their digits", async () => {
    const { server, client, errors } = await start({}, [{ status: 400 }]);
    const properties = { id: 12_345_678_901_234_567_890n, count: 2 ** 60, small: 7 };
    client.track({ userId: "u", event: "e", messageId: "m", timestamp: "t", properties });
    await client.flush();
    expect(errors[0]?.messages[0]).toMatchObject({ properties });
    for (const { type, ...call } of errors[0]?.messages ?? []) client.call(type, call);
    await client.close();
    const sent = server.received.map(({ body }) => /"properties":{[^}]*}/.exec(body)?.[0]);
    expect(sent[0]).toContain('"id":12345678901234567890');
    expect(sent[1]).toBe(sent[0]);
  });

  test("a redirect is not followed, which would lose the batch", async () => {
    const { server, client, track, errors } = await start({ size: 1 }, [
      { status: 302, headers: { Location: "/" } },
    ]);
    track(1);
    await client.close();
    expect([server.received.length, errors.map(({ status }) => status)]).toEqual([1, [302]]);
  });

  test("after the last try its messages are handed over", async () => {
    const { server, client, time, track, next, errors, events } = await start(
      { size: 1, maxTries: 3 },
      [{ status: 500 }, { status: 500 }, "cut"],
    );
    for (const delay of [100, 200]) {
      const retried = next("retried");
      if (delay === 100) track(1);
      await retried;
      time.advanceBy(delay);
    }
    await client.close();
    expect(server.received).toHaveLength(3);
    expect(errors).toMatchObject([
      { tries: 3, status: null, batchId: "id-2", messages: [{ messageId: "id-1" }] },
    ]);
    expect(errors[0]?.cause).toBeInstanceOf(Error);
    expect(events.at(-2)).toMatchObject({
      event: "failed",
      messages: 1,
      tries: 3,
      state: { batches: 0, bytes: 0 },
    });
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
