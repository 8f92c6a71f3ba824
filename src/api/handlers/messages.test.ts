import { expect, test } from "vitest";
import { z } from "zod";
import { deliveryDetails } from "../../contract/deliveries.ts";
import type {
  AttemptId,
  DeliveryId,
  DestinationId,
  MessageRowId,
  WebhookId,
} from "../../domain/ids.ts";
import type { Pipeline } from "../../engine/pipeline.ts";
import type { DeliveryDetails } from "../../engine/ports.ts";
import { nextTurn } from "../../engine/real-time.ts";
import { cpuRatio } from "../../../test/support/cpu-ratio.ts";
import { deliveryHandlers, deliveryShapes, messageHandlers, parseHead } from "./messages.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

const delivery: DeliveryDetails = {
  id: 7 as DeliveryId,
  messageRow: 3 as MessageRowId,
  destinationId: 2 as DestinationId,
  state: "waiting",
  reason: "http_error",
  createdAt: 0,
  firstAttemptAt: 1_000,
  nextAttemptAt: 11_000,
  rounds: 1,
  payload: bytes('{"type":"track"}'),
  transitions: [
    { deliveryId: 7 as DeliveryId, at: 0, state: "queued", reason: "routed", nextAttemptAt: null },
  ],
  attempts: [
    {
      id: 1 as AttemptId,
      deliveryId: 7 as DeliveryId,
      round: 1,
      webhookId: 4 as WebhookId,
      webhookUrl: "http://127.0.0.1/a",
      startedAt: 1_000,
      durationMs: 1.5,
      phases: { connect: 0.5, done: 1.5 },
      simulated: false,
      outcome: "http_error",
      retryable: true,
      error: { code: "http_503", message: "The answer was 503." },
      requestHead: "POST /a HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
      response: {
        status: 503,
        head: "HTTP/1.1 503 Busy\r\nRetry-After: 3\r\n\r\n",
        body: new Uint8Array([0xff, 0x00]),
        bodyLength: 2,
      },
    },
    {
      id: 2 as AttemptId,
      deliveryId: 7 as DeliveryId,
      round: 1,
      webhookId: 5 as WebhookId,
      webhookUrl: "https://self-signed.localhost/a",
      startedAt: 1_000,
      durationMs: 2,
      phases: {},
      simulated: false,
      outcome: "tls_error",
      retryable: false,
      error: { code: "self_signed", message: "The certificate is self-signed." },
      requestHead: "",
      response: null,
    },
  ],
};

/** The answer, where the destination is gone. */
function answerOf(details: DeliveryDetails) {
  const configuration = { destination: () => undefined, retryProfileOf: () => undefined as never };
  return z.encode(deliveryDetails, deliveryShapes({ configuration }).details(details));
}

test("an attempt shows line, headers and bytes as they were on the wire", () => {
  expect(answerOf(delivery)).toMatchObject({
    nextAttemptAt: "1970-01-01T00:00:11.000Z",
    messageRowId: "msg_000000003",
  });
  expect(answerOf(delivery).attempts[0]).toMatchObject({
    request: {
      sent: true,
      method: "POST",
      url: "http://127.0.0.1/a",
      startLine: "POST /a HTTP/1.1",
      headers: [["Host", "127.0.0.1"]],
      body: '{"type":"track"}',
    },
    response: {
      status: 503,
      startLine: "HTTP/1.1 503 Busy",
      headers: [["Retry-After", "3"]],
      body: { base64: "/wA=" },
      bodyLength: 2,
    },
  });
});

test("an attempt that sent nothing shows no request, and a delivery without its destination no window", () => {
  const answer = answerOf(delivery);
  expect(answer.windowEndsAt).toBeNull();
  expect(answer.attempts[1]).toMatchObject({
    request: { sent: false, startLine: "", headers: [], body: "" },
    response: null,
  });
});

test.each([
  ["", { startLine: "", headers: [] }],
  ["HTTP/1.1 200 OK\r\n\r\n", { startLine: "HTTP/1.1 200 OK", headers: [] }],
  [
    "POST /x HTTP/1.1\r\nHost: a\r\nX-Twice: 1\r\nx-twice: 2\r\n\r\n",
    {
      startLine: "POST /x HTTP/1.1",
      headers: [
        ["Host", "a"],
        ["X-Twice", "1"],
        ["x-twice", "2"],
      ],
    },
  ],
  [
    "HTTP/1.1 200\r\nLocation: http://a:80/b\r\nEmpty:\r\n",
    {
      startLine: "HTTP/1.1 200",
      headers: [
        ["Location", "http://a:80/b"],
        ["Empty", ""],
      ],
    },
  ],
  ["HTTP/1.0 200 OK\nA: \t b c \t\n", { startLine: "HTTP/1.0 200 OK", headers: [["A", "b c"]] }],
  [
    "HTTP/1.1 200 OK\r\nLong: one\r\n  two\r\n\r\n",
    { startLine: "HTTP/1.1 200 OK", headers: [["Long", "one two"]] },
  ],
  [
    "HTTP/1.1 200 OK\r\nLong:\r\n one\r\n\ttwo\r\n",
    { startLine: "HTTP/1.1 200 OK", headers: [["Long", "one two"]] },
  ],
  [
    "HTTP/1.1 200 OK\r\n goes on\r\n\r\n",
    { startLine: "HTTP/1.1 200 OK", headers: [[" goes on", ""]] },
  ],
  [
    "HTTP/1.1 200 OK\r\nno colon\r\n",
    { startLine: "HTTP/1.1 200 OK", headers: [["no colon", ""]] },
  ],
])("reads the head %j", (head, expected) => {
  expect(parseHead(head)).toEqual(expected);
});

