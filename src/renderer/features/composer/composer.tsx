/**
 * Composes one call, sends it through a simulated client or straight to the ingest port as a
 * source, and shows the same call as clients would make it.
 */

import { type RefObject, useRef, useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { Button, Choice, Labelled, SelectField } from "../../kit/controls.tsx";
import { copyText } from "../../kit/copy.tsx";
import { Dialog } from "../../kit/floats.tsx";
import { StateGlyph } from "../../kit/glyph.tsx";
import { whyNotAccepted } from "../../kit/ingest-answer.ts";
import { ProblemText } from "../../kit/problem.tsx";
import { SnippetText } from "../../kit/snippet-text.tsx";
import { useAction } from "../../kit/use-action.ts";
import { useOverlay } from "../../stores/commands.ts";
import { isMac } from "../../stores/keys.ts";
import { useKept } from "../../stores/drafts.ts";
import { useLive, useOnce } from "../../stores/live-data.ts";
import { usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import {
  type ComposedType,
  composedTypes,
  snippet,
  type SnippetKind,
  snippetKinds,
  templates,
} from "./snippets.ts";
import "./composer.css";

export function Composer() {
  const { shown, hide } = useOverlay();
  const field = useRef<HTMLTextAreaElement>(null);
  return (
    <Dialog open={shown === "composer"} onClose={hide} title="Compose a message" focus={field} wide>
      <Form field={field} onDone={hide} />
    </Dialog>
  );
}

type Sent =
  | { by: "source"; answer: AnswerOf<"sources.send"> }
  | { by: "client"; answer: AnswerOf<"clients.call"> };

type Senders = {
  sources: AnswerOf<"sources.list">["items"];
  clients: AnswerOf<"clients.list">["items"];
};

const sendersOf = (
  sources: AnswerOf<"sources.list">,
  clients: AnswerOf<"clients.list">,
): Senders => ({
  sources: sources.items.filter(({ kind }) => kind !== "audience"),
  clients: clients.items.filter(({ state }) => state === "running"),
});

const readSenders = async (): Promise<Senders> =>
  sendersOf(...(await Promise.all([call("sources.list", {}), call("clients.list", {})])));

const nobody: Senders = { sources: [], clients: [] };

function senderOf({ sources, clients }: Senders, chosen: string | null) {
  const client = clients.find(({ id }) => id === chosen);
  const source = sources.find(({ id }) => id === (client?.sourceId ?? chosen)) ?? sources[0];
  return { client, source };
}

/** Through whom the last call went; the next one goes the same way. */
let lastChosen: string | null = null;

function Form({
  field,
  onDone,
}: {
  field: RefObject<HTMLTextAreaElement | null>;
  onDone: () => void;
}) {
  const sources = useLive("sources.list", {}).answer;
  const clients = useLive("clients.list", {}).answer;
  const ingestUrl = useOnce("about.get", {}).answer?.ingestUrl ?? "";
  const [chosen, setChosen] = useState<string | null>(lastChosen);
  const [type, setType] = useKept<ComposedType>("composer type", "track");
  const [drafts, setDrafts] = useKept("composer calls", templates);
  const [sent, setSent] = useState<Sent | null>(null);
  const { problem, isBusy, run } = useAction();

  const senders = sources && clients && sendersOf(sources, clients);
  const { client, source } = senderOf(senders ?? nobody, chosen);
  const writeKey = client?.writeKey ?? source?.writeKey ?? "";
  const body = drafts[type];
  const wrong = jsonProblem(body);

  const send = async (): Promise<void> => {
    // It can be pressed before they are known.
    const by = senderOf(senders ?? (await readSenders()), chosen);
    if (by.client !== undefined) {
      if (wrong !== null) throw new Error("A client needs valid JSON for the call.");
      setSent({
        by: "client",
        answer: await call("clients.call", {
          id: by.client.id,
          type,
          call: JSON.parse(body) as unknown,
        }),
      });
    } else {
      const id = by.source?.id ?? (await call("workspaces.open", { kind: "first" })).sourceId;
      setSent({ by: "source", answer: await call("sources.send", { id, type, body }) });
    }
  };

  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        run("send", send);
      }}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(isMac ? event.metaKey : event.ctrlKey)) return;
        event.preventDefault();
        run("send", send);
      }}
    >
      <div className="composer-head">
        <Choice label="Type" value={type} options={composedTypes} onChange={setType} />
        <span className="grow" />
        {senders !== undefined && source !== undefined ? (
          <SenderField
            senders={senders}
            value={client?.id ?? source.id}
            onChange={(id) => {
              lastChosen = id;
              setChosen(id);
            }}
          />
        ) : null}
      </div>
      <Labelled
        label="The call"
        error={wrong}
        hint={
          client === undefined
            ? "Sent exactly as written, including number formats."
            : "Queued by the client and sent with its next batch."
        }
      >
        <textarea
          ref={field}
          className="code composer-body"
          rows={8}
          spellCheck={false}
          value={body}
          aria-invalid={wrong !== null}
          onChange={(event) => setDrafts({ ...drafts, [type]: event.currentTarget.value })}
        />
      </Labelled>
      <div className="composer-actions">
        <Button
          look="primary"
          icon="send"
          type="submit"
          isBusy={isBusy}
          shortcut={isMac ? "⌘ Enter" : "Ctrl Enter"}
        >
          Send
        </Button>
        {sent === null ? null : <Answer sent={sent} onDone={onDone} />}
      </div>
      <ProblemText error={problem} />
      <SameCall call={{ ingestUrl, writeKey, type, body }} />
    </form>
  );
}

