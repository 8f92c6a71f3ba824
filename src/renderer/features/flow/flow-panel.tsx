/** The message that was taken off the map: its path in words, and what can be done with it. */

import { useMemo } from "react";
import { IconButton, Button } from "../../kit/controls.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import type { AnswerOf } from "../../../contract/contract.ts";
import { DeliveryLines, MessageTitle, useDeliveryActions } from "../details/message-head.tsx";
import { canRetry } from "../details/state-words.ts";
import { Trace } from "../details/trace.tsx";
import { useKeys } from "../../stores/keys.ts";
import { usePlace } from "../../stores/place.ts";
import type { CallError } from "../../transport/call-error.ts";

type Message = AnswerOf<"messages.get">;

export function FlowPanel({
  id,
  message,
  error,
  destinations,
  isHeld,
  onHold,
  onClose,
}: {
  id: string;
  message: Message | undefined;
  error: CallError | null;
  destinations: readonly { id: string; name: string }[];
  isHeld: boolean;
  onHold: () => void;
  onClose: () => void;
}) {
  const names = useMemo(
    () => new Map(destinations.map((each) => [each.id, each.name])),
    [destinations],
  );
  const actions = useDeliveryActions();
  const chosen =
    message?.deliveries.find(({ state }) => state === message.state) ?? message?.deliveries[0];
  useKeys({
    Escape: onClose,
    r: () => {
      if (chosen !== undefined && canRetry(chosen)) actions.retry(chosen);
    },
  });
  return (
    <section className="pane flow-panel" aria-label="Message on the map">
      <header className="details-head">
        <div className="line">
          {message === undefined ? (
            <ProblemText error={error} />
          ) : (
            <MessageTitle message={message} level="h2" />
          )}
          <span className="grow" />
          <IconButton icon="close" label="Close" shortcut="Esc" onClick={onClose} />
        </div>
        {message === undefined ? null : (
          <DeliveryLines
            message={message}
            names={names}
            chosen={chosen}
            actions={actions}
            onChoose={(delivery) =>
              usePlace.getState().go({ view: "live", path: [id], query: { delivery } })
            }
          />
        )}
      </header>
      <div className="pane-body">
        {message === undefined ? null : (
          <Trace message={message} names={names} library={null} filled={null} />
        )}
      </div>
      <footer>
        <Button small shortcut="h" onClick={onHold} aria-pressed={isHeld}>
          {isHeld ? "Release" : "Hold"}
        </Button>
        <span className="grow" />
        <Button
          small
          look="quiet"
          onClick={() => usePlace.getState().go({ view: "live", path: [id] })}
        >
          Open in Live
        </Button>
      </footer>
      {isHeld ? (
        <p className="quiet held-note">
          Held on the map only. The pipeline does not wait for the picture.
        </p>
      ) : null}
    </section>
  );
}
