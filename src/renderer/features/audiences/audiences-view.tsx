/** Audiences and computed traits: made, changed and synced in the middle, what receivers were told at the right. */

import { useMemo } from "react";
import { Button, IconButton } from "../../kit/controls.tsx";
import { Menu } from "../../kit/floats.tsx";
import { ListAndEditor, ListEntry, ListPane } from "../../kit/list-pane.tsx";
import { NothingHere } from "../../kit/nothing-here.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { count } from "../../kit/words.ts";
import { useOffer, type Command } from "../../stores/commands.ts";
import { useLive } from "../../stores/live-data.ts";
import { hashOf, openOf, usePlace } from "../../stores/place.ts";
import { audienceKind } from "./audience-draft.ts";
import { AudiencePane } from "./audience-pane.tsx";
import { ComputedTraitPane } from "./computed-trait-pane.tsx";
import { newId } from "./computed-kind.ts";
import { traitKind, traitsPath } from "./computed-trait-draft.ts";
import { Told } from "./audience-told.tsx";
import { syncWords } from "./sync-words.ts";
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
          aside={drafts[id] === undefined ? `${count(size)} in` : "not saved"}
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
          aside={traitDrafts[id] === undefined ? `${count(users)} ${users === 1 ? "user" : "users"}` : "not saved"}
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
          <NothingHere
            label="No audience"
            title={isMissing ? "There is no such audience" : "Tell receivers who comes and who leaves"}
            action={{ label: "Make an audience", run: goToNew }}
            more={
              <Button icon="add" onClick={goToNewTrait}>
                Make a computed trait
              </Button>
            }
          >
            An audience is a rule over traits and events, such as “ordered twice within 7 days, each time for more than 50”. Receivers get
            an identify with <code>true</code> for each user who comes and <code>false</code> for each who leaves, by an event or by time
            alone.
          </NothingHere>
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
        label: "What receivers were told",
        content: <Told key={shown?.id ?? "new"} sourceId={shown?.sourceId ?? null} traitKey={shown?.key ?? "trait"} />,
      }}
    />
  );
}
