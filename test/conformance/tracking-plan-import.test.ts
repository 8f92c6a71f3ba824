/** Documents that a tracking plan is read from, and those that are refused. */

import { describe, expect, test } from "vitest";
import { startIngestApp } from "../support/ingest-app.ts";
import { schemas, bought, withPlan } from "../support/tracking-plan.ts";

describe("a plan is read from", () => {
  const rule = (properties: object) => ({
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "object",
    labels: {},
    properties: {
      context: {},
      traits: {},
      properties: { type: "object", id: "/properties/properties", ...properties },
    },
  });
  const wanted = rule({
    properties: { total: { id: "/properties/total", type: "number" } },
    required: ["total"],
  });

  test.each<[string, unknown]>([
    [
      "rules of the hosted API",
      { rules: [{ type: "TRACK", key: "Order Completed", version: 1, jsonSchema: wanted }] },
    ],
    [
      "its whole answer",
      {
        data: {
          rules: [{ type: "TRACK", key: "Order Completed", jsonSchema: wanted }],
          pagination: {},
        },
      },
    ],
    [
      "a list of rules",
      [{ type: "TRACK", key: "Order Completed", json_schema: JSON.stringify(wanted) }],
    ],
    [
      "the older form",
      {
        name: "workspaces/acme/tracking-plans/rs_1",
        display_name: "Shop",
        rules: {
          events: [
            {
              name: "Order Completed",
              version: 1,
              rules: { ...wanted, $schema: "http://json-schema.org/draft-04/schema#" },
            },
          ],
          global: {},
          identify: {},
          group: {},
          identify_traits: [],
        },
      },
    ],
    [
      "schemas by event",
      { "Order Completed": { required: ["total"], properties: { total: { type: "number" } } } },
    ],
    ["sorted schemas", { events: { "Order Completed": { required: ["total"] } }, identify: {} }],
  ])("%s", async (_, document) => {
    const { outcome } = await withPlan({ schemas: document });
    expect(await outcome(bought({}))).toMatchObject({
      violations: [{ path: "properties.total", message: "is required" }],
    });
    expect(await outcome(bought({ total: 1 }))).toMatchObject({ plan: "ok" });
  });

  test("an export with every type, in pages, with keys and null keywords", async () => {
    const traits = (schema: object) => ({
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      labels: null,
      properties: { context: {}, traits: schema, properties: {} },
    });
    const plan = {
      type: "string",
      pattern: "^[a-z]{3,8}$",
      enum: ["free", "pro", null],
      nullable: true,
    };
    const schema = { type: "object", properties: { plan }, required: ["plan"], dependencies: null };
    const pageOf = (rules: object[], next?: string) => ({
      data: { rules, pagination: { current: "MA==", totalEntries: 5, next } },
    });
    const rest = { version: 1, createdAt: "2026-01-01T00:00:00Z", deprecatedAt: null };
    const { outcome } = await withPlan({
      schemas: [
        pageOf(
          [
            { ...rest, type: "IDENTIFY", key: "Identify", jsonSchema: traits(schema) },
            { ...rest, type: "GROUP", key: "Group", jsonSchema: traits(schema) },
            { ...rest, type: "COMMON", key: "Common", jsonSchema: { required: ["anonymousId"] } },
          ],
          "Mg==",
        ),
        pageOf([
          { ...rest, type: "PAGE", key: "Pricing", jsonSchema: rule({ required: ["path"] }) },
          {
            ...rest,
            type: "TRACK",
            key: "Order Completed",
            jsonSchema: rule({
              required: null,
              properties: { coupon: { nullable: true, maxLength: 3 }, note: { type: "string" } },
            }),
          },
        ]),
      ],
    });
    const of = { userId: "ada", anonymousId: "a1" };
    const cases: [object, string[]][] = [
      [{ type: "identify", traits: { plan: "pro" } }, []],
      [{ type: "identify", traits: { plan: null } }, []],
      [{ type: "identify", traits: { plan: "PRO" } }, ["traits.plan", "traits.plan"]],
      [{ type: "identify" }, ["traits.plan"]],
      [{ type: "group", groupId: "g", traits: {} }, ["traits.plan"]],
      [{ type: "page", name: "Pricing" }, ["properties.path"]],
      [{ type: "page", name: "Home" }, []],
      [bought({ coupon: null, note: "x" }), []],
      [bought({ coupon: "long", note: null }), ["properties.coupon", "properties.note"]],
      [bought({ note: 1 }, { anonymousId: undefined }), ["properties.note", "anonymousId"]],
    ];
    for (const [message, paths] of cases) {
      const { violations } = await outcome({ ...of, ...message });
      expect([message, violations.map(({ path }) => path)]).toEqual([message, paths]);
    }
  });

  test("rules for all messages, and versions of an event", async () => {
    const { outcome } = await withPlan({
      schemas: {
        rules: [
          { type: "COMMON", jsonSchema: { properties: { context: { required: ["app"] } } } },
          { type: "TRACK", key: "Order Completed", version: 2, jsonSchema: wanted },
          { type: "TRACK", key: "Order Completed", version: 1, jsonSchema: {} },
        ],
      },
    });
    const context = { app: {}, protocols: { event_version: 2 } };
    expect(await outcome(bought({}, { context }))).toMatchObject({
      violations: [{ path: "properties.total" }],
    });
    expect(
      await outcome(bought({}, { context: { app: {}, protocols: { event_version: 3.2 } } })),
    ).toMatchObject({ plan: "ok" });
    expect(await outcome({ type: "alias", userId: "ada", previousId: "x" })).toMatchObject({
      violations: [{ path: "context.app", message: "is required" }],
    });
  });

  test("an export of the configuration, which imports again", async () => {
    const { call } = await withPlan({ schemas, onViolation: "block", name: "Shop" });
    const document = await call("configuration.export", {});
    const other = await startIngestApp({ source: {} });
    await other.call("configuration.import", document);
    const { sources } = await other.call("configuration.export", {});
    expect(sources).toEqual(document.sources);
    expect(sources?.[0]?.plan).toMatchObject({ name: "Shop", onViolation: "block" });
    // A restart would read it from the file.
    const { items } = await other.call("sources.list", {});
    expect(items[0]?.plan).toMatchObject({ name: "Shop", rules: 2 });
  });
});

