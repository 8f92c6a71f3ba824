import { describe, expect, onTestFinished, test } from "vitest";
import type { Destination, Source } from "../domain/configuration.ts";
import type { DestinationId, MessageRowId, SourceId, WebhookId } from "../domain/ids.ts";
import type { Outcome } from "../domain/states.ts";
import { Flow } from "./flow.ts";
import type { CommittedMessage, RecordedAttempt, UnderWay } from "./ports.ts";

const sourceId = 1 as SourceId;
const destinationId = 1 as DestinationId;
const webhookId = 1 as WebhookId;

let now = 1_000_000;
const pass = (ms: number): void => void (now += ms);

let lastId = 0;
const message = (routed = true): CommittedMessage => {
  lastId += 1;
  return {
    id: lastId as MessageRowId,
    messageId: `m${lastId}`,
    sourceId,
    duplicateOf: null,
    decisions: [
      { destinationId, routed, reason: "", detail: "", warnings: [], payload: "documented" },
    ],
  };
};
const attempt = (outcome: Outcome = "success", round = 1): RecordedAttempt =>
  ({
    messageRow: 1 as MessageRowId,
    destinationId,
    webhookId,
    round,
    outcome,
    durationMs: 3,
    response: outcome === "success" ? { status: 200 } : null,
  }) as unknown as RecordedAttempt;

function startFlow({
  before = [],
  underWay = [],
}: { before?: Outcome[]; underWay?: UnderWay[] } = {}) {
  let seeded = 0;
  const flow = new Flow({
    configuration: {
      sources: () => [{ id: sourceId } as Source],
      destinations: () => [
        { id: destinationId, sourceIds: [sourceId], webhooks: [{ id: webhookId }] } as Destination,
      ],
    },
    store: {
      deliveriesByDestination: () => new Map([[destinationId, { waiting: 2 }]]),
      dueTimes: () => [5000, 7000],
      newestAttempts: () => {
        seeded += 1;
        return before.map((outcome) => ({ webhookId, outcome, status: null, durationMs: 1 }));
      },
    },
    clock: { now: () => 777 },
    monotonic: () => now,
    underWay: () => underWay,
  });
  return { flow, seeds: () => seeded };
}

/** So many sources, each of which goes to so many destinations. */
function startLarge(from: number, destinations: number) {
  const sources = Array.from({ length: from }, (_, n) => (n + 1) as SourceId);
  const to = Array.from({ length: destinations }, (_, n) => (n + 1) as DestinationId);
  const flow = new Flow({
    configuration: {
      sources: () => sources.map((id) => ({ id }) as Source),
      destinations: () =>
        to.map((id) => ({ id, sourceIds: sources, webhooks: [] }) as unknown as Destination),
    },
    store: {
      deliveriesByDestination: () => new Map(),
      dueTimes: () => [],
      newestAttempts: () => [],
    },
    clock: { now: () => 0 },
    monotonic: () => now,
    underWay: () => [],
  });
  const committed = (
    source: SourceId,
    destinations: readonly DestinationId[],
    routed = true,
  ): void =>
    flow.committed([
      {
        ...message(),
        sourceId: source,
        decisions: destinations.map((id) => ({
          ...{ destinationId: id, routed, reason: "", detail: "", warnings: [] },
          payload: "documented" as const,
        })),
      },
    ]);
  return { flow, sources, to, committed };
}

test("of more than four thousand lines, those with the most messages are in an answer, and none without", () => {
  const { flow, sources, to, committed } = startLarge(70, 70);
  expect(flow.look().lines).toEqual([]);
  committed(sources[0]!, to);
  expect(flow.look().lines).toHaveLength(70);
  for (const source of sources) committed(source, to);
  for (const source of sources.slice(35)) committed(source, to);
  const { lines } = flow.look();
  expect([lines.length, lines.filter(({ count }) => count === 2).length]).toEqual([4000, 36 * 70]);
});

test("messages that are kept from a destination count too when lines are left out", () => {
  const { flow, sources, to, committed } = startLarge(70, 70);
  for (const source of sources) committed(source, to);
  const [few, some, many] = [sources.slice(0, 10), sources.slice(10, 20), sources.slice(20)];
  for (const source of [...many, ...some]) committed(source, to, false);
  for (const source of many) committed(source, to, false);
  const { lines } = flow.look();
  const linesOf = (group: SourceId[]) => lines.filter(({ sourceId: id }) => group.includes(id));
  expect([linesOf(many), linesOf(some), linesOf(few)].map(({ length }) => length)).toEqual([
    3500, 500, 0,
  ]);
  expect(lines[0]).toMatchObject({ count: 1, filtered: 2 });
});

