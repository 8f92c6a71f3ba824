/**
 * The condition language of triggers at the hosted service; filters have a larger one
 * (`filter-condition.ts`):
 *
 *   type = "track" and (event = "Order Completed" or properties.total >= 100)
 *
 * A condition matches here exactly when it matches there, also where the open source surprises:
 * the last `and` or `or` of a group joins all of its parts, groups do not nest, a name that cannot
 * be compared is skipped, single quotes belong to the value, and `!=` matches a member that is
 * missing. Nothing of this is an error; each is a warning with its place.
 */

/** A sentence for a person, and the offset in the text that it is about. */
export type ConditionRemark = { readonly message: string; readonly at: number };

export type Condition = {
  readonly joinedBy: "and" | "or";
  /** `null` is an empty group: whatever reaches it does not match. */
  readonly parts: readonly (Condition | Comparison | null)[];
};

type Comparison = {
  readonly member: Member;
  /** Below `properties`, `traits` or `context`. */
  readonly path: string | null;
  readonly operator: string;
  readonly value: string | number | boolean;
};

type ParsedCondition =
  | { readonly condition: Condition; readonly warnings: readonly ConditionRemark[] }
  | { readonly condition: null; readonly error: ConditionRemark };

type Member = "type" | "event" | "name" | "userId" | "properties" | "traits" | "context";

/** An ordinary object: the names that all objects have, such as `constructor`, are found too. */
const members: Readonly<Record<string, Member | undefined>> = {
  type: "type",
  event: "event",
  name: "name",
  userId: "userId",
  properties: "properties",
  traits: "traits",
  context: "context",
};

export type Token = {
  kind: "name" | "operator" | "joint" | "text" | "number" | "null" | "(" | ")" | "." | "," | "end";
  value: string;
  at: number;
};

export class ConditionFault extends Error {
  readonly at: number;
  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

export function parseCondition(text: string): ParsedCondition {
  const warnings: ConditionRemark[] = [];
  try {
    const part = new GroupReader(joinPaths(tokensOf(text)), warnings).read();
    if (part === undefined)
      throw new ConditionFault(
        "The condition compares nothing. Compare type, event, name, userId, or a member of " +
          "properties, traits or context with a value.",
        0,
      );
    const condition: Condition = "parts" in part ? part : { joinedBy: "and", parts: [part] };
    return { condition, warnings };
  } catch (error) {
    if (!(error instanceof ConditionFault)) throw error;
    return { condition: null, error: { message: error.message, at: error.at } };
  }
}

const isLetter = (char: string): boolean => /^[a-z]$/i.test(char);
const isDigit = (char: string): boolean => /^[0-9]$/.test(char);
const isOfName = (char: string): boolean => /^[a-z0-9_\\-]$/i.test(char);
/** The end of the text, whose character is "", too. */
const endsWord = (char: string): boolean => /^[ \t\n,\])]?$/.test(char);

