/** Destinations: set up in the order a user knows, changed the same way, with what became of their deliveries beside them. */

import { useMemo } from "react";
import { IconButton } from "../../kit/controls.tsx";
import { ListAndEditor, ListEntry, ListPane } from "../../kit/list-pane.tsx";
import { EmptyState } from "../../kit/empty-state.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { type Command, useOffer } from "../../stores/commands.ts";
import { useLive } from "../../stores/live-data.ts";
import { hashOf, openOf, usePlace } from "../../stores/place.ts";
import { newDestination, useDrafts } from "./destination-draft.ts";
import { DestinationEditor, NewDestination } from "./destination-editor.tsx";
import { DestinationEvidence } from "./destination-evidence.tsx";
import "./destinations.css";

const goToNew = (): void => usePlace.getState().go({ view: "destinations", path: [newDestination] });

export function DestinationsView() {
  const { answer, error } = useLive("destinations.list", {});
  const sources = useLive("sources.list", {}).answer?.items;
  const openId = usePlace((place) => place.path[0]);
  const go = usePlace((place) => place.go);
  const drafts = useDrafts((store) => store.drafts);
  const commands = useMemo<readonly Command[]>(
    () => [{ id: "destinations.new", label: "New destination", icon: "destinations", hint: "Destinations", run: goToNew }],
    [],
  );
  useOffer("destinations", commands);

  if (answer === undefined || sources === undefined) return <ProblemText error={error} />;
  const destinations = answer.items;
  const isNew = openId === newDestination;
  const current = openOf(destinations, openId);
  const others = destinations.map((destination) => ({
    label: destination.name,
    hint: destination.enabled ? "" : "disabled",
    go: () => go({ view: "destinations", path: [destination.id] }),
  }));
  const list = (
    <ListPane title="Destinations" tools={<IconButton icon="add" label="New destination" onClick={goToNew} />}>
      {destinations.map((destination) => (
        <ListEntry
          key={destination.id}
          href={hashOf({ view: "destinations", path: [destination.id], query: {} })}
          isCurrent={destination === current}
          name={destination.name}
          aside={destination.enabled ? (drafts[destination.id] === undefined ? null : "unsaved") : "disabled"}
          detail={
            <>
              <code>{destination.webhooks[0]?.url.replace(/^https?:\/\//, "")}</code>
              {destination.webhooks.length > 1 ? <span className="quiet"> +{destination.webhooks.length - 1}</span> : null}
            </>
          }
        />
      ))}
      {isNew ? (
        <ListEntry
          href={hashOf({ view: "destinations", path: [newDestination], query: {} })}
          isCurrent
          name="New destination"
          detail="not saved yet"
        />
      ) : null}
    </ListPane>
  );

  if (isNew) {
    return (
      <ListAndEditor
        name="destinations"
        title="Destinations"
        list={list}
        editor={<NewDestination sources={sources} others={others} />}
        evidence={{ label: "Evidence", content: <DestinationEvidence destination={null} /> }}
      />
    );
  }
  if (current === undefined) {
    return (
      <ListAndEditor
        name="destinations"
        title="Destinations"
        isEmpty
        list={list}
        editor={
          <EmptyState
            label="No destination"
            title={openId === undefined ? "Set up the first destination" : "Destination not found"}
            action={{ label: "Set up a destination", run: goToNew }}
          >
            A destination sends each message of its sources as a signed POST to up to five webhooks, and retries for up to four hours. Any
            http or https URL works; a test endpoint inside Hookyard is a good start.
          </EmptyState>
        }
      />
    );
  }
  return (
    <ListAndEditor
      name="destinations"
      title="Destinations"
      list={list}
      editor={<DestinationEditor key={current.id} destination={current} sources={sources} others={others} onCreate={goToNew} />}
      evidence={{ label: "Evidence", content: <DestinationEvidence key={current.id} destination={current} /> }}
    />
  );
}
