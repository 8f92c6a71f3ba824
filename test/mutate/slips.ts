/** What a slip of the hand makes of an operator, a number, a method or a piece of SQL. */

/**
 * From here on a number is a size or a duration, and is doubled: whether one more counts is what
 * the mutants of its comparison ask.
 */
export const largeNumber = 100;

export const comparisons: Record<string, readonly string[]> = {
  "<": ["<=", ">="],
  "<=": ["<", ">"],
  ">": [">=", "<="],
  ">=": [">", "<"],
  "===": ["!=="],
  "!==": ["==="],
};
export const arithmetic: Record<string, string> = {
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "%": "*",
  "&": "|",
  "|": "&",
  "<<": ">>",
  ">>": "<<",
};
export const assignments: Record<string, string> = {
  "+=": "-=",
  "-=": "+=",
  "*=": "/=",
  "??=": "=",
  "||=": "=",
  "&&=": "=",
};
export const otherMethods = new Map(
  Object.entries({
    min: "max",
    max: "min",
    floor: "ceil",
    ceil: "floor",
    some: "every",
    every: "some",
    push: "unshift",
    unshift: "push",
    shift: "pop",
    pop: "shift",
    startsWith: "endsWith",
    endsWith: "startsWith",
    indexOf: "lastIndexOf",
    lastIndexOf: "indexOf",
    find: "findLast",
    findLast: "find",
  }),
);
/** Methods that answer their own kind: the call can be left out. */
export const leftOut = new Set([
  "slice",
  "filter",
  "sort",
  "toSorted",
  "reverse",
  "toReversed",
  "trim",
  "toLowerCase",
  "toUpperCase",
  "unref",
]);

export const sqlSwaps: readonly (readonly [pattern: RegExp, other: string])[] = [
  [/(?<![<>!])<=/g, "<"],
  [/<(?![=>])/g, "<="],
  [/(?<!-)>=/g, ">"],
  [/(?<![<-])>(?![=>])/g, ">="],
  [/ DESC\b/g, ""],
  [/\bAND\b/g, "OR"],
  [/\bOR\b(?! (?:IGNORE|REPLACE|ROLLBACK|FAIL|ABORT))/g, "AND"],
  [/\bIS NOT NULL\b/g, "IS NULL"],
  [/\bIS NULL\b/g, "IS NOT NULL"],
  [/\bNOT EXISTS\b/g, "EXISTS"],
  [/\bNOT IN\b/g, "IN"],
  [/\bMIN\(/gi, "max("],
  [/\bMAX\(/gi, "min("],
  [/(?<= )\+ (?=\d|\?|@|[a-z])/g, "- "],
  [/(?<= )- (?=\d|\?|@|[a-z])/g, "+ "],
  [/\bLIMIT 1\b/g, "LIMIT 2"],
];
export const looksLikeSql = /\b(?:SELECT|INSERT|UPDATE|DELETE FROM|WHERE|ORDER BY|FROM)\b/;
