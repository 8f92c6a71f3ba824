/**
 * What came from outside or went there: JSON as a tree, bytes as text, bytes as hex. Always text, never markup; no
 * character is lost, and none is invisible. What cannot be shown in the chosen way is shown in the next one.
 */

import { useMemo, type ReactNode } from "react";
import type { RecordedBytes } from "./byte-rows.ts";
import { CodeBytes } from "./code-bytes.tsx";
import { CodeTree, type TreeMarks } from "./code-tree.tsx";
import { Choice } from "./controls.tsx";
import { jsonLines } from "./json-tokens.ts";
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
  const lines = useMemo(() => (as === "tree" && typeof bytes === "string" ? jsonLines(bytes) : null), [as, bytes]);
  if (lines !== null && typeof bytes === "string") return <CodeTree text={bytes} lines={lines} label={label} marks={marks} after={after} />;
  return (
    <CodeBytes bytes={bytes} as={as === "hex" || typeof bytes !== "string" ? "hex" : "text"} label={label} before={before} after={after} />
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
      options={possible.map((each) => ({ value: each, label: each }))}
      onChange={onChange}
    />
  );
}
