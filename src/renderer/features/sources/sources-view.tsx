/** Sources: where messages come from, write keys that nobody has yet, and how a client is pointed here. */

import { useCallback, useMemo, useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { Button, Choice, IconButton } from "../../kit/controls.tsx";
import { Copyable, copyText } from "../../kit/copy.tsx";
import { ListAndEditor, ListEntry, ListPane, type Other, OthersMenu } from "../../kit/list-pane.tsx";
import { EmptyState } from "../../kit/empty-state.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { SnippetText } from "../../kit/snippet-text.tsx";
import { useAction } from "../../kit/use-action.ts";
import { count } from "../../kit/words.ts";
import { type Command, useOffer } from "../../stores/commands.ts";
import { useLive, useOnce } from "../../stores/live-data.ts";
import { hashOf, openOf, usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { filterHref } from "../details/places.ts";
import { clientSnippet, type ClientSnippetKind, clientSnippetKinds } from "./client-snippets.ts";
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
          detail="requests that match no source"
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
          <EmptyState
            label="No source"
            title={openId === undefined ? "Create the first source" : "Source not found"}
            action={{ label: "Create a source", run: () => create("Shop web") }}
            error={problem}
          >
            A source has a write key. Messages that clients send with this key to the ingest address go to the destinations that the source
            is connected to. Requests with an unknown key are stored, and you can adopt them here.
          </EmptyState>
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
  if (kind === "audience") return "managed by Hookyard";
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

/** The source of an audience or a computed trait: Hookyard makes its messages, so there is nothing to set up here. */
function AudienceSource({ source: { id, name }, others }: { source: AnswerOf<"sources.get">; others: readonly Other[] }) {
  const audience = useLive("audiences.list", {}).answer?.items.find(({ sourceId }) => sourceId === id);
  const trait = useLive("computedTraits.list", {}).answer?.items.find(({ sourceId }) => sourceId === id);
  const owner = audience ?? trait;
  return (
    <section className="pane editor" aria-label={`Source ${name}`}>
      <header className="pane-title">
        <h2 className="clip isolate">{name}</h2>
        <OthersMenu label="Another source" others={others} />
      </header>
      <div className="pane-body">
        <div className="settled">
          <p className="muted">
            The identify messages of {trait === undefined ? "an audience" : "a computed trait"} come from this source. It is created,
            connected and deleted with them, and clients cannot send to it.
          </p>
          {owner === undefined ? null : (
            <p>
              <a
                className="link"
                href={hashOf({ view: "audiences", path: trait === undefined ? [owner.id] : ["traits", owner.id], query: {} })}
              >
                Open {owner.name}
              </a>
            </p>
          )}
          <p>
            <a className="link" href={filterHref({ values: { source: [name] }, text: "" })}>
              Messages in Live
            </a>
          </p>
        </div>
      </div>
    </section>
  );
}

/** Stands in until there is a source. */
const exampleKey = "WRITE_KEY";

/** How a client is pointed at this source: the address, the key, and a whole program for each library. */
function ClientSnippetPane({ writeKey }: { writeKey: string | null }) {
  const about = useOnce("about.get", {}).answer;
  const [kind, setKind] = useState<ClientSnippetKind>("cURL");
  if (about === undefined) return <section className="pane" />;
  const { ingestUrl } = about;
  const snippet = clientSnippet(kind, { ingestUrl, writeKey: writeKey ?? exampleKey });
  return (
    <section className="pane" aria-label="Point a client here">
      <header className="pane-title">
        <h3>Point a client here</h3>
      </header>
      <div className="pane-body">
        <section className="section snippet-address" aria-label="Ingest address">
          <Copyable value={ingestUrl} label="the ingest address" note="ingest address" />
          <Choice
            small
            label="Client"
            value={kind}
            options={clientSnippetKinds.map((each) => ({ value: each, label: each }))}
            onChange={setKind}
          />
        </section>
        <div className="snippet-head">
          <h3>{kind === "cURL" ? "A call" : "A complete program"}</h3>
          <span className="muted clip">
            {writeKey === null ? "create a source to get a write key" : "with the write key of this source"}
          </span>
          <span className="grow" />
          <Button small icon="copy" onClick={() => void copyText(snippet, `as ${kind}`)}>
            Copy
          </Button>
        </div>
        <pre className="code snippet" tabIndex={0} aria-label={`${kind} snippet`}>
          <SnippetText text={snippet} />
        </pre>
        <p className="snippet-note muted">
          Hookyard answers 200 after the messages are committed. Path prefixes, double slashes and trailing slashes are accepted, so any
          client library works.
        </p>
      </div>
    </section>
  );
}
