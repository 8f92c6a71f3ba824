/** Turns what zod found wrong with an input into one sentence that names the member. */

import type { z } from "zod";

type Issue = z.core.$ZodIssue;

const kinds: Record<string, string> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

export function sentenceOf(issues: readonly Issue[]): string {
  // A misspelt member is also a missing one; the spelling says more.
  const issue = issues.find((one) => one.code === "unrecognized_keys") ?? issues[0];
  return issue === undefined ? "The input is not valid." : sentence(issue, []);
}

function sentence(issue: Issue, above: readonly PropertyKey[]): string {
  const path = [...above, ...issue.path];
  const name = nameOf(path);
  switch (issue.code) {
    case "unrecognized_keys":
      return `Unknown member ${issue.keys.map((key) => nameOf([...path, key])).join(", ")}. It is not part of this call; check its spelling.`;
    case "invalid_type":
      if (issue.input === undefined) return `${name} is missing.`;
      return `${name} must be ${kinds[issue.expected] ?? issue.expected}.`;
    case "invalid_value":
      if (issue.input === undefined) return `${name} is missing.`;
      return `${name} must be ${anyOf(issue.values.map((value) => JSON.stringify(value)))}.`;
    case "too_small":
      if (issue.origin === "string") return `${name} must not be empty.`;
      if (issue.origin === "array") return `${name} must have at least ${issue.minimum} items.`;
      return `${name} must be at least ${issue.minimum}.`;
    case "too_big":
      if (issue.origin === "string") return `${name} must not be longer than ${issue.maximum} characters.`;
      if (issue.origin === "array") return `${name} must not have more than ${issue.maximum} items.`;
      return `${name} must be at most ${issue.maximum}.`;
    case "invalid_union":
      return unionSentence(issue.errors, path, name);
    default:
      return `${name} is not valid: ${issue.message}.`;
  }
}

/** The alternative that came closest is the one that was meant. */
function unionSentence(alternatives: readonly (readonly Issue[])[], path: readonly PropertyKey[], name: string): string {
  const closest = alternatives.filter((issues) => issues.length > 0).toSorted((a, b) => a.length - b.length)[0]?.[0];
  return closest === undefined ? `${name} is not valid.` : sentence(closest, path);
}

/** `webhooks[0].url`, as it is written in code. */
function nameOf(path: readonly PropertyKey[]): string {
  if (path.length === 0) return "The body";
  return path.map((key, index) => (typeof key === "number" ? `[${key}]` : index === 0 ? String(key) : `.${String(key)}`)).join("");
}

function anyOf(values: readonly string[]): string {
  return values.length < 2 ? values.join("") : `${values.slice(0, -1).join(", ")} or ${values.at(-1)}`;
}
