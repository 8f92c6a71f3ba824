/**
 * Whatever a program calls and a server does: every accepted call is sent exactly once or handed
 * over, in order.
 */

import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { Analytics, AnalyticsError } from "../../src/client/client.ts";
import { startBatchServer, stopServers } from "../support/batch-server.ts";
import type { BatchAnswer } from "../support/batch-server.ts";
import { createSteppedClock } from "../support/stepped-clock.ts";

type Step =
  | { do: "call"; bytes: number }
  | { do: "flush" }
  | { do: "turn" }
  | { do: "wait"; ms: number }
  | { do: "configure"; flushAt?: number; flushAfter?: number };

const bytes = fc.oneof(
  { weight: 3, arbitrary: fc.constant(10) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 32_500 }) },
  { weight: 3, arbitrary: fc.constant(32_500) },
  { weight: 1, arbitrary: fc.constant(33_000) },
);
const flushAt = fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 4, max: 100 }));
const flushAfter = fc.integer({ min: 1, max: 20_000 });

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ do: fc.constant("call" as const), bytes }) },
  { weight: 1, arbitrary: fc.constantFrom<Step>({ do: "flush" }, { do: "turn" }, { do: "turn" }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("wait" as const),
      ms: fc.integer({ min: 1, max: 8000 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record(
      { do: fc.constant("configure" as const), flushAt, flushAfter },
      { requiredKeys: ["do"] },
    ),
  },
);

const trouble = fc.constantFrom<BatchAnswer>(
  { status: 500 },
  { status: 503, headers: { "Retry-After": "7" } },
  { status: 429, headers: { "Retry-After": "1" } },
  { status: 408 },
  { status: 400, body: "no" },
  { status: 302, headers: { Location: "/" } },
  "cut",
);
const answers = fc.array(
  fc.oneof(
    { weight: 2, arbitrary: trouble },
    fc.constant<BatchAnswer>({ status: 200, body: "yes" }),
  ),
  {
    maxLength: 12,
  },
);

const runs = fc.record({
  steps: fc.array(step, { maxLength: 80, size: "max" }),
  answers,
  flushAt,
  flushAfter,
  maxTries: fc.integer({ min: 1, max: 4 }),
  maxQueueBytes: fc.constantFrom(40_000, 400_000, 64_000_000),
});

type Run = typeof runs extends fc.Arbitrary<infer Value> ? Value : never;

/**
 * Gives what the server took in and what was handed over, in order, and what the client says of
 * both.
 */
async function play({ steps, answers, ...options }: Run, timeoutMs?: number) {
  const time = createSteppedClock();
  const settled: string[] = [];
  const accepted: string[] = [];
  let counted = 0;
  let mostBytes = 0;
  const server = await startBatchServer((request, ids) => {
    const answer = answers[request] ?? { status: 200 };
    if (typeof answer === "object" && answer.status === 200) settled.push(...ids);
    return answer;
  });
  const client = new Analytics("key", {
    endpoint: server.url,
    time,
    onError: ({ messages }) => settled.push(...messages.map(({ messageId }) => messageId)),
    onEvent(event) {
      mostBytes = Math.max(mostBytes, event.state.bytes);
      if (event.event === "sent" || event.event === "failed") counted += event.messages;
      if (event.event === "retried")
        setImmediate(() => time.advanceBy(Math.max(0, event.nextTryAt - time.now())));
    },
    ...options,
  });

  let largest = options.flushAt;
  for (const [number, step] of steps.entries()) {
    if (step.do === "call") {
      const messageId = `m${number}`;
      try {
        client.track({
          userId: "u",
          event: "e",
          messageId,
          properties: { text: "x".repeat(step.bytes) },
        });
        accepted.push(messageId);
      } catch (error) {
        if (!(error instanceof AnalyticsError)) throw error;
        if (step.bytes === 33_000) expect(error.code).toBe("call_too_large");
        else
          expect([
            error.code,
            client.state.bytes + step.bytes + 200 > options.maxQueueBytes,
          ]).toEqual(["queue_full", true]);
      }
    } else if (step.do === "flush") void client.flush();
    else if (step.do === "wait") time.advanceBy(step.ms);
    else if (step.do === "turn") await new Promise((resolve) => setImmediate(resolve));
    else {
      largest = Math.max(largest, step.flushAt ?? 1);
      client.configure({ flushAt: step.flushAt, flushAfter: step.flushAfter });
    }
  }
  const closed = client.close({ timeoutMs });
  if (timeoutMs !== undefined) setImmediate(() => time.advanceBy(timeoutMs));
  await closed;
  await server.stop();

  expect(counted).toBe(accepted.length);
  expect(client.state).toMatchObject({ queued: 0, batches: 0, bytes: 0, nextFlushAt: null });
  expect(time.scheduled()).toEqual([]);
  expect(mostBytes).toBeLessThanOrEqual(options.maxQueueBytes);
  for (const { body, ids } of server.received) {
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(512_000);
    expect(ids.length).toBeLessThanOrEqual(largest);
  }
  return { settled, accepted, most: server.most };
}

afterEach(stopServers);

test("every accepted call is sent exactly once or handed over, in order, one batch at a time and within the limits", async () => {
  await fc.assert(
    fc.asyncProperty(runs, async (run) => {
      const { settled, accepted, most } = await play(run);
      expect(settled).toEqual(accepted);
      expect(most).toBeLessThanOrEqual(1);
    }),
    { numRuns: 80 },
  );
});

test("a close with a deadline loses nothing either", async () => {
  await fc.assert(
    fc.asyncProperty(runs, fc.integer({ min: 1, max: 3000 }), async (run, timeoutMs) => {
      const { settled, accepted } = await play(run, timeoutMs);
      // What the server answered and the client no longer heard is there twice.
      expect([...new Set(settled)].toSorted()).toEqual(accepted.toSorted());
    }),
    { numRuns: 40 },
  );
});
