/** The state of a deletion request: that of its deliveries, or that there was nothing to send. */

import type { AnswerOf } from "../../../contract/contract.ts";
import { State, StateGlyph } from "../../kit/glyph.tsx";

export type Deletion = AnswerOf<"deletions.get">;

export function DeletionState({ state }: { state: Deletion["state"] }) {
  if (state !== "nothing_to_send") return <State state={state} />;
  return (
    <span className="state filtered">
      <StateGlyph state="filtered" />
      nothing to send
    </span>
  );
}

export const stateSentences: Record<Deletion["state"], string> = {
  sending: "Delete messages are being sent.",
  queued: "Delete messages are queued.",
  waiting: "A receiver has not taken its delete message yet; it is retried.",
  failed: "A receiver refused its delete message. Retry it, or see in its attempts what it answered.",
  expired: "The retry window closed before a receiver took its delete message. Retry it to open a new one.",
  cancelled: "A delete message was cancelled before a receiver took it.",
  delivered: "Every receiver that had to know has taken its delete message.",
  nothing_to_send: "No receiver had to be told: no source that knows these users has a destination enabled.",
};
