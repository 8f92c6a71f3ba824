/** What a test endpoint received, newest first, and the bytes of the one that is selected. */

import { useEffect, useRef, useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { ConfirmDialog } from "../../kit/confirm-dialog.tsx";
import { Button } from "../../kit/controls.tsx";
import { OutcomeGlyph, StateGlyph } from "../../kit/glyph.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { count, some } from "../../kit/words.ts";
import { useKeys } from "../../stores/keys.ts";
import { useLast, useLive } from "../../stores/live-data.ts";
import { usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { Time } from "../details/until.tsx";
import { ReceivedRequest } from "./received-request.tsx";
import { didOutcome, didWords, type Received, signatureVerdict } from "./step-outcomes.ts";

type Endpoint = AnswerOf<"endpoints.get">;

/** Some more than are seen at once; older ones come when they are asked for. */
const pageSize = 30;
const maxShown = 500;

export function ReceivedRequests({ endpoint }: { endpoint: Endpoint }) {
  const { id, position } = endpoint;
  const [limit, setLimit] = useState(pageSize);
  const { answer: newest, error } = useLive("endpoints.requests", { id, limit });
  const answer = useLast(newest);
  const chosen = usePlace((place) => place.path[1]);
  const change = usePlace((place) => place.change);
  const rows = useRef<HTMLDivElement>(null);
  const items = answer?.items ?? [];
  // Without a choice, the newest is open.
  const current = chosen === undefined ? 0 : items.findIndex((request) => request.id === chosen);
  /** What is being read stays open when newer ones push it out of the list. */
  const last = useRef<Received>(undefined);
  if (items[current] !== undefined) last.current = items[current];
  const request = items[current] ?? (last.current?.id === chosen ? last.current : undefined);

  const select = (place: number): void => {
    const next = items[place];
    if (next !== undefined) change({ path: [id, next.id] });
  };
  useKeys({ j: () => select(current + 1), k: () => select(current - 1) });
  useEffect(() => {
    rows.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [chosen]);

  return (
    <section className="pane reqs" aria-label="Received requests">
      <header className="pane-title">
        <h3>Received requests</h3>
        <span className="quiet">{answer === undefined ? "" : count(answer.total)}</span>
        {answer !== undefined && answer.dropped > 0 ? (
          <span className="quiet clip">{some(answer.dropped, "older request")} dropped</span>
        ) : null}
        <span className="grow" />
        <ClearButton id={id} total={answer?.total ?? 0} />
      </header>
      <ProblemText error={error} />
      {answer === undefined ? null : items.length === 0 ? (
        <NothingReceived endpoint={endpoint} />
      ) : (
        <>
          <div
            className="reqlist"
            role="grid"
            aria-label="Received requests, newest first"
            aria-rowcount={answer.total}
          >
            <div className="row head" role="row">
              <span role="columnheader">received ↓</span>
              <span role="columnheader">step</span>
              <span role="columnheader">event, user</span>
              <span role="columnheader">signature</span>
            </div>
            <div className="reqrows" role="rowgroup" ref={rows}>
              {items.map((each, place) => (
                <RequestRow
                  key={each.id}
                  request={each}
                  endpoint={endpoint}
                  isSelected={place === current}
                  takesTab={place === Math.max(current, 0)}
                  startsRun={place === position.received && place > 0}
                  onSelect={() => select(place)}
                  onMove={(by) => {
                    select(place + by);
                    const rowsNow = rows.current?.querySelectorAll<HTMLElement>("[data-request]");
                    rowsNow?.[place + by]?.focus();
                  }}
                />
              ))}
              {answer.nextCursor !== null && limit < maxShown ? (
                <div className="row note" role="row">
                  <span role="gridcell">
                    <Button
                      small
                      look="quiet"
                      onClick={() => setLimit(Math.min(limit * 2, maxShown))}
                    >
                      Show older
                    </Button>
                  </span>
                </div>
              ) : null}
            </div>
          </div>
          {current >= 0 ? null : (
            <p className="muted not-listed" role="status">
              {request === undefined
                ? "The request of this address is not"
                : "This request is no longer"}{" "}
              {answer.nextCursor === null ? "on record" : `among the newest ${count(items.length)}`}
              .
            </p>
          )}
          {request === undefined ? null : <ReceivedRequest request={request} endpoint={endpoint} />}
        </>
      )}
    </section>
  );
}

function ClearButton({ id, total }: { id: string; total: number }) {
  const [isAsking, setIsAsking] = useState(false);
  return (
    <>
      <Button small look="quiet" disabled={total === 0} onClick={() => setIsAsking(true)}>
        Clear
      </Button>
      <ConfirmDialog
        open={isAsking}
        onClose={() => setIsAsking(false)}
        title={`Delete ${some(total, "received request")}?`}
        action="Delete"
        onConfirm={async () => {
          await call("endpoints.clearRequests", { id });
          usePlace.getState().change({ path: [id] });
        }}
      >
        The requests and their bytes are permanently deleted. Attempts of Hookyard’s own deliveries
        stay on record with their messages, and the program keeps its position.
      </ConfirmDialog>
    </>
  );
}

function RequestRow({
  request,
  endpoint,
  isSelected,
  takesTab,
  startsRun,
  onSelect,
  onMove,
}: {
  request: Received;
  endpoint: Endpoint;
  isSelected: boolean;
  /** The tab key leads to it: the arrows lead to the others. */
  takesTab: boolean;
  /** The first one before the program was set back. */
  startsRun: boolean;
  onSelect: () => void;
  onMove: (by: 1 | -1) => void;
}) {
  const at = Date.parse(request.receivedAt);
  const { event, type, userId } = request.message;
  const outcome = didOutcome(request, endpoint.steps);
  return (
    <>
      {startsRun ? (
        <div className="row note" role="row">
          <span role="gridcell">rewound to the first step</span>
        </div>
      ) : null}
      <div
        className="row"
        role="row"
        data-request
        aria-selected={isSelected}
        tabIndex={takesTab ? 0 : -1}
        onClick={onSelect}
        onKeyDown={(pressed) => {
          const by = ({ ArrowUp: -1, ArrowDown: 1 } as const)[pressed.key];
          if (by === undefined) return;
          pressed.preventDefault();
          onMove(by);
        }}
      >
        <span role="gridcell" className="mono">
          <Time at={at} column />
        </span>
        <span role="gridcell" className="did">
          <b className="no">{request.step === null ? "–" : request.step + 1}</b>
          <OutcomeGlyph outcome={outcome} />
          <span className="clip">{didWords(request, endpoint.steps)}</span>
        </span>
        <span role="gridcell" className="ev">
          <span className="strong isolate clip">{event ?? type ?? request.method}</span>
          <code className="muted isolate clip">{userId ?? ""}</code>
        </span>
        <span role="gridcell">
          <SignatureVerdict request={request} />
        </span>
      </div>
    </>
  );
}

function SignatureVerdict({ request }: { request: Received }) {
  const { word, detail } = signatureVerdict(request);
  if (word === "none") {
    return (
      <span className="state quiet" title={detail}>
        <i className="dash" />
        none
      </span>
    );
  }
  const state = word === "verifies" ? "delivered" : "failed";
  return (
    <span className={`state tone ${state}`} title={detail}>
      <StateGlyph state={state} />
      {word}
    </span>
  );
}

function NothingReceived({ endpoint }: { endpoint: Endpoint }) {
  return (
    <div className="nothing">
      <p className="listening">
        <span className="breathe">
          <OutcomeGlyph outcome="success" />
        </span>
        Listening. Requests appear here, with their bytes.
      </p>
      <p className="muted">
        Use it as a webhook of a{" "}
        <a className="link" href="#/destinations">
          destination
        </a>
        , or send a request:
      </p>
      <pre className="code isolate">{`curl ${endpoint.url} -H 'Content-Type: application/json' -d '{"type":"track","event":"Order Completed"}'`}</pre>
    </div>
  );
}
