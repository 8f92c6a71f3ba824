/**
 * What came from outside or went there: JSON as a tree, bytes as text, bytes as hex. Always text,
 * never markup; no character is lost, and none is invisible. What cannot be shown in the chosen way
 * is shown in the next one.
 */

import { type ReactNode, useMemo } from "react";
import { asciiOf, bytesOf, hexOf, type RecordedBytes, textRows } from "./byte-rows.ts";
import { CodeLine, Rows, useColumns, Visible } from "./code-rows.tsx";
import { classOf, CodeTree, type TreeMarks } from "./code-tree.tsx";
import { Choice } from "./controls.tsx";
import { jsonLines, type Token, tokenise } from "./json-tokens.ts";
import "./code-view.css";

export type CodeLook = "tree" | "text" | "hex";

type CodeViewProps = {
  value: RecordedBytes;
  as: CodeLook;
  label: string;
  /** What was added or changed, by the place of the value in the text; shown in the tree. */
  marks?: TreeMarks | undefined;
  /** Rows above the bytes (not in the tree), and below them. */
  before?: ReactNode;
  after?: ReactNode;
};

export function CodeView({ value, as, label, marks, before, after }: CodeViewProps) {
  // A new object with the same bytes is no reason to cut them into rows again.
  const key = typeof value === "string" ? value : value.base64;
  // oxlint-disable-next-line react-hooks/exhaustive-deps -- the key stands for the value
  const bytes = useMemo(() => value, [key, typeof value]);
  const lines = useMemo(
    () => (as === "tree" && typeof bytes === "string" ? jsonLines(bytes) : null),
    [as, bytes],
  );
  if (lines !== null && typeof bytes === "string")
    return <CodeTree text={bytes} lines={lines} label={label} marks={marks} after={after} />;
  return (
    <CodeBytes
      bytes={bytes}
      as={as === "hex" || typeof bytes !== "string" ? "hex" : "text"}
      label={label}
      before={before}
      after={after}
    />
  );
}

/** How bytes are shown; only what they can be shown as. */
export function CodeLookChoice({
  value,
  look,
  looks = ["tree", "text", "hex"],
  label = "Show as",
  onChange,
}: {
  value: RecordedBytes;
  look: CodeLook;
  looks?: readonly CodeLook[];
  label?: string;
  onChange: (look: CodeLook) => void;
}) {
  const possible: readonly CodeLook[] = typeof value === "string" ? looks : ["hex"];
  return (
    <Choice
      small
      label={label}
      value={possible.includes(look) ? look : (possible[0] ?? "hex")}
      options={possible}
      onChange={onChange}
    />
  );
}

/** Bytes in a row where there is room for them, and where there is not. */
const inText = { wide: 64, narrow: 48 };
const inHex = { wide: 16, narrow: 8 };
/** Columns that the wider rows need, with the offsets at their left. */
const columnsForText = 73;
const columnsForHex = 77;

type CodeBytesProps = {
  bytes: RecordedBytes;
  as: "text" | "hex";
  label: string;
  /** Rows above and below the bytes: a head, a note. */
  before?: ReactNode;
  after?: ReactNode;
};

/** Bytes as they were: as text with the place of each row's first byte, or as hex. */
function CodeBytes({ bytes, as, label, before, after }: CodeBytesProps) {
  const { ref, columns } = useColumns();
  return (
    <div ref={ref} className="code wrap" role="group" aria-label={label}>
      {before}
      {columns === 0 ? null : as === "text" && typeof bytes === "string" ? (
        <TextRows text={bytes} width={columns >= columnsForText ? inText.wide : inText.narrow} />
      ) : (
        <HexRows bytes={bytes} width={columns >= columnsForHex ? inHex.wide : inHex.narrow} />
      )}
      {after}
    </div>
  );
}

function TextRows({ text, width }: { text: string; width: number }) {
  const rows = useMemo(() => textRows(text, width), [text, width]);
  const tokens = useMemo(() => (/^\s*[[{"]/.test(text) ? tokenise(text) : []), [text]);
  return (
    <Rows
      count={rows.length}
      row={(place) => {
        const row = rows[place];
        if (row === undefined) return null;
        const { offset, start, end } = row;
        return (
          <CodeLine key={offset} gutter={offset}>
            {tokens.length === 0 ? (
              <Visible text={text.slice(start, end)} />
            ) : (
              <Coloured text={text} tokens={tokens} start={start} end={end} />
            )}
          </CodeLine>
        );
      }}
    />
  );
}

/** A stretch of the text: its first and last token may lie partly outside. */
function Coloured({
  text,
  tokens,
  start,
  end,
}: {
  text: string;
  tokens: readonly Token[];
  start: number;
  end: number;
}) {
  const pieces: ReactNode[] = [];
  for (let at = tokenAt(tokens, start); at < tokens.length; at++) {
    const token = tokens[at] as Token;
    if (token.start >= end) break;
    const from = Math.max(start, token.start);
    pieces.push(
      <Visible
        key={from}
        kind={classOf[token.kind]}
        text={text.slice(from, Math.min(end, token.end))}
      />,
    );
  }
  return pieces;
}

/** The token that the place is in. */
function tokenAt(tokens: readonly Token[], place: number): number {
  let low = 0;
  let high = tokens.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((tokens[middle] as Token).end <= place) low = middle + 1;
    else high = middle;
  }
  return low;
}

function HexRows({ bytes, width }: { bytes: RecordedBytes; width: number }) {
  const all = useMemo(() => bytesOf(bytes), [bytes]);
  return (
    <Rows
      count={Math.ceil(all.length / width)}
      row={(place) => {
        const offset = place * width;
        const row = all.subarray(offset, offset + width);
        const pairs = hexOf(row);
        const half = width / 2;
        return (
          <CodeLine key={offset} gutter={offset}>
            {`${pairs.slice(0, half).join(" ")}  ${pairs.slice(half).join(" ")}`.padEnd(
              width * 3 + 2,
            )}
            <span className="ascii">{asciiOf(row)}</span>
          </CodeLine>
        );
      }}
    />
  );
}
