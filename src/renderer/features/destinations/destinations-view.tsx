/**
 * Destinations: set up in the order a user knows, changed the same way, with what became of their
 * deliveries beside them.
 */

import { destinationIds } from "../../../domain/ids.ts";
import { EmptyState } from "../../kit/empty-state.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { newId, shownDraft, useDraftsOnlyOf } from "../../stores/drafts.ts";
import { useLive, useOnce } from "../../stores/live-data.ts";
import { openOf, usePlace } from "../../stores/place.ts";
import { Collection, type Entry } from "../collection/collection.tsx";
import { draftOf, newDraft, useDrafts } from "./destination-draft.ts";
import { DestinationEditor } from "./destination-editor.tsx";
import { DestinationEvidence } from "./destination-evidence.tsx";
import "./destinations.css";

export const newDestination = (): void =>
  usePlace.getState().go({ view: "destinations", path: [newId] });

export function DestinationsView() {
  const { answer, error } = useLive("destinations.list", {});
  const sources = useLive("sources.list", {}).answer?.items;
  const settings = useLive("settings.get", {}).answer;
  // They describe the kind and the retries: what stands below would move when they come later.
  const catalog = useOnce("catalog.list", {}).answer;
  const profiles = useLive("retryProfiles.list", {}).answer;
  const openId = usePlace((place) => place.path[0]);
  const store = useDrafts();
  useDraftsOnlyOf(
    destinationIds,
    answer?.items.map(({ id }) => id),
  );
  const isDescribed = catalog !== undefined && profiles !== undefined;
  if (answer === undefined || sources === undefined || settings === undefined || !isDescribed)
    return <ProblemText error={error} />;

  const destinations = answer.items;
  const isNew = openId === newId;
  const current = openOf(destinations, openId);
  const existing = sources.map(({ id }) => id);
  const before =
    current === undefined ? newDraft(existing, settings.retryProfile) : draftOf(current);
  const entries = destinations.map(({ id, kind, name, enabled, webhooks, mappings }): Entry => ({
    path: [id],
    label: name,
    hint: enabled ? "" : "disabled",
    aside: enabled ? (store.drafts[id] === undefined ? null : "unsaved") : "disabled",
    detail:
      kind === "webhooks-actions" ? (
        mappings.map((mapping) => mapping.name).join(", ")
      ) : (
        <>
          <code>{webhooks[0]?.url.replace(/^https?:\/\//, "")}</code>
          {webhooks.length > 1 ? <span className="quiet"> +{webhooks.length - 1}</span> : null}
        </>
      ),
  }));
  if (isNew)
    entries.push({
      path: [newId],
      label: "New destination",
      detail: "not saved yet",
      inMenu: false,
    });
  return (
    <Collection
      view="destinations"
      title="Destinations"
      entries={entries}
      current={isNew ? [newId] : current && [current.id]}
      add={{ label: "New destination", run: newDestination }}
      menu={
        isNew ? [] : ["line", { label: "New destination", icon: "add", onSelect: newDestination }]
      }
      empty={
        isNew || current !== undefined ? null : (
          <EmptyState
            label="No destination"
            title={openId === undefined ? "Set up the first destination" : "Destination not found"}
            action={{ label: "Set up a destination", run: newDestination }}
          >
            A destination sends each message of its sources as a signed POST to up to five webhooks,
            and retries for up to four hours. Any http or https URL works; a test endpoint inside
            Hookyard is a good start.
          </EmptyState>
        )
      }
      editor={
        <DestinationEditor
          key={current?.id}
          destination={current ?? null}
          before={before}
          sources={sources}
        />
      }
      evidence={
        isNew || current !== undefined
          ? {
              label: "Evidence",
              content: (
                <DestinationEvidence
                  key={current?.id}
                  destination={current ?? null}
                  draft={shownDraft(store, current?.id ?? newId, before, { sourceIds: existing })}
                />
              ),
            }
          : undefined
      }
    />
  );
}
