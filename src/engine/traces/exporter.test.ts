/** What an exporter leaves behind: its requests and retries are in `test/telemetry/`. */

import { afterEach, expect, test, vi } from "vitest";
import { nextTurn } from "../real-time.ts";
import { SpanExporter, type Span } from "./exporter.ts";

const span: Span = {
  ...{ traceId: "a", spanId: "b", name: "POST", kind: "client" },
  ...{ startedAt: 1, endedAt: 2, attributes: {}, error: null },
};

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test("no timer is left of a request that was answered, and none after a stop", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  // The real one has timers of its own.
  vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response("{}"));
  const exporter = new SpanExporter({
    collector: { url: "http://127.0.0.1:4318/v1/traces", headers: {} },
    version: "1",
    log: () => {},
  });
  exporter.add(span);
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(500);
  while (exporter.counts.exported === 0) await nextTurn();
  expect(vi.getTimerCount()).toBe(0);
  exporter.add(span);
  await exporter.stop();
  expect([exporter.counts, vi.getTimerCount()]).toEqual([{ exported: 2, dropped: 0 }, 0]);
});
