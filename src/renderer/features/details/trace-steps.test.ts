import { describe, expect, test } from "vitest";
import { jsonLines } from "../../kit/json-tokens.ts";
import { aDelivery, aMessage, anAttempt } from "../attempt/attempt.fixture.ts";
import { payloadChanges } from "./payload-changes.ts";
import { filledWords, libraryWords, traceSteps, type TraceFacts } from "./trace-steps.ts";

const shown = (message: TraceFacts["message"], facts: Partial<TraceFacts> = {}) =>
  traceSteps({
    message,
    names: new Map([["dst_000000001", "Billing"]]),
    library: null,
    filled: null,
    ...facts,
  }).map(({ glyph, name, strong, code, text }) => [glyph, name, strong, code, text]);

describe("the trace of a message", () => {
  test("goes from the request to the deliveries", () => {
    const signed = anAttempt();
    signed.request.headers.push(["X-Signature", "42bb"]);
    const message = aMessage({
      request: { method: "POST", path: "/v1/batch", headers: [], size: 700, messages: 20 },
      warnings: ["`timestamp` is junk."],
      decisions: [
        {
          destinationId: "dst_000000001",
          routed: true,
          reason: "routed",
          detail: "…",
          warnings: [],
        },
        {
          destinationId: "dst_gone",
          routed: false,
          reason: "integrations_false",
          detail: "…",
          warnings: ["`webhooks` changes nothing."],
        },
      ],
      deliveries: [
        aDelivery({
          attempts: [signed, anAttempt({ webhookId: "whk_2" }), anAttempt({ round: 2 })],
        }),
      ],
    });
    expect(
      shown(message, { library: "analytics-go 2.1.0", filled: "context.ip filled in" }),
    ).toEqual([
      ["received", "received", null, "POST /v1/batch", "one of 20 messages, analytics-go 2.1.0"],
      ["checked", "checked", null, null, "accepted, context.ip filled in"],
      ["warning", "warning", null, null, "`timestamp` is junk."],
      ["routed", "decision", "Billing", "routed", ""],
      ["not-routed", "decision", "a deleted destination", "integrations_false", ""],
      ["warning", "warning", null, null, "`webhooks` changes nothing."],
      ["waiting", "delivery", "Billing", null, ", 2 rounds, 3 attempts at 2 webhooks, signed"],
    ]);
  });

  test("names the mappings that send nothing beside others that do", () => {
    const mappings = [
      { name: "One", reason: "routed", detail: "…" },
      { name: "Two", reason: "payload_error", detail: "The URL is missing." },
      { name: "Three", reason: "trigger_not_met", detail: "…" },
    ];
    const decided = (routed: boolean, reason: string, deliveries = [aDelivery({})]) =>
      aMessage({
        deliveries,
        decisions: [
          {
            ...{ destinationId: "dst_000000001", routed, reason, detail: "…", warnings: [] },
            mappings: routed ? mappings : mappings.slice(1),
          },
        ],
      });
    const text = "Two: payload_error (The URL is missing.), Three: trigger_not_met";
    expect(shown(decided(true, "routed"))[2]).toEqual([
      ...["routed", "decision", "Billing", "routed", text],
    ]);
    // Another destination got the message.
    expect(shown(decided(false, "payload_error"))[2]?.[4]).toBe(text);
    expect(shown(decided(false, "payload_error", []))[2]?.[4]).toBe("");
  });

  test("ends where the message was rejected", () => {
    expect(
      shown(
        aMessage({ state: "rejected", reason: "missing_event", detail: "A track needs `event`." }),
      ),
    ).toEqual([
      ["received", "received", null, "POST /v1/track", ""],
      ["rejected", "checked", null, "missing_event", "rejected"],
    ]);
  });

  test("names what a duplicate repeats, and what a replay replays", () => {
    expect(shown(aMessage({ state: "duplicate", duplicateOf: "msg_000000001" }))[1]).toEqual([
      "duplicate",
      "checked",
      null,
      null,
      "a duplicate of msg_000000001",
    ]);
    expect(shown(aMessage({ state: "filtered", replayOf: "msg_000000001" }))[1]?.[4]).toBe(
      "accepted, a replay of msg_000000001, no destination is connected to its source",
    );
  });

  test("says since when a delivery is there", () => {
    const steps = traceSteps({
      message: aMessage({ deliveries: [aDelivery({ createdAt: "2026-11-21T15:50:57.003Z" })] }),
      names: new Map(),
      library: null,
      filled: null,
    });
    expect(steps.at(-1)).toMatchObject({ sinceMs: 3, text: ", waiting, no attempt yet" });
  });
});

test("what the request filled in is read from what the payload has and the message had not", () => {
  const words = (raw: string, payload: string, delivery = {}): string | null => {
    const json = { text: payload, lines: jsonLines(payload) ?? [] };
    const changes = payloadChanges({ text: raw, lines: jsonLines(raw) ?? [] }, json);
    return changes && filledWords(delivery, json, changes);
  };
  expect(words(`{}`, `{"timestamp":"mapped"}`, { webhookId: "whk_1" })).toBeNull();
  expect(
    words(`{"context":{"a":1}}`, `{"version":1,"messageId":"x","context":{"a":1,"ip":"::1"}}`),
  ).toBe("messageId, context.ip filled in");
  expect(words(`{"messageId":"x"}`, `{"version":1,"messageId":"x"}`)).toBeNull();
  expect(words(`{}`, `{"messageId":"x","timestamp":"y","context":{"ip":"::1"}}`)).toBe(
    "messageId, timestamp, context.ip filled in",
  );
  expect(words(`{}`, `{"messageId":"x","timestamp":"y","context":{"ip":"::1","library":{}}}`)).toBe(
    "4 fields filled in",
  );
});

test("the library is the one that the payload names", () => {
  expect(libraryWords(`{"context":{"library":{"name":"analytics-go","version":"2.1.0"}}}`)).toBe(
    "analytics-go 2.1.0",
  );
  expect(libraryWords(`{"context":{"library":"x"}}`)).toBeNull();
  expect(libraryWords("nope")).toBeNull();
});
