import { expect, test } from "vitest";
import { circlesIn, functionsIn, longestChain, type ImportGraph } from "./figures.ts";

function graph(imports: Record<string, string[]>): ImportGraph {
  return new Map(Object.entries(imports));
}

test("the longest chain is the longest path of imports", () => {
  const imports = { app: ["list", "kit"], list: ["row"], row: ["kit"], kit: [], alone: [] };
  expect(longestChain(graph(imports))).toEqual(["app", "list", "row", "kit"]);
});

test("files that import each other are a circle, and count once each in a chain", () => {
  const imports = graph({ app: ["a"], a: ["b"], b: ["a", "kit"], kit: [] });
  expect(circlesIn(imports).map((circle) => circle.toSorted())).toEqual([["a", "b"]]);
  expect(longestChain(imports)).toHaveLength(4);
});

test("functions have their names, and their lines with and without those in them", () => {
  const text = "function short() {}\nconst make = () => {\n  return { run() {\n  } };\n};\n";
  expect(functionsIn("a.ts", text)).toEqual([
    { name: "short", lines: 1, ownLines: 1 },
    { name: "run", lines: 2, ownLines: 2 },
    { name: "make", lines: 4, ownLines: 3 },
  ]);
});
