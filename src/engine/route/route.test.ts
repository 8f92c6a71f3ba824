import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { CheckedMessage } from "../../domain/check.ts";
import type { Destination, Mapping } from "../../domain/configuration.ts";
import type { DestinationId, SourceId, WebhookId } from "../../domain/ids.ts";
import type { JsonObject } from "../../domain/json.ts";
import { route, answerForWebhooks, routing } from "./route.ts";

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
    kind: "webhooks",
    mappings: [],
    name: `Number ${id}`,
    enabled: true,
    sourceIds: [source],
    webhooks: [],
    sharedSecret: null,
    retryProfile: "documented",
    payload: "documented",
    filters: [],
    createdAt: 0,
    ...changes,
  };
}

function routeTo(destinations: Destination[], integrations: JsonObject = {}) {
  return route({
    message: messageWith(integrations),
    source: { id: source, name: "Shop", plan: null },
    receivedAt,
    destinations,
    seed: 1,
  });
}

test("only destinations connected to the source are decided on", () => {
  const elsewhere = destinationOf(1, { sourceIds: [2 as SourceId] });
  expect(routeTo([])).toEqual({ decisions: [], plan: null, payloads: {} });
  expect(routeTo([elsewhere])).toEqual({ decisions: [], plan: null, payloads: {} });
  expect(
    routeTo([elsewhere, destinationOf(2, { sourceIds: [2 as SourceId, source] })]).decisions,
  ).toMatchObject([{ destinationId: 2, routed: true }]);
});

test("equal mappings send the same from each destination, and another where a filter removed something", () => {
  const mapping = (id: number, more: Partial<Mapping> = {}): Mapping => ({
    id: id as WebhookId,
    name: "One",
    enabled: true,
    trigger: null,
    url: "http://127.0.0.1/hook",
    method: "POST",
    headers: {},
    data: { event: { "@path": "$.event" }, n: { "@path": "$.properties.n" } },
    batch: { enabled: false, keys: [], size: 1, waitMs: 1 },
    ...more,
  });
  const mapped = (id: number, of: Mapping, filters: Destination["filters"] = []): Destination =>
    destinationOf(id, { kind: "webhooks-actions", mappings: [of], filters });
  const message = messageWith({});
  message.members["properties"] = { n: 7 };
  const without = { name: "No n", enabled: true, if: "", properties: ["properties.n"] };
  const { decisions, payloads } = route({
    message,
    source: { id: source, name: "Shop", plan: null },
    receivedAt,
    destinations: [
      mapped(1, mapping(11)),
      mapped(2, mapping(12)),
      mapped(3, mapping(13), [{ ...without, action: "drop-properties" }]),
      mapped(4, mapping(14, { method: "PUT" })),
      destinationOf(5, { filters: [{ ...without, action: "drop-properties" }] }),
    ],
    seed: 1,
  });
  const sent = decisions.flatMap(({ requests = [] }) =>
    requests.map(({ webhookId, method, body }) => [webhookId, method, String(body)]),
  );
  expect(sent).toEqual([
    [11, "POST", '{"event":"e","n":7}'],
    [12, "POST", '{"event":"e","n":7}'],
    [13, "POST", '{"event":"e"}'],
    [14, "PUT", '{"event":"e","n":7}'],
  ]);
  expect(decisions.map(({ routed }) => routed)).toEqual([true, true, true, true, true]);
  // Mappings have their bodies, and so has what a filter changed.
  expect(payloads).toEqual({});
});

test("a destination that is turned off says so by name, whatever the integrations are, and keeps their warnings", () => {
  const { decisions, payloads } = routeTo([destinationOf(1, { enabled: false })], {
    Webhooks: true,
    all: false,
  });
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
  const shapes = (...destinations: Destination[]): string[] =>
    Object.keys(routeTo(destinations).payloads).toSorted();

  test("are made once for each shape that is needed, and none for nothing", () => {
    const full = destinationOf(1, { payload: "full" });
    const documented = destinationOf(2);
    expect(
      shapes(full, documented, destinationOf(3), destinationOf(4, { payload: "full" })),
    ).toEqual(["documented", "full"]);
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
    .record({
      enabled: fc.boolean(),
      payload: fc.constantFrom("documented" as const, "full" as const),
      connected: fc.boolean(),
    })
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
      const needed = new Set(
        decisions.filter(({ routed }) => routed).map(({ payload }) => payload),
      );
      expect(new Set(Object.keys(payloads))).toEqual(needed);
    }),
  );
});

