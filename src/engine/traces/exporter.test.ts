/** What an exporter leaves behind: its requests and retries are in `test/telemetry/`. */

import { Readable } from "node:stream";
import { afterEach, expect, test, vi } from "vitest";
import { nextTurn } from "../real-time.ts";
import { SpanExporter, type Post, type Span } from "./exporter.ts";

const span: Span = {
  ...{ traceId: "a", spanId: "b", name: "POST", kind: "client" },
  ...{ startedAt: 1, endedAt: 2, attributes: {}, error: null },
};

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Its collector answers each request as `answer` says; the number of spans of each is in `sizes`. */
function startExporter(
  answer: (count: number, signal: AbortSignal) => Response | Promise<Response> = () =>
    new Response("{}"),
) {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  vi.spyOn(performance, "now").mockImplementation(() => Date.now());
  const sizes: number[] = [];
  const bodies: string[] = [];
  // The real one has timers of its own.
  const post: Post = async (_, { body, signal }) => {
    sizes.push(body.split('"spanId"').length - 1);
    bodies.push(body);
    const response = await answer(sizes.length, signal);
    return Object.assign(Readable.from([Buffer.from(await response.text())]), {
      statusCode: response.status,
      headers: Object.fromEntries(response.headers),
    });
  };
  const logged: string[] = [];
  const exporter = new SpanExporter({
    collector: { url: "http://127.0.0.1:4318/v1/traces?api_key=k3y", headers: {} },
    version: "1",
    log: (sentence) => logged.push(sentence),
    post,
  });
  return {
    exporter,
    sizes,
    bodies,
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
  const fails = expect.stringContaining(
    "/v1/traces?api_key=left-out does not accept spans: it answered 503.",
  ) as string;
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

/** The milliseconds from each request to the next one, of so many. */
async function pausesBetween(
  { sizes }: { sizes: number[] },
  count: number,
  next: () => void = () => {},
): Promise<number[]> {
  const pauses: number[] = [];
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 3; turn += 1) await nextTurn();
  };
  vi.advanceTimersByTime(500);
  await settle();
  while (pauses.length < count) {
    next();
    const [from, before] = [performance.now(), sizes.length];
    while (sizes.length === before) {
      vi.advanceTimersToNextTimer();
      await settle();
    }
    pauses.push(performance.now() - from);
  }
  return pauses;
}

test.for<[string | null, number]>([
  [null, 1000],
  ["nonsense", 1000],
  ["0", 500],
  ["7", 7000],
  ["300", 300_000],
  ["301", 300_000],
  ["Thu, 01 Jan 1970 00:00:00 GMT", 500],
])("after a failure with Retry-After %s nothing is sent for %i ms", async ([header, pause]) => {
  const started = startExporter(
    () =>
      new Response("", { status: 429, headers: header === null ? {} : { "Retry-After": header } }),
  );
  started.add(1);
  expect(await pausesBetween(started, 1)).toEqual([pause]);
});

test("a date in Retry-After is when it may be sent again", async () => {
  const started = startExporter(
    () =>
      new Response("", {
        status: 503,
        headers: { "Retry-After": new Date(Date.now() + 20_000).toUTCString() },
      }),
  );
  vi.setSystemTime(1_000_000_000);
  started.add(1);
  // The request was half a second later, and the date has no milliseconds.
  expect(await pausesBetween(started, 1)).toEqual([19_500]);
});

test("pauses become twice as long up to half a minute, also for the next batch, and begin again after a success", async () => {
  let isBroken = true;
  const started = startExporter(() => new Response("", { status: isBroken ? 503 : 200 }));
  started.add(1);
  const pauses = await pausesBetween(started, 10, () => {
    if (started.sizes.length % 5 === 0) started.add(1);
  });
  expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, ...Array<number>(5).fill(30_000)]);
  // A batch is sent five times, so none has a span of another.
  expect([new Set(started.sizes), started.exporter.counts.dropped]).toEqual([new Set([1]), 2]);
  isBroken = false;
  await pausesBetween(started, 1);
  isBroken = true;
  started.add(1);
  expect(await pausesBetween(started, 1)).toEqual([1000]);
});

const never = (_: number, signal: AbortSignal): Promise<Response> =>
  new Promise((_resolve, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason as Error)),
  );

test("an answer has five seconds, and a batch without one is sent again", async () => {
  const started = startExporter(never);
  started.add(3);
  expect(await pausesBetween(started, 1)).toEqual([5000 + 1000]);
  expect(started.sizes).toEqual([3, 3]);
  expect(started.logged).toEqual([expect.stringContaining("no answer in time")]);
});

