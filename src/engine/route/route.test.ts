import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { CheckedMessage } from "../../domain/check.ts";
import type { Destination } from "../../domain/configuration.ts";
import type { DestinationId, SourceId } from "../../domain/ids.ts";
import type { JsonObject } from "../../domain/json.ts";
import { route } from "./route.ts";

const source = 1 as SourceId;
const receivedAt = Date.UTC(2026, 10, 21);

function messageWith(integrations: JsonObject): CheckedMessage & { messageId: string } {
  return {
    type: "track",
    messageId: "m",
    userId: "u",
    anonymousId: null,
    event: "e",
    timestamp: receivedAt,
    originalTimestamp: null,
    sentAt: null,
    members: { type: "track", userId: "u", event: "e" },
    context: {},
    integrations,
    warnings: [],
  };
}

function destinationOf(id: number, changes: Partial<Destination> = {}): Destination {
  return {
    id: id as DestinationId,
    name: `Number ${id}`,
    enabled: true,
    sourceIds: [source],
    webhooks: [],
    sharedSecret: null,
    retryProfile: "documented",
    payload: "documented",
    createdAt: 0,
    ...changes,
  };
}

function routeTo(destinations: Destination[], integrations: JsonObject = {}) {
  return route({ message: messageWith(integrations), sourceId: source, receivedAt, destinations });
}

test("only destinations connected to the source are decided on", () => {
  const elsewhere = destinationOf(1, { sourceIds: [2 as SourceId] });
  expect(routeTo([])).toEqual({ decisions: [], payloads: {} });
  expect(routeTo([elsewhere])).toEqual({ decisions: [], payloads: {} });
  expect(routeTo([elsewhere, destinationOf(2, { sourceIds: [2 as SourceId, source] })]).decisions).toMatchObject([
    { destinationId: 2, routed: true },
  ]);
});

test("a destination that is turned off says so by name, whatever the integrations are, and keeps their warnings", () => {
  const { decisions, payloads } = routeTo([destinationOf(1, { enabled: false })], { Webhooks: true, all: false });
  expect(decisions).toEqual([
    {
      destinationId: 1,
      routed: false,
      reason: "disabled",
      detail: expect.stringContaining("Number 1"),
      warnings: [expect.stringContaining("`All: false`")],
      payload: "documented",
    },
  ]);
  expect(payloads).toEqual({});
});

describe("payloads", () => {
  const shapes = (...destinations: Destination[]): string[] => Object.keys(routeTo(destinations).payloads).toSorted();

  test("are made once for each shape that is needed, and none for nothing", () => {
    const full = destinationOf(1, { payload: "full" });
    const documented = destinationOf(2);
    expect(shapes(full, documented, destinationOf(3), destinationOf(4, { payload: "full" }))).toEqual(["documented", "full"]);
    expect(shapes(documented)).toEqual(["documented"]);
    expect(shapes(full, { ...documented, enabled: false })).toEqual(["full"]);
    expect(Object.keys(routeTo([full, documented], { All: false }).payloads)).toEqual([]);
  });

  test("are the bytes of JSON", () => {
    const { payloads } = routeTo([destinationOf(1, { payload: "full" })], { Webhooks: { ünï: 1 } });
    expect(JSON.parse(Buffer.from(payloads.full ?? []).toString("utf8"))).toMatchObject({
      event: "e",
      receivedAt: "2026-11-21T00:00:00.000Z",
      integrations: { Webhooks: { ünï: 1 } },
    });
  });
});

test("there is a payload exactly where something is routed, and every decision has a reason and a sentence", () => {
  const destination = fc
    .record({ enabled: fc.boolean(), payload: fc.constantFrom("documented" as const, "full" as const), connected: fc.boolean() })
    .map(({ connected, ...rest }) => ({ ...rest, sourceIds: connected ? [source] : [] }));
  const integrations = fc.dictionary(
    fc.constantFrom("All", "all", "Webhooks", "webhooks", "Other"),
    fc.constantFrom<JsonObject[string]>(true, false, {}, null, "false", 1, []),
  );
  fc.assert(
    fc.property(fc.array(destination, { maxLength: 5 }), integrations, (list, object) => {
      const destinations = list.map((changes, place) => destinationOf(place + 1, changes));
      const { decisions, payloads } = routeTo(destinations, object);
      expect(decisions.map(({ destinationId }) => destinationId)).toEqual(
        destinations.filter(({ sourceIds }) => sourceIds.length > 0).map(({ id }) => id),
      );
      for (const { reason, detail, routed } of decisions) {
        expect(detail).toMatch(/\.$/);
        expect(routed).toBe(reason === "routed");
      }
      const needed = new Set(decisions.filter(({ routed }) => routed).map(({ payload }) => payload));
      expect(new Set(Object.keys(payloads))).toEqual(needed);
    }),
  );
});
