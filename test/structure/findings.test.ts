import { expect, test } from "vitest";
import { findingsIn, type Repository } from "./findings.ts";
import { readSourceFile } from "./source-file.ts";

const manifest = { scripts: { serve: "node src/serve.ts" } };

function findings(texts: Record<string, string>, rest: Partial<Repository> = {}): string[] {
  return findingsIn({
    files: Object.entries(texts).map(([path, text]) => readSourceFile(path, text)),
    manifest,
    commandsOf: () => [],
    exceptions: { long: {}, silentPackages: {} },
    ...rest,
  });
}

test("an export that another file imports is alive, under any name and in any way", () => {
  const texts = {
    "src/serve.ts": `import { a } from "./a.ts"; import { b as c } from "./b.ts"; import * as all from "./d.ts"; a(c, all); await import("./e.ts");`,
    "src/a.ts": `export function a(...given: unknown[]) {} export type { T } from "./t.ts";`,
    "src/b.ts": "export const b = 1;",
    "src/d.ts": "export const one = 1, two = 2;",
    "src/e.ts": `export const late = 1; const kind: import("./k.ts").K = 1;`,
    "src/k.ts": "export type K = 1;",
    "src/t.ts": "export type T = string;",
  };
  expect(
    findings({ ...texts, "src/a.ts": "export function a(...given: unknown[]) {}", "src/t.ts": "" }),
  ).toEqual(["src/t.ts is reached by nothing."]);
  expect(findings(texts)).toEqual(["src/a.ts: T is used by nobody."]);
});

test("an export that nobody imports is named, and so is one that only its own file uses", () => {
  const texts = {
    "src/serve.ts": `import { shown } from "./shown.ts"; shown();`,
    "src/shown.ts": `
      export type Shown = { kind: 1 };
      export const kind = 2;
      export function shown(): Shown { return { kind: 1 }; }
      export const text: Kinds = [];
      export type Kinds = string[];
      export function again() { return other.again; }`,
  };
  expect(findings(texts)).toEqual([
    "src/shown.ts: Shown is used in its own file alone, and need not be exported.",
    "src/shown.ts: kind is used by nobody.",
    "src/shown.ts: text is used by nobody.",
    "src/shown.ts: Kinds is used in its own file alone, and need not be exported.",
    "src/shown.ts: again is used by nobody.",
  ]);
});

test("an export that only tests use is dead, unless its own file uses it too or it is a fixture", () => {
  const texts = {
    "src/serve.ts": `import { sum } from "./sum.ts"; sum();`,
    "src/sum.ts":
      "export function sum() { return part(); } export function part() { return 1; } export function rest() {}",
    "src/sum.test.ts": `import { part, rest } from "./sum.ts"; import { numbers } from "./sum.fixture.ts"; part(rest, numbers);`,
    "src/sum.fixture.ts": "export const numbers = 1; export const unused = 2;",
  };
  expect(findings(texts)).toEqual([
    "src/sum.ts: rest is used by tests alone.",
    "src/sum.fixture.ts: unused is used by nobody.",
  ]);
});

test("a file is reached by an import, a style sheet, a page, a path in parts, or the package's own names", () => {
  const texts = {
    "src/serve.ts": `import "./page.css"; start(new URL("./child.ts", import.meta.url), join(root, "src", "page.html"));`,
    "src/page.css": `@import "./part.css";`,
    "src/part.css": "",
    "src/child.ts": "export const started = true;",
    "src/page.html": `<script src="./page.ts"></script>`,
    "src/page.ts": "",
    "src/main/index.ts": "export const main = true;",
    "src/client/client.ts": "export const client = true;",
    "src/lost.ts": "",
    "src/lost.test.ts": `import "./lost.ts"; import "../test/support/help.ts";`,
    "test/support/help.ts": "",
    "test/support/alone.ts": "",
  };
  const main = "./out/main/index.js";
  const exports = {
    "./client": { types: "./out/client/client.d.ts", default: "./out/client/client.js" },
  };
  expect(findings(texts, { manifest: { ...manifest, main, exports } })).toEqual([
    "src/lost.ts is reached by nothing.",
    "test/support/alone.ts is reached by nothing.",
  ]);
});

test("a long file is named with its lines", () => {
  const texts = { "src/serve.ts": "\n".repeat(501) };
  expect(findings(texts)).toEqual(["src/serve.ts has 501 lines, more than 500."]);
});

test("a dependency is used by an import, a command, or as the types of one that is", () => {
  const texts = {
    "src/serve.ts": `import { a } from "a/part"; import type { B } from "@b/b";`,
    "tool.config.ts": `import { e } from "e";`,
  };
  const dependencies = { a: "1", "@b/b": "1", c: "1" };
  const devDependencies = {
    d: "1",
    e: "1",
    f: "1",
    "@types/a": "1",
    "@types/node": "1",
    "@types/g": "1",
  };
  const commandsOf = (name: string) => (name === "d" ? ["dd"] : []);
  const given = {
    manifest: {
      scripts: { serve: "node src/serve.ts", check: "dd --all" },
      dependencies,
      devDependencies,
    },
    commandsOf,
  };
  expect(findings(texts, given)).toEqual([
    "c is used by nothing.",
    "f is used by nothing.",
    "@types/g is used by nothing.",
  ]);
});

test("an exception holds, and is refused when nothing needs it any more", () => {
  const long = { "src/serve.ts": "a reason" };
  const silentPackages = { quiet: "a reason" };
  const texts = { "src/serve.ts": "\n".repeat(600) };
  const given = {
    exceptions: { long, silentPackages },
    manifest: { ...manifest, devDependencies: { quiet: "1" } },
  };
  expect(findings(texts, given)).toEqual([]);
  expect(findings({ "src/serve.ts": "" }, { ...given, manifest })).toEqual([
    "src/serve.ts needs no exception any more: take it out of test/structure/exceptions.json.",
    "quiet needs no exception any more: take it out of test/structure/exceptions.json.",
  ]);
});
