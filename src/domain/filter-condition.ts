/**
 * The query language of destination filters at the hosted service, as its documentation describes
 * it: texts in single or double quotes, any member of a message, nested parentheses, lists, `in`,
 * and functions.
 *
 *   type = 'track' and ( event = 'Click' or match( event, 'Button *' ) )
 *
 * Triggers have a smaller language with other rules (`condition.ts`); both are read as the same
 * tokens. A member that is missing is null, and a value of another type than wanted makes a
 * comparison false: nothing in a message is an error.
 */

import { ConditionFault, tokensOf, type ConditionRemark, type Token } from "./condition.ts";
import type { Json, JsonObject } from "./json.ts";
import { memberAt } from "./member-path.ts";
import { utf8Bytes } from "./utf8.ts";

type Message = JsonObject;
export type FilterCondition = (message: Message) => boolean;

type ParsedFilterCondition =
  | { readonly condition: FilterCondition; readonly warnings: readonly ConditionRemark[] }
  | { readonly condition: null; readonly error: ConditionRemark };

type Read = (message: Message) => Json;

/** A part of a condition, and where it begins. */
type Part = { read: Read; at: number; isAnswer: boolean; text?: string };

/** Parentheses and lists within each other. */
const maxDepth = 100;
/** A longer one matches nothing: its work grows with its length times that of the text. */
const maxPatternLength = 200;

const knownMembers: ReadonlySet<string> = new Set(
  (
    "type event name category userId anonymousId groupId previousId properties traits context " +
    "integrations messageId timestamp originalTimestamp sentAt receivedAt channel version options"
  ).split(" "),
);

export function parseFilterCondition(text: string): ParsedFilterCondition {
  const warnings: ConditionRemark[] = [];
  try {
    // The space ends the last word, also where it begins as `and` and `null` do.
    const { read } = new Reader(tokensOf(`${text} `), warnings).whole();
    return { condition: (message) => read(message) === true, warnings };
  } catch (error) {
    if (!(error instanceof ConditionFault)) throw error;
    return {
      condition: null,
      error: { message: error.message, at: Math.min(error.at, text.length) },
    };
  }
}

const ofNumbers =
  (compare: (left: number, right: number) => boolean) =>
  (left: Json, right: Json): boolean =>
    typeof left === "number" && typeof right === "number" && compare(left, right);

const comparisons: Readonly<Record<string, (left: Json, right: Json) => boolean>> = {
  "=": isSame,
  "!=": (left, right) => !isSame(left, right),
  "<": ofNumbers((left, right) => left < right),
  "<=": ofNumbers((left, right) => left <= right),
  ">": ofNumbers((left, right) => left > right),
  ">=": ofNumbers((left, right) => left >= right),
  in: (left, right) => Array.isArray(right) && right.some((each) => isSame(left, each)),
};

function isSame(left: Json, right: Json): boolean {
  if (left === right) return true;
  if (left === null || right === null) return false;
  if (typeof left !== "object" || typeof right !== "object") return false;
  if (Object.keys(left).length !== Object.keys(right).length) return false;
  return JSON.stringify(left) === JSON.stringify(right);
}

type Called = {
  /** Whether its result alone can be a condition. */
  isAnswer?: boolean;
  arguments: 1 | 2;
  of: (value: Json, second: Json) => Json;
};

const ofText =
  (change: (text: string) => string) =>
  (value: Json): Json =>
    typeof value === "string" ? change(value) : null;