export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;

  /** What follows must be this, and then the end of a word. */
  const accept = (word: string): boolean => {
    // A text that ends within the word loses what there is of it, as in the open source.
    if (at + word.length > text.length && !/[ \t\n,\])]/.test(text.slice(at))) {
      at = text.length;
      return false;
    }
    const found = text.startsWith(word, at) && endsWord(text.charAt(at + word.length));
    if (found) at += word.length;
    return found;
  };

  const nameFrom = (first: string, start: number): Token => {
    let value = "";
    let char = first;
    for (;;) {
      if (char === "\\") {
        if (at >= text.length)
          throw new ConditionFault("A character must follow the backslash.", start);
        char = text.charAt(at++);
      }
      value += char;
      if (!isOfName(text.charAt(at))) break;
      char = text.charAt(at++);
    }
    const next = text.charAt(at);
    if (!endsWord(next) && !".(=!".includes(next))
      throw new ConditionFault(
        `${JSON.stringify(next)} cannot follow a name. Put a space or a backslash before it.`,
        at,
      );
    return { kind: "name", value, at: start };
  };

  const wordFrom = (char: string, start: number): Token => {
    if (char === "=") return { kind: "operator", value: "=", at: start };
    if (char === "!") {
      if (accept("=")) return { kind: "operator", value: "!=", at: start };
      throw new ConditionFault(
        '"!" stands directly before a name or a parenthesis, or is "!=" and a space.',
        start,
      );
    }
    if (char === "<" || char === ">")
      return { kind: "operator", value: accept("=") ? `${char}=` : char, at: start };
    if (char === "a" && accept("nd")) return { kind: "joint", value: "and", at: start };
    if (char === "o" && accept("r")) return { kind: "joint", value: "or", at: start };
    if (char === "n" && accept("ull")) return { kind: "null", value: "null", at: start };
    return nameFrom(char, start);
  };

  const numberFrom = (first: string, start: number): Token => {
    let digits = "";
    while (isDigit(text.charAt(at)) || text.charAt(at) === ".") {
      const char = text.charAt(at++);
      if (char === "." && endsWord(text.charAt(at)))
        throw new ConditionFault("A digit must follow the decimal point.", start);
      if (char === "." && digits.includes("."))
        throw new ConditionFault("A number has one decimal point.", start);
      digits += char;
    }
    return { kind: "number", value: first + digits, at: start };
  };

  const textFrom = (quote: string, start: number): Token => {
    const end = text.indexOf(quote, at);
    if (end === -1) throw new ConditionFault("The text in quotes has no closing quote.", start);
    const value = text.slice(at, end);
    at = end;
    // When no word ends after the quote, it also opens the next text.
    accept(quote);
    return { kind: "text", value: `${quote}${value}${quote}`, at: start };
  };

  while (at < text.length) {
    const start = at;
    const char = text.charAt(at++);
    const next = text.charAt(at);
    if (char === " " || char === "\t" || char === "\n") continue;
    if (char === "!" && (isLetter(next) || next === "("))
      tokens.push({ kind: "operator", value: "!", at: start });
    else if (isLetter(char) || "!=><\\_".includes(char)) tokens.push(wordFrom(char, start));
    else if (isDigit(char) || char === "-" || char === "+") tokens.push(numberFrom(char, start));
    else if (char === '"' || char === "'") tokens.push(textFrom(char, start));
    else if (char === "(" || char === ")" || char === "." || char === ",")
      tokens.push({ kind: char, value: char, at: start });
    else if (char === "[" || char === "]") tokens.push({ kind: ",", value: char, at: start });
    else
      throw new ConditionFault(
        `${JSON.stringify(char)} has no meaning here. A text stands in double quotes, and in a name a backslash stands before it.`,
        start,
      );
  }
  tokens.push({ kind: "end", value: "eos", at: text.length });
  return tokens;
}

/** A name, a dot and a name are one name. */
function joinPaths(tokens: readonly Token[]): Token[] {
  const joined: Token[] = [];
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index]!;
    const last = joined.at(-1);
    const next = tokens[index + 1];
    if (last?.kind === "name" && token.kind === "." && next?.kind === "name") {
      joined[joined.length - 1] = { ...last, value: `${last.value}.${next.value}` };
      index += 1;
    } else joined.push(token);
  }
  return joined;
}

const isCall = (token: Token | undefined): boolean =>
  token?.kind === "name" && (token.value === "contains" || token.value === "match");

const isNot = (token: Token): boolean => token.kind === "operator" && token.value === "!";

const valueOf = (token: Token): string | number | boolean => {
  if (token.kind === "text") return token.value.replace(/^"/, "").replace(/"$/, "");
  if (token.kind === "number") return Number(token.value);
  if (token.kind === "name" && token.value === "true") return true;
  if (token.kind === "name" && token.value === "false") return false;
  return token.value;
};

const operators: ReadonlySet<string> = new Set(["=", "!=", "<", "<=", ">", ">="]);

/** Reads the tokens of a group one after the other; a token that says nothing is skipped. */
class GroupReader {
  readonly #tokens: readonly Token[];
  readonly #warnings: ConditionRemark[];
  readonly #parts: (Condition | Comparison | null)[] = [];
  #next = 0;

  constructor(tokens: readonly Token[], warnings: ConditionRemark[]) {
    this.#tokens = tokens;
    this.#warnings = warnings;
  }

