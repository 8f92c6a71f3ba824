import type { ErrorObject } from "ajv";
import { expect, test } from "vitest";
import { violationsOf } from "./violations.ts";

const message = { properties: { total: "12", items: [] }, traits: {}, context: {} };

const removedFor = (error: Pick<ErrorObject, "keyword" | "instancePath" | "params">) =>
  violationsOf([{ schemaPath: "#", ...error }], message).map(({ remove }) => remove);

test.each<[string, string, Record<string, string>, string[] | null]>([
  ["type", "/properties/total", { type: "number" }, ["properties", "total"]],
  ["type", "/traits/a~1b", { type: "number" }, ["traits", "a/b"]],
  ["additionalProperties", "/properties", { additionalProperty: "extra" }, ["properties", "extra"]],
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
  const found = violationsOf([error, error], message);
  expect(found.map(({ violation }) => violation.message.length)).toEqual([300]);
});
