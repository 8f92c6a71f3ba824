/**
 * Each thing has one name, wherever it is named: in the inspector, in the API, in sentences of the
 * program and on the pages. Held here are the other names that such things commonly have; words
 * that also mean something else (event, request, retry) cannot be.
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

/**
 * Ordinary technical words, and the odd ones that they replaced: the texts and the names of these
 * folders are held to them.
 */
const oddWords: Record<string, RegExp> = {
  "accepted, claimed, requeued": /\b(taken (in|up)|takes? (in|up))\b/i,
  "notified, sent": /\b(told|tells)\b/i,
  create: /\bmake (it|one|an?|the first)\b/i,
  again: /\banew\b/i,
  "permanently deleted": /\bfor good\b|\blet go\b/i,
  manually: /\bby hand\b/i,
  "entered, left": /\bwho comes\b|\d+ came\b/i,
  "Wire format": /\btaken for\b/i,
  "Queue call": /\bcall it\b/i,
  "send directly": /\bstraight as\b/i,
  users: /\bwhom\b/i,
  "What is sent": /\bwhat goes out\b/i,
  "why it wasn't delivered": /\bwent nowhere\b/i,
  "is not retried": /\bfailure is retried\b|\btried again\b/i,
  response: /\bno answer came\b|\bwhole answer\b/i,
  "real time": /\bwall (speed|time)\b|\bthe wall\b/i,
  "not found": /\bthere is no such\b/i,
  rewind: /\bset back to\b/i,
  "delivery scheduler": /\bstations?\b/i,
  "ingest server": /\banswering[- ]server\b/i,
  "internal messages": /\bown[- ]messages?\b/i,
  screens: /\bsights?\b/i,
  "timeline model": /\bcourse of\b|\buse course\b/i,
  "empty state": /\bnothing[- ]here\b/i,
  "use debounced": /\buse rested\b/i,
  "saved scale, cached rows, now axis": /\b(kept[- ]scale|held[- ]rows|around-now)\b/i,
  "max…":
    /\bmost (shown|held|columns|lanes|exported|ticks|rounds|beads|suggestions|lines|steps)\b/i,
};

const oddWordsOfPeople: Record<string, RegExp> = {
  "notify, notifier": /\btell(s|ers?|ing)?\b/i,
  "create, editor": /\bmakers?\b/i,
  "recheck, evaluate": /\blook(s|ed|ing)? at\b/i,
  return: /\banswers (what|whether|how|false|true|null|a|an|the)\b/i,
  "continue, retry": /\b(go|goes|gone|went|going) on\b/i,
  "real time": /\bthe wall\b/i,
  "receive, arrive": /\bc(ame|omes?) (in|of|with|along|by)\b/i,
  "max…, min…": /\b(most|fewest|longest|least) (rows|names|messages|text|rest ms|reading ms)\b/i,
  "any client": /\banybody's\b/i,
};

/** In sentences that users read; code has other uses for these words. */
const oddSentences: Record<string, RegExp> = {
  "in progress": /\bunder way\b/i,
  "appears twice, already exists": /\bis there (twice|already)\b/i,
  "requires, accepts": /\bwants (a|an|the)\b|\btakes (bodies|users|messages)\b/i,
  "missing, does not exist": /\b(is|was) not there\b|^nothing is at\b|\bthere is nothing at\b/i,
  "exit code": /\bends with [012]\b/i,
  "free disk space": /\bmake room\b/i,
  permissions: /\brights\b/i,
  creates: /^makes an? /i,
  "has a bug": /\bsomething (went wrong|unexpected)\b/i,
  unknown: /\bnot known here\b/i,
  "when it started": /\bat its start\b/i,
  again: /\banew\b/i,
};

type Text = { at: string; text: string };

/**
 * Pages are held to `oddWords` too, and to these, which in code are somebody's names or too common
 * to find there.
 */
