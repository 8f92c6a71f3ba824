/** One attempt over a sender that answers as it is told, on clocks that move as they are told. */

import { expect, test } from "vitest";
import { createSteppedClock } from "../../../test/support/stepped-clock.ts";
import type { EndpointId } from "../../domain/ids.ts";
import { Activity, Holds, type Holdable } from "../clock/activity.ts";
import type { RecordedResponse } from "../ports.ts";
import { startAttempt, type AttemptResult } from "./attempt.ts";
import type { ExchangeResult, SendRequest } from "./exchange.ts";

const start = Date.UTC(2026, 10, 21);

const response = (status: number): RecordedResponse => ({
  ...{ status, head: `HTTP/1.1 ${status} Said\r\n\r\n` },
  ...{ body: new Uint8Array(0), bodyLength: 0 },
});

const answered = (status = 200): ExchangeResult => ({
  ...{ outcome: "answered", error: null, requestHead: "POST" },
  response: response(status),
});

const endpointEnd = { remoteAddress: "127.0.0.1", remotePort: 4000, localPort: 80 };

function begin(options: Partial<Parameters<typeof startAttempt>[0]> = {}) {
  const stepped = createSteppedClock(start);
  const real = { now: 5000 };
  const clock = { ...stepped, monotonic: () => real.now };
  const holds = new Holds();
  const work = new Activity().begin();
  const calls: unknown[][] = [];
  const ends: (AttemptResult | null)[] = [];
  let sent: SendRequest | null = null;
  const attempt = startAttempt({
    ...{ clock, holds, work, url: "http://a/", headers: [], body: "{}", timeoutMs: 1000 },
    sender: {
      send(request) {
        sent = request;
        return {
          abort: (reason) => void calls.push(["abort", reason]),
          limit: (ms) => void calls.push(["limit", ms]),
          markReached: () => void calls.push(["reached"]),
        };
      },
      isAway: () => false,
      close: () => {},
    },
    onEnd: (result) => void ends.push(result),
    ...options,
  });
  const request = sent as unknown as SendRequest;
  return {
    ...{ attempt, request, clock, holds, work, ends },
    /** What it did to its exchange since the last time. */
    calls: () => calls.splice(0),
    /** Both clocks go on, or the real one alone. */
    pass(ms: number, clockMs = ms): void {
      real.now += ms;
      stepped.advanceBy(clockMs);
    },
    /** Its connection is there; returns how a test endpoint finds it. */
    connect(): Holdable {
      request.onSocket("127.0.0.1", 4000, 80);
      return holds.find(endpointEnd) as Holdable;
    },
  };
}

test("an attempt sends what it is given, and records what came of it, in microseconds of real time", async () => {
  const one = begin({ method: "PUT", keepBody: 9 });
  const { url, headers, body, timeoutMs, method, keepBody } = one.request;
  expect({ url, headers, body, timeoutMs, method, keepBody }).toEqual({
    ...{ url: "http://a/", headers: [], body: "{}", timeoutMs: 1000, method: "PUT", keepBody: 9 },
  });
  const early = one.attempt.done;
  one.pass(1.23456, 0);
  one.request.onPhase("connect");
  one.pass(2, 60_000);
  one.request.onPhase("sent");
  one.pass(1);
  one.request.onEnd(answered());
  const result = {
    ...{ startedAt: start, durationMs: 4.235, phases: { connect: 1.235, sent: 3.235 } },
    ...{ simulated: false, outcome: "success", error: null, requestHead: "POST" },
    response: response(200),
  };
  expect(await early).toEqual(result);
  expect(await one.attempt.done).toEqual(result);
  expect(one.ends).toEqual([result]);
  expect(one.attempt.isUnsent).toBe(false);
});

test("times that the delivery thread measured are taken as they are", async () => {
  const one = begin();
  one.pass(70);
  one.request.onPhase("sent");
  one.request.onEnd({ ...answered(), durationMs: 12.5, phases: { done: 12.25 } });
  expect(await one.attempt.done).toMatchObject({ durationMs: 12.5, phases: { done: 12.25 } });
});

test.each<[ExchangeResult, string]>([
  [answered(199), "http_error"],
  [answered(200), "success"],
  [answered(299), "success"],
  [answered(300), "http_error"],
  [{ ...answered(), response: null }, "http_error"],
  [{ ...answered(), outcome: "timeout" }, "timeout"],
  [{ ...answered(), outcome: "tls_error" }, "tls_error"],
])("what ended as %j is recorded as %s", async (ended, outcome) => {
  const one = begin();
  one.request.onEnd(ended);
  expect(await one.attempt.done).toMatchObject({ outcome });
});

test("nothing is recorded of one that was stopped, not sent, or lost with its thread", async () => {
  for (const [more, isUnsent] of [
    [{ isUnsent: true }, true],
    [{ isInterrupted: true }, false],
    [{}, false],
  ] as const) {
    const one = begin();
    const isStopped = Object.keys(more).length === 0;
    if (isStopped) one.attempt.stop();
    expect(one.calls()).toEqual(isStopped ? [["abort", "stopped"]] : []);
    const early = [one.attempt.done, one.attempt.done];
    one.request.onEnd({ ...answered(), ...more });
    expect(await Promise.all([...early, one.attempt.done])).toEqual([null, null, null]);
    expect([one.ends, one.attempt.isUnsent]).toEqual([[null], isUnsent]);
  }
});

