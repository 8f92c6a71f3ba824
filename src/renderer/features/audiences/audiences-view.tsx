/** Audiences and computed traits: the editor with sync in the middle, the sent messages at the right. */

import { useMemo } from "react";
import type { Sync } from "../../../domain/rules.ts";
import { Button, IconButton } from "../../kit/controls.tsx";
import { Menu } from "../../kit/floats.tsx";
import { ListAndEditor, ListEntry, ListPane } from "../../kit/list-pane.tsx";
import { EmptyState } from "../../kit/empty-state.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { count, span } from "../../kit/words.ts";
import { type Command, useOffer } from "../../stores/commands.ts";
import { useLive } from "../../stores/live-data.ts";
import { hashOf, openOf, usePlace } from "../../stores/place.ts";
import { AudiencePane } from "./audience-pane.tsx";
import { SentMessages } from "./audience-sent.tsx";
import { audienceKind, newId, traitKind, traitsPath } from "./computed-draft.ts";
import { ComputedTraitPane } from "./computed-trait-pane.tsx";
import "./audiences.css";
import "./rule.css";

const goToNew = (): void => usePlace.getState().go({ view: "audiences", path: [newId] });
const goToNewTrait = (): void => usePlace.getState().go({ view: "audiences", path: [traitsPath, newId] });

export function AudiencesView() {
  const { answer, error } = useLive("audiences.list", {});
  const traits = useLive("computedTraits.list", {}).answer?.items;
  const destinations = useLive("destinations.list", {}).answer?.items;
  const path = usePlace((place) => place.path);
  const go = usePlace((place) => place.go);
  const drafts = audienceKind.useDrafts((store) => store.drafts);
  const traitDrafts = traitKind.useDrafts((store) => store.drafts);
  const commands = useMemo<readonly Command[]>(
    () => [
      { id: "audiences.new", label: "New audience", icon: "audiences", hint: "Audiences", run: goToNew },
      { id: "traits.new", label: "New computed trait", icon: "audiences", hint: "Audiences", run: goToNewTrait },
    ],
    [],
  );
  useOffer("audiences", commands);

  if (answer === undefined || traits === undefined || destinations === undefined) return <ProblemText error={error} />;
  const audiences = answer.items;
  const showsTrait = path[0] === traitsPath || (path[0] === undefined && audiences.length === 0 && traits.length > 0);
  const openId = showsTrait ? path[1] : path[0];
  const isNew = openId === newId;
  const audience = showsTrait ? undefined : openOf(audiences, openId);
  const trait = showsTrait ? openOf(traits, openId) : undefined;
  const named = [...audiences, ...traits];
  const others = [
    ...audiences.map(({ id, name, size }) => ({ label: name, hint: count(size), go: () => go({ view: "audiences", path: [id] }) })),
    ...traits.map(({ id, name }) => ({ label: name, hint: "trait", go: () => go({ view: "audiences", path: [traitsPath, id] }) })),
    { label: "New audience", go: goToNew },
    { label: "New computed trait", go: goToNewTrait },
  ];

  const list = (
    <ListPane
      title="Audiences"
      tools={
        <Menu
          trigger={<IconButton icon="add" label="New" />}
          items={[
            { label: "New audience", icon: "audiences", onSelect: goToNew },
            { label: "New computed trait", icon: "audiences", onSelect: goToNewTrait },
          ]}
        />
      }
    >
      {audiences.map(({ id, name, key, size, sync, syncing }) => (
        <ListEntry
          key={id}
          href={hashOf({ view: "audiences", path: [id], query: {} })}
          isCurrent={id === audience?.id}
          name={name}
          aside={drafts[id] === undefined ? `${count(size)} ${size === 1 ? "user" : "users"}` : "unsaved"}
          detail={
            <>
              <code>{key}</code> <span className="quiet">{syncing === null ? syncWords(sync) : "syncing"}</span>
            </>
          }
        />
      ))}
      {isNew && !showsTrait ? (
        <ListEntry href={hashOf({ view: "audiences", path: [newId], query: {} })} isCurrent name="New audience" detail="not saved yet" />
      ) : null}
      {traits.length > 0 || (isNew && showsTrait) ? <li className="list-heading">Computed traits</li> : null}
      {traits.map(({ id, name, key, users, sync, syncing }) => (
        <ListEntry
          key={id}
          href={hashOf({ view: "audiences", path: [traitsPath, id], query: {} })}
          isCurrent={id === trait?.id}
          name={name}
          aside={traitDrafts[id] === undefined ? `${count(users)} ${users === 1 ? "user" : "users"}` : "unsaved"}
          detail={
            <>
              <code>{key}</code> <span className="quiet">{syncing === null ? syncWords(sync) : "syncing"}</span>
            </>
          }
        />
      ))}
      {isNew && showsTrait ? (
        <ListEntry
          href={hashOf({ view: "audiences", path: [traitsPath, newId], query: {} })}
          isCurrent
          name="New computed trait"
          detail="not saved yet"
        />
      ) : null}
    </ListPane>
  );

  if (!isNew && audience === undefined && trait === undefined) {
    const isMissing = openId !== undefined;
    return (
      <ListAndEditor
        name="audiences"
        title="Audiences"
        isEmpty
        list={list}
        editor={
          <EmptyState
            label="No audience"
            title={isMissing ? "Audience not found" : "Notify receivers when users enter and leave"}
            action={{ label: "Create an audience", run: goToNew }}
            more={
              <Button icon="add" onClick={goToNewTrait}>
                Create a computed trait
              </Button>
            }
          >
            An audience is a rule over traits and events, such as “ordered twice within 7 days, each time for more than 50”. Receivers get
            an identify with <code>true</code> for each user who enters and <code>false</code> for each who leaves, whether an event or time
            alone causes it.
          </EmptyState>
        }
      />
    );
  }
  const shown = showsTrait ? trait : audience;
  return (
    <ListAndEditor
      name="audiences"
      title="Audiences"
      list={list}
      editor={
        showsTrait ? (
          <ComputedTraitPane key={trait?.id ?? newId} saved={trait ?? null} named={named} destinations={destinations} others={others} />
        ) : (
          <AudiencePane key={audience?.id ?? newId} saved={audience ?? null} named={named} destinations={destinations} others={others} />
        )
      }
      evidence={{
        label: "Sent to receivers",
        content: <SentMessages key={shown?.id ?? "new"} sourceId={shown?.sourceId ?? null} traitKey={shown?.key ?? "trait"} />,
      }}
    />
  );
}

/** When changes are sent, in the few words of a list. */
function syncWords(sync: Sync): string {
  if (typeof sync !== "string") return `every ${span(sync.everyMs)}`;
  return sync === "manual" ? "manually" : "after each event";
}
