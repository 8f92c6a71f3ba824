/** Turns what zod found wrong with an input into one sentence that names the member. */

import type { z } from "zod";

type Issue = z.core.$ZodIssue;

const kinds: Record<string, readonly string[]> = {
  string: ["a string"],
  number: ["a number"],
  int: ["a whole number"],
  boolean: ["true", "false"],
  array: ["a list"],
  object: ["an object"],
  record: ["an object"],
};

/** Whoever writes an input chooses its names. */
const maxNames = 20;
const maxNameLength = 200;

/** With these, what zod finds has all that a sentence is made of. */
export const reporting: z.core.ParseContext<Issue> = {
  reportInput: true,
  error: ({ code, inst }) => {
    const shape =
      code === "unrecognized_keys"
        ? (inst?._zod.def as { shape?: object } | undefined)?.shape
        : undefined;
    return shape === undefined ? undefined : Object.keys(shape).join(", ");
  },
};

export function sentenceOf(issues: readonly Issue[]): string {
  const issue = foremost(issues);
  return issue === undefined ? "The input is not valid." : sentence(issue, []);
}

/** A misspelt member is also a missing one; the spelling says more. */
function foremost(issues: readonly Issue[]): Issue | undefined {
  return issues.find((one) => one.code === "unrecognized_keys") ?? issues[0];
}

function sentence(issue: Issue, above: readonly PropertyKey[]): string {
  const path = [...above, ...issue.path];
  const name = nameOf(path);
  switch (issue.code) {
    case "unrecognized_keys": {
      const shown = issue.keys.slice(0, maxNames).map((key) => nameOf([...path, key]));
      const others = issue.keys.length - shown.length;
      const unknown = `${shown.join(", ")}${others === 0 ? "" : ` and ${others} others`}`;
      const known = issue.message === "" ? "nothing" : issue.message;
      return `Unknown member ${unknown}. It is not part of this call; check its spelling. Known members: ${known}.`;
    }
    case "invalid_type":
    case "invalid_value":
      return mustBe(name, expected(issue) ?? [], issue.input);
    case "too_small":
      if (issue.origin === "string") return `${name} must not be empty.`;
      if (issue.origin === "array") return `${name} must have at least ${items(issue.minimum)}.`;
      return `${name} must be ${issue.inclusive === false ? "greater than" : "at least"} ${issue.minimum}.`;
    case "too_big":
      if (issue.origin === "string")
        return `${name} must not be longer than ${issue.maximum} characters.`;
      if (issue.origin === "array")
        return `${name} must not have more than ${items(issue.maximum)}.`;
      return `${name} must be ${issue.inclusive === false ? "less than" : "at most"} ${issue.maximum}.`;
    case "invalid_union":
      return unionSentence(issue, path, name);
    case "custom":
      // A sentence of its own, or the end of one.
      return issue.message.endsWith(".")
        ? `${name}: ${issue.message}`
        : `${name} is not valid: ${issue.message}.`;
    default:
      return `${name} is not valid: ${issue.message}.`;
  }
}

/**
 * The closest alternative is assumed to be the one that was meant; where none is close, all are
 * named.
 */
function unionSentence(
  issue: Extract<Issue, { code: "invalid_union" }>,
  path: readonly PropertyKey[],
  name: string,
): string {
  const alternatives = issue.errors.filter((issues) => issues.length > 0);
  const { discriminator, options } = issue as {
    discriminator?: string;
    options?: readonly unknown[];
  };
  if (discriminator !== undefined && options !== undefined) {
    const given = (issue.input as Record<string, unknown> | undefined)?.[discriminator];
    return mustBe(
      name,
      options.map((option) => JSON.stringify(option)),
      given,
    );
  }
  const ofThisKind = alternatives.filter((issues) =>
    issues.every((one) => one.path.length > 0 || expected(one) === null),
  );
  const choice = choiceOf(ofThisKind, path);
  if (choice !== null) return choice;
  const closest = foremost(ofThisKind.toSorted((a, b) => a.length - b.length)[0] ?? []);
  if (closest !== undefined) return sentence(closest, path);
  const kinds = alternatives.flat().flatMap((one) => expected(one) ?? []);
  return kinds.length === 0 ? `${name} is not valid.` : mustBe(name, kinds, issue.input);
}

/** Of alternatives that are told apart by one member each: when none of these is given, or several are. */
function choiceOf(
  alternatives: readonly (readonly Issue[])[],
  path: readonly PropertyKey[],
): string | null {
  if (alternatives.length < 2) return null;
  const members = new Set<PropertyKey>();
  const isMissing: boolean[] = [];
  for (const [issue, ...others] of alternatives) {
    if (issue === undefined || others.length > 0) return null;
    const isUnknown = issue.code === "unrecognized_keys";
    if (!isUnknown && (expected(issue) === null || issue.input !== undefined)) return null;
    for (const member of isUnknown ? issue.keys : issue.path) members.add(member);
    isMissing.push(!isUnknown);
  }
  if (new Set(isMissing).size > 1 || members.size !== alternatives.length) return null;
  const names = [...members].map((member) => nameOf([...path, member])).toSorted();
  return isMissing[0] === true
    ? `Give ${anyOf(names)}.`
    : `Give only one of ${names.join(" and ")}.`;
}

function expected(issue: Issue): readonly string[] | null {
  if (issue.code === "invalid_type") return kinds[issue.expected] ?? [issue.expected];
  return issue.code === "invalid_value" ? issue.values.map((value) => JSON.stringify(value)) : null;
}

function mustBe(name: string, expected: readonly string[], input: unknown): string {
  return input === undefined
    ? `${name} is missing. It must be ${anyOf(expected)}.`
    : `${name} must be ${anyOf(expected)}.`;
}

function items(count: number | bigint): string {
  return Number(count) === 1 ? "one item" : `${count} items`;
}

/** `webhooks[0].url`, as it is written in code. */
function nameOf(path: readonly PropertyKey[]): string {
  if (path.length === 0) return "The body";
  const name = path
    .map((key, index) =>
      typeof key === "number" ? `[${key}]` : index === 0 ? String(key) : `.${String(key)}`,
    )
    .join("");
  return name.length > maxNameLength ? `${name.slice(0, maxNameLength)}…` : name;
}

function anyOf(values: readonly string[]): string {
  return values.length < 2
    ? values.join("")
    : `${values.slice(0, -1).join(", ")} or ${values.at(-1)}`;
}
