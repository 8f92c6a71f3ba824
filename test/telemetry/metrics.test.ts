/** `/metrics` as a scraper reads it. */

import { test as base, describe, expect } from "vitest";
import { createControlPort } from "../../src/headless/http-api.ts";
import { createStaticPages } from "../../src/headless/static-pages.ts";
import { starting, type RunningApp } from "../support/running-app.ts";
import { readMetrics } from "./prometheus.ts";

const test = base.extend("start", starting);
const token = "m".repeat(43);

async function portOf(app: RunningApp): Promise<{ url: string; stop: () => Promise<void> }> {
  const control = createControlPort({
    api: { call: app.answer, changes: app.changes, openApi: () => ({}), metrics: app.metrics },
    token,
    pages: createStaticPages([]),
    host: "127.0.0.1",
    port: 0,
    report: (error) => {
      throw error;
    },
  });
  return { url: await control.start(), stop: () => control.stop() };
}

test("a scraper with the token reads what the pipeline did, in the documented format", async ({
  start,
  onTestFinished,
}) => {
  const app = await start.app({ clock: "paused" });
  const receiver = await start.receiver((response, _, count) =>
    response.writeHead(count === 2 ? 503 : 200).end(),
  );
  await app.destination([receiver.url]);
  await app.sendMany(3);
  await app.ingest("/v1/batch", { batch: [{ type: "track" }] });
  await app.settle();
  const port = await portOf(app);
  onTestFinished(() => port.stop());
  const answer = await fetch(`${port.url}/metrics`, {
    headers: { Authorization: `Bearer ${token}` },
  });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  const metrics = readMetrics(await answer.text());
  const value = (name: string, labels = ""): number | undefined =>
    metrics.get(`hookyard_${name}`)?.samples.get(labels);
  expect(value("messages_committed_total")).toBe(4);
  expect(value("messages", '{state="delivered"}')).toBe(2);
  expect(value("messages", '{state="rejected"}')).toBe(1);
  expect(value("deliveries", '{state="waiting"}')).toBe(1);
  expect(value("attempts_total", '{outcome="success"}')).toBe(2);
  expect(value("attempts_total", '{outcome="http_error"}')).toBe(1);
  expect(value("attempts_total", '{outcome="timeout"}')).toBe(0);
  expect(value("attempt_duration_seconds", "_count")).toBe(3);
  expect(value("queue_depth")).toBe(0);
  expect(value("clock_speed")).toBe(0);
  const { now } = await app.call("clock.get", {});
  expect(value("clock_seconds")).toBe(Date.parse(now) / 1000);
  expect(value("store_bytes")).toBeGreaterThan(10_000);
  expect(value("store_trouble")).toBe(0);
  expect(metrics.has("hookyard_spans_dropped_total")).toBe(false);
});

test("attempts are in the bucket of their duration, held ones by the clock", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  const endpoint = await app.call("endpoints.create", {
    name: "Slow",
    steps: [{ do: "answer", status: 200, delayMs: 2_000 }, { do: "hang" }],
  });
  await app.destination([endpoint.url]);
  await app.send();
  await app.advance({ byMs: 2_000 });
  await app.send();
  await app.advance({ byMs: 5_000 });
  await app.settle();
  const { samples } = readMetrics(app.metrics()).get("hookyard_attempt_duration_seconds") ?? {};
  const bucket = (le: string) => samples?.get(`_bucket{le="${le}"}`);
  expect([bucket("1"), bucket("2.5"), bucket("5"), bucket("+Inf")]).toEqual([0, 1, 2, 2]);
  expect(samples?.get("_sum")).toBeCloseTo(7, 1);
});

test("the size of the data is that of its files", async ({ start }) => {
  const app = await start.app({ data: await start.directory() });
  const before = readMetrics(app.metrics()).get("hookyard_store_bytes")?.samples.get("");
  await app.source();
  await app.sendMany(2_000);
  const after = readMetrics(app.metrics()).get("hookyard_store_bytes")?.samples.get("");
  expect(after).toBeGreaterThan((before ?? Infinity) + 100_000);
});

describe("/metrics", () => {
  test("is for those with the token, by GET, from no other origin", async ({
    start,
    onTestFinished,
  }) => {
    const port = await portOf(await start.app());
    onTestFinished(() => port.stop());
    const statusOf = async (init: RequestInit): Promise<number> =>
      (await fetch(`${port.url}/metrics`, init)).status;
    const authorized = { Authorization: `Bearer ${token}` };
    expect(await statusOf({})).toBe(401);
    expect(await statusOf({ headers: { ...authorized, Origin: "http://example.com" } })).toBe(403);
    expect(await statusOf({ method: "POST", headers: authorized })).toBe(405);
  });
});

describe("the reader of these tests", () => {
  const head = "# HELP a_total Of a.\n# TYPE a_total counter\n";
  test.for([
    `${head}a_total 1`,
    `${head}a_total 1\na_total 2\n`,
    `${head}b_total 1\n`,
    `${head}a_total{state=failed} 1\n`,
    `${head}a_total{state="fa"iled"} 1\n`,
    `${head}a_total{state="x",} 1\n`,
    `${head}a_total  1\n`,
    `${head}a_total 0x1\n`,
    `${head}a_total 1\n${head}a_total 1\n`,
    "a_total 1\n",
    "# HELP a Of a.\n# TYPE a counter\na 1\n",
    '# HELP a Of a.\n# TYPE a histogram\na_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1\n',
  ])("refuses %j", (text) => {
    expect(() => readMetrics(text)).toThrow(Error);
  });
});