test("a stop waits a second for the request under way and sends nothing after it", async () => {
  const { exporter, sizes, logged, add } = startExporter(never);
  add(600);
  vi.advanceTimersByTime(500);
  let isOver = false;
  const stopped = exporter.stop().then(() => (isOver = true));
  vi.advanceTimersByTime(999);
  for (let turn = 0; turn < 3; turn += 1) await nextTurn();
  expect(isOver).toBe(false);
  vi.advanceTimersByTime(1);
  await stopped;
  expect([sizes, vi.getTimerCount()]).toEqual([[512], 0]);
  expect(logged.at(-1)).toBe("Of 600 spans, 600 were not exported.");
});

test("a span is OTLP's JSON: its times in nanoseconds to the microsecond, each value by its kind", async () => {
  const { exporter, bodies } = startExporter();
  exporter.add({
    ...span,
    ...{ parentSpanId: "p", startedAt: 1000.0015, endedAt: 1000.25, error: "odd", kind: "server" },
    attributes: { text: "t", yes: true, whole: 3, half: 0.5 },
  });
  exporter.add({ ...span, startedAt: 5, endedAt: 4, kind: "internal" });
  exporter.add(span);
  await exporter.stop();
  const value = (key: string, kind: string, of: unknown) => ({ key, value: { [kind]: of } });
  const none = {
    ...{ attributes: [], droppedAttributesCount: 0, events: [], droppedEventsCount: 0 },
    ...{ links: [], droppedLinksCount: 0, flags: 257, status: { code: 0 } },
    ...{ traceId: "a", spanId: "b", name: "POST" },
  };
  expect(bodies.map((body) => JSON.parse(body) as unknown)).toEqual([
    {
      resourceSpans: [
        {
          resource: {
            attributes: [
              value("service.name", "stringValue", "hookyard"),
              value("service.version", "stringValue", "1"),
            ],
            droppedAttributesCount: 0,
          },
          scopeSpans: [
            {
              scope: { name: "hookyard", version: "1" },
              spans: [
                {
                  ...{ ...none, parentSpanId: "p", kind: 2, status: { code: 2, message: "odd" } },
                  ...{ startTimeUnixNano: "1000002000", endTimeUnixNano: "1000250000" },
                  attributes: [
                    value("text", "stringValue", "t"),
                    value("yes", "boolValue", true),
                    value("whole", "intValue", 3),
                    value("half", "doubleValue", 0.5),
                  ],
                },
                {
                  ...{ ...none, kind: 1 },
                  ...{ startTimeUnixNano: "5000000", endTimeUnixNano: "5000000" },
                },
                {
                  ...{ ...none, kind: 3 },
                  ...{ startTimeUnixNano: "1000000", endTimeUnixNano: "2000000" },
                },
              ],
            },
          ],
        },
      ],
    },
  ]);
});

test.for<[unknown, number]>([
  [{ partialSuccess: { rejectedSpans: "2" } }, 2],
  [{ partialSuccess: { rejectedSpans: 3 } }, 3],
  [{ partialSuccess: { rejectedSpans: "9" } }, 5],
  [{ partialSuccess: { rejectedSpans: "-1" } }, 0],
  [{ partialSuccess: { rejectedSpans: "1.5" } }, 0],
  [{ partialSuccess: { rejectedSpans: "many" } }, 0],
  [{ partialSuccess: {} }, 0],
  [{}, 0],
  [null, 0],
])("a collector that answers %j to five spans has refused %i", async ([answer, dropped]) => {
  const { exporter, logged, add } = startExporter(() => new Response(JSON.stringify(answer)));
  add(5);
  await exporter.stop();
  expect(exporter.counts).toEqual({ exported: 5 - dropped, dropped });
  expect(logged).toHaveLength(dropped === 0 ? 0 : 1);
});

test.for<[number, boolean]>([
  [400, false],
  [408, false],
  [429, true],
  [500, false],
  [501, false],
  [502, true],
  [503, true],
  [504, true],
  [505, false],
])("spans that are answered with %i are sent again: %s", async ([status, isSentAgain]) => {
  const { exporter, sizes, logged, add, ended } = startExporter((count) =>
    count === 1 ? new Response("", { status }) : new Response("{}"),
  );
  add(2);
  vi.advanceTimersByTime(500);
  for (let turn = 0; turn < 3; turn += 1) await nextTurn();
  vi.advanceTimersByTime(1000);
  await ended(2);
  expect(sizes).toEqual(isSentAgain ? [2, 2] : [2]);
  expect(logged[0]).toContain(isSentAgain ? "Up to 8,192 wait for it" : "They are dropped until");
  expect(exporter.counts).toEqual(
    isSentAgain ? { exported: 2, dropped: 0 } : { exported: 0, dropped: 2 },
  );
});
