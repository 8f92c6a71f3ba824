/** A snippet of ours to copy, with its strings in the hue that strings have in bytes. */

import type { ReactNode } from "react";

/** In quotes of one kind, over lines as a shell has them; an escaped quote does not end it. */
const strings = /'[^']*'|"(?:[^"\\]|\\.)*"/g;

export function SnippetText({ text }: { text: string }) {
  const parts: ReactNode[] = [];
  let from = 0;
  for (const { 0: found, index } of text.matchAll(strings)) {
    parts.push(text.slice(from, index));
    parts.push(
      <span key={index} className="s">
        {found}
      </span>,
    );
    from = index + found.length;
  }
  return (
    <>
      {parts}
      {text.slice(from)}
    </>
  );
}
