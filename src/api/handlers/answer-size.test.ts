import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { bytes } from "../../contract/shapes.ts";
import {
  maxAnswerBytes,
  receivedSize,
  receivedWithin,
  withinAnswer,
  withinRoom,
} from "./answer-size.ts";

const room = 900_000;
const megabyte = 1_000_000;

/** As the answer writes it. */
function answerSize(value: unknown): number {
  const text = JSON.stringify(value, (_, part: unknown) =>
    part instanceof Uint8Array ? z.encode(bytes, part) : part,
  );
  return Buffer.byteLength(text);
}

const filled = (length: number, byte = 0x61) => new Uint8Array(length).fill(byte);
const url = "http://127.0.0.1/hook";

function attempt(id: number, requestBytes: number, responseBytes: number, byte?: number) {
  return {
    id,
    webhookUrl: url,
    error: null,
    request: {
      url,
      startLine: "POST /hook HTTP/1.1",
      headers: [["Host", "127.0.0.1"]] as [string, string][],
      body: filled(requestBytes),
    },
    response: {
      startLine: "HTTP/1.1 503 Busy",
      headers: [["A", "b"]] as [string, string][],
      body: filled(responseBytes, byte),
      bodyLength: responseBytes,
    },
    leftOut: false,
  };
}

describe("a message's deliveries", () => {
  test.each([
    ["once, however many attempts sent it", 1000, 1],
    ["never, when no answer has room for it", 2 * megabyte, 0],
  ])("have their payload read %s", (_, length, times) => {
    let read = 0;
    const payload = filled(length);
    const bytesOf = payload[Symbol.iterator].bind(payload);
    payload[Symbol.iterator] = () => {
      read += 1;
      return bytesOf();
    };
    const attempts = Array.from({ length: 100 }, (__, n) => {
      const made = attempt(n + 1, 0, 10);
      return { ...made, request: { ...made.request, body: payload } };
    });
    expect(withinRoom([{ payload, attempts, transitions: [] }], room)[0]?.attempts).toHaveLength(
      100,
    );
    expect(read).toBe(times);
  });

  test("stay as they are while the answer has room for them", () => {
    const deliveries = [
      { payload: filled(10), attempts: [attempt(1, 10, 20), attempt(2, 10, 20)], transitions: [] },
    ];
    expect(withinRoom(deliveries, room)).toEqual(deliveries);
  });

  test("keep the bytes of the newest attempts, and of older ones only the rest", () => {
    const attempts = Array.from({ length: 40 }, (_, n) => attempt(n + 1, 1000, 60_000));
    const [fit] = withinRoom([{ payload: filled(1000), attempts, transitions: [] }], room);
    const whole = fit?.attempts.filter(({ leftOut }) => !leftOut);
    expect(whole?.map(({ id }) => id)).toEqual(
      Array.from({ length: whole?.length ?? 0 }, (_, n) => 41 - (whole?.length ?? 0) + n),
    );
    expect(whole?.length).toBeGreaterThan(5);
    expect(whole?.at(-1)).toEqual(attempts.at(-1));
    expect(fit?.attempts.map(({ id }) => id)).toEqual(attempts.map(({ id }) => id));
    expect(fit?.attempts[0]).toMatchObject({
      leftOut: true,
      request: { startLine: "POST /hook HTTP/1.1", headers: [], body: filled(0) },
      response: { headers: [], body: filled(0), bodyLength: 60_000 },
    });
  });

  test("keep payloads before the bytes of attempts, and the newest attempts before payloads", () => {
    const deliveries = Array.from({ length: 40 }, (_, n) => ({
      payload: filled(32_768),
      attempts: [attempt(n + 1, 32_768, 10)],
      transitions: [],
    }));
    const fit = withinRoom(deliveries, room);
    expect(fit.filter(({ payload }) => payload.length > 0).length).toBeGreaterThan(15);
    expect(fit.every(({ attempts }) => attempts[0]?.leftOut)).toBe(true);
  });

  test("keep the newest thousand of many attempts", () => {
    const attempts = Array.from({ length: 3000 }, (_, n) => attempt(n + 1, 0, 0));
    const [fit] = withinRoom([{ payload: filled(0), attempts, transitions: [] }], room);
    expect(fit?.attempts[0]?.id).toBeGreaterThan(1900);
    expect(fit?.attempts.at(-1)?.id).toBe(3000);
  });

  test("never make an answer of more than 1 MB", () => {
    const anAttempt = fc
      .tuple(fc.nat(60_000), fc.nat(65_536), fc.constantFrom(0, 0x22, 0x61, 0xff))
      .map(([request, response, byte]) => attempt(0, request, response, byte));
    const at = "2026-11-24T22:28:11.000Z";
    const transition = { at, state: "waiting", reason: "round_failed", nextAttemptAt: at };
    const aDelivery = fc.record({
      payload: fc.nat(40_000).map((length) => filled(length, 0x22)),
      attempts: fc.array(anAttempt, { maxLength: 12 }),
      transitions: fc.nat(2000).map((length) => new Array<object>(length).fill(transition)),
    });
    fc.assert(
      fc.property(fc.array(aDelivery, { maxLength: 3 }), (deliveries) => {
        let id = 0;
        for (const { attempts } of deliveries) for (const one of attempts) one.id = id += 1;
        expect(answerSize(withinRoom(deliveries, room))).toBeLessThan(megabyte);
      }),
      { numRuns: 30 },
    );
  });
});