type SenderFieldProps = {
  senders: Senders;
  value: string;
  onChange: (id: string) => void;
};

function SenderField({ senders: { sources, clients }, value, onChange }: SenderFieldProps) {
  const isClient = clients.some(({ id }) => id === value);
  return (
    <label className="composer-source">
      <span className="muted">{isClient ? "send through" : "send directly as"}</span>
      <SelectField
        aria-label="Sent by"
        value={value}
        options={[
          ...sources.map(({ id, name }) => ({ value: id, label: name })),
          ...clients.map(({ id, name }) => ({ value: id, label: `client ${name}` })),
        ]}
        onChange={onChange}
      />
    </label>
  );
}

function SameCall({ call: composed }: { call: Parameters<typeof snippet>[1] }) {
  const [kind, setKind] = useState<SnippetKind>("cURL");
  const text = snippet(kind, composed);
  return (
    <section aria-label="The same call">
      <div className="section-head">
        <h3>The same call as</h3>
        <Choice
          small
          label="The same call as"
          value={kind}
          options={snippetKinds}
          onChange={setKind}
        />
        <span className="grow" />
        <Button small icon="copy" onClick={() => void copyText(text, `as ${kind}`)}>
          Copy
        </Button>
      </div>
      <pre className="code composer-snippet">
        <SnippetText text={text} />
      </pre>
    </section>
  );
}

function Answer({ sent, onDone }: { sent: Sent; onDone: () => void }) {
  const leave = (place: Parameters<ReturnType<typeof usePlace.getState>["go"]>[0]): void => {
    onDone();
    usePlace.getState().go(place);
  };
  if (sent.by === "client") {
    const { batchId, client } = sent.answer;
    return (
      <span className="composer-answer" role="status">
        <StateGlyph state="queued" />
        <span>
          {batchId === null
            ? `queued, ${client.queued} of ${client.flushAt}`
            : "queued, and the batch is being sent"}
        </span>
        <Button small look="quiet" onClick={() => leave({ view: "clients", path: [client.id] })}>
          Open the client
        </Button>
      </span>
    );
  }
  const { status, body } = sent.answer;
  const taken = whyNotAccepted(sent.answer) === null;
  return (
    <span className="composer-answer" role="status">
      <StateGlyph state={taken ? "delivered" : "rejected"} />
      <span>{taken ? "accepted" : "rejected"}</span>
      <code className="clip">
        {status} {body}
      </code>
      <Button small look="quiet" onClick={() => leave({ view: "live" })}>
        Open Live
      </Button>
    </span>
  );
}

/** Only what can be known before it is sent; the port says the rest. */
function jsonProblem(body: string): string | null {
  try {
    JSON.parse(body);
    return null;
  } catch (error) {
    return `Not valid JSON: ${(error as Error).message}. You can still send it to see how the ingest port responds.`;
  }
}
