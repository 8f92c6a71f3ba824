/**
 * Regular expressions in bounded time: a pattern that backtracks for years in JavaScript takes here
 * a step for each character and place in the pattern. Lookarounds and back references cannot be
 * matched that way; the hosted service does not have them either. Tests only: no captures.
 */

export type LinearPattern = {
  test(text: string): boolean;
  /** Steps for each character, at most. */
  size: number;
};

/** Instructions of a pattern: `\d{4}` has four. */
const maxSize = 3000;
/** Texts up to this length are left to JavaScript, unless quantifiers are nested. */
const maxNative = 200;

type Node =
  | { kind: "any"; nodes: Node[] }
  | { kind: "all"; nodes: Node[] }
  | { kind: "repeat"; node: Node; min: number; max: number }
  | { kind: "character"; is: (character: string) => boolean }
  | { kind: "assertion"; name: "^" | "$" | "b" | "B" };

/** Throws a sentence's end as an error, which `linearPattern` catches. */
class Unsupported extends Error {}

/** Returns a sentence when the pattern is wrong or cannot be matched in bounded time. */
export function linearPattern(source: string): LinearPattern | string {
  const shown = JSON.stringify(source.length > 60 ? `${source.slice(0, 60)}…` : source);
  const native = nativeOf(source);
  if (native === null) return `${shown} is not a regular expression.`;
  try {
    const parser = new Parser(source, native.unicode);
    const program = compile(parser.parse());
    const usesNative = !parser.isNested && parser.variable <= 2;
    return {
      size: program.length,
      test: (text) =>
        usesNative && text.length <= maxNative
          ? native.test(text)
          : run(program, native.unicode ? Array.from(text) : text.split("")),
    };
  } catch (error) {
    if (!(error instanceof Unsupported)) throw error;
    return `The pattern ${shown} has ${error.message}, so there is no bound on the time that it takes.`;
  }
}

/** Many patterns escape characters that need none, which only the older syntax allows. */
function nativeOf(source: string): RegExp | null {
  for (const flags of ["u", ""]) {
    try {
      return new RegExp(source, flags);
    } catch {
      // The next spelling.
    }
  }
  return null;
}

class Parser {
  readonly #source: string;
  readonly #unicode: boolean;
  #at = 0;
  /** Quantifiers that can match more than one length, and whether one is inside another. */
  variable = 0;
  isNested = false;

  constructor(source: string, unicode: boolean) {
    this.#source = source;
    this.#unicode = unicode;
  }

  parse(): Node {
    return this.#alternatives();
  }

