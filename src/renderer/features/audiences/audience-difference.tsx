/** Changes a user as a client or the clock would, so that the difference is seen: who comes, who leaves, and what receivers hear. */

import { useState } from "react";
import type { EventCondition, TraitCondition } from "../../../domain/rules.ts";
import { dayMs } from "../../../domain/rules.ts";
import { Button, SelectField, TextField } from "../../kit/controls.tsx";
import { Step } from "../../kit/numbered-step.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { advanceClock } from "../../stores/clock.ts";
import { useLive } from "../../stores/live-data.ts";
import { call } from "../../transport/transport.ts";
import type { Audience } from "./audience-draft.ts";
import { conditionsOf, longestWindow } from "./rule-draft.ts";
import { sendingEvent, settingTrait } from "./satisfying.ts";

type Change = { label: string; type: "track" | "identify"; body: (userId: string) => object };

export function Difference({ number, audience }: { number: number; audience: Audience }) {
  const sources = (useLive("sources.list", {}).answer?.items ?? []).filter(({ kind }) => kind !== "audience");
  const members = useLive("profiles.list", { limit: 1, audienceId: audience.id }).answer?.items;
  const [typed, setTyped] = useState<string | null>(null);
  const [chosen, setChosen] = useState<string | null>(null);
  const [said, setSaid] = useState<string | null>(null);
  const { problem, attempt } = useAction();
  const source = sources.find(({ id }) => id === chosen) ?? sources[0];
  if (audience.rule === null) return null;
  const userId = typed ?? members?.[0]?.userId ?? "";
  const days = longestWindow(audience.rule);
  const changes = changesFor(conditionsOf(audience.rule));

  const send = async ({ type, body, label }: Change): Promise<void> => {
    if (source === undefined) return;
    const { status } = await call("sources.send", { id: source.id, type, body: JSON.stringify(body(userId)) });
    setSaid(status < 300 ? `${userId}: ${label}. Taken in.` : `The ingest port answered ${status}.`);
  };

  return (
    <Step number={number} title="Change a user, and see the difference" isDone={false}>
      {source === undefined ? (
        <p className="muted">A change comes from a source, and there is none yet.</p>
      ) : (
        <>
          <div className="difference-who">
            <TextField
              aria-label="User"
              placeholder="userId"
              mono
              value={userId}
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
              <Button key={change.label} icon="send" disabled={userId === ""} onClick={() => attempt(() => send(change))}>
                <span className="clip isolate">{change.label}</span>
              </Button>
            ))}
            {days === null ? null : (
              <Button icon="advance" onClick={() => void advanceClock(Math.ceil((days + 1) * dayMs))}>
                let {days + 1} days pass
              </Button>
            )}
          </div>
        </>
      )}
      <p className="quiet" role="status">
        {said ?? "What receivers are told of it appears beside this."}
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
      return [{ label: `does ${event}${words}`, type: "track", body: (userId) => ({ userId, event, properties }) }];
    }
    return settingTrait(condition).map((value) => ({
      label: `gets ${condition.trait} ${JSON.stringify(value)}`,
      type: "identify",
      body: (userId) => ({ userId, traits: { [condition.trait]: value } }),
    }));
  });
  return [...new Map(changes.map((change) => [change.label, change])).values()].slice(0, 8);
}
