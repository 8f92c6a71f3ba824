/**
 * Each thing has one name, wherever it is named: in the inspector, in the API, in sentences of the program and on the pages. Held here are
 * the other names that such things commonly have; words that also mean something else (event, request, retry) cannot be.
 */

import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseSync } from "vite";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));

const otherNames: Record<string, RegExp> = {
  source: /\b(event|data) (stream|producer|origin)s?\b|\bproducers?\b/i,
  "write key": /\b(api|project|source) keys?\b|\bapikeys?\b/i,
  destination: /\b(sink|connector|subscriber)s?\b/i,
  webhook: /\b(callback|hook|target) urls?\b|\bwebhook (endpoint|target)s?\b/i,
  "shared secret": /\b(sign(ing|ature)|webhook|hmac) (key|secret)s?\b/i,
  decision: /\b(routing|filter) (result|outcome|verdict)s?\b/i,
  delivery: /\b(re-?deliver(y|ies|ed)|dispatch(es|ed)?|delivery (job|task)s?)\b/i,
  round: /\b(retry|delivery) (cycle|iteration|pass(es)?)\b/i,
  attempt: /\b(delivery|webhook) (try|tries|runs?)\b/i,
  "waiting, failed, expired, cancelled":
    /\b(pending|dead[- ]letter(s|ed)?|backed off|timed-out delivery|aborted delivery|dropped delivery)\b/i,
  "test endpoint": /\b(mock|fake|dummy|stub|simulated) (endpoint|server|receiver|webhook)s?\b/i,
  clock: /\b(virtual|simulated|fake|mock) (clock|time)\b|\btime travel\b/i,
};

type Text = { at: string; text: string };

/** What is between backticks or fences is somebody's code. */
function textsOfPage(path: string): Text[] {
  const blank = (code: string): string => code.replaceAll(/[^\n]/g, " ");
  const prose = readFileSync(root + path, "utf8")
    .replaceAll(/^```.*?^```$/gms, blank)
    .replaceAll(/`[^`\n]*`/g, blank);
  return prose.split("\n").map((text, line) => ({ at: `${path}:${line + 1}`, text }));
}

type SyntaxNode = { type: string; start: number; [member: string]: unknown };

/** Strings, the text of templates and of JSX; of the contract the names of members too, in words. */
function textsOfSource(path: string): Text[] {
  const source = readFileSync(root + path, "utf8");
  const found: Text[] = [];
  const walk = (node: SyntaxNode): void => {
    const { type, start, value, name } = node;
    const text = type === "TemplateElement" ? (value as { cooked: string }).cooked : value;
    const isText = type === "Literal" || type === "JSXText" || type === "TemplateElement";
    const at = `${path}:${source.slice(0, start).split("\n").length}`;
    if (isText && typeof text === "string") found.push({ at, text });
    if (type === "Identifier" && path.startsWith("src/contract/")) found.push({ at, text: words(name as string) });
    for (const member of Object.values(node)) {
      for (const child of Array.isArray(member) ? member : [member]) if (isSyntaxNode(child)) walk(child);
    }
  };
  walk(parseSync(path, source).program as unknown as SyntaxNode);
  return found;
}

function words(name: string): string {
  return name.replaceAll(/([a-z])([A-Z])/g, "$1 $2");
}

function isSyntaxNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && typeof (value as SyntaxNode)["type"] === "string";
}

function otherNamesIn(texts: readonly Text[]): string[] {
  return texts.flatMap(({ at, text }) =>
    Object.entries(otherNames).flatMap(([name, others]) => {
      const found = others.exec(text)?.[0];
      return found === undefined ? [] : [`${at}: “${found}”, where ${name} is meant`];
    }),
  );
}

const filesIn = (patterns: string[]): string[] => globSync(patterns, { cwd: root }).map((path) => path.replaceAll("\\", "/"));

test("another name is found in prose, in strings, in JSX and in names, and not inside a word or somebody's code", () => {
  const found = (...texts: string[]): number => otherNamesIn(texts.map((text) => ({ at: "", text }))).length;
  expect(found("the dead-letter queue", "a mock server", "redelivered", words("signingKeys"), "two API keys")).toBe(5);
  expect(found("spending", "synchronous sinking", "a monkey", "resending")).toBe(0);
});

test("no page gives another name to a thing that has one", () => {
  const pages = filesIn(["*.md", "docs/**/*.md"]);
  expect(pages.length).toBeGreaterThan(20);
  expect(pages.flatMap((path) => otherNamesIn(textsOfPage(path)))).toEqual([]);
});

test("no text of the program gives another name to a thing that has one", () => {
  const files = filesIn(["src/**/*.{ts,tsx}"]).filter((path) => !/\.(test|fixture)\.tsx?$/.test(path));
  const texts = files.flatMap(textsOfSource);
  expect(texts.length).toBeGreaterThan(10_000);
  expect(otherNamesIn(texts)).toEqual([]);
});