test("the spaces in the headers of a response are read as quickly as letters", () => {
  const of = (padding: string) => () =>
    parseHead(`HTTP/1.1 200 OK\r\nA: a${padding.repeat(20_000)}b\r\n`);
  expect(cpuRatio(of(" "), of("x"))).toBeLessThan(50);
});

test("a delivery is not signed any more once its destination is deleted", async () => {
  const pipeline = {
    queries: { deliveryDetails: () => delivery },
    configuration: { destination: () => undefined },
  } as unknown as Pipeline;
  const signature = deliveryHandlers(pipeline)["deliveries.signature"];
  expect(await signature({ id: delivery.id })).toMatchObject({
    signature: null,
    from: 0,
    length: 0,
    covers: "The destination has no shared secret.",
  });
});

test("other calls are answered while the spellings of a large body are tried", async () => {
  const text = JSON.stringify(Array.from({ length: 7000 }, (_, n) => `é<${n / 7}`));
  const pipeline = {
    queries: { deliveryDetails: () => ({ ...delivery, payload: bytes(text), attempts: [] }) },
    configuration: { destination: () => ({ sharedSecret: "s" }) },
  } as unknown as Pipeline;
  let isDone = false;
  let turns = 0;
  const counting = async (): Promise<void> => {
    for (; !isDone; turns += 1) await nextTurn();
  };
  const counted = counting();
  const signature = deliveryHandlers(pipeline)["deliveries.signature"];
  const answer = await signature({ id: delivery.id, digest: "a".repeat(40) });
  isDone = true;
  await counted;
  expect(answer).toMatchObject({ cause: "wrong_secret" });
  expect(turns).toBeGreaterThan(5);
});

test.each([
  [600, 600, null],
  [601, 600, 600],
  [602, 600, 600],
])(
  "a page of %i messages of 1,300 bytes, counted as 1,500, has %i, because 900,000 bytes are an answer",
  async (found, shown, next) => {
    const items = Array.from({ length: found }, (_, at) => ({ id: at + 1, text: "" }));
    for (const item of items)
      item.text = "é".repeat(10) + "x".repeat(1280 - JSON.stringify(item).length);
    const queries = { messages: async () => ({ items, nextCursor: null }) };
    const handlers = messageHandlers({ queries } as unknown as Pipeline);
    const page = (await handlers["messages.list"]({ limit: 1000 })) as unknown as {
      items: unknown[];
      nextCursor: number | null;
    };
    expect([page.items.length, page.items.at(-1), page.nextCursor]).toEqual([
      shown,
      items[shown - 1],
      next,
    ]);
  },
);

test.each([
  ["a".repeat(65_536), 65_536],
  ["a".repeat(65_537), 65_536],
  [`${"a".repeat(65_535)}€€`, 65_535],
  [`${"a".repeat(65_534)}€€`, 65_534],
  [`${"a".repeat(65_533)}€€`, 65_536],
])(
  "of what was rejected, the first 65,536 bytes are shown, and no part of a character",
  async (text, shown) => {
    const raw = bytes(text);
    const handlers = messageHandlers({
      queries: { message: () => ({ raw, deliveries: [], decisions: [] }) },
      configuration: { source: () => ({ kind: "server" }) },
    } as unknown as Pipeline);
    expect(await handlers["messages.get"]({ id: 1 as MessageRowId })).toEqual({
      cause: null,
      raw: raw.subarray(0, shown),
      rawSize: raw.length,
      deliveries: [],
      decisions: [],
    });
  },
);

test("of the messages that match a filter, the newest ten thousand are retried", async () => {
  const pages: number[] = [];
  const pipeline = {
    clock: { state: () => ({ now: 0 }) },
    configuration: { sources: () => [], destinations: () => [] },
    queries: {
      async messages(_filter: unknown, limit: number, before: number | null) {
        const newest = before ?? 1_000_000;
        pages.push(newest);
        const items = Array.from({ length: limit }, (_, nth) => ({ id: newest - nth }));
        return { items, total: 1_000_000, nextCursor: newest - limit };
      },
    },
    deliveries: { retryableOf: (id: MessageRowId) => [id] },
  } as unknown as Pipeline;
  const retryAll = messageHandlers(pipeline)["messages.retryAll"];
  expect(await retryAll({ filter: "", dryRun: true })).toEqual({ count: 10_000 });
  expect(pages).toEqual(Array.from({ length: 50 }, (_, nth) => 1_000_000 - nth * 200));
  const ids = [1, 2, 1] as MessageRowId[];
  expect(await retryAll({ ids, dryRun: true })).toEqual({ count: 2 });
  for (const wrong of [{}, { filter: "", ids }, { filter: "state:failing" }])
    expect(await retryAll({ ...wrong, dryRun: true })).toMatchObject({ code: "invalid" });
});
