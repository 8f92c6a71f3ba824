/** One received request, byte for byte, with the message and the round that it was. */

import { useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { type CodeLook, CodeLookChoice, CodeView } from "../../kit/code-view.tsx";
import { bytes } from "../../kit/words.ts";
import { useLive } from "../../stores/live-data.ts";
import { hrefTo } from "../../stores/place.ts";
import { leadsTo } from "./endpoint-address.ts";
import { ForwardedExchanges, HeadLine } from "./forwarded-exchanges.tsx";
import type { Received } from "./step-outcomes.ts";

type Endpoint = AnswerOf<"endpoints.get">;

/**
 * Of a user who does the same again and again, so many messages are looked through for the one with
 * the id.
 */
const lookedThrough = 100;

export function ReceivedRequest({ request, endpoint }: { request: Received; endpoint: Endpoint }) {
  const [look, setLook] = useState<CodeLook>("text");
  const { method, path, headers, body, bodyLength } = request;
  const keptLength =
    typeof body === "string" ? new TextEncoder().encode(body).byteLength : atob(body.base64).length;
  return (
    <>
      <div className="bytes-head">
        <h3>Request</h3>
        <span className="muted clip">
          <Origin request={request} endpoint={endpoint} />
        </span>
        <span className="grow" />
        {request.tls ? <span className="quiet">over TLS</span> : null}
        <CodeLookChoice
          value={body}
          look={look}
          looks={["text", "tree", "hex"]}
          onChange={setLook}
        />
      </div>
      <div className="pane-body bytes" role="group" aria-label="Bytes of the request" tabIndex={0}>
        <CodeView
          value={body}
          as={look}
          label="Request, exact bytes"
          before={
            <>
              <HeadLine>
                <span className="strong">{method}</span> <bdi>{path}</bdi> HTTP/1.1
              </HeadLine>
              {headers.map(([name, value], place) => (
                // oxlint-disable-next-line react/no-array-index-key -- a header may be there twice
                <HeadLine key={place}>
                  <span className="hn">{name}</span>
                  <span className="p">:</span> <bdi>{value}</bdi>
                </HeadLine>
              ))}
              <HeadLine>{null}</HeadLine>
            </>
          }
          after={
            keptLength < bodyLength ? (
              <div className="l note">
                <i />
                <span>
                  The first {bytes(keptLength)} of {bytes(bodyLength)} were kept.
                </span>
              </div>
            ) : null
          }
        />
      </div>
      {request.forwarded.length > 0 ? <ForwardedExchanges exchanges={request.forwarded} /> : null}
    </>
  );
}

/** `round 4 of Order Completed`, when it is an attempt of a message that is on record. */
function Origin({ request, endpoint }: { request: Received; endpoint: Endpoint }) {
  const { type, event, userId, messageId } = request.message;
  const filter = {
    ...(type === null ? {} : { type }),
    ...(event === null ? {} : { event }),
    ...(userId === null ? {} : { userId }),
    limit: lookedThrough,
  };
  const isDelete = type === "delete" && userId !== null;
  const listed = useLive("messages.list", messageId === null && !isDelete ? null : filter).answer;
  // The body of a delete message has no messageId: it is the newest of this user before the request.
  const found = listed?.items.find((message) =>
    isDelete ? message.receivedAt <= request.receivedAt : message.messageId === messageId,
  );
  const message = useLive("messages.get", found === undefined ? null : { id: found.id }).answer;
  if (found === undefined) return messageId === null ? "no messageId in the body" : null;
  // Both times are the clock's, so the attempt that this was is the last one that had started.
  const attempts = (message?.deliveries ?? [])
    .flatMap((delivery) => delivery.attempts)
    .filter(
      (attempt) => leadsTo(attempt.webhookUrl, endpoint) && attempt.startedAt <= request.receivedAt,
    )
    .toSorted((a, b) => (a.startedAt < b.startedAt ? 1 : -1));
  const round = attempts[0]?.round;
  return (
    <>
      {round === undefined ? "" : `round ${round} of `}
      <a className="link isolate" href={hrefTo("live", found.id)}>
        {event ?? type}
      </a>
    </>
  );
}
