import { expect, test } from "vitest";
import type { DeliveryId, DestinationId, MessageRowId, WebhookId } from "../domain/ids.ts";
import type { MessageState } from "../domain/states.ts";
import { attempt, moveTo, openTestStore, request, startOfTime } from "./store.fixture.ts";

test("a message in full: what came, what was decided, what was sent, what was answered", () => {
  const { store } = openTestStore();
  store.commit([
    request([
      { text: '{"n":1}' },
      { text: '{"é":2}', messageId: "a", userId: "ada", to: [1], notTo: [2], warnings: ["Odd."] },
    ]),
  ]);
  store.claim(1 as DestinationId, startOfTime, 1);
  store.record(
    [attempt(1 as DeliveryId, { status: 503 })],
    [moveTo(1 as DeliveryId, "waiting", startOfTime + 1000)],
  );
  expect(store.message(2 as MessageRowId)).toMatchObject({
    messageId: "a",
    state: "waiting" satisfies MessageState,
    warnings: ["Odd."],
    raw: Buffer.from('{"é":2}'),
    request: { path: "/v1/batch", messages: 2 },
    decisions: [
      { destinationId: 1, routed: true, reason: "routed" },
      { destinationId: 2, routed: false, reason: "disabled" },
    ],
    deliveries: [
      {
        payload: Buffer.from('{"é":2}'),
        transitions: [{ state: "waiting", nextAttemptAt: startOfTime + 1000 }],
        attempts: [{ ...attempt(1 as DeliveryId, { status: 503 }), id: 1 }],
      },
    ],
  });
  expect(store.message(3 as MessageRowId)).toBeNull();
});

test("a message without attempts has no marks; the lanes of the others are their webhooks", () => {
  const { store } = openTestStore();
  store.commit([request([{ to: [1, 2] }, { to: [1] }])]);
  const made = (delivery: number, webhook: number, round: number, status: number) =>
    attempt(delivery as DeliveryId, { webhookId: webhook as WebhookId, round, status });
  store.record(
    [made(1, 9, 2, 200), made(1, 9, 1, 503), made(2, 4, 1, 404)],
    [
      moveTo(1 as DeliveryId, "waiting", startOfTime + 9),
      moveTo(2 as DeliveryId, "waiting", startOfTime + 5),
    ],
  );
  expect(store.message(1 as MessageRowId)).toMatchObject({
    nextAttemptAt: startOfTime + 5,
    pinned: false,
    marks: [
      { lane: 1, round: 1, outcome: "http_error" },
      { lane: 0, round: 1, outcome: "http_error" },
      { lane: 1, round: 2, outcome: "success" },
    ],
  });
  expect(store.message(2 as MessageRowId)).toMatchObject({ nextAttemptAt: null, marks: [] });
  expect([store.pin(1 as MessageRowId, true), store.pin(9 as MessageRowId, true)]).toEqual([
    true,
    false,
  ]);
  expect(store.message(1 as MessageRowId)?.pinned).toBe(true);
  expect(store.messageSource(2 as MessageRowId)).toEqual({
    request: {
      sourceId: 1,
      receivedAt: startOfTime,
      wallAt: startOfTime,
      method: "POST",
      path: "/v1/batch",
      headers: [["Content-Type", "application/json"]],
      ip: "127.0.0.1",
      body: Buffer.from("[{},{}]"),
    },
    ...{ span: { offset: 4, size: 2 }, timestamp: startOfTime },
  });
  expect(store.messageSource(9 as MessageRowId)).toBeNull();
});
