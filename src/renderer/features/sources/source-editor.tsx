/**
 * One source: its write key, how it answers, and the faults it shows its clients. Every change is
 * saved at once.
 */

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
import { hrefTo, usePlace } from "../../stores/place.ts";
import { saveAtOnce } from "../../stores/undo.ts";
import { call } from "../../transport/transport.ts";
import { EditorPane } from "../collection/collection.tsx";
import { FaultsEditor } from "./faults-editor.tsx";
import { PlanEditor } from "./plan-editor.tsx";

type Source = AnswerOf<"sources.get">;
type Changes = Omit<InputOf<"sources.update">, "id">;

const modeSentences = {
  explain:
    "A rejected call gets 400, and a batch 200 with a list of the rejected messages and the reasons.",
  production:
    "200 for everything but malformed or oversized requests, as the hosted service answers. Reasons show only here.",
};

const skewSentences = {
  auto: "Timestamps are kept. When you move the clock, those of live clients move with it.",
  true: "Timestamps are corrected by the difference between sentAt and the arrival time, as the hosted service does.",
  false: "Timestamps are kept exactly.",
};

export function SourceEditor({
  source,
  destinations,
  unknown,
  problem,
}: {
  source: Source;
  destinations: AnswerOf<"destinations.list">["items"];
  unknown: number;
  problem: Error | null;
}) {
  const { id, name } = source;
  const go = usePlace((place) => place.go);
  const { problem: refusal, attempt } = useAction();
  const connected = destinations.filter((destination) => destination.sourceIds.includes(id));

  const update = (changes: Changes): Promise<unknown> =>
    saveAtOnce<Changes>(source as Changes, changes, (next) =>
      call("sources.update", { id, ...next }),
    );
  /** For controls that have no place for a sentence of their own. */
  const set = (changes: Changes): Promise<boolean> => attempt(() => update(changes));

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
          {connected.length === 1 ? "its destination" : `its ${connected.length} destinations`}. Its
          messages stay on record.
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
        <KeyAndKind source={source} connected={connected} onUpdate={update} onSet={set} />
        <Answers source={source} onSet={set} />
        {source.kind === "audience" ? null : (
          <PlanEditor
            key={id}
            source={source}
            onUpdate={(plan) => call("sources.update", { id, plan })}
          />
        )}
        <FaultsEditor source={source} />
      </div>
    </EditorPane>
  );
}

type KeyAndKindProps = {
  source: Source;
  connected: AnswerOf<"destinations.list">["items"];
  onUpdate: (changes: Changes) => Promise<unknown>;
  onSet: (changes: Changes) => Promise<boolean>;
};

function KeyAndKind({ source: { writeKey, kind }, connected, onUpdate, onSet }: KeyAndKindProps) {
  return (
    <section className="section" aria-label="Write key and kind">
      <div className="pairs source-pairs">
        <span className="pair-name">Write key</span>
        <div className="with-button">
          <CommitField
            label="Write key"
            shown="hidden"
            mono
            text={writeKey}
            onCommit={(key) => onUpdate({ writeKey: key })}
          />
          <IconButton
            icon="copy"
            label="Copy the write key"
            onClick={() => void copyText(writeKey, "the write key")}
          />
        </div>
        <span className="pair-name">Kind</span>
        {kind === "audience" ? (
          <span>audience</span>
        ) : (
          <Choice
            label="Kind"
            value={kind}
            options={sourceKinds}
            onChange={(value) => onSet({ kind: value })}
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
            connected.map(({ id, name, enabled }) => (
              <a key={id} className="link clip isolate" href={hrefTo("destinations", id)}>
                {name}
                {enabled ? "" : " (disabled)"}
              </a>
            ))
          )}
        </span>
      </div>
    </section>
  );
}

function Answers({
  source: { mode, deduplicate, correctClockSkew },
  onSet,
}: {
  source: Source;
  onSet: (changes: Changes) => Promise<boolean>;
}) {
  return (
    <section className="section" aria-label="Answers">
      <div className="pairs source-pairs">
        <span className="pair-name">Answer mode</span>
        <div className="explained">
          <Choice
            label="Answer mode"
            value={mode}
            options={["explain", "production"]}
            onChange={(value) => onSet({ mode: value })}
          />
          <p className="quiet">{modeSentences[mode]}</p>
        </div>
        <span className="pair-name">Duplicates</span>
        <div className="explained">
          <CheckField
            label="Mark a messageId seen within 24 hours as a duplicate and do not deliver it again"
            checked={deduplicate}
            onChange={(event) => onSet({ deduplicate: event.currentTarget.checked })}
          />
        </div>
        <span className="pair-name">Clock skew</span>
        <div className="explained">
          <Choice
            label="Clock skew"
            value={String(correctClockSkew)}
            options={[
              "auto",
              { value: "true", label: "correct" },
              { value: "false", label: "keep" },
            ]}
            onChange={(value) =>
              onSet({ correctClockSkew: value === "auto" ? "auto" : value === "true" })
            }
          />
          <p className="quiet">{skewSentences[`${correctClockSkew}`]}</p>
        </div>
      </div>
    </section>
  );
}
