import { describe, expect, test } from "vitest";
import { startInMemory } from "../../app.ts";
import type { CallName } from "../../contract/contract.ts";
import { typedCalls, type StartPipeline } from "../run/pipeline.ts";
import {
  ask,
  call,
  destinationAt,
  messageOf,
  pipeline,
  results,
  send,
  startForEach,
} from "./what-if.fixture.ts";
import { whatIf } from "./what-if.ts";

startForEach();

/** A pipeline that has no room for one call. */
const startRefusing =
  (refused: CallName): StartPipeline =>
  async (options) => {
    const app = await startInMemory({ ...options, version: "0.0.0" });
    const full = { status: 503, code: "full", message: "The disk is full." };
    const calls = typedCalls((name, ...input) =>
      name === refused
        ? Promise.resolve({ status: 503, body: full })
        : app.api.call(name, ...input),
    );
    return { ...calls, stop: app.stop };
  };

describe("what is played of the rounds", () => {
  test("keeps a custom retry profile, a second window and a cancellation, and compares what still waits as it stands now", async () => {
    await call("retryProfiles.create", {
      name: "twice",
      schedule: { kind: "list", delaysMs: [7000] },
      jitter: 0,
      retriedStatuses: [{ from: 400, to: 599 }],
    });
    await destinationAt(
      {
        billing: [
          { do: "answer", status: 404, times: 3 },
          { do: "answer", status: 503 },
        ],
      },
      { retryProfile: "twice" },
    );
    await send("A");
    await call("clock.advance", { to: "idle" });
    const expired = await messageOf("A");
    expect(expired.state).toBe("expired");
    await call("clock.advance", { byMs: 3_600_000 });
    await call("deliveries.retry", { id: expired.deliveries[0]?.id ?? "" });
    await call("pipeline.settle", {});
    const waiting = await messageOf("A");
    expect(waiting.state).toBe("waiting");
    const answer = await ask(waiting, 2, { status: 500 });
    expect(answer.notes).toHaveLength(1);
    expect(results(answer.whatIf)).toEqual(["1 billing 404", "2 billing 500", "3 billing 404"]);
    expect(answer.whatIf.state).toBe("waiting");
    expect(answer.whatIf.attempts.map(({ startedAt }) => startedAt)).toEqual(
      answer.asItWas.attempts.map(({ startedAt }) => startedAt),
    );
    await call("deliveries.cancel", { id: waiting.deliveries[0]?.id ?? "" });
    const cancelled = await ask(await messageOf("A"), 1, { status: 500 });
    expect(cancelled.whatIf.state).toBe("cancelled");
    expect((await ask(await messageOf("A"), 1, { status: 200 })).whatIf.state).toBe("delivered");
  });

  test("repeats a retry that somebody asked for before the round was due", async () => {
    await destinationAt({ billing: [{ do: "answer", status: 503, times: 3 }, { do: "answer" }] });
    await call("clock.advance", { byMs: 400 });
    await send("A");
    const [waiting] = (await messageOf("A")).deliveries;
    await call("deliveries.retry", { id: waiting?.id ?? "" });
    await call("pipeline.settle", {});
    const stillWaiting = await ask(await messageOf("A"), 2, { status: 400 });
    expect(results(stillWaiting.whatIf)).toEqual(["1 billing 503", "2 billing 400"]);
    await call("clock.advance", { to: "idle" });
    const { asItWas, whatIf, notes } = await ask(await messageOf("A"), 3, { status: 500 });
    expect(results(whatIf)).toEqual([
      "1 billing 503",
      "2 billing 503",
      "3 billing 500",
      "4 billing 200",
    ]);
    expect(whatIf.attempts.map(({ startedAt }) => startedAt)).toEqual(
      asItWas.attempts.map(({ startedAt }) => startedAt),
    );
    expect(notes).toHaveLength(1);
  });

  test("does nothing where a recorded retry or cancellation finds the delivery being sent or over", async () => {
    await destinationAt({ billing: [{ do: "answer", status: 400 }, { do: "answer" }] });
    await send("A");
    await call("clock.advance", { byMs: 2000 });
    const [failed] = (await messageOf("A")).deliveries;
    await call("deliveries.retry", { id: failed?.id ?? "" });
    await call("clock.advance", { to: "idle" });
    const hung = await ask(await messageOf("A"), 1, { do: "hang" });
    expect(results(hung.whatIf)).toEqual(["1 billing timeout", "2 billing 200"]);
    expect(hung.notes).toHaveLength(1);
    const [, second] = hung.whatIf.attempts;
    const [first] = hung.asItWas.attempts;
    expect(
      Date.parse(second?.startedAt ?? "") - Date.parse(first?.startedAt ?? ""),
    ).toBeGreaterThan(5000);

    const [endpoint] = (await call("endpoints.list", {})).items;
    await call("endpoints.update", {
      id: endpoint?.id ?? "",
      steps: [{ do: "answer", status: 503 }, { do: "answer" }],
    });
    await send("B");
    await call("clock.advance", { byMs: 5000 });
    const [waiting] = (await messageOf("B")).deliveries;
    await call("deliveries.cancel", { id: waiting?.id ?? "" });
    await call("clock.advance", { byMs: 60_000 });
    await call("deliveries.retry", { id: waiting?.id ?? "" });
    await call("clock.advance", { to: "idle" });
    const refused = await ask(await messageOf("B"), 1, { status: 400 });
    expect(results(refused.whatIf)).toEqual(["1 billing 400", "2 billing 200"]);
    expect([refused.whatIf.state, refused.notes.length]).toEqual(["delivered", 1]);
    expect(refused.text).toContain("{ messageId: B, destination: Billing }\n    ifPossible: true");
  });

  test("says so where a step cannot be done", async () => {
    await destinationAt({ billing: [{ do: "answer", status: 503 }, { do: "answer" }] });
    await send("A");
    const [waiting] = (await messageOf("A")).deliveries;
    await call("deliveries.retry", { id: waiting?.id ?? "" });
    await call("pipeline.settle", {});
    const message = await messageOf("A");
    const answer = await whatIf({
      messageId: message.id,
      attemptId: message.deliveries[0]?.attempts[0]?.id ?? "",
      answer: { status: 500 },
      own: typedCalls(pipeline().api.call),
      start: startRefusing("deliveries.retry"),
    });
    expect(answer).toMatchObject({
      notes: expect.arrayContaining([
        "The scenario stops at step 2, retry deliveries of messageId A, destination Billing, if possible: The disk is full.",
      ]) as unknown,
    });
  });

  test("keeps the first thousand delays of a schedule that has more, and says so", async () => {
    const { name } = await call("retryProfiles.create", {
      name: "often",
      schedule: { kind: "exponential", firstMs: 10_000, factor: 1, capMs: 10_000 },
      jitter: 0,
    });
    await destinationAt(
      {
        billing: [
          { do: "answer", status: 503, times: 2 },
          { do: "answer", status: 500 },
        ],
      },
      { retryProfile: name },
    );
    await send("A");
    await call("clock.advance", { byMs: 20_000 });
    const answer = await ask(await messageOf("A"), 3, { status: 200 });
    expect(results(answer.asItWas)).toEqual(["1 billing 503", "2 billing 503", "3 billing 500"]);
    expect(results(answer.whatIf)).toEqual(["1 billing 503", "2 billing 503", "3 billing 200"]);
    expect(answer.notes).toContain(
      "A retry profile of a scenario has at most a thousand delays: the rounds after them are left out.",
    );
    expect(answer.text.match(/10s/g)).toHaveLength(1000);
  });

  test("finds an attempt that only the delivery lists, not the message", async () => {
    const { name } = await call("retryProfiles.create", {
      ...{ name: "often", jitter: 0 },
      schedule: { kind: "list", delaysMs: Array.from({ length: 25 }, () => 1000) },
    });
    const { source } = await destinationAt(
      { billing: [{ do: "answer", status: 503 }] },
      { retryProfile: name },
    );
    const { url } = await call("endpoints.create", { name: "other", steps: [{ do: "answer" }] });
    for (let place = 1; place < 50; place += 1)
      await call("destinations.create", {
        name: `Other ${place}`,
        sourceIds: [source.id],
        webhooks: [{ url }],
      });
    await send("A");
    await call("clock.advance", { to: "idle" });
    const message = await messageOf("A");
    const listed = message.deliveries.find(({ rounds }) => rounds > 1);
    expect(listed?.attempts).toHaveLength(20);
    const whole = await call("deliveries.get", { id: listed?.id ?? "" });
    const answer = await call("scenarios.whatIf", {
      messageId: message.id,
      attemptId: whole.attempts[0]?.id ?? "",
      answer: { status: 200 },
    });
    expect(answer.asItWas.attempts).toHaveLength(26);
    expect(results(answer.whatIf)).toEqual(["1 billing 200"]);
    expect(answer.notes).toEqual([
      "The 49 other deliveries of the message are left out: no answer to one changes another.",
      "The shared secret is not recorded: another one replaces it, so the signature differs.",
    ]);
  });

  test("does not say that there is no delivery where the scenario cannot be set up", async () => {
    await destinationAt({ billing: [{ do: "answer", status: 503 }] });
    await send("A");
    const message = await messageOf("A");
    const answer = await whatIf({
      messageId: message.id,
      attemptId: message.deliveries[0]?.attempts[0]?.id ?? "",
      answer: { status: 500 },
      own: typedCalls(pipeline().api.call),
      start: startRefusing("destinations.create"),
    });
    expect(answer).toMatchObject({
      code: "nothing_to_compare",
      message: "The scenario of this attempt cannot be run. The disk is full.",
    });
  });
});
