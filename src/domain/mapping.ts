/**
 * The mapping kit of the hosted service: turns an event into the values of a mapping. Directives
 * such as `{"@path": "$.properties.total"}` stand anywhere in a JSON value; all else is as written.
 *
 *   resolveMapping({ id: { "@path": "$.messageId" } }, event)  →  { id: "m_1" }
 *
 * It does here exactly what the open source does, also where that surprises: a path below null, 0,
 * "" or false has that value, and a template prints an object as `[object Object]`. What throws
 * there throws a `MappingError` here, and the event is not sent.
 */

import { maxPatternLength, mistakesOfMapping } from "./mapping-check.ts";

type Members = Record<string, unknown>;

export class MappingError extends Error {}

/**
 * What a mapping may make of one event, in characters: some 100 ms. The size of an event limits
 * nothing here, because each element of an array can become hundreds of members.
 */
const maxMadeLength = 500_000;
/** Each value counts as so many at least: it takes time, also where nothing is left of it. */
const minValueLength = 8;

let made = 0;

function count(length: number): void {
  made += length;
  if (made > maxMadeLength)
    throw new MappingError(
      `It would make more than ${maxMadeLength.toLocaleString("en")} characters of this message, or more than ${(maxMadeLength / minValueLength).toLocaleString("en")} values. Map fewer members or elements.`,
    );
}

/** Values of the event and of the mapping are what JSON.parse made. */
export function resolveMapping(mapping: unknown, event: unknown): unknown {
  try {
    made = 0;
    const resolved = resolve(mapping, event);
    made = 0;
    return withoutUndefined(resolved);
  } catch (error) {
    if (error instanceof MappingError) throw error;
    // A value of the event that cannot become text, or an event that is nested too deep.
    throw new MappingError(error instanceof Error ? error.message : String(error));
  }
}

const kindOf = (value: unknown): string =>
  Object.prototype.toString.call(value).slice(8, -1).toLowerCase();
const isMembers = (value: unknown): value is Members => kindOf(value) === "object";
const isDirectiveKey = (key: string): boolean => key.startsWith("@");

/** Only directives, which may carry `_metadata` of an editor. */
function isDirective(value: Members): boolean {
  const keys = Object.keys(value);
  return (
    keys.some(isDirectiveKey) && keys.every((key) => isDirectiveKey(key) || key === "_metadata")
  );
}

function resolve(mapping: unknown, event: unknown): unknown {
  count(minValueLength);
  if (Array.isArray(mapping)) return mapping.map((value) => resolve(value, event));
  if (!isMembers(mapping)) return mapping;
  if (isDirective(mapping)) {
    const name = Object.keys(mapping).find(isDirectiveKey)!;
    const directive = directives.get(name);
    if (directive === undefined) throw new MappingError(`${name} is not a directive.`);
    return directive(mapping[name], event);
  }
  const resolved: Members = {};
  for (const key of Object.keys(mapping)) resolved[key] = resolve(mapping[key], event);
  return resolved;
}

type Directive = (options: unknown, event: unknown) => unknown;

function objectOf(options: unknown, name: string, ...required: string[]): Members {
  if (!isMembers(options)) throw new MappingError(`${name} needs an object.`);
  for (const key of required) {
    if (!options[key]) throw new MappingError(`${name} needs "${key}".`);
  }
  return options;
}

function textOf(value: unknown, event: unknown, name: string): string {
  const text = resolve(value, event);
  if (typeof text !== "string")
    throw new MappingError(`${name} needs a text, not ${kindOf(text)}.`);
  return text;
}

const directives: ReadonlyMap<string, Directive> = new Map<string, Directive>([
  ["@path", (path, event) => valueAt(event, withoutRoot(textOf(path, event, "@path")))],
  [
    "@template",
    (template, event) =>
      rendered(textOf(template, event, "@template"), event === undefined ? {} : event),
  ],
  ["@literal", resolve],
  ["@if", chosen],
  ["@case", inCase],
  ["@replace", replaced],
  ["@arrayPath", elements],
  ["@flatten", flattened],
  ["@json", asJson],
  ["@merge", merged],
  ["@transform", transformed],
  [
    "@excludeWhenNull",
    (options, event) => {
      const value = resolve(options, event);
      return value === null ? undefined : withoutNulls(value);
    },
  ],
]);

const withoutRoot = (path: string): string => path.replace("$.", "");

