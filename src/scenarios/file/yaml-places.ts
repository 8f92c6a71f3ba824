/**
 * From YAML to the JSON it says, with the place of every value, so that an error is shown where it
 * is.
 */

import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Alias,
  type Document,
  type Node,
} from "yaml";
import { isObject, type Json, type JsonObject } from "../../domain/json.ts";
import { inOneLine } from "./in-one-line.ts";

/** Both count from 1. */
type Place = { line: number; column: number };
export type FileProblem = Place & { message: string };

export type Path = readonly (string | number)[];

export type PlacedValue = {
  value: Json;
  /** Where the value at this path begins, or where its nearest ancestor does. */
  placeOf(path: Path): Place;
  /** Where the name of the member at this path is written. */
  placeOfName(path: Path): Place;
};

/** What is there as the file has it, where durations are still written as people write them. */
export function rawAt({ value }: Pick<PlacedValue, "value">, path: Path): Json | undefined {
  let at: Json | undefined = value;
  for (const key of path)
    at = Array.isArray(at)
      ? at[Number(key)]
      : isObject(at) && Object.hasOwn(at, key)
        ? at[key]
        : undefined;
  return at;
}

/**
 * How large a file may be. Reading is one piece of work, so where others wait for it (`forServing`)
 * the limits are tighter.
 */
export type FileLimits = {
  maxLength: number;
  /** With what aliases repeat: they make a small file large. */
  maxValues: number;
  maxSteps: number;
  /** Whether the file may run commands of this machine. */
  commands: boolean;
  /** Ends the sentence on a file that is over a limit. */
  advice: string;
};
export const deepest = 200;

type Spot = { at: number; nameAt: number; children: Map<string | number, Spot> };

export function readYaml(
  text: string,
  { maxValues }: Pick<FileLimits, "maxValues">,
): PlacedValue | { problems: FileProblem[] } {
  const lines = new LineCounter();
  const document = parseWithin(text, lines);
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(Math.min(offset, text.length));
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  if (document === null)
    return {
      problems: [
        {
          line: 1,
          column: 1,
          message: `Values are nested more than ${deepest} levels deep in this file.`,
        },
      ],
    };
  const wrong = [...document.errors, ...document.warnings].slice(0, maxParserProblems);
  if (wrong.length > 0) {
    return {
      problems: wrong.map(({ code, message, pos }) => ({
        ...placeAt(pos[0]),
        message: sentences[code] ?? ownWords(message),
      })),
    };
  }
  const reader = new Reader(document, maxValues);
  const root: Spot = { at: 0, nameAt: 0, children: new Map() };
  try {
    const value = reader.read(document.contents, root, 0);
    return {
      value,
      placeOf: (path) => placeAt(spotAt(root, path).at),
      placeOfName: (path) => placeAt(spotAt(root, path).nameAt),
    };
  } catch (error) {
    if (error instanceof Unreadable)
      return { problems: [{ ...placeAt(error.at), message: error.message }] };
    throw error;
  }
}

/** The parser goes on after each problem, and a file that is no YAML has as many as lines. */
const maxParserProblems = 1_000;

function ownWords(message: string): string {
  if (message.startsWith("Maximum call stack"))
    return `Values are nested more than ${deepest} levels deep here.`;
  return `${message.split("\n")[0]}.`;
}

