/**
 * Captions of a story. What a caption says of the pipeline stands in braces and is read from what
 * happened: `{ada} enters {Big spenders}, which has {Big spenders.size} members`. Numbers and names
 * outside of braces are refused when the file is read, so that a caption cannot say anything else
 * than the screen does.
 */

import { isObject, type Json } from "../../domain/json.ts";
import { isSettled } from "../../domain/states.ts";
import { membersOf } from "../run/audiences.ts";
import { allAttempts, type SeenAttempt } from "../run/deliveries.ts";
import { allRequests, type History } from "../run/history.ts";
import type { StoryNames } from "./scenes.ts";

/** A value is something that was read from the pipeline. */
type CaptionPart = { text: string; value: boolean };

const valuesOf = {
  audience: ["size", "entered", "left"],
  destination: ["delivered", "waiting", "failed", "expired", "attempts", "last", "took"],
  endpoint: ["requests", "last"],
} as const;
const valuesOfClock = ["elapsed", "moved"] as const;

const placeholder = /\{([^{}]*)\}/g;

/** What is wrong with a caption, in sentences. */
export function problemsOfCaption(text: string, names: StoryNames, isSentence = true): string[] {
  const problems = [...text.matchAll(placeholder)].flatMap(([, inside = ""]) => {
    const wrong = problemOfPlaceholder(inside, names);
    return wrong === null ? [] : [wrong];
  });
  const plain = text.replaceAll(placeholder, " ");
  if (/[{}]/.test(plain)) problems.push("A brace is not closed.");
  // What is highlighted is a text of the screen, which may have any.
  if (!isSentence) return problems;
  const number = /\d+/.exec(plain)?.[0];
  if (number !== undefined)
    problems.push(
      `The number ${number} does not come from what happened. Write a value in braces, such as {clock.elapsed}, or spell it out.`,
    );
  const words = ` ${plain.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, " ")} `;
  for (const name of Object.values(names).flat())
    if (words.includes(` ${name.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, " ")} `))
      problems.push(`Write the name ${name} in braces: {${name}}.`);
  return problems;
}

function problemOfPlaceholder(inside: string, names: StoryNames): string | null {
  if (inside.startsWith("clock.")) {
    const value = inside.slice("clock.".length);
    return valuesOfClock.some((each) => each === value)
      ? null
      : `The clock has no value ${value}. Known: ${valuesOfClock.join(", ")}.`;
  }
  const found = parse(inside, names);
  if (found.length === 0) {
    const known = [...new Set([...Object.values(names).flat(), "clock.elapsed", "clock.moved"])];
    return `{${inside}} names nothing of this file. Known: ${known.join(", ")}.`;
  }
  if (found.some(({ kind, value }) => hasValue(kind, value))) return null;
  const [{ kind, name }] = found as [Found];
  const values = kind === "user" ? [] : valuesOf[kind];
  return `The ${kind} ${name} has no such value. Known: ${values.join(", ")}.`;
}

type Found = { kind: keyof StoryNames; name: string; value: string | null };

const hasValue = (kind: keyof StoryNames, value: string | null): boolean =>
  value === null || kind === "user" || (valuesOf[kind] as readonly string[]).includes(value);

/** A name may contain dots itself. */
function parse(inside: string, names: StoryNames): Found[] {
  return (Object.keys(names) as (keyof StoryNames)[]).flatMap((kind) =>
    names[kind].flatMap((name): Found[] => {
      if (inside === name) return [{ kind, name, value: null }];
      return inside.startsWith(`${name}.`)
        ? [{ kind, name, value: inside.slice(name.length + 1) }]
        : [];
    }),
  );
}

export type StoryMoment = {
  history: History;
  startedAt: number;
  /** When the scene began. */
  before: number;
  names: StoryNames;
};

/** Throws a sentence when what a caption says is not there. */
export function fillCaption(text: string, moment: StoryMoment): CaptionPart[] {
  const parts: CaptionPart[] = [];
  let last = 0;
  for (const match of text.matchAll(placeholder)) {
    parts.push({ text: text.slice(last, match.index), value: false });
    parts.push({ text: valueOf(match[1] ?? "", moment), value: true });
    last = match.index + match[0].length;
  }
  parts.push({ text: text.slice(last), value: false });
  return parts.filter((part) => part.text !== "");
}

