/**
 * One audience as the steps of a demo: the rule, who matches and why, what will be sent, sending
 * it; and once it stands, changing a user to see the difference. The same steps make a new one.
 */

import { useState } from "react";
import { dayMs, type EventCondition, type TraitCondition } from "../../../domain/rules.ts";
import { Button, Choice, SelectField, TextField, withoutSubmit } from "../../kit/controls.tsx";
import { Step } from "../../kit/draft-form.tsx";
import { whyNotAccepted } from "../../kit/ingest-answer.ts";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { userIdsIn } from "../../kit/user-ids.ts";
import { visibleText } from "../../kit/visible-text.ts";
import { count } from "../../kit/words.ts";
import { advanceClock } from "../../stores/clock.ts";
import { useFirst, useLive } from "../../stores/live-data.ts";
import { call } from "../../transport/transport.ts";
import { Match, usePreview } from "./audience-match.tsx";
import { AudienceSync } from "./audience-sync.tsx";
import { type Audience, audienceKind, callsTo, keepsList, payloadOf } from "./computed-draft.ts";
import { ComputedFrame, type PaneProps, useComputedDraft } from "./computed-frame.tsx";
import { conditionsOf, longestWindow, sendingEvent, settingTrait } from "./rule-draft.ts";
import { RuleEditor } from "./rule-editor.tsx";

const sampleSize = 8;