const functions = new Map<string, Called>([
  [
    "contains",
    {
      ...{ isAnswer: true, arguments: 2 },
      of: (text, part) =>
        typeof text === "string" && typeof part === "string" && text.includes(part),
    },
  ],
  ["match", { isAnswer: true, arguments: 2, of: matches }],
  ["length", { arguments: 1, of: lengthOf }],
  ["lowercase", { arguments: 1, of: ofText((text) => text.toLowerCase()) }],
  ["uppercase", { arguments: 1, of: ofText((text) => text.toUpperCase()) }],
  ["snakecase", { arguments: 1, of: ofText((text) => text.replaceAll(" ", "_")) }],
  ["kebabcase", { arguments: 1, of: ofText((text) => text.replaceAll(" ", "-")) }],
  [
    "titlecase",
    {
      arguments: 1,
      of: ofText((text) =>
        text.replace(/(^|\s)(\S)/gu, (_, space, first) => space + first.toUpperCase()),
      ),
    },
  ],
  ["typeof", { arguments: 1, of: typeOf }],
  ["bool", { isAnswer: true, arguments: 1, of: booleanOf }],
  ["string", { arguments: 1, of: textOf }],
  ["number", { arguments: 1, of: numberOf }],
]);

function lengthOf(value: Json): Json {
  if (value === null) return 0;
  if (typeof value === "string") return utf8Bytes(value).length;
  return Array.isArray(value) ? value.length : null;
}

function typeOf(value: Json): string {
  if (value === null) return "null";
  if (typeof value === "boolean") return "bool";
  return Array.isArray(value) ? "list" : typeof value;
}

