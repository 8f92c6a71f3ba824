/** Traces as a collector receives them, and collectors that do not work. */

import { createHash, createHmac } from "node:crypto";
import type { ServerResponse } from "node:http";
import { JsonTraceSerializer } from "@opentelemetry/otlp-transformer";
import { test as base, describe, expect } from "vitest";
import { lastingPort } from "../support/free-ports.ts";
import { collectorOf } from "../../src/engine/traces/collector.ts";
import { isProblem } from "../../src/domain/problem.ts";
import { starting, type RunningApp } from "../support/running-app.ts";
import type { Answer, WebhookReceiver } from "../support/webhook-receiver.ts";
import { readMetrics } from "./prometheus.ts";

const test = base.extend("start", starting);

type Attribute = { key: string; value: Record<string, string | number | boolean> };
type Span = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Attribute[];
  status: { code: number; message?: string };
};
type Export = {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: { scope: { name: string; version: string }; spans: Span[] }[];
  }[];
};

const exportsOf = ({ requests }: WebhookReceiver): Export[] =>
  requests.map(({ body }) => JSON.parse(body) as Export);
const spansIn = ({ resourceSpans }: Export): Span[] =>
  resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
const spansOf = (collector: WebhookReceiver): Span[] => exportsOf(collector).flatMap(spansIn);
const idOf = ({ spanId }: Span): string => spanId;
const attributesOf = (span: Span | undefined): Record<string, unknown> =>
  Object.fromEntries(
    (span?.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]),
  );
