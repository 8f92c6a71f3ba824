import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Destination } from "../../domain/configuration.ts";
import type { SourceId } from "../../domain/ids.ts";
import type { JsonObject } from "../../domain/json.ts";
import { destinationOf, messageWith, receivedAt, source } from "./route.fixture.ts";
import { answerForWebhooks, integrationsFor, route } from "./route.ts";

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

  test.each<[name: string, why: string | null]>([
    ["Actions Webhook", null],
    ["actions webhook", "names are case-sensitive"],
    ["Webhook (Actions)", "that is not the destination's name"],
    ["webhooks (actions)", "that is not the destination's name"],
    ["actions-webhook", "that is not the destination's name"],
    ["Webhooks", null],
    ["webhooks", null],
    ["constructor", null],
    ["Mixpanel", null],
  ])("of %s, for a destination with mappings, is said: %s", (name, why) => {
    const { routed, warnings } = answerForWebhooks({ [name]: false }, "webhooks-actions");
    expect(routed).toBe(name !== "Actions Webhook");
    const said = `\`${name}\` in the integrations changes nothing, because ${why}: \`Actions Webhook: false\` was probably meant.`;
    expect(warnings).toEqual(why === null ? [] : [said]);
  });

  test("is that of some destinations and of no others", () => {
    const actions = destinationOf(2, { kind: "webhooks-actions" });
    expect(integrationsFor([])).toEqual({ All: false });
    expect(integrationsFor([destinationOf(1), actions, destinationOf(3)])).toEqual({
      ...{ All: false, Webhooks: true },
      "Actions Webhook": true,
    });
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
