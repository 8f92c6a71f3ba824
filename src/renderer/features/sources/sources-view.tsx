/** Sources: where messages come from, write keys that nobody has yet, and how a client is pointed here. */

import { useCallback, useMemo } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { IconButton } from "../../kit/controls.tsx";
import { ListAndEditor, ListEntry, ListPane } from "../../kit/list-pane.tsx";
import { NothingHere } from "../../kit/nothing-here.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { count } from "../../kit/words.ts";
import { useOffer, type Command } from "../../stores/commands.ts";
import { useLive } from "../../stores/live-data.ts";
import { hashOf, openOf, usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { ClientSnippetPane } from "./client-snippet-pane.tsx";
import { AudienceSource } from "./audience-source.tsx";
import { SourceEditor } from "./source-editor.tsx";
import { UnknownKeys } from "./unknown-keys.tsx";
import "./sources.css";

/** The place of the unknown write keys among the sources. */
const unknownPath = "unknown-keys";

export function SourcesView() {
  const { answer, error } = useLive("sources.list", {});
  const unknown = useLive("unknownKeys.list", {}).answer?.items ?? [];
  const openId = usePlace((place) => place.path[0]);
  const go = usePlace((place) => place.go);
  const { problem, run } = useAction();

  const create = useCallback(
    (name: string): void =>
      run(async () => {
        const made = await call("sources.create", { name });
        go({ view: "sources", path: [made.id], query: { name: "edit" } });
      }),
    [run, go],
  );
  const commands = useMemo<readonly Command[]>(
    () => [{ id: "sources.new", label: "New source", icon: "sources", hint: "Sources", run: () => create("New source") }],
    [create],
  );
  useOffer("sources", commands);

  if (answer === undefined) return <ProblemText error={error} />;
  const sources = answer.items;
  const showsUnknown = openId === unknownPath || (openId === undefined && sources.length === 0 && unknown.length > 0);
  const current = openOf(sources, openId);
  const others = [
    ...sources.map((source) => ({ label: source.name, hint: source.kind, go: () => go({ view: "sources", path: [source.id] }) })),
    ...(unknown.length === 0
      ? []
      : [{ label: "Unknown write keys", hint: count(unknown.length), go: () => go({ view: "sources", path: [unknownPath] }) }]),
  ];

  const list = (
    <ListPane title="Sources" tools={<IconButton icon="add" label="New source" onClick={() => create("New source")} />}>
      {sources.map((source) => (
        <ListEntry
          key={source.id}
          href={hashOf({ view: "sources", path: [source.id], query: {} })}
          isCurrent={source === current}
          name={source.name}
          aside={source.kind}
          detail={<SourceDetail source={source} />}
        />
      ))}
      {unknown.length === 0 ? null : (
        <ListEntry
          href={hashOf({ view: "sources", path: [unknownPath], query: {} })}
          isCurrent={showsUnknown}
          name="Unknown write keys"
          aside={count(unknown.length)}
          detail="requests that no source takes in"
        />
      )}
    </ListPane>
  );

  if (showsUnknown) {
    return (
      <ListAndEditor
        name="sources"
        title="Sources"
        list={list}
        editor={<UnknownKeys keys={unknown} others={others} hasSources={sources.length > 0} />}
      />
    );
  }
  if (current === undefined) {
    return (
      <ListAndEditor
        name="sources"
        title="Sources"
        isEmpty
        list={list}
        editor={
          <NothingHere
            label="No source"
            title={openId === undefined ? "Make the first source" : "There is no such source"}
            action={{ label: "Make a source", run: () => create("Shop web") }}
            error={problem}
          >
            A source has a write key. A client that sends with it to the ingest address gets its messages in, and each goes on to the
            destinations that the source is connected to. Requests with a key that no source has are kept, and can be adopted here.
          </NothingHere>
        }
        evidence={{ label: "Point a client here", content: <ClientSnippetPane writeKey={null} /> }}
      />
    );
  }
  return (
    <ListAndEditor
      name="sources"
      title="Sources"
      list={list}
      editor={
        current.kind === "audience" ? (
          <AudienceSource key={current.id} source={current} others={others} />
        ) : (
          <SourceEditor
            key={current.id}
            source={current}
            others={others}
            unknown={unknown.length}
            problem={problem}
            onCreate={() => create("New source")}
          />
        )
      }
      evidence={
        current.kind === "audience"
          ? undefined
          : { label: "Point a client here", content: <ClientSnippetPane writeKey={current.writeKey} /> }
      }
    />
  );
}

function SourceDetail({ source: { kind, writeKey, mode, faults } }: { source: AnswerOf<"sources.get"> }) {
  if (kind === "audience") return "Hookyard’s own";
  const notes = [
    ...(mode === "production" ? ["production"] : []),
    ...(faults.length === 0 ? [] : [`${faults.length} fault${faults.length === 1 ? "" : "s"}`]),
  ];
  return (
    <>
      <code>{writeKey}</code>
      {notes.length === 0 ? null : <span className="quiet"> {notes.join(", ")}</span>}
    </>
  );
}
