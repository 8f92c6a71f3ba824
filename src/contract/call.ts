/**
 * What a call between the pipeline and its users is: a name, its place in HTTP, and zod schemas for
 * what goes in and comes out. The contract's files define calls with it; the API, the HTTP host and
 * the OpenAPI document read them. It never runs one.
 *
 * A call's input is one flat object: the members of the path, of the query and of the body.
 */

import { z } from "zod";
import type { Problem } from "../domain/problem.ts";
import { invalid, notFound } from "../domain/problem.ts";
import { reporting, sentenceOf } from "./issues.ts";
import { placeOf, type CallName, type Place } from "./places.ts";

// The inspector's content security policy forbids compiled validators; the hosts use them.
z.config({ jitless: "document" in globalThis });

type Members = z.ZodObject | null;
type Body = z.ZodType | null;

export type Call<
  Name extends CallName = CallName,
  P extends Members = Members,
  Q extends Members = Members,
  B extends Body = Body,
  Answer extends z.ZodType = z.ZodType,
> = Place & {
  name: Name;
  /** One sentence for the OpenAPI document. */
  summary: string;
  params: P;
  query: Q;
  body: B;
  answer: Answer;
  status: number;
  /** Needs no token, because it reveals nothing of what is stored. */
  isPublic: boolean;
  /** How many values its input may have. */
  maxValues: number;
  /** What the body may have over HTTP. */
  maxBytes: number;
};

export function defineCall<
  const Name extends CallName,
  Answer extends z.ZodType,
  P extends Members = null,
  Q extends Members = null,
  B extends Body = null,
>(call: {
  name: Name;
  summary: string;
  params?: P;
  query?: Q;
  body?: B;
  answer: Answer;
  /** 200 when left out. */
  status?: number;
  isPublic?: boolean;
  /** 120,000 when left out. */
  maxValues?: number;
  maxBytes?: number;
}): Call<Name, P, Q, B, Answer> {
  return {
    ...call,
    ...placeOf(call.name),
    params: (call.params ?? null) as P,
    query: (call.query ?? null) as Q,
    body: (call.body ?? null) as B,
    status: call.status ?? 200,
    isPublic: call.isPublic ?? false,
    maxValues: call.maxValues ?? defaultMaxValues,
    maxBytes: call.maxBytes ?? defaultMaxBytes,
  };
}

type InputOf<Part> = Part extends z.ZodType ? z.input<Part> : unknown;
type OutputOf<Part> = Part extends z.ZodType ? z.output<Part> : unknown;

/** What a caller passes. */
export type CallInput<C extends Call> = InputOf<C["params"]> &
  InputOf<C["query"]> &
  InputOf<C["body"]>;
/** What a handler gets: checked, with defaults. */
export type CheckedInput<C extends Call> = OutputOf<C["params"]> &
  OutputOf<C["query"]> &
  OutputOf<C["body"]>;
/** What a caller gets. */
export type CallAnswer<C extends Call> = z.input<C["answer"]>;
/** What a handler returns. */
export type HandlerAnswer<C extends Call> = z.output<C["answer"]>;

const nothing = z.strictObject({});

/**
 * Checks an input from outside against the call. Members that the call does not know are refused by
 * name.
 */
export function checkInput<C extends Call>(call: C, input: unknown): CheckedInput<C> | Problem {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return invalid("The input must be a JSON object.");
  }
  if (hasMoreValues(input, call.maxValues))
    return invalid(
      `The input has more than the ${call.maxValues} values allowed. Divide it among several calls.`,
    );
  const rest = new Map<string, unknown>(Object.entries(input));
  const checked: Record<string, unknown> = {};
  let missing: Problem | null = null;
  for (const part of [call.params, call.query]) {
    if (part === null) continue;
    const members = Object.keys(part.shape).filter((name) => rest.has(name));
    const result = part.safeParse(
      Object.fromEntries(members.map((name) => [name, rest.get(name)])),
      reporting,
    );
    if (!result.success) {
      missing ??= missingIn(result.error.issues, part === call.params);
      if (missing === null) return invalid(sentenceOf(result.error.issues));
    }
    Object.assign(checked, result.data);
    for (const name of members) rest.delete(name);
  }
  const result = (call.body ?? nothing).safeParse(Object.fromEntries(rest), reporting);
  if (!result.success) return invalid(sentenceOf(result.error.issues));
  return missing ?? (Object.assign(checked, result.data) as CheckedInput<C>);
}

/**
 * An input with more would be checked for longer than others may wait. The largest list of a call
 * has 100,000 items.
 */
const defaultMaxValues = 120_000;
/** The longest list of members is far below this. */
const defaultMaxBytes = 8 * 1024 * 1024;

/** Tracking plans have a limit in bytes, and their schemas are not checked here. */
function hasMoreValues(input: object, most: number): boolean {
  const open: object[] = [input];
  let count = 0;
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const members = Array.isArray(at) ? at.entries() : Object.entries(at);
    for (const [name, value] of members as Iterable<[string | number, unknown]>) {
      count += 1;
      if (count > most) return true;
      if (typeof value === "object" && value !== null && name !== "schemas") open.push(value);
    }
  }
  return false;
}

/** An id in the path that cannot be one names nothing that exists. */
function missingIn([issue]: readonly z.core.$ZodIssue[], isPath: boolean): Problem | null {
  const what: unknown = issue?.code === "custom" ? issue.params?.["missing"] : undefined;
  return isPath && typeof what === "string" ? notFound(what, String(issue?.input)) : null;
}
