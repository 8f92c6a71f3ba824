import { describe, expect, test } from "vitest";
import { deliveryIds } from "../../../domain/ids.ts";
import { documented, nextRoundAt } from "../../../domain/retry.ts";
import { aDelivery, anAttempt, webhooks as twoWebhooks } from "../attempt/attempt.fixture.ts";
import { attemptOf, deliveryOf, startsAt, time, webhooks } from "./delivery.fixture.ts";
import {
  aheadOf,
  comingOf,
  timelineOf,
  type TimelineOptions,
  type Delivery,
  type Mark,
  neighbour,
  roundsOf,
  windowsOf,
} from "./timeline-model.ts";

const second = 1000;
const hour = 3_600_000;

const timeline = (changes: Parameters<typeof deliveryOf>[0], more: Partial<TimelineOptions> = {}) =>
  timelineOf({
    delivery: deliveryOf(changes),
    webhooks,
    profile: documented,
    seed: 7,
    jitter: true,
    now: startsAt,
    ...more,
  });

const coming = (marks: Mark[] | undefined): number[] =>
  (marks ?? []).filter(({ kind }) => kind === "coming").map(({ at }) => at);

describe("coming rounds", () => {
  test("begin with the time on record and go on at the seeded times, within the window", () => {
    const attempts = [1, 2].map((round) =>
      attemptOf({ round, at: startsAt + (round - 1) * 10 * second }),
    );
    const nextAt = startsAt + 31 * second;
    const [first] = timeline({ state: "waiting", attempts, nextAttemptAt: nextAt }).lanes;
    const third = nextRoundAt({
      profile: documented,
      round: 3,
      roundStartedAt: nextAt,
      firstAttemptAt: startsAt,
      seed: 7,
      sequence: deliveryIds.parse("dlv_00000000a") ?? 0,
      jitter: true,
    });
    const times = coming(first?.marks);
    expect(times.slice(0, 2)).toEqual([nextAt, third]);
    expect(first?.marks.at(2)).toMatchObject({ kind: "coming", round: 3, next: true });
    expect(first?.marks.at(3)).toMatchObject({ kind: "coming", round: 4, next: false });
    expect(times.at(-1)).toBeLessThanOrEqual(startsAt + 4 * hour);
    expect(times.at(-1)).toBeGreaterThan(startsAt + 3.4 * hour);
  });

  test("of a delivery in a list go on at the seeded times of its own window", () => {
    const marks = [1, 2, 3].map((round) => ({
      round,
      at: startsAt + (round - 3) * hour,
      outcome: "http_error" as const,
    }));
    const delivery = {
      ...deliveryOf({ state: "waiting", rounds: 3 }),
      firstAttemptAt: time(startsAt),
    };
    const [next, after] = comingOf({
      delivery,
      marks,
      profile: documented,
      seed: 1,
      jitter: false,
    });
    // The window began with round 3: the round after the next comes 20 s later, not 80.
    expect([next, after]).toEqual([startsAt + 10 * second, startsAt + 30 * second]);
  });

  test("come to every webhook that may still be tried, and to no other", () => {
    const attempts = [
      attemptOf({ webhook: 1 }),
      attemptOf({ webhook: 2, outcome: "tls_error", retryable: false }),
    ];
    const { lanes } = timeline({ state: "waiting", attempts });
    expect(coming(lanes[0]?.marks).length).toBeGreaterThan(10);
    expect(coming(lanes[1]?.marks)).toEqual([]);
  });

  test("go once the delivery is settled", () => {
    for (const state of ["delivered", "failed", "expired", "cancelled"] as const) {
      expect(
        timeline({ state, attempts: [attemptOf({})] }).lanes.flatMap(({ marks }) => coming(marks)),
      ).toEqual([]);
    }
  });

  test("follow the round that is under way, which began at its time on record", () => {
    const due = startsAt + 11 * second;
    const { lanes } = timeline({
      state: "sending",
      rounds: 2,
      attempts: [
        attemptOf({ webhook: 1 }),
        attemptOf({ webhook: 2 }),
        attemptOf({ webhook: 2, round: 2, at: due }),
      ],
      transitions: [[startsAt, "waiting", "retry", due]],
    });
    expect(lanes[0]?.marks[1]).toEqual({ kind: "under_way", round: 2, at: due });
    expect(lanes[0]?.summary).toEqual({ attempts: "1 attempt", last: "sending" });
    expect(lanes[1]?.marks.some(({ kind }) => kind === "under_way")).toBe(false);
    expect(lanes[0]?.marks[2]).toMatchObject({ kind: "coming", round: 3, next: false });
  });

  test("of a delivery that nobody has taken up begin now", () => {
    const now = startsAt + 50 * second;
    const { lanes, startsAt: begins } = timeline({ state: "queued" }, { now });
    expect(begins).toBe(now);
    expect(lanes[0]?.marks[0]).toEqual({ kind: "coming", round: 1, at: now, next: true });
  });
});

