/**
 * The codes by which the program says what went wrong, or why something is as it is, and
 * `docs/errors.md`, which explains each: what the one has and the other has not is a finding.
 */

import { parseSync } from "vite";

/** Which argument of a call is the code. */
const codeArgument: Readonly<Record<string, number>> = {
  AnalyticsError: 0,
  CallError: 0,
  answerJson: 2,
  conflict: 0,
  connectionError: 0,
  missing: 0,
  problem: 1,
  record: 2,
  refused: 0,
  "#change": 2,
  "#fail": 0,
};

/** All but the one that zod wants of an issue. */
const code = /^(?!custom$)[a-z]+(_[a-z]+)*$/;
/** Those of the system and of TLS, which a switch tells apart. */
const systemCode = /^[A-Z]+(_[A-Z]+)*$/;

type Node = { type: string; [member: string]: unknown };

const page = "docs/errors.md";

export function codeFindings(
  files: readonly { path: string; text: string }[],
  text: string,
): string[] {
  const onPage = new Set(codesOnPage(text));
  const given = files.flatMap(({ path, text }) =>
    codesIn(path, text).map((name) => ({ name, path })),
  );
  const isWritten = (name: string): boolean =>
    files.some((file) => file.text.includes(`"${name}"`) || file.text.includes(`'${name}'`));
  return [
    ...given
      .filter(({ name }) => !onPage.has(name))
      .map(({ name, path }) => `${path}: ${name} is not explained in ${page}.`),
    ...[...onPage]
      .filter((name) => !isWritten(name))
      .map((name) => `${page}: ${name} is given by nothing.`),
  ];
}

function codesIn(path: string, text: string): string[] {
  const codes = new Set<string>();
  visit(parseSync(path, text).program as unknown as Node, (found) => codes.add(found));
  return [...codes];
}

function visit(node: Node, found: (code: string) => void): void {
  if (node.type === "CallExpression" || node.type === "NewExpression") {
    const name = calledName(node["callee"] as Node);
    const place = codeArgument[name];
    const argument = place === undefined ? undefined : (node["arguments"] as Node[])[place];
    if (argument !== undefined) takeTexts(argument, code, found);
  }
  if (
    node.type === "Property" &&
    ["code", "reason"].includes((node["key"] as { name?: string }).name ?? "")
  )
    takeTexts(node["value"] as Node, code, found);
  if (node.type === "SwitchCase" && isNode(node["test"]))
    takeTexts(node["test"], systemCode, found);
  for (const value of Object.values(node))
    for (const child of Array.isArray(value) ? value : [value])
      if (isNode(child)) visit(child, found);
}

function calledName(callee: Node): string {
  if (callee.type !== "MemberExpression") return String(callee["name"]);
  const { type, name } = callee["property"] as Node;
  return type === "PrivateIdentifier" ? `#${String(name)}` : String(name);
}

/** A text, or one of two or more that a condition chooses. */
function takeTexts(node: Node, pattern: RegExp, found: (code: string) => void): void {
  if (node.type === "Literal" && typeof node["value"] === "string" && pattern.test(node["value"]))
    found(node["value"]);
  if (node.type === "ConditionalExpression")
    for (const side of ["consequent", "alternate"]) takeTexts(node[side] as Node, pattern, found);
  if (node.type === "LogicalExpression")
    for (const side of ["left", "right"]) takeTexts(node[side] as Node, pattern, found);
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as Node).type === "string";
}

/** The page has them in the first column of its tables. */
function codesOnPage(page: string): string[] {
  const cells = [...page.matchAll(/^\| (`[^|]*) \|/gm)].map(([, cell = ""]) => cell);
  return cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name));
}
