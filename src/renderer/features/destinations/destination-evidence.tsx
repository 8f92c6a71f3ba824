/** What became of a destination's deliveries, and receivers that verify what it sends. */

import { useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { deliveryStates } from "../../../domain/states.ts";
import {
  snippetLanguages,
  verificationSnippet,
  type SnippetLanguage,
} from "../../../domain/verification-snippets.ts";
import { Button, Choice } from "../../kit/controls.tsx";
import { copyText } from "../../kit/copy.tsx";
import { State, StateGlyph } from "../../kit/glyph.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { count } from "../../kit/words.ts";
import { useLive } from "../../stores/live-data.ts";
import { hrefTo } from "../../stores/place.ts";
import { Time } from "../details/until.tsx";
import type { Destination, DestinationDraft } from "./destination-draft.ts";
import { DestinationFilters } from "./destination-filters.tsx";
import { DestinationFunnel } from "./destination-funnel.tsx";
import { DestinationTest } from "./destination-test.tsx";
import { MappingPreview } from "./mapping-preview.tsx";
import { useIsNarrow } from "./use-mapping-preview.ts";

const words = {
  preview: "preview",
  deliveries: "deliveries",
  funnel: "funnel",
  filters: "filters",
  test: "test event",
  verify: "verify",
};
type Shown = keyof typeof words;
const labels: Record<Shown, string> = {
  preview: "Preview",
  deliveries: "Deliveries",
  funnel: "What became of its messages",
  filters: "Filters and preview",
  test: "Send a test event",
  verify: "Verify a signature",
};

type EvidenceProps = { destination: Destination | null; draft: DestinationDraft };

export function DestinationEvidence({ destination, draft }: EvidenceProps) {
  const [chosen, setChosen] = useState<Shown>("preview");
  const isNarrow = useIsNarrow();
  const possible: Shown[] = [
    // In a narrow window it is a tab of the editor.
    ...(draft.kind === "webhooks-actions" && !isNarrow ? (["preview"] as const) : []),
    ...(destination === null ? [] : (["deliveries", "funnel", "filters", "test"] as const)),
    "verify",
  ];
  const shown = possible.includes(chosen) ? chosen : (possible[0] ?? "verify");
  return (
    <section className="pane" aria-label={labels[shown]}>
      <header className="pane-title">
        {possible.length === 1 ? (
          <h3>Verify a signature</h3>
        ) : (
          <Choice
            small
            label="Show"
            value={shown}
            options={possible.map((value) => ({ value, label: words[value] }))}
            onChange={setChosen}
          />
        )}
      </header>
      {shown === "preview" ? (
        <div className="pane-body">
          <MappingPreview draft={draft} destinationId={destination?.id} />
        </div>
      ) : shown === "verify" ? (
        <Verification />
      ) : destination === null ? null : shown === "funnel" ? (
        <DestinationFunnel destination={destination} />
      ) : shown === "filters" ? (
        <DestinationFilters destination={destination} />
      ) : shown === "test" ? (
        <DestinationTest id={destination.id} enabled={destination.enabled} />
      ) : (
        <Deliveries destination={destination} />
      )}
    </section>
  );
}

/** Some more than are seen at once; all of them are in Live. */
const pageSize = 40;

function Deliveries({ destination: { id, enabled, sourceIds } }: { destination: Destination }) {
  const { answer, error } = useLive("deliveries.list", { destinationId: id, limit: pageSize });
  if (answer === undefined) return <ProblemText error={error} />;
  if (answer.items.length === 0) {
    return (
      <p className="nothing-delivered muted">
        {!enabled
          ? "No deliveries yet: the destination is disabled."
          : sourceIds.length === 0
            ? "No deliveries yet: the destination has no source."
            : "No deliveries yet. The first message of its sources appears here."}
      </p>
    );
  }
  return (
    <>
      <div className="delivery-rows" role="table" aria-label="Deliveries, newest first">
        <div className="row head" role="row">
          <span role="columnheader">queued ↓</span>
          <span role="columnheader">state</span>
          <span role="columnheader">reason</span>
          <span role="columnheader" className="right">
            rounds
          </span>
        </div>
        <div className="list-body" role="rowgroup" tabIndex={0} aria-label="Deliveries">
          {answer.items.map((delivery) => (
            <DeliveryRow key={delivery.id} delivery={delivery} />
          ))}
        </div>
      </div>
      <p className="delivery-count quiet">
        {answer.items.length < answer.total ? `the newest ${pageSize} of ` : ""}
        {count(answer.total)}
        {answer.totalCapped ? " or more" : ""} {answer.total === 1 ? "delivery" : "deliveries"}
        <StateCounts items={answer.items} />
      </p>
    </>
  );
}

function DeliveryRow({ delivery }: { delivery: AnswerOf<"deliveries.list">["items"][number] }) {
  const at = Date.parse(delivery.createdAt);
  const { event, type, userId, anonymousId } = delivery;
  const opens = [event ?? type ?? "message", userId ?? anonymousId ?? "no user"].join(", ");
  return (
    <div className="row" role="row">
      <span role="cell" className="mono">
        <a className="link" href={hrefTo("live", delivery.messageRowId)} title="Open the message">
          <span className="sr">{opens}, queued </span>
          <Time at={at} column />
        </a>
      </span>
      <span role="cell">
        <State state={delivery.state} />
      </span>
      <span role="cell" className="muted">
        {delivery.nextAttemptAt === null ? (
          <code>{delivery.reason}</code>
        ) : (
          <span className="due">
            next <Time at={Date.parse(delivery.nextAttemptAt)} />
          </span>
        )}
      </span>
      <span role="cell" className="right">
        {count(delivery.rounds)}
      </span>
    </div>
  );
}

function StateCounts({ items }: { items: AnswerOf<"deliveries.list">["items"] }) {
  return deliveryStates.map((state) => {
    const number = items.filter((item) => item.state === state).length;
    return number === 0 ? null : (
      <span key={state} className={`state ${state}`} title={`${state}, of those listed`}>
        <StateGlyph state={state} />
        {count(number)}
      </span>
    );
  });
}

function Verification() {
  const [language, setLanguage] = useState<SnippetLanguage>("node");
  const snippet = verificationSnippet(language);
  return (
    <div className="pane-body">
      <div className="snippet-head">
        <Choice
          small
          label="Language"
          value={language}
          options={snippetLanguages}
          onChange={setLanguage}
        />
        <span className="muted clip">a receiver that checks X-Signature</span>
        <span className="grow" />
        <Button
          small
          icon="copy"
          onClick={() => void copyText(snippet, `the ${language} receiver`)}
        >
          Copy
        </Button>
      </div>
      <pre className="code snippet" tabIndex={0} aria-label={`${language} receiver`}>
        {snippet}
      </pre>
    </div>
  );
}
