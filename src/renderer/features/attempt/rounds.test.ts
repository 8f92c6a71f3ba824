import { describe, expect, test } from "vitest";
import { documented } from "../../../domain/retry.ts";
import { courseOf } from "../timeline/course.ts";
import { aDelivery, anAttempt, webhooks } from "./attempt.fixture.ts";
import { aheadOf, neighbour, roundsOf, type Delivery } from "./rounds.ts";

const at = (seconds: number): string => new Date(Date.parse("2026-11-21T15:50:57.000Z") + seconds * 1000).toISOString();
const ahead = (delivery: Delivery) => aheadOf(courseOf({ delivery, webhooks, profile: documented, seed: 1, jitter: false, now: 0 }));

describe("rounds", () => {
  test("stand in their order, their attempts as the destination lists its webhooks", () => {
    const attempts = [
      anAttempt({ round: 2, startedAt: at(10) }),
      anAttempt({ webhookId: "whk_gone" }),
      anAttempt({ webhookId: "whk_2", startedAt: at(1) }),
      anAttempt(),
    ];
    const rounds = roundsOf(aDelivery({ attempts }), webhooks);
    expect(rounds.map(({ round, startedAt, attempts: of }) => [round, startedAt, of.map(({ webhookId }) => webhookId)])).toEqual([
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
      { kind: "coming", round: 2, at: Date.parse(at(10)), isNext: true, urls: [webhooks[1]?.url] },
      { kind: "coming", round: 3, at: Date.parse(at(30)), isNext: false, urls: [webhooks[1]?.url] },
    ]);
    expect(ahead(aDelivery({ attempts, state: "failed" }))).toEqual([]);
  });

  test("under way come before those to come, with the webhooks that have nothing on record yet", () => {
    const attempts = [anAttempt()];
    expect(ahead(aDelivery({ state: "sending", attempts }))[0]).toMatchObject({ kind: "under_way", round: 1, urls: [webhooks[1]?.url] });
  });
});
