/** What a message becomes at filters and mappings, and what its routing costs. */

import { expect, test } from "vitest";
import type { Destination, DestinationFilter, Mapping } from "../../domain/configuration.ts";
import type { SourceId } from "../../domain/ids.ts";
import { isProblem } from "../../domain/problem.ts";
import { loadPlans, planFrom, weightOfPlan } from "../plans/plans.ts";
import { destinationOf, mappingOf, messageWith, receivedAt, source } from "./route.fixture.ts";
import { createWeigher, route, routing, type RouteOptions } from "./route.ts";

function optionsFor(destinations: Destination[], more: Partial<RouteOptions> = {}): RouteOptions {
  return {
    message: messageWith({}),
    source: { id: source, name: "Shop", plan: null },
    ...{ receivedAt, destinations, seed: 1 },
    ...more,
  };
}

const mappedTo = (...mappings: Mapping[]): Destination =>
  destinationOf(1, { kind: "webhooks-actions", mappings });

const filter = (name: string, more: Partial<DestinationFilter>): DestinationFilter => ({
  ...{ name, enabled: true, if: "" },
  action: "drop-properties",
  ...more,
});

test("equal mappings send the same from each destination, and another where a filter removed something", () => {
  const data = { event: { "@path": "$.event" }, n: { "@path": "$.properties.n" } };
  const mapping = (id: number, more: Partial<Mapping> = {}): Mapping =>
    mappingOf(id, { data, ...more });
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
  expect(decisions.slice(1, 3).map(({ detail }) => detail)).toEqual([
    "M12: Its request is sent.",
    "The filter No n of Number 3 removed properties.n. M13: Its request is sent.",
  ]);
  const bodies = decisions.map(({ requests }) => requests?.[0]?.body);
  expect(bodies[1]).toBe(bodies[0]);
  // Mappings have their bodies, and so has what a filter changed.
  expect(payloads).toEqual({});
});

test("conditions of filters see what mappings see, and one that cannot be read holds the message back", () => {
  const dropping = (id: number, condition: string): Destination =>
    destinationOf(id, { filters: [filter("Drop", { action: "drop", if: condition })] });
  const message = { ...messageWith({}), userId: null, anonymousId: "a" };
  Object.assign(message.members, { userId: "", anonymousId: "a" });
  const decisions = route(
    optionsFor(
      [
        dropping(1, "userId = null and anonymousId = 'a'"),
        dropping(2, "messageId = 'm' and receivedAt = '2026-11-21T00:00:00.000Z'"),
        dropping(3, "userId != null"),
        destinationOf(4, { filters: [filter("Mask", { if: "type = ", properties: [] })] }),
      ],
      { message },
    ),
  ).decisions;
  expect(decisions.map(({ reason }) => reason)).toEqual([
    "filter_dropped",
    "filter_dropped",
    "routed",
    "filter_dropped",
  ]);
  expect(decisions[3]?.detail).toBe(
    "The condition of the filter Mask of Number 4 cannot be read, so nothing is sent. Correct the condition.",
  );
});

test("a message is routed in a step for each destination and each mapping, which say what they cost", () => {
  const large = mappingOf(1, { data: { text: "x".repeat(25_000) } });
  const bodiless = mappingOf(3, { data: null });
  const disabled = mappingOf(4, { enabled: false });
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
        destinationOf(3, {
          kind: "webhooks-actions",
          mappings: [large, mappingOf(2), bodiless, disabled],
        }),
        destinationOf(4, { sourceIds: [] }),
      ],
      seed: 1,
      span: { body: new Uint8Array(2000), offset: 0, size: 2000 },
    }),
  ];
  expect(steps).toEqual([1, 1, 22 + 320, 1, 1005.44, 5.08, 5, 5]);
});

