/**
 * One message beside the list: the path it took, its deliveries over time, what was sent and what
 * came. Shown by Live and by whoever shows a message; it reads the message itself, and changes only
 * its deliveries, its pin and its replays.
 */

import { useEffect, useMemo, useRef, useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { Button, IconButton } from "../../kit/controls.tsx";
import { useToast } from "../../kit/copy.tsx";
import { jsonLines } from "../../kit/json-tokens.ts";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { useKeys } from "../../stores/keys.ts";
import { useLive } from "../../stores/live-data.ts";
import { goOnceAnswered, usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { RetryTimeline } from "../timeline/retry-timeline.tsx";
import { CauseSection } from "./cause.tsx";
import {
  CopyMenu,
  type DeliveryActions,
  DeliveryLines,
  MessageTitle,
  useCopyCurl,
  useDeliveryActions,
} from "./message-head.tsx";
import { useWholeDelivery } from "./left-out.ts";
import { FilterNote, PlanNote } from "./plan-note.tsx";
import { MessageTabs } from "./message-tabs.tsx";
import { type Json, payloadChanges } from "./payload-changes.ts";
import { attemptHref, goTo } from "./places.ts";
import { canRetry } from "./state-words.ts";
import { filledWords, libraryWords } from "./trace-steps.ts";
import { Trace, WhyNot } from "./trace.tsx";
import "./details.css";

type Message = AnswerOf<"messages.get">;
type Delivery = Message["deliveries"][number];

type MessageDetailsProps = {
  id: string;
  onClose: () => void;
  /** The key `r` is for the rows that are selected beside it. */
  leavesRetry: boolean;
};

export function MessageDetails({ id, onClose, leavesRetry }: MessageDetailsProps) {
  const { answer: message, error } = useLive("messages.get", { id });
  const destinations = useLive("destinations.list", {}).answer;
  const names = useMemo(
    () =>
      new Map(
        destinations?.items.flatMap(({ id: destinationId, name, mappings }) => [
          [destinationId, name],
          // Of a delivery that a mapping made.
          ...mappings.map((mapping): [string, string] => [mapping.id, `${name}, ${mapping.name}`]),
        ]),
      ),
    [destinations],
  );
  const chosenId = usePlace((place) => place.query["delivery"]);
  const actions = useDeliveryActions();
  const copyCurl = useCopyCurl(message);
  const pane = useRef<HTMLElement>(null);

  const chosen = useWholeDelivery(
    message?.deliveries.find((delivery) => delivery.id === chosenId) ??
      (message === undefined ? undefined : decisiveDelivery(message)),
  );
  const openAttempt = (attemptId: string): void => goTo(attemptHref(id, attemptId));
  const openLast = (): void => {
    const last = chosen?.attempts.at(-1);
    if (last !== undefined) openAttempt(last.id);
  };

  useKeys({
    Escape: onClose,
    c: copyCurl,
    ...(leavesRetry
      ? {}
      : {
          r: () => {
            if (chosen !== undefined && canRetry(chosen)) actions.retry(chosen);
          },
        }),
    "[": openLast,
    "]": () => {
      const first = chosen?.attempts[0];
      if (first !== undefined) openAttempt(first.id);
    },
  });
  // Opening moves the focus in; walking on to another message leaves it where it is.
  useEffect(() => {
    pane.current?.focus({ preventScroll: true });
  }, []);

  return (
    <section
      ref={pane}
      className="pane details"
      aria-label="Message details"
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || event.target !== event.currentTarget) return;
        event.preventDefault();
        openLast();
      }}
    >
      {message === undefined ? (
        <div className="details-head">
          <div className="line">
            <ProblemText error={error} />
            <span className="grow" />
            <IconButton icon="close" label="Close details" shortcut="Esc" onClick={onClose} />
          </div>
        </div>
      ) : (
        <Details
          message={message}
          chosen={chosen}
          names={names}
          actions={actions}
          hasKey={!leavesRetry}
          onClose={onClose}
          onOpenAttempt={openAttempt}
        />
      )}
    </section>
  );
}

