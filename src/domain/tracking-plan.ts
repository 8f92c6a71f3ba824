/**
 * A tracking plan: what messages of a source should look like, as JSON Schemas. Read from what the
 * hosted service exports, in its newer and its older form, and from plain schemas by event. All
 * become the rules of the newer form, whose schemas describe whole messages.
 */

import { brief, isObject, type Json, type JsonObject } from "./json.ts";
import { maxSchemaDepth, sizeOfSchema } from "./schema-size.ts";
import type { PlanSettings } from "./configuration.ts";

export const planRuleTypes = ["track", "identify", "group", "page", "screen", "common"] as const;
type PlanRuleType = (typeof planRuleTypes)[number];

export type PlanRule = {
  type: PlanRuleType;
  /** The event of a track, the name of a page or screen; null for all messages of the type. */
  key: string | null;
  version: number;
  schema: JsonObject;
};

/** One rule is for all messages of these types, whatever `key` it has. */
const withoutKey: ReadonlySet<PlanRuleType> = new Set(["identify", "group", "common"]);

type TrackingPlan = { name: string | null; rules: PlanRule[] };

/** The hosted service allows all of it, until its user chooses otherwise. */
export const defaultPlanSettings: PlanSettings = {
  onViolation: "record",
  unplannedEvents: "allow",
  unplannedProperties: "allow",
};

/** A plan of forty events has a hundred of these; the whole of it is one call of the control API. */
const maxRules = 1000;
const maxPlanBytes = 1_000_000;
const tooLarge = `The plan has more than the ${maxPlanBytes} bytes allowed.`;

/** Returns a sentence when it is no plan. */
export function readTrackingPlan(document: Json): TrackingPlan | string {
  // Before the schemas that are texts are parsed: as texts they are longer.
  if (JSON.stringify(document).length > 2 * maxPlanBytes) return tooLarge;
  const outer = unwrapped(document);
  const rules = Array.isArray(outer) ? rulesOfPages(outer) : outer["rules"];
  const partial = partOfPlan(Array.isArray(outer) ? outer.at(-1) : outer, rules);
  if (partial !== null) return partial;
  const found = Array.isArray(rules)
    ? listedRules(rules)
    : isObject(rules)
      ? olderRules(rules)
      : plainRules(outer as JsonObject);
  if (typeof found === "string") return found;
  if (found.length === 0)
    return "The plan has no rules. Give a JSON Schema for at least one event, for identify or for group.";
  if (found.length > maxRules)
    return `The plan has ${found.length} rules, more than the ${maxRules} allowed.`;
  const name = Array.isArray(outer) ? null : (outer["name"] ?? outer["display_name"] ?? null);
  const plan = { name: typeof name === "string" ? name.slice(0, 200) : null, rules: found };
  if (JSON.stringify(plan).length > maxPlanBytes) return tooLarge;
  return wrongRule(found) ?? plan;
}

/** `Order Completed`, `identify`, `page Pricing`, `all messages`. */
export function ruleName({
  type,
  key,
  version,
}: Pick<PlanRule, "type" | "key" | "version">): string {
  const name =
    type === "track"
      ? (key ?? "track")
      : type === "common"
        ? "all messages"
        : key === null
          ? type
          : `${type} ${key}`;
  return version === 1 ? name : `${name} (version ${version})`;
}

/** Answers of the hosted API are wrapped in `data`, and a plan in `trackingPlan`. */
function unwrapped(document: Json): JsonObject | Json[] {
  if (Array.isArray(document)) return document;
  if (!isObject(document)) return [];
  const { data, trackingPlan } = document;
  const inner = isObject(data) && Object.keys(document).length === 1 ? data : trackingPlan;
  return isObject(inner) && (inner === data || Object.keys(document).length === 1)
    ? unwrapped(inner)
    : document;
}

/** The hosted API answers a long plan in pages. */
function rulesOfPages(list: readonly Json[]): Json[] {
  return list.flatMap((entry) => {
    const page = unwrapped(entry);
    const rules = Array.isArray(page) ? undefined : page["rules"];
    return Array.isArray(rules) ? rules : [entry];
  });
}

/** What the hosted API says of a plan without its rules, or without the last ones. */
function partOfPlan(last: Json | undefined, rules: Json | undefined): string | null {
  const page = unwrapped(last ?? null);
  if (Array.isArray(page)) return null;
  const { pagination, id, name } = page;
  if (rules === undefined && typeof id === "string" && typeof name === "string")
    return "The document describes a plan, and its rules are not in it. The hosted service lists them at `/tracking-plans/{id}/rules`.";
  if (isObject(pagination) && typeof pagination["next"] === "string" && pagination["next"] !== "")
    return 'The plan has more pages than the document. Give a list of all of them: `[{"data": {"rules": […]}}, …]`.';
  return null;
}

/** `[{type: "TRACK", key: "Order Completed", version: 1, jsonSchema: {…}}]` */
function listedRules(list: readonly Json[]): PlanRule[] | string {
  const rules: PlanRule[] = [];
  for (const [place, entry] of list.entries()) {
    const where = `rules[${place}]`;
    if (!isObject(entry))
      return `${where} is not an object with \`type\`, \`key\` and \`jsonSchema\`.`;
    const given = entry["type"] ?? "track";
    const type = typeof given === "string" ? given.toLowerCase() : "";
    if (!isRuleType(type))
      return `${where} has the type ${brief(entry["type"])}. The types are ${planRuleTypes.join(", ").toUpperCase()}.`;
    const schema = schemaIn(entry["jsonSchema"] ?? entry["json_schema"] ?? entry["schema"]);
    if (schema === null) return `${where} has no \`jsonSchema\` that is an object.`;
    const key = entry["key"] ?? null;
    if (key !== null && typeof key !== "string") return `${where}: \`key\` is not a text.`;
    if (type === "track" && (key === null || key === ""))
      return `${where} is a TRACK without a \`key\`, the name of its event.`;
    rules.push({
      type,
      key: key === "" || withoutKey.has(type) ? null : key,
      version: versionOf(entry["version"]),
      schema,
    });
  }
  return rules;
}

