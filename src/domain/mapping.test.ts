/* oxlint-disable unicorn/no-thenable -- @if has a member "then" */

import fc from "fast-check";
import { expect, test } from "vitest";
import { actionsCore } from "../../test/support/actions-core.ts";
import { MappingError, resolveMapping } from "./mapping.ts";
import { mistakesOfMapping } from "./mapping-check.ts";

const event = {
  type: "track",
  event: "Order Completed",
  messageId: "m_1",
  properties: {
    total: 184.5,
    count: 0,
    paid: true,
    open: false,
    coupon: null,
    empty: "",
    name: "Ada Lovelace",
    braces: "{{event}}",
    json: '{"a":[1,{"b":null}]}',
    bad: "{",
    "first name": "Ada",
    $: "dollar",
    list: ["a", null, "c"],
    products: [
      { sku: "a-1", price: 9.5, tags: ["x"] },
      { sku: "b-2", price: null, more: { deep: [1, [2]] } },
    ],
    nested: { a: { b: { c: "deep" } }, gone: null, none: {} },
  },
  context: { traits: { email: "ada@example.com" } },
};

const ours = (mapping: unknown): unknown => {
  if (mistakesOfMapping(mapping).length > 0) return "refused";
  try {
    return { value: resolveMapping(mapping, structuredClone(event)) };
  } catch (error) {
    if (!(error instanceof MappingError)) throw error;
    return "refused";
  }
};
const theirs = (mapping: unknown): unknown => {
  try {
    return { value: actionsCore.transform(structuredClone(mapping), structuredClone(event)) };
  } catch {
    return "refused";
  }
};

/** Equal as JSON: members in the same order, and what has no spelling in JSON left out. */
function expectSame(mapping: unknown): void {
  const [mine, reference] = [ours(mapping), theirs(mapping)];
  expect(JSON.stringify(mine), JSON.stringify(mapping)).toBe(JSON.stringify(reference));
  expect(mine).toEqual(reference);
}

