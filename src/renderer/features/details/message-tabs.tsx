/** Below the timeline: the payload with what changed, the raw message, the attempts as a table, the signature. */

import { useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { CodeLine } from "../../kit/code-rows.tsx";
import { CodeLookChoice, CodeView, type CodeLook } from "../../kit/code-view.tsx";
import { Tabs } from "../../kit/tabs.tsx";
import { count } from "../../kit/words.ts";
import { sizeOf } from "../../kit/byte-rows.ts";
import { usePlace } from "../../stores/place.ts";
import { SignaturePanel } from "../attempt/signature-panel.tsx";
import { useCourse } from "../attempt/use-course.ts";
import { AttemptTable } from "./attempt-table.tsx";
import type { PayloadChanges } from "./payload-changes.ts";
import type { DetailsTab } from "./places.ts";

type Message = AnswerOf<"messages.get">;
type Delivery = Message["deliveries"][number];

const ofMessage: readonly DetailsTab[] = ["payload", "raw", "attempts", "signature"];

export function MessageTabs({
  message,
  delivery,
  changes,
}: {
  message: Message;
  delivery: Delivery | undefined;
  changes: PayloadChanges | null;
}) {
  const wanted = usePlace((place) => place.query["tab"]);
  const [look, setLook] = useState<CodeLook>("tree");
  const possible = delivery === undefined ? (["raw"] as const) : ofMessage;
  const tab = possible.find((each) => each === wanted) ?? possible[0] ?? "raw";
  const shown = tab === "payload" ? (delivery?.payload ?? "") : message.raw;
  const isBytes = tab === "payload" || tab === "raw";
  const labels: Record<DetailsTab, string> = { payload: "Payload", raw: "Raw", attempts: "Attempts", signature: "Signature" };

  return (
    <Tabs
      label="Parts of the message"
      tab={tab}
      tabs={possible.map((value) => ({
        value,
        label: labels[value],
        ...(value === "attempts" ? { count: delivery?.attempts.length ?? 0 } : {}),
      }))}
      onChange={(value) => usePlace.getState().change({ query: { tab: value } })}
      tools={
        isBytes ? (
          <>
            {tab === "payload" && look === "tree" && changes !== null ? (
              <span className="quiet details-key wide-only">
                <b className="tone delivered">+</b> added <b className="tone waiting">~</b> changed
              </span>
            ) : (
              <span className="quiet details-key wide-only">{count(sizeOf(shown))} bytes</span>
            )}
            <CodeLookChoice value={shown} look={look} onChange={setLook} />
          </>
        ) : null
      }
    >
      {tab === "payload" ? (
        <CodeView
          value={shown}
          as={look}
          label="Delivered payload"
          marks={changes?.marks}
          after={<LeftOut names={changes?.leftOut ?? []} />}
        />
      ) : tab === "raw" ? (
        <CodeView
          value={shown}
          as={look}
          label="Raw message"
          after={shown === "" ? <CodeLine look="note">no byte of it is on record</CodeLine> : null}
        />
      ) : delivery === undefined ? null : tab === "attempts" ? (
        <Attempts message={message} delivery={delivery} />
      ) : (
        <Signature delivery={delivery} />
      )}
    </Tabs>
  );
}

function LeftOut({ names }: { names: readonly string[] }) {
  if (names.length === 0) return null;
  const shown = names.slice(0, 12).map((name) => (name.length > 60 ? `${name.slice(0, 60)}…` : name));
  return (
    <CodeLine look="note">
      not in the payload: {shown.join(", ")}
      {names.length > shown.length ? ` and ${names.length - shown.length} more` : ""}
    </CodeLine>
  );
}

function Attempts({ message, delivery }: { message: Message; delivery: Delivery }) {
  const { rounds, ahead } = useCourse(delivery);
  return <AttemptTable messageId={message.id} rounds={rounds} ahead={ahead} />;
}

/** Of the newest attempt that sent something; the bytes are the same in all. */
function Signature({ delivery }: { delivery: Delivery }) {
  const { name } = useCourse(delivery);
  const attempt = delivery.attempts.findLast(({ request }) => request.sent);
  if (attempt === undefined) return <p className="tab-note muted">Nothing has been sent yet, so nothing is signed.</p>;
  return <SignaturePanel key={attempt.id} attempt={attempt} destinationId={delivery.destinationId} name={name} />;
}
