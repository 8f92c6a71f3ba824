/** One program of every kind of trouble, run through the whole pipeline on the stepped clock. */

import { afterEach, expect, test } from "vitest";
import { createApp, type App } from "../../src/app.ts";

const apps: App[] = [];
afterEach(async () => {
  for (const app of apps.splice(0)) await app.stop();
});

type Attempt = {
  round: number;
  startedAt: string;
  durationMs: number;
  outcome: string;
  simulated: boolean;
  response: { status: number } | null;
};
type Details = { receivedAt: string; deliveries: { state: string; attempts: Attempt[] }[] };

/**
 * `503 ×3 → hang → reset → 200`; answers what is on record, in clock time since the message came.
 */
async function runProgram(
  seed: number,
): Promise<{ times: number[]; attempts: object[]; state: string; hang: Attempt | undefined }> {
  const errors: unknown[] = [];
  const app = createApp({
    data: ":memory:",
    ports: { ingest: 0, endpoints: 0, endpointsTls: 0 },
    version: "test",
    report: (error) => errors.push(error),
  });
  apps.push(app);
  const { ingestUrl } = await app.start();
  const call = async <T>(name: string, input: object): Promise<T> => {
    const { status, body } = await app.api.call(name, input);
    expect(status, JSON.stringify(body)).toBeLessThan(300);
    return body as T;
  };
  await call("clock.set", { mode: "paused" });
  await call("settings.update", { seed });
  const source = await call<{ id: string }>("sources.create", { name: "Shop", writeKey: "wk" });
  const endpoint = await call<{ url: string }>("endpoints.create", {
    name: "Troubled",
    steps: [
      { do: "answer", status: 503, times: 3 },
      { do: "hang" },
      { do: "reset" },
      { do: "answer", status: 200 },
    ],
  });
  await call("destinations.create", {
    name: "Orders",
    sourceIds: [source.id],
    webhooks: [{ url: endpoint.url }],
    sharedSecret: "secret",
  });
  const body = JSON.stringify({
    userId: "ada",
    event: "Order Completed",
    messageId: "m-1",
    timestamp: "2026-11-21T00:00:00Z",
  });
  await fetch(`${ingestUrl}/v1/track`, {
    method: "POST",
    body,
    headers: { authorization: `Basic ${btoa("wk:")}` },
  });
  await call("clock.advance", { to: "idle" });
  const { items } = await call<{ items: { id: string }[] }>("messages.list", {});
  const details = await call<Details>("messages.get", { id: items[0]?.id ?? "" });
  expect(errors).toEqual([]);
  const [delivery] = details.deliveries;
  const attempts = delivery?.attempts ?? [];
  return {
    times: attempts.map(
      ({ startedAt }) =>
        Math.round(Date.parse(startedAt) / 1000) -
        Math.round(Date.parse(details.receivedAt) / 1000),
    ),
    attempts: attempts.map(({ round, outcome, simulated, response }) => ({
      round,
      outcome,
      simulated,
      status: response?.status ?? null,
    })),
    state: delivery?.state ?? "none",
    hang: attempts.find(({ outcome }) => outcome === "timeout"),
  };
}

const expected = [
  { round: 1, outcome: "http_error", simulated: false, status: 503 },
  { round: 2, outcome: "http_error", simulated: false, status: 503 },
  { round: 3, outcome: "http_error", simulated: false, status: 503 },
  { round: 4, outcome: "timeout", simulated: true, status: null },
  { round: 5, outcome: "connection_error", simulated: false, status: null },
  { round: 6, outcome: "success", simulated: false, status: 200 },
];

test("503 ×3 → hang → reset → 200 ends delivered, with the hang in clock time", async () => {
  const run = await runProgram(1);
  expect(run.attempts).toEqual(expected);
  expect(run.state).toBe("delivered");
  expect(run.hang).toMatchObject({ durationMs: 5000, simulated: true });
});

test("ten runs with one seed have the same attempts at the same clock times", async () => {
  const runs = [];
  for (let n = 0; n < 10; n += 1) runs.push(await runProgram(7));
  const [first] = runs;
  for (const run of runs) {
    expect(run.attempts).toEqual(expected);
    // The message comes at a moment of real time, so its first round may start in either half of a
    // second.
    for (const [place, time] of run.times.entries())
      expect(Math.abs(time - (first?.times[place] ?? -1))).toBeLessThanOrEqual(1);
  }
});

test("another seed moves the jitter and nothing else", async () => {
  const [one, other] = [await runProgram(7), await runProgram(8)];
  expect(other.attempts).toEqual(one.attempts);
  expect(other.times).not.toEqual(one.times);
  for (const [place, nominal] of [0, 10, 30, 70, 150, 310].entries()) {
    expect(Math.abs((other.times[place] ?? 0) - nominal)).toBeLessThanOrEqual(
      nominal * 0.1 + place + 1,
    );
  }
});
