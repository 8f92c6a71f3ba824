/** Parts of a profile's page: a heading with what stands below it, and a time of the clock. */

import type { ReactNode } from "react";
import { calendarDate, clockTime, count } from "../../kit/words.ts";

export function SeenAt({ at }: { at: string }) {
  const time = Date.parse(at);
  return (
    <span className="due" title={calendarDate(time)}>
      {clockTime(time)}
    </span>
  );
}

/** A heading with how many there are, and a sentence when there are none. */
export function Part({ title, number, none, children }: { title: string; number: number; none: string; children: ReactNode }) {
  return (
    <section className="section" aria-label={title}>
      <div className="section-head">
        <h3>{title}</h3>
        <span className="quiet">{number === 0 ? "" : count(number)}</span>
      </div>
      {number === 0 ? <p className="quiet">{none}</p> : children}
    </section>
  );
}