describe("received requests", () => {
  const received = (
    id: number,
    body: Uint8Array,
    forwarded: ReturnType<typeof attempt>[] = [],
  ) => ({
    id,
    headers: [["Host", "127.0.0.1"]],
    body,
    forwarded,
  });
  const page = (items: ReturnType<typeof received>[]) =>
    withinAnswer({ items, nextCursor: 0, total: 9 }, ({ id }) => id, receivedSize);

  test("make a page of as many as there is room for", () => {
    const items = Array.from({ length: 30 }, (_, n) => received(30 - n, filled(65_536, 0x22)));
    const fit = page(items);
    expect(fit.items).toEqual(items.slice(0, fit.items.length));
    expect(fit.items.length).toBeGreaterThan(2);
    expect(fit).toMatchObject({ nextCursor: fit.items.at(-1)?.id, total: 9 });
    expect(answerSize(fit)).toBeLessThan(megabyte);
  });

  test("a page has its first item although no answer has room for it", () => {
    const items = [received(2, filled(megabyte)), received(1, filled(1))];
    expect(page(items)).toEqual({ items: [items[0]], nextCursor: 2, total: 9 });
  });

  test("one with many forwarded requests leaves out bodies of the last of them", () => {
    const copies = Array.from({ length: 20 }, (_, n) => attempt(n, 65_536, 65_536));
    const one = receivedWithin(received(1, filled(65_536), copies));
    expect(one.forwarded[0]).toEqual(copies[0]);
    expect(one.forwarded.at(-1)).toMatchObject({
      request: { headers: [["Host", "127.0.0.1"]], body: filled(0) },
      response: { body: filled(0), bodyLength: 65_536 },
    });
    const fit = page([one, received(0, filled(9))]);
    expect(fit.items).not.toHaveLength(0);
    expect(answerSize(fit)).toBeLessThan(megabyte);
  });

  test.each([
    [1, filled(100)],
    [0, filled(0)],
  ])("a forwarded request keeps its body only when %i bytes are left", (left, body) => {
    const exchange = (padding: number) => {
      const one = attempt(1, 100, 0);
      one.request.headers = [["X", "x".repeat(padding)]];
      return one;
    };
    // What a forwarded request adds for its frame is not part of its bytes.
    const frame = 700;
    const free = maxAnswerBytes - receivedSize(received(1, filled(0), [exchange(0)])) + frame;
    const one = receivedWithin(received(1, filled(0), [exchange(free - left)]));
    expect(one.forwarded[0]?.request.body).toEqual(body);
  });
});