test("four thousand lines are in an answer with those that have no message, in the order of the destinations", () => {
  const { flow, sources, to, committed } = startLarge(80, 50);
  committed(sources[79]!, to.slice(49));
  const { lines } = flow.look();
  expect(lines.map((line) => [line.destinationId, line.sourceId])).toEqual(
    to.flatMap((id) => sources.map((source) => [id, source])),
  );
  expect(lines.filter(({ count }) => count > 0)).toMatchObject([{ sourceId: 80, count: 1 }]);
});

describe("the flow", () => {
  test("counts messages per line from the start, and their rate over the last five seconds", () => {
    const { flow } = startFlow();
    for (let second = 0; second < 5; second += 1) {
      flow.committed([message(), message(), message(false)]);
      pass(1000);
    }
    pass(-1000);
    const { since, sources, lines } = flow.look();
    expect(since).toBe(777);
    expect(sources).toEqual([{ id: sourceId, count: 15, perSecond: 3, shares: false }]);
    expect(lines).toEqual([{ sourceId, destinationId, count: 10, perSecond: 2, filtered: 5 }]);
    pass(200_000);
    expect(flow.look().lines).toMatchObject([{ count: 10, perSecond: 0 }]);
  });

  test.for([0, 1_000_000])("keeps the seconds apart from %i on", (start) => {
    const before = now;
    now = start;
    onTestFinished(() => void (now = before));
    const { flow } = startFlow();
    const rate = (): number | undefined => flow.look().sources[0]?.perSecond;
    for (const passed of [0, 64_000, 63_000, 65_000, 128_000]) {
      pass(passed);
      expect(rate()).toBe(0);
      flow.committed(Array.from({ length: 5 }, () => message()));
      expect(rate()).toBe(1);
    }
    pass(4_000);
    expect(rate()).toBe(1);
    flow.recorded([attempt()]);
    pass(59_000);
    flow.recorded([attempt("timeout")]);
    expect(flow.look().webhooks).toMatchObject([{ lastMinute: { ended: 2, failed: 1 } }]);
    pass(1_000);
    expect(flow.look().webhooks).toMatchObject([{ lastMinute: { ended: 1, failed: 1 } }]);
  });

  test("shows the last ten attempts at a webhook, oldest first", () => {
    const { flow } = startFlow();
    const outcomes: Outcome[] = ["timeout", "http_error", ...Array<Outcome>(9).fill("success")];
    for (const outcome of outcomes) flow.recorded([attempt(outcome)]);
    const shown = (outcome: Outcome, status: number | null) => ({ outcome, status, durationMs: 3 });
    expect(flow.look().webhooks[0]?.last).toEqual([
      shown("http_error", null),
      ...outcomes.slice(2).map((outcome) => shown(outcome, 200)),
    ]);
  });

  test("knows how the attempts at a webhook ended", () => {
    const { flow } = startFlow();
    flow.recorded([attempt(), attempt("http_error"), attempt("timeout")]);
    expect(flow.look().webhooks).toMatchObject([
      {
        count: 3,
        lastMinute: { ended: 3, failed: 2 },
        failedInARow: 2,
        lastFailure: { outcome: "timeout", status: null },
      },
    ]);
    pass(60_000);
    flow.recorded([attempt()]);
    expect(flow.look().webhooks).toMatchObject([
      { count: 4, lastMinute: { ended: 1, failed: 0 }, failedInARow: 0 },
    ]);
    for (let each = 0; each < 20; each += 1) flow.recorded([attempt()]);
    expect(flow.look().webhooks[0]?.last).toHaveLength(10);
  });

  test("shows how attempts ended before the start, counts none of them, and asks for them once", () => {
    const { flow, seeds } = startFlow({ before: ["timeout", "success"] });
    expect(flow.look().webhooks).toMatchObject([{ count: 0, failedInARow: 1 }]);
    flow.look();
    expect(seeds()).toBe(1);
    expect(flow.look().waiting).toEqual([
      { destinationId, queued: 0, sending: 0, waiting: 2, due: [5000, 7000] },
    ]);
  });

  test("names single messages only while somebody looks, and for four seconds", () => {
    const { flow } = startFlow();
    flow.committed([message()]);
    expect(flow.look().moving.messages).toEqual([]);
    flow.committed([message()]);
    flow.recorded([attempt("http_error", 2)]);
    pass(100);
    const { moving } = flow.look();
    expect(moving.messages).toEqual([
      { id: lastId, sourceId, destinationIds: [destinationId], agoMs: 100 },
    ]);
    expect(moving.attempts).toMatchObject([{ round: 2, outcome: "http_error", agoMs: 100 }]);
    pass(4000);
    expect(flow.look().moving).toEqual({ messages: [], attempts: [] });
    pass(20_000);
    flow.committed([message()]);
    expect(flow.look().moving.messages).toEqual([]);
  });

  test("counts somebody as looking for less than ten seconds after a look, and a message as moving for less than four", () => {
    const { flow } = startFlow();
    flow.look();
    pass(9999);
    flow.committed([message()]);
    flow.look();
    pass(3999);
    expect(flow.look().moving.messages).toMatchObject([{ id: lastId, agoMs: 3999 }]);
    pass(1);
    expect(flow.look().moving.messages).toEqual([]);
    pass(10_000);
    flow.committed([message()]);
    expect(flow.look().moving.messages).toEqual([]);
  });

  test("names a thousand messages and a thousand attempts at most", () => {
    const inFlight = { messageId: 1 as MessageRowId, destinationId, round: 1, startedAt: now };
    const underWay: UnderWay[] = Array.from({ length: 1001 }, () => ({ ...inFlight, webhookId }));
    const { flow } = startFlow({ underWay });
    flow.look();
    for (let of = 1; of <= 1001; of += 1) {
      flow.committed([{ ...message(), sourceId: of as SourceId }]);
      flow.recorded([{ ...attempt(), webhookId: of as WebhookId }]);
    }
    const { messages, attempts } = flow.look().moving;
    const ended = attempts.filter(({ outcome }) => outcome !== null);
    expect([messages.length, ended.length, attempts.length]).toEqual([1000, 1000, 2000]);
    expect(messages[0]).toMatchObject({ sourceId: 1 });
  });

  test("shares a source in the second of its forty-first message, and names it below thirty", () => {
    const { flow } = startFlow();
    const commit = (count: number): void => {
      for (let each = 0; each < count; each += 1) flow.committed([message()]);
    };
    const isShared = (): boolean | undefined => flow.look().sources[0]?.shares;
    commit(40);
    expect(isShared()).toBe(false);
    commit(1);
    expect(isShared()).toBe(true);
    pass(10_000);
    for (const [count, shared] of [
      [30, true],
      [29, false],
    ] as const) {
      for (let second = 0; second < 3; second += 1) {
        pass(1000);
        commit(count);
      }
      expect(isShared()).toBe(shared);
    }
  });

  test("names none of a source with more than forty messages a second, until there are fewer than thirty", () => {
    const { flow } = startFlow();
    flow.look();
    const second = (messages: number): void => {
      for (let each = 0; each < messages; each += 1) flow.committed([message()]);
      pass(1000);
    };
    second(35);
    pass(-1000);
    expect(flow.look().sources).toMatchObject([{ shares: false }]);
    pass(1000);
    second(50);
    second(50);
    second(50);
    pass(-1000);
    expect(flow.look().sources).toMatchObject([{ shares: true }]);
    pass(1000);
    for (let each = 0; each < 7; each += 1) second(35);
    pass(-1000);
    expect(flow.look()).toMatchObject({ sources: [{ shares: true }], moving: { messages: [] } });
    pass(1000);
    second(10);
    second(10);
    second(10);
    pass(-1000);
    const after = flow.look();
    expect(after.sources).toMatchObject([{ shares: false }]);
    expect(after.moving.messages.length).toBeGreaterThan(0);
  });

  test("has the attempts in flight, with the time of the oldest", () => {
    const underWay: UnderWay[] = [];
    const { flow } = startFlow({ underWay });
    underWay.push({
      messageId: 4 as MessageRowId,
      destinationId,
      webhookId,
      round: 1,
      startedAt: now,
    });
    pass(2500);
    const { webhooks, moving } = flow.look();
    expect(webhooks).toMatchObject([{ inFlight: 1, inFlightMs: 2500 }]);
    expect(moving.attempts).toMatchObject([{ messageId: 4, outcome: null, agoMs: 2500 }]);
  });

  test("lists when the waiting deliveries of a destination are due, and destinations with others too", () => {
    const asked: unknown[] = [];
    const states = new Map<DestinationId, object>();
    const flow = new Flow({
      configuration: {
        sources: () => [],
        destinations: () =>
          [1, 2, 3, 4, 5].map(
            (id) => ({ id, sourceIds: [], webhooks: [] }) as unknown as Destination,
          ),
      },
      store: {
        deliveriesByDestination: () => states,
        dueTimes(...of) {
          asked.push(of);
          return [5];
        },
        newestAttempts: () => [],
      },
      ...{ clock: { now: () => 0 }, monotonic: () => now, underWay: () => [] },
    });
    for (const [id, state] of [{ queued: 1 }, { sending: 2 }, { waiting: 3 }, {}].entries())
      states.set((id + 1) as DestinationId, state);
    const none = { queued: 0, sending: 0, waiting: 0, due: [] };
    expect(flow.look().waiting).toEqual([
      { destinationId: 1, ...none, queued: 1 },
      { destinationId: 2, ...none, sending: 2 },
      { destinationId: 3, ...none, waiting: 3, due: [5] },
    ]);
    expect(asked).toEqual([[3, 60]]);
  });

  test("lists few due times and attempts of each where many destinations fail", () => {
    const ids = Array.from({ length: 1000 }, (_, n) => n + 1);
    let failing = ids;
    const limits = new Set<number>();
    const flow = new Flow({
      configuration: {
        sources: () => [],
        destinations: () =>
          failing.map(
            (id) => ({ id, sourceIds: [], webhooks: [{ id }] }) as unknown as Destination,
          ),
      },
      store: {
        deliveriesByDestination: () =>
          new Map(ids.map((id) => [id as DestinationId, { waiting: 100 }])),
        dueTimes: (_, limit) => {
          limits.add(limit);
          return Array.from({ length: Math.min(100, limit) }, (__, n) => n);
        },
        newestAttempts: () => [],
      },
      ...{ clock: { now: () => 0 }, monotonic: () => now, underWay: () => [] },
    });
    for (const id of ids)
      flow.recorded(
        Array.from({ length: 20 }, () => ({
          ...attempt("http_error"),
          webhookId: id as WebhookId,
        })),
      );
    for (const [many, due, last] of [
      [1000, 1, 2],
      [400, 3, 5],
      [200, 6, 10],
      [20, 60, 10],
    ] as const) {
      failing = ids.slice(0, many);
      limits.clear();
      const { webhooks, waiting } = flow.look();
      expect([...limits]).toEqual([due]);
      expect([waiting.length, webhooks.length]).toEqual([many, many]);
      expect(new Set(webhooks.map((webhook) => webhook.last.length))).toEqual(new Set([last]));
    }
  });

  test("has the attempts in flight at a webhook that is there no more, and none at one with too many", () => {
    const one = { messageId: 4 as MessageRowId, destinationId, round: 1, startedAt: now };
    const gone = { ...one, webhookId: 99 as WebhookId };
    const { flow } = startFlow({ underWay: [gone, { ...one, webhookId }] });
    const moving = (): WebhookId[] => flow.look().moving.attempts.map((each) => each.webhookId);
    expect(moving()).toEqual([99, webhookId]);
    flow.recorded(Array.from({ length: 41 }, () => attempt()));
    expect(flow.look().webhooks).toMatchObject([{ shares: true }]);
    expect(flow.look().moving.attempts.filter(({ outcome }) => outcome === null)).toMatchObject([
      { webhookId: 99 },
    ]);
  });

  test("starts again after a reset", () => {
    const { flow } = startFlow();
    flow.committed([message()]);
    flow.recorded([attempt("timeout")]);
    flow.reload();
    expect(flow.look()).toMatchObject({
      sources: [{ count: 0 }],
      lines: [{ count: 0 }],
      webhooks: [{ count: 0, failedInARow: 0 }],
    });
  });
});

