/**
 * A time of the clock that is to come, and how long it is until then. In teal, as all that the
 * clock owns.
 */

import { clockTime, span } from "../../kit/words.ts";
import { useNow } from "../../stores/clock.ts";

export function Until({ at, withTime = true }: { at: number; withTime?: boolean }) {
  const now = useNow();
  const rest = now === null ? "" : at > now ? `in ${span(at - now)}` : "due now";
  if (!withTime) return <span className="due">{rest}</span>;
  return (
    <span className="due">
      {clockTime(at)}
      {rest === "" ? null : <span className="wide-only">, {rest}</span>}
    </span>
  );
}
