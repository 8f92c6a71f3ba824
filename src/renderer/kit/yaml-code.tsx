/**
 * A YAML file with its line numbers and colours, to read or to edit. Lines wrap, and each number
 * stays with its line: what is typed lies over the coloured lines, with the same face and width.
 * It is not a textarea, because Chromium does not indent where a line of a textarea continues.
 */

import { memo, useEffect, useLayoutEffect, useRef, type ReactNode } from "react";
import { yamlTokens } from "./yaml-tokens.ts";
import "./yaml-code.css";

type Props = {
  label: string;
  text: string;
  /** Lines with a mistake, from 1. */
  wrong?: ReadonlySet<number>;
  /** A line that differs from another file, and how. */
  changed?: { line: number; note: string } | null;
  /** The line that is pointed at; a new object scrolls to it again. */
  pointed?: { line: number } | null;
  /** Null: it stays as it is. */
  onChange: ((text: string) => void) | null;
};

const none: ReadonlySet<number> = new Set();

export function YamlCode({
  label,
  text,
  wrong = none,
  changed = null,
  pointed = null,
  onChange,
}: Props) {
  const pane = useRef<HTMLDivElement>(null);
  const typed = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const { current } = typed;
    if (current !== null && textIn(current) !== text) current.textContent = text + end;
  }, [text]);
  const line = pointed?.line ?? changed?.line ?? null;
  useEffect(() => {
    if (line === null) return;
    pane.current?.querySelector(`[data-line="${line}"]`)?.scrollIntoView({ block: "nearest" });
  }, [line, pointed]);
  return (
    <div className="pane-body bytes yaml-code" ref={pane}>
      <div className="yaml-lines" aria-hidden="true">
        {text.split("\n").map((each, place) => {
          const number = place + 1;
          const names = [
            "yaml-line",
            wrong.has(number) ? "wrong" : "",
            changed?.line === number ? "changed" : "",
            pointed?.line === number ? "pointed" : "",
          ];
          return (
            // oxlint-disable-next-line react/no-array-index-key -- a line is its place
            <div key={place} className={names.filter(Boolean).join(" ")} data-line={number}>
              <i>{number}</i>
              <code>
                <YamlLine line={each} />
                {changed?.line === number ? <span className="why">{changed.note}</span> : null}
              </code>
            </div>
          );
        })}
      </div>
      <div
        ref={typed}
        className="yaml-typed"
        role="textbox"
        aria-label={label}
        aria-multiline
        aria-readonly={onChange === null}
        aria-invalid={wrong.size > 0}
        tabIndex={0}
        spellCheck={false}
        contentEditable={onChange === null ? false : "plaintext-only"}
        suppressContentEditableWarning
        onInput={(event) => onChange?.(textIn(event.currentTarget))}
      />
    </div>
  );
}

/** The last line of a page is only there when another one follows. */
const end = "\n";

function textIn(element: HTMLElement): string {
  const text = linesIn(element);
  return element.textContent.endsWith(end) ? text.slice(0, -end.length) : text;
}

/** Browsers write a new line as one, as a `br` and as a block. */
function linesIn(block: Node): string {
  return [...block.childNodes]
    .map((node) => {
      const isBlock = node.nodeName === "DIV";
      const startsLine = isBlock || node.previousSibling?.nodeName === "DIV";
      const before = startsLine && node.previousSibling !== null ? "\n" : "";
      if (isBlock) return before + linesIn(node);
      if (node.nodeName !== "BR") return before + (node.textContent ?? "");
      return node.nextSibling === null ? before : `${before}\n`;
    })
    .join("");
}

const classes = {
  key: "k",
  string: "s",
  literal: "n1",
  punct: "p",
  comment: "quiet",
  plain: undefined,
} as const;

const YamlLine = memo(function YamlLine({ line }: { line: string }): ReactNode {
  // An empty line is as high as any other.
  if (line === "") return "\u200b";
  return yamlTokens(line).map(({ kind, text }, place) => (
    // oxlint-disable-next-line react/no-array-index-key -- a piece is its place
    <span key={place} className={classes[kind]}>
      {text}
    </span>
  ));
});