describe("a message's trace", () => {
  test("has its arrival, its decisions, and its rounds with their attempts", async ({ start }) => {
    const collector = await start.receiver();
    const app = await start.app({ clock: "paused", traces: collector.url });
    const receiver = await start.receiver((response, _, count) =>
      response.writeHead(count === 1 ? 503 : 200).end(),
    );
    const destination = await app.destination([receiver.url]);
    await app.destination([receiver.url], { name: "Off", enabled: false });
    const id = await app.send({ messageId: "m-1" });
    await app.settle();
    await app.advance({ to: "idle" });
    const { deliveries } = await app.message(id);
    const before = await app.call("clock.get", {});
    await app.stop();

    const spans = spansOf(collector);
    expect(spans.map(({ name }) => name).toSorted()).toEqual(
      ["ingest track", "decision", "decision", "POST", "round 1", "POST", "round 2"].toSorted(),
    );
    const traceId = createHash("sha256").update("hookyard trace m-1").digest("hex").slice(0, 32);
    expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
    const parentOf = (span: Span | undefined): string | undefined =>
      spans.find(({ spanId }) => spanId === span?.parentSpanId)?.name;
    const named = (name: string): Span[] => spans.filter((span) => span.name === name);
    const [root] = named("ingest track");
    expect(root).not.toHaveProperty("parentSpanId");
    expect(attributesOf(root)).toMatchObject({ "hookyard.message.id": id });
    expect(named("decision").map(parentOf)).toEqual(["ingest track", "ingest track"]);
    expect(named("decision").map((span) => attributesOf(span)["hookyard.reason"])).toEqual([
      "routed",
      "disabled",
    ]);
    expect([...named("round 1"), ...named("round 2")].map(parentOf)).toEqual([
      "ingest track",
      "ingest track",
    ]);
    expect(new Set(named("POST").map(parentOf))).toEqual(new Set(["round 1", "round 2"]));
    const [first, second] = named("POST");
    expect(first?.status).toEqual({ code: 2, message: "http_error" });
    expect(second?.status).toEqual({ code: 0 });
    expect(attributesOf(first)).toMatchObject({
      "http.response.status_code": 503,
      "error.type": "503",
      "url.full": receiver.url,
      "hookyard.delivery.id": deliveries[0]?.id,
      "hookyard.round": 1,
    });
    expect(deliveries[0]?.destinationId).toBe(destination.id);

    // Four hours of the clock are within the seconds of real time that the test took.
    const clockTime = (span: Span | undefined): number =>
      Date.parse(String(attributesOf(span)["hookyard.clock.time"]));
    const retriedAfter = clockTime(second) - clockTime(first);
    expect(retriedAfter).toBeGreaterThan(1_000);
    expect(clockTime(second)).toBeLessThanOrEqual(Date.parse(before.now));
    for (const span of spans) {
      const [from, to] = [Number(span.startTimeUnixNano) / 1e6, Number(span.endTimeUnixNano) / 1e6];
      expect(to).toBeGreaterThanOrEqual(from);
      expect(Math.abs(Date.now() - from)).toBeLessThan(600_000);
    }
  });

  test("is sent in the order of the messages", async ({ start }) => {
    const collector = await start.receiver();
    const app = await start.app({ traces: collector.url });
    await app.source();
    await app.sendMany(3);
    await app.stop();
    const ids = spansOf(collector).map((span) => attributesOf(span)["hookyard.message.id"]);
    expect(ids).toEqual(["msg_000000001", "msg_000000002", "msg_000000003"]);
  });

  test("is continued by the receiver: traceparent names the attempt, and all else is as without it", async ({
    start,
  }) => {
    const collector = await start.receiver();
    const [traced, plain] = [await start.receiver(), await start.receiver()];
    const secret = { sharedSecret: "s3cret" };
    const own = { url: plain.url, headers: { TraceParent: "mine", "X-Own": "1" } };
    const app = await start.app({ traces: collector.url });
    await app.destination([{ url: traced.url, headers: { "X-Own": "1" } }, own], secret);
    await app.send();
    await app.settle();
    const untraced = await start.app();
    const without = await start.receiver();
    await untraced.destination([{ url: without.url, headers: { "X-Own": "1" } }], secret);
    await untraced.send();
    await untraced.settle();
    await app.stop();

    const [request] = traced.requests;
    const header = (name: string, { headers } = request ?? { headers: [] }) =>
      headers.find(([one]) => one.toLowerCase() === name)?.[1];
    const attempts = spansOf(collector).filter(({ name }) => name === "POST");
    const parents = attempts.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`);
    expect(parents).toContain(header("traceparent"));
    expect(header("x-signature")).toBe(
      createHmac("sha1", "s3cret")
        .update(request?.body ?? "")
        .digest("hex"),
    );
    const names = (receiver: WebhookReceiver): string[] =>
      (receiver.requests[0]?.headers ?? []).map(([name]) => name);
    expect(names(traced).filter((name) => name !== "traceparent")).toEqual(names(without));
    expect(header("traceparent", plain.requests[0])).toBe("mine");
  });

  test("of a rejected message ends with its reason, and one of a duplicate is in the same trace", async ({
    start,
  }) => {
    const collector = await start.receiver();
    const app = await start.app({ traces: collector.url });
    await app.source();
    await app.ingest("/v1/batch", { batch: [{ type: "track", messageId: "m-2" }] });
    await app.ingest("/v1/track", { userId: "u", event: "A", messageId: "m-3" });
    await app.ingest("/v1/track", { userId: "u", event: "A", messageId: "m-3" });
    await app.stop();
    const spans = spansOf(collector);
    expect(spans.map(({ status }) => status)).toEqual([
      { code: 2, message: "missing_user_id" },
      { code: 0 },
      { code: 0 },
    ]);
    expect(spans[1]?.traceId).toBe(spans[2]?.traceId);
    expect(spans[1]?.spanId).not.toBe(spans[2]?.spanId);
  });

  test("after a reset begins with its own message, although its delivery has the id of one before", async ({
    start,
  }) => {
    const collector = await start.receiver();
    const app = await start.app({ traces: collector.url });
    const receiver = await start.receiver(() => undefined);
    await app.destination([receiver.url]);
    await app.send();
    await receiver.whenReceived(1);
    await app.call("pipeline.reset", { what: "messages" });
    receiver.answer = 200;
    await app.send({ messageId: "m-4" });
    await app.settle();
    await app.stop();
    const traceId = createHash("sha256").update("hookyard trace m-4").digest("hex").slice(0, 32);
    const spans = spansOf(collector).filter((span) => span.traceId === traceId);
    const [arrival, round] = ["ingest track", "round 1"].map((name) =>
      spans.find((span) => span.name === name),
    );
    expect(attributesOf(round)).toMatchObject({ "hookyard.delivery.id": "dlv_000000001" });
    expect(Number(round?.startTimeUnixNano)).toBeGreaterThanOrEqual(
      Number(arrival?.startTimeUnixNano),
    );
  });

  test("continues after a restart", async ({ start }) => {
    const collector = await start.receiver();
    const data = await start.directory();
    const receiver = await start.receiver(503);
    const first = await start.app({ data, clock: "paused", traces: collector.url });
    await first.destination([receiver.url]);
    await first.send();
    await first.settle();
    await first.stop();
    receiver.answer = 200;
    const second = await start.app({ data, traces: collector.url });
    await second.advance({ to: "idle" });
    await second.stop();
    const spans = spansOf(collector);
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
    expect(spans.filter(({ name }) => name === "POST")).toHaveLength(2);
  });
});

test("a request to the collector is byte for byte what the official package writes", async ({
  start,
}) => {
  const collector = await start.receiver();
  const app = await start.app({ traces: collector.url });
  const receiver = await start.receiver(500);
  await app.destination([receiver.url]);
  await app.send();
  await app.settle();
  await app.stop();
  expect(collector.requests.length).toBeGreaterThan(0);
  for (const { body, headers, method } of collector.requests) {
    expect(method).toBe("POST");
    expect(headers.find(([name]) => name.toLowerCase() === "content-type")?.[1]).toBe(
      "application/json",
    );
    const parsed = JSON.parse(body) as Export;
    const official = JsonTraceSerializer.serializeRequest(parsed.resourceSpans.flatMap(readable));
    expect(JSON.parse(new TextDecoder().decode(official))).toEqual(parsed);
  }
});

/** The spans of an export as the official SDK has them before it writes them. */
function readable({ resource, scopeSpans }: Export["resourceSpans"][number]) {
  const plain = (attributes: Attribute[]): Record<string, string | number | boolean> =>
    Object.fromEntries(
      attributes.map(({ key, value }) => [key, Object.values(value)[0] as string]),
    );
  const shared = { attributes: plain(resource.attributes), asyncAttributesPending: false };
  const time = (nanoseconds: string): [number, number] => [
    Number(BigInt(nanoseconds) / 1_000_000_000n),
    Number(BigInt(nanoseconds) % 1_000_000_000n),
  ];
  return scopeSpans.flatMap(({ scope, spans }) =>
    spans.map((span) => ({
      name: span.name,
      kind: span.kind - 1,
      spanContext: () => ({ traceId: span.traceId, spanId: span.spanId, traceFlags: 1 }),
      parentSpanContext:
        span.parentSpanId === undefined
          ? undefined
          : { traceId: span.traceId, spanId: span.parentSpanId, traceFlags: 1 },
      startTime: time(span.startTimeUnixNano),
      endTime: time(span.endTimeUnixNano),
      duration: [0, 0] as [number, number],
      ended: true,
      status: span.status,
      attributes: plain(span.attributes),
      links: [],
      events: [],
      resource: shared,
      instrumentationScope: scope,
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    })),
  ) as unknown as Parameters<typeof JsonTraceSerializer.serializeRequest>[0];
}

describe("a collector that", () => {
  /** Delivers a message, and says what became of its four spans. */
  async function deliver(app: RunningApp, receiver: WebhookReceiver): Promise<string> {
    await app.destination([receiver.url]);
    const id = await app.send();
    await app.settle();
    return (await app.message(id)).state;
  }

  test.for<[string, Answer | null, RegExp]>([
    ["is not there", null, /ECONNREFUSED/],
    ["refuses", 400, /it answered 400\. They are dropped/],
    ["is busy", 503, /it answered 503\. Up to 8,192 wait/],
    [
      "redirects",
      (response) => response.writeHead(307, { Location: "http://127.0.0.1:1/" }).end(),
      /it answered 307\. They are dropped/,
    ],
    ["answers without an end", endless, /too long/],
    ["resets", (response) => response.destroy(), /does not accept spans/],
    ["never answers", () => undefined, /no answer in time/],
  ])("%s does not hold up the pipeline", async ([, answer, sentence], { start }) => {
    const traces =
      answer === null
        ? `http://127.0.0.1:${await lastingPort()}/`
        : (await start.receiver(answer)).url;
    const app = await start.app({ traces });
    expect(await deliver(app, await start.receiver())).toBe("delivered");
    await app.stop();
    expect(app.logged).toEqual([
      expect.stringMatching(sentence),
      "Of 4 spans, 4 were not exported.",
    ]);
  });

  test("is at a name below localhost is on this machine, whatever DNS says", async ({ start }) => {
    const collector = await start.receiver();
    const { port } = new URL(collector.url);
    const app = await start.app({ traces: `http://otel.localhost:${port}` });
    await deliver(app, await start.receiver());
    await app.stop();
    expect([spansOf(collector).length, app.logged]).toEqual([4, []]);
  });

  test("accepts some of the spans has the others counted", async ({ start }) => {
    const collector = await start.receiver((response) => {
      response.end(JSON.stringify({ partialSuccess: { rejectedSpans: "1", errorMessage: "x" } }));
    });
    const app = await start.app({ traces: collector.url });
    await deliver(app, await start.receiver());
    await app.stop();
    const { length } = collector.requests;
    expect(app.logged).toEqual([`Of 4 spans, ${length} were not exported.`]);
  });

  test("says that it refused more than it got has all of them counted, and no more", async ({
    start,
  }) => {
    const collector = await start.receiver((response) => {
      response.end(JSON.stringify({ partialSuccess: { rejectedSpans: "100" } }));
    });
    const app = await start.app({ traces: collector.url });
    await deliver(app, await start.receiver());
    await app.stop();
    expect(app.logged).toEqual(["Of 4 spans, 4 were not exported."]);
  });

  test.for<[number, string]>([
    [429, "0"],
    [502, "Thu, 01 Jan 1970 00:00:00 GMT"],
    [503, "0"],
    [504, "0"],
  ])(
    "answers %i with Retry-After %s gets the same spans again",
    async ([status, retryAfter], { start }) => {
      const collector = await start.receiver((response, _, count) =>
        response.writeHead(count === 1 ? status : 200, { "Retry-After": retryAfter }).end(),
      );
      const app = await start.app({ traces: collector.url });
      await deliver(app, await start.receiver());
      await expect.poll(() => collector.requests.length).toBeGreaterThan(1);
      await app.stop();
      const [refused, ...accepted] = exportsOf(collector).map((one) => spansIn(one).map(idOf));
      expect(accepted.flat()).toHaveLength(4);
      expect(accepted.flat()).toEqual(expect.arrayContaining(refused ?? []));
      expect(app.logged).toEqual([
        expect.stringContaining(`it answered ${status}.`),
        "The collector of traces accepts spans again.",
      ]);
    },
  );

  test("fails with one batch again and again gets the next one after five tries", async ({
    start,
  }) => {
    const collector = await start.receiver((response, { body }) =>
      response.writeHead(body.includes("poison") ? 503 : 200, { "Retry-After": "0" }).end(),
    );
    const app = await start.app({ traces: collector.url });
    const receiver = await start.receiver();
    await app.destination([`${receiver.url}?poison`]);
    await app.sendMany(600);
    await app.settle();
    await expect
      .poll(() => readMetrics(app.metrics()).get("hookyard_spans_dropped_total")?.samples.get(""))
      .toBeGreaterThan(0);
    // A batch that is sent again may have more spans, which came meanwhile.
    const times = new Map<string | undefined, number>();
    for (const [first] of exportsOf(collector).map(spansIn))
      times.set(first?.spanId, (times.get(first?.spanId) ?? 0) + 1);
    expect(Math.max(...times.values())).toBe(5);
    await app.stop();
  });

  test("answers too late costs no more memory than a full queue", async ({ start }) => {
    const collector = await start.receiver(() => undefined);
    const app = await start.app({ traces: collector.url });
    const receiver = await start.receiver();
    await app.call("retryProfiles.create", { name: "patient", timeoutMs: 600_000 });
    await app.destination([receiver.url], { retryProfile: "patient" });
    await app.sendMany(3_000);
    await app.settle();
    expect(receiver.requests).toHaveLength(3_000);
    const dropped = readMetrics(app.metrics()).get("hookyard_spans_dropped_total")?.samples.get("");
    expect(dropped).toBeGreaterThan(12_000 - 8_192 - 1);
    await app.stop();
    expect(app.logged.at(-1)).toBe("Of 12000 spans, 12000 were not exported.");
  });
});

