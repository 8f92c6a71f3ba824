/**
 * One audience as the steps of a demo: the rule, who matches and why, what will be sent, sending it; and once it stands,
 * changing a user to see the difference. The same steps make a new one.
 */

import { Choice } from "../../kit/controls.tsx";
import { Step } from "../../kit/numbered-step.tsx";
import { userIdsIn } from "../../kit/user-ids.ts";
import { count } from "../../kit/words.ts";
import { audienceKind, type Audience } from "./audience-draft.ts";
import { Match } from "./audience-match.tsx";
import { Difference } from "./audience-difference.tsx";
import { AudienceSync } from "./audience-sync.tsx";
import { useComputedDraft, type PaneProps } from "./use-computed-draft.ts";
import { ComputedFrame } from "./computed-frame.tsx";
import { RuleEditor } from "./rule-editor.tsx";
import { usePreview } from "./use-preview.ts";

const sampleSize = 8;

export function AudiencePane(props: PaneProps<Audience>) {
  const { saved: audience } = props;
  const editing = useComputedDraft(audienceKind, props);
  const { draft, key, missing, hasDraft, change } = editing;
  const members = userIdsIn(draft.members);
  const preview = usePreview(
    missing !== null ? null : draft.by === "rule" ? { rule: draft.rule, sample: sampleSize } : { members, sample: sampleSize },
  );
  const matching = preview.answer?.count;
  return (
    <ComputedFrame
      noun="Audience"
      editing={editing}
      make={matching === undefined || missing !== null ? "Make it" : `Make it and tell of ${usersWord(matching)}`}
      note="who comes or leaves by it is sent at the next sync"
      first={{
        title: "The rule",
        content: (
          <>
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
          </>
        ),
      }}
      preview={{
        title: "Who matches, and why",
        isDone: matching !== undefined && matching > 0,
        content: <Match rule={draft.by === "rule" ? draft.rule : null} missing={missing} preview={preview} />,
      }}
      payload={<Payload audienceKey={key} userId={preview.answer?.sample[0]?.userId ?? members[0] ?? "…"} />}
    >
      {audience === null ? (
        <Step number={4} title="Send" isDone={false}>
          <p className="muted">Making it sends an identify for every member; from then on only who comes and who leaves is sent.</p>
        </Step>
      ) : (
        <>
          <AudienceSync audience={audience} hasDraft={hasDraft} />
          <Difference number={5} audience={audience} />
        </>
      )}
    </ComputedFrame>
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
