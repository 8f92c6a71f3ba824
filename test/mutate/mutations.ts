/**
 * The mutants of a source file: each is one small change, of the kind that a slip of the hand
 * makes. What the types rule out is left out where the syntax shows it.
 */

import { parseSync } from "vite";
import {
  arithmetic,
  assignments,
  comparisons,
  largeNumber,
  leftOut,
  looksLikeSql,
  otherMethods,
  sqlSwaps,
} from "./slips.ts";
import {
  answersValue,
  bare,
  callsForAnswers,
  isNode,
  isText,
  next,
  type Node,
  withinOf,
} from "./syntax.ts";

export type Mutant = {
  /** Counts from 0 within its file. */
  n: number;
  kind: string;
  /** The class, method or function around it. */
  within: string;
  /** From 1. */
  line: number;
  /** The source's first line that it changes, without the space around it. */
  text: string;
  /** From what to what. */
  change: string;
};

/**
 * Where the mutants of a node go: an expression becomes a choice, a statement is skipped, a body
 * returns at once.
 */
export type Place = {
  form: "expression" | "statement" | "entry";
  start: number;
  end: number;
  mutants: { n: number; code: string }[];
};

type Around = {
  within: string;
  /**
   * A link of an optional chain, or a chain that is called or deleted: a choice around it would
   * change what it means.
   */
  fixed: boolean;
  /** An argument of a method of arrays that calls it for its answer. */
  forItsAnswer: boolean;
};

export function mutationsOf(path: string, source: string): { mutants: Mutant[]; places: Place[] } {
  const { program, errors } = parseSync(path, source);
  if (errors[0] !== undefined) throw new Error(`${path}: ${errors[0].message}`);
  const finder = new Finder(source);
  finder.visit(program as unknown as Node, { within: "", fixed: false, forItsAnswer: false });
  return { mutants: finder.mutants, places: finder.places };
}

class Finder {
  readonly mutants: Mutant[] = [];
  readonly places: Place[] = [];
  readonly #source: string;
  readonly #placeAt = new Map<string, Place>();

  constructor(source: string) {
    this.#source = source;
  }

  visit(node: Node, around: Around): void {
    const { type } = node;
    if (type.startsWith("TS")) {
      // Of all that is about types, only what wraps an expression is there at run time.
      if (isNode(node["expression"])) this.visit(node["expression"], around);
      return;
    }
    if (type === "ImportDeclaration" || (type.startsWith("Export") && isNode(node["source"])))
      return;
    const inner = {
      within: withinOf(node, around.within),
      fixed: false,
      forItsAnswer: callsForAnswers(node),
    };
    this.#mutate(node, { ...around, within: inner.within });
    for (const [member, value] of Object.entries(node)) {
      if ((member === "key" || member === "property") && node["computed"] !== true) continue;
      const inChain =
        type === "ChainExpression" ||
        (around.fixed && (member === "object" || member === "callee"));
      const isOperand =
        member === "callee" ||
        member === "tag" ||
        (type === "UnaryExpression" && node["operator"] === "delete");
      for (const child of Array.isArray(value) ? value : [value]) {
        if (isNode(child))
          this.visit(child, {
            ...inner,
            fixed: inChain || (isOperand && bare(child).type === "ChainExpression"),
          });
      }
    }
  }

