/**
 * JSON as it was written: its tokens and its lines, with the places they have in the text. Nothing
 * is parsed into values, so numbers and escapes keep their spelling, and texts that are cut short
 * still have tokens.
 */

type TokenKind = "key" | "string" | "literal" | "punctuation" | "space" | "other";
export type Token = { kind: TokenKind; start: number; end: number };

const spaces = /[ \t\n\r]+/y;
const strings = /"(?:[^"\\]|\\[^])*"?/y;
/** Numbers, true, false, null, and whatever else stands in their place. */
const words = /[^\s"{}[\],:]+/y;
const literal = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/;
const control = /[\u0000-\u001f]/;
const wrongEscape = /\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})/;
const afterEscapes = /\\\\/g;

/** Every character is in one token, whatever the text is. */
export function tokenise(text: string): Token[] {
  const tokens: Token[] = [];
  const length = text.length;
  /** The last string that could turn out to be a key. */
  let candidate: Token | null = null;
  let at = 0;
  while (at < length) {
    const token = tokenAt(text, at);
    if (token.kind === "string") candidate = token;
    else if (token.kind === "punctuation" && text[at] === ":" && candidate !== null) {
      candidate.kind = "key";
      candidate = null;
    } else if (token.kind !== "space") candidate = null;
    tokens.push(token);
    at = token.end;
  }
  return tokens;
}

function tokenAt(text: string, start: number): Token {
  const character = text[start] as string;
  if ("{}[],:".includes(character)) return { kind: "punctuation", start, end: start + 1 };
  if (character === '"') return { kind: "string", start, end: endOf(strings, text, start) };
  const space = endOf(spaces, text, start);
  if (space > start) return { kind: "space", start, end: space };
  const end = Math.max(endOf(words, text, start), start + 1);
  return { kind: literal.test(text.slice(start, end)) ? "literal" : "other", start, end };
}

function endOf(pattern: RegExp, text: string, start: number): number {
  pattern.lastIndex = start;
  return pattern.test(text) ? pattern.lastIndex : start;
}

type Range = { start: number; end: number };

/** One line of the tree: a member or an item, or the bracket that ends one. */
export type TreeLine = {
  depth: number;
  /** With its quotation marks. */
  key: Range | null;
  /** A scalar, or the bracket; an empty array or object is a scalar. */
  value: Range;
  kind: "scalar" | "open" | "close";
  comma: boolean;
  /**
   * Of an opening line: the line that closes it, and how many members or items there are. Of a
   * closing line: the one that opened it.
   */
  partner: number;
  count: number;
  /** The line of the array or object around it; -1 at the top. */
  parent: number;
};

type Container = { line: number; bracket: "{" | "["; count: number };

/** The lines of the tree, or null when the text is not JSON. Nesting has no limit. */
export function jsonLines(text: string): TreeLine[] | null {
  const tokens = tokenise(text).filter((token) => token.kind !== "space");
  const lines: TreeLine[] = [];
  const open: Container[] = [];
  let at = 0;
  const characterAt = (place: number): string => text[tokens[place]?.start ?? text.length] ?? "";

  for (;;) {
    // A value begins here, with its key inside an object.
    const container = open.at(-1);
    let key: Range | null = null;
    if (container?.bracket === "{") {
      const token = tokens[at];
      if (token?.kind !== "key" || !isString(text, token) || characterAt(at + 1) !== ":")
        return null;
      key = { start: token.start, end: token.end };
      at += 2;
    }
    const token = tokens[at];
    if (token === undefined) return null;
    const parent = container?.line ?? -1;
    if (container !== undefined) container.count++;
    const bracket = characterAt(at);
    if (bracket === "{" || bracket === "[") {
      const isEmpty = characterAt(at + 1) === (bracket === "{" ? "}" : "]");
      const end = (isEmpty ? tokens[at + 1] : token)?.end ?? token.end;
      lines.push({
        depth: open.length,
        key,
        value: { start: token.start, end },
        kind: isEmpty ? "scalar" : "open",
        comma: false,
        partner: -1,
        count: 0,
        parent,
      });
      if (!isEmpty) {
        open.push({ line: lines.length - 1, bracket, count: 0 });
        at++;
        continue;
      }
      at += 2;
    } else {
      if (token.kind !== "literal" && !(token.kind === "string" && isString(text, token)))
        return null;
      lines.push({
        depth: open.length,
        key,
        value: { start: token.start, end: token.end },
        kind: "scalar",
        comma: false,
        partner: -1,
        count: 0,
        parent,
      });
      at++;
    }
    // After it: a comma, or the ends of what is around it.
    while (open.length > 0 && characterAt(at) !== ",") {
      const ended = open.pop() as Container;
      const token = tokens[at];
      if (token === undefined || characterAt(at) !== (ended.bracket === "{" ? "}" : "]"))
        return null;
      const opening = lines[ended.line] as TreeLine;
      opening.partner = lines.length;
      opening.count = ended.count;
      lines.push({
        depth: open.length,
        key: null,
        value: { start: token.start, end: token.end },
        kind: "close",
        comma: false,
        partner: ended.line,
        count: 0,
        parent: opening.parent,
      });
      at++;
    }
    if (open.length === 0) return at === tokens.length ? lines : null;
    (lines.at(-1) as TreeLine).comma = true;
    at++;
  }
}

function isString(text: string, { start, end }: Range): boolean {
  if (end - start < 2 || text[end - 1] !== '"') return false;
  const inside = text.slice(start + 1, end - 1);
  if (control.test(inside)) return false;
  return !inside.includes("\\") || !wrongEscape.test(inside.replace(afterEscapes, ""));
}

/** What the lines directly inside one are: the lines of its members or items. */
export function* linesInside(lines: readonly TreeLine[], line: number): Generator<number> {
  const end = lines[line]?.partner ?? -1;
  for (let at = line + 1; at < end; at++) {
    yield at;
    const inner = lines[at];
    if (inner?.kind === "open") at = inner.partner;
  }
}

/** The name that a key spells. */
export function keyName(text: string, key: Range): string {
  const spelling = text.slice(key.start, key.end);
  return spelling.includes("\\") ? (JSON.parse(spelling) as string) : spelling.slice(1, -1);
}
