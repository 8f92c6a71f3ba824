/** What a file of ours exports, takes from others, uses and names, read from its syntax tree. */

import { posix } from "node:path";
import { parseSync } from "vite";

export type SourceFile = {
  path: string;
  lines: number;
  exports: readonly string[];
  /** Files of ours that it imports, each with the names it takes; `*` is all of them. */
  imports: ReadonlyMap<string, ReadonlySet<string>>;
  packages: ReadonlySet<string>;
  /** Its own exports that it refers to itself. */
  uses: ReadonlySet<string>;
  /** What looks like a file's name, in a string or put together of the parts of a path. */
  names: readonly string[];
};

export const sourceExtension = /\.(ts|tsx|css|html)$/;

export function isTest(path: string): boolean {
  return /\.test\.tsx?$/.test(path);
}

export function isForTests(path: string): boolean {
  return path.startsWith("test/") || isTest(path) || /\.fixture\.tsx?$/.test(path);
}

export function readSourceFile(path: string, text: string): SourceFile {
  const imports = new Map<string, Set<string>>();
  const packages = new Set<string>();
  const take = (request: string, name: string) => {
    if (!request.startsWith(".")) packages.add(packageOf(request));
    else {
      const target = posix.join(posix.dirname(path), request);
      imports.set(target, (imports.get(target) ?? new Set()).add(name));
    }
  };
  const file = {
    path,
    lines: text.split("\n").length - 1,
    exports: [],
    imports,
    packages,
    uses: new Set<string>(),
    names: [],
  };
  if (path.endsWith(".html"))
    for (const [, request = ""] of text.matchAll(/(?:src|href)="(\.\/[^"]+)"/g)) take(request, "*");
  if (path.endsWith(".css"))
    for (const [, request = ""] of text.matchAll(/@import "([^"]+)"/g)) take(request, "*");
  return /\.tsx?$/.test(path) ? { ...file, ...readScript(path, text, take) } : file;
}

function readScript(path: string, text: string, take: (request: string, name: string) => void) {
  const { module, program, errors } = parseSync(path, text);
  if (errors[0] !== undefined) throw new Error(`${path}: ${errors[0].message}`);
  for (const { moduleRequest, entries } of module.staticImports) {
    if (entries.length === 0) take(moduleRequest.value, "*");
    for (const { importName } of entries)
      take(
        moduleRequest.value,
        importName.name ?? (importName.kind === "Default" ? "default" : "*"),
      );
  }

  const exportOf = new Map<string, string>();
  const exports: string[] = [];
  for (const { exportName, importName, localName, moduleRequest } of module.staticExports.flatMap(
    ({ entries }) => entries,
  )) {
    if (moduleRequest !== null) take(moduleRequest.value, importName.name ?? "*");
    const name = exportName.name ?? (exportName.kind === "Default" ? "default" : null);
    if (name === null) continue;
    exports.push(name);
    if (localName.name !== null) exportOf.set(localName.name, name);
  }

  const uses = new Set<string>();
  const names: string[] = [];
  walk(program as unknown as SyntaxNode, {
    reference(name) {
      const exported = exportOf.get(name);
      if (exported !== undefined) uses.add(exported);
    },
    lateImport: (request) => take(request, "*"),
    string(value) {
      const name = value.replace(/^(\.{0,2}\/)+/, "");
      if (sourceExtension.test(name)) names.push(name);
    },
  });
  return { exports, uses, names };
}

type SyntaxNode = { type: string; [member: string]: unknown };

type Visitor = {
  reference(name: string): void;
  lateImport(request: string): void;
  string(value: string): void;
};

const declarations = new Set([
  "ClassDeclaration",
  "FunctionDeclaration",
  "TSDeclareFunction",
  "TSEnumDeclaration",
  "TSInterfaceDeclaration",
  "TSTypeAliasDeclaration",
  "VariableDeclarator",
]);

/**
 * A reference is an identifier that is no key, no member behind a dot, and not what a declaration
 * declares.
 */
function walk(node: SyntaxNode, visitor: Visitor): void {
  const { type } = node;
  if (type === "ImportDeclaration" || type === "ExportSpecifier") return;
  if (type === "Identifier" || type === "JSXIdentifier") visitor.reference(node["name"] as string);
  if (type === "Literal" && typeof node["value"] === "string") visitor.string(node["value"]);
  if (type === "CallExpression") visitor.string(joinedArguments(node));
  if (type === "ImportExpression" || type === "TSImportType") {
    const { value } = node["source"] as { value?: unknown };
    if (typeof value === "string") visitor.lateImport(value);
  }
  for (const [member, value] of Object.entries(node)) {
    if (
      (member === "key" || member === "property") &&
      node["computed"] === false &&
      node["shorthand"] !== true
    )
      continue;
    for (const child of Array.isArray(value) ? value : [value]) {
      if (!isSyntaxNode(child)) continue;
      // A declared name is no reference; the type written behind it may hold some.
      const isDeclaredName =
        member === "id" && child.type === "Identifier" && declarations.has(type);
      walk(isDeclaredName ? { ...child, type: "DeclaredName" } : child, visitor);
    }
  }
}

/** `join(root, "src", "app.ts")` names `src/app.ts`. */
function joinedArguments({ arguments: given }: SyntaxNode): string {
  const values = (given as readonly SyntaxNode[]).map(({ value }) => value);
  return values.filter((value) => typeof value === "string").join("/");
}

function isSyntaxNode(value: unknown): value is SyntaxNode {
  return (
    typeof value === "object" && value !== null && typeof (value as SyntaxNode)["type"] === "string"
  );
}

function packageOf(request: string): string {
  return request.split("/", request.startsWith("@") ? 2 : 1).join("/");
}
