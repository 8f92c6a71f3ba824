/** Puts a test endpoint that forwards in front of a webhook, and undoes it. */

import type { InputOf } from "../../../contract/contract.ts";
import { Button, IconButton } from "../../kit/controls.tsx";
import { Menu } from "../../kit/floats.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { hashOf, usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import type { Destination } from "./destination-draft.ts";

type Webhook = Destination["webhooks"][number];
type Fault = Omit<InputOf<"destinations.putFault">, "id" | "webhookId">;

const faults: readonly { label: string; hint: string; fault: Fault }[] = [
  {
    label: "lose the first answer",
    hint: "done, and retried",
    fault: { lose: "answer", times: 1 },
  },
  { label: "lose the first request", hint: "never arrives", fault: { lose: "request", times: 1 } },
  { label: "send everything twice", hint: "one after the other", fault: { copies: 2 } },
  { label: "send everything twice at once", hint: "a race", fault: { copies: 2, together: true } },
  { label: "reverse every two", hint: "out of order", fault: { hold: 2 } },
  { label: "change the body", hint: "the signature differs", fault: { tamper: "body" } },
  { label: "choose in the test endpoint", hint: "unchanged until then", fault: {} },
];

export function FaultMenu({
  destination,
  webhook,
  number,
}: {
  destination: string;
  webhook: Webhook;
  number: number;
}) {
  const { problem, run } = useAction();
  const go = usePlace((place) => place.go);
  const put = (fault: Fault): void =>
    run(async () => {
      const changed = await call("destinations.putFault", {
        id: destination,
        webhookId: webhook.id,
        ...fault,
      });
      const endpoint = changed.webhooks.find(({ id }) => id === webhook.id)?.behind?.endpointId;
      if (Object.keys(fault).length === 0 && endpoint !== undefined)
        go({ view: "endpoints", path: [endpoint] });
    }, "put");
  const undo = (): void =>
    run(() => call("destinations.undoFault", { id: destination, webhookId: webhook.id }), "undo");
  return (
    <>
      <Menu
        trigger={<IconButton icon="more" label={`More for webhook ${number}`} />}
        items={[
          ...(webhook.behind === undefined
            ? faults.map(({ label, hint, fault }) => ({
                label: `Put a fault in front of it: ${label}`,
                hint,
                onSelect: () => put(fault),
              }))
            : [
                { label: "Undo the fault in front of it", icon: "replay" as const, onSelect: undo },
              ]),
          "line",
          {
            label: "Check this receiver",
            icon: "receivers",
            onSelect: () => go({ view: "receivers", query: { destination, webhook: webhook.id } }),
          },
        ]}
      />
      <ProblemText error={problem} />
    </>
  );
}

/** `behind In front of 127.0.0.1:3000, which forwards to http://127.0.0.1:3000/hook` */
export function Behind({
  destination,
  webhook,
  behind,
}: {
  destination: string;
  webhook: Webhook;
  behind: NonNullable<Webhook["behind"]>;
}) {
  const { problem, isBusy, run } = useAction();
  return (
    <>
      <p className="behind quiet">
        behind
        <a
          className="link isolate clip"
          href={hashOf({ view: "endpoints", path: [behind.endpointId], query: {} })}
        >
          {behind.name}
        </a>
        <code className="isolate clip">→ {behind.url}</code>
        <span className="grow" />
        <Button
          small
          disabled={isBusy}
          onClick={() =>
            run(() => call("destinations.undoFault", { id: destination, webhookId: webhook.id }))
          }
        >
          Undo
        </Button>
      </p>
      <ProblemText error={problem} />
    </>
  );
}
