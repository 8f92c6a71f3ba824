/**
 * Compiles the rules of a tracking plan with ajv. Whatever a schema or a message holds, compiling
 * and checking have a bound: references stay within the schema, patterns are matched in linear
 * time, and a schema's size is limited (`domain/schema-size.ts`).
 */

import { Ajv, str, type Options, type ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { fullFormats } from "ajv-formats/dist/formats.js";
import { brief, isObject, type Json, type JsonObject } from "../../domain/json.ts";
import { linearPattern } from "../../domain/linear-pattern.ts";
import { sizeOfSchema, type SchemaSize, membersByName } from "../../domain/schema-size.ts";
import { ruleName, type PlanRule } from "../../domain/tracking-plan.ts";

/** Steps of patterns in one message: some 30 ms. */
const maxSteps = 3_000_000;

/** The patterns of a check are skipped, because its texts are too long for them. */
class TooCostly extends Error {}

let steps = 0;

/** Null when its patterns were given up. */
export function checked(check: () => boolean): boolean | null {
  steps = 0;
  known = new WeakMap();
  try {
    return check();
  } catch (error) {
    if (error instanceof TooCostly) return null;
    throw error;
  }
}

/** Throws a sentence for what is no pattern, or none that can be matched. */
function regExp(source: string) {
  const pattern = linearPattern(source);
  if (typeof pattern === "string") throw new Error(pattern);
  return {
    test(text: string): boolean {
      steps += text.length * pattern.size;
      if (steps > maxSteps) throw new TooCostly();
      return pattern.test(text);
    },
    /** Ajv knows patterns by this. */
    toString: () => source,
  };
}
regExp.code = "linearPattern";

const publicAddress =
  "(?!(?:10|127)(?:\\.\\d{1,3}){3})(?!(?:169\\.254|192\\.168)(?:\\.\\d{1,3}){2})" +
  "(?!172\\.(?:1[6-9]|2\\d|3[01])(?:\\.\\d{1,3}){2})(?:[1-9]\\d?|1\\d\\d|2[01]\\d|22[0-3])" +
  "(?:\\.(?:1?\\d{1,2}|2[0-4]\\d|25[0-5])){2}\\.(?:[1-9]\\d?|1\\d\\d|2[0-4]\\d|25[0-4])";
const letters = "a-z\\u{a1}-\\u{ffff}";
const hostName = `(?:[${letters}\\d]+(?:-[${letters}\\d]+)*\\.)+[${letters}]{2,}`;

/** As ajv-formats has it, whose pattern takes seconds for thousands of colons. */
const url = new RegExp(
  `^(?:https?|ftp)://(?:[^\\s/]+@)?(?:${publicAddress}|${hostName})(?::\\d{2,5})?(?:/\\S*)?$`,
  "iu",
);

const options: Options = {
  strict: false,
  logger: false,
  addUsedSchema: false,
  validateFormats: true,
  formats: { ...fullFormats, url },
  code: {
    // Its time grows with the square of a schema's size.
    optimize: false,
    regExp: regExp as unknown as NonNullable<NonNullable<Options["code"]>["regExp"]>,
  },
};

/** Up to 2019-09, `items` may be a list. */
const drafts = { draft7: Ajv, draft2019: Ajv2019, draft2020: Ajv2020 };
type Draft = keyof typeof drafts;

/** They tell whether something is a valid schema, and keep none of them. */
const validators: Partial<Record<Draft, Ajv>> = {};

function throwIfNoSchema(draft: Draft, schema: JsonObject): void {
  const validator = (validators[draft] ??= new drafts[draft]({ ...options, verbose: true }));
  if (validator.validateSchema(schema) === true) return;
  const [first] = validator.errors ?? [];
  if (first === undefined) throw new Error("it does not follow the rules of one.");
  const { keyword, instancePath, data, params, message } = first;
  // Plans in plain form have no schema of the whole message, and the path begins below it.
  const [, member, below] = /^\/properties\/(properties|traits)(\/.*)$/.exec(instancePath) ?? [];
  const where = member === undefined ? "" : `in the schema of its ${member}, `;
  const why = keyword === "enum" ? `is not one of ${params["allowedValues"].join(", ")}` : message;
  throw new Error(`${where}${brief(data as Json)} at ${below ?? (instancePath || "/")} ${why}.`);
}

/** Of one rule: an Ajv keeps what it compiles for good, and is released with its rule. */
function createCompiler(draft: Draft, schema: JsonObject, more: Options = {}): Ajv {
  // A message without a member `constructor` has none; to look at its own members alone takes time.
  const ownProperties = namesInherited(schema);
  const given = { ...options, ownProperties, meta: false, validateSchema: false, ...more };
  return withExactMultiples(withUnique(new drafts[draft](given)));
}

const inherited = Object.getOwnPropertyNames(Object.prototype).map((name) => JSON.stringify(name));

function namesInherited(schema: JsonObject): boolean {
  const text = JSON.stringify(schema);
  return inherited.some((name) => text.includes(name));
}

/** Ajv compares each element with each other one, which takes a second for ten thousand. */
function withUnique(ajv: Ajv): Ajv {
  ajv.removeKeyword("uniqueItems");
  ajv.addKeyword({
    keyword: "uniqueItems",
    type: "array",
    schemaType: "boolean",
    error: { message: "must not have two equal elements" },
    validate: (wanted: boolean, elements: Json[]) => !wanted || isUnique(elements),
  });
  return ajv;
}

/** Of one check: a rule may ask for it hundreds of times. */
let known = new WeakMap<Json[], boolean>();

function isUnique(elements: Json[]): boolean {
  let unique = known.get(elements);
  if (unique === undefined) {
    unique = new Set(elements.map(sorted)).size === elements.length;
    known.set(elements, unique);
  }
  return unique;
}

/** The same text for equal values. */
function sorted(value: Json): string {
  return JSON.stringify(value, (_, each: Json) =>
    isObject(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}

function withExactMultiples(ajv: Ajv): Ajv {
  ajv.removeKeyword("multipleOf");
  ajv.addKeyword({
    keyword: "multipleOf",
    type: "number",
    schemaType: "number",
    error: { message: ({ schemaCode }) => str`must be multiple of ${schemaCode}` },
    validate: (factor: number, value: number) => isMultiple(value, factor),
  });
  return ajv;
}

/** 19.99 is a multiple of 0.01, although their quotient in binary is not a whole number. */
function isMultiple(value: number, factor: number): boolean {
  if (Number.isInteger(value) && Number.isInteger(factor)) return value % factor === 0;
  const quotient = value / factor;
  const off = Math.abs(Math.round(quotient) - quotient);
  return !(off > Math.max(1e-9, Math.abs(quotient) * 2 ** -51));
}

/** Members of messages that a rule names; null when its schema does not say it plainly. */
export type Planned = { names: ReadonlySet<string>; fits: (name: string) => boolean } | null;

export type CompiledRule = PlanRule & {
  size: SchemaSize;
  planned: { properties: Planned; traits: Planned };
  /** Stops at the first violation. */
  first: ValidateFunction;
  /** Finds all of them. */
  all(): ValidateFunction;
};

/** Returns a sentence when the rule cannot be checked. */
export function compileRule(rule: PlanRule): CompiledRule | string {
  const size = sizeOfSchema(rule.schema);
  if (typeof size === "string") return `The rule for ${ruleName(rule)}: ${size}`;
  const named = JSON.stringify(rule.schema["$schema"] ?? "");
  const draft = named.includes("2020-12")
    ? "draft2020"
    : named.includes("2019-09")
      ? "draft2019"
      : "draft7";
  const schema = cleaned(rule.schema);
  try {
    throwIfNoSchema(draft, schema);
    const compiled = createCompiler(draft, schema, { verbose: true }).compile(schema);
    let complete: ValidateFunction | null = null;
    return {
      ...rule,
      size,
      planned: {
        properties: plannedBy("properties", schema),
        traits: plannedBy("traits", schema),
      },
      first: compiled,
      all: () =>
        (complete ??= createCompiler(draft, schema, { allErrors: true, verbose: true }).compile(
          schema,
        )),
    };
  } catch (error) {
    return `The rule for ${ruleName(rule)} is not a valid JSON Schema: ${(error as Error).message}`;
  }
}

const values: ReadonlySet<string> = new Set(["enum", "const", "default", "examples"]);
/**
 * Exports have ids that identify nothing, such as `/properties/total`; references do not use them.
 */
const dropped: ReadonlySet<string> = new Set(["$schema", "$id", "id", "$anchor", "$dynamicAnchor"]);

/** Ajv refuses the keyword in all other schemas, where it says nothing. */
function isNullable({ nullable, type }: JsonObject): boolean {
  return nullable === true && type !== undefined;
}

/**
 * Without what names schemas, without keywords that are null, as exporters write what is not set,
 * and with `exclusiveMinimum: true` of the oldest draft as a number.
 */
function cleaned(schema: JsonObject): JsonObject {
  const entries = Object.entries(schema).flatMap(([keyword, value]): [string, Json][] => {
    if (dropped.has(keyword) && typeof value === "string") return [];
    for (const side of ["Minimum", "Maximum"])
      if (keyword === `exclusive${side}` && typeof value === "boolean") {
        const limit = schema[side.toLowerCase()];
        return value && limit !== undefined ? [[keyword, limit]] : [];
      }
    if (values.has(keyword)) return [[keyword, value]];
    // Without anchors it is one; Ajv takes it for the schema that it stands in.
    if (keyword === "$dynamicRef" && value !== null) return [["$ref", value]];
    if (value === null || (keyword === "nullable" && !isNullable(schema))) return [];
    if (membersByName.has(keyword) && isObject(value))
      return [
        [
          keyword,
          Object.fromEntries(Object.entries(value).map(([name, each]) => [name, below(each)])),
        ],
      ];
    return [[keyword, below(value)]];
  });
  return Object.fromEntries(entries);
}

function below(value: Json): Json {
  if (Array.isArray(value)) return value.map(below);
  return isObject(value) ? cleaned(value) : value;
}

const namesOthers = ["$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"];

/** Other schemas may name members of it. Dependencies are schemas or lists of names. */
const isOpen = (schema: JsonObject): boolean =>
  namesOthers.some((keyword) => keyword in schema) ||
  Object.values(schema["dependencies"] ?? {}).some(isObject);

function plannedBy(name: "properties" | "traits", schema: JsonObject): Planned {
  if (isOpen(schema)) return null;
  const members = isObject(schema["properties"]) ? schema["properties"] : {};
  const member = members[name] ?? {};
  if (!isObject(member) || isOpen(member)) return null;
  const { properties, patternProperties } = member;
  const patterns = isObject(patternProperties) ? Object.keys(patternProperties).map(regExp) : [];
  return {
    names: new Set(isObject(properties) ? Object.keys(properties) : []),
    fits: (name) => patterns.some((pattern) => pattern.test(name)),
  };
}
