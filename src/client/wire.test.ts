import { describe, expect, test } from "vitest";
import type { CallType } from "./calls.ts";
import {
  encodeMessage,
  envelopeOf,
  formatNanoTime,
  formatTime,
  headersOf,
  limitsOf,
  pathOf,
  wireModes,
} from "./wire.ts";

test.each([
  [Date.UTC(2026, 10, 21, 3, 24, 59, 999), 0, "2026-11-21T03:24:59+0000"],
  [Date.UTC(2026, 10, 21, 3, 24, 59), 330, "2026-11-21T08:54:59+0530"],
  [Date.UTC(2026, 10, 21, 3, 24, 59), -210, "2026-11-20T23:54:59-0330"],
  [Date.UTC(2026, 11, 31, 23, 30), 60, "2027-01-01T00:30:00+0100"],
])("%d in a zone of %d minutes is %s", (at, zoneMinutes, text) => {
  expect(formatTime(at, zoneMinutes)).toBe(text);
});

test.each([
  [Date.UTC(2026, 10, 21, 3, 25, 0, 220), 911_357, 0, "2026-11-21T03:25:00.220911357Z"],
  [Date.UTC(2026, 10, 21, 3, 25, 0, 220), 900_000, 330, "2026-11-21T08:55:00.2209+05:30"],
  [Date.UTC(2026, 10, 21, 3, 25, 0, 5), 7, -210, "2026-11-20T23:55:00.005000007-03:30"],
  [Date.UTC(2026, 10, 21, 3, 25, 0), 0, 0, "2026-11-21T03:25:00Z"],
])("%d and %d nanoseconds in a zone of %d minutes is %s", (at, below, zoneMinutes, text) => {
  expect(formatNanoTime(at, below, zoneMinutes)).toBe(text);
});

test("the zone is the machine's", () => {
  const at = Date.UTC(2026, 6, 1, 12);
  expect(Date.parse(formatNanoTime(at, 0))).toBe(at);
  expect(Date.parse(formatTime(at).replace(/(\d\d)$/, ":$1"))).toBe(at);
});

const common = { userId: "u", context: { b: 1, a: 2 }, integrations: { All: false } };

const v2: [CallType, Record<string, unknown>, string][] = [
  ["alias", { userId: "u", previousId: "p" }, '"previousId":"p","userId":"u"'],
  [
    "alias",
    { ...common, previousId: "p" },
    '"context":{"a":2,"b":1},"integrations":{"All":false},"previousId":"p","userId":"u"',
  ],
  [
    "screen",
    { ...common, anonymousId: "a", name: "n", category: "c", properties: { x: 1 } },
    '"context":{"a":2,"b":1},"integrations":{"All":false},"properties":{"x":1},"anonymousId":"a","userId":"u","category":"c","name":"n"',
  ],
  [
    "identify",
    { userId: "u", anonymousId: "", traits: {}, context: null, integrations: undefined },
    '"userId":"u"',
  ],
];

describe.each(["v2.0", "v2.1"] as const)("%s", (mode) => {
  test.each(v2)("%s of %j", (type, call, members) => {
    const json = encodeMessage(mode, type, call, 'm"', "t");
    expect(json).toBe(`{${members},"type":"${type}","messageId":"m\\"","timestamp":"t"}`);
  });
});

test("v1.2 puts the library into each message's context, beside what the call says", () => {
  expect(encodeMessage("v1.2", "alias", { userId: "u", previousId: "p" }, "m", "t")).toBe(
    '{"context":{"library":{"name":"analytics-go","version":"1.2.0"}},"messageId":"m","previousId":"p","timestamp":"t","type":"alias","userId":"u"}',
  );
  expect(
    encodeMessage(
      "v1.2",
      "page",
      { userId: "u", name: null, context: { ip: "::1" }, properties: {} },
      "m",
      "t",
    ),
  ).toBe(
    '{"context":{"ip":"::1","library":{"name":"analytics-go","version":"1.2.0"}},"messageId":"m","properties":{},"timestamp":"t","type":"page","userId":"u"}',
  );
});

const v3: [CallType, Record<string, unknown>, string][] = [
  ["alias", { userId: "u", previousId: "p" }, '"previousId":"p","userId":"u","timestamp":"t"'],
  [
    "screen",
    { ...common, anonymousId: "a", name: "n", category: "c", properties: { x: 1 } },
    '"anonymousId":"a","userId":"u","category":"c","name":"n","timestamp":"t","context":{"a":2,"b":1},"properties":{"x":1},"integrations":{"All":false}',
  ],
  [
    "group",
    { userId: "u", groupId: "g", traits: {}, context: {} },
    '"userId":"u","groupId":"g","timestamp":"t","context":{}',
  ],
];

test.each(v3)("v3: %s of %j", (type, call, members) => {
  expect(encodeMessage("v3", type, call, "m", "t")).toBe(
    `{"type":"${type}","messageId":"m",${members}}`,
  );
});

test("what is nested too deep is named", () => {
  const circular: Record<string, unknown> = {};
  circular["self"] = circular;
  for (const mode of wireModes) {
    expect(() =>
      encodeMessage(mode, "identify", { userId: "u", traits: circular }, "m", "t"),
    ).toThrow(expect.objectContaining({ code: "invalid_call", field: "traits" }));
  }
});

test("each mode has its path and its envelope", () => {
  expect(wireModes.map(pathOf)).toEqual(["/v1/batch", "/v1/batch", "/v1/batch", "/v1/import"]);
  expect(envelopeOf("v3", "b", "s", { locale: "de", app: {}, library: { name: "own" } })).toEqual({
    head: '{"messageId":"b","sentAt":"s","batch":[',
    tail: '],"context":{"app":{},"library":{"name":"analytics-go","version":"3.0.0"},"locale":"de"}}',
  });
  expect(envelopeOf("v1.2", "b", "s")).toEqual({ head: '{"batch":[', tail: '],"messageId":"b"}' });
  expect(envelopeOf("v2.0", "b", "s")).toEqual({
    head: '{"context":{"library":{"name":"analytics-go","version":"2.0.0"}},"batch":[',
    tail: '],"messageId":"b","sentAt":"s"}',
  });
});

test("version 3 counts in thousands, the others as Hookyard's ingest does", () => {
  expect(wireModes.map(limitsOf)).toEqual([
    { messageBytes: 32_000, batchBytes: 500_000 },
    ...Array.from({ length: 3 }, () => ({ messageBytes: 32_768, batchBytes: 512_000 })),
  ]);
});

test("an empty write key is sent too", () => {
  expect(headersOf("v2.1", "h", "", 0)["Authorization"]).toBe("Basic Og==");
});