/** `{events: [{name, version, rules: {…}}], identify: {…}, group: {…}, global: {…}}` */
function olderRules(of: JsonObject): PlanRule[] | string {
  const rules: PlanRule[] = [];
  const events = of["events"] ?? [];
  if (!Array.isArray(events)) return "`rules.events` is not a list.";
  for (const [place, entry] of events.entries()) {
    const where = `rules.events[${place}]`;
    if (!isObject(entry) || typeof entry["name"] !== "string" || entry["name"] === "")
      return `${where} has no \`name\`, the event.`;
    const schema = schemaIn(entry["rules"] ?? {});
    if (schema === null) return `${where}: \`rules\` is not a JSON Schema.`;
    rules.push({ type: "track", key: entry["name"], version: versionOf(entry["version"]), schema });
  }
  for (const [name, type] of [
    ["identify", "identify"],
    ["group", "group"],
    ["global", "common"],
  ] as const) {
    const schema = schemaIn(of[name] ?? {});
    if (schema === null) return `\`rules.${name}\` is not a JSON Schema.`;
    // The export has an empty object for each that is not there.
    if (Object.keys(schema).length === 0) continue;
    rules.push({ type, key: null, version: 1, schema });
  }
  return rules;
}

/**
 * `{"Order Completed": {…}, identify: {…}}` or `{events: {"Order Completed": {…}}, identify: {…}}`:
 * schemas of properties and traits.
 */
function plainRules(of: JsonObject): PlanRule[] | string {
  const isSorted = isObject(of["events"]) && !isSchema(of["events"]);
  const rules: PlanRule[] = [];
  const add = (
    type: PlanRuleType,
    key: string | null,
    value: Json,
    where: string,
  ): string | null => {
    const schema = schemaIn(value);
    if (schema === null)
      return `${where} is not a JSON Schema: it is neither an object nor JSON text of one.`;
    const member = type === "identify" || type === "group" ? "traits" : "properties";
    const whole = type === "common" ? schema : within(member, schema);
    rules.push({ type, key, version: 1, schema: whole });
    return null;
  };
  for (const [name, value] of Object.entries(of)) {
    if (name === "name" || name === "$schema" || name === "version" || name === "description") {
      if (!isObject(value)) continue;
    }
    let wrong: string | null = null;
    if (isSorted && name === "events") {
      for (const [event, schema] of Object.entries(value as JsonObject))
        wrong ??= add("track", event, schema, `events[${brief(event)}]`);
    } else if (isRuleType(name) && name !== "track") wrong = add(name, null, value, name);
    else if (isSorted)
      wrong = `${brief(name)} is unknown beside \`events\`. Known are identify, group, page, screen and common.`;
    else wrong = add("track", name, value, brief(name));
    if (wrong !== null) return wrong;
  }
  return rules;
}

/** A schema of a message from one of its properties or traits; local references stay local. */
function within(member: "properties" | "traits", schema: JsonObject): JsonObject {
  const { definitions, $defs, $schema, ...rest } = referringTo(member, schema, 0) as JsonObject;
  return {
    type: "object",
    properties: { [member]: rest },
    ...(definitions === undefined ? {} : { definitions }),
    ...($defs === undefined ? {} : { $defs }),
    ...($schema === undefined ? {} : { $schema }),
  };
}

/**
 * Definitions stay where they are, and all else moves below the member. What is deeper than a rule
 * may be is refused later.
 */
function referringTo(member: string, schema: Json, depth: number): Json {
  if (depth > 2 * maxSchemaDepth) return schema;
  if (Array.isArray(schema)) return schema.map((one) => referringTo(member, one, depth + 1));
  if (!isObject(schema)) return schema;
  const moved = (value: string): string =>
    /^#(?:$|\/(?!(?:definitions|\$defs)\/))/.test(value)
      ? `#/properties/${member}${value.slice(1)}`
      : value;
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [
      keyword,
      keyword === "$ref" && typeof value === "string"
        ? moved(value)
        : keyword === "const" || keyword === "enum"
          ? value
          : referringTo(member, value, depth + 1),
    ]),
  );
}

/** An event named `events` has a schema, and no schemas by name. */
function isSchema(value: JsonObject): boolean {
  return typeof value["type"] === "string" || Array.isArray(value["required"]);
}

function wrongRule(rules: readonly PlanRule[]): string | null {
  const seen = new Set<string>();
  for (const rule of rules) {
    const id = JSON.stringify([rule.type, rule.key, rule.version]);
    if (seen.has(id)) return `The plan has two rules for ${ruleName(rule)}.`;
    seen.add(id);
    const wrong = sizeOfSchema(rule.schema);
    if (typeof wrong === "string") return `The rule for ${ruleName(rule)}: ${wrong}`;
  }
  return null;
}

function isRuleType(name: string): name is PlanRuleType {
  return (planRuleTypes as readonly string[]).includes(name);
}

/** Some tools write it as text. */
function schemaIn(value: Json | undefined): JsonObject | null {
  if (typeof value !== "string") return isObject(value) ? value : null;
  try {
    const parsed = JSON.parse(value) as Json;
    return isObject(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

function versionOf(value: Json | undefined): number {
  const version = Number(value ?? 1);
  return Number.isInteger(version) && version > 0 ? version : 1;
}
