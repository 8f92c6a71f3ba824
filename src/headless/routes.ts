/**
 * From a method and a path to a call of the contract, and from the parts of a request to the call's
 * input.
 */

import { z } from "zod";
import type { Call } from "../contract/call.ts";
import { calls } from "../contract/contract.ts";
import { textOf, type Method } from "../contract/places.ts";
import type { Problem } from "../domain/problem.ts";
import { invalid, problem } from "../domain/problem.ts";

type Match = { call: Call; params: Record<string, string> };

const routes = Object.values<Call>(calls).map((call) => ({ call, segments: call.path.split("/") }));

/** What answers at a path, by method; empty when nothing does. */
export function matchPath(path: string): Map<Method, Match> | Problem {
  const found = new Map<Method, Match>();
  const parts: string[] = [];
  for (const part of path.split("/")) {
    try {
      parts.push(textOf(part));
    } catch {
      return problem(
        400,
        "bad_path",
        "The path has a percent sign that is not part of a valid percent-encoding.",
      );
    }
  }
  for (const { call, segments } of routes) {
    if (segments.length !== parts.length) continue;
    const params: Record<string, string> = {};
    const fits = segments.every((segment, index) => {
      const part = parts[index] ?? "";
      if (!segment.startsWith("{")) return segment === part;
      params[segment.slice(1, -1)] = part;
      return part !== "";
    });
    // `/api/deliveries/retry` before `/api/deliveries/{id}`.
    const other = found.get(call.method);
    if (
      fits &&
      (other === undefined || Object.keys(other.params).length > Object.keys(params).length)
    )
      found.set(call.method, { call, params });
  }
  return found;
}

const maxMembers = 1000;

/** One flat object, as the API takes it. A member in the wrong place is refused, not moved. */
export function inputOf(
  { call, params }: Match,
  query: URLSearchParams,
  body: object,
): object | Problem {
  const input = new Map<string, unknown>(Object.entries(params));
  for (const name of new Set(query.keys())) {
    const schema =
      call.query !== null && Object.hasOwn(call.query.shape, name)
        ? call.query.shape[name]
        : undefined;
    if (schema === undefined)
      return invalid(
        `Unknown query parameter ${name}. It is not part of this call; check its spelling.`,
      );
    const [text = "", ...others] = query.getAll(name);
    if (others.length === 0)
      input.set(name, schema.safeParse(text).success ? text : literalOf(text));
    else if (takesMany(schema)) input.set(name, [text, ...others]);
    else return invalid(`The query parameter ${name} appears twice.`);
  }
  // Listing them takes as long as parsing them.
  for (const name in body) {
    const value = (body as Record<string, unknown>)[name];
    if (input.size >= maxMembers)
      return invalid(`The body has more than ${maxMembers} members, and no call has that many.`);
    const isElsewhere = [call.params, call.query].some(
      (part) => part !== null && Object.hasOwn(part.shape, name),
    );
    if (isElsewhere)
      return invalid(`Unknown member ${name}. It belongs in the URL, not in the body.`);
    input.set(name, value);
  }
  return Object.fromEntries(input);
}

function takesMany(schema: z.ZodType): boolean {
  const inner = schema instanceof z.ZodOptional ? schema.unwrap() : schema;
  return (
    inner instanceof z.ZodUnion && inner.options.some((option) => option instanceof z.ZodArray)
  );
}

/** A query is text; where a call wants a number or a boolean, this is the one that was written. */
function literalOf(text: string): unknown {
  if (text === "true" || text === "false") return text === "true";
  return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
}
