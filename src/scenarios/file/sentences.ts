/**
 * From what zod found wrong with a scenario to sentences with places. Says what was expected there,
 * and what is there instead.
 */

import type { z } from "zod";
import { highestStatus } from "../../domain/http-status.ts";
import { isObject, type Json } from "../../domain/json.ts";
import { inOneLine } from "./in-one-line.ts";
import { unknownMembers, unknownName } from "./members.ts";
import { anyOf } from "./setup-schema.ts";
import { rawAt, type FileProblem, type Path, type PlacedValue } from "./yaml-places.ts";

type Issue = z.core.$ZodIssue;

/** Far more than are shown; a file that is no scenario has one for each value. */
const maxIssues = 500;

export function problemsOf(issues: readonly Issue[], file: PlacedValue): FileProblem[] {
  return telling(issues.slice(0, maxIssues)).flatMap((issue) => problemsOfIssue(issue, [], file));
}

/** What a mapping as a whole lacks is no news where one of its members is misspelt. */
function telling(issues: readonly Issue[]): Issue[] {
  const misspelt = new Set(
    issues
      .filter((issue) => issue.code === "unrecognized_keys")
      .map((issue) => issue.path.join("\n")),
  );
  return issues.filter((issue) => issue.code !== "custom" || !misspelt.has(issue.path.join("\n")));
}

function problemsOfIssue(issue: Issue, above: Path, file: PlacedValue): FileProblem[] {
  const path = [...above, ...(issue.path as (string | number)[])];
  if (issue.code === "unrecognized_keys") {
    const keys = issue.keys.slice(0, maxIssues);
    const { message } = issue;
    const isList = /^\w+(?:, \w+)*$/.test(message);
    // The contract's own shapes list the names that they know.
    const sentences = isList ? unknownMembers(keys, message.split(", ")) : message;
    const lines = sentences.startsWith("Unrecognized") ? [] : sentences.split("\n");
    return keys.map((key, index) => ({
      ...file.placeOfName([...path, key]),
      message: lines[index] ?? `${inOneLine(key)} is unknown.`,
    }));
  }
  if (issue.code === "invalid_union") return problemsOfUnion(issue, path, file);
  if (issue.code === "custom") return [{ ...file.placeOf(path), message: issue.message }];
  const wanted = issue.code === "invalid_key" ? "a name that is not empty" : wantedValue(issue);
  return [mismatch(path, file, wanted)];
}

/** The contract's shapes say their values only as zod does. */
function wantedValue(issue: Issue): string {
  if (issue.code === "invalid_value" && issue.message.startsWith("Invalid"))
    return anyOf(issue.values.map(String));
  if (issue.code === "too_small" && issue.message.startsWith("Too"))
    return size(issue.origin, issue.inclusive === false ? "more than" : "at least", issue.minimum);
  if (issue.code === "too_big" && issue.message.startsWith("Too"))
    return size(issue.origin, issue.inclusive === false ? "less than" : "at most", issue.maximum);
  return issue.message;
}

function size(origin: string, bound: string, limit: number | bigint): string {
  if (origin === "array") return `a list of ${bound} ${limit} ${limit === 1 ? "value" : "values"}`;
  if (origin !== "string") return `${bound} ${limit}`;
  return limit === 1 && bound === "at least"
    ? "a text that is not empty"
    : `a text of ${bound} ${limit} characters`;
}

function mismatch(path: Path, file: PlacedValue, message: string): FileProblem {
  const value = rawAt(file, path);
  const wanted = kinds.find(([pattern]) => pattern.test(message))?.[1] ?? message;
  if (value === undefined)
    return { ...file.placeOf(path), message: `${label(path)} is missing: ${wanted}.` };
  return {
    ...file.placeOf(path),
    message: `${label(path)} must be ${wanted}, but it is ${shown(value)}.${adviceFor(value, wanted, path)}`,
  };
}

const aroundIt = ' Put "- " in front of its first line, or [ ] around it.';

/** Mistakes that come from knowing YAML less well than what is meant. */
function adviceFor(value: Json, wanted: string, path: Path): string {
  const repeated = typeof value === "string" && /^([a-z_]+|\d{3}) *[x×*] *([1-9]\d*)$/i.exec(value);
  if (repeated && wanted.includes("503 x3")) return ` Did you mean ${repeated[1]} x${repeated[2]}?`;
  if (repeated && wanted === `a whole number from 200 to ${highestStatus}`)
    return ` For several, give the step times: ${repeated[2]}.`;
  if (wanted === "a mapping" && isAnswerOfEndpoint(path)) {
    const [status, times] = repeated ? [repeated[1], repeated[2]] : [JSON.stringify(value)];
    // A configuration file has a list of endpoints, and its steps say what they do.
    const does = typeof path[path.lastIndexOf("endpoints") + 1] === "number" ? "do: answer, " : "";
    if (/^\d{3}$/.test(status ?? ""))
      return ` Write { ${does}status: ${status}${times === undefined ? "" : `, times: ${times}`} }.`;
  }
  if (wanted === "a mapping" && typeof value === "string" && path.at(-2) === "webhooks")
    return ` Write ${/^https?:/.test(value) ? "{ url: URL }" : "{ endpoint: NAME }"}.`;
  if (wanted.startsWith("a list") && value !== null && !Array.isArray(value)) return aroundIt;
  if (wanted.startsWith("a mapping of names") && Array.isArray(value)) {
    const name = isObject(value[0]) ? value[0]["name"] : undefined;
    return typeof name === "string"
      ? ` Write "${inOneLine(name)}:" instead of "- name: ${inOneLine(name)}".`
      : ' Leave out the "- " or the [ ].';
  }
  return "";
}

