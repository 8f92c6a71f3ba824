/** What ajv finds, as sentences about members of a message. */

import type { AnySchema, ErrorObject } from "ajv";
import { brief, type Json, type JsonObject } from "../../domain/json.ts";
import { memberAt, memberPath } from "../../domain/member-path.ts";
import { targetOf } from "../../domain/schema-size.ts";
import type { PlanViolation } from "../route/decision.ts";

/** Nobody reads more of one message. */
export const maxViolations = 20;

export const maxText = 300;

type Found = {
  /** Null after as many as anybody reads, of what can be removed. */
  violation: PlanViolation | null;
  /** The member to remove, where that fixes the violation. */
  remove: string[] | null;
};

/** What a check found, with the schemas that the errors are of. */
type Checked = { schema: AnySchema; errors?: readonly ErrorObject[] | null };

export function violationsOf(
  { schema, errors: all }: Checked,
  message: JsonObject,
  isRemoving: boolean,
): Found[] {
  const errors = all ?? [];
  const isOfAlternative = alternativesIn(errors, schema as JsonObject);
  const found: Found[] = [];
  const seen = new Set<string>();
  for (const error of errors) {
    const isRead = found.length < maxViolations;
    if (!isRead && (!isRemoving || error.keyword === "required")) continue;
    if (isOfAlternative(error) || error.keyword === "if") continue;
    const at = tokensOf(error.instancePath);
    const params = error.params as Record<string, unknown>;
    const wrongName = error.propertyName ?? params["propertyName"];
    const name =
      wrongName ??
      params["missingProperty"] ??
      params["additionalProperty"] ??
      params["unevaluatedProperty"];
    const tokens = typeof name === "string" ? [...at, name] : at;
    const mends =
      params["missingProperty"] === undefined &&
      (tokens[0] === "properties" || tokens[0] === "traits");
    const remove = mends && tokens.length > 1 ? tokens : null;
    if (!isRead) {
      if (remove !== null) found.push({ violation: null, remove });
      continue;
    }
    const path = memberPath(tokens);
    // What is wrong with the name came before.
    if (error.keyword === "propertyNames" && seen.has(path)) continue;
    const sentence =
      typeof wrongName === "string"
        ? `has a wrong name: it ${sentenceOf(error, wrongName)}`
        : sentenceOf(error, memberAt(message, at));
    const violation = { path, message: sentence.slice(0, maxText) };
    const key = `${path}\n${violation.message}`;
    if (seen.has(key)) continue;
    seen.add(key);
    if (wrongName !== undefined) seen.add(path);
    found.push({ violation, remove });
  }
  return found;
}

/**
 * For `anyOf` and `oneOf`, that no alternative fits says more than what each of them wants. An
 * alternative may be a reference, and then no path leads through it.
 */
function alternativesIn(
  errors: readonly ErrorObject[],
  root: JsonObject,
): (error: ErrorObject) => boolean {
  const schemasAt = new Map<string, Set<Json>>();
  for (const { keyword, instancePath, schema } of errors) {
    if (keyword !== "anyOf" && keyword !== "oneOf") continue;
    const schemas = schemasAt.get(instancePath) ?? new Set();
    schemasAt.set(instancePath, schemas);
    addSchemas(schema as Json, root, schemas);
  }
  return ({ schemaPath, instancePath, parentSchema }) => {
    if (/\/(?:anyOf|oneOf)\/\d/.test(schemaPath)) return true;
    if (schemasAt.size === 0) return false;
    const tokens = instancePath.split("/");
    return tokens.some((_, place) =>
      schemasAt.get(tokens.slice(0, place + 1).join("/"))?.has(parentSchema as Json),
    );
  };
}

/** The schema and those below it, also by reference: references do not go round in a circle. */
function addSchemas(schema: Json, root: JsonObject, to: Set<Json>): void {
  if (typeof schema !== "object" || schema === null || to.has(schema)) return;
  to.add(schema);
  for (const [keyword, below] of Object.entries(schema)) {
    const isReference = keyword === "$ref" && typeof below === "string";
    addSchemas(isReference ? targetOf(root, below) : below, root, to);
  }
}

function sentenceOf({ keyword, params, message }: ErrorObject, value: Json | undefined): string {
  const of = params as Record<string, Json | undefined> &
    Record<"pattern" | "format" | "property", string>;
  switch (keyword) {
    case "required":
      return "is required";
    case "dependencies":
    case "dependentRequired":
      return `is required when ${of.property} is present`;
    case "additionalProperties":
    case "unevaluatedProperties":
      return "is not in the plan";
    case "type":
      return `must be ${(JSON.stringify(of["type"]) ?? "").replaceAll(/["[\]]/g, "").replaceAll(",", " or ")}, but is ${described(value)}`;
    case "enum":
      return `must be one of ${listed(of["allowedValues"])}, but is ${described(value)}`;
    case "const":
      return `must be ${brief(of["allowedValue"])}, but is ${described(value)}`;
    case "pattern":
      return `must match the pattern ${of.pattern}, but is ${described(value)}`;
    case "format":
      return `must have the format ${of.format}, but is ${described(value)}`;
    case "anyOf":
    case "oneOf":
      return `${keyword === "oneOf" && of["passingSchemas"] !== null ? "fits more than one of the alternatives" : "fits none of the alternatives"}: it is ${described(value)}`;
    default:
      return `${message ?? `violates ${keyword}`}, but is ${described(value)}`;
  }
}

function listed(values: Json | undefined): string {
  const all = Array.isArray(values) ? values : [];
  const shown = all.slice(0, 8).map(brief).join(", ");
  return all.length > 8 ? `${shown} and ${all.length - 8} more` : shown;
}

function described(value: Json | undefined): string {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "object") return "an object";
  return `the ${typeof value} ${brief(value)}`;
}

function tokensOf(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}
