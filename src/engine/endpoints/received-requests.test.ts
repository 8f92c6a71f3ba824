import { createHmac } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import type { DestinationId, EndpointId, ReceivedRequestId } from "../../domain/ids.ts";
import { ReceivedRequests } from "./received-requests.ts";
import type { KnownSecret, NewReceivedRequest } from "./received-requests.ts";

const endpoint = 7 as EndpointId;
const id = (number: number) => number as ReceivedRequestId;

function request(
  number: number,
  body: Uint8Array | string = "{}",
  rawHeaders: string[] = [],
): NewReceivedRequest {
  const bytes = Buffer.from(body);
  return {
    id: id(number),
    receivedAt: 1_000 + number,
    tls: false,
    method: "POST",
    path: "/hook",
    rawHeaders,
    body: bytes,
    bodyLength: bytes.byteLength,
    step: 0,
    did: "answer",
    status: 200,
  };
}

const forwardedWith = (body: Uint8Array) => ({
  ...{ body, url: "u", method: "POST", startedAt: 0, durationMs: null, simulated: false },
  ...{ outcome: null, error: null, requestHead: "", response: null },
});

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}

describe("the recording of received requests", () => {
  test("lists the newest first, page by page", () => {
    const received = new ReceivedRequests(endpoint, () => []);
    for (let number = 1; number <= 5; number += 1) received.add(request(number));
    const first = received.list(2, null);
    expect(first.items.map((item) => item.id)).toEqual([5, 4]);
    expect(first).toMatchObject({ nextCursor: 4, total: 5, dropped: 0 });
    const second = received.list(3, first.nextCursor);
    expect(second.items.map((item) => item.id)).toEqual([3, 2, 1]);
    expect(second.nextCursor).toBeNull();
    expect(received.list(4, null).nextCursor).toBe(2);
    expect(received.list(5, null).nextCursor).toBeNull();
  });

  test("keeps the newest thousand of 20,000, counts the dropped ones, and its memory stays flat", () => {
    const received = new ReceivedRequests(endpoint, () => []);
    const body = Buffer.alloc(8_000, "x");
    const addMany = (from: number, to: number): number => {
      for (let number = from; number <= to; number += 1)
        received.add(request(number, Buffer.from(body), ["X-Number", `${number}`]));
      // The second run waits for what the first has set free in the background.
      collectGarbage();
      collectGarbage();
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      return heapUsed + arrayBuffers;
    };
    const before = addMany(1, 2_000);
    const after = addMany(2_001, 20_000);
    // Kept, the 18,000 would take 140 MB.
    expect(after - before).toBeLessThan(16 * 1024 * 1024);
    expect(received.list(1, null)).toMatchObject({ total: 1_000, dropped: 19_000 });
    expect(received.list(2_000, null).items.at(-1)?.id).toBe(19_001);
  });

  test("keeps at most 8 MB, oldest dropped first", () => {
    const received = new ReceivedRequests(endpoint, () => []);
    const body = Buffer.alloc(64 * 1024, "x");
    for (let number = 1; number <= 200; number += 1) received.add(request(number, body));
    const { items, total, dropped } = received.list(1_000, null);
    const bytes = items.reduce((sum, item) => sum + item.body.byteLength, 0);
    expect(bytes).toBeLessThanOrEqual(8 * 1024 * 1024);
    expect(bytes).toBeGreaterThan(7.8 * 1024 * 1024);
    expect(total + dropped).toBe(200);
    expect(items.at(-1)?.id).toBe(dropped + 1);
  });

  test("keeps exactly 8 MB, and not a byte more, of requests and of what was forwarded", () => {
    const mostBytes = 64 * 1024;
    const path = "/hook".length;
    const fill = (count: number): ReceivedRequests => {
      const received = new ReceivedRequests(endpoint, () => []);
      for (let number = 1; number <= count; number += 1)
        received.add(request(number, Buffer.alloc(mostBytes - path)));
      return received;
    };
    const full = fill(128);
    expect(full.list(1, null)).toMatchObject({ total: 128, dropped: 0 });
    full.add(request(129, ""));
    expect(full.list(1, null)).toMatchObject({ total: 128, dropped: 1 });

    const growing = fill(127);
    const body = Buffer.alloc(mostBytes - path - 10);
    const exchange = growing.add(request(128, body)).forward({
      ...{ body, url: "u".repeat(10), method: "POST", startedAt: 0, durationMs: null },
      ...{ simulated: false, outcome: null, error: null, requestHead: "", response: null },
    });
    expect(growing.list(1, null)).toMatchObject({ total: 128, dropped: 0 });
    expect(exchange.bodyLength).toBe(body.length);
    growing.add(request(129, "")).answered({ ...exchange, requestHead: "h".repeat(mostBytes) });
    expect(growing.list(1, null)).toMatchObject({ total: 127, dropped: 2 });
  });

  test("counts headers too, and nothing for what was forwarded of a request that it has dropped", () => {
    const full = () => {
      const received = new ReceivedRequests(endpoint, () => []);
      const entries = [];
      for (let number = 1; number <= 128; number += 1) {
        const headers = ["X-A", "b".repeat(1000), "X-C", "d"];
        const size = 64 * 1024 - "/hook".length - headers.join("").length;
        entries.push(received.add(request(number, Buffer.alloc(size), headers)));
      }
      return { received, first: entries[0]! };
    };
    const { received, first } = full();
    expect(received.list(1, null)).toMatchObject({ total: 128, dropped: 0 });
    received.add(request(129, ""));
    expect(received.list(1, null)).toMatchObject({ total: 128, dropped: 1 });
    const large = forwardedWith(Buffer.alloc(64 * 1024));
    first.answered(first.forward(large));
    received.add(request(130, Buffer.alloc(64 * 1024 - 2 * "/hook".length)));
    expect(received.list(1, null)).toMatchObject({ total: 129, dropped: 1 });

    const { received: cleared, first: gone } = full();
    cleared.clear();
    for (let copy = 0; copy < 200; copy += 1) gone.forward(large);
    for (let number = 200; number < 328; number += 1)
      cleared.add(request(number, Buffer.alloc(64 * 1024 - "/hook".length)));
    expect(cleared.list(1, null)).toMatchObject({ total: 128, dropped: 0 });
  });

  test("keeps of what was forwarded and answered 64 KB, with the length of all of it", () => {
    const received = new ReceivedRequests(endpoint, () => []);
    const body = Buffer.from("{}");
    const entry = received.add(request(1, body));
    const same = entry.forward(forwardedWith(Buffer.from("{}")));
    const changed = entry.forward(forwardedWith(Buffer.alloc(64 * 1024 + 1)));
    entry.answered(changed);
    expect(changed.response).toBeNull();
    changed.response = { body: Buffer.alloc(64 * 1024 + 1), head: "" } as never;
    entry.answered(changed);
    const [item] = received.list(1, null).items;
    expect(same.body).toBe(item?.body);
    expect([same.bodyLength, changed.bodyLength]).toEqual([2, 64 * 1024 + 1]);
    expect(item?.forwarded).toEqual([same, changed]);
    const [, kept] = item?.forwarded ?? [];
    expect([kept?.body, kept?.response?.body].map((one) => one?.byteLength)).toEqual([
      64 * 1024,
      64 * 1024,
    ]);
  });

  test("copies a body only when a larger buffer is behind it", () => {
    const received = new ReceivedRequests(endpoint, () => []);
    const own = new Uint8Array([1, 2, 3]);
    const view = new Uint8Array(1000).subarray(10, 13);
    received.add({ ...request(1), body: own });
    received.add({ ...request(2), body: view });
    const [second, first] = received.list(2, null).items;
    expect(first?.body).toBe(own);
    expect([second?.body, second?.body.buffer.byteLength]).toEqual([view, 3]);
  });

  test("gives the newest 512 KB to the next run, oldest first", () => {
    const received = new ReceivedRequests(endpoint, () => []);
    const numbers = (): number[] => received.newest().map((each) => each.id);
    expect(numbers()).toEqual([]);
    received.add(request(1, Buffer.alloc(64 * 1024 - "/hook".length)));
    expect(numbers()).toEqual([1]);
    for (let number = 2; number <= 9; number += 1)
      received.add(request(number, Buffer.alloc(64 * 1024 - "/hook".length)));
    expect(numbers()).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
    received.add(request(10, ""));
    expect(numbers()).toEqual([3, 4, 5, 6, 7, 8, 9, 10]);
  });

  test("is the same in the next run, also of a body that was cut", () => {
    const secrets = [{ destinationId: 1 as DestinationId, name: "One", secret: "s" }];
    const received = new ReceivedRequests(endpoint, () => secrets);
    expect(received.lastId()).toBe(0);
    for (const [number, text] of ["short", "x".repeat(70_000)].entries()) {
      const body = JSON.stringify({ type: "track", event: "E", text });
      const signature = createHmac("sha1", "s").update(body).digest("hex");
      received.add(request(number + 5, body, ["x-signature", signature]));
    }
    const next = new ReceivedRequests(endpoint, () => secrets);
    next.restore(received.newest());
    expect(next.list(5, null)).toEqual(received.list(5, null));
    expect(next.list(5, null).items).toMatchObject(
      [0, 1].map(() => ({ message: { event: "E" }, signature: { verifies: [{ valid: true }] } })),
    );
    expect(next.lastId()).toBe(6);
  });

  test("keeps the newest request, however much was forwarded for it", () => {
    const received = new ReceivedRequests(endpoint, () => []);
    received.add(request(1));
    const entry = received.add(request(2));
    for (let copy = 0; copy < 130; copy += 1)
      entry.forward({
        ...{ body: Buffer.alloc(64 * 1024), url: "u", method: "POST", startedAt: 0 },
        ...{ durationMs: null, simulated: false, outcome: null, error: null },
        ...{ requestHead: "", response: null },
      });
    expect(received.list(5, null)).toMatchObject({ items: [{ id: 2 }], total: 1, dropped: 1 });
  });

  test("keeps a body of 64 KB whole, so that a secret of later is tried on it too", () => {
    const secrets: KnownSecret[] = [];
    const received = new ReceivedRequests(endpoint, () => secrets);
    const body = Buffer.alloc(64 * 1024, "x");
    const signature = createHmac("sha1", "later").update(body).digest("hex");
    received.add(request(1, body, ["x-signature", signature]));
    secrets.push({ destinationId: 1 as DestinationId, name: "One", secret: "later" });
    expect(received.list(1, null).items[0]?.signature?.verifies).toMatchObject([{ valid: true }]);
  });

  test("says what message it was", () => {
    const received = new ReceivedRequests(endpoint, () => []);
    received.add(request(1, '{"type":"track","event":"Signed Up","userId":"u1","messageId":"m1"}'));
    received.add(request(2, '{"type":"alias","Previous ID":"a","User ID":"u2"}'));
    received.add(request(3, '{"type":"page","name":"Home","userId":7}'));
    received.add(request(4, "not JSON"));
    received.add(request(5, "[1]"));
    received.add(request(6, '{"type":"screen","name":"Home","event":"no"}'));
    received.add(request(7, '{"type":"group","groupId":"g","name":"no"}'));
    received.add(request(8, '{"type":"odd","event":"e"}'));
    received.add(request(9, ""));
    expect(received.list(9, null).items.map((item) => item.message)).toEqual([
      { type: null, messageId: null, event: null, userId: null },
      { type: null, messageId: null, event: "e", userId: null },
      { type: "group", messageId: null, event: "g", userId: null },
      { type: "screen", messageId: null, event: "Home", userId: null },
      { type: null, messageId: null, event: null, userId: null },
      { type: null, messageId: null, event: null, userId: null },
      { type: "page", messageId: null, event: "Home", userId: null },
      { type: "alias", messageId: null, event: null, userId: "u2" },
      { type: "track", messageId: "m1", event: "Signed Up", userId: "u1" },
    ]);
  });

  test("says under which secrets the signature verifies, also for a body that it cuts", () => {
    const secrets: KnownSecret[] = [
      { destinationId: 1 as DestinationId, name: "One", secret: "first secret" },
      { destinationId: 2 as DestinationId, name: "Two", secret: "zweites Geheimnis ü" },
    ];
    const received = new ReceivedRequests(endpoint, () => secrets);
    const long = JSON.stringify({
      type: "track",
      event: "Long",
      properties: { text: "é".repeat(60_000) },
    });
    for (const [number, body] of ['{"type":"track"}', long].entries()) {
      const signature = createHmac("sha1", "zweites Geheimnis ü").update(body).digest("hex");
      received.add(request(number, body, ["x-signature", signature]));
    }
    received.add(request(2, '{"type":"track"}'));
    const [unsigned, cut, whole] = received.list(3, null).items;
    for (const item of [cut, whole]) {
      expect(item?.signature?.verifies).toEqual([
        { destinationId: 1, name: "One", valid: false },
        { destinationId: 2, name: "Two", valid: true },
      ]);
    }
    expect(unsigned?.signature).toBeNull();
    expect(cut).toMatchObject({ message: { event: "Long" }, bodyLength: Buffer.byteLength(long) });
    expect(cut?.body.byteLength).toBe(64 * 1024);
  });

  test("says it too of a batch, whose signature covers the first element", () => {
    const secret = { destinationId: 1 as DestinationId, name: "One", secret: "s" };
    const received = new ReceivedRequests(endpoint, () => [secret]);
    const signature = createHmac("sha1", "s").update('{"n":1}').digest("hex");
    for (const body of ['[{"n":1},{"n":2}]', '[{"n":2},{"n":1}]'])
      received.add(request(0, body, ["x-signature", signature]));
    expect(received.list(2, null).items.map((item) => item.signature?.verifies[0]?.valid)).toEqual([
      false,
      true,
    ]);
  });

  test("keeps headers as they came, in order and repeated", () => {
    const received = new ReceivedRequests(endpoint, () => []);
    received.add(request(1, "", ["X-B", "1", "x-a", "2", "X-B", "3"]));
    expect(received.list(1, null).items[0]?.headers).toEqual([
      ["X-B", "1"],
      ["x-a", "2"],
      ["X-B", "3"],
    ]);
  });

  test("counts again from zero when it is cleared", () => {
    const received = new ReceivedRequests(endpoint, () => []);
    for (let number = 1; number <= 1_100; number += 1) received.add(request(number));
    received.clear();
    expect(received.list(10, null)).toEqual({ items: [], nextCursor: null, total: 0, dropped: 0 });
    received.add(request(2_000));
    expect(received.list(10, null)).toMatchObject({ total: 1, dropped: 0 });
  });
});
