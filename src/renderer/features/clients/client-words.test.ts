import { expect, test } from "vitest";
import { answerWords, callWords, callsWords } from "./client-words.ts";

test("a call is said by its type, what it names and whose it is", () => {
  expect(
    callWords({ type: "track", messageId: "m", event: "Order Completed", userId: "ana" }),
  ).toBe("track Order Completed of ana");
  expect(callWords({ type: "identify", messageId: "m", event: null, userId: null })).toBe(
    "identify",
  );
  expect(callsWords(1)).toBe("1 call");
  expect(callsWords(1200)).toBe("1,200 calls");
});

test("a try is said by what came of it", () => {
  const done = {
    startedAt: "",
    durationMs: 3,
    simulated: false,
    outcome: "success",
    answer: "",
    answerLength: 0,
  } as const;
  expect(answerWords({ ...done, status: 200, failure: null })).toBe("200");
  expect(
    answerWords({ ...done, outcome: "timeout", status: null, failure: "no answer within 15 s" }),
  ).toBe("no answer within 15 s");
  expect(
    answerWords({ ...done, outcome: null, durationMs: null, status: null, failure: null }),
  ).toBe("in flight");
  expect(answerWords({ ...done, outcome: "http_error", status: 400, failure: "not retried" })).toBe(
    "400, not retried",
  );
});
