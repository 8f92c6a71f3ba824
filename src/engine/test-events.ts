/**
 * Sends one event to one destination and shows what happened: checked, filtered, signed and sent as
 * a message is, but without a record. It changes no counts, no profile and no delivery.
 */

import type { Destination, RetryProfile, Settings, Source } from "../domain/configuration.ts";
import {
  destinationIds,
  type DestinationId,
  type SourceId,
  type WebhookId,
} from "../domain/ids.ts";
import { isProblem, notFound, problem, type Problem } from "../domain/problem.ts";
import { isRetryable } from "../domain/retry.ts";
import type { Activity, Holds } from "./clock/activity.ts";
import type { Clock } from "./clock/clock.ts";
import { startAttempt, type RunningAttempt } from "./deliver/attempt.ts";
import type { RequestHeaders } from "./deliver/exchange.ts";
import type { DeliveryThread } from "./deliver/delivery-thread.ts";
import type { Trust } from "./deliver/dial.ts";
import { headersFor, mappedHeaders } from "./deliver/round-requests.ts";
import { createSender } from "./deliver/sender.ts";
import { acceptRequest } from "./ingest/accept.ts";
import { parseBody } from "./ingest/read-request.ts";
import type { TestAttempt, TestEvents } from "./pipeline.ts";
import type { Decision, MappedRequest } from "./route/decision.ts";
import { wallClockNow } from "./real-time.ts";

type TestEventsOptions = {
  configuration: {
    destination(id: DestinationId): Destination | undefined;
    retryProfileOf(destination: Destination): RetryProfile;
    settings(): Settings;
  };
  clock: Clock;
  activity: Activity;
  holds: Holds;
  trust: Trust;
  thread: DeliveryThread | undefined;
  isSuppressed: (userId: string) => boolean;
};

/** The source of no message: it has no plan, and only the destination under test is connected. */
const noSource: Source = {
  id: 0 as SourceId,
  name: "Test event",
  kind: "server",
  writeKey: "",
  mode: "explain",
  deduplicate: false,
  correctClockSkew: "auto",
  faults: [],
  plan: null,
  createdAt: 0,
};

const sample = {
  type: "track",
  userId: "test-user",
  event: "Test Event",
  properties: { test: true },
};

type Routed = { messageId: string; decision: Decision; payload: Uint8Array | null };

type TestRequest = {
  webhookId: WebhookId;
  mapping: string | null;
  url: string;
  method: string;
  headers: RequestHeaders;
  body: Uint8Array;
};

export function createTestEvents(options: TestEventsOptions): TestEvents & { stop(): void } {
  const { configuration, clock, activity, holds, trust, thread } = options;
  const sender = createSender({ trust, thread });
  const running = new Set<RunningAttempt>();

  function routed(destination: Destination, event: unknown): Routed | Problem {
    const body = Buffer.from(JSON.stringify({ batch: [event] }));
    const parsed = parseBody(body, true);
    if (isProblem(parsed)) return parsed;
    const settings = configuration.settings();
    const facts = {
      source: noSource,
      destinations: [{ ...destination, enabled: true, sourceIds: [noSource.id] }],
      ...{ settings, seed: settings.seed },
      typeFromPath: null,
      receivedAt: clock.now(),
      wallAt: wallClockNow(),
      method: "POST",
      path: "/v1/batch",
      headers: [],
      ip: null,
      body,
      isSuppressed: options.isSuppressed,
    };
    const [message] = acceptRequest(facts, parsed).messages;
    if (message === undefined) throw new Error("an event became no message");
    const { rejection, messageId } = message;
    if (rejection !== null) return problem(400, rejection.reason, rejection.detail);
    const { decisions, payloads } = message.route();
    const [decision] = decisions;
    if (decision === undefined) throw new Error("a test event has no decision");
    if (!decision.routed) return { messageId, decision, payload: null };
    if (decision.requests !== undefined)
      return { messageId, decision: withBatchesOfOne(decision, destination), payload: null };
    const payload = decision.filtered?.bodies?.after ?? payloads[destination.payload] ?? null;
    return { messageId, decision, payload };
  }

  function requestsOf(destination: Destination, { decision, payload }: Routed): TestRequest[] {
    const { vendor } = configuration.settings();
    if (payload !== null) {
      return destination.webhooks.map((webhook) => ({
        ...{
          webhookId: webhook.id,
          mapping: null,
          url: webhook.url,
          method: "POST",
          body: payload,
        },
        headers: headersFor(destination, webhook, vendor),
      }));
    }
    return (decision.requests ?? []).map((request) => {
      const { webhookId, url, method } = request;
      const body = bodyOf(request);
      const signing = { headers: request.headers, signed: request.body };
      const headers = mappedHeaders(signing, destination, vendor, body.length > 0);
      return { webhookId, mapping: nameOf(destination, request), url, method, headers, body };
    });
  }

  async function attempt(
    destination: Destination,
    { webhookId, mapping, ...request }: TestRequest,
  ): Promise<TestAttempt | null> {
    const profile = configuration.retryProfileOf(destination);
    const work = activity.begin();
    const started = startAttempt({
      ...{ sender, clock, holds, work, ...request },
      timeoutMs: profile.timeoutMs,
    });
    running.add(started);
    try {
      const result = await started.done;
      if (result === null) return null;
      const status = result.outcome === "http_error" ? (result.response?.status ?? null) : null;
      const retryable = isRetryable(profile, result.outcome, status);
      const { url: webhookUrl, method, body } = request;
      return { ...result, webhookId, webhookUrl, mapping, method, body, retryable };
    } finally {
      running.delete(started);
      work.end();
    }
  }

  return {
    async send(id, event = sample, caller) {
      const destination = configuration.destination(id);
      if (destination === undefined) return notFound("destination", destinationIds.format(id));
      const test = routed(destination, event);
      if (isProblem(test)) return test;
      const before = new Set(running);
      const all = Promise.all(
        requestsOf(destination, test).map((request) => attempt(destination, request)),
      );
      const mine = [...running].filter((each) => !before.has(each));
      const leave = (): void => mine.forEach((each) => each.stop());
      caller?.addEventListener("abort", leave, { once: true });
      const attempts = await all;
      caller?.removeEventListener("abort", leave);
      return { ...test, attempts: attempts.filter((each) => each !== null) };
    },
    stop() {
      for (const each of running) each.stop();
      sender.close();
    },
  };
}

const nameOf = ({ mappings }: Destination, { webhookId }: MappedRequest): string | null =>
  mappings.find(({ id }) => id === webhookId)?.name ?? null;

/** A mapping with batches sends a batch of one. */
function bodyOf({ body, batch }: MappedRequest): Uint8Array {
  if (batch === null) return body ?? new Uint8Array();
  return Buffer.concat([Buffer.from("["), body ?? Buffer.from("null"), Buffer.from("]")]);
}

function withBatchesOfOne(decision: Decision, destination: Destination): Decision {
  const batched = new Set(
    decision.requests?.flatMap((request) =>
      request.batch === null ? [] : [nameOf(destination, request)],
    ),
  );
  const mappings = decision.mappings?.map((each) =>
    batched.has(each.name) ? { ...each, detail: "Its data is sent as a batch of one." } : each,
  );
  const detail = mappings?.map((each) => `${each.name}: ${each.detail}`).join(" ");
  return { ...decision, detail: detail ?? decision.detail, ...(mappings && { mappings }) };
}
