import { describe, expect, test } from "vitest";
import {
  dueGroups,
  flowModel,
  lineSentence,
  newestOn,
  rateWords,
  restOf,
  troubles,
} from "./flow-model.ts";
import type { FlowAnswer } from "./flow-model.ts";

type Figure = FlowAnswer["webhooks"][number];

const ok = { outcome: "success" as const, status: 200, durationMs: 12 };
const bad = { outcome: "http_error" as const, status: 503, durationMs: 9 };

const figure = (of: Partial<Figure>): Figure => ({
  id: "whk_1",
  destinationId: "dst_1",
  count: 10,
  perSecond: 2,
  shares: false,
  lastMinute: { ended: 10, failed: 0 },
  last: [ok],
  failedInARow: 0,
  lastFailure: null,
  inFlight: 0,
  inFlightMs: null,
  ...of,
});

const flaky = "http://127.0.0.1:4702/flaky?x=1";

function modelOf(
  of: Partial<Figure>,
  {
    enabled = true,
    waiting = 0,
    due = [] as string[],
    url = flaky,
    mappings = [] as object[],
  } = {},
) {
  return flowModel(
    {
      sources: [{ id: "src_1", name: "Shop" } as never, { id: "src_2", name: "App" } as never],
      audiences: [],
      traits: [],
      destinations: [
        {
          id: "dst_1",
          name: "Billing",
          enabled,
          sourceIds: ["src_gone", "src_1", "src_2"],
          webhooks: [{ id: "whk_1", url, headers: {} }],
          mappings,
        } as never,
      ],
    },
    {
      since: "2026-11-22T12:00:00.000Z",
      sources: [{ id: "src_1", count: 12, perSecond: 2, shares: false }],
      lines: [
        { sourceId: "src_1", destinationId: "dst_1", count: 10, perSecond: 2, filtered: 2 },
        { sourceId: "src_gone", destinationId: "dst_1", count: 1, perSecond: 0, filtered: 0 },
      ],
      webhooks: [figure(of)],
      waiting: [{ destinationId: "dst_1", queued: 0, sending: 0, waiting, due }],
      moving: { messages: [], attempts: [] },
    },
    new Date(2026, 10, 22, 23, 58).getTime(),
  );
}

const lineOf = (...of: Parameters<typeof modelOf>) =>
  modelOf(...of).destinations[0]?.webhooks[0]?.line;