function valueOf(inside: string, moment: StoryMoment): string {
  const { history, startedAt, before, names } = moment;
  if (inside === "clock.elapsed") return spanWords(history.now - startedAt);
  if (inside === "clock.moved") return spanWords(history.now - before);
  for (const { kind, name, value } of parse(inside, names)) {
    if (!hasValue(kind, value)) continue;
    const text =
      kind === "user" ? userValue(name, value, history) : thingValue(kind, name, value, history);
    if (text !== null) return text;
  }
  throw new Error(`The caption says {${inside}}, which has no value at this moment.`);
}

/** A user is called as the last identify says, and by the id before that. */
function userValue(userId: string, value: string | null, { messages }: History): string | null {
  const traits = messages.flatMap(({ details }): { [name: string]: Json }[] => {
    if (details.userId !== userId || details.type !== "identify") return [];
    const body = typeof details.raw === "string" ? (JSON.parse(details.raw) as Json) : null;
    const own = isObject(body) ? body["traits"] : undefined;
    return isObject(own) ? [own] : [];
  });
  const found = traits.findLast((each) => each[value ?? "name"] !== undefined)?.[value ?? "name"];
  if (found === undefined) return value === null ? userId : null;
  return typeof found === "string" ? found : JSON.stringify(found);
}

function thingValue(
  kind: "audience" | "destination" | "endpoint",
  name: string,
  value: string | null,
  history: History,
): string | null {
  if (value === null) return name;
  if (kind === "audience") return audienceValue(name, value, history);
  return kind === "endpoint"
    ? endpointValue(name, value, history)
    : destinationValue(name, value, history);
}

function audienceValue(name: string, value: string, { audiences }: History): string | null {
  const audience = audiences.find((each) => each.name === name);
  if (audience === undefined) return null;
  if (value === "size") return String(membersOf(audience).size);
  const change = value === "entered" ? "in" : "out";
  return String(audience.notices.filter((notice) => notice.change === change).length);
}

function endpointValue(name: string, value: string, history: History): string | null {
  if (value === "requests")
    return String(allRequests(history, [name]).filter(({ endpoint }) => endpoint === name).length);
  return resultOf(
    lastOf(
      history.deliveries.flatMap(({ attempts }) => attempts),
      name,
    ),
  );
}

function destinationValue(
  name: string,
  value: string,
  { deliveries, now }: History,
): string | null {
  const own = deliveries.filter(({ destination }) => destination === name);
  if (value === "attempts") return String(own.flatMap(allAttempts).length);
  if (value === "last") return resultOf(lastOf(own.flatMap(({ attempts }) => attempts)));
  if (value !== "took") return String(own.filter(({ state }) => state === value).length);
  const newest = own.at(-1);
  if (newest === undefined) return null;
  return spanWords((isSettled(newest.state) ? newest.at : now) - newest.message.at);
}

function lastOf(attempts: readonly SeenAttempt[], webhook?: string): SeenAttempt | undefined {
  return attempts
    .filter((attempt) => webhook === undefined || attempt.webhook === webhook)
    .toSorted((one, other) => one.at - other.at)
    .at(-1);
}

const resultOf = (attempt: SeenAttempt | undefined): string | null =>
  attempt === undefined ? null : String(attempt.result);

const units: readonly [name: string, many: string, ms: number][] = [
  ["day", "days", 86_400_000],
  ["hour", "hours", 3_600_000],
  ["minute", "minutes", 60_000],
  ["second", "seconds", 1000],
];

/** The two largest units: `7 days 5 seconds`. */
function spanWords(ms: number): string {
  let left = Math.max(0, ms);
  const words: string[] = [];
  for (const [name, many, size] of units) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0) words.push(`${count} ${count === 1 ? name : many}`);
  }
  return words.length === 0 ? "no time" : words.slice(0, 2).join(" ");
}
