/**
 * One audience as the steps of a demo: the rule, who matches and why, what will be sent, sending it; and once it stands,
 * changing a user to see the difference. The same steps make a new one.
 */

import { useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { Choice } from "../../kit/controls.tsx";
import { DeleteMenu } from "../../kit/delete-menu.tsx";
import { DraftForm } from "../../kit/draft-form.tsx";
import { OthersMenu, type Other } from "../../kit/list-pane.tsx";
import { NameField } from "../../kit/name-field.tsx";
import { Step } from "../../kit/numbered-step.tsx";
import { useAction } from "../../kit/use-action.ts";
import { userIdsIn } from "../../kit/user-ids.ts";
import { count } from "../../kit/words.ts";
import { usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import {
  changesOf,
  draftOf,
  emptyDraft,
  isChanged,
  keyOf,
  missingInDraft,
  newAudience,
  useAudienceDrafts,
  type Audience,
  type AudienceDraft,
} from "./audience-draft.ts";
import { Match } from "./audience-match.tsx";
import { Difference } from "./audience-difference.tsx";
import { SyncSection } from "./audience-sync.tsx";
import { RuleEditor } from "./rule-editor.tsx";
import { DestinationsField, SyncField } from "./sync-fields.tsx";
import { usePreview } from "./use-preview.ts";

type PaneProps = {
  /** Null: it is being made. */
  audience: Audience | null;
  named: readonly { id: string; name: string; key: string }[];
  destinations: AnswerOf<"destinations.list">["items"];
  others: readonly Other[];
};

const sampleSize = 8;

export function AudiencePane({ audience, named, destinations, others }: PaneProps) {
  const id = audience?.id ?? newAudience;
  const kept = useAudienceDrafts((store) => store.drafts[id]);
  const { keep, drop } = useAudienceDrafts.getState();
  const enabledIds = destinations.filter(({ enabled }) => enabled).map((destination) => destination.id);
  const draft = kept ?? (audience === null ? emptyDraft(enabledIds) : draftOf(audience));
  const go = usePlace((place) => place.go);
  const { problem, isBusy, run, clear } = useAction();
  const [showsAll, setShowsAll] = useState(false);

  const { key, problem: wrongName } = keyOf(draft.name, audience?.id ?? null, named);
  const missing = missingInDraft(draft);
  const members = userIdsIn(draft.members);
  const preview = usePreview(
    missing !== null ? null : draft.by === "rule" ? { rule: draft.rule, sample: sampleSize } : { members, sample: sampleSize },
  );

  const change = (changes: Partial<AudienceDraft>): void => {
    clear();
    const next = { ...draft, ...changes };
    if (audience === null || isChanged(next, audience)) keep(id, next);
    else drop(id);
  };
  const save = async (): Promise<void> => {
    setShowsAll(true);
    const wrong = wrongName ?? missing;
    if (wrong !== null) throw new Error(wrong);
    if (audience === null) {
      const made = await call("audiences.create", changesOf(draft));
      drop(id);
      go({ view: "audiences", path: [made.id] });
    } else {
      await call("audiences.update", { id, ...changesOf(draft) });
      drop(id);
    }
  };

  const title = audience?.name ?? "New audience";
  const matching = preview.answer?.count;
  return (
    <section className="pane editor" aria-label={audience === null ? title : `Audience ${title}`}>
      <header className="pane-title">
        <h2 className="clip isolate">{title}</h2>
        <OthersMenu label="Another audience" others={others} />
        <span className="grow" />
        {audience === null ? null : (
          <DeleteMenu
            name={title}
            onDelete={async () => {
              await call("audiences.delete", { id });
              drop(id);
              go({ view: "audiences" });
            }}
          >
            Nothing is sent: receivers keep what they were told. Its source goes with it; its messages stay on record.
          </DeleteMenu>
        )}
      </header>
      <DraftForm
        problem={problem}
        hasBar={audience === null || kept !== undefined || problem !== null}
        save={
          audience !== null ? "Save" : matching === undefined || missing !== null ? "Make it" : `Make it and tell of ${usersWord(matching)}`
        }
        isBusy={isBusy}
        note={audience === null ? undefined : "who comes or leaves by it is sent at the next sync"}
        onSave={() => run(save)}
        onDiscard={() => {
          clear();
          drop(id);
          if (audience === null) go({ view: "audiences" });
        }}
      >
        <ol className="numbered audience-steps">
          <Step number={1} title="The rule" isDone={missing === null && wrongName === null}>
            <NameField
              name={draft.name}
              error={showsAll || draft.name !== "" ? wrongName : null}
              hint={
                key === "" ? undefined : (
                  <>
                    Receivers get the trait <code>{key}</code>.
                  </>
                )
              }
              onChange={(name) => change({ name })}
            />
            <Choice
              label="Who is in"
              value={draft.by}
              options={[
                { value: "rule", label: "by a rule" },
                { value: "members", label: "a fixed list" },
              ]}
              onChange={(by) => change({ by })}
            />
            {draft.by === "rule" ? (
              <RuleEditor rule={draft.rule} onChange={(rule) => change({ rule })} />
            ) : (
              <MembersField text={draft.members} onChange={(text) => change({ members: text })} />
            )}
          </Step>
          <Step number={2} title="Who matches, and why" isDone={missing === null && matching !== undefined && matching > 0}>
            <Match rule={draft.by === "rule" ? draft.rule : null} missing={missing} preview={preview} />
          </Step>
          <Step number={3} title="What will be sent" isDone={draft.destinationIds.length > 0}>
            <Payload audienceKey={key} userId={preview.answer?.sample[0]?.userId ?? members[0] ?? "…"} />
            <DestinationsField
              destinations={destinations}
              chosen={draft.destinationIds}
              onChange={(destinationIds) => change({ destinationIds })}
            />
            <SyncField sync={draft.sync} onChange={(sync) => change({ sync })} />
          </Step>
          {audience === null ? (
            <Step number={4} title="Send" isDone={false}>
              <p className="muted">Making it sends an identify for every member; from then on only who comes and who leaves is sent.</p>
            </Step>
          ) : (
            <>
              <SyncSection number={4} audience={audience} hasDraft={kept !== undefined} />
              <Difference number={5} audience={audience} />
            </>
          )}
        </ol>
      </DraftForm>
    </section>
  );
}

const usersWord = (n: number): string => (n === 1 ? "1 user" : `${count(n)} users`);

function MembersField({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  return (
    <span className="field area mono user-ids">
      <textarea
        aria-label="Members, a userId on each line"
        placeholder="a userId on each line"
        rows={5}
        spellCheck={false}
        value={text}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    </span>
  );
}

/** As a receiver will see it, without what is the same in every message. */
function Payload({ audienceKey, userId }: { audienceKey: string; userId: string }) {
  return (
    <pre className="code snippet" tabIndex={0} aria-label="The identify that is sent">
      {`{"type":"identify","userId":${JSON.stringify(userId)},"traits":{${JSON.stringify(audienceKey === "" ? "…" : audienceKey)}:true},…}`}
    </pre>
  );
}
