/**
 * A mapping while it is being typed: its values as text, what is wrong with them, and what is sent
 * to the API. A text is read as a path, a template or JSON by how it begins.
 */

import type { AnswerOf, InputOf } from "../../../contract/contract.ts";
import { parseCondition } from "../../../domain/condition.ts";
import { mistakesOfMapping } from "../../../domain/mapping-check.ts";
import { checkWebhookUrl } from "../../../domain/webhook-rules.ts";

type SavedMapping = AnswerOf<"destinations.get">["mappings"][number];
type MappingInput = InputOf<"mappings.preview">["mapping"];

/** A key and a value of each field; or, for what is no flat object, JSON as text. */
export type Pairs = [key: string, value: string][] | string;

export type MappingDraft = {
  name: string;
  enabled: boolean;
  trigger: string;
  url: string;
  method: SavedMapping["method"];
  headers: Pairs;
  /** No field at all: the whole event. */
  data: Pairs;
  batch: Omit<SavedMapping["batch"], "size"> & { size: string };
};

export const maxMappings = 5;

/** `text`: anything that is no directive stays a text. `value`: it is JSON. */
type Other = "text" | "value";
type ReadAs = "path" | "template" | "text" | "JSON";
type Reading = { as: ReadAs; value: unknown } | { as: null; mistake: string };

const wholeEvent = { "@path": "$." };

