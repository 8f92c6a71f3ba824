/**
 * Filters of a destination: which messages it gets, and which of their members. Applied in their
 * order to a message that routing sends there; conditions see the message as it came.
 */

import type { ConditionRemark } from "./condition.ts";
import { parseFilterCondition, type FilterCondition } from "./filter-condition.ts";
import { isObject, type Json, type JsonObject } from "./json.ts";
import { memberAt, memberPath, MemberRemoval, parseMemberPath } from "./member-path.ts";
import { drawUnit } from "./random.ts";
import type { DestinationFilter } from "./configuration.ts";

type AppliedFilter = Pick<DestinationFilter, "name" | "action">;

type Filtered = {
  /** Null: a filter keeps it from the destination, the last one of `applied`. */
  event: JsonObject | null;
  /** Those that did something. */
  applied: AppliedFilter[];
  /** What they removed. */
  removed: string[];
  /** The last one of `applied` has a condition that cannot be read, from before it was checked. */
  isUnread?: true;
};

const maxFilters = 50;
const maxProperties = 200;
const filteredMembers: ReadonlySet<string> = new Set(["properties", "traits", "context"]);

/** Null for all messages, or when it can be read. */
export function wrongCondition(condition: string): ConditionRemark | null {
  if (condition.trim() === "") return null;
  const parsed = parseFilterCondition(condition);
  return parsed.condition === null ? parsed.error : null;
}

/** A sentence for what cannot be a filter, or null. A condition that it has already may stay. */
export function wrongFilter(
  filters: readonly DestinationFilter[],
  stored: readonly DestinationFilter[] = [],
): string | null {
  if (filters.length > maxFilters)
    return `A destination has at most ${maxFilters} filters, not ${filters.length}.`;
  const names = new Set<string>();
  for (const { name, if: condition, action, share, by, properties } of filters) {
    if (name.trim() === "") return "A filter needs a name.";
    const of = `The filter ${JSON.stringify(name)}`;
    if (names.has(name)) return `${of} appears twice.`;
    names.add(name);
    const wrong = stored.some((one) => one.if === condition) ? null : wrongCondition(condition);
    if (wrong !== null) return `${of}: ${wrong.message} (character ${wrong.at + 1})`;
    if (
      action === "sample" ? !(share !== undefined && share >= 0 && share <= 1) : share !== undefined
    )
      return action === "sample"
        ? `${of} needs a share from 0 to 1.`
        : `${of} has a share, which only sample has.`;
    if (action !== "sample" && by !== undefined) return `${of} has by, which only sample has.`;
    const wants = action === "allow-properties" || action === "drop-properties";
    if (!wants && properties !== undefined)
      return `${of} has properties, which only allow-properties and drop-properties have.`;
    if (!wants) continue;
    if (properties === undefined || properties.length === 0)
      return `${of} needs properties, such as properties.email.`;
    if (properties.length > maxProperties)
      return `${of} has ${properties.length} properties, more than the ${maxProperties} allowed.`;
    for (const path of properties) {
      const tokens = parseMemberPath(path);
      if (tokens === null || tokens.length < 2 || !filteredMembers.has(tokens[0] as string))
        return `${of}: ${JSON.stringify(path.slice(0, 100))} is no member of properties, traits or context, such as properties.email.`;
    }
  }
  return null;
}

type Draw = { seed: number; messageId: string; user: string };

/** Conditions see `seen`: the message as it came, with what the pipeline made of it. */
export function applyFilters(
  filters: readonly DestinationFilter[],
  event: JsonObject,
  draw: Draw,
  seen: () => JsonObject = () => event,
): Filtered {
  const applied: AppliedFilter[] = [];
  const removed: string[] = [];
  const removal = new MemberRemoval(event);
  for (const filter of filters) {
    if (!filter.enabled) continue;
    const { name, action } = filter;
    const condition = conditionOf(filter.if);
    // As at the hosted service: a filter may hold back what the destination must not get.
    if (condition === null)
      return { event: null, applied: [...applied, { name, action }], removed, isUnread: true };
    if (condition !== "all" && !condition(seen())) continue;
    if (action === "drop" || (action === "sample" && !isDrawn(filter, draw)))
      return { event: null, applied: [...applied, { name, action }], removed };
    if (action === "sample") continue;
    const before = removed.length;
    const paths = pathsOf(filter);
    for (const path of action === "drop-properties" ? paths : othersThan(paths, removal.rest)) {
      const gone = placesOf(path, removal.rest)
        .map((place) => removal.remove(place))
        .filter((place) => place !== null);
      const [place] = gone;
      if (place !== undefined) removed.push(memberPath(gone.length === 1 ? place : path));
    }
    if (removed.length > before) applied.push({ name, action });
  }
  return { event: removal.rest, applied, removed };
}