function booleanOf(value: Json): boolean {
  if (typeof value === "string") return !["", "0", "false"].includes(value.trim().toLowerCase());
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

/** Null for lists and objects: each time, to write a large one takes longer than all else. */
function textOf(value: Json): Json {
  return value === null || typeof value === "object" ? null : String(value);
}

function numberOf(value: Json): Json {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && !Number.isNaN(number) ? number : null;
}

function matches(text: Json, pattern: Json): boolean {
  if (typeof text !== "string" || typeof pattern !== "string") return false;
  const glob = globOf(pattern);
  return typeof glob !== "string" && glob(text);
}

const escaped = (character: string): string => `\\u{${character.codePointAt(0)!.toString(16)}}`;
const codeOf = (spelling: string): number => Number.parseInt(spelling.slice(3), 16);

/**
 * `*` is any text, `?` one character, `[a-z]` and `[^abc]` one of these and of all others, and a
 * backslash takes away the meaning of what follows. Returns a sentence for what is no pattern.
 */
function globOf(pattern: string): ((text: string) => boolean) | string {
  if (pattern.length > maxPatternLength)
    return `A pattern has at most ${maxPatternLength} characters.`;
  const wrong = `The pattern ${JSON.stringify(pattern)} is not complete: `;
  const characters = Array.from(pattern);
  /** What stands between the stars, as regular expressions that have no quantifiers. */
  const chunks = [""];
  let at = 0;
  const next = (): string | null => {
    if (characters[at] === "\\") at += 1;
    const character = characters[at++];
    return character === undefined ? null : escaped(character);
  };
  const nextInClass = (): string | null =>
    characters[at] === "]" || characters[at] === "-" ? null : next();
  while (at < characters.length) {
    const character = characters[at]!;
    let one: string | null = null;
    if (character === "*") {
      chunks.push("");
      at += 1;
      continue;
    }
    if (character === "?") {
      one = "[^]";
      at += 1;
    } else if (character === "[") {
      one = characters[at + 1] === "^" ? "[^" : "[";
      at += one.length;
      do {
        const from = nextInClass();
        const isRange = characters[at] === "-";
        if (isRange) at += 1;
        const to = isRange ? nextInClass() : from;
        if (from === null || to === null) return `${wrong}a character or "]" is missing.`;
        // A range that ends before it begins has no character.
        if (codeOf(from) <= codeOf(to)) one += `${from}-${to}`;
      } while (characters[at] !== "]");
      at += 1;
      one += "]";
    } else one = next();
    if (one === null) return `${wrong}a character must follow the backslash.`;
    chunks[chunks.length - 1] += one;
  }
  return inChunks(chunks);
}

/** The first one that fits is the right one, so that no chunk is looked for twice. */
function inChunks(chunks: readonly string[]): (text: string) => boolean {
  const first = chunks[0]!;
  if (chunks.length === 1) {
    const whole = new RegExp(`^${first}$`, "u");
    return (text) => whole.test(text);
  }
  const begin = new RegExp(first, "uy");
  const middle = chunks.slice(1, -1).filter((chunk) => chunk !== "");
  const others = [...middle, `${chunks.at(-1)!}$`].map((chunk) => new RegExp(chunk, "gu"));
  return (text) => {
    begin.lastIndex = 0;
    if (!begin.test(text)) return false;
    let from = begin.lastIndex;
    for (const pattern of others) {
      pattern.lastIndex = from;
      if (!pattern.test(text)) return false;
      from = pattern.lastIndex;
    }
    return true;
  };
}

/** `or` joins what `and` joins, and both join comparisons. */
class Reader {
  readonly #tokens: readonly Token[];
  readonly #warnings: ConditionRemark[];
  #next = 0;
  #depth = 0;

  constructor(tokens: readonly Token[], warnings: ConditionRemark[]) {
    this.#tokens = tokens;
    this.#warnings = warnings;
  }

  whole(): Part {
    if (this.#is("end"))
      throw new ConditionFault("The condition compares nothing.", this.#token.at);
    const part = this.#joined("or");
    const { kind, value, at } = this.#token;
    if (kind === ")") throw new ConditionFault("This parenthesis closes none.", at);
    if (kind !== "end") throw new ConditionFault(`Put "and" or "or" before ${shown(value)}.`, at);
    return part;
  }

  get #token(): Token {
    return this.#tokens[this.#next] ?? this.#tokens.at(-1)!;
  }

  #is(kind: Token["kind"], value?: string): boolean {
    return this.#token.kind === kind && (value === undefined || this.#token.value === value);
  }

  #accepts(kind: Token["kind"], value?: string): boolean {
    const isIt = this.#is(kind, value);
    if (isIt) this.#next += 1;
    return isIt;
  }

  #joined(by: "or" | "and"): Part {
    const one = (): Part => answer(by === "or" ? this.#joined("and") : this.#negated());
    const first = one();
    const reads = [first.read];
    while (this.#accepts("joint", by)) reads.push(one().read);
    if (reads.length === 1) return first;
    const read: Read =
      by === "or"
        ? (message) => reads.some((each) => each(message) === true)
        : (message) => reads.every((each) => each(message) === true);
    return { read, at: first.at, isAnswer: true };
  }

  #negated(): Part {
    const { at } = this.#token;
    if (!this.#accepts("operator", "!")) return this.#compared();
    const { read } = answer(this.#value());
    if (this.#comparison() !== null)
      throw new ConditionFault('Put parentheses around what "!" negates: !( … ).', at);
    return { read: (message) => read(message) !== true, at, isAnswer: true };
  }

  #compared(): Part {
    const left = this.#value();
    const compare = this.#comparison();
    if (compare === null) return left;
    const operator = this.#token;
    this.#next += 1;
    if (this.#is("operator") && !this.#is("operator", "!"))
      throw new ConditionFault(
        `Put a space after ${operator.value}${this.#token.value}.`,
        operator.at,
      );
    const right = this.#value();
    if (this.#comparison() !== null)
      throw new ConditionFault(
        `Join comparisons with "and" or "or": ${this.#token.value} cannot follow another one.`,
        this.#token.at,
      );
    const read: Read = (message) => compare(left.read(message), right.read(message));
    return { read, at: left.at, isAnswer: true };
  }

  #comparison(): (typeof comparisons)[string] | null {
    const { kind, value } = this.#token;
    const isOne = (kind === "operator" && value !== "!") || (kind === "name" && value === "in");
    return isOne ? (comparisons[value] ?? null) : null;
  }

  #value(): Part {
    const token = this.#token;
    const { kind, value, at } = token;
    this.#next += 1;
    if (kind === "text") {
      const text = value.slice(1, -1);
      return { read: () => text, at, isAnswer: false, text };
    }
    if (kind === "number") {
      const number = Number(value);
      if (Number.isNaN(number)) throw new ConditionFault(`${shown(value)} is no number.`, at);
      return { read: () => number, at, isAnswer: false };
    }
    if (kind === "null") return { read: () => null, at, isAnswer: false };
    if (kind === "(") return this.#within(at, () => this.#group(at));
    if (kind === "," && value === "[") return this.#within(at, () => this.#list(at));
    if (kind === "name" && value !== "in") {
      if (this.#is("(")) return this.#within(at, () => this.#call(token));
      if (!this.#is(".") && (value === "true" || value === "false"))
        return { read: () => value === "true", at, isAnswer: true };
      return this.#path(token);
    }
    const found = kind === "end" ? "the end" : shown(value);
    throw new ConditionFault(`A name or a value must stand here, not ${found}.`, at);
  }

  #within(at: number, read: () => Part): Part {
    this.#depth += 1;
    if (this.#depth > maxDepth)
      throw new ConditionFault(`Parentheses stand in at most ${maxDepth} others.`, at);
    const part = read();
    this.#depth -= 1;
    return part;
  }

  #group(at: number): Part {
    const { read } = this.#joined("or");
    if (!this.#accepts(")")) throw new ConditionFault("This parenthesis is not closed.", at);
    return { read, at, isAnswer: true };
  }

  #list(at: number): Part {
    const parts: Part[] = [];
    if (this.#accepts(",", "]")) return { read: () => [], at, isAnswer: false };
    do parts.push(this.#value());
    while (this.#accepts(",", ","));
    if (!this.#accepts(",", "]")) throw new ConditionFault("This list is not closed by ].", at);
    return { read: (message) => parts.map(({ read }) => read(message)), at, isAnswer: false };
  }

  #call({ value: name, at }: Token): Part {
    const known = functions.get(name);
    if (known === undefined)
      throw new ConditionFault(
        `${shown(name)} is no function. Functions are ${[...functions.keys()].join(", ")}.`,
        at,
      );
    this.#next += 1;
    const parts = [this.#value()];
    while (this.#accepts(",", ",")) parts.push(this.#value());
    if (!this.#accepts(")")) throw new ConditionFault("This parenthesis is not closed.", at);
    if (parts.length !== known.arguments)
      throw new ConditionFault(
        `${name}() needs ${known.arguments === 1 ? "one value" : "two values"}, not ${parts.length}.`,
        at,
      );
    const [first, second] = parts as [Part, Part | undefined];
    const isAnswer = known.isAnswer === true;
    if (name === "match" && second?.text !== undefined) {
      const glob = globOf(second.text);
      if (typeof glob === "string") throw new ConditionFault(glob, second.at);
      const read: Read = (message) => {
        const text = first.read(message);
        return typeof text === "string" && glob(text);
      };
      return { read, at, isAnswer };
    }
    const read: Read = (message) =>
      known.of(first.read(message), second === undefined ? null : second.read(message));
    return { read, at, isAnswer };
  }

  #path({ value: first, at }: Token): Part {
    const names = [first];
    while (this.#accepts(".")) {
      const { kind, value, at: from } = this.#token;
      if (kind === "number")
        throw new ConditionFault("Put a backslash before the digit that a name begins with.", from);
      if (kind !== "name" && kind !== "null" && kind !== "joint")
        throw new ConditionFault("A name must follow the dot.", from);
      names.push(value);
      this.#next += 1;
    }
    if (!knownMembers.has(first))
      this.#warnings.push({
        message: `Messages usually have no member ${shown(first)}: it is null where it is missing. A text stands in quotes.`,
        at,
      });
    return { read: (message) => memberAt(message, names) ?? null, at, isAnswer: true };
  }
}

/** Texts, numbers and lists are never true. */
function answer(part: Part): Part {
  if (part.isAnswer) return part;
  throw new ConditionFault(
    "Compare this with a value: alone it is neither true nor false.",
    part.at,
  );
}

const shown = (text: string): string =>
  JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