  #mutate(node: Node, around: Around): void {
    const { type } = node;
    if (type.endsWith("Statement") || type === "SwitchCase") this.#statement(node, around);
    else if (type === "CatchClause") this.#emptied(node["body"] as Node, "emptied catch", around);
    else if (/Function/.test(type)) this.#function(node, around);
    else if (!around.fixed) this.#expression(node, around);
    const test = node["test"];
    if (isNode(test) && type !== "SwitchCase") this.#condition(test, around);
  }

  #statement(node: Node, around: Around): void {
    const { type } = node;
    if (
      type === "ExpressionStatement" &&
      typeof node["directive"] !== "string" &&
      !/^super\b/.test(this.#text(node))
    ) {
      this.#skip(node, "removed statement", around);
    }
    if (type === "ThrowStatement") this.#skip(node, "removed throw", around);
    if (type === "BreakStatement" || type === "ContinueStatement")
      this.#skip(node, `removed ${type.slice(0, -9).toLowerCase()}`, around);
    if (type === "TryStatement" && isNode(node["finalizer"]))
      this.#emptied(node["finalizer"], "emptied finally", around);
    for (const member of ["consequent", "alternate", "body"]) {
      const body = node[member];
      if (type === "BlockStatement" || !isNode(body)) continue;
      // The end of a function answers what its type wants; what is inside of a condition is left
      // early.
      for (const one of body.type === "BlockStatement" ? (body["body"] as Node[]) : [body]) {
        if (one.type === "ReturnStatement") this.#skip(one, "removed return", around);
      }
      if (body.type === "BlockStatement" && (body["body"] as Node[]).length > 1)
        this.#emptied(body, "emptied block", around);
    }
  }

  #emptied(block: Node, kind: string, around: Around): void {
    if ((block["body"] as Node[]).length > 0)
      this.#add({ node: block, form: "statement", kind, code: "", shown: "{}", around });
  }

  #skip(node: Node, kind: string, around: Around): void {
    this.#add({ node, form: "statement", kind, code: "", shown: "", around });
  }

  #function(node: Node, around: Around): void {
    const body = node["body"];
    if (!isNode(body)) return;
    if (body.type !== "BlockStatement") {
      if (
        !around.forItsAnswer &&
        (body.type === "CallExpression" || body.type === "AssignmentExpression")
      ) {
        this.#add({
          node: body,
          form: "expression",
          kind: "emptied body",
          code: "undefined",
          around,
        });
      }
      return;
    }
    const statements = body["body"] as Node[];
    // One that answers something could not answer nothing.
    if (
      statements.length < 2 ||
      answersValue(body) ||
      statements.some((one) => /^super\b/.test(this.#text(one)))
    )
      return;
    const entry = { ...body, start: body.start + 1, end: body.start + 1 };
    this.#add({
      node: entry,
      form: "entry",
      kind: "emptied body",
      code: "return;",
      shown: "{}",
      from: "body",
      around,
    });
  }

  #condition(test: Node, around: Around): void {
    const { type } = bare(test);
    if (type === "LogicalExpression" || type === "BinaryExpression" || type === "Literal") return;
    if (type === "UnaryExpression" && bare(test)["operator"] === "!") return;
    this.#add({
      node: test,
      form: "expression",
      kind: "negated",
      code: `!(${this.#text(test)})`,
      around,
    });
  }

  #expression(node: Node, around: Around): void {
    const add = (kind: string, code: string): void =>
      this.#add({ node, form: "expression", kind, code, around });
    switch (node.type) {
      case "BinaryExpression":
        return this.#binary(node, add);
      case "LogicalExpression": {
        const [left, right] = [this.#text(node["left"]), this.#text(node["right"])];
        if (node["operator"] !== "??") add("dropped operand", right);
        return add(node["operator"] === "??" ? "nullish" : "dropped operand", left);
      }
      case "UnaryExpression":
        if (
          node["operator"] === "!" ||
          (node["operator"] === "-" && bare(node["argument"] as Node).type !== "Literal")
        ) {
          add("negated", this.#text(node["argument"]));
        }
        return;
      case "UpdateExpression":
        return add(
          "arithmetic",
          this.#text(node).replace(/\+\+|--/, (sign) => (sign === "++" ? "--" : "++")),
        );
      case "AssignmentExpression": {
        const other = assignments[String(node["operator"])];
        if (other === undefined || isText(node["right"] as Node)) return;
        return add(
          "assignment",
          `${this.#text(node["left"])} ${other} ${this.#text(node["right"])}`,
        );
      }
      case "AwaitExpression":
        return add("dropped await", this.#text(node["argument"]));
      case "ChainExpression":
        return this.#chain(node, add);
      case "CallExpression":
        return this.#call(node, add);
      case "Literal":
        return this.#literal(node, add);
      case "TemplateLiteral":
        return this.#sql(node, add);
    }
  }

  #binary(node: Node, add: (kind: string, code: string) => void): void {
    const operator = String(node["operator"]);
    const [left, right] = [node["left"] as Node, node["right"] as Node];
    const withOperator = (other: string): string =>
      `${this.#text(left)} ${other} ${this.#text(right)}`;
    for (const other of comparisons[operator] ?? []) {
      add(
        operator.length < 3 && other.startsWith(operator[0] ?? "") ? "bound" : "negated",
        withOperator(other),
      );
    }
    if (operator === "in" || operator === "instanceof") add("negated", `!(${this.#text(node)})`);
    const other = arithmetic[operator];
    if (other !== undefined && !isText(left) && !isText(right))
      add("arithmetic", withOperator(other));
  }

  #chain(node: Node, add: (kind: string, code: string) => void): void {
    for (
      let link: Node | undefined = node["expression"] as Node;
      link !== undefined;
      link = next(link)
    ) {
      if (link["optional"] !== true) continue;
      const at = this.#source.indexOf("?.", (next(link) as Node).end);
      const rest = this.#source.slice(at + 2, node.end);
      add(
        "optional chain",
        `${this.#source.slice(node.start, at)}${/^[([]/.test(rest) ? "" : "."}${rest}`,
      );
    }
  }

  #call(node: Node, add: (kind: string, code: string) => void): void {
    const callee = node["callee"] as Node;
    const given = node["arguments"] as Node[];
    const [first, second] = given;
    if (
      !/^Math\.(?:min|max)$/.test(this.#text(callee)) &&
      given.length === 2 &&
      first !== undefined &&
      second !== undefined &&
      [first, second].every(({ type }) => /^(Identifier|MemberExpression)$/.test(type))
    ) {
      add(
        "swapped arguments",
        `${this.#source.slice(node.start, first.start)}${this.#text(second)}, ${this.#text(first)}${this.#source.slice(second.end, node.end)}`,
      );
    }
    if (callee.type !== "MemberExpression" || callee["computed"] === true) return;
    const property = callee["property"] as Node;
    const name = String(property["name"]);
    const other = otherMethods.get(name);
    if (other !== undefined) {
      add(
        "other method",
        `${this.#source.slice(node.start, property.start)}${other}${this.#source.slice(property.end, node.end)}`,
      );
    }
    if (leftOut.has(name)) add("left out call", this.#text(callee["object"]));
  }

  #literal(node: Node, add: (kind: string, code: string) => void): void {
    const { value } = node;
    if (typeof value === "boolean") add("boolean", String(!value));
    if (typeof value === "string") this.#sql(node, add);
    if (typeof value !== "number") return;
    add("constant", String(value >= largeNumber ? value * 2 : value === 1 ? 0 : value + 1));
  }

  #sql(node: Node, add: (kind: string, code: string) => void): void {
    const text = this.#text(node);
    if (!looksLikeSql.test(text)) return;
    const expressions = (node["expressions"] ?? []) as Node[];
    for (const [pattern, other] of sqlSwaps) {
      for (const { 0: found, index } of text.matchAll(pattern)) {
        const at = node.start + index;
        // What stands between braces is code, with mutants of its own.
        if (expressions.some(({ start, end }) => at >= start && at < end)) continue;
        add("SQL", `${text.slice(0, index)}${other}${text.slice(index + found.length)}`);
      }
    }
  }

  #text(node: unknown): string {
    const { start, end } = node as Node;
    return this.#source.slice(start, end);
  }

  #add({
    node,
    form,
    kind,
    code,
    shown,
    from,
    around,
  }: {
    node: Node;
    form: Place["form"];
    kind: string;
    code: string;
    shown?: string;
    from?: string;
    around: Around;
  }): void {
    const before = from ?? this.#text(node);
    const n = this.mutants.length;
    const key = `${form} ${node.start} ${node.end}`;
    let place = this.#placeAt.get(key);
    if (place === undefined) {
      place = { form, start: node.start, end: node.end, mutants: [] };
      this.#placeAt.set(key, place);
      this.places.push(place);
    }
    place.mutants.push({ n, code });
    const change = shortChange(oneLine(before), oneLine(shown ?? code));
    const lineStart = this.#source.lastIndexOf("\n", node.start - 1) + 1;
    const lineEnd = this.#source.indexOf("\n", node.start);
    this.mutants.push({
      n,
      kind,
      within: around.within,
      line: this.#source.slice(0, node.start).split("\n").length,
      text: this.#source.slice(lineStart, lineEnd).trim(),
      change,
    });
  }
}

function oneLine(code: string): string {
  return code.replace(/\s+/g, " ").trim();
}

const maxShown = 100;

/** Without what is the same at both ends, where that is long. */
function shortChange(before: string, after: string): string {
  if (before.length <= maxShown && after.length <= maxShown)
    return `${before} → ${after === "" ? "nothing" : after}`;
  if (after === "" || after === "{}")
    return `${before.slice(0, maxShown)}… → ${after === "" ? "nothing" : after}`;
  let start = 0;
  while (start < before.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (
    end < Math.min(before.length, after.length) - start &&
    before.at(-1 - end) === after.at(-1 - end)
  )
    end += 1;
  const cut = (text: string): string => {
    const from = Math.max(0, start - 30);
    const to = Math.min(text.length, text.length - end + 30);
    return `${from > 0 ? "…" : ""}${text.slice(from, to).slice(0, 2 * maxShown)}${to < text.length ? "…" : ""}`;
  };
  return `${cut(before)} → ${cut(after)}`;
}
