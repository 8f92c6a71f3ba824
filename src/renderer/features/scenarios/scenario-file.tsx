/** The text of a scenario with its line numbers, to read or to edit. The textarea is as high as its text: what scrolls is around both. */

import { useEffect, useRef } from "react";
import type { ScenarioProblem } from "../../../contract/scenarios.ts";

/** That of the mono face. */
const linePx = 18;

type ScenarioFileProps = {
  text: string;
  problems: readonly ScenarioProblem[];
  /** The line that is pointed at; a new object scrolls to it again. */
  pointed: { line: number } | null;
  /** Null: it comes with Hookyard and stays as it is. */
  onChange: ((text: string) => void) | null;
};

export function ScenarioFile({ text, problems, pointed, onChange }: ScenarioFileProps) {
  const pane = useRef<HTMLDivElement>(null);
  const lines = text.split("\n").length;
  const wrong = new Set(problems.map(({ line }) => line));
  useEffect(() => {
    if (pointed === null || pane.current === null) return;
    const { current } = pane;
    const top = (pointed.line - 1) * linePx;
    if (top < current.scrollTop || top > current.scrollTop + current.clientHeight - 2 * linePx)
      current.scrollTop = Math.max(0, top - current.clientHeight / 3);
  }, [pointed]);
  return (
    <div className="pane-body bytes scenario-file" ref={pane}>
      {pointed === null ? null : <div className="pointed" style={{ top: (pointed.line - 1) * linePx + 8 }} />}
      <div className="line-numbers" aria-hidden="true">
        {Array.from({ length: lines }, (_, place) => (
          <span key={place} className={wrong.has(place + 1) ? "wrong" : undefined}>
            {place + 1}
          </span>
        ))}
      </div>
      <textarea
        aria-label="The scenario's file"
        value={text}
        rows={lines}
        wrap="off"
        spellCheck={false}
        autoComplete="off"
        readOnly={onChange === null}
        aria-invalid={problems.length > 0}
        onChange={(event) => onChange?.(event.currentTarget.value)}
      />
    </div>
  );
}
