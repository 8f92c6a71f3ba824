/**
 * Below the timeline: the payload with what changed, the raw message, the attempts as a table, the
 * signature.
 */

import { useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { sizeOf } from "../../kit/byte-rows.ts";
import { CodeLine } from "../../kit/code-rows.tsx";
import { type CodeLook, CodeLookChoice, CodeView } from "../../kit/code-view.tsx";
import { OutcomeGlyph } from "../../kit/glyph.tsx";
import { Tabs } from "../../kit/tabs.tsx";
import { duration, some } from "../../kit/words.ts";
import { usePlace } from "../../stores/place.ts";
import { attemptWord, hostOf } from "../attempt/attempt-words.ts";
import { SignaturePanel } from "../attempt/signature-panel.tsx";
import type { Ahead, Attempt, Round } from "../timeline/timeline-model.ts";
import { useTimeline } from "../timeline/use-timeline.ts";
import { useWholeAttempt } from "./left-out.ts";
import type { PayloadChanges } from "./payload-changes.ts";
import { attemptHref, type DetailsTab, whatIfHref } from "./places.ts";
import { Time, Until } from "./until.tsx";

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
  const labels: Record<DetailsTab, string> = {
    payload: "Payload",
    raw: "Raw",
    attempts: "Attempts",
    signature: "Signature",
  };

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
              <span className="quiet details-key wide-only">{some(sizeOf(shown), "byte")}</span>
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
          after={shown === "" ? <CodeLine look="note">nothing was recorded</CodeLine> : null}
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
  const shown = names
    .slice(0, 12)
    .map((name) => (name.length > 60 ? `${name.slice(0, 60)}…` : name));
  return (
    <CodeLine look="note">
      not in the payload: {shown.join(", ")}
      {names.length > shown.length ? ` and ${names.length - shown.length} more` : ""}
    </CodeLine>
  );
}

function Attempts({ message, delivery }: { message: Message; delivery: Delivery }) {
  const { rounds, ahead } = useTimeline(delivery);
  return <AttemptTable messageId={message.id} rounds={rounds} ahead={ahead} />;
}

/** Of the newest attempt that sent something; the bytes are the same in all. */
function Signature({ delivery }: { delivery: Delivery }) {
  const { name } = useTimeline(delivery);
  const sent = delivery.attempts.findLast(({ request }) => request.sent);
  const attempt = useWholeAttempt(delivery, sent);
  if (sent === undefined)
    return <p className="tab-note muted">Nothing has been sent yet, so nothing is signed.</p>;
  if (attempt === undefined) return null;
  return (
    <SignaturePanel
      key={attempt.id}
      attempt={attempt}
      signed={delivery.signed}
      destinationId={delivery.destinationId}
      name={name}
    />
  );
}

/** The retry timeline as a table: every attempt, then those in progress and to come. */
function AttemptTable({
  messageId,
  rounds,
  ahead,
}: {
  messageId: string;
  rounds: readonly Round[];
  ahead: readonly Ahead[];
}) {
  if (rounds.length === 0 && ahead.length === 0)
    return <p className="tab-note muted">No attempt was made.</p>;
  const all = rounds.flatMap(({ attempts }) => attempts);
  return (
    <table className="attempt-table">
      <thead>
        <tr>
          <th scope="col">round</th>
          <th scope="col">started</th>
          <th scope="col">outcome</th>
          <th scope="col">webhook</th>
          <th scope="col" className="right">
            took
          </th>
          <th>
            <span className="sr">what if</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {rounds.map(({ round, attempts }) =>
          attempts.map((attempt, place) => (
            <AttemptRow
              key={attempt.id}
              messageId={messageId}
              attempt={attempt}
              round={place === 0 ? round : null}
              number={all.findIndex(({ id }) => id === attempt.id) + 1}
            />
          )),
        )}
        {ahead.map((coming) => (
          <AheadRow key={`${coming.kind} ${coming.round}`} ahead={coming} />
        ))}
      </tbody>
    </table>
  );
}

function AttemptRow({
  messageId,
  attempt,
  round,
  number,
}: {
  messageId: string;
  attempt: Attempt;
  round: number | null;
  /** Among all of the delivery. */ number: number;
}) {
  const { id, outcome, startedAt, webhookUrl, durationMs, simulated } = attempt;
  const at = Date.parse(startedAt);
  const word = attemptWord(attempt);
  const host = hostOf(webhookUrl);
  return (
    <tr className={round === null ? undefined : "first"}>
      <td className="quiet">{round}</td>
      <td className="mono">
        <Time at={at} column />
      </td>
      <td>
        <a className="cell-link" href={attemptHref(messageId, id)}>
          <span className={`state ${outcome}`}>
            <OutcomeGlyph outcome={outcome} />
            {outcome}
          </span>
          {word === outcome ? null : <span className="muted">{word}</span>}
        </a>
      </td>
      <td className="where" title={webhookUrl}>
        {host.name}
        <span className="quiet">{host.rest}</span>
      </td>
      <td
        className={simulated ? "mono right due" : "mono right"}
        title={simulated ? "clock time, because a test endpoint held it" : undefined}
      >
        {duration(durationMs)}
      </td>
      <td className="right">
        <a
          className="link muted"
          href={whatIfHref(messageId, id)}
          aria-label={`What if attempt ${number} had been answered differently`}
          title="What if it had been answered differently"
        >
          what if
        </a>
      </td>
    </tr>
  );
}

function AheadRow({ ahead: { kind, round, at, isNext, urls } }: { ahead: Ahead }) {
  const isUnderWay = kind === "under_way";
  return (
    <tr className={isNext ? "first due" : "first quiet"}>
      <td>{round}</td>
      <td className="mono">
        <Time at={at} column />
      </td>
      <td>
        <span className={`state ${isUnderWay ? "under_way" : isNext ? "coming next" : "coming"}`}>
          <OutcomeGlyph outcome={kind} />
          {isUnderWay ? "in progress" : isNext ? "next" : "coming"}
        </span>
      </td>
      <td className="where">{urls.map((url) => hostOf(url).name).join(", ")}</td>
      <td className="right" colSpan={2}>
        {isNext ? <Until at={at} withTime={false} /> : null}
      </td>
    </tr>
  );
}
