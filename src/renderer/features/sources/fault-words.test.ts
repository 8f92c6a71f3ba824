import { describe, expect, test } from "vitest";
import { faultDoing, faultWith, faultWords, type Fault } from "./fault-words.ts";

describe("a fault in words", () => {
  test.each<[Fault, string]>([
    [
      { do: "answer", status: 503, retryAfter: 2, times: 3 },
      "503, Retry-After 2, the next 3 requests",
    ],
    [{ do: "answer" }, "500, every request"],
    [{ do: "delay", delayMs: 800, chance: 0.1 }, "wait 800 ms, 10 % of the requests"],
    [{ do: "cut", delayMs: 2000, times: 1 }, "cut the connection, after 2 s, the next request"],
    [{ do: "cut", times: 5, chance: 0.5 }, "cut the connection, 50 % of the requests, 5 in all"],
    [{ do: "lose-answer", times: 1 }, "accept, then lose the answer, the next request"],
    [{ do: "delay-answer", delayMs: 800 }, "accept, answer after 800 ms, every request"],
    [
      { do: "limit", perSecond: 5, retryAfter: 2 },
      "429 above 5 requests a second, Retry-After 2, every request",
    ],
    [{ do: "limit", delayMs: 10 }, "429 above 1000 requests a second, after 10 ms, every request"],
  ])("%o", (fault, words) => {
    expect(faultWords(fault)).toBe(words);
  });

  test("doing something else, it keeps when it is met and loses what has no use", () => {
    const fault: Fault = { do: "answer", status: 429, retryAfter: 2, times: 3 };
    expect(faultDoing(fault, "cut")).toEqual({ do: "cut", times: 3 });
    expect(faultDoing(fault, "delay")).toEqual({ do: "delay", delayMs: 1000, times: 3 });
    expect(faultDoing(fault, "lose-answer")).toEqual({ do: "lose-answer", times: 3 });
    expect(faultDoing(fault, "delay-answer")).toMatchObject({ delayMs: 1000, times: 3 });
    expect(faultDoing(fault, "limit")).toEqual({
      do: "limit",
      perSecond: 1000,
      retryAfter: 2,
      times: 3,
    });
    expect(faultDoing({ do: "delay", delayMs: 500 }, "answer")).toEqual({
      do: "answer",
      status: 503,
      delayMs: 500,
    });
  });

  test("a member that is emptied is left out", () => {
    expect(faultWith({ do: "cut", times: 3 }, "times", null)).toEqual({ do: "cut" });
    expect(faultWith({ do: "cut" }, "chance", 0.5)).toEqual({ do: "cut", chance: 0.5 });
  });
});
