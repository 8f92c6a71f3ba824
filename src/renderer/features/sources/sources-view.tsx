/**
 * Sources: where messages come from, write keys that nobody has yet, and how a client is pointed
 * here.
 */

import { type ReactNode, useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { recognise } from "../../../domain/client-libraries.ts";
import { sourceIds } from "../../../domain/ids.ts";
import { Button, Choice } from "../../kit/controls.tsx";
import { Copyable, copyText } from "../../kit/copy.tsx";
import { EmptyState } from "../../kit/empty-state.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { SnippetText } from "../../kit/snippet-text.tsx";
import { useAction } from "../../kit/use-action.ts";
import { count } from "../../kit/words.ts";
import { useDraftsOnlyOf } from "../../stores/drafts.ts";
import { useLive, useOnce } from "../../stores/live-data.ts";
import { hrefTo, openOf, openToName, usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { Collection, EditorPane, type Entry } from "../collection/collection.tsx";
import { filterHref } from "../details/places.ts";
import {
  clientSnippet,
  type ClientSnippetKind,
  snippetKindOf,
  usualSnippetKinds,
} from "./client-snippets.ts";
import { NothingArrives, RefusedRequests, refusedPath } from "./refused-requests.tsx";
import { SourceEditor } from "./source-editor.tsx";
import { UnknownKeys } from "./unknown-keys.tsx";
import "./sources.css";

/** The place of the unknown write keys among the sources. */
const unknownPath = "unknown-keys";

/** Opens it, with its name to be typed over. */
export const createSource = (name = "New source"): Promise<void> =>
  openToName("sources", call("sources.create", { name }));

export function SourcesView() {
  const { answer, error } = useLive("sources.list", {});
  const unknown = useLive("unknownKeys.list", {}).answer?.items;
  const refused = useLive("refused.list", {}).answer?.items.length;
  const destinations = useLive("destinations.list", {}).answer?.items;
  const openId = usePlace((place) => place.path[0]);
  const { problem, run } = useAction();
  const create = (name?: string): void => run("create a source", () => createSource(name));
  useDraftsOnlyOf(
    sourceIds,
    answer?.items.map(({ id }) => id),
  );
  const isWhole = unknown !== undefined && refused !== undefined && destinations !== undefined;
  if (answer === undefined || !isWhole) return <ProblemText error={error} />;

  const sources = answer.items;
  const showsRefused = openId === refusedPath;
  const showsUnknown =
    openId === unknownPath || (openId === undefined && sources.length === 0 && unknown.length > 0);
  const current = openOf(sources, openId);
  const entries = sources.map((source) =>
    entryOf(source.id, source.name, source.kind, <SourceDetail source={source} />),
  );
  if (unknown.length > 0) {
    const detail = "requests that match no source";
    entries.push(entryOf(unknownPath, "Unknown write keys", count(unknown.length), detail));
  }
  if (refused > 0 || showsRefused) {
    const detail = "with the line to change";
    entries.push(entryOf(refusedPath, "Refused requests", count(refused), detail));
  }
  const isOwn = current !== undefined && current.kind !== "audience";
  return (
    <Collection
      view="sources"
      title="Sources"
      entries={entries}
      current={
        showsRefused ? [refusedPath] : showsUnknown ? [unknownPath] : current && [current.id]
      }
      add={{ label: "New source", run: () => create() }}
      menu={isOwn ? ["line", { label: "New source", icon: "add", onSelect: () => create() }] : []}
      empty={
        showsUnknown || showsRefused || current !== undefined ? null : (
          <EmptyState
            label="No source"
            title={openId === undefined ? "Create the first source" : "Source not found"}
            action={{ label: "Create a source", run: () => create("Shop web") }}
            error={problem}
          >
            A source has a write key. Messages that clients send with this key to the ingest address
            go to the destinations that the source is connected to. Requests with an unknown key are
            stored, and you can adopt them here. <NothingArrives />
          </EmptyState>
        )
      }
      editor={
        showsRefused ? (
          <RefusedRequests sources={sources} unknown={unknown.length} />
        ) : current === undefined ? (
          <UnknownKeys keys={unknown} hasSources={sources.length > 0} refused={refused} />
        ) : isOwn ? (
          <SourceEditor
            key={current.id}
            source={current}
            destinations={destinations}
            unknown={unknown.length}
            problem={problem}
          />
        ) : (
          <AudienceSource key={current.id} source={current} />
        )
      }
      evidence={
        showsRefused || showsUnknown || (current !== undefined && !isOwn)
          ? undefined
          : {
              label: "Point a client here",
              content: <ClientSnippetPane source={current} />,
            }
      }
    />
  );
}

const entryOf = (id: string, label: string, hint: string, detail: ReactNode): Entry => ({
  path: [id],
  label,
  hint,
  aside: hint,
  detail,
});

function SourceDetail({
  source: { kind, writeKey, mode, faults },
}: {
  source: AnswerOf<"sources.get">;
}) {
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

/**
 * The source of an audience or a computed trait: Hookyard makes its messages, so there is nothing
 * to set up here.
 */
function AudienceSource({ source: { id, name } }: { source: AnswerOf<"sources.get"> }) {
  const audience = useLive("audiences.list", {}).answer?.items.find(
    ({ sourceId }) => sourceId === id,
  );
  const trait = useLive("computedTraits.list", {}).answer?.items.find(
    ({ sourceId }) => sourceId === id,
  );
  const owner = audience ?? trait;
  return (
    <EditorPane label={`Source ${name}`} title={name} others="Another source">
      <div className="pane-body">
        <div className="settled">
          <p className="muted">
            The identify messages of {trait === undefined ? "an audience" : "a computed trait"} come
            from this source. It is created, connected and deleted with them, and clients cannot
            send to it.
          </p>
          {owner === undefined ? null : (
            <p>
              <a
                className="link"
                href={hrefTo("audiences", ...(trait === undefined ? [] : ["traits"]), owner.id)}
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
    </EditorPane>
  );
}

/** Stands in until there is a source. */
const exampleKey = "WRITE_KEY";

/** The program for the library that sent the newest message of the source, or was refused last. */
function useRecognisedKind(sourceId: string | null): ClientSnippetKind | null {
  const newest = useLive("messages.list", sourceId === null ? null : { sourceId, limit: 1 });
  const id = newest.answer?.items[0]?.id;
  const message = useOnce("messages.get", id === undefined ? null : { id }).answer;
  const refused = useLive("refused.list", {}).answer?.items ?? [];
  if (message !== undefined) {
    const agent = message.request.headers.find(([name]) => /^user-agent$/i.test(name))?.[1];
    const raw = typeof message.raw === "string" ? message.raw : null;
    const kind = snippetKindOf(recognise(agent ?? null, raw).id);
    if (kind !== null) return kind;
  }
  return snippetKindOf(refused[0]?.library.id ?? null);
}

/**
 * How a client is pointed at this source: the address, the key, and a whole program for each
 * library.
 */
function ClientSnippetPane({ source }: { source: AnswerOf<"sources.get"> | undefined }) {
  const about = useOnce("about.get", {}).answer;
  const recognised = useRecognisedKind(source?.id ?? null);
  const id = source?.id;
  // What was chosen before there was a source stays chosen when the first one comes.
  const [chosen, choose] = useState<{ of: string | undefined; kind: ClientSnippetKind }>();
  const isOfThis = chosen?.of === undefined || chosen.of === id;
  const kind = (isOfThis ? chosen?.kind : undefined) ?? recognised ?? "cURL";
  const kinds = new Set<ClientSnippetKind>([...usualSnippetKinds, recognised ?? "cURL"]);
  // A share file of data that no Hookyard had open has no address.
  if (about === undefined || about.ingestUrl === "") return <section className="pane" />;
  const { ingestUrl } = about;
  const snippet = clientSnippet(kind, { ingestUrl, writeKey: source?.writeKey ?? exampleKey });
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
            options={[...kinds]}
            onChange={(next) => choose({ of: id, kind: next })}
          />
        </section>
        <div className="snippet-head">
          <h3>{kind === "cURL" ? "A call" : "A complete program"}</h3>
          <span className="muted clip">
            {source === undefined
              ? "create a source to get a write key"
              : "with the write key of this source"}
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
          Hookyard answers 200 after the messages are committed. Path prefixes, double slashes and
          trailing slashes are accepted, so any client library works. <NothingArrives />
        </p>
      </div>
    </section>
  );
}
