/**
 * Retries: all deliveries that wait for their next round, or that a user may retry, each a lane
 * around now.
 */

import { useEffect, useReducer, useState } from "react";
import type { DeliveryState } from "../../../domain/states.ts";
import { Choice, SelectField } from "../../kit/controls.tsx";
import { StateGlyph } from "../../kit/glyph.tsx";
import { pageTime } from "../../kit/paced-reader.ts";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { count } from "../../kit/words.ts";
import { useFeed, useLive } from "../../stores/live-data.ts";
import { usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { ScaleChoice, useScale } from "../timeline/scale-choice.tsx";
import { aroundScales } from "./now-axis.ts";
import { createDeliveryRows, type DeliveryRow, type DeliveryRows } from "./delivery-rows.ts";
import { RetriesList } from "./retries-list.tsx";
import { RetryAll } from "./retry-all.tsx";
import "./retries.css";

const states = ["waiting", "failed", "expired", "cancelled"] as const;
type RetriesState = (typeof states)[number];

const isRetriesState = (text: string | undefined): text is RetriesState =>
  states.some((state) => state === text);

export function RetriesView() {
  const { query, change, go } = usePlace();
  const state = isRetriesState(query["state"]) ? query["state"] : "waiting";
  const destinations = useLive("destinations.list", {}).answer?.items;
  const profiles = useLive("retryProfiles.list", {}).answer?.items;
  const settings = useLive("settings.get", {}).answer;
  const scale = useScale(aroundScales);
  const chosen = destinations?.find(({ id }) => id === query["destination"]);
  const destinationId = chosen?.id ?? null;
  const rows = useDeliveryRows({ state, destinationId });
  const filter = { state, ...(destinationId === null ? {} : { destinationId }) };
  const { problem: refusal, run } = useAction();

  const open = (row: DeliveryRow): void => go({ view: "live", path: [row.messageRowId] });
  const retry = ({ id }: DeliveryRow): void =>
    run(`retry ${id}`, () => call("deliveries.retry", { id }));

  return (
    <section className="retries" aria-label="Retries">
      <header className="retries-bar">
        <h1 className="sr">Retries</h1>
        <Choice
          label="State"
          value={state}
          options={states.map((each) => ({
            value: each,
            label: <StateOption state={each} destinationId={destinationId} />,
          }))}
          onChange={(value) => change({ query: { state: value === "waiting" ? null : value } })}
        />
        <SelectField
          aria-label="Destination"
          value={destinationId ?? ""}
          options={[
            { value: "", label: "all destinations" },
            ...(destinations ?? []).map(({ id, name }) => ({
              value: id,
              label: name.slice(0, 60),
            })),
          ]}
          onChange={(value) => change({ query: { destination: value === "" ? null : value } })}
        />
        <span className="grow" />
        <ScaleChoice offered={aroundScales} />
        <RetryAll
          question={`${state} ${destinationId}`}
          request={(dryRun) => call("deliveries.retryAll", { filter, dryRun })}
          label={`Retry ${count(rows?.total() ?? 0)} now`}
          disabled={(rows?.total() ?? 0) === 0}
        >
          All deliveries that match <code>state:{state}</code>
          {chosen === undefined ? "" : " at "}
          {chosen === undefined ? null : <bdi>{chosen.name.slice(0, 100)}</bdi>}. Each gets one
          round now,{" "}
          {state === "waiting"
            ? "at every webhook that may still be retried."
            : "at all its webhooks, with a new retry window."}
        </RetryAll>
      </header>
      <ProblemText error={refusal ?? rows?.error() ?? null} />
      {rows?.isReady() === true && rows.total() === 0 ? (
        <EmptyState state={state} destination={chosen?.name ?? null} />
      ) : rows === null ||
        destinations === undefined ||
        profiles === undefined ||
        settings === undefined ? null : (
        <RetriesList
          // Each list begins at its own top.
          key={`${state} ${destinationId ?? ""}`}
          rows={rows}
          state={state}
          scale={scale}
          destinations={destinations}
          profiles={profiles}
          settings={settings}
          onOpen={open}
          onRetry={retry}
        />
      )}
    </section>
  );
}

function StateOption({
  state,
  destinationId,
}: {
  state: RetriesState;
  destinationId: string | null;
}) {
  const { answer } = useLive("deliveries.list", {
    state,
    limit: 1,
    ...(destinationId === null ? {} : { destinationId }),
  });
  return (
    <span className={`state ${state}`}>
      <StateGlyph state={state} />
      {state}
      <span className="quiet">{answer === undefined ? "" : count(answer.total)}</span>
    </span>
  );
}

const sentences: Record<RetriesState, { title: string; text: string }> = {
  waiting: {
    title: "No delivery is waiting",
    text: "A delivery waits here when a webhook answers 5xx, times out or cannot be reached. To try it, point a webhook of a destination at a test endpoint that answers 503.",
  },
  failed: {
    title: "No delivery has failed",
    text: "A delivery fails when none of its webhooks can be retried, for example after 410 or a bad certificate. You can retry it here.",
  },
  expired: {
    title: "No delivery has expired",
    text: "A delivery expires when its retry window closes before a webhook answers 2xx. To try it, advance the clock by 4 h while deliveries are waiting.",
  },
  cancelled: {
    title: "No delivery has been cancelled",
    text: "You can cancel a delivery in the details of its message. Deleting its destination cancels it too. You can retry it here.",
  },
};

function EmptyState({
  state,
  destination,
}: {
  state: RetriesState & DeliveryState;
  destination: string | null;
}) {
  const { title, text } = sentences[state];
  return (
    <div className="empty">
      <h2>
        {title}
        {destination === null ? null : (
          <>
            {" at "}
            <bdi>{destination.slice(0, 60)}</bdi>
          </>
        )}
      </h2>
      <p className="muted retries-hint">{text}</p>
      <p>
        <a className="link" href={state === "waiting" ? "#/endpoints" : "#/retries"}>
          {state === "waiting" ? "Open Test endpoints" : "Show waiting deliveries"}
        </a>
      </p>
    </div>
  );
}

type RowFilter = { state: DeliveryState; destinationId: string | null };

/** Null: nothing has been read yet. */
function useDeliveryRows({ state, destinationId }: RowFilter): DeliveryRows | null {
  const key = `${state} ${destinationId ?? ""}`;
  const [shown, setShown] = useState<{ key: string; rows: DeliveryRows } | null>(null);
  const [, rerender] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    const isDue = state === "waiting";
    const filter = { state, ...(destinationId === null ? {} : { destinationId }) };
    const rows = createDeliveryRows({
      read: (page) =>
        call("deliveries.list", { ...filter, order: isDue ? "due" : "newest", ...page }),
      cursorAfter: ({ id, nextAttemptAt }) => (isDue ? `${nextAttemptAt}/${id}` : id),
      ...pageTime,
      onChange() {
        setShown({ key, rows });
        rerender();
      },
    });
    const unsubscribe = useFeed.subscribe(({ changes, missed }, before) => {
      const isTouched =
        changes !== before.changes &&
        changes.some(({ area }) => area === "deliveries" || area === "messages");
      if (isTouched || missed !== before.missed) rows.change();
    });
    return () => {
      unsubscribe();
      rows.stop();
    };
  }, [key, state, destinationId]);
  return shown?.key === key ? shown.rows : null;
}
