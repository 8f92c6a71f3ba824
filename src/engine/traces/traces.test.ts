/** What a trace consists of, from what the pipeline says; how it is sent is tested beside it. */

import { Readable } from "node:stream";
import { afterEach, expect, test, vi } from "vitest";
import type { Webhook } from "../../domain/configuration.ts";
import type {
  DeliveryId,
  DestinationId,
  MessageRowId,
  SourceId,
  WebhookId,
} from "../../domain/ids.ts";
import type { AttemptResult } from "../deliver/attempt.ts";
import type { ClaimedDelivery, CommittedMessage, TracedMessage } from "../ports.ts";
import { nextTurn } from "../real-time.ts";
import type { Post } from "./exporter.ts";
import { createTraces } from "./traces.ts";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

type Sent = {
  name: string;
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: Record<string, unknown> }[];
  status: { code: number; message?: string };
};

const traced: TracedMessage = {
  ...{ messageId: "m", type: "track", sourceId: 1 as SourceId, receivedAt: 1000, wallAt: 50 },
  ...{ state: "delivered", reason: null, decisions: [] },
};

/** Real time stands at 100 until a test moves it, and the clock at 1,000. */
function startTraces({
  message = () => traced,
  now = () => 1000,
}: { message?: (id: MessageRowId) => TracedMessage | null; now?: () => number } = {}) {
  const wall = vi.spyOn(Date, "now").mockReturnValue(100);
  const spans: Sent[] = [];
  const post: Post = async (_, { body }) => {
    const { resourceSpans } = JSON.parse(body) as {
      resourceSpans: { scopeSpans: { spans: Sent[] }[] }[];
    };
    spans.push(
      ...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((one) => one.spans)),
    );
    return Object.assign(Readable.from([Buffer.from("{}")]), { statusCode: 200, headers: {} });
  };
  const reported: unknown[] = [];
  const traces = createTraces({
    collector: { url: "http://127.0.0.1:4318/v1/traces", headers: {} },
    store: { tracedMessage: message, messageIdOf: (id) => message(id)?.messageId ?? null },
    now,
    version: "1",
    log: () => {},
    report: (error) => reported.push(error),
    post,
  });
  return {
    ...traces,
    wall,
    reported,
    commit: (...ids: number[]) =>
      traces.committed(ids.map((id) => ({ id: id as MessageRowId }) as CommittedMessage)),
    /** All spans, each in short. */
    async sent() {
      await traces.stop();
      return spans.map(({ startTimeUnixNano, endTimeUnixNano, attributes, status, ...span }) => ({
        ...span,
        ms: [startTimeUnixNano, endTimeUnixNano].map((at) => Number(at) / 1e6),
        attributes: Object.fromEntries(
          attributes.map(({ key, value }) => [key, Object.values(value)[0]]),
        ),
        error: status.code === 0 ? null : status.message,
      }));
    },
  };
}

const delivery = {
  ...{ id: 5 as DeliveryId, destinationId: 6 as DestinationId, messageRow: 1 as MessageRowId },
  round: 2,
} as ClaimedDelivery;
const webhook = { id: 7 as WebhookId, url: "http://ada:pass@127.0.0.1/hook" } as Webhook;
const result = (more: Partial<AttemptResult> = {}): AttemptResult =>
  ({
    ...{ outcome: "success", response: { status: 204 }, simulated: false, durationMs: 7 },
    ...{ error: null, ...more },
  }) as AttemptResult;

test("what cannot be read is reported and left out, and the rest of the traces goes on", async () => {
  const odd = new Error("odd");
  let isBroken = true;
  const one = startTraces({
    message(id) {
      if (isBroken || id === 1) throw odd;
      return traced;
    },
  });
  one.commit(1, 2);
  expect(one.begin(delivery, webhook)).toBeUndefined();
  one.endRound(delivery, true);
  expect(one.reported).toEqual([odd]);
  isBroken = false;
  await nextTurn();
  await nextTurn();
  expect(one.reported).toEqual([odd, odd]);
  const second = { ...delivery, messageRow: 2 as MessageRowId };
  const begun = one.begin(second, webhook);
  isBroken = true;
  begun?.end(result());
  one.endRound(second, true);
  isBroken = false;
  one.commit(3);
  await nextTurn();
  expect((await one.sent()).map(({ name }) => name)).toEqual([
    ...["ingest track", "POST", "ingest track"],
  ]);
  expect([one.counts().dropped, one.reported.length]).toEqual([3, 3]);
});

test("a message is a span from its arrival to its commit, with one for each decision", async () => {
  const decisions = [
    { destinationId: 6 as DestinationId, reason: "routed" },
    { destinationId: 8 as DestinationId, reason: "disabled" },
  ];
  const { commit, sent } = startTraces({ message: () => ({ ...traced, decisions }) });
  commit(1);
  const [root, ...others] = await sent();
  expect(root).toMatchObject({
    ...{ name: "ingest track", kind: 2, ms: [50, 100], error: null },
    attributes: {
      "hookyard.message.id": "msg_000000001",
      "hookyard.source.id": "src_000000001",
      "hookyard.clock.time": "1970-01-01T00:00:01.000Z",
    },
  });
  expect([root?.traceId, root?.spanId]).toEqual([
    expect.stringMatching(/^[0-9a-f]{32}$/),
    expect.stringMatching(/^[0-9a-f]{16}$/),
  ]);
  expect(root).not.toHaveProperty("parentSpanId");
  expect(root?.attributes).not.toHaveProperty("hookyard.reason");
  expect(others).toMatchObject(
    [true, false].map((routed, nth) => ({
      ...{ name: "decision", kind: 1, ms: [100, 100], error: null },
      ...{ parentSpanId: root?.spanId, traceId: root?.traceId },
      attributes: {
        "hookyard.routed": routed,
        "hookyard.reason": decisions[nth]?.reason,
        "hookyard.destination.id": ["dst_000000006", "dst_000000008"][nth],
      },
    })),
  );
  expect(new Set([root, ...others].map((span) => span?.spanId)).size).toBe(3);
});