describe("the integrations object", () => {
  test.each<[JsonObject, string]>([
    [{}, "routed"],
    [{ All: true }, "routed"],
    [{ Mixpanel: false }, "routed"],
    [{ Webhooks: true }, "routed"],
    [{ Webhooks: {} }, "routed"],
    [{ Webhooks: false }, "integrations_false"],
    [{ All: true, Webhooks: false }, "integrations_false"],
    [{ All: false, Webhooks: false }, "integrations_false"],
    [{ All: false }, "integrations_all_false"],
    [{ All: false, Mixpanel: true }, "integrations_all_false"],
    [{ All: false, Webhooks: true }, "routed"],
    [{ All: false, Webhooks: { option: 1 } }, "routed"],
    [{ All: false, Webhooks: {} }, "routed"],
    [{ All: {} }, "routed"],
    [JSON.parse(`{"__proto__":{"All":false,"Webhooks":false}}`) as JsonObject, "routed"],
  ])("%j means %s, without a warning", (integrations, reason) => {
    expect(answerForWebhooks(integrations)).toEqual({
      routed: reason === "routed",
      reason,
      detail: expect.stringMatching(/\.$/),
      warnings: [],
    });
  });

  test("is warned about in the order of its members, with long values cut", () => {
    const { warnings } = answerForWebhooks({
      Webhooks: ["x".repeat(56)],
      all: ["x".repeat(57)],
      alle: 1,
      webhook: 1,
      Other: "false",
    });
    expect(warnings).toEqual([
      expect.stringContaining(
        `\`Webhooks: ["${"x".repeat(56)}"]\` in the integrations changes nothing`,
      ),
      expect.stringContaining(`\`All: ["${"x".repeat(57)}"…\` was probably meant`),
    ]);
    expect(answerForWebhooks({ webhooks: true, All: "no" }).warnings).toEqual([
      expect.stringContaining("`webhooks`"),
      expect.stringContaining("`All: "),
    ]);
  });

  test.each<[JsonObject, string, string]>([
    [{ All: " TRUE " }, "routed", "`All: true` was probably meant"],
    [{ All: "1" }, "routed", "`All: true` was probably meant"],
    [{ All: "0" }, "routed", "`All: false` was probably meant"],
    [{ all: false }, "routed", "`All: false` was probably meant"],
    [{ ALL: false }, "routed", "`All: false` was probably meant"],
    [{ webhooks: false }, "routed", "`Webhooks: false` was probably meant"],
    [{ WEBHOOKS: { a: 1 } }, "routed", '`Webhooks: {"a":1}` was probably meant'],
    [
      { All: false, webhooks: true },
      "integrations_all_false",
      "`Webhooks: true` was probably meant",
    ],
    [{ Webhooks: false, webHooks: true }, "integrations_false", "`webHooks`"],
    [{ all: false, All: true }, "routed", "`all`"],
    [{ All: "false" }, "routed", "`All: false` was probably meant"],
    [{ All: 0 }, "routed", "`All: false` was probably meant"],
    [{ All: null }, "routed", "changes nothing"],
    [{ Webhooks: "false" }, "routed", "`Webhooks: false` was probably meant"],
    [{ Webhooks: null }, "routed", "true, false or an options object was probably meant"],
    [{ Webhooks: [] }, "routed", "changes nothing"],
    [
      { All: false, Webhooks: "true" },
      "integrations_all_false",
      "`Webhooks: true` was probably meant",
    ],
    [{ All: false, Webhooks: 1 }, "integrations_all_false", "`Webhooks: true` was probably meant"],
    [{ All: false, Webhooks: null }, "integrations_all_false", "changes nothing"],
  ])("%j means %s, and a warning says %s", (integrations, reason, warning) => {
    const answer = answerForWebhooks(integrations);
    expect(answer).toMatchObject({ routed: reason === "routed", reason });
    expect(answer.warnings).toEqual([expect.stringContaining(warning)]);
  });
});

test("a message is routed in a step for each destination and each mapping, which say what they cost", () => {
  const mapping = (nth: number, data: Mapping["data"]): Mapping => ({
    ...{ id: nth as WebhookId, name: `M${nth}`, enabled: true, trigger: null },
    ...{ url: "http://127.0.0.1/", method: "POST", headers: {}, data },
    batch: { enabled: false, size: 1, waitMs: 1000, keys: [] },
  });
  const large = mapping(1, { text: "x".repeat(25_000) });
  const properties = Array.from({ length: 160 }, (_, nth) => `properties.p${nth}`);
  const filter = {
    name: "F",
    enabled: true,
    if: "",
    action: "drop-properties",
    properties,
  } as const;
  const steps = [
    ...routing({
      message: messageWith({}),
      source: { id: source, name: "Shop", plan: null },
      receivedAt,
      destinations: [
        destinationOf(1),
        destinationOf(2, { filters: [filter, { ...filter, name: "G" }] }),
        destinationOf(3, { kind: "webhooks-actions", mappings: [large, mapping(2, {})] }),
        destinationOf(4, { sourceIds: [] }),
      ],
      seed: 1,
      span: { body: new Uint8Array(2000), offset: 0, size: 2000 },
    }),
  ];
  expect(steps).toEqual([1, 1, 22 + 320, 1, 1005.44, 5.08]);
});

test("mappings make at most 8 MB of one message, and those after that say so", () => {
  const mappings = Array.from({ length: 5 }, (_, nth): Mapping => ({
    ...{ id: nth as WebhookId, name: `M${nth}`, enabled: true, trigger: null },
    ...{ url: "http://127.0.0.1/", method: "POST", headers: {} },
    data: { text: `${nth}${"x".repeat(480_000)}` },
    batch: { enabled: false, size: 1, waitMs: 1000, keys: [] },
  }));
  const { decisions } = route({
    message: messageWith({}),
    source: { id: source, name: "Shop", plan: null },
    receivedAt,
    destinations: [1, 2, 3, 4].map((id) =>
      destinationOf(id, { kind: "webhooks-actions", mappings }),
    ),
    seed: 1,
  });
  expect(decisions.map(({ requests }) => requests?.length)).toEqual([5, 5, 5, 1]);
  expect(decisions[3]?.mappings?.[4]).toMatchObject({
    reason: "payload_error",
    detail: expect.stringContaining("more than 8 MB of this message") as string,
  });
});
