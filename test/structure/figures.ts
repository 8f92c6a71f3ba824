/** The figures that `measure.ts` computes from import graphs and syntax trees. */

import { parseSync } from "vite";

export type ImportGraph = ReadonlyMap<string, readonly string[]>;

/** Files that import each other, directly or through others. */
export function circlesIn(graph: ImportGraph): string[][] {
  return componentsOf(graph).filter(
    ([first = "", ...rest]) => rest.length > 0 || graph.get(first)?.includes(first) === true,
  );
}

/** The longest path of imports. A circle counts as all its files. */
export function longestChain(graph: ImportGraph): string[] {
  const components = componentsOf(graph);
  const componentOf = new Map(
    components.flatMap((files) => files.map((file) => [file, files] as const)),
  );
  const chains = new Map<readonly string[], string[]>();
  // A component comes after all that it imports.
  for (const files of components) {
    const next = files
      .flatMap((file) => graph.get(file) ?? [])
      .map((target) => componentOf.get(target) ?? [])
      .filter((target) => target !== files)
      .map((target) => chains.get(target) ?? [])
      .reduce((longest, chain) => (chain.length > longest.length ? chain : longest), []);
    chains.set(files, [...files, ...next]);
  }
  return [...chains.values()].reduce(
    (longest, chain) => (chain.length > longest.length ? chain : longest),
    [],
  );
}

/** The strongly connected components (Tarjan), each after all that it imports. */
function componentsOf(graph: ImportGraph): string[][] {
  const components: string[][] = [];
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const visit = (file: string): void => {
    const index = order.size;
    order.set(file, index);
    low.set(file, index);
    stack.push(file);
    for (const target of graph.get(file) ?? []) {
      if (!order.has(target)) visit(target);
      if (stack.includes(target)) {
        low.set(file, Math.min(low.get(file) ?? 0, low.get(target) ?? 0));
      }
    }
    if (low.get(file) === index) components.push(stack.splice(stack.indexOf(file)));
  };
  for (const file of graph.keys()) if (!order.has(file)) visit(file);
  return components;
}

type SyntaxNode = { type: string; start: number; end: number; [member: string]: unknown };

type FunctionSize = {
  name: string;
  lines: number;
  /** Without the lines of the functions in it. */
  ownLines: number;
};

export function functionsIn(path: string, text: string): FunctionSize[] {
  const all: FunctionSize[] = [];
  /** Returns the lines of the outermost functions in the node. */
  const visit = (node: SyntaxNode, name: string): number => {
    const inner = Object.values(node)
      .flatMap((value): unknown[] => (Array.isArray(value) ? value : [value]))
      .filter(isSyntaxNode)
      .reduce((sum, child) => sum + visit(child, nameOf(node) ?? name), 0);
    if (!/^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type))
      return inner;
    const lines = text.slice(node.start, node.end).split("\n").length;
    all.push({ name: nameOf(node) ?? name, lines, ownLines: lines - inner });
    return lines - 1;
  };
  visit(parseSync(path, text).program as unknown as SyntaxNode, "");
  return all;
}

function nameOf({ id, key }: SyntaxNode): string | null {
  for (const named of [id, key]) {
    if (isSyntaxNode(named) && typeof named["name"] === "string") return named["name"];
  }
  return null;
}

function isSyntaxNode(value: unknown): value is SyntaxNode {
  return (
    typeof value === "object" && value !== null && typeof (value as SyntaxNode).type === "string"
  );
}