describe("a webhook", () => {
  test.each([
    ["works", {}, "works", "200 in 12 ms"],
    ["has had nothing to do", { last: [], count: 0, perSecond: 0 }, "idle", ""],
    [
      "fails now and then",
      { lastMinute: { ended: 100, failed: 3 }, lastFailure: { ...bad, status: 429 } },
      "partly",
      "3 % fail with 429",
    ],
    [
      "fails since five attempts",
      { last: [bad], failedInARow: 5, lastFailure: bad, lastMinute: { ended: 100, failed: 5 } },
      "failing",
      "503, the last 5",
    ],
    [
      "failed most of the last minute",
      { last: [bad], failedInARow: 1, lastFailure: bad, lastMinute: { ended: 4, failed: 2 } },
      "failing",
      "503",
    ],
    [
      "failed before Hookyard started",
      { last: [bad], failedInARow: 2, lastFailure: bad, lastMinute: { ended: 0, failed: 0 } },
      "failing",
      "503, the last 2",
    ],
    [
      "works again after an outage",
      { lastMinute: { ended: 4, failed: 3 }, lastFailure: bad },
      "partly",
      "75 % fail with 503",
    ],
    [
      "failed before the last minute",
      { lastMinute: { ended: 0, failed: 0 }, lastFailure: bad },
      "works",
      "200 in 12 ms",
    ],
    ["does not answer", { inFlight: 40, inFlightMs: 2100 }, "hanging", "hangs, 40 in flight"],
    ["takes a moment", { inFlight: 40, inFlightMs: 900 }, "works", "200 in 12 ms"],
  ] as const)("that %s", (_, of, state, words) => {
    expect(lineOf(of as Partial<Figure>)).toMatchObject({ state, words });
  });

  test("of a disabled destination is off, whatever it did before", () => {
    expect(lineOf({ failedInARow: 9, lastFailure: bad }, { enabled: false })?.state).toBe("off");
  });

  test("of a mapping whose messages give the URL has the mapping's name", () => {
    const mappings = [
      { id: "whk_2", name: "Others" },
      { id: "whk_1", name: "Orders: EU" },
    ];
    const model = modelOf({ failedInARow: 9, lastFailure: bad }, { url: "", mappings });
    const [webhook] = troubles(model, "failing");
    expect(webhook).toMatchObject({ host: "Orders: EU", rest: "", url: "Orders: EU" });
    expect(webhook?.line.toName).toBe("Orders: EU");
    expect(lineOf({}, { mappings })?.toName).toBe("127.0.0.1:4702/flaky");
  });

  test("says in the list how many wait, which the map draws", () => {
    const line = lineOf({ failedInARow: 9, lastFailure: bad }, { waiting: 3 });
    expect(line).toMatchObject({ words: "503, the last 9, 3 waiting", brief: "503, the last 9" });
  });

  test("says when the next retry is, with its day when that is another one", () => {
    const nextAt = (due: Date) =>
      lineOf(
        { failedInARow: 9, lastFailure: bad },
        { waiting: 3, due: [due.toISOString()] },
      )?.words.replace(/.*, next /, "");
    expect(nextAt(new Date(2026, 10, 22, 23, 59))).toBe("23:59:00");
    expect(nextAt(new Date(2026, 10, 23, 0, 4))).toBe("Mon 00:04:00");
    expect(nextAt(new Date(2026, 11, 2, 0, 4))).toBe("2 Dec 00:04:00");
  });

  test("is found among what needs attention", () => {
    const model = modelOf({ failedInARow: 9, lastFailure: bad });
    expect(troubles(model, "failing").map(({ host }) => host)).toEqual(["127.0.0.1:4702"]);
  });
});

test("a line says its figures, one without messages is idle, and one of a deleted source is left out", () => {
  const lines = modelOf({}).destinations[0]?.lines ?? [];
  expect(lines.map(lineSentence)[0]).toEqual(
    "Shop to Billing: 2 a second, 10 messages, 2 filtered",
  );
  expect(lines.map(({ fromName, count, state }) => [fromName, count, state])).toEqual([
    ["Shop", 10, "works"],
    ["App", 0, "idle"],
  ]);
  expect([0, 0.4, 812.4].map(rateWords)).toEqual(["", "0.4/s", "812/s"]);
});

test("retries that wait are grouped by second, or by minute when they lie far apart", () => {
  expect(dueGroups([])).toEqual([]);
  expect(dueGroups([1000, 1500, 3000])).toEqual([
    { at: 1000, size: 2 },
    { at: 3000, size: 1 },
  ]);
  expect(dueGroups([1000, 3000, 400_000]).map(({ size }) => size)).toEqual([2, 1]);
});

test("the newest message of a line is the one that went last", () => {
  const model = {
    moving: {
      messages: [
        { id: "msg_1", sourceId: "src_1", destinationIds: ["dst_1"], agoMs: 900 },
        { id: "msg_2", sourceId: "src_1", destinationIds: ["dst_1"], agoMs: 100 },
      ],
      attempts: [],
    },
  } as unknown as FlowAnswer;
  expect(newestOn(model, "src_1>dst_1")).toBe("msg_2");
  expect(newestOn(model, "src_1>dst_9")).toBeNull();
});

test.each([
  ["something moves", { perSecond: 0.2 }, 1000],
  ["an attempt is in flight", { perSecond: 0, inFlight: 1 }, 1000],
  ["the last minute has failures", { perSecond: 0, lastMinute: { ended: 4, failed: 2 } }, 5000],
  ["nothing of it becomes old", { perSecond: 0 }, null],
])("the flow is asked for again when %s", (_, of, restMs) => {
  const answer = { webhooks: [figure(of)], sources: [{ perSecond: 0 }] } as FlowAnswer;
  expect(restOf(answer)).toBe(restMs);
});