type Path = readonly string[];

/** Those of filters in use, each read once. */
const knownPaths = new WeakMap<DestinationFilter, Path[]>();

function pathsOf(filter: DestinationFilter): Path[] {
  let paths = knownPaths.get(filter);
  if (paths === undefined) {
    paths = (filter.properties ?? []).map((path) => parseMemberPath(path) ?? []);
    knownPaths.set(filter, paths);
  }
  return paths;
}

const isElement = (token: string): boolean => /^\d+$/.test(token);

/** Where a path leads: a name below an array is that member of each of its elements. */
function placesOf(path: Path, event: JsonObject): string[][] {
  const places: string[][] = [];
  const walk = (value: Json | undefined, at: string[], depth: number): void => {
    const token = path[depth];
    if (token === undefined) {
      if (value !== undefined) places.push(at);
    } else if (Array.isArray(value) && !isElement(token))
      for (const [nth, element] of value.entries()) {
        const has = isObject(element) && Object.hasOwn(element, token);
        if (has || Array.isArray(element)) walk(element, [...at, `${nth}`], depth);
      }
    else if (isObject(value) || Array.isArray(value))
      walk(memberAt(value, [token]), [...at, token], depth + 1);
  };
  walk(event, [], 0);
  return places;
}

/** What is left of the paths, by their first token. */
const byToken = (paths: readonly Path[]): Map<string, Path[]> => {
  const below = new Map<string, Path[]>();
  for (const [token = "", ...rest] of paths) {
    const rests = below.get(token);
    if (rests === undefined) below.set(token, [rest]);
    else rests.push(rest);
  }
  return below;
};

/** Members that are on none of the paths, in those of properties, traits and context that are. */
function othersThan(paths: readonly Path[], event: JsonObject): string[][] {
  const others: string[][] = [];
  const walk = (value: Json | undefined, at: Path, listed: ReadonlyMap<string, Path[]>) => {
    if (Array.isArray(value)) {
      // An element cannot go alone, so one that is listed keeps the array.
      if ([...listed].some(([token, rests]) => isElement(token) && hasEnd(rests))) return;
      const isIndexed = [...listed.keys()].some(isElement);
      const names = [...listed].filter(([token]) => isIndexed && !isElement(token));
      const ofNames = names.flatMap(([token, rests]) => rests.map((rest) => [token, ...rest]));
      const named = isIndexed ? byToken(ofNames) : listed;
      for (const [nth, element] of value.entries()) {
        const own = listed.get(`${nth}`);
        const below = own === undefined ? named : byToken([...own, ...ofNames]);
        walk(element, [...at, `${nth}`], below);
      }
    } else if (isObject(value))
      for (const [name, member] of Object.entries(value)) {
        const on = listed.get(name);
        if (on === undefined) others.push([...at, name]);
        else if (!hasEnd(on)) walk(member, [...at, name], byToken(on));
      }
  };
  for (const [member, below] of byToken(paths)) walk(event[member], [member], byToken(below));
  return others;
}

const hasEnd = (paths: readonly Path[]): boolean => paths.some(({ length }) => length === 0);

/** The same for the same seed, filter and user, or message. */
function isDrawn({ name, share = 1, by = "random" }: DestinationFilter, draw: Draw): boolean {
  const key = by === "user" ? draw.user : draw.messageId;
  return drawUnit(draw.seed, hashOf(name), hashOf(key)) < share;
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1)
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/** Conditions in use, each read once; null for one that cannot be read. */
const conditions = new Map<string, FilterCondition | null>();
const maxConditions = 1000;

function conditionOf(text: string): FilterCondition | "all" | null {
  if (text.trim() === "") return "all";
  let condition = conditions.get(text);
  if (condition === undefined) {
    ({ condition } = parseFilterCondition(text));
    if (conditions.size >= maxConditions) conditions.clear();
    conditions.set(text, condition);
  }
  return condition;
}