describe("lanes", () => {
  test("are the destination's webhooks, then those that only attempts know, which end in a buffer", () => {
    const { lanes } = timeline(
      { state: "waiting", attempts: [attemptOf({ webhook: 1 }), attemptOf({ webhook: 2 })] },
      {
        webhooks: [
          { id: "whk_000000009", url: "https://new.example.test/" },
          ...webhooks.slice(0, 1),
        ],
      },
    );
    expect(lanes.map(({ webhookId }) => webhookId)).toEqual([
      "whk_000000009",
      "whk_000000001",
      "whk_000000002",
    ]);
    expect(lanes[2]?.stop?.reason).toBe("removed from the destination");
    expect(coming(lanes[2]?.marks)).toEqual([]);
  });

  test("have the numbers of their webhooks in the destination, also when others are not shown", () => {
    const third = webhooks.slice(0, 1).map((webhook) => ({ ...webhook, number: 3 }));
    const { lanes } = timeline({ attempts: [attemptOf({ webhook: 1 })] }, { webhooks: third });
    expect(lanes.map(({ number }) => number)).toEqual([3]);
  });

  test("say why a webhook is not retried", () => {
    const reason = (attempt: ReturnType<typeof attemptOf>) =>
      timeline({ state: "failed", attempts: [attempt] }).lanes[0]?.stop?.reason;
    expect(reason(attemptOf({ status: 410, retryable: false }))).toBe("410 is not retried");
    expect(reason(attemptOf({ outcome: "timeout", retryable: false }))).toBe(
      "timeout is not retried",
    );
    expect(
      timeline({ state: "delivered", attempts: [attemptOf({ outcome: "success" })] }).lanes[0]
        ?.stop,
    ).toBeNull();
  });
});