  read(): Condition | Comparison | undefined {
    let joinedBy: "and" | "or" | null = null;
    /** One warning is enough for all that is skipped up to the next `and` or `or`. */
    let skipping = false;
    for (let token = this.#take(); token !== undefined; token = this.#take()) {
      if (token.kind === "end") break;
      const member = token.kind === "name" ? members[token.value.split(".")[0]!] : undefined;
      if (member !== undefined) this.#readComparison(token, member);
      else if (isCall(token)) this.#readCall(token, false);
      else if (isNot(token) && isCall(this.#tokens[this.#next]))
        this.#readCall(this.#take()!, true);
      else if (isNot(token))
        this.#warn(`"!" works before contains and match only; here it is skipped.`, token);
      else if (token.kind === "(") this.#readGroup(token);
      else if (token.kind === "joint") {
        if (joinedBy !== null && joinedBy !== token.value)
          this.#warn(
            `The last of several "and" and "or" joins all parts of its group: "${token.value}" ` +
              "replaces the one before. Use parentheses.",
            token,
          );
        joinedBy = token.value as "and" | "or";
      } else if (token.kind !== ")" && !skipping)
        this.#warn(`${token.value} cannot be compared, and this part is skipped.`, token);
      skipping = token.kind !== "joint" && (skipping || token.kind === "name");
    }
    const [first] = this.#parts;
    if (this.#parts.length > 1) return { joinedBy: joinedBy ?? "and", parts: this.#parts };
    return first ?? undefined;
  }

  #take(): Token | undefined {
    return this.#tokens[this.#next++];
  }

  #warn(message: string, token: Token): void {
    this.#warnings.push({ message, at: token.at });
  }

  #readComparison(name: Token, member: Member): void {
    const operator = this.#take();
    const value = this.#take();
    if (operator === undefined || value === undefined)
      throw new ConditionFault(`An operator and a value must follow ${name.value}.`, name.at);
    // A name that all objects have: its comparison is skipped.
    if (typeof member !== "string") return this.#warn(`${name.value} cannot be compared.`, name);
    this.#warnOfComparison(name, member, operator, value);

    const isPath = member === "properties" || member === "traits" || member === "context";
    const path = isPath ? name.value.replace(new RegExp(`^${member}\\.`), "") : null;
    const add = (operatorName: string, expected: Comparison["value"]): void => {
      this.#parts.push({ member, path, operator: operatorName, value: expected });
    };
    const equality = operator.value === "=" || operator.value === "!=";
    const equal = operator.value === "=";
    if ((isPath || member === "name" || member === "userId") && equality && value.value === "null")
      add(equal ? "not_exists" : "exists", "");
    else if ((isPath || member === "userId") && equal && value.value === "true") add("is_true", "");
    else if ((isPath || member === "userId") && equal && value.value === "false")
      add("is_false", "");
    else if (isPath && equality && value.kind === "number")
      add(equal ? "number_equals" : "number_not_equals", valueOf(value));
    else add(operator.value, isPath ? valueOf(value) : String(valueOf(value)));
  }

  #warnOfComparison(name: Token, member: Member, operator: Token, value: Token): void {
    if (operator.kind !== "operator" || !operators.has(operator.value))
      this.#warn(`${operator.value} is no operator, so this never matches.`, operator);
    else if (value.kind === "operator")
      this.#warn(`Put a space after ${operator.value}${value.value}.`, value);
    else if (value.kind === "end") this.#warn(`The value after ${name.value} is missing.`, value);
    else if (value.value.startsWith("'"))
      this.#warn("Single quotes are part of the value. Use double quotes.", value);
    else if (value.kind === "null" && (member === "type" || member === "event"))
      this.#warn(`${member} is compared with the text "null" here.`, value);
  }

  /** `contains(name, "text")`, `match(name, "text*")`, `match(name, "*text")`. */
  #readCall(call: Token, negated: boolean): void {
    this.#take();
    const name = this.#take();
    this.#take();
    const value = this.#take();
    this.#take();
    if (name === undefined || value === undefined)
      throw new ConditionFault(`${call.value}() needs a name and a text.`, call.at);
    const expected = String(valueOf(value));
    const not = negated ? "not_" : "";
    const startsWith = value.value.endsWith('*"');
    if (call.value === "match" && !startsWith && !value.value.startsWith('"*'))
      this.#warn('match() needs a "*" at the start or the end of its text.', value);
    const operator =
      call.value === "contains" ? "contains" : startsWith ? "starts_with" : "ends_with";
    const compared =
      call.value === "contains" ? expected : startsWith ? expected.slice(0, -1) : expected.slice(1);
    const plain = ["event", "name", "userId"].find((member) => member === name.value);
    const nested = ["properties", "traits", "context"].find((member) =>
      name.value.startsWith(member),
    );
    const member = (plain ?? nested) as Member | undefined;
    if (member === undefined)
      return this.#warn(`${name.value} cannot be used in ${call.value}(); it is skipped.`, name);
    const path =
      plain === undefined && name.value.startsWith(`${member}.`)
        ? name.value.slice(member.length + 1)
        : name.value;
    this.#parts.push({
      member,
      path: plain === undefined ? path : null,
      operator: `${not}${operator}`,
      value: compared,
    });
  }

  /** A group ends at the first closing parenthesis, also at that of a call within it. */
  #readGroup(opening: Token): void {
    const end = this.#tokens.findIndex((token, at) => at >= this.#next && token.kind === ")");
    if (end === -1)
      throw new ConditionFault(
        "This parenthesis is not closed. Parentheses cannot stand within others.",
        opening.at,
      );
    const inner = this.#tokens.slice(this.#next, end);
    const closing: Token = { kind: "end", value: "eos", at: this.#tokens[end]!.at };
    this.#next = end + 1;
    const part = new GroupReader([...inner, closing], this.#warnings).read();
    if (part === undefined)
      this.#warn("These parentheses compare nothing, so what reaches them never matches.", opening);
    this.#parts.push(part ?? null);
  }
}

