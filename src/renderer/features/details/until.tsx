/** Times of the pipeline's clock, which may be of any day. */

import { calendarDate, clockTime, dayAndTime, milliseconds, span } from "../../kit/words.ts";
import { nowOf, useClock, useNow } from "../../stores/clock.ts";

/**
 * A time on record, with its day when the clock shows another one. In a column, which has the room
 * of `16:47:32.204`, the day takes that of the seconds. A narrow one hides what is `ms`, and has the
 * room of `Mon 16:47`: of a day with a date it shows the date.
 */
export function Time({ at, column = false }: { at: number; column?: boolean }) {
  const clock = useClock();
  const text = dayAndTime(at, clock === undefined ? at : nowOf(clock));
  const isToday = text === clockTime(at);
  const full = `${calendarDate(at)} ${clockTime(at)}${milliseconds(at)}`;
  if (!column) return <span title={full}>{text}</span>;
  const hasDate = !isToday && text.split(" ").length > 2;
  const rest = isToday ? milliseconds(at) : hasDate ? text.slice(-9, -3) : "";
  return (
    <span title={full}>
      {isToday ? text : text.slice(0, hasDate ? -9 : -3)}
      <span className="ms">{rest}</span>
    </span>
  );
}

/** One that is to come, and how long it is until then. In teal, as all that the clock owns. */
export function Until({ at, withTime = true }: { at: number; withTime?: boolean }) {
  const now = useNow();
  const rest = now === null ? "" : at > now ? `in ${span(at - now)}` : "due now";
  if (!withTime) return <span className="due">{rest}</span>;
  return (
    <span className="due">
      {now === null ? clockTime(at) : dayAndTime(at, now)}
      {rest === "" ? null : <span className="wide-only">, {rest}</span>}
    </span>
  );
}