test.for<[Partial<TracedMessage>, string, string | null, string | undefined]>([
  [{ type: null, state: "rejected", reason: "no_type" }, "ingest unknown", "no_type", "no_type"],
  [{ state: "rejected" }, "ingest track", "rejected", undefined],
  [{ state: "filtered", reason: "no_destinations" }, "ingest track", null, "no_destinations"],
])("a message with %j is the span %s with the error %s", async ([more, name, error, reason]) => {
  const { commit, sent } = startTraces({ message: () => ({ ...traced, ...more }) });
  commit(1);
  const [root] = await sent();
  expect(root).toMatchObject({ name, error });
  expect(root?.attributes["hookyard.reason"]).toBe(reason);
});

test("an attempt ends after its duration, and one that an endpoint held when it did in real time", async () => {
  const { begin, endRound, wall, sent } = startTraces();
  const first = begin(delivery, webhook);
  wall.mockReturnValue(110);
  const mapped = { method: "PUT" } as NonNullable<ClaimedDelivery["mapped"]>;
  const second = begin({ ...delivery, mapped }, { ...webhook, id: 9 as WebhookId });
  wall.mockReturnValue(130);
  first?.end(result());
  second?.end(
    result({
      simulated: true,
      durationMs: 5000,
      outcome: "http_error",
      response: { status: 500 } as never,
    }),
  );
  begin(delivery, webhook)?.end(
    result({ outcome: "timeout", response: null, error: { code: "late" } as never }),
  );
  endRound(delivery, false);
  const [plain, held, late, round] = await sent();
  expect(plain).toMatchObject({ name: "POST", kind: 3, ms: [100, 107], error: null });
  expect(first?.traceparent).toBe(`00-${plain?.traceId}-${plain?.spanId}-01`);
  expect(plain?.attributes).toEqual({
    ...{ "http.request.method": "POST", "url.full": "http://left-out:left-out@127.0.0.1/hook" },
    ...{ "http.response.status_code": 204, "hookyard.delivery.id": "dlv_000000005" },
    ...{ "hookyard.round": 2, "hookyard.outcome": "success" },
    "hookyard.clock.time": "1970-01-01T00:00:01.000Z",
  });
  expect(held).toMatchObject({
    ...{ name: "PUT", ms: [110, 130], error: "http_error" },
    attributes: {
      ...{ "http.request.method": "PUT", "error.type": "500", "hookyard.clock.duration_ms": 5000 },
    },
  });
  expect(held?.spanId).not.toBe(plain?.spanId);
  expect(late).toMatchObject({ error: "timeout", attributes: { "error.type": "late" } });
  expect(late?.attributes).not.toHaveProperty("http.response.status_code");
  expect(round).toMatchObject({
    ...{ name: "round 2", kind: 1, ms: [100, 130], error: "no_success" },
    attributes: {
      ...{ "hookyard.delivery.id": "dlv_000000005", "hookyard.round": 2 },
      "hookyard.destination.id": "dst_000000006",
    },
  });
  for (const attempt of [plain, held, late]) expect(attempt?.parentSpanId).toBe(round?.spanId);
});

test("a round ends once, a new one begins at its own time, and one that is abandoned has no span", async () => {
  const { begin, endRound, forget, wall, sent } = startTraces();
  begin(delivery, webhook);
  endRound(delivery, true);
  endRound(delivery, true);
  begin(delivery, webhook);
  forget();
  endRound(delivery, true);
  wall.mockReturnValue(200);
  begin(delivery, webhook);
  endRound(delivery, true);
  expect((await sent()).map(({ ms, error }) => [ms, error])).toEqual([
    [[100, 100], null],
    [[200, 200], null],
  ]);
});

test("a message that is gone has no span, and its delivery's trace is named after its row", async () => {
  const { commit, begin, sent } = startTraces({
    message: (id) => (id === 1 ? null : { ...traced, messageId: "1" }),
  });
  commit(1, 2);
  begin(delivery, webhook)?.end(result());
  const spans = await sent();
  expect(spans.map(({ name }) => name).toSorted()).toEqual(["POST", "ingest track"]);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
});

test("a time that no date has is the last one", async () => {
  const { begin, sent } = startTraces({ now: () => 8.64e15 + 1 });
  begin(delivery, webhook)?.end(result());
  expect((await sent())[0]?.attributes["hookyard.clock.time"]).toBe("+275760-09-13T00:00:00.000Z");
});

test("32,768 arrivals wait to be read, 64 of them in a turn of the event loop, and later ones are read too", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  let reads = 0;
  const { commit, counts } = startTraces({
    message() {
      reads += 1;
      return null;
    },
  });
  const ids = Array.from({ length: 32_768 }, (_, n) => n);
  commit(...ids);
  expect(counts().dropped).toBe(0);
  commit(1);
  expect(counts().dropped).toBe(1);
  await nextTurn();
  expect(reads).toBe(64);
  while (reads < 32_768) await nextTurn();
  await nextTurn();
  commit(1, 2, 3);
  while (reads < 32_771) await nextTurn();
});
