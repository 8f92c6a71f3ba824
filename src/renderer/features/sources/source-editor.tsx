/** One source: its write key, how it answers, and the faults it shows its clients. Every change is saved at once. */

import type { AnswerOf, InputOf } from "../../../contract/contract.ts";
import { sourceKinds } from "../../../domain/states.ts";
import { CommitField } from "../../kit/commit-field.tsx";
import { DeleteMenu } from "../../kit/confirm-dialog.tsx";
import { CheckField, Choice, IconButton } from "../../kit/controls.tsx";
import { copyText } from "../../kit/copy.tsx";
import { Icon } from "../../kit/icon.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { count } from "../../kit/words.ts";
import { useLive } from "../../stores/live-data.ts";
import { hashOf, usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { EditorPane } from "../collection/collection.tsx";
import { FaultsEditor } from "./faults-editor.tsx";

type Source = AnswerOf<"sources.get">;

const modeSentences = {
  explain: "A rejected call gets 400, and a batch 200 with a list of the rejected messages and the reasons.",
  production: "200 for everything but malformed or oversized requests, as the hosted service answers. Reasons show only here.",
};

export function SourceEditor({ source, unknown, problem }: { source: Source; unknown: number; problem: Error | null }) {
  const { id, name } = source;
  const destinations = useLive("destinations.list", {}).answer?.items ?? [];
  const go = usePlace((place) => place.go);
  const { problem: refusal, attempt } = useAction();
  const connected = destinations.filter((destination) => destination.sourceIds.includes(id));

  const update = (changes: Omit<InputOf<"sources.update">, "id">): Promise<unknown> => call("sources.update", { id, ...changes });
  /** For controls that have no place for a sentence of their own. */
  const set = (changes: Omit<InputOf<"sources.update">, "id">): void => attempt(() => update(changes));

  return (
    <EditorPane
      label={`Source ${name}`}
      title={name}
      onRename={(text) => update({ name: text })}
      others="Another source"
      tools={
        <DeleteMenu
          name={name}
          onDelete={async () => {
            await call("sources.delete", { id });
            go({ view: "sources" });
          }}
        >
          Requests with its write key become unknown, and it is disconnected from{" "}
          {connected.length === 1 ? "its destination" : `its ${connected.length} destinations`}. Its messages stay on record.
        </DeleteMenu>
      }
    >
      <div className="pane-body">
        {unknown === 0 ? null : (
          <p className="unknown-note">
            <Icon name="sources" />
            <span>
              {count(unknown)} unknown write {unknown === 1 ? "key" : "keys"} sent requests.{" "}
              <a className="link" href="#/sources/unknown-keys">
                Adopt or forget {unknown === 1 ? "it" : "them"}
              </a>
            </span>
          </p>
        )}
        <ProblemText error={problem ?? refusal} />
        <section className="section" aria-label="Write key and kind">
          <div className="pairs source-pairs">
            <span className="pair-name">Write key</span>
            <div className="with-button">
              <CommitField label="Write key" shown="hidden" mono text={source.writeKey} onCommit={(writeKey) => update({ writeKey })} />
              <IconButton icon="copy" label="Copy the write key" onClick={() => void copyText(source.writeKey, "the write key")} />
            </div>
            <span className="pair-name">Kind</span>
            {source.kind === "audience" ? (
              <span>audience</span>
            ) : (
              <Choice
                label="Kind"
                value={source.kind}
                options={sourceKinds.map((kind) => ({ value: kind, label: kind }))}
                onChange={(kind) => set({ kind })}
              />
            )}
            <span className="pair-name">Goes to</span>
            <span className="goes-to">
              {connected.length === 0 ? (
                <span className="muted">
                  no destination, so its messages end as filtered.{" "}
                  <a className="link" href="#/destinations">
                    Connect one
                  </a>
                </span>
              ) : (
                connected.map((destination) => (
                  <a
                    key={destination.id}
                    className="link clip isolate"
                    href={hashOf({ view: "destinations", path: [destination.id], query: {} })}
                  >
                    {destination.name}
                    {destination.enabled ? "" : " (disabled)"}
                  </a>
                ))
              )}
            </span>
          </div>
        </section>
        <section className="section" aria-label="Answers">
          <div className="pairs source-pairs">
            <span className="pair-name">Answer mode</span>
            <div className="explained">
              <Choice
                label="Answer mode"
                value={source.mode}
                options={[
                  { value: "explain", label: "explain" },
                  { value: "production", label: "production" },
                ]}
                onChange={(mode) => set({ mode })}
              />
              <p className="quiet">{modeSentences[source.mode]}</p>
            </div>
            <span className="pair-name">Duplicates</span>
            <div className="explained">
              <CheckField
                label="Mark a messageId seen within 24 hours as a duplicate and do not deliver it again"
                checked={source.deduplicate}
                onChange={(event) => set({ deduplicate: event.currentTarget.checked })}
              />
            </div>
            <span className="pair-name">Clock skew</span>
            <div className="explained">
              <CheckField
                label="Correct timestamps by the difference between sentAt and the arrival time"
                checked={source.correctClockSkew}
                onChange={(event) => set({ correctClockSkew: event.currentTarget.checked })}
              />
            </div>
          </div>
        </section>
        <FaultsEditor faults={source.faults} onChange={(faults) => update({ faults: [...faults] })} />
      </div>
    </EditorPane>
  );
}