const path = (text: string) => ({ "@path": text });
const samples: unknown[] = [
  ..."$. $ . $.event $.properties.total $.properties.missing $.properties.products".split(" "),
  ..."$.properties.products[0].sku $.properties.products.1.more.deep[1][0] event".split(" "),
  ..."$.properties.count.x $.properties.coupon.x $.properties.empty.x $.properties.$".split(" "),
  "$.properties['first name']",
  "$.properties.['first name']",
  "properties.",
  ..."$.properties.name.length $.toString $.__proto__ $.properties.products.length ..".split(" "),
]
  .map((text): unknown => path(text))
  .concat([
    { "@path": { "@template": "$.{{type}}" } },
    { "@path": 5 },
    { "@path": ["$.event"] },
    { "@path": "$.event", _metadata: { label: "x" } },
    { "@path": "$.event", other: 1 },
    { "@path": "$.event", "@literal": 1 },
    { "@unknown": 1 },
    { "@constructor": 1 },
    ["plain", { "@path": "$.event" }, { "@unknown": 1 }],
    [{ "@path": "$.event" }, { "@path": "$.missing" }, null, 1],
    ...[
      "{{event}}",
      "{{{event}}}",
      "{{{{event}}}}",
      "{{ event }} and {{properties.total}}",
      "{{properties.braces}}",
      "{{{properties.braces}}}",
      "{{}} {{ }} {{.}}",
      "{{event}",
      "{event}}",
      "{{a}b}} {{event}}",
      "{{{event}}",
      "{{event}}}",
      "{{$.event}}",
      "{{properties.missing}}|{{properties.coupon}}|{{properties.count}}",
      "{{properties.nested}} {{properties.list}} {{properties.products}}",
      "{{properties['first name']}}",
      "}}{{event}}{{",
    ].map((template) => ({ "@template": template })),
    { "@template": { "@path": "$.properties.braces" } },
    { "@template": path("$.properties.total") },
    { "@literal": { "@path": "$.event" } },
    { "@literal": { a: { "@nothing": 1 } } },
    { "@literal": null },
    ...[
      path("$.event"),
      path("$.missing"),
      path("$.properties.coupon"),
      true,
      false,
      "",
      0,
    ].flatMap((value) => [
      { "@if": { exists: value, then: "yes", else: "no" } },
      { "@if": { blank: value, then: "yes", else: "no" } },
      { "@if": { exists: value, blank: path("$.event"), then: "yes" } },
    ]),
    ...["count", "empty", "open", "list", "nested.none", "coupon"].map((name) => ({
      "@if": { blank: path(`$.properties.${name}`), then: path("$.event"), else: "blank" },
    })),
    { "@if": { blank: { "@literal": [] }, then: 1, else: 2 } },
    { "@if": { exists: path("$.event"), else: "no" } },
    { "@if": { exists: path("$.missing"), then: 1, else: 0 } },
    { "@if": { exists: path("$.event"), then: null } },
    { "@if": {} },
    { "@if": "event" },
    { "@if": { exists: { "@bad": 1 } } },
    ...["lower", "upper", "title", 5].flatMap((operator) => [
      { "@case": { operator, value: path("$.event") } },
      { "@case": { operator, value: path("$.properties.total") } },
      { "@case": { operator } },
    ]),
    { "@case": { value: "x" } },
    { "@case": { operator: "upper", value: 5 } },
    { "@case": { operator: "upper", value: "straße" } },
    ...[
      { pattern: "a", replacement: "b" },
      { pattern: "A", replacement: "b", ignorecase: true },
      { pattern: "a", replacement: "b", global: false },
      { pattern: "a" },
      { pattern: ".", replacement: "-" },
      { pattern: "[a-z]*", replacement: "-" },
      { pattern: "A", replacement: "$&$&" },
      { pattern: "a", replacement: "b", pattern2: "b", replacement2: "c" },
      { pattern: "a", replacement: "b", pattern2: "b" },
      { pattern: "a", pattern2: "a pattern that is too long" },
      { pattern: "a pattern that is too long" },
      { pattern: "a", replacement: "a text that is too long" },
      { pattern: "" },
      { pattern: 5 },
      { pattern: "a", replacement: null },
      { pattern: "a", replacement: 5 },
      { pattern: "a", ignorecase: "yes" },
      { pattern: "a", global: null },
      { replacement: "b" },
    ].flatMap((options) => [
      { "@replace": { ...options, value: path("$.properties.name") } },
      { "@replace": { ...options, value: path("$.properties.total") } },
      { "@replace": { ...options, value: path("$.properties.nested") } },
      { "@replace": { ...options, value: "" } },
    ]),
    { "@replace": { pattern: "a" } },
    { "@arrayPath": ["$.properties.products"] },
    { "@arrayPath": ["$.properties.products", {}] },
    { "@arrayPath": ["$.properties.products", { id: path("$.sku"), price: path("$.price") }] },
    { "@arrayPath": ["$.properties.products", { tags: { "@arrayPath": ["$.tags", {}] } }] },
    { "@arrayPath": ["$.properties.products", path("$.sku")] },
    { "@arrayPath": ["$.properties.nested", { a: path("$.a.b.c") }] },
    { "@arrayPath": ["$.properties.list", { self: path("$.") }] },
    { "@arrayPath": ["$.properties.name", { a: path("$.") }] },
    { "@arrayPath": ["$.missing", { a: 1 }] },
    { "@arrayPath": [path("$.properties.products"), { id: path("$.sku") }] },
    { "@arrayPath": [{ "@template": "x" }, { id: 1 }] },
    { "@arrayPath": [[path("$.missing")], { id: 1 }] },
    { "@arrayPath": ["$.properties.products", "shape"] },
    { "@arrayPath": ["$.properties.products", { bad: { "@bad": 1 } }] },
    { "@arrayPath": "$.properties.products" },
    { "@arrayPath": [] },
    {
      "@arrayPath": [
        "$.properties.list",
        { t: { "@transform": { apply: { a: 1 }, mapping: { b: path("$.a") } } } },
      ],
    },
    { "@flatten": { separator: ".", value: path("$.properties") } },
    { "@flatten": { separator: "_", value: path("$.properties"), omitArrays: true } },
    { "@flatten": { separator: ".", value: path("$.event") } },
    { "@flatten": { separator: ".", value: path("$.missing") } },
    { "@flatten": { separator: ".", value: path("$.properties.list") } },
    { "@flatten": { separator: "", value: path("$.properties") } },
    { "@flatten": { value: path("$.properties") } },
    { "@flatten": { separator: 5, value: 1 } },
    { "@flatten": { separator: "." } },
    { "@flatten": { separator: ".", value: { a: { b: 1 }, "a.b": 2, "": { c: 3 } } } },
    ...["encode", "decode", "Encode", "other"].flatMap((mode) => [
      ..."json bad products coupon missing count braces".split(" ").map((name) => ({
        "@json": { mode, value: path(`$.properties.${name}`) },
      })),
      { "@json": { mode, value: "" } },
      { "@json": { mode } },
    ]),
    { "@json": { value: 1 } },
    ...["left", "right", "Left", "up"].map((direction) => ({
      "@merge": { direction, objects: [path("$.properties.nested"), { a: 1, z: 2 }, { gone: 5 }] },
    })),
    { "@merge": { direction: "right", objects: [path("$.event"), path("$.missing"), { a: 1 }] } },
    { "@merge": { direction: "right", objects: [path("$.properties.list"), [1]] } },
    { "@merge": { direction: "right", objects: "x" } },
    { "@merge": { objects: [{}] } },
    { "@merge": { direction: "right" } },
    { "@merge": { direction: "right", objects: [] } },
    { "@merge": { direction: "right", objects: [{ a: { "@bad": 1 } }] } },
    {
      "@transform": {
        apply: { a: path("$.event") },
        mapping: { b: path("$.a"), c: path("$.event") },
      },
    },
    { "@transform": { apply: path("$.properties"), mapping: { b: path("$.total") } } },
    { "@transform": { apply: path("$.properties.name"), mapping: { b: path("$.length") } } },
    { "@transform": { apply: { a: 1 }, mapping: path("$.a") } },
    { "@transform": { apply: { a: 1 } } },
    { "@transform": { mapping: {} } },
    { "@transform": { apply: "x", mapping: {} } },
    {
      "@transform": {
        apply: { a: path("$.missing") },
        mapping: { b: { "@if": { exists: path("$.a"), then: 1, else: 2 } } },
      },
    },
    { "@excludeWhenNull": path("$.properties.coupon") },
    { "@excludeWhenNull": path("$.properties.missing") },
    { "@excludeWhenNull": path("$.properties") },
    { "@excludeWhenNull": { a: null, b: { c: null, d: [null, { e: null }] } } },
    { "@excludeWhenNull": [null, path("$.properties.coupon")] },
    { a: null, b: { c: path("$.missing"), d: path("$.properties.coupon") }, e: [] },
    JSON.parse('{"__proto__": {"a": 1}, "b": {"@path": "$.a"}}'),
    {
      "@flatten": {
        separator: ".",
        value: JSON.parse('{"__proto__": {"__proto__": 1}, "b": 2}') as unknown,
      },
    },
    "text",
    null,
    5,
  ]);

