/** Retries: all deliveries that wait for their next round, or that a user may retry, each a lane around now. */

import type { DeliveryState } from "../../../domain/states.ts";
import { Choice, SelectField } from "../../kit/controls.tsx";
import { StateGlyph } from "../../kit/glyph.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { count } from "../../kit/words.ts";
import { useLive } from "../../stores/live-data.ts";
import { usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { useScale } from "../timeline/kept-scale.ts";
import { ScaleChoice } from "../timeline/scale-choice.tsx";
import type { DeliveryRow } from "./delivery-rows.ts";
import { RetriesList } from "./retries-list.tsx";
import { RetryAll } from "./retry-all.tsx";
import { useDeliveryRows } from "./use-delivery-rows.ts";
import "./retries.css";

const states = ["waiting", "failed", "expired", "cancelled"] as const;
type RetriesState = (typeof states)[number];

const isRetriesState = (text: string | undefined): text is RetriesState => states.some((state) => state === text);

export function RetriesView() {
  const { query, change, go } = usePlace();
  const state = isRetriesState(query["state"]) ? query["state"] : "waiting";
  const destinations = useLive("destinations.list", {}).answer?.items;
  const profiles = useLive("retryProfiles.list", {}).answer?.items;
  const settings = useLive("settings.get", {}).answer;
  const { scale } = useScale();
  const chosen = destinations?.find(({ id }) => id === query["destination"]);
  const destinationId = chosen?.id ?? null;
  const rows = useDeliveryRows({ state, destinationId });
  const { problem: refusal, run } = useAction();

  const open = (row: DeliveryRow): void => go({ view: "live", path: [row.messageRowId] });
  const retry = ({ id }: DeliveryRow): void => run(() => call("deliveries.retry", { id }), id);

  return (
    <section className="retries" aria-label="Retries">
      <header className="retries-bar">
        <h1 className="sr">Retries</h1>
        <Choice
          label="State"
          value={state}
          options={states.map((each) => ({ value: each, label: <StateOption state={each} destinationId={destinationId} /> }))}
          onChange={(value) => change({ query: { state: value === "waiting" ? null : value } })}
        />
        <SelectField
          aria-label="Destination"
          value={destinationId ?? ""}
          options={[
            { value: "", label: "all destinations" },
            ...(destinations ?? []).map(({ id, name }) => ({ value: id, label: name.slice(0, 60) })),
          ]}
          onChange={(value) => change({ query: { destination: value === "" ? null : value } })}
        />
        <span className="grow" />
        <ScaleChoice />
        <RetryAll state={state} destinationId={destinationId} destinationName={chosen?.name ?? null} total={rows?.total() ?? 0} />
      </header>
      <ProblemText error={refusal ?? rows?.error() ?? null} />
      {rows?.isReady() === true && rows.total() === 0 ? (
        <NothingHere state={state} destination={chosen?.name ?? null} />
      ) : rows === null || destinations === undefined || profiles === undefined || settings === undefined ? null : (
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

function StateOption({ state, destinationId }: { state: RetriesState; destinationId: string | null }) {
  const { answer } = useLive("deliveries.list", { state, limit: 1, ...(destinationId === null ? {} : { destinationId }) });
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
    text: "One waits here when a webhook answers 5xx, times out or cannot be reached. To see it happen, let a webhook of a destination point at a test endpoint that answers 503.",
  },
  failed: {
    title: "No delivery has failed",
    text: "One fails when every webhook has answered with what is not retried, such as 410 or a bad certificate. It can be retried from here.",
  },
  expired: {
    title: "No delivery has expired",
    text: "One expires when its retry window closes before a webhook answers 2xx. To see it happen, advance the clock by 4 h while deliveries are waiting.",
  },
  cancelled: {
    title: "No delivery has been cancelled",
    text: "One is cancelled from the details of its message, or with its destination. It can be retried from here.",
  },
};

function NothingHere({ state, destination }: { state: RetriesState & DeliveryState; destination: string | null }) {
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
          {state === "waiting" ? "Open Test endpoints" : "Show what is waiting"}
        </a>
      </p>
    </div>
  );
}
