/** The colours of a line of YAML: its keys, texts, literals and comments. Pure. */

type Token = { kind: "key" | "string" | "literal" | "punct" | "comment" | "plain"; text: string };

const patterns: readonly [Token["kind"], RegExp][] = [
  ["comment", /^(?:^|\s+)#.*$/],
  ["string", /^"(?:[^"\\]|\\.)*"?|^'(?:[^']|'')*'?/],
  ["key", /^(?:[^\s"'#,[\]{}:][^"'#,[\]{}]*?)(?=:(?:\s|$))/],
  ["punct", /^[[\]{},]|^:(?=\s|$)|^- |^-$/],
  ["literal", /^(?:true|false|null|~|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?=\s*(?:[,\]}#]|$))/i],
  ["plain", /^\s+/],
  ["string", /^[^\s,[\]{}][^,[\]{}]*?(?=\s+#|[,\]}]|$)/],
  ["string", /^./],
];

/** Their texts together are the line. */
export function yamlTokens(line: string): Token[] {
  const tokens: Token[] = [];
  let rest = line;
  while (rest !== "") {
    const [kind, text] = nextOf(rest, rest.length === line.length);
    const last = tokens.at(-1);
    if (last !== undefined && last.kind === kind && kind === "string") last.text += text;
    else tokens.push({ kind, text });
    rest = rest.slice(text.length);
  }
  return tokens;
}

function nextOf(rest: string, isStart: boolean): [Token["kind"], string] {
  for (const [kind, pattern] of patterns) {
    const text = pattern.exec(rest)?.[0] ?? "";
    if (text === "" || (kind === "comment" && text.startsWith("#") && !isStart)) continue;
    return [kind, text];
  }
  return ["plain", rest];
}