test("a test endpoint finds it by its connection until it ends, and says when it has the request", () => {
  const via = [7 as EndpointId];
  const one = begin({ via });
  const found = one.connect();
  expect([found.origin, found.via]).toEqual(["own", via]);
  found.received?.();
  expect(one.calls()).toEqual([["reached"]]);
  one.request.onEnd(answered());
  expect(one.holds.find(endpointEnd)).toBeNull();
  found.hold(start);
  found.release(start);
  expect([one.calls(), one.work.isHeld, one.clock.scheduled()]).toEqual([[], false, []]);
});

test("while it is held the clock's time counts, before and after it what both clocks have moved", async () => {
  const told: unknown[] = [];
  const through: Holdable = {
    hold: (since) => void told.push(["hold", since - start]),
    release: (at) => void told.push(["release", at - start]),
  };
  const one = begin({ through });
  const found = one.connect();
  one.pass(100, 60);
  one.request.onPhase("sent");
  // The endpoint says so ten milliseconds late.
  found.hold(start + 50);
  expect([one.calls(), one.work.isHeld, told.splice(0)]).toEqual([
    [["limit", null]],
    true,
    [["hold", 50]],
  ]);
  expect(one.clock.scheduled()).toEqual([start + 50 + 950]);
  one.pass(3, 440);
  one.request.onPhase("firstByte");
  found.release(start + 450);
  expect([one.calls(), one.work.isHeld, told.splice(0)]).toEqual([
    [["limit", 1000]],
    false,
    [["release", 450]],
  ]);
  expect(one.clock.scheduled()).toEqual([]);
  one.pass(20, 500);
  one.request.onEnd(answered());
  expect(await one.attempt.done).toMatchObject({
    ...{ simulated: true, durationMs: 450 },
    phases: { sent: 60, firstByte: 500 },
  });
});

test("an answer that is finished in time is in time however long its way is, and one that is passed on has what is left", async () => {
  const told: unknown[] = [];
  const through = {
    hold: () => {},
    release: () => {},
    passedOn: () => void told.push("passed on"),
  };
  for (const [isPassedOn, limits, durationMs] of [
    [false, [["limit", 1000]], 990],
    [
      true,
      [
        ["limit", 1000],
        ["limit", 10],
      ],
      998,
    ],
  ] as const) {
    const one = begin({ through });
    const found = one.connect();
    found.passedOn?.();
    expect(one.calls()).toEqual([]);
    found.hold(start);
    one.pass(1, 990);
    one.calls();
    found.release(start + 990);
    if (isPassedOn) found.passedOn?.();
    expect(one.calls()).toEqual(limits);
    one.pass(8, 4000);
    one.request.onEnd(answered());
    found.passedOn?.();
    expect(await one.attempt.done).toMatchObject({ outcome: "success", durationMs });
  }
  expect(told).toEqual(["passed on", "passed on", "passed on"]);
});

test("one that is held for too long is ended by the clock, at the millisecond", async () => {
  const one = begin();
  const found = one.connect();
  one.pass(0.5, 1);
  found.hold(start + 1);
  one.calls();
  expect(one.clock.scheduled()).toEqual([start + 1001]);
  one.pass(5, 999);
  expect(one.calls()).toEqual([]);
  one.pass(5, 7);
  expect(one.calls()).toEqual([["abort", { timeoutMs: 1000 }]]);
  found.release(start + 2000);
  one.request.onEnd({ ...answered(), outcome: "timeout", response: null });
  expect(await one.attempt.done).toMatchObject({ outcome: "timeout", durationMs: 1000.5 });
});

test("one that is released at the end of its time or later is ended then, and one before goes on", () => {
  for (const [at, calls] of [
    [-5, [["limit", 1000]]],
    [999, [["limit", 1000]]],
    [1000, [["abort", { timeoutMs: 1000 }]]],
    [1001, [["abort", { timeoutMs: 1000 }]]],
  ] as const) {
    const one = begin();
    const found = one.connect();
    found.hold(start);
    one.calls();
    found.release(start + at);
    expect([one.calls(), one.work.isHeld, one.clock.scheduled()]).toEqual([calls, false, []]);
  }
});

test("one that is held a second time has what the first left, and its deadline is set once", () => {
  const one = begin();
  const found = one.connect();
  found.hold(start);
  one.pass(0, 300);
  found.release(start + 300);
  found.passedOn?.();
  one.pass(50, 100);
  one.calls();
  found.hold(start + 400);
  expect([one.calls(), one.clock.scheduled()]).toEqual([[["limit", null]], [start + 400 + 650]]);
  found.hold(start + 400);
  expect(one.clock.scheduled()).toHaveLength(1);
  one.request.onEnd(answered());
  expect([one.work.isHeld, one.clock.scheduled()]).toEqual([false, []]);
});

test("one that is held on and on has the time that is left of the first", () => {
  const one = begin({ timeoutMs: 15_000 });
  const found = one.connect();
  found.hold(start);
  one.pass(1, 5000);
  found.hold(start + 5000);
  expect(one.clock.scheduled()).toEqual([start + 15_000]);
});

test("what waits for one that is held for too long is free again when that ends", () => {
  const told: unknown[] = [];
  const one = begin({
    through: {
      hold: (since) => void told.push(["hold", since - start]),
      release: (at) => void told.push(["release", at - start]),
    },
  });
  one.connect().hold(start);
  one.pass(1, 1000);
  expect(told).toEqual([
    ["hold", 0],
    ["release", 1000],
  ]);
});