/** One of the list of a test endpoint's steps, also where the list is all that is said of it. */
function isAnswerOfEndpoint(path: Path): boolean {
  const [endpoint, ...rest] = path.slice(path.lastIndexOf("endpoints") + 1);
  if (!path.includes("endpoints") || typeof path.at(-1) !== "number") return false;
  return rest[0] === "steps"
    ? rest.length === 2
    : rest.length === 1 && typeof endpoint === "string";
}

/** Where the schema says nothing better. */
const kinds: [RegExp, string][] = [
  [/^Invalid input: expected (object|record)/, "a mapping"],
  [/^Invalid input: expected array/, "a list"],
  [/^Invalid input: expected string/, "a text"],
  [/^Invalid input: expected (number|int)/, "a number"],
  [/^Invalid input: expected boolean/, "true or false"],
  [/^Invalid/, "something else"],
];

/** The closest alternative is assumed to be the one that was meant. */
function problemsOfUnion(
  issue: Extract<Issue, { code: "invalid_union" }>,
  path: Path,
  file: PlacedValue,
): FileProblem[] {
  const { options } = issue as { options?: readonly unknown[] };
  if (options !== undefined) return [mismatch(path, file, anyOf(options.map(String)))];
  const alternatives = issue.errors.filter((issues) => issues.length > 0);
  const value = rawAt(file, path);
  const ofRightKind = alternatives.filter(
    (issues) =>
      !issues.some(
        (one) => one.path.length === 0 && one.code !== "unrecognized_keys" && one.code !== "custom",
      ),
  );
  const complete = ofRightKind.filter((issues) => !issues.some((one) => isMissing(one, value)));
  if (isVerbs(issue.message) && isObject(value))
    return complete.length === 1
      ? problems(complete[0], path, file)
      : wrongVerbs(value, issue.message, path, file);
  const isOneOfList =
    isObject(value) &&
    alternatives.some(
      ([first]) => first?.path.length === 0 && first.message.startsWith("a list"),
    ) &&
    ofRightKind.some((issues) => issues.some((one) => isMissing(one, value)));
  if (complete.length === 0 && isOneOfList)
    return [{ ...file.placeOf(path), message: `${label(path)} must be a list.${aroundIt}` }];
  const meant = complete[0] ?? ofRightKind[0];
  if (meant !== undefined) return problems(meant, path, file);
  if (!issue.message.startsWith("Invalid")) return [mismatch(path, file, issue.message)];
  const wanted = [...new Set(alternatives.map((issues) => mismatchWords(issues[0])))].join(", or ");
  return [mismatch(path, file, wanted)];
}

function problems(issues: readonly Issue[] = [], path: Path, file: PlacedValue): FileProblem[] {
  return telling(issues).flatMap((issue) => problemsOfIssue(issue, path, file));
}

function mismatchWords(issue: Issue | undefined): string {
  const message = issue?.message ?? "";
  return kinds.find(([pattern]) => pattern.test(message))?.[1] ?? message;
}

function isMissing(issue: Issue, value: Json | undefined): boolean {
  return issue.path.length === 1 && isObject(value) && value[String(issue.path[0])] === undefined;
}

/** The message of the union of the steps, by which it is also distinguished from other unions. */
const verbsMark = "a step with one of ";

export function wantedVerbs(verbs: readonly string[]): string {
  return verbsMark + verbs.join(", ");
}

function isVerbs(message: string): boolean {
  return message.startsWith(verbsMark);
}

function wrongVerbs(
  step: { [name: string]: Json },
  message: string,
  path: Path,
  file: PlacedValue,
): FileProblem[] {
  const verbs = message.slice(verbsMark.length).split(", ");
  const names = Object.keys(step);
  const there = verbs.filter((verb) => names.includes(verb));
  if (there.length > 1) {
    const [first = "", second = ""] = there;
    return [
      {
        ...file.placeOfName([...path, second]),
        message: `A step does one thing: move ${second} out of the step with ${first}.`,
      },
    ];
  }
  const unknown = names.find((name) => name !== "name");
  if (unknown === undefined)
    return [
      {
        ...file.placeOf(path),
        message: `This step does nothing. It needs one of ${verbs.join(", ")}.`,
      },
    ];
  return [{ ...file.placeOfName([...path, unknown]), message: unknownName(unknown, verbs) }];
}

/** `webhooks[1]`, `name`: the last name on the way, with what it counts to. */
function label(path: Path): string {
  if (path.length === 0) return "The file";
  const from = path.findLastIndex((key) => typeof key === "string");
  const [first = "", ...rest] = path.slice(Math.max(0, from));
  return inOneLine(String(first)) + rest.map((index) => `[${index}]`).join("");
}

function shown(value: Json): string {
  if (value === null) return "empty";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (typeof value === "object")
    return Object.keys(value).length === 0 ? "an empty mapping" : "a mapping";
  return inOneLine(typeof value === "string" ? JSON.stringify(value) : String(value));
}