export function AudiencePane(props: PaneProps<Audience>) {
  const { saved: audience } = props;
  const editing = useComputedDraft(audienceKind, props);
  const { draft, key, missing, hasDraft, change } = editing;
  const members = userIdsIn(draft.members);
  const preview = usePreview(
    missing !== null || keepsList(draft)
      ? null
      : draft.by === "rule"
        ? { rule: draft.rule, sample: sampleSize }
        : { members, sample: sampleSize },
  );
  const matching = preview.answer?.count;
  const userId = preview.answer?.sample[0]?.userId ?? members[0] ?? "…";
  const sentCalls = callsTo(
    props.destinations.filter(({ id }) => draft.destinationIds.includes(id)),
  );
  return (
    <ComputedFrame
      noun="Audience"
      editing={editing}
      make={
        matching === undefined || missing !== null
          ? "Create"
          : `Create and send ${usersWord(matching)}`
      }
      note="users who enter or leave are sent at the next sync"
      first={{
        title: "Rule",
        content: (
          <>
            <Choice
              label="Membership"
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
              <MembersField
                text={draft.members}
                kept={draft.kept}
                onChange={(text) => change({ members: text })}
              />
            )}
          </>
        ),
      }}
      preview={{
        title: "Matching users",
        isDone: matching !== undefined && matching > 0,
        content: (
          <Match
            rule={draft.by === "rule" ? draft.rule : null}
            missing={keepsList(draft) ? savedWords(draft.kept) : missing}
            preview={preview}
          />
        ),
      }}
      payload={
        <pre className="code snippet" tabIndex={0} aria-label="What receivers get">
          {sentCalls.map((each) => visibleText(payloadOf(each, key, userId))).join("\n\n")}
        </pre>
      }
    >
      {audience === null ? (
        <Step number={4} title="Send" isDone={false}>
          <p className="muted">
            Creating the audience sends {sentCalls.map((each) => callNames[each]).join(" and ")} for
            every member. After that, only users who enter or leave are sent.
          </p>
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

const callNames = { identify: "an identify", track: "a track" };

const usersWord = (n: number): string => (n === 1 ? "1 user" : `${count(n)} users`);

const savedWords = (kept: number): string => `The saved list has ${count(kept)} userIds.`;

type MembersFieldProps = { text: string; kept: number; onChange: (text: string) => void };

function MembersField({ text, kept, onChange }: MembersFieldProps) {
  return (
    <span className="field area mono user-ids">
      <textarea
        aria-label="Members, a userId on each line"
        placeholder={
          kept === 0
            ? "a userId on each line"
            : `${savedWords(kept)} What you enter here replaces them.`
        }
        rows={5}
        spellCheck={false}
        value={text}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    </span>
  );
}

type Change = { label: string; type: "track" | "identify"; body: (userId: string) => object };

/**
 * Changes a user as a client or the clock would, so that the difference is seen: who comes, who
 * leaves, and what receivers hear.
 */
function Difference({ number, audience }: { number: number; audience: Audience }) {
  const sources = (useLive("sources.list", {}).answer?.items ?? []).filter(
    ({ kind }) => kind !== "audience",
  );
  const members = useLive("profiles.list", { limit: 1, audienceId: audience.id }).answer?.items;
  const first = useFirst(members?.[0]?.userId ?? undefined, audience.id);
  const [typed, setTyped] = useState<string | null>(null);
  const [chosen, setChosen] = useState<string | null>(null);
  const [said, setSaid] = useState<string | null>(null);
  const { problem, attempt } = useAction();
  const source = sources.find(({ id }) => id === chosen) ?? sources[0];
  if (audience.rule === null) return null;
  const userId = typed ?? first ?? "";
  const days = longestWindow(audience.rule);
  const changes = changesFor(conditionsOf(audience.rule));

  const send = async ({ type, body, label }: Change): Promise<void> => {
    if (source === undefined) return;
    const answer = await call("sources.send", {
      id: source.id,
      type,
      body: JSON.stringify(body(userId)),
    });
    // In production mode, a rejected message gets the same answer as an accepted one.
    const sent = source.mode === "production" ? "Sent." : "Accepted.";
    setSaid(`${userId}: ${label}. ${whyNotAccepted(answer) ?? sent}`);
  };

  return (
    <Step number={number} title="Change a user and see the difference" isDone={false}>
      {source === undefined ? (
        <p className="muted">Changes come from a source. There is no source yet.</p>
      ) : (
        <>
          <div className="difference-who">
            <TextField
              aria-label="User"
              placeholder="userId"
              mono
              value={userId}
              onKeyDown={withoutSubmit}
              onChange={(event) => setTyped(event.currentTarget.value)}
            />
            <span className="muted">as</span>
            <SelectField
              aria-label="Source"
              value={source.id}
              options={sources.map(({ id, name }) => ({ value: id, label: name }))}
              onChange={setChosen}
            />
          </div>
          <div className="difference-what">
            {changes.map((change) => (
              <Button
                key={change.label}
                icon="send"
                disabled={userId === ""}
                onClick={() => attempt(() => send(change))}
              >
                <span className="clip isolate">{change.label}</span>
              </Button>
            ))}
            {days === null ? null : (
              <Button
                icon="advance"
                onClick={() => void advanceClock(Math.ceil((days + 1) * dayMs))}
              >
                Advance {days + 1} days
              </Button>
            )}
          </div>
        </>
      )}
      <p className="quiet" role="status">
        {said ?? "Messages sent to receivers appear on the right."}
      </p>
      <ProblemText error={problem} />
    </Step>
  );
}

function changesFor(conditions: readonly (TraitCondition | EventCondition)[]): Change[] {
  const changes = conditions.flatMap((condition): Change[] => {
    if ("event" in condition) {
      const { event, properties } = sendingEvent(condition);
      const words = Object.keys(properties).length === 0 ? "" : ` ${JSON.stringify(properties)}`;
      return [
        {
          label: `does ${event}${words}`,
          type: "track",
          body: (userId) => ({ userId, event, properties }),
        },
      ];
    }
    return settingTrait(condition).map((value) => ({
      label: `gets ${condition.trait} ${JSON.stringify(value)}`,
      type: "identify",
      body: (userId) => ({ userId, traits: { [condition.trait]: value } }),
    }));
  });
  return [...new Map(changes.map((change) => [change.label, change])).values()].slice(0, 8);
}
