/** A custom retry profile: its schedule, its window, what it retries. Every field is saved when it is left. */

import type { AnswerOf, InputOf } from "../../../contract/contract.ts";
import { CommitField } from "../../kit/commit-field.tsx";
import { CheckField, Choice } from "../../kit/controls.tsx";
import { durationText, parseDuration } from "../../kit/duration-text.ts";
import { ProblemText } from "../../kit/problem.tsx";
import { delaysText, parseDelays, parseStatuses, statusesText } from "../../kit/retry-words.ts";
import { useAction } from "../../kit/use-action.ts";
import { call } from "../../transport/transport.ts";

type Profile = AnswerOf<"retryProfiles.get">;
type Changes = Omit<InputOf<"retryProfiles.update">, "id">;

const checkTime = (text: string): string | null => (parseDuration(text) === null ? "A time is written as 10 s, 30 m or 4 h." : null);

export function RetryProfileEditor({ profile, id }: { profile: Profile; id: string }) {
  const { problem, attempt } = useAction();
  const update = (changes: Changes): Promise<unknown> => call("retryProfiles.update", { id, ...changes });
  const set = (changes: Changes): void => attempt(() => update(changes));
  return (
    <div className="profile-editor">
      <CommitField label="Name" mono text={profile.name} hint="lower-case letters, digits, hyphens" onCommit={(name) => update({ name })} />
      <div className="commit">
        <span className="labelled-name">Schedule</span>
        <Choice
          label="Schedule"
          value={profile.schedule.kind}
          options={[
            { value: "exponential", label: "exponential" },
            { value: "list", label: "a list" },
          ]}
          onChange={(kind) => set({ schedule: scheduleOf(kind) })}
        />
      </div>
      <ScheduleFields schedule={profile.schedule} onChange={(schedule) => update({ schedule })} />
      <CommitField
        label="Jitter"
        unit="%"
        inputMode="decimal"
        text={String(Number((profile.jitter * 100).toPrecision(12)))}
        check={(text) => (text.trim() !== "" && Number(text) >= 0 && Number(text) <= 100 ? null : "A share is between 0 and 100 %.")}
        hint="either way"
        onCommit={(text) => update({ jitter: Number(text) / 100 })}
      />
      <CommitField
        label="Window"
        text={durationText(profile.windowMs)}
        check={checkTime}
        hint="after the first attempt"
        onCommit={(text) => update({ windowMs: parseDuration(text) ?? profile.windowMs })}
      />
      <CommitField
        label="Deadline"
        text={durationText(profile.timeoutMs)}
        check={checkTime}
        hint="for the whole answer"
        onCommit={(text) => update({ timeoutMs: parseDuration(text) ?? profile.timeoutMs })}
      />
      <CommitField
        label="Retried statuses"
        name="wide"
        mono
        text={statusesText(profile.retriedStatuses)}
        placeholder="none"
        check={(text) => (parseStatuses(text) === null ? "Write statuses as 5xx, 429, 500-503." : null)}
        onCommit={(text) => update({ retriedStatuses: parseStatuses(text) ?? [] })}
      />
      <div className="wide profile-checks">
        <CheckField
          label="Retry timeouts"
          checked={profile.retryTimeouts}
          onChange={(event) => set({ retryTimeouts: event.currentTarget.checked })}
        />
        <CheckField
          label="Retry connection errors"
          checked={profile.retryConnectionErrors}
          onChange={(event) => set({ retryConnectionErrors: event.currentTarget.checked })}
        />
      </div>
      <ProblemText error={problem} />
    </div>
  );
}

/** What a schedule of the other kind begins with: the documented one, or its first rounds. */
function scheduleOf(kind: Profile["schedule"]["kind"]): Profile["schedule"] {
  return kind === "exponential"
    ? { kind, firstMs: 10_000, factor: 2, capMs: 1_800_000 }
    : { kind, delaysMs: [10_000, 30_000, 60_000, 300_000] };
}

function ScheduleFields({
  schedule,
  onChange,
}: {
  schedule: Profile["schedule"];
  onChange: (schedule: Profile["schedule"]) => Promise<unknown>;
}) {
  if (schedule.kind === "list") {
    return (
      <CommitField
        label="Delays between the starts of rounds"
        name="wide"
        mono
        text={delaysText(schedule.delaysMs)}
        placeholder="none: one round only"
        check={(text) => (parseDelays(text) === null ? "Write delays as 10 s, 30 s, 5 m." : null)}
        onCommit={(text) => onChange({ ...schedule, delaysMs: parseDelays(text) ?? [] })}
      />
    );
  }
  return (
    <>
      <CommitField
        label="First delay"
        text={durationText(schedule.firstMs)}
        check={checkTime}
        onCommit={(text) => onChange({ ...schedule, firstMs: parseDuration(text) ?? schedule.firstMs })}
      />
      <CommitField
        label="Factor"
        unit="×"
        inputMode="decimal"
        text={String(schedule.factor)}
        check={(text) => (text.trim() !== "" && Number(text) >= 1 ? null : "A factor is 1 or more.")}
        onCommit={(text) => onChange({ ...schedule, factor: Number(text) })}
      />
      <CommitField
        label="Longest delay"
        text={durationText(schedule.capMs)}
        check={checkTime}
        onCommit={(text) => onChange({ ...schedule, capMs: parseDuration(text) ?? schedule.capMs })}
      />
    </>
  );
}