type Event = Readonly<Record<string, unknown>>;

/** The event consists of values that JSON.parse made. */
export function matchesCondition(condition: Condition, event: Event): boolean {
  try {
    return groupMatches(condition, event);
  } catch {
    // An empty group, or a path into what an object inherits. It matches nothing there either.
    return false;
  }
}

function groupMatches({ joinedBy, parts }: Condition, event: Event): boolean {
  const matches = (part: Condition | Comparison | null): boolean => {
    if (part === null) throw new TypeError("The group is empty");
    return "parts" in part ? groupMatches(part, event) : comparisonMatches(part, event);
  };
  return joinedBy === "and" ? parts.every(matches) : parts.some(matches);
}

/** Of paths in use, each read once. */
const knownKeys = new Map<string, string[] | null>();
const maxKnownKeys = 2000;

function keysOf(path: string): string[] | null {
  let keys = knownKeys.get(path);
  if (keys === undefined) {
    keys = path.match(/[^[.\]]+/g);
    if (knownKeys.size >= maxKnownKeys) knownKeys.clear();
    knownKeys.set(path, keys);
  }
  return keys;
}

function comparisonMatches({ member, path, operator, value }: Comparison, event: Event): boolean {
  let actual: unknown = event[member];
  if (path === "") actual = undefined;
  else if (path !== null) {
    const keys = keysOf(path);
    if (keys === null) throw new TypeError("The path has no names");
    // Below null, 0, "" and false a path reads that value itself.
    for (const key of keys) actual = actual && (actual as Record<string, unknown>)[key];
  }
  switch (operator) {
    case "=":
      return actual === String(value);
    case "!=":
      return actual !== String(value);
    case "exists":
      return actual !== undefined && actual !== null;
    case "not_exists":
      return actual === undefined || actual === null;
    case "is_true":
      return actual === true;
    case "is_false":
      return actual === false;
  }
  if (typeof actual === "number") return numberMatches(actual, operator, Number(value));
  if (typeof actual === "string") return textMatches(actual, operator, String(value));
  return false;
}

function numberMatches(actual: number, operator: string, value: number): boolean {
  switch (operator) {
    case "number_equals":
      return actual === value;
    case "number_not_equals":
      return actual !== value;
    case "<":
      return actual < value;
    case "<=":
      return actual <= value;
    case ">":
      return actual > value;
    case ">=":
      return actual >= value;
    default:
      return false;
  }
}

function textMatches(actual: string, operator: string, value: string): boolean {
  switch (operator) {
    case "contains":
      return actual.includes(value);
    case "not_contains":
      return !actual.includes(value);
    case "starts_with":
      return actual.startsWith(value);
    case "not_starts_with":
      return !actual.startsWith(value);
    case "ends_with":
      return actual.endsWith(value);
    case "not_ends_with":
      return !actual.endsWith(value);
    default:
      return false;
  }
}