function endless(response: ServerResponse): void {
  const more = (): void => {
    while (response.write("x".repeat(16_384)));
  };
  response.on("drain", more);
  more();
}

describe("the collector's address", () => {
  const prefix = "OTEL_EXPORTER_OTLP_";
  const local = "http://127.0.0.1:4318";
  test.for<[string | undefined, Record<string, string>, string | null]>([
    [undefined, {}, null],
    [undefined, { ENDPOINT: " " }, null],
    [undefined, { ENDPOINT: "http://localhost:4318" }, "http://localhost:4318/v1/traces"],
    [undefined, { ENDPOINT: `${local}/` }, `${local}/v1/traces`],
    [undefined, { ENDPOINT: "http://[::1]:4318/otlp/" }, "http://[::1]:4318/otlp/v1/traces"],
    [undefined, { TRACES_ENDPOINT: local }, `${local}/`],
    [undefined, { TRACES_ENDPOINT: `${local}/in`, ENDPOINT: "http://localhost" }, `${local}/in`],
    [undefined, { TRACES_ENDPOINT: " ", ENDPOINT: local }, `${local}/v1/traces`],
    [undefined, { ENDPOINT: local, PROTOCOL: "http/protobuf" }, `${local}/v1/traces`],
    [`${local}/v1/traces`, {}, `${local}/v1/traces`],
    ["https://traces.example.com", {}, "https://traces.example.com/v1/traces"],
    [local, { ENDPOINT: "https://traces.example.com" }, `${local}/v1/traces`],
    [`${local}/a?b=c#d`, {}, `${local}/a/v1/traces?b=c`],
    [undefined, { ENDPOINT: "http://a.localhost" }, "http://a.localhost/v1/traces"],
    [undefined, { ENDPOINT: "http://127.1.2.3" }, "http://127.1.2.3/v1/traces"],
    [
      undefined,
      { PROTOCOL: "grpc", TRACES_PROTOCOL: "http/json", ENDPOINT: local },
      `${local}/v1/traces`,
    ],
  ])("%s, or %j in the environment, is %s", ([named, given, url]) => {
    expect(collectorIn(named, given)).toEqual(url === null ? null : { url, headers: {} });
  });

  test.for<[string | undefined, Record<string, string>, RegExp]>([
    [undefined, { ENDPOINT: "https://traces.example.com" }, /_ENDPOINT names another machine/],
    [undefined, { TRACES_ENDPOINT: "http://10.0.0.8:4318" }, /^OTEL_EXPORTER_OTLP_TRACES_ENDPOINT/],
    [undefined, { ENDPOINT: "http://localhost.example.com" }, /names another machine/],
    [undefined, { ENDPOINT: local, PROTOCOL: "grpc" }, /_PROTOCOL is grpc/],
    [undefined, { ENDPOINT: local, TRACES_PROTOCOL: "grpc" }, /_TRACES_PROTOCOL is grpc/],
    ["localhost:4318", {}, /needs an address/],
    ["file:///tmp/x", {}, /needs an address/],
    ["http://user:pass@127.0.0.1:4318", {}, /credentials/],
    ["http://user@127.0.0.1:4318", {}, /credentials/],
    ["http://:pass@127.0.0.1:4318", {}, /credentials/],
    [undefined, { ENDPOINT: "localhost:4318" }, /needs an address/],
    [local, { HEADERS: "a=s3cret%E2%82%AC" }, /must be name=value/],
    [local, { HEADERS: "s3cret" }, /^OTEL_EXPORTER_OTLP_HEADERS must be name=value/],
    [local, { TRACES_HEADERS: "a=%0As3cret" }, /^OTEL_EXPORTER_OTLP_TRACES_HEADERS must/],
    [local, { HEADERS: "a b=s3cret" }, /must be name=value/],
    [local, { HEADERS: "a=%zs3cret" }, /must be name=value/],
  ])("%s, or %j in the environment, is refused", ([named, given, sentence]) => {
    const problem = collectorIn(named, given);
    expect(isProblem(problem) ? problem.message : problem).toMatch(sentence);
    expect(JSON.stringify(problem)).not.toContain("s3cret");
  });

  test.for<[Record<string, string>, Record<string, string>]>([
    [{ HEADERS: "api-key=k%20e%2Cy, x-team = a=b ," }, { "api-key": "k e,y", "x-team": "a=b" }],
    [{ HEADERS: "a=1,b=2", TRACES_HEADERS: "c=3" }, { c: "3" }],
    [{ HEADERS: "empty=" }, { empty: "" }],
    [{ HEADERS: "latin=%C3%A9%09" }, { latin: "é\t" }],
  ])("with %j in the environment is sent %j", ([given, headers]) => {
    expect(collectorIn(local, given)).toMatchObject({ headers });
  });

  test.for([
    { OTEL_SDK_DISABLED: "TRUE" },
    { OTEL_TRACES_EXPORTER: "none" },
    { OTEL_TRACES_EXPORTER: "console" },
  ])("of the environment is passed over with %j, a named one is not", (off) => {
    const environment = { [`${prefix}ENDPOINT`]: local, ...off };
    expect(collectorOf(undefined, environment)).toBe(null);
    expect(collectorOf(local, environment)).toMatchObject({ url: `${local}/v1/traces` });
    const both = { ...environment, OTEL_SDK_DISABLED: "", OTEL_TRACES_EXPORTER: "console, otlp" };
    expect(collectorOf(undefined, both)).toMatchObject({ url: `${local}/v1/traces` });
  });

  const collectorIn = (named: string | undefined, given: Record<string, string>) =>
    collectorOf(
      named,
      Object.fromEntries(Object.entries(given).map(([name, value]) => [prefix + name, value])),
    );
});
