/**
 * Retry now and Cancel, for the states that allow them. A refusal is a sentence where the button
 * is, until the delivery moves on.
 */

import { type ReactElement, useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import type { RecordedBytes } from "../../kit/byte-rows.ts";
import { Visible } from "../../kit/code-rows.tsx";
import { Button } from "../../kit/controls.tsx";
import { copyText, orToast } from "../../kit/copy.tsx";
import { Menu } from "../../kit/floats.tsx";
import { StateGlyph } from "../../kit/glyph.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { visibleText } from "../../kit/visible-text.ts";
import { dayAndTime, some } from "../../kit/words.ts";
import { nowOf, useClock } from "../../stores/clock.ts";
import { useLive, useOnce } from "../../stores/live-data.ts";
import { call } from "../../transport/transport.ts";
import { curlOfIngest, harOfAttempts } from "./copy-as.ts";
import { wholePayload, withAllBytes } from "./left-out.ts";
import { canCancel, canRetry, deliveryName, stateWords } from "./state-words.ts";
import { Until } from "./until.tsx";

type Delivery = AnswerOf<"messages.get">["deliveries"][number];

export type DeliveryActions = {
  refusalOf(delivery: Delivery): Error | null;
  retry(delivery: Delivery): void;
  cancel(delivery: Delivery): void;
};

export function useDeliveryActions(): DeliveryActions {
  const { problem, run } = useAction();
  const [about, setAbout] = useState<Delivery | null>(null);
  const press = (name: "deliveries.retry" | "deliveries.cancel", delivery: Delivery): void =>
    run(`${name} ${delivery.id}`, () => {
      setAbout(delivery);
      return call(name, { id: delivery.id });
    });
  return {
    refusalOf: ({ id, state }) => (about?.id === id && about.state === state ? problem : null),
    retry: (delivery) => press("deliveries.retry", delivery),
    cancel: (delivery) => press("deliveries.cancel", delivery),
  };
}

export function DeliveryButtons({
  delivery,
  actions,
  isPrimary,
  hasKey = isPrimary,
}: {
  delivery: Delivery;
  actions: DeliveryActions;
  isPrimary: boolean;
  /** The key `r` retries it. */ hasKey?: boolean;
}) {
  return (
    <span className="delivery-buttons">
      {canCancel(delivery) ? (
        <Button small onClick={() => actions.cancel(delivery)}>
          Cancel
        </Button>
      ) : null}
      {canRetry(delivery) ? (
        <Button
          small
          look={isPrimary ? "primary" : "outlined"}
          {...(hasKey ? { shortcut: "r" } : {})}
          onClick={() => actions.retry(delivery)}
        >
          Retry now
        </Button>
      ) : null}
    </span>
  );
}

type Message = AnswerOf<"messages.get">;

/** A name may have 30 KB; what is drawn of it is what could fit. */
const drawn = 300;

/** A message in a line: its type, its event, its user. */
export function MessageTitle({ message, level }: { message: Message; level: "h1" | "h2" }) {
  const { type, event, userId, anonymousId, messageId } = message;
  const user = userId ?? anonymousId;
  const name = event ?? user ?? messageId;
  const Heading = level;
  return (
    <>
      <span className="badge">{type ?? "no type"}</span>
      <Heading className="clip message-name" title={visibleText(name.slice(0, drawn))}>
        <Visible text={name.slice(0, drawn)} />
      </Heading>
      {event === null || user === null ? null : (
        <code className="muted clip message-user" title={visibleText(user.slice(0, drawn))}>
          <Visible text={user.slice(0, drawn)} />
        </code>
      )}
    </>
  );
}

type Props = {
  message: Message;
  names: ReadonlyMap<string, string>;
  chosen: Delivery | undefined;
  actions: DeliveryActions;
  /** The key `r` retries the chosen one. */ hasKey?: boolean;
  onChoose: (deliveryId: string) => void;
};

/**
 * Where the deliveries of a message stand: one line for one, a line each to choose from for
 * several.
 */
export function DeliveryLines({ message, names, chosen, actions, hasKey = true, onChoose }: Props) {
  const { deliveries, state } = message;
  if (deliveries.length === 0) {
    return (
      <div className="line">
        <span className={`state strong ${state}`}>
          <StateGlyph state={state} big />
          {state}
        </span>
        {message.reason === null ? null : <code className="muted clip">{message.reason}</code>}
      </div>
    );
  }
  return (
    <ul className="delivery-lines" aria-label="Deliveries">
      {deliveries.map((delivery) => {
        const isChosen = delivery.id === chosen?.id;
        const name = deliveryName(delivery, names);
        return (
          <li key={delivery.id}>
            <div className={deliveries.length > 1 ? "line one-of-several" : "line"}>
              {deliveries.length > 1 ? (
                <button
                  type="button"
                  className="delivery-choice"
                  aria-pressed={isChosen}
                  title={`Show the delivery to ${name}`}
                  onClick={() => onChoose(delivery.id)}
                >
                  <StateWord delivery={delivery} />
                  <span className="clip strong">{name}</span>
                </button>
              ) : (
                <StateWord delivery={delivery} />
              )}
              <span className="muted standing">
                <Standing delivery={delivery} />
                {delivery.messages === undefined ? null : (
                  <span title="Its messages share the state, the attempts and the retries">
                    , in a batch of {some(delivery.messages.length, "message")}
                  </span>
                )}
              </span>
              <DeliveryButtons
                delivery={delivery}
                actions={actions}
                isPrimary={isChosen}
                hasKey={isChosen && hasKey}
              />
            </div>
            <ProblemText error={actions.refusalOf(delivery)} />
          </li>
        );
      })}
    </ul>
  );
}

function StateWord({ delivery: { state } }: { delivery: Delivery }) {
  return (
    <span className={`state strong ${state}`}>
      <StateGlyph state={state} big />
      {state}
    </span>
  );
}

function Standing({ delivery }: { delivery: Delivery }) {
  const clock = useClock();
  if (delivery.state === "waiting" && delivery.nextAttemptAt !== null) {
    return (
      <>
        {delivery.reason === "collecting" ? "collecting until" : `round ${delivery.rounds + 1} at`}{" "}
        <Until at={Date.parse(delivery.nextAttemptAt)} />
      </>
    );
  }
  const queuedAt = Date.parse(delivery.createdAt);
  const now = clock === undefined ? queuedAt : nowOf(clock);
  return stateWords(delivery, (at) => dayAndTime(Date.parse(at), queuedAt, now));
}

/** Bytes that are no text are copied in base64. */
const textOf = (bytes: RecordedBytes): string => (typeof bytes === "string" ? bytes : bytes.base64);

/** What can be copied of a message. */
export function useCopyCurl(message: Message | undefined): () => void {
  const about = useOnce("about.get", {}).answer;
  const sources = useLive("sources.list", {}).answer?.items;
  return () => {
    if (message === undefined || about === undefined) return;
    const writeKey = sources?.find(({ id }) => id === message.sourceId)?.writeKey;
    void copyText(curlOfIngest(message, { ...about, writeKey }), "the cURL command");
  };
}

export function CopyMenu({
  message,
  delivery,
}: {
  message: Message;
  delivery: Delivery | undefined;
}): ReactElement {
  const about = useOnce("about.get", {}).answer;
  const copyCurl = useCopyCurl(message);
  const attempts = message.deliveries.flatMap((each) => each.attempts);
  const copyPayload = async (): Promise<void> => {
    if (delivery !== undefined) await copyText(textOf(await wholePayload(delivery)), "the payload");
  };
  const copyHar = async (): Promise<void> => {
    const whole = (await withAllBytes(message)).deliveries.flatMap((each) => each.attempts);
    await copyText(harOfAttempts(whole, about?.version ?? ""), "the HAR");
  };
  return (
    <Menu
      trigger={
        <Button
          small
          look="quiet"
          icon="copy"
          title="Copy; the key c copies the cURL command"
          shortcut="c"
        >
          Copy
        </Button>
      }
      items={[
        { label: "cURL of the ingest call", icon: "copy", hint: "c", onSelect: copyCurl },
        {
          label: "raw message",
          icon: "copy",
          onSelect: () => void copyText(textOf(message.raw), "the raw message"),
        },
        {
          label: "payload",
          icon: "copy",
          disabled: delivery === undefined,
          onSelect: () => void orToast(copyPayload),
        },
        {
          label: "messageId",
          icon: "copy",
          onSelect: () => void copyText(message.messageId, "the messageId"),
        },
        "line",
        {
          label: "HAR of the attempts",
          icon: "copy",
          disabled: !attempts.some(({ request }) => request.sent),
          onSelect: () => void orToast(copyHar),
        },
      ]}
    />
  );
}
