/** A sentence of ours; what stands in backticks is spelled as the API or a message spells it. */

import { Visible } from "./code-rows.tsx";

export function Sentence({ text }: { text: string }) {
  return text.split("`").map((part, place) =>
    place % 2 === 0 ? (
      part
    ) : (
      // oxlint-disable-next-line react/no-array-index-key -- parts have nothing but their place
      <code key={place}>
        <Visible text={part} />
      </code>
    ),
  );
}