test("a machine that has just started counts from its first second", () => {
  const before = now;
  now = 0;
  const { flow } = startFlow();
  flow.committed([message()]);
  flow.recorded([attempt(), attempt("timeout")]);
  const first = flow.look();
  now = 3000;
  flow.committed([message()]);
  const later = flow.look();
  now = before;
  expect(first.sources).toMatchObject([{ count: 1, perSecond: 0.2 }]);
  expect(first.webhooks).toMatchObject([{ count: 2, lastMinute: { ended: 2, failed: 1 } }]);
  expect(later.sources).toMatchObject([{ count: 2, perSecond: 0.4 }]);
});

test("an attempt at a webhook that is gone is in flight, and its webhook is not listed", () => {
  const gone = 9 as WebhookId;
  const attemptOf = (id: WebhookId): UnderWay => ({
    ...{ messageId: 1 as MessageRowId, destinationId, webhookId: id, round: 1 },
    startedAt: now - 1500,
  });
  const { flow } = startFlow({ underWay: [attemptOf(gone), attemptOf(webhookId)] });
  const { moving, webhooks } = flow.look();
  expect(moving.attempts).toMatchObject([
    { webhookId: gone, outcome: null, agoMs: 1500 },
    { webhookId, outcome: null, agoMs: 1500 },
  ]);
  expect(webhooks).toMatchObject([{ id: webhookId, inFlight: 1, inFlightMs: 1500 }]);
});