/** `products[0].name`, `products.0.name`, `traits['first name']`. */
const pathSeparator = /\[(?=["'\d])|\.|(?<=["'\d])\]+/g;

/** Paths that were read; mappings have the same ones for every event and element. */
const knownPaths = new Map<string, string[]>();
const maxKnownPaths = 1000;

function valueAt(event: unknown, path: string): unknown {
  if (path === "" || path === ".") return event;
  let parts = knownPaths.get(path);
  if (parts === undefined) {
    parts = path
      .split(pathSeparator)
      .flatMap((part) => (part === "" ? [] : part.replace(/['"]/g, "")));
    if (knownPaths.size >= maxKnownPaths) knownPaths.clear();
    knownPaths.set(path, parts);
  }
  count(parts.length);
  let value = event;
  for (const part of parts) value = value && (value as Members)[part];
  return value;
}

/** Three braces first; a value that contains braces is a template for the second pass. */
function rendered(template: string, event: unknown): string {
  const print = (inner: string): string => {
    const text = printed(valueAt(event, inner.trim()));
    count(text.length);
    return text;
  };
  count(template.length);
  return withBraces(withBraces(template, 3, print), 2, print);
}

// oxlint-disable-next-line typescript/no-base-to-string -- the hosted service sends [object Object]
const printed = (value: unknown): string => String(value ?? "");

/** Like a regular expression for the shortest `{{…}}`, but in linear time for any text. */
function withBraces(text: string, count: number, print: (inner: string) => string): string {
  const open = "{".repeat(count);
  const close = "}".repeat(count);
  let done = "";
  let from = 0;
  /** Where the text without a `}` begins that the next braces stand in. */
  let start = 0;
  for (;;) {
    const end = text.indexOf("}", start);
    if (end === -1) return done + text.slice(from);
    const between = text.slice(start, end);
    const at = text.startsWith(close, end) ? between.indexOf(open) : -1;
    if (at === -1 || at + count >= between.length) {
      start = end + 1;
      continue;
    }
    done += text.slice(from, start + at) + print(between.slice(at + count));
    from = end + count;
    start = from;
  }
}

function chosen(options: unknown, event: unknown): unknown {
  const { exists, blank, then, else: otherwise } = objectOf(options, "@if");
  if (!exists && !blank) throw new MappingError('@if needs "exists" or "blank".');
  const value = resolve(exists === undefined ? blank : exists, event);
  const holds = value !== undefined && value !== null && (exists !== undefined || !isBlank(value));
  if (holds) return resolve(then, event);
  return otherwise ? resolve(otherwise, event) : undefined;
}

// oxlint-disable-next-line eqeqeq -- 0, false and [] are equal to "" here, as in the open source
const isBlank = (value: unknown): boolean => value == "";

function inCase(options: unknown, event: unknown): unknown {
  const { operator, value: from } = objectOf(options, "@case", "operator");
  if (!from) return undefined;
  const value = resolve(from, event);
  if (typeof value !== "string") return value;
  if (operator === "lower") return value.toLowerCase();
  if (operator === "upper") return value.toUpperCase();
  throw new MappingError('The operator of @case is "lower" or "upper".');
}

function replaced(options: unknown, event: unknown): unknown {
  const members = objectOf(options, "@replace", "pattern");
  const { pattern, pattern2, value: from } = members;
  if (!from) return undefined;
  const replacement = members["replacement"] ?? "";
  const replacement2 = members["replacement2"] ?? (pattern2 ? "" : undefined);
  const ignoreCase = members["ignorecase"] ?? false;
  const everywhere = members["global"] ?? true;

  let value = resolve(from, event);
  if (typeof value === "boolean" || typeof value === "number") value = String(value);
  if (typeof value !== "string" || typeof pattern !== "string") return "";
  if (typeof replacement !== "string") return "";
  if (typeof ignoreCase !== "boolean" || typeof everywhere !== "boolean") return "";
  const flags = (everywhere ? "g" : "") + (ignoreCase ? "i" : "");
  const once = replaceIn(value, pattern, replacement, flags);
  if (typeof pattern2 !== "string" || pattern2 === "" || typeof replacement2 !== "string")
    return once;
  return replaceIn(once, pattern2, replacement2, flags);
}

function replaceIn(value: string, pattern: string, replacement: string, flags: string): string {
  if (pattern.length > maxPatternLength || replacement.length > maxPatternLength)
    throw new MappingError(
      `A pattern and a replacement of @replace have at most ${maxPatternLength} characters.`,
    );
  const literal = pattern.replace(/[-[\]{}()*+?.,\\^$|#\s]/g, "\\$&");
  const wanted = new RegExp(literal, flags);
  // Each puts in up to the whole value, and the text is made before its length is known.
  const copies = replacement.match(/\$[`']/g)?.length ?? 0;
  if (copies > 0) count((value.match(wanted)?.length ?? 0) * copies * value.length);
  const text = value.replace(wanted, replacement);
  count(value.length + text.length);
  return text;
}

function elements(options: unknown, event: unknown): unknown {
  if (!Array.isArray(options))
    throw new MappingError("@arrayPath needs an array: a path, and the shape of an element.");
  const [path, shape] = options as unknown[];
  const found = typeof path === "string" ? valueAt(event, withoutRoot(path)) : resolve(path, event);
  const isShape = isMembers(shape) && Object.keys(shape).length > 0;
  if (!isShape || !(isMembers(found) || Array.isArray(found))) return found;
  return (Array.isArray(found) ? found : [found]).map((element) => resolve(shape, element));
}

function flattened(options: unknown, event: unknown): unknown {
  const { separator: given, value, omitArrays } = objectOf(options, "@flatten", "separator");
  const separator = textOf(given, event, "The separator of @flatten");
  const pairs: [string, unknown][] = [];
  const walk = (from: unknown, prefix: string): void => {
    count(prefix.length);
    if (!isMembers(from) && (omitArrays || !Array.isArray(from))) {
      pairs.push([prefix, from]);
      return;
    }
    for (const [key, inner] of Object.entries(from as Members))
      walk(inner, prefix === "" ? key : `${prefix}${separator}${key}`);
  };
  walk(resolve(value, event), "");
  return Object.fromEntries(pairs);
}

function asJson(options: unknown, event: unknown): unknown {
  const { mode, value: from } = objectOf(options, "@json", "mode", "value");
  const value = resolve(from, event);
  if (mode === "encode") {
    const text = JSON.stringify(withoutUndefined(value)) as string | undefined;
    count(text?.length ?? 0);
    return text;
  }
  if (mode !== "decode") return undefined;
  if (typeof value !== "string") return value;
  count(value.length);
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

function merged(options: unknown, event: unknown): unknown {
  const { direction, objects } = objectOf(options, "@merge", "direction", "objects");
  if (!Array.isArray(objects)) throw new MappingError('"objects" of @merge is an array.');
  const towards = resolve(direction, event);
  const parts = objects.map((part) => resolve(part, event));
  for (const part of parts)
    count(typeof part === "object" && part !== null ? Object.keys(part).length : 0);
  if (towards === "left") parts.reverse();
  return Object.assign({}, ...parts) as unknown;
}

/** What was checked; the same for every event and element. */
const withoutMistakes = new WeakSet<Members>();

function transformed(options: unknown, event: unknown = {}): unknown {
  const { apply, mapping } = objectOf(options, "@transform", "mapping", "apply");
  if (!isMembers(apply)) throw new MappingError('"apply" of @transform is an object.');
  if (!isMembers(event))
    throw new MappingError(`@transform needs an object, not ${kindOf(event)}.`);
  if (!withoutMistakes.has(apply)) {
    const [mistake] = mistakesOfMapping(apply);
    if (mistake !== undefined) throw new MappingError(`${mistake.place}: ${mistake.message}`);
    withoutMistakes.add(apply);
  }
  return resolve(mapping, withoutUndefined(resolve(apply, event)));
}

/** Arrays, and objects within them, keep their nulls. */
function withoutNulls(value: unknown): unknown {
  if (!isMembers(value)) return value;
  const cleaned = Object.assign({}, value);
  for (const key of Object.keys(value)) {
    count(minValueLength);
    if (value[key] === null) cleaned[key] = undefined;
    else if (isMembers(value[key])) cleaned[key] = withoutNulls(value[key]);
  }
  return cleaned;
}

/** A copy, whose length counts. */
function withoutUndefined(value: unknown): unknown {
  count(typeof value === "string" ? value.length + 2 : minValueLength);
  if (Array.isArray(value)) return value.map(withoutUndefined);
  if (!isMembers(value)) return value;
  const cleaned = Object.assign({}, value);
  for (const key of Object.keys(cleaned)) {
    count(key.length);
    if (cleaned[key] === undefined) delete cleaned[key];
    else cleaned[key] = withoutUndefined(cleaned[key]);
  }
  return cleaned;
}