/** Of those that give the message its state, the one that took the most attempts. */
function decisiveDelivery({ deliveries, state }: Message): Delivery | undefined {
  const [first = deliveries[0]] = deliveries
    .filter((delivery) => delivery.state === state)
    .toSorted((a, b) => b.attempts.length - a.attempts.length);
  return first;
}

type DetailsProps = {
  message: Message;
  chosen: Delivery | undefined;
  names: ReadonlyMap<string, string>;
  actions: DeliveryActions;
  hasKey: boolean;
  onClose: () => void;
  onOpenAttempt: (attemptId: string) => void;
};

function Details({ message, chosen, onOpenAttempt, ...head }: DetailsProps) {
  const { names } = head;
  const raw = useJson(message.raw);
  const payload = useJson(chosen?.payload ?? "");
  const changes = useMemo(
    () => (raw === null || payload === null ? null : payloadChanges(raw, payload)),
    [raw, payload],
  );
  const library = useMemo(() => (payload === null ? null : libraryWords(payload.text)), [payload]);
  const filled = useMemo(
    () =>
      payload === null || changes === null || chosen === undefined
        ? null
        : filledWords(chosen, payload, changes),
    [chosen, payload, changes],
  );

  return (
    <>
      <Head {...head} message={message} chosen={chosen} />
      <div className="pane-body">
        <CauseSection message={message} names={names} />
        <Trace message={message} names={names} library={library} filled={filled} />
        {chosen === undefined ? (
          <WhyNot message={message} />
        ) : (
          <RetryTimeline message={message} delivery={chosen} onOpenAttempt={onOpenAttempt} />
        )}
        <PlanNote message={message} />
        <FilterNote message={message} destinationId={chosen?.destinationId} />
        <MessageTabs message={message} delivery={chosen} changes={changes} />
      </div>
    </>
  );
}

function useJson(value: Message["raw"]): Json | null {
  const text = typeof value === "string" ? value : null;
  return useMemo(() => {
    const lines = text === null ? null : jsonLines(text);
    return text === null || lines === null ? null : { text, lines };
  }, [text]);
}

/** As a new message, which is opened. */
export const replayMessage = (id: string): Promise<void> =>
  goOnceAnswered(call("messages.replay", { id }), (replayed) => {
    useToast.getState().show(`Replayed as ${replayed.messageId}`);
    return { view: "live", path: [replayed.id], query: usePlace.getState().query };
  });

function Head({
  message,
  chosen,
  names,
  actions,
  hasKey,
  onClose,
}: Omit<DetailsProps, "onOpenAttempt">) {
  const { id, pinned } = message;
  const { problem, run } = useAction();
  const [about, setAbout] = useState(id);
  const press = (what: "replay" | "pin", action: () => Promise<unknown>): void =>
    run(`${what} ${id}`, () => {
      setAbout(id);
      return action();
    });
  return (
    <header className="details-head">
      <div className="line">
        <MessageTitle message={message} level="h2" />
        <span className="grow" />
        <Button
          small
          look="quiet"
          icon="replay"
          title="Replay as a new message"
          aria-label="Replay"
          onClick={() => press("replay", () => replayMessage(id))}
        >
          <span className="wide-only">Replay</span>
        </Button>
        <CopyMenu message={message} delivery={chosen} />
        <IconButton
          icon="pin"
          label={
            pinned
              ? "Pinned: kept when old messages are cleared"
              : "Pin: keep it when old messages are cleared"
          }
          aria-pressed={pinned}
          onClick={() => press("pin", () => call("messages.pin", { id, pinned: !pinned }))}
        />
        <IconButton icon="close" label="Close details" shortcut="Esc" onClick={onClose} />
      </div>
      <ProblemText error={about === id ? problem : null} />
      <DeliveryLines
        message={message}
        names={names}
        chosen={chosen}
        actions={actions}
        hasKey={hasKey}
        onChoose={(delivery) => usePlace.getState().change({ query: { delivery } })}
      />
    </header>
  );
}
