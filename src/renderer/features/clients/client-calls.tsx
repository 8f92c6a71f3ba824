/** The calls of a client: composed one by one, or generated at a rate in clock time. */

import { useState } from "react";
import { Button, Choice, TextField } from "../../kit/controls.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { count } from "../../kit/words.ts";
import { isMac } from "../../stores/keys.ts";
import { useKept } from "../../stores/drafts.ts";
import { call } from "../../transport/transport.ts";
import { type ComposedType, composedTypes, templates } from "../composer/snippets.ts";
import type { Client } from "./client-words.ts";

export function ClientCalls({ client: { id, state, generating } }: { client: Client }) {
  const [type, setType] = useKept<ComposedType>("client call type", "track");
  const [drafts, setDrafts] = useKept("client calls", templates);
  const [howMany, setHowMany] = useState("40");
  const [pace, setPace] = useState("4");
  const { problem, run, attempt } = useAction();
  const make = (): void =>
    void attempt(async () =>
      call("clients.call", { id, type, call: JSON.parse(drafts[type]) as unknown }),
    );
  const isOpen = state === "running";
  return (
    <section className="section client-calls" aria-label="Calls">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          make();
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(isMac ? event.metaKey : event.ctrlKey)) return;
          event.preventDefault();
          make();
        }}
      >
        <div className="section-head">
          <Choice small label="Type" value={type} options={composedTypes} onChange={setType} />
          <span className="grow" />
          <Button
            small
            type="submit"
            look="primary"
            icon="add"
            disabled={!isOpen}
            shortcut={isMac ? "⌘ Enter" : "Ctrl Enter"}
          >
            Queue call
          </Button>
        </div>
        <textarea
          className="code client-body"
          aria-label="The call"
          rows={5}
          spellCheck={false}
          value={drafts[type]}
          onChange={(event) => setDrafts({ ...drafts, [type]: event.currentTarget.value })}
        />
      </form>
      <ProblemText error={problem} />
      <form
        className="client-generate"
        onSubmit={(event) => {
          event.preventDefault();
          run(`generate ${id}`, () =>
            call("clients.generate", { id, count: Number(howMany), perSecond: Number(pace) }),
          );
        }}
      >
        <span className="muted">Generate</span>
        <TextField
          aria-label="Number of calls"
          inputMode="numeric"
          value={howMany}
          onChange={(event) => setHowMany(event.currentTarget.value)}
        />
        <span className="muted">calls at</span>
        <TextField
          aria-label="Calls per second"
          inputMode="decimal"
          value={pace}
          onChange={(event) => setPace(event.currentTarget.value)}
        />
        <span className="muted">per second</span>
        {generating === null ? (
          <Button small type="submit" disabled={!isOpen}>
            Start
          </Button>
        ) : (
          <>
            <Button
              small
              onClick={() => run(`stop ${id}`, () => call("clients.stopGenerating", { id }))}
            >
              Stop
            </Button>
            <span className="muted">
              {count(generating.made)} of {count(generating.count)} generated
            </span>
          </>
        )}
      </form>
    </section>
  );
}
