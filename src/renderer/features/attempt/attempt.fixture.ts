/** Attempts and deliveries for tests, as the API answers them. */

import type { Attempt, Delivery, Message, Webhook } from "../timeline/timeline-model.ts";

export const webhooks: Webhook[] = [
  { id: "whk_1", url: "https://billing.example.test/hooks/orders", headers: {} },
  { id: "whk_2", url: "http://127.0.0.1:4710/ledger", headers: {} },
];

let made = 0;

export function anAttempt(changes: Partial<Attempt> = {}): Attempt {
  made++;
  const webhookUrl = webhooks.find(({ id }) => id === (changes.webhookId ?? "whk_1"))?.url ?? "";
  return {
    id: `att_${String(made).padStart(9, "0")}`,
    round: 1,
    webhookId: "whk_1",
    webhookUrl,
    startedAt: "2026-11-21T15:50:57.000Z",
    durationMs: 142,
    simulated: false,
    phases: { dns: 2, connect: 11, tls: 42, sent: 43, firstByte: 140, done: 142 },
    outcome: "http_error",
    retryable: true,
    error: null,
    request: {
      sent: true,
      method: "POST",
      url: webhookUrl,
      startLine: "POST /hooks/orders HTTP/1.1",
      headers: [["Content-Type", "application/json"]],
      body: `{"a":1}`,
    },
    response: {
      status: 503,
      startLine: "HTTP/1.1 503 Service Unavailable",
      headers: [["Content-Length", "4"]],
      body: "busy",
      bodyLength: 4,
    },
    leftOut: false,
    ...changes,
  };
}

export function aDelivery(changes: Partial<Delivery> = {}): Delivery {
  return {
    id: "dlv_000000001",
    messageRowId: "msg_000000001",
    destinationId: "dst_000000001",
    state: "waiting",
    reason: "retry",
    createdAt: "2026-11-21T15:50:57.000Z",
    firstAttemptAt: "2026-11-21T15:50:57.000Z",
    nextAttemptAt: null,
    windowEndsAt: "2026-11-21T19:50:57.000Z",
    rounds: 1,
    payload: `{"a":1}`,
    payloadSize: 7,
    transitions: [],
    attempts: [],
    ...changes,
  };
}

export function aMessage(changes: Partial<Message> = {}): Message {
  return {
    id: "msg_000000002",
    messageId: "8c713554",
    sourceId: "src_000000001",
    type: "track",
    userId: "u_1042",
    anonymousId: null,
    event: "Order Completed",
    traits: null,
    receivedAt: "2026-11-21T15:50:57.000Z",
    timestamp: "2026-11-21T15:50:55.000Z",
    state: "waiting",
    reason: null,
    attempts: 0,
    lastStatus: null,
    pinned: false,
    replayOf: null,
    nextAttemptAt: null,
    plan: null,
    violations: [],
    dropped: [],
    marks: [],
    detail: null,
    duplicateOf: null,
    warnings: [],
    rawSize: 27,
    raw: `{"event":"Order Completed"}`,
    request: { method: "POST", path: "/v1/track", headers: [], size: 27, messages: 1 },
    decisions: [],
    deliveries: [],
    ...changes,
  };
}
