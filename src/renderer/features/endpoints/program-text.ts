/**
 * The program of a test endpoint as one line of text: `503 ×3 → hang 5.1 s → reset for track → 200
 * after 4.8 s`. Printing leaves out what a line has no room for (headers, bodies); typing keeps
 * those of the steps that stay.
 */

import type { AnswerOf } from "../../../contract/contract.ts";
import { stepActions, stepBehaviours } from "../../../domain/configuration.ts";
import { messageTypes, type MessageType } from "../../../domain/states.ts";
import { durationText, parseDuration } from "../../kit/duration-text.ts";
import { forwardWords, takeForwardWord } from "./forward-text.ts";

export type ProgramStep = AnswerOf<"endpoints.get">["steps"][number];

export const printProgram = (steps: readonly ProgramStep[]): string =>
  steps.map(printStep).join(" → ");

export function printStep(step: ProgramStep): string {
  const { times, chance, delayMs = 0 } = step;
  const words = [printAction(step)];
  if (delayMs > 0) words.push(`after ${durationText(delayMs)}`);
  if (chance !== undefined) words.push(`${percentOf(chance)} %`);
  if (times !== undefined && (times > 1 || chance !== undefined)) words.push(`×${times}`);
  const match = printMatch(step.match);
  if (match !== "") words.push(`for ${match}`);
  return words.join(" ");
}

/** What it does, without for whom and how often. */
export function printAction(step: ProgramStep): string {
  const { do: does, status, body, forMs } = step;
  const odd = status === undefined || status === 200 ? "" : ` ${status}`;
  const size = body === undefined ? "" : ` ${bytesIn(body).toLocaleString("en-US")} B`;
  switch (does) {
    case "answer":
      return String(status ?? 200);
    case "hang":
      return forMs === undefined ? "hang" : `hang ${durationText(forMs)}`;
    case "drip":
      return `drip${odd}${size}${forMs === undefined ? "" : ` over ${durationText(forMs)}`}`;
    case "truncate":
      return `truncate${odd}${size}`;
    case "redirect":
      return `redirect ${status ?? 302}`;
    case "forward":
      return `forward ${forwardWords(step)}`.trimEnd();
    default:
      return does;
  }
}

const bytesIn = (text: string): number => new TextEncoder().encode(text).byteLength;

export function printMatch(match: ProgramStep["match"]): string {
  const { type, event, userId } = match ?? {};
  return [
    type,
    event === undefined ? undefined : `event:${quoted(event)}`,
    userId === undefined ? undefined : `user:${quoted(userId)}`,
  ]
    .filter((word) => word !== undefined)
    .join(" ");
}

const percentOf = (chance: number): number => Number((chance * 100).toPrecision(12));
const quoted = (text: string): string =>
  /^[\w.@-]+$/.test(text) && !text.includes("->") ? text : JSON.stringify(text);

type ParsedProgram = { steps: ProgramStep[]; problem: null } | { steps: null; problem: string };

const token =
  /\s+|(→|->|=>|,(?=\s|$))|((?:event:|user:|type:)?"(?:[^"\\]|\\.)*"|(?:(?!->|=>)[^\s→",]|,(?!\s|$))+|\S)/gsy;

export function parseProgram(text: string): ParsedProgram {
  const groups: string[][] = [[]];
  for (const [, arrow, word] of text.matchAll(token)) {
    if (arrow !== undefined) groups.push([]);
    else if (word !== undefined) groups.at(-1)?.push(word);
  }
  const written = groups.filter((words) => words.length > 0);
  if (written.length === 0)
    return { steps: null, problem: "A program has at least one step, for example 503 ×3 → 200." };
  const steps: ProgramStep[] = [];
  for (const words of written) {
    const step = parseStep(words);
    if (typeof step === "string") return { steps: null, problem: step };
    steps.push(step);
  }
  return { steps, problem: null };
}

/** Two have a second name, by what an attempt makes of them. */
const actions: Record<string, ProgramStep["do"]> = {
  ...Object.fromEntries(stepActions.map((action) => [action, action])),
  timeout: "hang",
  cut: "truncate",
};

const isStatus = (word: string | undefined): boolean =>
  word !== undefined && /^[2-9]\d\d$/.test(word);
const unit = /^(ms|s|m|min|h)$/i;

/** The step, or what is wrong with it. */
function parseStep(words: readonly string[]): ProgramStep | string {
  // 503×3 needs no space.
  const [, what, times] = /^([a-z]+?|\d+)([×x*]\d+)$/i.exec(words[0] ?? "") ?? [];
  const rest =
    what === undefined || times === undefined ? [...words] : [what, times, ...words.slice(1)];
  const [first = ""] = rest;
  const action = Object.hasOwn(actions, first.toLowerCase())
    ? actions[first.toLowerCase()]
    : undefined;
  if (action === undefined && !isStatus(first)) {
    return `“${first}” is not a step. Write a status from 200 to 999, or ${stepActions.slice(1).join(", ")}.`;
  }
  const step: ProgramStep = { do: action ?? "answer" };
  if (action !== undefined) rest.shift();
  if (
    stepBehaviours[step.do].answers &&
    isStatus(rest[0]) &&
    !/^(%|B)$/i.test(rest[1] ?? "") &&
    !unit.test(rest[1] ?? "")
  )
    step.status = Number(rest.shift());
  while (rest.length > 0) {
    const wrong = takeWord(step, rest);
    if (wrong !== null) return wrong;
  }
  return step;
}

