/**
 * The claims about the hosted service, `docs/fidelity.md`: each has an id of its own, a source, and
 * a test that exists under its name; and each row of `docs/hosted-service.md` names claims.
 */

import { posix } from "node:path";

const page = "docs/fidelity.md";
const hostedPage = "docs/hosted-service.md";

const sources: ReadonlySet<string> = new Set([
  "documentation",
  "open source",
  "capture",
  "our choice",
]);

/** A row that is no claim about behaviour says so. */
const noClaim = "none to test";

type Texts = {
  /** The text of `docs/fidelity.md`, and that of `docs/hosted-service.md`. */
  claims: string;
  hosted: string;
  /** Of a file, null when there is none. */
  read(path: string): string | null;
};

export function fidelityFindings({ claims, hosted, read }: Texts): string[] {
  const known = new Set<string>();
  const findings = rowsOf(claims).flatMap((cells) => {
    const [idCell = "", claim = "", source = "", test = ""] = cells;
    const id = /^`([a-z0-9-]+)`$/.exec(idCell)?.[1];
    if (id === undefined) return [`${page}: ${idCell} is not an id.`];
    const isTwice = known.has(id);
    known.add(id);
    return [
      ...(isTwice ? [`${page}: ${id} is there twice.`] : []),
      ...(claim === "" ? [`${page}: ${id} claims nothing.`] : []),
      ...(sources.has(source) ? [] : [`${page}: ${id} has the unknown source "${source}".`]),
      ...testFindings(id, test, read),
    ];
  });
  return [...findings, ...rowsOf(hosted).flatMap((cells) => rowFindings(cells, known))];
}

function testFindings(id: string, cell: string, read: Texts["read"]): string[] {
  const match = /^\[(.+)\]\(([^)#]+)\)$/s.exec(cell);
  if (match === null) return [`${page}: ${id} has no test.`];
  const [, title = "", link = ""] = match;
  const path = posix.join("docs", link);
  const text = read(path);
  if (text === null) return [`${page}: ${id} names ${path}, which does not exist.`];
  return hasTest(text, title) ? [] : [`${page}: ${id} names a test that ${path} does not have.`];
}

/** As the first argument of a call, in quotes of any kind. */
function hasTest(text: string, title: string): boolean {
  const spellings = [JSON.stringify(title), `'${title.replaceAll("'", "\\'")}'`, `\`${title}\``];
  return spellings.some((spelling) => {
    const before = text.split(spelling).slice(0, -1);
    return before.some((part) => /\(\s*$/.test(part));
  });
}

function rowFindings(cells: readonly string[], known: ReadonlySet<string>): string[] {
  const last = cells.at(-1) ?? "";
  if (last === noClaim) return [];
  const name = `${hostedPage}: the row ${cells[0] ?? ""}`;
  const ids = last.split(/,\s*/).map((id) => /^`([a-z0-9-]+)`$/.exec(id)?.[1]);
  if (ids.includes(undefined)) return [`${name} names no claim of ${page} in its last column.`];
  return ids.flatMap((id = "") =>
    known.has(id) ? [] : [`${name} names the claim ${id}, which ${page} does not have.`],
  );
}

/** The rows of all tables, without their heads. */
function rowsOf(text: string): string[][] {
  const lines = text.split("\n");
  return lines.flatMap((line, at) => {
    const isRow = line.startsWith("|") && !isRule(line) && !isRule(lines[at + 1] ?? "");
    return isRow ? [cellsOf(line)] : [];
  });
}

const isRule = (line: string): boolean => /^\|[\s|:-]+\|$/.test(line);

function cellsOf(line: string): string[] {
  return line
    .slice(1, line.lastIndexOf("|"))
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));
}
