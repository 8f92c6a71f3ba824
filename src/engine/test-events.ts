/**
 * Sends one event to one destination and shows what happened: checked, filtered, signed and sent as
 * a message is, and on no record. It changes no counts, no profile and no delivery.
 */

import type { Destination, RetryProfile, Settings, Source } from "../domain/configuration.ts";
import { destinationIds, type DestinationId, type SourceId } from "../domain/ids.ts";
import { isProblem, notFound, problem, type Problem } from "../domain/problem.ts";
import { isRetryable } from "../domain/retry.ts";
import type { Activity, Holds } from "./clock/activity.ts";
import type { Clock } from "./clock/clock.ts";
import { startAttempt, type RunningAttempt } from "./deliver/attempt.ts";
import type { DeliveryThread } from "./deliver/delivery-thread.ts";
import type { Trust } from "./deliver/dial.ts";
import { headersFor } from "./deliver/rounds.ts";
import { createSender } from "./deliver/sender.ts";
import { acceptRequest } from "./ingest/accept.ts";
import { parseBody } from "./ingest/read-request.ts";
import type { TestAttempt, TestEvents } from "./pipeline.ts";
import type { Decision } from "./route/decision.ts";
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

export function createTestEvents(options: TestEventsOptions): TestEvents & { stop(): void } {
  const { configuration, clock, activity, holds, trust, thread } = options;
  const sender = createSender({ trust, thread });
  const running = new Set<RunningAttempt>();

  function routed(destination: Destination, event: unknown): Routed | Problem {
    const body = Buffer.from(JSON.stringify({ batch: [event] }));
    const parsed = parseBody(body, true);
    if (isProblem(parsed)) return parsed;
    const facts = {
      source: noSource,
      destinations: [{ ...destination, enabled: true, sourceIds: [noSource.id] }],
      seed: configuration.settings().seed,
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
    const payload = decision.filtered?.bodies?.after ?? payloads[destination.payload] ?? null;
    return { messageId, decision, payload: decision.routed ? payload : null };
  }

  async function attempt(
    destination: Destination,
    { id, url, headers }: Destination["webhooks"][number],
    body: Uint8Array,
  ): Promise<TestAttempt | null> {
    const profile = configuration.retryProfileOf(destination);
    const work = activity.begin();
    const own = headersFor(destination, configuration.settings().vendor, body);
    const started = startAttempt({
      ...{ sender, clock, holds, work, url, body },
      headers: [...own, ...Object.entries(headers)],
      timeoutMs: profile.timeoutMs,
    });
    running.add(started);
    try {
      const result = await started.done;
      if (result === null) return null;
      const status = result.outcome === "http_error" ? (result.response?.status ?? null) : null;
      const retryable = isRetryable(profile, result.outcome, status);
      return { ...result, webhookId: id, webhookUrl: url, retryable };
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
      const { payload } = test;
      if (payload === null) return { ...test, attempts: [] };
      const before = new Set(running);
      const all = Promise.all(
        destination.webhooks.map((webhook) => attempt(destination, webhook, payload)),
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
