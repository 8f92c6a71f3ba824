import type { ErrorObject } from "ajv";
import { expect, test } from "vitest";
import type { Json, JsonObject } from "../../domain/json.ts";
import { violationsOf } from "./violations.ts";

const found = (errors: ErrorObject[], of: JsonObject = message, isRemoving = true) =>
  violationsOf({ schema: {}, errors }, of, isRemoving);
const message = { properties: { total: "12", items: [] }, traits: {}, context: {} };

const removedFor = (error: Pick<ErrorObject, "keyword" | "instancePath" | "params">) =>
  found([{ schemaPath: "#", ...error }]).map(({ remove }) => remove);

test.each<[string, string, Record<string, string>, string[] | null]>([
  ["type", "/properties/total", { type: "number" }, ["properties", "total"]],
  ["type", "/traits/a~1b", { type: "number" }, ["traits", "a/b"]],
  ["additionalProperties", "/properties", { additionalProperty: "extra" }, ["properties", "extra"]],
  ["unevaluatedProperties", "/traits", { unevaluatedProperty: "extra" }, ["traits", "extra"]],
  ["required", "/properties", { missingProperty: "id" }, null],
  ["required", "/traits", { missingProperty: "id" }, null],
  ["type", "/context/locale", { type: "string" }, null],
  ["minProperties", "/properties", {}, null],
])("%s at %s with %j is mended by removing %j", (keyword, instancePath, params, removed) => {
  expect(removedFor({ keyword, instancePath, params })).toEqual([removed]);
});

test("a long sentence ends after 300 characters, and the same one is there once", () => {
  const error = {
    ...{ keyword: "pattern", instancePath: "/properties/total", schemaPath: "#" },
    params: { pattern: "x".repeat(400) },
  };
  const once = found([error, error]);
  expect(once.map(({ violation }) => violation?.message.length)).toEqual([300]);
});

test.each<[keyword: string, params: object, value: Json | undefined, sentence: string]>([
  ["type", { type: ["number", "null"] }, "12", 'must be number or null, but is the string "12"'],
  ["type", { type: "string" }, [1, 2], "must be string, but is an array of 2"],
  ["type", { type: "string" }, { a: 1 }, "must be string, but is an object"],
  ["const", { allowedValue: 1 }, null, "must be 1, but is null"],
  ["const", { allowedValue: 1 }, undefined, "must be 1, but is missing"],
  [
    "enum",
    { allowedValues: [1, 2, 3, 4, 5, 6, 7, 8] },
    true,
    "must be one of 1, 2, 3, 4, 5, 6, 7, 8, but is the boolean true",
  ],
  [
    "enum",
    { allowedValues: [1, 2, 3, 4, 5, 6, 7, 8, 9] },
    0,
    "must be one of 1, 2, 3, 4, 5, 6, 7, 8 and 1 more, but is the number 0",
  ],
  ["format", { format: "uri" }, "x", 'must have the format uri, but is the string "x"'],
  ["anyOf", {}, 1, "fits none of the alternatives: it is the number 1"],
  ["oneOf", { passingSchemas: null }, 1, "fits none of the alternatives: it is the number 1"],
  [
    "oneOf",
    { passingSchemas: [0, 1] },
    1,
    "fits more than one of the alternatives: it is the number 1",
  ],
  ["minItems", {}, [], "violates minItems, but is an array of 0"],
  [
    "const",
    { allowedValue: 0 },
    "x".repeat(58),
    `must be 0, but is the string "${"x".repeat(58)}"`,
  ],
  [
    "const",
    { allowedValue: 0 },
    "x".repeat(59),
    `must be 0, but is the string "${"x".repeat(59)}…`,
  ],
])("%s with %j says that %j", (keyword, params, value, sentence) => {
  const error = { keyword, params, instancePath: "/properties/p", schemaPath: "#" };
  const properties: JsonObject = value === undefined ? {} : { p: value };
  expect(found([error], { properties })).toMatchObject([
    { violation: { path: "properties.p", message: sentence } },
  ]);
});

test("violations are in the order of the checks, without those of single alternatives and of `if`", () => {
  const at = (instancePath: string, keyword: string, schemaPath = "#"): ErrorObject => ({
    ...{ instancePath, keyword, schemaPath, params: { passingSchemas: null } },
  });
  const all = found([
    at("/properties/a", "anyOf", "#/properties/anyOf"),
    at("/properties/a", "minItems", "#/properties/anyOf/0/minItems"),
    at("/properties/a", "minItems", "#/properties/oneOf/12/minItems"),
    at("/properties/b", "if"),
    at("/properties/c", "minItems"),
  ]);
  expect(all.map(({ violation }) => violation?.path)).toEqual(["properties.a", "properties.c"]);
});

test("after twenty violations only members to remove are looked for, and nothing where none is removed", () => {
  const errors = Array.from({ length: 50 }, (_, n): ErrorObject => {
    const [keyword, params] =
      n % 2 === 0
        ? ["required", { missingProperty: `p${n}` }]
        : ["additionalProperties", { additionalProperty: `p${n}` }];
    return { keyword, params, instancePath: "/properties", schemaPath: "#" };
  });
  const removing = found(errors);
  expect(removing.filter(({ violation }) => violation !== null)).toHaveLength(20);
  expect(removing.slice(20).map(({ remove }) => remove)).toEqual(
    Array.from({ length: 15 }, (_, n) => ["properties", `p${21 + 2 * n}`]),
  );
  expect(found(errors, message, false)).toEqual(removing.slice(0, 20));
});