export function readText(text: string, other: Other): Reading {
  if (/^\$[.[]/.test(text)) return { as: "path", value: { "@path": text } };
  const looksLikeJson = /^\s*(?:\{(?!\{)|"|\[)/.test(text);
  const json = looksLikeJson || other === "value" ? jsonOf(text) : undefined;
  if (json !== undefined) return { as: "JSON", value: json };
  if (/^\s*\{(?!\{)/.test(text)) return { as: null, mistake: "This is not valid JSON." };
  if (text.includes("{{")) return { as: "template", value: { "@template": text } };
  if (other === "text") return { as: "text", value: text };
  return {
    as: null,
    mistake: "Write a path ($.properties.total), a template ({{userId}}), or JSON (“a text”, 5).",
  };
}

/** The shortest text that is read as this value. */
function textOf(value: unknown, other: Other): string {
  const json = JSON.stringify(value);
  const { "@path": path, "@template": template } = Object(value) as Record<string, unknown>;
  const natural = other === "text" && typeof value === "string" ? value : (path ?? template);
  if (typeof natural !== "string") return json;
  const reading = readText(natural, other);
  return reading.as !== null && JSON.stringify(reading.value) === json ? natural : json;
}

/** Undefined when it is none. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function newMapping(others: readonly { name: string }[]): MappingDraft {
  let number = others.length + 1;
  while (others.some(({ name }) => name === `Mapping ${number}`)) number++;
  return {
    name: `Mapping ${number}`,
    enabled: true,
    trigger: "",
    url: "",
    method: "POST",
    headers: [],
    data: [],
    batch: { enabled: false, size: "1000", keys: ["url", "method", "headers"], waitMs: 1000 },
  };
}

export function mappingDraftOf(saved: SavedMapping): MappingDraft {
  const { name, enabled, trigger, url, method, headers, data, batch } = saved;
  const isWhole = JSON.stringify(data) === JSON.stringify(wholeEvent);
  return {
    name,
    enabled,
    trigger: trigger ?? "",
    url: textOf(url, "text"),
    method,
    headers: pairsOf(headers, "text") ?? jsonText(headers),
    data: isWhole ? [] : (pairsOf(data, "value") ?? jsonText(data)),
    batch: { ...batch, size: String(batch.size) },
  };
}

const jsonText = (value: unknown): string => JSON.stringify(value, null, 2);

/** Null for what is no object with members of its own, and for one without members as data. */
function pairsOf(value: unknown, other: Other): [string, string][] | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const entries = Object.entries(value);
  if (entries.some(([key]) => key.startsWith("@"))) return null;
  if (other === "value" && entries.length === 0) return null;
  return entries.map(([key, each]) => [key, textOf(each, other)]);
}

/** The same as JSON, or as fields. Null when it has no fields, is no JSON, or a field is wrong. */
export function switchedData(data: Pairs): Pairs | null {
  if (typeof data !== "string") {
    const rows = data.filter(([key, text]) => key !== "" || text !== "");
    if (pairProblems(rows, "value").some((problem) => problem !== null)) return null;
    return jsonText(rows.length === 0 ? wholeEvent : valueOf(rows));
  }
  const value = jsonOf(data);
  if (JSON.stringify(value) === JSON.stringify(wholeEvent)) return [];
  return pairsOf(value, "value");
}

function valueOf(pairs: Pairs, other: Other = "value"): unknown {
  if (typeof pairs === "string") {
    const value = jsonOf(pairs);
    return value === undefined ? {} : value;
  }
  const members: [string, unknown][] = [];
  for (const [key, text] of pairs) {
    const reading = readText(text, other);
    if (key !== "" && reading.as !== null) members.push([key, reading.value]);
  }
  return Object.fromEntries(members);
}

/** What can be read of it, so that it can be shown while it is being typed. */
export function mappingInput({ data, ...draft }: MappingDraft): MappingInput {
  const { name, enabled, trigger, url, method, headers, batch } = draft;
  const address = readText(url, "text");
  return {
    name,
    enabled,
    trigger: trigger.trim() === "" ? null : trigger,
    url: address.as === null ? "" : address.value,
    method,
    headers: valueOf(headers, "text"),
    data: typeof data !== "string" && data.length === 0 ? wholeEvent : valueOf(data),
    batch: { ...batch, size: sizeOf(batch.size) ?? 1000 },
  };
}

function sizeOf(text: string): number | null {
  const size = Number(text);
  return text.trim() !== "" && Number.isInteger(size) && size >= 1 && size <= 4000 ? size : null;
}

export type MappingProblems = {
  name: string | null;
  trigger: string | null;
  url: string | null;
  /** Of each pair, or of the JSON. */
  headers: (string | null)[];
  data: (string | null)[];
  size: string | null;
  isWrong: boolean;
};

export function problemsOfMapping(
  mapping: MappingDraft,
  others: readonly { name: string }[],
): MappingProblems {
  const { name, trigger, url, headers, data, batch } = mapping;
  const problems = {
    name:
      name.trim() === ""
        ? "A mapping needs a name."
        : others.some((other) => other.name === name)
          ? `Another mapping has the name ${name}.`
          : null,
    trigger: trigger.trim() === "" ? null : conditionError(trigger),
    url: urlProblem(url),
    headers: pairProblems(headers, "text"),
    data: pairProblems(data, "value"),
    size: sizeOf(batch.size) === null ? "A batch has 1 to 4,000 messages." : null,
  };
  return {
    ...problems,
    isWrong: Object.values(problems)
      .flat()
      .some((each) => each !== null),
  };
}

function conditionError(trigger: string): string | null {
  const parsed = parseCondition(trigger);
  return parsed.condition === null ? placed(parsed.error) : null;
}

const placed = ({ message, at }: { message: string; at: number }): string =>
  `${message} (character ${at + 1})`;

export function triggerWarnings(trigger: string): string[] {
  if (trigger.trim() === "") return [];
  const parsed = parseCondition(trigger);
  return parsed.condition === null ? [] : parsed.warnings.map(placed);
}

function urlProblem(text: string): string | null {
  const reading = readText(text, "text");
  if (reading.as === null) return reading.mistake;
  const { value } = reading;
  if (typeof value === "string") return checkWebhookUrl(value);
  return mistakeOf(value) ?? (pairsOf(value, "text") === null ? null : "This is not a directive.");
}

function mistakeOf(value: unknown): string | null {
  const [mistake] = mistakesOfMapping(value);
  return mistake === undefined
    ? null
    : `${mistake.place === "" ? "" : `${mistake.place}: `}${mistake.message}`;
}

function pairProblems(pairs: Pairs, other: Other): (string | null)[] {
  if (typeof pairs === "string") {
    const value = jsonOf(pairs);
    if (value === undefined) return ["This is not valid JSON."];
    if (other === "text" && (typeof value !== "object" || value === null || Array.isArray(value)))
      return ["Headers are an object or a directive."];
    return [mistakeOf(value)];
  }
  const spelled = (key: string): string => (other === "text" ? key.toLowerCase() : key);
  return pairs.map(([key, text], place) => {
    if (key === "") return "Enter a name and a value, or remove the row.";
    if (pairs.findIndex((pair) => spelled(pair[0]) === spelled(key)) < place)
      return `${key} is set twice.`;
    const reading = readText(text, other);
    return reading.as === null ? reading.mistake : mistakeOf({ [key]: reading.value });
  });
}
