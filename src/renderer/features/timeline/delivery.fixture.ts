/** A delivery as the API answers it, for tests. */

import type { AttemptAnswer, DeliveryDetailsAnswer } from "../../../contract/deliveries.ts";
import type { Outcome } from "../../../domain/states.ts";

export const startsAt = Date.parse("2026-11-21T12:00:00.000Z");

export const webhooks = [
  { id: "whk_000000001", url: "https://billing.example.test/hooks" },
  { id: "whk_000000002", url: "https://ledger.example.test/in" },
];

export const time = (at: number): string => new Date(at).toISOString();

type AttemptChanges = {
  round?: number;
  webhook?: number;
  at?: number;
  durationMs?: number;
  outcome?: Outcome;
  status?: number;
  retryable?: boolean;
};

export function attemptOf({
  round = 1,
  webhook = 1,
  at = startsAt,
  durationMs = 100,
  outcome = "http_error",
  status = 503,
  retryable = outcome !== "success",
}: AttemptChanges): AttemptAnswer {
  const url = webhooks[webhook - 1]?.url ?? "https://gone.example.test/";
  const hasAnswer = outcome === "http_error" || outcome === "success";
  return {
    id: `att_${round}_${webhook}`,
    round,
    webhookId: `whk_00000000${webhook}`,
    webhookUrl: url,
    startedAt: time(at),
    durationMs,
    simulated: false,
    phases: {},
    outcome,
    retryable,
    error:
      outcome === "tls_error"
        ? { code: "DEPTH_ZERO_SELF_SIGNED_CERT", message: "The certificate is self-signed." }
        : null,
    request: {
      sent: outcome !== "tls_error",
      method: "POST",
      url,
      startLine: "POST / HTTP/1.1",
      headers: [],
      body: "{}",
    },
    response: hasAnswer
      ? {
          status: outcome === "success" ? 200 : status,
          startLine: `HTTP/1.1 ${status}`,
          headers: [],
          body: "",
          bodyLength: 0,
        }
      : null,
    leftOut: false,
  };
}

type DeliveryChanges = Partial<Omit<DeliveryDetailsAnswer, "nextAttemptAt" | "transitions">> & {
  nextAttemptAt?: number;
  transitions?: [
    at: number,
    state: DeliveryDetailsAnswer["state"],
    reason: string,
    nextAttemptAt?: number,
  ][];
};

export function deliveryOf({
  nextAttemptAt,
  transitions,
  ...changes
}: DeliveryChanges): DeliveryDetailsAnswer {
  const { state = "waiting", attempts = [] } = changes;
  const next = nextAttemptAt ?? (state === "waiting" ? startsAt + 10_000 : undefined);
  return {
    id: "dlv_00000000a",
    messageRowId: "msg_000000001",
    destinationId: "dst_000000001",
    state,
    reason: null,
    createdAt: time(startsAt),
    firstAttemptAt: attempts.length > 0 ? time(startsAt) : null,
    windowEndsAt: null,
    rounds: Math.max(0, ...attempts.map(({ round }) => round)),
    payload: "{}",
    payloadSize: 2,
    ...changes,
    attempts,
    nextAttemptAt: next === undefined ? null : time(next),
    transitions: (transitions ?? []).map(([at, to, reason, due]) => ({
      at: time(at),
      state: to,
      reason,
      nextAttemptAt: due === undefined ? null : time(due),
    })),
  };
}
