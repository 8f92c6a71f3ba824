/** One of the numbered steps of setting something up, joined to the next by a track. */

import type { ReactNode } from "react";

export function Step({
  number,
  title,
  note,
  isDone,
  children,
}: {
  number: number;
  title: string;
  note?: ReactNode;
  isDone: boolean;
  children: ReactNode;
}) {
  return (
    <li aria-label={title}>
      <b className={isDone ? "number done" : "number"} aria-hidden="true">
        {number}
      </b>
      <div className="part">
        <h3>
          {title}
          {note === undefined ? null : <span className="quiet step-note">{note}</span>}
        </h3>
        {children}
      </div>
    </li>
  );
}
