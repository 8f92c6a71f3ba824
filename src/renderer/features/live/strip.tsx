/** The stages of the pipeline with how many messages are at each, drawn as a yard: each is a filter. */

import type { MessageState } from "../../../domain/states.ts";
import { StateGlyph, type StateName } from "../../kit/glyph.tsx";
import { count } from "../../kit/words.ts";
import { shortCount } from "./row-words.ts";

/** The track that leads through a stage, or the siding that leaves it; one that ends in a buffer is an end. */
const stages: readonly { state: StateName; isSiding: boolean; track: string }[] = [
  { state: "received", isSiding: false, track: "M12 6H2000" },
  { state: "rejected", isSiding: true, track: "M0 6H2000M2 6c10 0 8 8 18 8h30M50 10v8" },
  { state: "filtered", isSiding: true, track: "M0 6H2000M2 6c10 0 8 8 18 8h30M50 10v8" },
  { state: "queued", isSiding: false, track: "M0 6H2000" },
  { state: "sending", isSiding: false, track: "M0 6H2000" },
  { state: "waiting", isSiding: true, track: "M0 6H2000M2 6c10 0 8 8 18 8H2000" },
  { state: "delivered", isSiding: false, track: "M0 6H15M0 14H2000" },
  { state: "failed", isSiding: true, track: "M0 14H2000" },
  { state: "expired", isSiding: true, track: "M0 14H50M50 10v8" },
];

type StripProps = {
  total: number;
  byState: Partial<Record<MessageState, number>>;
  pressed: readonly string[];
  onToggle: (state: MessageState) => void;
  /** Received: all of them. */
  onClear: () => void;
};

export function Strip({ total, byState, pressed, onToggle, onClear }: StripProps) {
  return (
    <div className="strip" role="group" aria-label="Stages, each a filter">
      {stages.map(({ state, isSiding, track }) => {
        const number = state === "received" ? total : (byState[state] ?? 0);
        const name = `stage ${isSiding ? "siding" : "through"} ${state}${number === 0 ? " zero" : ""}`;
        return (
          <button
            key={state}
            type="button"
            className={name}
            aria-pressed={state === "received" ? undefined : pressed.includes(state)}
            title={state === "received" ? `${count(number)} received; all states` : `${count(number)} ${state}`}
            onClick={() => (state === "received" ? onClear() : onToggle(state))}
          >
            <svg className="track" aria-hidden="true">
              <path d={track} />
            </svg>
            <StateGlyph state={state} />
            <b>{shortCount(number)}</b>
            {state}
          </button>
        );
      })}
    </div>
  );
}
