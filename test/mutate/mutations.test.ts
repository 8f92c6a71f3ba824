import { globSync, readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { fileURLToPath } from "node:url";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { knownOf, staleIn } from "./known.ts";
import { mutationsOf } from "./mutations.ts";
import { switched } from "./switched.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

function changesOf(source: string): string[] {
  return mutationsOf("a.ts", source).mutants.map(({ kind, change }) => `${kind}: ${change}`);
}

test.each([
  [
    "if (a < b) f();",
    ["bound: a < b → a <= b", "negated: a < b → a >= b", "removed statement: f(); → nothing"],
  ],
  [
    "x = a && !b;",
    [
      "removed statement: x = a && !b; → nothing",
      "dropped operand: a && !b → !b",
      "dropped operand: a && !b → a",
      "negated: !b → b",
    ],
  ],
  [
    "const x = a?.b?.(c).d ?? 1;",
    [
      "nullish: a?.b?.(c).d ?? 1 → a?.b?.(c).d",
      "optional chain: a?.b?.(c).d → a?.b(c).d",
      "optional chain: a?.b?.(c).d → a.b?.(c).d",
      "constant: 1 → 0",
    ],
  ],
  ["const x: 5 = y as 5;", []],
  [
    "const x = [2, 1000, true] as const;",
    ["constant: 2 → 3", "constant: 1000 → 2000", "boolean: true → false"],
  ],
  ["const x = `${a} b` + c + 'd';", []],
  [
    "const rows = all('SELECT a FROM t WHERE b < ? ORDER BY c DESC');",
    [
      "SQL: 'SELECT a FROM t WHERE b < ? ORDER BY c DESC' → 'SELECT a FROM t WHERE b <= ? ORDER BY c DESC'",
      "SQL: 'SELECT a FROM t WHERE b < ? ORDER BY c DESC' → 'SELECT a FROM t WHERE b < ? ORDER BY c'",
    ],
  ],
  [
    "const f = () => { if (done) return; try { g(); } finally { h(); } };",
    [
      "emptied body: body → {}",
      "removed return: return; → nothing",
      "negated: done → !(done)",
      "emptied finally: { h(); } → {}",
      "removed statement: g(); → nothing",
      "removed statement: h(); → nothing",
    ],
  ],
])("makes the slips of the hand of %s", (source, changes) => {
  expect(changesOf(source)).toEqual(changes);
});

test("with all mutants in it and none on, a source does what it did, and with one on it does what that says", () => {
  const source = `function of(list, log) {
    if (list.length > 2) { log.push("long"); return list.slice(1); } else log.push("short");
    return list?.filter((one) => one < 2);
  }`;
  const { mutants } = mutationsOf("a.js", source);
  const run = (active: number | null): unknown => {
    const use = 'const log = ["start"]; JSON.stringify([of([1, 2], log), of([1, 2, 3], log), log])';
    return runInNewContext(`${switched("a.js", source)}; ${use}`, {
      mutationSwitch: () => (n: number) => n === active,
    });
  };
  const original = '[[1],[2,3],["start","short","long"]]';
  expect(run(null)).toEqual(original);
  const alive = mutants.filter(({ n }) => {
    try {
      return run(n) === original;
    } catch {
      return false;
    }
  });
  expect(alive.map(({ kind, change }) => `${kind}: ${change}`)).toEqual([
    "optional chain: list?.filter((one) => one < 2) → list.filter((one) => one < 2)",
  ]);
});

test("every sixth source that is mutated is still a program with its mutants in it", () => {
  const paths = globSync("src/{domain,engine,store,api,headless}/**/*.ts", { cwd: root }).filter(
    (path) => !/\.(?:test|fixture)\.ts$/.test(path),
  );
  expect(paths.length).toBeGreaterThan(100);
  // All of them take as long as the slowest tests; the tool itself fails for the others.
  for (const path of paths.toSorted().filter((_, nth) => nth % 6 === 0)) {
    const code = switched(path, readFileSync(`${root}${path}`, "utf8"));
    expect(() => stripTypeScriptTypes(code), path).not.toThrow();
  }
});

test("a known mutant is found again on another line, and is stale once its code has changed", () => {
  const known = [
    {
      file: "a.ts",
      within: "f",
      text: "return a < b;",
      change: "a < b → a <= b",
      verdict: "equivalent" as const,
      reason: "They never are equal.",
    },
  ];
  const of = (source: string) => mutationsOf("a.ts", source).mutants;
  const moved = of("\n\nfunction f() {\n  return a < b;\n}");
  expect(
    moved
      .filter((mutant) => knownOf(known, "a.ts", mutant) !== undefined)
      .map(({ change }) => change),
  ).toEqual(["a < b → a <= b"]);
  expect(staleIn(known, new Map([["a.ts", moved]]))).toEqual([]);
  expect(staleIn(known, new Map([["a.ts", of("function f() {\n  return a < c;\n}")]]))).toEqual(
    known,
  );
});