/** Takes the next word, or the next few that belong together, off the list. */
function takeWord(step: ProgramStep, rest: string[]): string | null {
  const word = rest.shift() ?? "";
  const lower = word.toLowerCase();
  const times =
    /^[×x*]\s*(\d+)$/.exec(lower)?.[1] ?? (/^[×x*]$/.test(lower) ? rest.shift() : undefined);
  if (times !== undefined) {
    if (!/^[1-9]\d*$/.test(times))
      return `“${word}” is not a number of requests. Write ×3 for three.`;
    step.times = Number(times);
    return null;
  }
  if (lower === "after") return takeDuration(rest, "after", (ms) => (step.delayMs = ms));
  if (lower === "over" && step.do === "drip")
    return takeDuration(rest, "over", (ms) => (step.forMs = ms));
  if (lower === "for") return takeMatch(step, rest);
  const forwarding = step.do === "forward" ? takeForwardWord(step, lower, rest) : undefined;
  if (forwarding !== undefined) return forwarding;
  if (/^[\d.]+%$/.test(lower) || (/^[\d.]+$/.test(lower) && rest[0] === "%")) {
    if (rest[0] === "%") rest.shift();
    const share = Number(lower.replace("%", ""));
    if (!(share >= 0 && share <= 100))
      return `“${word}” is not a share. Write 30 % for three in ten.`;
    step.chance = share / 100;
    return null;
  }
  if (/^[\d,]+b$/.test(lower) || (/^[\d,]+$/.test(lower) && /^b$/i.test(rest[0] ?? ""))) {
    if (/^b$/i.test(rest[0] ?? "")) rest.shift();
    step.body = ".".repeat(Math.min(Number.parseInt(lower.replaceAll(",", ""), 10), 1024 * 1024));
    return null;
  }
  if (step.do === "hang" && /^[\d.]/.test(lower)) {
    rest.unshift(word);
    return takeDuration(rest, "hang", (ms) => (step.forMs = ms));
  }
  return `“${word}” is not understood. An action can be followed by ×3, after 2 s, 30 %, or for track.`;
}

function takeDuration(rest: string[], before: string, take: (ms: number) => void): string | null {
  const number = rest.shift() ?? "";
  const text = unit.test(rest[0] ?? "") ? `${number} ${rest.shift()}` : number;
  const ms = parseDuration(text);
  if (ms === null) return `“${before} ${text}” is not a time. Write ${before} 5.1 s.`;
  take(ms);
  return null;
}

function takeMatch(step: ProgramStep, rest: string[]): string | null {
  const match: NonNullable<ProgramStep["match"]> = {};
  while (rest.length > 0) {
    const word = rest[0] ?? "";
    const [, key = "", value = ""] = /^(?:(event|user|type):)?(.*)$/s.exec(word) ?? [];
    const text = value.startsWith('"') ? unquoted(value) : value;
    if (key === "event") match.event = text;
    else if (key === "user") match.userId = text;
    else if (isType(text)) match.type = text;
    else break;
    rest.shift();
  }
  if (Object.keys(match).length === 0)
    return "“for” requires a message type, event:NAME or user:ID, for example for track.";
  step.match = match;
  return null;
}

const isType = (text: string): text is MessageType =>
  (messageTypes as readonly string[]).includes(text);

function unquoted(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text.slice(1, -1);
  }
}

/** An example, for the user to replace. */
export const usualReceiver = "http://127.0.0.1:3000/";

/** The steps that were typed, with the headers and bodies of those that were there before. */
export function keepExtras(
  typed: readonly ProgramStep[],
  before: readonly ProgramStep[],
): ProgramStep[] {
  const free = before.map((step): ProgramStep | null => step);
  const same = typed.map((step) => {
    const place = free.findIndex((each) => each !== null && printStep(each) === printStep(step));
    if (place < 0) return null;
    const found = free[place] ?? null;
    free[place] = null;
    return found;
  });
  const to = before.findLast((step) => step.to !== undefined)?.to;
  return typed.map((step, place) => {
    const kept = same[place] ?? null;
    if (kept !== null) return kept;
    const old = free[place];
    // A line has no URLs: a forward that is typed leads where the others do.
    if (step.do === "forward") {
      const { headers, body } = old?.do === "forward" && step.status !== undefined ? old : {};
      return {
        ...step,
        ...(headers ? { headers } : {}),
        ...(body ? { body } : {}),
        to: old?.to ?? to ?? usualReceiver,
      };
    }
    if (old === null || old === undefined || old.do !== step.do) return step;
    const isSameSize = old.body !== undefined && bytesIn(old.body) === step.body?.length;
    const { headers, body } = {
      headers: old.headers,
      body: step.body === undefined || isSameSize ? old.body : step.body,
    };
    return {
      ...step,
      ...(headers === undefined ? {} : { headers }),
      ...(body === undefined ? {} : { body }),
    };
  });
}

/** Headers as lines of text: `Retry-After: 5`. */
export const headerLines = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");

type ParsedHeaders =
  | { headers: Record<string, string>; problem: null }
  | { headers: null; problem: string };

export function parseHeaderLines(text: string): ParsedHeaders {
  const entries: [string, string][] = [];
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(colon, 0)).trim();
    if (name === "")
      return {
        headers: null,
        problem: `“${line.trim()}” is not a header. Write one per line, for example Retry-After: 5.`,
      };
    if (entries.some(([other]) => other.toLowerCase() === name.toLowerCase()))
      return { headers: null, problem: `The header ${name} is set twice.` };
    entries.push([name, line.slice(colon + 1).trim()]);
  }
  return { headers: Object.fromEntries(entries), problem: null };
}
