/** JSON as a tree, spelled as it was written. Arrays, objects and long strings fold. */

import { useMemo, useState, type ReactNode } from "react";
import { CodeLine, Rows, Visible } from "./code-rows.tsx";
import { Icon } from "./icon.tsx";
import { keyName, linesInside, type TreeLine } from "./json-tokens.ts";

/** What happened to a member or item, by the place of its value in the text. */
export type TreeMark = { kind: "added" | "changed"; /** What it was before. */ was?: string };
export type TreeMarks = ReadonlyMap<number, TreeMark>;

/**
 * Bigger than this, what is inside is folded at first: about a screen, for the first level half of
 * the longest message.
 */
const unfoldedLines = { top: 400, inner: 24 };
/** Longer strings are folded to their beginning. */
const unfoldedString = 400;
const shownOfString = 200;
/** Members named on a folded line. */
const namedMembers = 6;

export function CodeTree({
  text,
  lines,
  label,
  marks,
  after,
}: {
  text: string;
  lines: readonly TreeLine[];
  label: string;
  marks?: TreeMarks | undefined;
  after?: ReactNode;
}) {
  const initially = useMemo(() => foldedAtFirst(lines), [lines]);
  const [toggled, setToggled] = useState<{ of: readonly TreeLine[]; lines: ReadonlySet<number> }>({
    of: lines,
    lines: new Set(),
  });
  const changed = toggled.of === lines ? toggled.lines : new Set<number>();
  const isFolded = (line: number): boolean => initially.has(line) !== changed.has(line);
  const toggle = (line: number): void => {
    const next = new Set(changed);
    if (!next.delete(line)) next.add(line);
    setToggled({ of: lines, lines: next });
  };

  const shown = useMemo(() => {
    const places: number[] = [];
    for (let at = 0; at < lines.length; at++) {
      places.push(at);
      const line = lines[at];
      if (line?.kind === "open" && initially.has(at) !== changed.has(at)) at = line.partner;
    }
    return places;
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- `changed` is new on each render, its set is not
  }, [lines, initially, toggled]);

  const row = (place: number): ReactNode => {
    const at = shown[place] ?? 0;
    const line = lines[at];
    if (line === undefined) return null;
    const mark = marks?.get(line.value.start);
    const folded = line.kind === "open" && isFolded(at);
    const look =
      mark?.kind ??
      (folded && marks !== undefined && hasMarkInside(lines, at, marks) ? "changed" : undefined);
    const name = line.key === null ? "" : keyName(text, line.key);
    return (
      <CodeLine key={at} gutter={at + 1} look={look} depth={line.depth}>
        {line.kind === "open" ? (
          <button
            type="button"
            className="code-fold"
            aria-expanded={!folded}
            aria-label={`${name || (line.depth === 0 ? "value" : `value in line ${at + 1}`)}, ${sizeWords(text, line)}`}
            onClick={() => toggle(at)}
          >
            <Icon name={folded ? "forward" : "down"} small />
          </button>
        ) : null}
        {line.key === null ? null : (
          <>
            <Visible kind="k" text={text.slice(line.key.start, line.key.end)} />
            <span className="p">: </span>
          </>
        )}
        <Value
          text={text}
          lines={lines}
          at={at}
          folded={folded}
          isWhole={line.kind === "scalar" && isFolded(at)}
          onToggle={() => toggle(at)}
        />
        {line.comma || (folded && lines[line.partner]?.comma === true) ? (
          <span className="p">,</span>
        ) : null}
        {mark?.was === undefined ? null : (
          <span className="why">
            was <Visible text={mark.was} />
          </span>
        )}
      </CodeLine>
    );
  };

  return (
    <div className="code wrap tree" role="group" aria-label={label}>
      <Rows count={shown.length} row={row} />
      {after}
    </div>
  );
}

function Value({
  text,
  lines,
  at,
  folded,
  isWhole,
  onToggle,
}: {
  text: string;
  lines: readonly TreeLine[];
  at: number;
  folded: boolean;
  isWhole: boolean;
  onToggle: () => void;
}) {
  const line = lines[at] as TreeLine;
  const spelling = text.slice(line.value.start, line.value.end);
  if (line.kind === "open" && folded) {
    const closing = spelling === "{" ? "}" : "]";
    return (
      <>
        <span className="p">{spelling}</span>
        <button type="button" className="fold" tabIndex={-1} onClick={onToggle}>
          <Visible text={` ${summary(text, lines, at)} `} />
        </button>
        <span className="p">{closing}</span>
      </>
    );
  }
  if (line.kind !== "scalar" || "{[".includes(spelling.charAt(0)))
    return <span className="p">{spelling}</span>;
  if (!spelling.startsWith('"')) return <Visible kind="n1" text={spelling} />;
  if (spelling.length <= unfoldedString) return <Visible kind="s" text={spelling} />;
  return (
    <>
      <Visible kind="s" text={isWhole ? spelling : spelling.slice(0, shownOfString)} />
      <button type="button" className="fold" aria-expanded={isWhole} onClick={onToggle}>
        {isWhole
          ? " fold"
          : `… ${(spelling.length - shownOfString).toLocaleString("en-US")} more characters`}
      </button>
    </>
  );
}

function foldedAtFirst(lines: readonly TreeLine[]): ReadonlySet<number> {
  const folded = new Set<number>();
  lines.forEach(({ kind, depth, partner }, at) => {
    if (kind !== "open" || depth === 0) return;
    if (partner - at > (depth === 1 ? unfoldedLines.top : unfoldedLines.inner)) folded.add(at);
  });
  return folded;
}

function hasMarkInside(lines: readonly TreeLine[], at: number, marks: TreeMarks): boolean {
  const end = lines[at]?.partner ?? at;
  for (let inner = at + 1; inner < end; inner++)
    if (marks.has(lines[inner]?.value.start ?? -1)) return true;
  return false;
}

const sizeWords = (text: string, { value, count }: TreeLine): string =>
  text[value.start] === "{"
    ? `${count} member${count === 1 ? "" : "s"}`
    : `${count} item${count === 1 ? "" : "s"}`;

function summary(text: string, lines: readonly TreeLine[], at: number): string {
  const line = lines[at] as TreeLine;
  if (text[line.value.start] === "[" || line.count > namedMembers) return sizeWords(text, line);
  const names: string[] = [];
  for (const inner of linesInside(lines, at)) {
    const key = lines[inner]?.key;
    if (key) names.push(keyName(text, key));
  }
  const words = names.join(", ");
  return words.length > 60 ? sizeWords(text, line) : words;
}

export const classOf = {
  key: "k",
  string: "s",
  literal: "n1",
  punctuation: "p",
  space: "",
  other: "",
} as const;
