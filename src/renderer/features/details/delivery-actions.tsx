/** Retry now and Cancel, for the states that allow them. A refusal is a sentence where the button is, until the delivery moves on. */

import { useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { Button } from "../../kit/controls.tsx";
import { useAction } from "../../kit/use-action.ts";
import { call } from "../../transport/transport.ts";
import { canCancel, canRetry } from "./state-words.ts";

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
    run(() => {
      setAbout(delivery);
      return call(name, { id: delivery.id });
    }, delivery.id);
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
}: {
  delivery: Delivery;
  actions: DeliveryActions;
  /** It is the one that the key `r` retries. */ isPrimary: boolean;
}) {
  return (
    <>
      {canCancel(delivery) ? (
        <Button small onClick={() => actions.cancel(delivery)}>
          Cancel
        </Button>
      ) : null}
      {canRetry(delivery) ? (
        <Button
          small
          look={isPrimary ? "primary" : "outlined"}
          {...(isPrimary ? { shortcut: "r" } : {})}
          onClick={() => actions.retry(delivery)}
        >
          Retry now
        </Button>
      ) : null}
    </>
  );
}
