/** Retry now and Cancel, for the states that allow them. A refusal is a sentence where the button is, until the delivery moves on. */

import { useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { Button } from "../../kit/controls.tsx";
import { call } from "../../transport/transport.ts";
import { canCancel, canRetry } from "./state-words.ts";

type Delivery = AnswerOf<"messages.get">["deliveries"][number];

type Refusal = { deliveryId: string; state: Delivery["state"]; error: Error };

export type DeliveryActions = {
  refusalOf(delivery: Delivery): Error | null;
  retry(delivery: Delivery): void;
  cancel(delivery: Delivery): void;
};

export function useDeliveryActions(): DeliveryActions {
  const [refusal, setRefusal] = useState<Refusal | null>(null);
  const [running, setRunning] = useState(false);
  const run = async (name: "deliveries.retry" | "deliveries.cancel", { id, state }: Delivery): Promise<void> => {
    if (running) return;
    setRunning(true);
    try {
      await call(name, { id });
      setRefusal(null);
    } catch (error) {
      setRefusal({ deliveryId: id, state, error: error instanceof Error ? error : new Error(String(error)) });
    } finally {
      setRunning(false);
    }
  };
  return {
    refusalOf: ({ id, state }) => (refusal !== null && refusal.deliveryId === id && refusal.state === state ? refusal.error : null),
    retry: (delivery) => void run("deliveries.retry", delivery),
    cancel: (delivery) => void run("deliveries.cancel", delivery),
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