test.each(samples.map((sample) => [JSON.stringify(sample), sample]))(
  "%s is as there",
  (_, sample) => {
    expectSame({ data: sample });
    expectSame({ list: [sample] });
  },
);

test("a mapping that is a directive as a whole is as there", () => {
  for (const sample of samples) {
    if (typeof sample === "object" && sample !== null && !Array.isArray(sample)) expectSame(sample);
  }
});

const paths = fc
  .constantFrom(
    ..."$. $.event $.properties $.properties.total $.properties.coupon $.properties.name".split(
      " ",
    ),
    ..."$.missing.x $.properties.products $.properties.products[1].sku $.sku $.a $.properties.json".split(
      " ",
    ),
    ..."$.properties.list $.properties.empty $.properties.count $.properties.nested.a".split(" "),
  )
  .map(path);
const { mapping: mappings } = fc.letrec<{ mapping: unknown; plain: unknown; directive: unknown }>(
  (tie) => ({
    mapping: fc.oneof({ maxDepth: 4 }, tie("plain"), paths, tie("directive")),
    plain: fc.oneof(
      fc.constantFrom<unknown>(null, true, 0, 5.5, "", "text", {}, []),
      fc.dictionary(fc.constantFrom("a", "b", "sku", "@path", "1"), tie("mapping"), { maxKeys: 3 }),
      fc.array(tie("mapping"), { maxLength: 3 }),
    ),
    directive: fc.oneof(
      fc
        .array(
          fc.constantFrom(
            "{{",
            "}}",
            "{",
            "}",
            "event",
            " properties.braces ",
            "properties.nested.a.b.c",
            "x",
          ),
          { maxLength: 8 },
        )
        .map((parts) => ({ "@template": parts.join("") })),
      tie("mapping").map((value) => ({ "@literal": value })),
      tie("mapping").map((value) => ({ "@excludeWhenNull": value })),
      fc
        .record(
          {
            exists: tie("mapping"),
            blank: tie("mapping"),
            then: tie("mapping"),
            else: tie("mapping"),
          },
          { requiredKeys: [] },
        )
        .map((options) => ({ "@if": options })),
      fc
        .record(
          { operator: fc.constantFrom("lower", "upper", "x"), value: tie("mapping") },
          { requiredKeys: [] },
        )
        .map((options) => ({ "@case": options })),
      fc
        .record(
          {
            pattern: fc.constantFrom("a", "A", ".", "\\", "", "deep"),
            replacement: fc.constantFrom<unknown>("b", "$&", "$1", "", null, 5),
            pattern2: fc.constantFrom("b", "", "d"),
            replacement2: fc.constantFrom<unknown>("c", null),
            ignorecase: fc.boolean(),
            global: fc.boolean(),
            value: tie("mapping"),
          },
          { requiredKeys: ["value"] },
        )
        .map((options) => ({ "@replace": options })),
      fc.array(tie("mapping"), { maxLength: 3 }).map((options) => ({ "@arrayPath": options })),
      fc
        .record(
          {
            separator: fc.constantFrom(".", "_", ""),
            value: tie("mapping"),
            omitArrays: fc.boolean(),
          },
          { requiredKeys: ["value"] },
        )
        .map((options) => ({ "@flatten": options })),
      fc
        .record(
          { mode: fc.constantFrom("encode", "decode", "x"), value: tie("mapping") },
          { requiredKeys: ["value"] },
        )
        .map((options) => ({ "@json": options })),
      fc
        .record({
          direction: fc.constantFrom("left", "right", "x"),
          objects: fc.array(tie("mapping"), { maxLength: 3 }),
        })
        .map((options) => ({ "@merge": options })),
      fc
        .record({ apply: tie("mapping"), mapping: tie("mapping") })
        .map((options) => ({ "@transform": options })),
    ),
  }),
);