/** Null when it is too deep for the parser's own recursion. */
function parseWithin(text: string, lineCounter: LineCounter): Document | null {
  try {
    // The reader below finds members that are there twice; the parser compares each name with all
    // others.
    return parseDocument(text, {
      lineCounter,
      prettyErrors: false,
      version: "1.2",
      logLevel: "error",
      uniqueKeys: false,
    });
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function spotAt(root: Spot, path: Path): Spot {
  let spot = root;
  for (const key of path) {
    const child = spot.children.get(key);
    if (child === undefined) return spot;
    spot = child;
  }
  return spot;
}

/** Ends the reading; never leaves this file. */
class Unreadable extends Error {
  readonly at: number;
  constructor(at: number, message: string) {
    super(message);
    this.at = at;
  }
}

class Reader {
  readonly #document: Document;
  readonly #maxValues: number;
  /** Collections that are being read: an alias to one of them would never end. */
  readonly #open = new Set<Node>();
  /** Finding an anchor goes through the whole document. */
  readonly #targets = new Map<Alias, Node>();
  #values = 0;

  constructor(document: Document, maxValues: number) {
    this.#document = document;
    this.#maxValues = maxValues;
  }

  read(node: Node | null, spot: Spot, depth: number): Json {
    this.#values += 1;
    const at = node?.range?.[0] ?? spot.at;
    if (this.#values > this.#maxValues)
      throw new Unreadable(
        at,
        `The file has more than ${this.#maxValues} values. Aliases repeat all that is in their anchor.`,
      );
    if (depth > deepest)
      throw new Unreadable(at, `Values are nested more than ${deepest} levels deep here.`);
    spot.at = at;
    if (node === null) return null;
    if (isAlias(node)) return this.#readAlias(node, spot, depth);
    if (isMap(node) || isSeq(node)) {
      this.#open.add(node);
      const value = isMap(node)
        ? this.#readMap(node.items, spot, depth)
        : this.#readList(node.items, spot, depth);
      this.#open.delete(node);
      return value;
    }
    return isScalar(node) ? scalar(node.value, at) : null;
  }

  #readAlias(alias: Alias, spot: Spot, depth: number): Json {
    const { at } = spot;
    const name = alias.source;
    const target = this.#targets.get(alias) ?? alias.resolve(this.#document);
    if (target === undefined)
      throw new Unreadable(at, `There is no anchor &${name} before this alias.`);
    if (this.#open.has(target))
      throw new Unreadable(
        at,
        `The alias *${name} is inside its own anchor &${name}, so it would never end.`,
      );
    this.#targets.set(alias, target);
    // What is wrong with what an alias stands for is shown in its anchor, where it is written.
    return this.read(target, spot, depth + 1);
  }

  #readMap(
    pairs: readonly { key: unknown; value: unknown }[],
    spot: Spot,
    depth: number,
  ): JsonObject {
    const members = new Map<string, Json>();
    for (const pair of pairs) {
      const key = pair.key as Node | null;
      const nameAt = key?.range?.[0] ?? spot.at;
      const name = this.#nameOf(key, nameAt);
      if (members.has(name))
        throw new Unreadable(
          nameAt,
          `The member ${inOneLine(name)} appears twice in one mapping. Keep one of them.`,
        );
      const child: Spot = { at: nameAt, nameAt, children: new Map() };
      spot.children.set(name, child);
      members.set(name, this.read(pair.value as Node | null, child, depth + 1));
    }
    return Object.fromEntries(members);
  }

  #nameOf(key: Node | null, at: number): string {
    const node = key !== null && isAlias(key) ? (key.resolve(this.#document) ?? null) : key;
    if (node === null || !isScalar(node))
      throw new Unreadable(at, "The name of a member must be a text.");
    // As it is written: 1.0 and 0x10 are names like any other.
    return typeof node.value === "string" ? node.value : (node.source ?? String(node.value));
  }

  #readList(items: readonly unknown[], spot: Spot, depth: number): Json[] {
    return items.map((item, index) => {
      const child: Spot = { at: spot.at, nameAt: spot.at, children: new Map() };
      spot.children.set(index, child);
      const value = this.read(item as Node | null, child, depth + 1);
      child.nameAt = child.at;
      return value;
    });
  }
}

function scalar(value: unknown, at: number): Json {
  if (typeof value === "number" && !Number.isFinite(value))
    throw new Unreadable(at, "JSON has no such number. Put it in quotes if a text is meant.");
  if (
    value === null ||
    typeof value === "string" ||
    typeof value === "number" ||
    typeof value === "boolean"
  )
    return value;
  throw new Unreadable(at, "This is neither a text nor a number, true, false or null.");
}

/** Where the parser's own words would puzzle somebody who does not know YAML well. */
const sentences: Partial<Record<string, string>> = {
  TAB_AS_INDENT: "A tab cannot indent in YAML. Use spaces.",
  MULTIPLE_DOCS: "A second document begins here. A file contains one scenario.",
  TAG_RESOLVE_FAILED:
    "Tags are not supported. Put the value in quotes if it begins with an exclamation mark.",
  BLOCK_AS_IMPLICIT_KEY: "Two mappings on one line. Put a text that contains a colon in quotes.",
  BAD_INDENT:
    "This line is not indented as its neighbours are, or a bracket before it is not closed.",
};
