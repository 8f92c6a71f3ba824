import { describe, expect, test } from "vitest";
import { aDelivery, aMessage, anAttempt } from "../attempt/attempt.fixture.ts";
import { canCancel, canRetry, stateWords, whyNotDelivered } from "./state-words.ts";

const clock = (at: string): string => at.slice(11, 19);
const at = "2026-11-21T16:34:33.000Z";

describe("where a delivery stands", () => {
  test("says the round that succeeded", () => {
    const attempts = [anAttempt(), anAttempt({ round: 2, outcome: "success", startedAt: at })];
    expect(stateWords(aDelivery({ state: "delivered", attempts }), clock)).toBe(
      "in round 2 at 16:34:33",
    );
  });

  test("says when and why it ended", () => {
    const ended = (state: "failed" | "expired" | "cancelled", reason: string) =>
      stateWords(
        aDelivery({ state, reason, transitions: [{ at, state, reason, nextAttemptAt: null }] }),
        clock,
      );
    expect(ended("failed", "not_retried")).toBe("at 16:34:33: not retried");
    expect(ended("expired", "window_closed")).toBe(
      "at 16:34:33: no room for another round before 19:50:57",
    );
    expect(ended("cancelled", "cancelled")).toBe("at 16:34:33: by the user");
    expect(ended("failed", "something_new")).toBe("at 16:34:33");
    const reason = "window_closed";
    const expired = { state: "expired", reason, nextAttemptAt: null } as const;
    const twice = ["2026-11-21T12:00:00.000Z", at].map((each) => ({ ...expired, at: each }));
    expect(
      stateWords(
        aDelivery({ state: "expired", reason, windowEndsAt: null, transitions: twice }),
        clock,
      ),
    ).toBe("at 16:34:33: the retry window closed");
  });

  test("names the answer that is not retried, and the end of the window that had no room", () => {
    const response = {
      status: 400,
      startLine: "HTTP/1.1 400 Bad Request",
      headers: [],
      body: "",
      bodyLength: 0,
    };
    const refused = anAttempt({ retryable: false, response });
    const failed = aDelivery({
      state: "failed",
      reason: "not_retried",
      attempts: [anAttempt(), refused],
      transitions: [],
    });
    expect(stateWords(failed, clock)).toBe("400 Bad Request is not retried");
    const broken = anAttempt({ retryable: false, outcome: "tls_error", response: null });
    expect(stateWords({ ...failed, attempts: [broken] }, clock)).toBe("tls_error is not retried");
    const expired = aDelivery({
      state: "expired",
      reason: "window_closed",
      windowEndsAt: at,
      transitions: [],
    });
    expect(stateWords(expired, clock)).toBe("no room for another round before 16:34:33");
  });

  test("says what is to come of a queued one", () => {
    expect(stateWords(aDelivery({ state: "queued", reason: "retry_now" }), clock)).toBe(
      "retried now",
    );
    expect(stateWords(aDelivery({ state: "queued", reason: null }), clock)).toBe("");
  });

  test("offers what its state allows", () => {
    const offered = (
      ["queued", "sending", "waiting", "delivered", "failed", "expired", "cancelled"] as const
    ).map((state) => [state, canRetry({ state }), canCancel({ state })]);
    expect(offered).toEqual([
      ["queued", false, true],
      ["sending", false, false],
      ["waiting", true, true],
      ["delivered", false, false],
      ["failed", true, false],
      ["expired", true, false],
      ["cancelled", true, false],
    ]);
  });
});

describe("a message without a delivery", () => {
  test("says why", () => {
    expect(
      whyNotDelivered(
        aMessage({ state: "rejected", reason: "missing_event", detail: "A track needs `event`." }),
      ),
    ).toEqual({
      reason: "missing_event",
      sentences: ["A track needs `event`."],
    });
    expect(
      whyNotDelivered(aMessage({ state: "duplicate", reason: "duplicate" }))?.sentences[0],
    ).toMatch(/within 24 hours/);
    const decision = {
      destinationId: "dst_1",
      routed: false,
      reason: "disabled",
      detail: "Warehouse is turned off.",
      warnings: [],
    };
    expect(
      whyNotDelivered(
        aMessage({
          state: "filtered",
          reason: "disabled",
          decisions: [decision, { ...decision, destinationId: "dst_2" }],
        }),
      ),
    ).toEqual({ reason: "disabled", sentences: ["Warehouse is turned off."] });
    expect(whyNotDelivered(aMessage({ state: "filtered" }))?.sentences[0]).toMatch(
      /^No destination is connected/,
    );
    expect(whyNotDelivered(aMessage({ deliveries: [aDelivery()] }))).toBeNull();
  });
});
