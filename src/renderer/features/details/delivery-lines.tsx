/** Where the deliveries of a message stand: one line for one, a line each to choose from for several. */

import type { AnswerOf } from "../../../contract/contract.ts";
import { StateGlyph } from "../../kit/glyph.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { clockTime } from "../../kit/words.ts";
import { DeliveryButtons, type DeliveryActions } from "./delivery-actions.tsx";
import { stateWords } from "./state-words.ts";
import { Until } from "./until.tsx";

type Message = AnswerOf<"messages.get">;
type Delivery = Message["deliveries"][number];

type Props = {
  message: Message;
  names: ReadonlyMap<string, string>;
  chosen: Delivery | undefined;
  actions: DeliveryActions;
  onChoose: (deliveryId: string) => void;
};

export function DeliveryLines({ message, names, chosen, actions, onChoose }: Props) {
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
        const name = names.get(delivery.destinationId) ?? "a deleted destination";
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
              <span className="clip muted">
                <Standing delivery={delivery} />
              </span>
              <span className="grow" />
              <DeliveryButtons delivery={delivery} actions={actions} isPrimary={isChosen} />
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
  if (delivery.state === "waiting" && delivery.nextAttemptAt !== null) {
    return (
      <>
        round {delivery.rounds + 1} at <Until at={Date.parse(delivery.nextAttemptAt)} />
      </>
    );
  }
  return stateWords(delivery, (at) => clockTime(Date.parse(at)));
}