describe("windows", () => {
  const attempts = [1, 2, 3].map((round) =>
    attemptOf({ round, at: startsAt + (round - 1) * hour, retryable: round !== 2 }),
  );

  test("are new ones when a delivery is retried that was over", () => {
    const delivery = deliveryOf({
      state: "waiting",
      attempts,
      transitions: [
        [startsAt, "waiting", "retry", startsAt + hour],
        [startsAt + hour, "failed", "not_retried"],
        [startsAt + 2 * hour, "queued", "retry_now"],
        [startsAt + 2 * hour, "waiting", "retry", startsAt + 2 * hour + 10 * second],
      ],
    });
    const windows = windowsOf(delivery);
    expect(windows.map(({ firstRound, lastRound }) => [firstRound, lastRound])).toEqual([
      [1, 2],
      [3, null],
    ]);
    const newest = timelineOf({
      delivery,
      webhooks,
      profile: documented,
      seed: 7,
      jitter: true,
      now: startsAt,
    });
    expect(newest.startsAt).toBe(startsAt + 2 * hour);
    expect(newest.lanes[0]?.marks.map(({ round }) => round).slice(0, 2)).toEqual([3, 4]);
    const first = timelineOf({
      delivery,
      webhooks,
      profile: documented,
      seed: 7,
      jitter: true,
      now: startsAt,
      window: windows[0],
    });
    expect(first).toMatchObject({ isOver: true, startsAt });
    expect(first.lanes[0]?.marks.map(({ round }) => round)).toEqual([1, 2]);
  });

  test("are told apart on a clock that stands still, and after a round that a restart cut off", () => {
    const still = [1, 2].map((round) => attemptOf({ round, at: startsAt, retryable: false }));
    const changes = [
      [startsAt, "failed", "not_retried"],
      [startsAt, "queued", "retry_now"],
    ] satisfies [number, "failed" | "queued", string][];
    expect(
      windowsOf(deliveryOf({ attempts: still, transitions: changes })).map(
        ({ firstRound }) => firstRound,
      ),
    ).toEqual([1, 2]);
    const cut = [1, 2, 3].map((round) =>
      attemptOf({ round, at: startsAt + round * second, retryable: round < 2 }),
    );
    const restarted = deliveryOf({
      attempts: cut,
      transitions: [
        [startsAt + 1500, "queued", "restarted"],
        [startsAt + 2 * second, "failed", "not_retried"],
        [startsAt + 2500, "queued", "retry_now"],
      ],
    });
    expect(windowsOf(restarted).map(({ firstRound }) => firstRound)).toEqual([1, 3]);
  });

  test("are not begun by retrying what was waiting", () => {
    const delivery = deliveryOf({
      attempts,
      transitions: [
        [startsAt, "waiting", "retry", startsAt + hour],
        [startsAt + second, "queued", "retry_now"],
      ],
    });
    expect(windowsOf(delivery)).toHaveLength(1);
  });
});

const at = (seconds: number): string =>
  new Date(Date.parse("2026-11-21T15:50:57.000Z") + seconds * 1000).toISOString();
const ahead = (delivery: Delivery) =>
  aheadOf(
    timelineOf({
      delivery,
      webhooks: twoWebhooks,
      profile: documented,
      seed: 1,
      jitter: false,
      now: 0,
    }),
  );

describe("rounds", () => {
  test("stand in their order, their attempts as the destination lists its webhooks", () => {
    const attempts = [
      anAttempt({ round: 2, startedAt: at(10) }),
      anAttempt({ webhookId: "whk_gone" }),
      anAttempt({ webhookId: "whk_2", startedAt: at(1) }),
      anAttempt(),
    ];
    const rounds = roundsOf(aDelivery({ attempts }), twoWebhooks);
    expect(
      rounds.map(({ round, startedAt, attempts: of }) => [
        round,
        startedAt,
        of.map(({ webhookId }) => webhookId),
      ]),
    ).toEqual([
      [1, at(0), ["whk_1", "whk_2", "whk_gone"]],
      [2, at(10), ["whk_1"]],
    ]);
    expect(neighbour(rounds, rounds[0]?.attempts[2]?.id ?? "", 1)?.round).toBe(2);
    expect(neighbour(rounds, rounds[0]?.attempts[0]?.id ?? "", -1)).toBeUndefined();
    expect(neighbour(rounds, "att_unknown", 1)).toBeUndefined();
  });

  test("to come begin with the one that has a time, and go to the webhooks that are still tried", () => {
    const attempts = [anAttempt({ retryable: false }), anAttempt({ webhookId: "whk_2" })];
    const coming = ahead(aDelivery({ attempts, nextAttemptAt: at(10) }));
    expect(coming.slice(0, 2)).toEqual([
      {
        kind: "coming",
        round: 2,
        at: Date.parse(at(10)),
        isNext: true,
        urls: [twoWebhooks[1]?.url],
      },
      {
        kind: "coming",
        round: 3,
        at: Date.parse(at(30)),
        isNext: false,
        urls: [twoWebhooks[1]?.url],
      },
    ]);
    expect(ahead(aDelivery({ attempts, state: "failed" }))).toEqual([]);
  });

  test("under way come before those to come, with the webhooks that have nothing on record yet", () => {
    const attempts = [anAttempt()];
    expect(ahead(aDelivery({ state: "sending", attempts }))[0]).toMatchObject({
      kind: "under_way",
      round: 1,
      urls: [twoWebhooks[1]?.url],
    });
  });
});