describe("a plan is refused", () => {
  const deep = (levels: number): object =>
    levels === 0 ? {} : { properties: { a: deep(levels - 1) } };
  const doubled = Object.fromEntries(
    Array.from({ length: 20 }, (_, n) => [
      `d${n}`,
      { allOf: [{ $ref: `#/definitions/d${n + 1}` }, { $ref: `#/definitions/d${n + 1}` }] },
    ]),
  );
  test.each<[string, unknown, string]>([
    ["without rules", {}, "The plan has no rules"],
    ["with an empty list", { rules: [] }, "The plan has no rules"],
    ["that is no schema", { Bought: 7 }, '"Bought" is not a JSON Schema'],
    ["that has an id alone", { id: "tp_1" }, '"id" is not a JSON Schema'],
    ["that has a name alone", { name: "Shop" }, "The plan has no rules"],
    [
      "with an unknown type",
      { rules: [{ type: "ALIAS", jsonSchema: {} }] },
      'rules[0] has the type "ALIAS"',
    ],
    [
      "without its rules, as the hosted service describes it",
      { data: { trackingPlan: { id: "tp_1", name: "Shop", type: "LIVE" } } },
      "/tracking-plans/{id}/rules",
    ],
    [
      "with its first page alone",
      { data: { rules: [{ key: "A", jsonSchema: {} }], pagination: { next: "Mg==" } } },
      "more pages than the document",
    ],
    [
      "with a track for no event",
      { rules: [{ type: "TRACK", jsonSchema: {} }] },
      "without a `key`",
    ],
    [
      "with two rules for one event",
      {
        rules: [
          { key: "A", jsonSchema: {} },
          { key: "A", jsonSchema: {} },
        ],
      },
      "two rules for A",
    ],
    [
      "with an invalid schema",
      { Bought: { type: "any" } },
      "The rule for Bought is not a valid JSON Schema",
    ],
    [
      "with a remote reference",
      { Bought: { $ref: "https://example.com/s.json" } },
      "is not followed",
    ],
    [
      "with a reference to nothing",
      { Bought: { $ref: "#/definitions/x" } },
      "is not followed. The schema has no such place.",
    ],
    [
      "with a text that is no schema, in the older form",
      { rules: { events: [{ name: "A", rules: {} }], identify: "{" } },
      "`rules.identify` is not a JSON Schema.",
    ],
    [
      "with a circle",
      {
        common: {
          definitions: { a: { properties: { b: { $ref: "#/definitions/a" } } } },
          $ref: "#/definitions/a",
        },
      },
      "go round in a circle",
    ],
    [
      "that doubles at each level",
      { common: { definitions: { ...doubled, d20: {} }, $ref: "#/definitions/d0" } },
      "more than 2000",
    ],
    [
      "with 3,000 properties in a rule",
      {
        Bought: {
          properties: Object.fromEntries(
            Array.from({ length: 3000 }, (_, n) => [`p${n}`, { type: "string" }]),
          ),
        },
      },
      "The rule for Bought: with its `$ref`s it has more than 2000 keywords and values.",
    ],
    [
      "with large definitions that nothing refers to",
      {
        Bought: {
          definitions: { a: { enum: Array.from({ length: 3000 }, (_, n) => n) } },
        },
      },
      "The rule for Bought: its definitions have more than 2000 keywords and values.",
    ],
    [
      "with texts of many more bytes than a plan has",
      { a: JSON.stringify({ $comment: "x".repeat(2_000_000) }) },
      "The plan has more than the 1000000 bytes allowed.",
    ],
    ["that is nested too deep", { common: deep(100) }, "deeper than 64"],
    [
      "that asks too much of each element",
      {
        Bought: {
          properties: { a: { items: { enum: Array.from({ length: 600 }, (_, n) => n) } } },
        },
      },
      "of each element",
    ],
    [
      "with a lookahead",
      { Bought: { properties: { a: { pattern: "^(?!x)" } } } },
      "has a lookaround",
    ],
    [
      "with a wrong pattern",
      { Bought: { properties: { a: { pattern: "(" } } } },
      "is not a regular expression",
    ],
  ])("%s", async (_, document, sentence) => {
    const app = await startIngestApp();
    const input = { name: "Planned", plan: { schemas: document } };
    const { status, body } = await app.api("sources.create", input as never);
    expect(status).toBe(400);
    expect((body as { message: string }).message).toContain(sentence);
  });

  test("with 2 MB", async () => {
    const app = await startIngestApp();
    const description = "x".repeat(10_000);
    const large = Object.fromEntries(
      Array.from({ length: 200 }, (_, n) => [`e${n}`, { description }]),
    );
    await expect(
      app.call("sources.create", { name: "Planned", plan: { schemas: large } }),
    ).rejects.toThrow(/1000000 bytes|too large|body/);
  });
});