test("mappings make at most 8 MB of one message, and those after that say so", () => {
  const mappings = Array.from({ length: 5 }, (_, nth) =>
    mappingOf(nth, { data: { text: `${nth}${"x".repeat(480_000)}` } }),
  );
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

test("the eight megabytes are full at exactly as many bytes, and a mapping without a body takes none", () => {
  const filling = (size: number): Mapping => mappingOf(size, { data: { t: "x".repeat(size - 8) } });
  const usual = filling(400_000);
  const none = mappingOf(1, { data: null });
  for (const [last, routed] of [
    [400_000, "routed"],
    [400_001, "payload_error"],
  ] as const) {
    const four = [usual, usual, usual, usual];
    const { decisions } = route(
      optionsFor([
        mappedTo(...four, usual),
        mappedTo(...four, usual),
        mappedTo(...four, usual),
        mappedTo(...four, filling(last), none),
      ]),
    );
    expect(decisions[0]?.requests?.[0]?.body?.length).toBe(400_000);
    expect(decisions.map(({ mappings }) => mappings?.[4]?.reason)).toEqual([
      ...["routed", "routed", "routed"],
      routed,
    ]);
    expect(decisions[3]?.mappings?.[5]?.reason).toBe("routed");
  }
});

test("a destination says what became of the message at each mapping, and goes by the best of them", () => {
  const routed = mappingOf(1);
  const batched = mappingOf(2, { batch: { enabled: true, size: 9, waitMs: 5, keys: [] } });
  const wrong = mappingOf(3, { data: [1] });
  const unmet = mappingOf(4, { trigger: 'event = "other"' });
  const met = mappingOf(5, { trigger: 'event = "e"' });
  const unreadable = mappingOf(6, { trigger: 'event = "e' });
  const off = mappingOf(7, { enabled: false });
  const said: Record<number, [reason: string, detail: string]> = {
    1: ["routed", "Its request is sent."],
    2: ["routed", "Its data goes into a batch of requests."],
    3: ["payload_error", "The data must be an object."],
    4: ["trigger_not_met", 'The message does not match its trigger `event = "other"`.'],
    5: ["routed", "Its request is sent."],
    6: ["trigger_not_met", 'The message does not match its trigger `event = "e`.'],
    7: ["mapping_disabled", "It is disabled."],
  };
  for (const [mappings, reason] of [
    [[off, wrong, batched, unmet, routed, met, unreadable], "routed"],
    [[off, unmet, wrong], "payload_error"],
    [[off, unmet], "trigger_not_met"],
    [[unreadable], "trigger_not_met"],
    [[off], "mapping_disabled"],
    [[], "trigger_not_met"],
  ] as const) {
    const { decisions } = route(optionsFor([mappedTo(...mappings)]));
    const of = mappings.map(({ id, name }) => {
      const [why = "", detail = ""] = said[id] ?? [];
      return { name, reason: why, detail };
    });
    expect(decisions).toMatchObject([
      {
        ...{ routed: reason === "routed", reason, mappings: of },
        detail: of.map(({ name, detail }) => `${name}: ${detail}`).join(" "),
      },
    ]);
    expect(decisions[0]?.requests?.map(({ webhookId }) => webhookId)).toEqual(
      mappings.filter(({ id }) => said[id]?.[0] === "routed").map(({ id }) => id),
    );
  }
});

test("filters say what they did: nothing, what they removed, or why nothing is sent", () => {
  const message = messageWith({});
  message.members["properties"] = { a: 1, b: 2, c: 3 };
  message.members["context"] = message.context = { ip: "1.2.3.4", locale: "de" };
  const decided = (filters: DestinationFilter[], more: Partial<Destination> = {}) => {
    const { decisions, payloads } = route(
      optionsFor([destinationOf(1, { filters, ...more })], { message }),
    );
    return { ...decisions[0], shapes: Object.keys(payloads) };
  };
  const dropA = filter("No a", { properties: ["properties.a"] });
  expect(decided([filter("No x", { properties: ["properties.x"] })])).toEqual({
    ...decided([]),
    shapes: ["documented"],
  });
  const { filtered, ...one } = decided([dropA]);
  expect(one).toMatchObject({
    ...{ routed: true, reason: "routed", shapes: [] },
    detail: "The filter No a of Number 1 removed properties.a.",
  });
  expect(filtered?.filters).toEqual([{ name: "No a", action: "drop-properties" }]);
  const bodies = filtered?.bodies;
  expect(JSON.parse(String(bodies?.before))).toMatchObject({
    ...{ version: 1, properties: { a: 1, b: 2, c: 3 } },
    context: { ip: "1.2.3.4" },
  });
  expect(JSON.parse(String(bodies?.after)).properties).toEqual({ b: 2, c: 3 });
  const both = [dropA, filter("No ip", { properties: ["context.ip", "properties.b"] })];
  const { filtered: two, detail } = decided(both);
  expect(detail).toBe(
    "The filters No a, No ip of Number 1 removed properties.a, context.ip, properties.b.",
  );
  expect(JSON.parse(String(two?.bodies?.after))).toMatchObject({ context: { locale: "de" } });
  for (const [length, shown] of [
    [49, `properties.${"y".repeat(49)}`],
    [50, `properties.${"y".repeat(49)}…`],
  ] as const) {
    const name = "y".repeat(length);
    message.members["properties"] = { a: 1, b: 2, c: 3, [name]: 1 };
    expect(decided([filter("Long", { properties: [`properties.${name}`] })]).detail).toBe(
      `The filter Long of Number 1 removed ${shown}.`,
    );
  }
  message.members["properties"] = { a: 1, b: 2, c: 3 };
  // Mappings get events, which have another shape than the payloads of webhooks.
  const { filtered: ofEvent } = decided([dropA], {
    ...{ kind: "webhooks-actions", mappings: [mappingOf(1)] },
  });
  expect(JSON.parse(String(ofEvent?.bodies?.before))).not.toHaveProperty("version");
  expect(JSON.parse(String(ofEvent?.bodies?.after))).toMatchObject({ properties: { b: 2, c: 3 } });
  const kept = filter("Kept", { action: "drop", if: 'event = "other"' });
  expect(decided([kept])).toEqual(decided([]));
  for (const [action, reason, says] of [
    ["drop", "filter_dropped", "The filter Stop of Number 1 drops this message."],
    [
      "sample",
      "filter_sampled",
      "The filter Stop of Number 1 lets a share of its messages through, and this one is not in it.",
    ],
  ] as const) {
    const stop = filter("Stop", { action, ...(action === "sample" ? { share: 0 } : {}) });
    expect(decided([dropA, stop], { kind: "webhooks-actions", mappings: [mappingOf(1)] })).toEqual({
      ...{ destinationId: 1, routed: false, reason, detail: says, warnings: [] },
      ...{ payload: "documented", shapes: [] },
      filtered: {
        bodies: null,
        filters: [
          { name: "No a", action: "drop-properties" },
          { name: "Stop", action },
        ],
      },
    });
  }
});

test("what integrations leave out goes through no filter and no mapping, and they are read once", () => {
  const filters = [filter("Stop", { action: "drop" })];
  let reads = 0;
  const integrations = Object.defineProperty({ All: false }, "Webhooks", {
    enumerable: true,
    get() {
      reads += 1;
      return false;
    },
  });
  const decide = (count: number) => {
    reads = 0;
    return route(
      optionsFor(
        Array.from({ length: count }, (_, nth) =>
          destinationOf(nth, {
            ...{ filters, mappings: [mappingOf(1)] },
            kind: nth === 0 ? "webhooks-actions" : "webhooks",
          }),
        ),
        { message: messageWith(integrations) },
      ),
    ).decisions.map(({ reason, requests, filtered }) => [reason, requests, filtered]);
  };
  expect(decide(2)).toEqual([
    ["integrations_all_false", undefined, undefined],
    ["integrations_false", undefined, undefined],
  ]);
  const ofTwo = reads;
  decide(9);
  expect(reads).toBe(ofTwo);
});

test("a sample by user goes by the user, or by the anonymous one where there is none", () => {
  const half = filter("Half", { action: "sample", share: 0.5, by: "user" });
  const isThrough = (userId: string | null, anonymousId: string | null, messageId: string) =>
    route(
      optionsFor([destinationOf(1, { filters: [half] })], {
        message: { ...messageWith({}), userId, anonymousId, messageId },
      }),
    ).decisions[0]?.routed;
  const names = Array.from({ length: 20 }, (_, nth) => `user ${nth}`);
  const through = names.map((name) => isThrough(name, "other", name));
  expect(new Set(through)).toEqual(new Set([true, false]));
  expect(names.map((name) => isThrough(null, name, "m"))).toEqual(through);
  expect(new Set(names.map((name) => isThrough(null, null, name)))).toHaveLength(1);
});

test("the weight of a routing is one for each destination and filter, five for each mapping, and more for large ones", () => {
  const weigh = (...destinations: Destination[]) => createWeigher({ id: source }, destinations);
  const elsewhere = { sourceIds: [2 as SourceId] };
  expect(weigh()(1000)).toBe(1);
  expect(weigh(destinationOf(1, elsewhere))(1000)).toBe(1);
  expect(weigh(destinationOf(1), destinationOf(2, elsewhere), destinationOf(3))(9)).toBe(3);
  const properties = Array.from({ length: 32 }, (_, nth) => `properties.p${nth}`);
  const filters = [filter("A", { properties }), filter("B", { action: "drop" })];
  expect(weigh(destinationOf(1, { filters }))(9)).toBeCloseTo(2 + 3 + 1 + (9 * 32) / 2000, 9);
  const mapping = mappingOf(1);
  const { url, method, headers, data, batch } = mapping;
  const text = JSON.stringify([url, method, headers, data, batch]).length;
  const mapped = mappedTo(mapping, mapping);
  expect(weigh(mapped)(0)).toBeCloseTo(2 + 10 + (2 * text) / 100, 9);
  expect(weigh(mapped)(400)).toBeCloseTo(2 + 10 + ((2 * text) / 100) * 3, 9);
});

test("the plan of a source is checked first, which has its weight, and what it blocks goes nowhere", async () => {
  await loadPlans();
  const schemas = { e: { required: ["total"] } };
  const large = {
    ...schemas,
    f: { enum: Array.from({ length: 300 }, (_, nth) => `value ${nth}`) },
  };
  const planned = (draft: Parameters<typeof planFrom>[0]) => {
    const plan = planFrom(draft, null);
    if (plan === null || isProblem(plan)) throw new Error("no plan");
    return { id: source, name: "Shop", plan };
  };
  const recorded = planned({ schemas });
  const heavy = planned({ schemas: large });
  const span = { body: new Uint8Array(0), offset: 0, size: 50_000 };
  const [first] = routing(optionsFor([], { source: heavy, span }));
  expect(first).toBe(weightOfPlan(heavy.plan, 50_000));
  expect(createWeigher(heavy, [])(50_000)).toBe(1 + weightOfPlan(heavy.plan, 50_000));
  expect(weightOfPlan(heavy.plan, 50_000)).toBeGreaterThan(0);
  expect([...routing(optionsFor([]))]).toEqual([]);
  const violations = [
    { path: expect.any(String) as string, message: expect.any(String) as string },
  ];
  const dropped: string[][] = [];
  const destinations = [
    destinationOf(1),
    destinationOf(2, { payload: "full", enabled: false }),
    destinationOf(3, { sourceIds: [] }),
  ];
  expect(route(optionsFor([], { source: recorded }))).toEqual({
    ...{ decisions: [], payloads: {} },
    plan: { violations, dropped, reason: null },
  });
  const passed = route(optionsFor(destinations, { source: recorded }));
  expect(passed.plan).toEqual({ violations, dropped, reason: null });
  expect(passed.decisions.map(({ reason }) => reason)).toEqual(["routed", "disabled"]);
  expect(JSON.parse(String(Buffer.from(passed.payloads.documented ?? [])))).toMatchObject({
    messageId: "m",
  });
  const blocked = route(
    optionsFor(destinations, { source: planned({ schemas, onViolation: "block" }) }),
  );
  expect(blocked.payloads).toEqual({});
  const reason = blocked.plan?.reason ?? "";
  expect(blocked.plan).toEqual({
    violations,
    dropped,
    reason: expect.stringMatching(/./) as string,
  });
  expect(blocked.decisions).toEqual(
    [1, 2].map((destinationId) => ({
      ...{ destinationId, routed: false, reason, warnings: [] },
      detail: expect.stringMatching(/Shop.*\.$/) as string,
      payload: destinationId === 2 ? "full" : "documented",
    })),
  );
});
