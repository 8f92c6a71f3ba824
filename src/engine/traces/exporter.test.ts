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

/** Its collector answers each request as `answer` says; the number of spans of each is in `sizes`. */
function startExporter(answer: (count: number) => Response = () => new Response("{}")) {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const sizes: number[] = [];
  // The real one has timers of its own.
  vi.spyOn(globalThis, "fetch").mockImplementation(async (_, request) => {
    const { body } = request as { body: string };
    sizes.push(body.split('"spanId"').length - 1);
    return answer(sizes.length);
  });
  const logged: string[] = [];
  const exporter = new SpanExporter({
    collector: { url: "http://127.0.0.1:4318/v1/traces", headers: {} },
    version: "1",
    log: (sentence) => logged.push(sentence),
  });
  return {
    exporter,
    sizes,
    logged,
    add: (count: number): void => {
      for (let added = 0; added < count; added += 1) exporter.add(span);
    },
    /** Until so many are exported or dropped. */
    async ended(count: number): Promise<void> {
      const { counts } = exporter;
      while (counts.exported + counts.dropped < count) await nextTurn();
      await nextTurn();
    },
  };
}

test("no timer is left of a request that was answered, and none after a stop", async () => {
  const { exporter, ended } = startExporter();
  exporter.add(span);
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(500);
  await ended(1);
  expect(vi.getTimerCount()).toBe(0);
  exporter.add(span);
  await exporter.stop();
  expect([exporter.counts, vi.getTimerCount()]).toEqual([{ exported: 2, dropped: 0 }, 0]);
});

test("a request has 512 spans; after it as many are sent at once, and fewer wait for others", async () => {
  const { exporter, sizes, add, ended } = startExporter();
  add(512 + 512);
  vi.advanceTimersByTime(499);
  expect(sizes).toEqual([]);
  vi.advanceTimersByTime(1);
  await ended(512);
  vi.advanceTimersByTime(0);
  await ended(1024);
  add(513);
  vi.advanceTimersByTime(500);
  await ended(1536);
  vi.advanceTimersByTime(499);
  await nextTurn();
  expect(sizes).toEqual([512, 512, 512]);
  vi.advanceTimersByTime(1);
  await ended(1537);
  expect([sizes, exporter.counts]).toEqual([[512, 512, 512, 1], { exported: 1537, dropped: 0 }]);
});

test("a stop sends what is left, one request after the other, and nothing afterwards", async () => {
  const { exporter, sizes, logged, add } = startExporter();
  add(1100);
  vi.advanceTimersByTime(500);
  await exporter.stop();
  expect([sizes, vi.getTimerCount(), logged]).toEqual([[512, 512, 76], 0, []]);
  const quiet = startExporter();
  await quiet.exporter.stop();
  expect([quiet.sizes, vi.getTimerCount()]).toEqual([[], 0]);
});

test("each time that it begins to fail, and accepts spans again, is one sentence; four tries too many are none", async () => {
  const { exporter, logged, add, ended } = startExporter((count) =>
    count % 5 === 0
      ? new Response("{}")
      : new Response("", { status: 503, headers: { "Retry-After": "0" } }),
  );
  for (const of of [1, 2]) {
    add(1);
    while (exporter.counts.exported < of) {
      vi.advanceTimersByTime(500);
      await nextTurn();
    }
    await ended(of);
  }
  const fails = expect.stringContaining("does not accept spans: it answered 503.") as string;
  const again = "The collector of traces accepts spans again.";
  expect(logged).toEqual([fails, again, fails, again]);
  expect(exporter.counts).toEqual({ exported: 2, dropped: 0 });
});

test("8,192 spans wait or are being sent, and more are dropped", async () => {
  const { exporter, logged, add, ended } = startExporter();
  add(8192);
  expect(exporter.counts.dropped).toBe(0);
  add(1);
  expect(exporter.counts.dropped).toBe(1);
  vi.advanceTimersByTime(500);
  add(1);
  expect(exporter.counts.dropped).toBe(2);
  await ended(2 + 512);
  add(512);
  expect(exporter.counts.dropped).toBe(2);
  await exporter.stop();
  expect(exporter.counts).toEqual({ exported: 8704, dropped: 2 });
  expect(logged).toEqual(["Of 8706 spans, 2 were not exported."]);
  add(1);
  expect(exporter.counts.dropped).toBe(3);
});

test("an answer of 64 KB is read, and a longer one is a refusal", async () => {
  const { exporter, logged, add, ended } = startExporter(
    (count) => new Response(`{}${" ".repeat(64 * 1024 - 3 + count)}`),
  );
  for (const of of [1, 2]) {
    add(1);
    vi.advanceTimersByTime(500);
    await ended(of);
  }
  expect(exporter.counts).toEqual({ exported: 1, dropped: 1 });
  expect(logged).toEqual([expect.stringContaining("its answer is too long")]);
});
