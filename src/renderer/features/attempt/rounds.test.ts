import { describe, expect, test } from "vitest";
import { builtInProfiles } from "../../../domain/retry.ts";
import { aDelivery, anAttempt, webhooks } from "./attempt.fixture.ts";
import { comingRounds, eligibleWebhooks, neighbour, roundsOf, underWay } from "./rounds.ts";

const profile = { ...(builtInProfiles[0] as (typeof builtInProfiles)[number]), id: null, builtIn: true };
const settings = { vendor: "Hookyard", seed: 1, jitter: false, laneConnections: 64, unknownKeys: "explain" as const, maxMessages: null, maxAgeMs: null, synchronous: "NORMAL" as const };
const at = (seconds: number): string => new Date(Date.parse("2026-11-21T15:50:57.000Z") + seconds * 1000).toISOString();

describe("rounds", () => {
  test("stand in their order, their attempts as the destination lists its webhooks", () => {
    const attempts = [anAttempt({ round: 2, startedAt: at(10) }), anAttempt({ webhookId: "whk_gone" }), anAttempt({ webhookId: "whk_2", startedAt: at(1) }), anAttempt()];
    const rounds = roundsOf(aDelivery({ attempts }), webhooks);
    expect(rounds.map(({ round, startedAt, attempts: of }) => [round, startedAt, of.map(({ webhookId }) => webhookId)])).toEqual([
      [1, at(0), ["whk_1", "whk_2", "whk_gone"]],
      [2, at(10), ["whk_1"]],
    ]);
    expect(neighbour(rounds, rounds[0]?.attempts[2]?.id ?? "", 1)?.round).toBe(2);
    expect(neighbour(rounds, rounds[0]?.attempts[0]?.id ?? "", -1)).toBeUndefined();
    expect(neighbour(rounds, "att_unknown", 1)).toBeUndefined();
  });

  test("go to the webhooks whose failure in this window is retried", () => {
    const attempts = [anAttempt({ retryable: false }), anAttempt({ webhookId: "whk_2" })];
    expect(eligibleWebhooks(aDelivery({ attempts }), webhooks).map(({ id }) => id)).toEqual(["whk_2"]);
    expect(eligibleWebhooks(aDelivery({ attempts, firstAttemptAt: at(60) }), webhooks)).toHaveLength(2);
    expect(eligibleWebhooks(aDelivery({ attempts, firstAttemptAt: null }), webhooks)).toHaveLength(2);
  });

  test("to come begin with the one that has a time, and end with the window", () => {
    const delivery = aDelivery({ attempts: [anAttempt()], nextAttemptAt: at(10) });
    const coming = comingRounds(delivery, profile, settings);
    expect(coming.slice(0, 3)).toEqual([
      { round: 2, at: Date.parse(at(10)), isNext: true },
      { round: 3, at: Date.parse(at(30)), isNext: false },
      { round: 4, at: Date.parse(at(70)), isNext: false },
    ]);
    expect(coming.at(-1)?.at).toBeLessThanOrEqual(Date.parse(at(4 * 3600)));
    expect(comingRounds(delivery, undefined, undefined)).toHaveLength(1);
    expect(comingRounds({ ...delivery, state: "failed" }, profile, settings)).toEqual([]);
  });

  test("to come count their delays from the window that is open, not from the first round of all", () => {
    const attempts = [anAttempt({ round: 1, startedAt: at(-9000) }), anAttempt({ round: 2, startedAt: at(-8000) }), anAttempt({ round: 3 })];
    expect(comingRounds(aDelivery({ attempts, nextAttemptAt: at(10) }), profile, settings).slice(0, 2)).toEqual([
      { round: 4, at: Date.parse(at(10)), isNext: true },
      { round: 5, at: Date.parse(at(30)), isNext: false },
    ]);
  });

  test("under way are with the webhooks that have nothing on record yet", () => {
    const attempts = [anAttempt(), anAttempt({ webhookId: "whk_2" }), anAttempt({ round: 2 })];
    expect(underWay(aDelivery({ state: "sending", attempts }), webhooks)).toMatchObject({ round: 2, webhooks: [{ id: "whk_2" }] });
    expect(underWay(aDelivery({ state: "sending", attempts: attempts.slice(0, 2) }), webhooks)).toMatchObject({ round: 2, webhooks: [{ id: "whk_1" }, { id: "whk_2" }] });
    expect(underWay(aDelivery({ state: "sending", firstAttemptAt: null }), webhooks)).toMatchObject({ round: 1, webhooks });
    expect(underWay(aDelivery({ attempts }), webhooks)).toBeNull();
  });
});
