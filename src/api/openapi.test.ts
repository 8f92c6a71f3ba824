import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import type { Call } from "../contract/call.ts";
import { calls } from "../contract/contract.ts";
import { rule } from "../contract/rules.ts";
import { rules } from "../domain/rules.fixture.ts";
import { openApiDocument } from "./openapi.ts";

type Operation = {
  operationId: string;
  tags: string[];
  parameters: { name: string; in: string; required: boolean }[];
  requestBody?: { required: boolean };
};
const document = JSON.parse(JSON.stringify(openApiDocument("1.2.3"))) as {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Record<string, unknown>> };
};

function referencesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(referencesIn);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) =>
    key === "$ref" ? [String(member)] : referencesIn(member),
  );
}

test("each call is under the name of its area", () => {
  expect(document.paths["/api/deliveries/{id}/retry"]?.["post"]?.tags).toEqual(["deliveries"]);
  expect(document.paths["/api/events"]?.["get"]?.tags).toEqual(["events"]);
});

test("each call is in the document", () => {
  for (const call of Object.values<Call>(calls)) {
    expect(document.paths[call.path]?.[call.method.toLowerCase()]?.operationId, call.name).toBe(
      call.name,
    );
  }
  expect(document.paths["/api/events"]?.["get"]?.operationId).toBe("events.stream");
});

test("each reference leads to a component", () => {
  const references = new Set(referencesIn(document));
  expect(references.size).toBeGreaterThan(30);
  for (const reference of references) {
    expect(document.components.schemas, reference).toHaveProperty([
      reference.replace("#/components/schemas/", ""),
    ]);
  }
  expect(JSON.stringify(document)).not.toContain("$defs");
});

test("what may be left out is not required", () => {
  const list = document.paths["/api/messages"]?.["get"];
  expect(list?.parameters.filter((parameter) => parameter.required)).toEqual([]);
  expect(document.paths["/api/messages/{id}"]?.["get"]?.parameters).toMatchObject([
    { name: "id", in: "path", required: true },
  ]);
  const report = document.paths[calls["checks.report"].path]?.["get"];
  expect(report?.parameters).toContainEqual(
    expect.objectContaining({ name: "as", in: "query", required: true }),
  );
  expect(document.paths["/api/settle"]?.["post"]?.requestBody?.required).toBe(false);
  expect(document.paths["/api/sources"]?.["post"]?.requestBody?.required).toBe(true);
});

test("a parameter has its description, and numbers have no bounds but their own", () => {
  const [cursor] =
    document.paths["/api/messages"]?.["get"]?.parameters.filter(({ name }) => name === "limit") ??
    [];
  expect(cursor).toMatchObject({ schema: { type: "integer", minimum: 1, maximum: 1000 } });
  expect(JSON.stringify(document)).not.toContain(String(Number.MAX_SAFE_INTEGER));
});

test("inputs are closed and answers are open", () => {
  expect(document.components.schemas["SourceDraft"]).toHaveProperty("additionalProperties", false);
  expect(document.components.schemas["Source"]).not.toHaveProperty("additionalProperties");
});

test("who checks a rule by the document finds what the contract finds", () => {
  const schemas = JSON.parse(
    JSON.stringify(document.components.schemas).replaceAll("#/components/schemas/", "#/$defs/"),
  ) as object;
  const documented = z.fromJSONSchema({ $ref: "#/$defs/Rule", $defs: schemas } as Parameters<
    typeof z.fromJSONSchema
  >[0]);
  const wrong = [
    5,
    {},
    { all: [] },
    { trait: "plan" },
    { trait: "plan", op: "is" },
    { event: "Bought", within: 7 },
    { not: [] },
  ];
  for (const one of wrong)
    expect(documented.safeParse(one).success, JSON.stringify(one)).toBe(false);
  fc.assert(
    fc.property(rules, fc.constantFrom(undefined, "event", "op", "extra"), (given, spoilt) => {
      const one = spoilt === undefined ? given : { ...given, [spoilt]: 5 };
      expect(documented.safeParse(one).success).toBe(rule.safeParse(one).success);
    }),
  );
  expect(document.components.schemas["AudienceDraft"]).toHaveProperty(["properties", "rule"], {
    $ref: "#/components/schemas/Rule",
  });
});