const oddProse: Record<string, RegExp> = {
  "error codes and fixes": /\bcures?\b/i,
  fixed: /\bmended\b/i,
  "notifies, shows, reports": /\btell(s|ing)?\b/i,
  "not a clause as a subject":
    /^\s*([-*] )?(What|Whoever|Whatever|Whom) (is|are|was|were|comes?|came|goes|has|had)\b[^?]*\.|\bwh(at|o) (came|comes?) of\b/,
  forever: /\bfor ever\b/i,
  "the ordinary word":
    /\b(whyever|whosoever|reckon(s|ed)?|came to nothing|all the same|in vain|before one's eyes)\b/i,
  continues: /\bgo(es)? on (by|as|with)\b/i,
  "by the clock, in real time": /\bgo(es)? by the\b|\bby the wall\b/i,
  unknown: /\bnobody knows\b|\bknows nobody\b/i,
  "in progress": /\bunder way\b/i,
};

/** What is between backticks or fences is somebody's code. */
function textsOfPage(path: string): Text[] {
  const blank = (code: string): string => code.replaceAll(/[^\n]/g, " ");
  const prose = readFileSync(root + path, "utf8")
    .replaceAll(/^```.*?^```$/gms, blank)
    // Names of tests, which are sentences of their own.
    .replaceAll(/\[[^\]\n]*\]\(\.\.\/[^)]*\.test\.ts\)/g, blank)
    .replaceAll(/`[^`\n]*`/g, blank);
  return prose.split("\n").map((text, line) => ({ at: `${path}:${line + 1}`, text }));
}

type SyntaxNode = { type: string; start: number; [member: string]: unknown };

/** Strings, the text of templates and of JSX; with `names`, the identifiers too, in words. */
function textsOfSource(path: string, names = path.startsWith("src/contract/")): Text[] {
  const texts = parsedTexts.get(path) ?? parseTexts(path);
  parsedTexts.set(path, texts);
  return names ? texts : texts.filter(({ isName }) => !isName);
}

const parsedTexts = new Map<string, (Text & { isName: boolean })[]>();

function parseTexts(path: string): (Text & { isName: boolean })[] {
  const source = readFileSync(root + path, "utf8");
  const found: (Text & { isName: boolean })[] = [];
  const add = (start: number, text: string, isName: boolean): void =>
    void found.push({
      get at() {
        return `${path}:${source.slice(0, start).split("\n").length}`;
      },
      ...{ text, isName },
    });
  const walk = (node: SyntaxNode): void => {
    const { type, start, value, name } = node;
    const text = type === "TemplateElement" ? (value as { cooked: string }).cooked : value;
    const isText = type === "Literal" || type === "JSXText" || type === "TemplateElement";
    if (isText && typeof text === "string") add(start, text, false);
    if (type === "Identifier") add(start, words(name as string), true);
    for (const member of Object.values(node)) {
      for (const child of Array.isArray(member) ? member : [member])
        if (isSyntaxNode(child)) walk(child);
    }
  };
  walk(parseSync(path, source).program as unknown as SyntaxNode);
  return found;
}

function commentsOf(path: string): Text[] {
  const source = readFileSync(root + path, "utf8");
  return parseSync(path, source).comments.map(({ value, start }) => ({
    at: `${path}:${source.slice(0, start).split("\n").length}`,
    text: value.replaceAll(/\s*\n\s*\*\s*/g, " "),
  }));
}

function words(name: string): string {
  return name.replaceAll(/([a-z])([A-Z])/g, "$1 $2");
}

function isSyntaxNode(value: unknown): value is SyntaxNode {
  return (
    typeof value === "object" && value !== null && typeof (value as SyntaxNode)["type"] === "string"
  );
}

function otherNamesIn(texts: readonly Text[], wrong = otherNames): string[] {
  const all = Object.entries(wrong);
  // Most texts are names, and most names come often.
  const right = new Set<string>();
  return texts.flatMap((one) => {
    if (right.has(one.text)) return [];
    const found = all.flatMap(([name, others]) => {
      const other = others.exec(one.text)?.[0];
      return other === undefined ? [] : [`${one.at}: “${other}”, where ${name} is meant`];
    });
    if (found.length === 0) right.add(one.text);
    return found;
  });
}

const filesIn = (patterns: string[]): string[] =>
  globSync(patterns, { cwd: root }).map((path) => path.replaceAll("\\", "/"));

test("another name is found in prose, in strings, in JSX and in names, and not inside a word or somebody's code", () => {
  const found = (...texts: string[]): number =>
    otherNamesIn(texts.map((text) => ({ at: "", text }))).length;
  expect(
    found(
      "the dead-letter queue",
      "a mock server",
      "redelivered",
      words("signingKeys"),
      "two API keys",
    ),
  ).toBe(5);
  expect(found("spending", "synchronous sinking", "a monkey", "resending")).toBe(0);
});

test("no page gives another name to a thing that has one", () => {
  const pages = filesIn(["*.md", "docs/**/*.md"]);
  expect(pages.length).toBeGreaterThan(20);
  expect(pages.flatMap((path) => otherNamesIn(textsOfPage(path)))).toEqual([]);
});

test("the pages are written in plain technical English: an odd word that was replaced is found when it comes back", () => {
  const found = (text: string): string[] =>
    otherNamesIn([{ at: "", text }], { ...oddWords, ...oddProse });
  expect(found("What was accepted is safe.")).toHaveLength(1);
  expect(found("Every code, and its cure")).toHaveLength(1);
  expect(found("Receivers are told of it")).toHaveLength(1);
  expect(found("Certificates are made anew")).toHaveLength(1);
  expect(found("What is sent? Accepted messages, and what they contain.")).toEqual([]);
  const pages = filesIn(["*.md", "docs/**/*.md"]);
  expect(
    pages.flatMap((path) => otherNamesIn(textsOfPage(path), { ...oddWords, ...oddProse })),
  ).toEqual([]);
});

test("no text of the program gives another name to a thing that has one", () => {
  const files = filesIn(["src/**/*.{ts,tsx}"]).filter(
    (path) => !/\.(test|fixture)\.tsx?$/.test(path),
  );
  const texts = files.flatMap((path) => textsOfSource(path));
  expect(texts.length).toBeGreaterThan(10_000);
  expect(otherNamesIn(texts)).toEqual([]);
});

test("sentences of the program and of the pages name the subject first: one that was replaced is found when it comes back", () => {
  const found = (text: string): string[] => otherNamesIn([{ at: "", text }], oddSentences);
  expect(found("Nothing is at /v2.")).toHaveLength(1);
  expect(found("The header X-A is there twice.")).toHaveLength(1);
  expect(found("Check its rights.")).toHaveLength(1);
  expect(found("Another Hookyard is running, and the file exists.")).toEqual([]);
  const files = filesIn(["src/**/*.{ts,tsx}"]).filter(
    (path) => !/\.(test|fixture)\.tsx?$/.test(path),
  );
  expect(
    otherNamesIn(
      files.flatMap((path) => textsOfSource(path, false)),
      oddSentences,
    ),
  ).toEqual([]);
  const pages = filesIn(["*.md", "docs/**/*.md"]);
  expect(otherNamesIn(pages.flatMap(textsOfPage), oddSentences)).toEqual([]);
});

test("the program is written in plain technical English: an odd word that was replaced is found when it comes back", () => {
  const odd = [
    words("useRested"),
    "Make an audience",
    "What receivers were told",
    "gone for good",
    words("mostShown"),
  ];
  expect(
    otherNamesIn(
      odd.map((text) => ({ at: "", text })),
      oddWords,
    ),
  ).toHaveLength(odd.length);
  const plain = [
    "src/{renderer,contract,client,scenarios,testing,headless,main,preload}/**/*.{ts,tsx}",
    "src/engine/*.ts",
    "src/engine/{ingest,route,deliver,clock}/*.ts",
    "test/e2e/pages/*.ts",
  ];
  const files = filesIn(plain).filter((path) => !/\.(test|fixture)\.tsx?$/.test(path));
  const names = files.map((path) => ({ at: path, text: path.replaceAll("-", " ") }));
  expect(
    otherNamesIn([...names, ...files.flatMap((path) => textsOfSource(path, true))], oddWords),
  ).toEqual([]);
});

test("profiles, audiences and what is beside them are written in plain technical English, comments included", () => {
  const files = filesIn([
    "src/engine/{audiences,profiles,deletions,clients,endpoints,workspaces}/*.ts",
    "src/engine/profile-*.ts",
  ]);
  const texts = files
    .filter((path) => !path.endsWith(".test.ts"))
    .flatMap((path) => [...textsOfSource(path, true), ...commentsOf(path)]);
  expect(texts.length).toBeGreaterThan(3_000);
  expect(otherNamesIn(texts, { ...oddWords, ...oddWordsOfPeople })).toEqual([]);
});
