/** Headers as lines of text: `Retry-After: 5`. */

export const headerLines = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");

type ParsedHeaders = { headers: Record<string, string>; problem: null } | { headers: null; problem: string };

export function parseHeaderLines(text: string): ParsedHeaders {
  const entries: [string, string][] = [];
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(colon, 0)).trim();
    if (name === "") return { headers: null, problem: `“${line.trim()}” is not a header. Write one a line, for example Retry-After: 5.` };
    if (entries.some(([other]) => other.toLowerCase() === name.toLowerCase()))
      return { headers: null, problem: `The header ${name} is there twice.` };
    entries.push([name, line.slice(colon + 1).trim()]);
  }
  return { headers: Object.fromEntries(entries), problem: null };
}
