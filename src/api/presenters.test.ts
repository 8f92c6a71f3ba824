import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { deliveryDetails } from "../contract/deliveries.ts";
import { messageDetails } from "../contract/messages.ts";
import type { AttemptId, DeliveryId, DestinationId, MessageRowId, SourceId, WebhookId } from "../domain/ids.ts";
import type { DeliveryDetails, MessageDetails } from "../engine/ports.ts";
import { presentBytes, presentDeliveryDetails, presentMessageDetails, presentTime } from "./presenters.ts";

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
  transitions: [{ deliveryId: 7 as DeliveryId, at: 0, state: "queued", reason: "routed", nextAttemptAt: null }],
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
      response: { status: 503, head: "HTTP/1.1 503 Busy\r\nRetry-After: 3\r\n\r\n", body: new Uint8Array([0xff, 0x00]), bodyLength: 2 },
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

const message: MessageDetails = {
  id: 3 as MessageRowId,
  messageId: "m-1",
  sourceId: 1 as SourceId,
  type: "track",
  userId: "u",
  anonymousId: null,
  event: "Bought",
  traits: null,
  receivedAt: 1_000,
  timestamp: 999,
  state: "waiting",
  reason: null,
  attempts: 2,
  lastStatus: 503,
  nextAttemptAt: null,
  marks: [],
  pinned: false,
  replayOf: null,
  detail: null,
  duplicateOf: 2 as MessageRowId,
  warnings: ["w"],
  raw: bytes("{}"),
  request: { method: "POST", path: "/v1/track", headers: [["Host", "a"]], size: 2, messages: 1 },
  decisions: [
    { destinationId: 2 as DestinationId, routed: true, reason: "routed", detail: "It is sent.", warnings: [], payload: "documented" },
  ],
  deliveries: [delivery],
};

describe("a message's details", () => {
  test("are what the contract says", () => {
    const answer = presentMessageDetails(message, () => 60_000);
    expect(messageDetails.strict().parse(answer)).toEqual(answer);
    expect(answer).toMatchObject({
      id: "msg_000000003",
      receivedAt: "1970-01-01T00:00:01.000Z",
      timestamp: "1970-01-01T00:00:00.999Z",
      duplicateOf: "msg_000000002",
      raw: "{}",
      decisions: [{ destinationId: "dst_000000002", routed: true, reason: "routed", detail: "It is sent.", warnings: [] }],
    });
  });

  test("show a delivery with the end of its window and its attempts as they were on the wire", () => {
    const answer = presentDeliveryDetails(delivery, () => 60_000);
    expect(deliveryDetails.strict().parse(answer)).toEqual(answer);
    expect(answer).toMatchObject({ windowEndsAt: "1970-01-01T00:01:01.000Z", nextAttemptAt: "1970-01-01T00:00:11.000Z" });
    expect(answer.attempts[0]).toMatchObject({
      request: {
        sent: true,
        method: "POST",
        url: "http://127.0.0.1/a",
        startLine: "POST /a HTTP/1.1",
        headers: [["Host", "127.0.0.1"]],
        body: '{"type":"track"}',
      },
      response: { status: 503, startLine: "HTTP/1.1 503 Busy", headers: [["Retry-After", "3"]], body: { base64: "/wA=" }, bodyLength: 2 },
    });
  });

  test("say that nothing was sent when nothing was", () => {
    const answer = presentDeliveryDetails(delivery, () => null);
    expect(answer.windowEndsAt).toBeNull();
    expect(answer.attempts[1]).toMatchObject({ request: { sent: false, startLine: "", headers: [], body: "" }, response: null });
  });
});

describe("recorded bytes", () => {
  test("come back exactly, whatever they are", () => {
    const anything = fc.oneof(fc.uint8Array(), fc.string({ unit: "binary" }).map(bytes));
    fc.assert(
      fc.property(anything, (original) => {
        const answer = presentBytes(original);
        const back = typeof answer === "string" ? Buffer.from(answer, "utf8") : Buffer.from(answer.base64, "base64");
        return back.equals(original);
      }),
    );
  });

  test("are a string when they are UTF-8, a byte order mark included", () => {
    expect(presentBytes(new Uint8Array([0xef, 0xbb, 0xbf, 0x61]))).toBe("\uFEFFa");
    expect(presentBytes(new Uint8Array([0xed, 0xa0, 0x80]))).toEqual({ base64: "7aCA" });
  });
});

test("a time that no calendar has does not break the answer", () => {
  expect(presentTime(Number.MAX_SAFE_INTEGER)).toBe("+275760-09-13T00:00:00.000Z");
});