test("drawn mappings are as there", () => {
  fc.assert(
    fc.property(mappings, (mapping) => expectSame({ data: mapping })),
    { numRuns: 5000 },
  );
});

test("a mistake has its place", () => {
  expect(
    mistakesOfMapping({ data: { total: { "@path": 5 }, id: { "@if": { then: { "@bad": 1 } } } } }),
  ).toEqual([
    { place: "data.total.@path", message: "This must be a text or a directive, not a number." },
    { place: "data.id.@if.then", message: "@bad is not a directive." },
  ]);
  expect(mistakesOfMapping({ "@merge": { direction: "up", objects: [5] } })).toEqual([
    { place: "@merge.direction", message: 'This must be "left" or "right".' },
  ]);
  expect(mistakesOfMapping({ a: { "@path": "x", "@literal": 1 } })[0]).toEqual({
    place: "a",
    message: "Nothing else can stand beside @path: @literal.",
  });
});

test("a long text full of braces takes no longer than another", () => {
  const braces = (text: string) => resolveMapping({ "@template": text }, {});
  expect(braces("{".repeat(400_000))).toHaveLength(400_000);
  expect(braces("{{}".repeat(130_000))).toHaveLength(390_000);
  expect(braces("}".repeat(400_000))).toHaveLength(400_000);
});

test("a mapping that would make more than 500,000 characters of an event stops there", () => {
  let reads = 0;
  const element = Object.defineProperty({}, "a", { enumerable: true, get: () => (reads += 1) });
  const ofEach = (shape: object) => ({ "@arrayPath": ["$.of", shape] });
  const event = (elements: number) => ({ of: Array.from({ length: elements }, () => element) });
  const members = (count: number, value: object) =>
    Object.fromEntries(Array.from({ length: count }, (_, nth) => [`k${nth}`, value]));
  const paths = members(300, { "@path": "$.a" });
  expect(resolveMapping(ofEach(paths), event(50))).toHaveLength(50);
  expect(() => resolveMapping(ofEach(paths), event(3000))).toThrow(
    "more than 500,000 characters of this message",
  );
  expect(reads).toBeLessThan(62_500);

  const wide = { of: [{}], all: "x".repeat(10_000) };
  const costly: object[] = [
    members(60, { "@path": "$.all" }),
    { "@template": "{{all}}".repeat(60) },
    members(60, { "@json": { mode: "encode", value: { "@path": "$." } } }),
    members(60, { "@json": { mode: "decode", value: { "@path": "$.all" } } }),
    members(6, {
      "@replace": { pattern: "x", replacement: "y".repeat(10), value: { "@path": "$.all" } },
    }),
  ];
  for (const mapping of costly)
    expect(() => resolveMapping(mapping, wide)).toThrow("more than 500,000 characters");
  const empty = { of: Array.from({ length: 5000 }, () => ({})) };
  const literal = { "@literal": members(20, {}) };
  for (const shape of [
    { "@merge": { direction: "left", objects: [literal, literal] } },
    { a: { "@template": "{{b}}".repeat(30) } },
    { "@flatten": { separator: "_".repeat(60), value: { "@literal": { a: { b: { c: 1 } } } } } },
    { "@excludeWhenNull": literal },
  ])
    expect(() => resolveMapping(ofEach(shape), empty)).toThrow("more than 62,500 values");
  // The next event has all of it again.
  expect(resolveMapping({ "@path": "$.all" }, wide)).toHaveLength(10_000);
});

test("a replacement that puts in the whole value again and again is not even begun", () => {
  const options = { pattern: "A", replacement: "$`$'$&", ignorecase: true, value: path("$.t") };
  const made = (t: string) => resolveMapping({ a: { "@replace": options } }, { t });
  expect(made("bab")).toEqual({ a: "bbbab" });
  expect(() => made("a".repeat(32_000))).toThrow("more than 500,000 characters");
  expect(() => made("a".repeat(600))).toThrow("more than 500,000 characters");
});