  #alternatives(): Node {
    const nodes = [this.#sequence()];
    while (this.#take("|")) nodes.push(this.#sequence());
    return nodes.length === 1 ? (nodes[0] as Node) : { kind: "any", nodes };
  }

  #sequence(): Node {
    const nodes: Node[] = [];
    while (this.#at < this.#source.length && !"|)".includes(this.#source[this.#at] as string))
      nodes.push(this.#term());
    return { kind: "all", nodes };
  }

  #term(): Node {
    if (this.#take("^")) return { kind: "assertion", name: "^" };
    if (this.#take("$")) return { kind: "assertion", name: "$" };
    if (this.#take("\\b")) return { kind: "assertion", name: "b" };
    if (this.#take("\\B")) return { kind: "assertion", name: "B" };
    const before = this.variable;
    const isGroup = this.#source[this.#at] === "(";
    const node = isGroup ? this.#group() : this.#character();
    const range = this.#quantifier();
    if (range === null) return node;
    const [min, max] = range;
    if (max !== min) {
      this.variable += 1;
    }
    // A choice inside of a repetition can be ambiguous too.
    if (isGroup && max > 1 && (this.variable > before + (max === min ? 0 : 1) || hasChoice(node)))
      this.isNested = true;
    return { kind: "repeat", node, min, max };
  }

  #group(): Node {
    this.#take("(");
    if (this.#take("?")) {
      const name = /^<[^=!][^>]*>/u.exec(this.#source.slice(this.#at))?.[0];
      if (name !== undefined) this.#at += name.length;
      else if (!this.#take(":")) throw new Unsupported("a lookaround");
    }
    const node = this.#alternatives();
    this.#take(")");
    return node;
  }

  #character(): Node {
    const start = this.#at;
    if (this.#take("[")) {
      while (!this.#take("]")) this.#at += this.#source[this.#at] === "\\" ? 2 : 1;
    } else if (this.#take("\\")) {
      const rest = this.#source.slice(this.#at);
      if (/^(?:[1-9]|k<)/u.test(rest)) throw new Unsupported("a back reference");
      const escape =
        /^(?:[pP]\{[^}]*\}|u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z])/u.exec(
          rest,
        );
      this.#at += escape?.[0].length ?? String.fromCodePoint(rest.codePointAt(0) ?? 0).length;
    } else {
      const point = this.#source.codePointAt(this.#at) as number;
      const literal = this.#unicode
        ? String.fromCodePoint(point)
        : (this.#source[this.#at] as string);
      this.#at += literal.length;
      if (literal !== ".") return { kind: "character", is: (character) => character === literal };
    }
    return { kind: "character", is: tableOf(this.#source.slice(start, this.#at), this.#unicode) };
  }

  #quantifier(): [number, number] | null {
    const found = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})/u.exec(
      this.#source.slice(this.#at, this.#at + 30),
    );
    if (found === null) return null;
    this.#at += found[0].length;
    this.#take("?");
    const [sign, from = "0", comma = "", to = ""] = found;
    if (sign === "*") return [0, Infinity];
    if (sign === "+") return [1, Infinity];
    if (sign === "?") return [0, 1];
    const min = Number(from);
    const max = comma === "" ? min : to === "" ? Infinity : Number(to);
    if (min > maxSize || (max !== Infinity && max > maxSize))
      throw new Unsupported(`more than ${maxSize} places`);
    return [min, max];
  }

  #take(text: string): boolean {
    if (!this.#source.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }
}

function hasChoice(node: Node): boolean {
  if (node.kind === "any") return true;
  return node.kind === "all" && node.nodes.some(hasChoice);
}

/** Asks JavaScript about each character, once for those of ASCII. */
function tableOf(atom: string, unicode: boolean): (character: string) => boolean {
  const pattern = new RegExp(`^(?:${atom})$`, unicode ? "u" : "");
  const ascii = Array.from({ length: 128 }, (_, code) => pattern.test(String.fromCharCode(code)));
  return (character) => {
    const code = character.charCodeAt(0);
    return code < 128 ? (ascii[code] as boolean) : pattern.test(character);
  };
}

type Instruction =
  | { kind: "character"; is: (character: string) => boolean }
  | { kind: "assertion"; name: "^" | "$" | "b" | "B" }
  | { kind: "split"; to: number[] }
  | { kind: "end" };

function compile(root: Node): Instruction[] {
  const program: Instruction[] = [];
  const push = (instruction: Instruction): number => {
    if (program.length >= maxSize) throw new Unsupported(`more than ${maxSize} places`);
    return program.push(instruction) - 1;
  };
  const split = (): { to: number[] } => {
    const to: number[] = [];
    push({ kind: "split", to });
    return { to };
  };

  function emit(node: Node): void {
    switch (node.kind) {
      case "all":
        node.nodes.forEach(emit);
        return;
      case "any": {
        const start = split();
        const ends = node.nodes.map((each) => {
          start.to.push(program.length);
          emit(each);
          return split();
        });
        for (const end of ends) end.to.push(program.length);
        return;
      }
      case "repeat": {
        for (let n = 0; n < node.min; n += 1) emit(node.node);
        if (node.max === Infinity) {
          const at = program.length;
          const start = split();
          start.to.push(program.length);
          emit(node.node);
          split().to.push(at);
          start.to.push(program.length);
          return;
        }
        const skips: { to: number[] }[] = [];
        for (let n = node.min; n < node.max; n += 1) {
          const skip = split();
          skip.to.push(program.length);
          skips.push(skip);
          emit(node.node);
        }
        for (const skip of skips) skip.to.push(program.length);
        return;
      }
      default:
        push(node);
    }
  }

  emit(root);
  push({ kind: "end" });
  return program;
}

const isWord = (character: string | undefined): boolean =>
  character !== undefined && /^\w$/.test(character);

/** All ways through the program at once: each place is there at most once for each character. */
function run(program: readonly Instruction[], text: readonly string[]): boolean {
  const seenAt = new Int32Array(program.length).fill(-1);
  let places: number[] = [];

  /** Follows what takes no character. Returns true at the end of the program. */
  function enter(place: number, at: number, into: number[]): boolean {
    const open = [place];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (seenAt[next] === at) continue;
      seenAt[next] = at;
      const instruction = program[next] as Instruction;
      switch (instruction.kind) {
        case "end":
          return true;
        case "character":
          into.push(next);
          break;
        case "split":
          open.push(...instruction.to);
          break;
        case "assertion":
          if (holds(instruction.name, at)) open.push(next + 1);
      }
    }
    return false;
  }

  function holds(name: "^" | "$" | "b" | "B", at: number): boolean {
    if (name === "^") return at === 0;
    if (name === "$") return at === text.length;
    return (isWord(text[at - 1]) !== isWord(text[at])) === (name === "b");
  }

  for (let at = 0; ; at += 1) {
    if (enter(0, at, places)) return true;
    if (at === text.length) return false;
    const next: number[] = [];
    for (const place of places) {
      const instruction = program[place] as Extract<Instruction, { kind: "character" }>;
      if (instruction.is(text[at] as string) && enter(place + 1, at + 1, next)) return true;
    }
    places = next;
  }
}
