/** The retry profiles: the built-in ones as they are, the custom ones to be changed. */

import { useState } from "react";
import type { AnswerOf, InputOf } from "../../../contract/contract.ts";
import { documented } from "../../../domain/retry.ts";
import { CommitField } from "../../kit/commit-field.tsx";
import { ConfirmDialog } from "../../kit/confirm-dialog.tsx";
import { Button, CheckField, Choice, IconButton } from "../../kit/controls.tsx";
import { durationText, parseDuration } from "../../kit/duration-text.ts";
import { Menu } from "../../kit/floats.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import {
  delaysText,
  parseDelays,
  parseStatuses,
  retriedWords,
  scheduleWords,
  statusesText,
} from "../../kit/retry-words.ts";
import { useAction } from "../../kit/use-action.ts";
import { useLive } from "../../stores/live-data.ts";
import type { Change } from "../../stores/save-queue.ts";
import { saveAtOnce } from "../../stores/undo.ts";
import { useSaves } from "../../stores/use-saves.ts";
import { call } from "../../transport/transport.ts";

type Profile = AnswerOf<"retryProfiles.get">;
type Schedule = Profile["schedule"];

export function RetryProfilesSection() {
  const { answer, error } = useLive("retryProfiles.list", {});
  const destinations = useLive("destinations.list", {}).answer?.items ?? [];
  const [openId, setOpenId] = useState<string | null>(null);
  const [removed, setRemoved] = useState<Profile | null>(null);
  const { problem, run } = useAction();
  const profiles = answer?.items ?? [];

  /** A copy of a profile is a custom one, open for changes. */
  const copy = ({ id: _, builtIn: __, name, ...members }: Profile): void =>
    run(`copy ${name}`, async () => {
      const made = await call("retryProfiles.create", {
        ...members,
        name: freeName(`my-${name}`, profiles),
      });
      setOpenId(made.id);
    });

  return (
    <>
      <ProblemText error={problem ?? error} />
      <ul className="profiles">
        {profiles.map((profile) => {
          const users = destinations.filter(
            ({ retryProfile }) => retryProfile === profile.name,
          ).length;
          const { id } = profile;
          const isOpen = id !== null && id === openId;
          return (
            <li key={profile.name} className="profile">
              <div className="profile-head">
                <code className="strong">{profile.name}</code>
                <span className="quiet clip">
                  {profile.builtIn ? "built in" : "custom"}
                  {users === 0 ? "" : `, used by ${users} destination${users === 1 ? "" : "s"}`}
                </span>
                <span className="grow" />
                {id === null ? null : (
                  <Button
                    small
                    look="quiet"
                    aria-expanded={isOpen}
                    onClick={() => setOpenId(isOpen ? null : id)}
                  >
                    {isOpen ? "Close" : "Change"}
                  </Button>
                )}
                <Menu
                  trigger={<IconButton icon="more" small label={`More for ${profile.name}`} />}
                  items={[
                    { label: "Create a custom copy", icon: "copy", onSelect: () => copy(profile) },
                    ...(id === null
                      ? []
                      : [
                          {
                            label: "Delete…",
                            icon: "deletions" as const,
                            onSelect: () => setRemoved(profile),
                          },
                        ]),
                  ]}
                />
              </div>
              <p className="muted">
                {scheduleWords(profile)}, for at most {durationText(profile.windowMs)} after the
                first attempt. Retries {retriedWords(profile)}. Deadline{" "}
                {durationText(profile.timeoutMs)}.
              </p>
              {isOpen ? <RetryProfileEditor profile={profile} id={id} /> : null}
            </li>
          );
        })}
      </ul>
      <div className="actions">
        <Button
          icon="add"
          disabled={answer === undefined}
          onClick={() => copy({ ...documented, id: null, builtIn: true })}
        >
          Create a retry profile
        </Button>
      </div>
      <ConfirmDialog
        open={removed !== null}
        onClose={() => setRemoved(null)}
        title={`Delete ${removed?.name ?? ""}?`}
        action="Delete"
        onConfirm={async () => {
          if (removed !== null && removed.id !== null)
            await call("retryProfiles.delete", { id: removed.id });
        }}
      >
        The retry profile is permanently deleted. A profile that a destination uses cannot be
        deleted.
      </ConfirmDialog>
    </>
  );
}

function freeName(name: string, profiles: readonly Profile[]): string {
  const isTaken = (candidate: string): boolean =>
    profiles.some((profile) => profile.name === candidate);
  if (!isTaken(name)) return name;
  let number = 2;
  while (isTaken(`${name}-${number}`)) number += 1;
  return `${name}-${number}`;
}

type Changes = Omit<InputOf<"retryProfiles.update">, "id">;

const checkTime = (text: string): string | null =>
  parseDuration(text) === null ? "Enter a time such as 10 s, 30 m or 4 h." : null;

/**
 * A custom retry profile: its schedule, its window, what it retries. Every field is saved when it
 * is left.
 */
function RetryProfileEditor({ profile, id }: { profile: Profile; id: string }) {
  const { problem, attempt } = useAction();
  const update = (changes: Changes): Promise<unknown> =>
    saveAtOnce<Changes>(profile, changes, (next) => call("retryProfiles.update", { id, ...next }));
  const set = (changes: Changes): Promise<boolean> => attempt(() => update(changes));
  const { value: schedule, save } = useSaves(
    profile.schedule,
    async (next) => (await call("retryProfiles.update", { id, schedule: next })).schedule,
  );
  return (
    <div className="profile-editor">
      <CommitField
        label="Name"
        mono
        text={profile.name}
        hint="lower-case letters, digits, hyphens"
        onCommit={(name) => update({ name })}
      />
      <div className="commit">
        <span className="labelled-name">Schedule</span>
        <Choice
          label="Schedule"
          value={schedule.kind}
          options={["exponential", { value: "list", label: "a list" }]}
          onChange={(kind) => attempt(() => save(() => scheduleOf(kind)))}
        />
      </div>
      <ScheduleFields schedule={schedule} onChange={save} />
      <CommitField
        label="Jitter"
        unit="%"
        inputMode="decimal"
        text={String(Number((profile.jitter * 100).toPrecision(12)))}
        check={(text) =>
          text.trim() !== "" && Number(text) >= 0 && Number(text) <= 100
            ? null
            : "Enter a percentage from 0 to 100."
        }
        hint="in both directions"
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
        hint="for the complete response"
        onCommit={(text) => update({ timeoutMs: parseDuration(text) ?? profile.timeoutMs })}
      />
      <CommitField
        label="Retried statuses"
        name="wide"
        mono
        text={statusesText(profile.retriedStatuses)}
        placeholder="none"
        check={(text) =>
          parseStatuses(text) === null ? "Enter statuses such as 5xx, 429, 500-503." : null
        }
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
        <CheckField
          label="Honour Retry-After"
          checked={profile.honourRetryAfter}
          onChange={(event) => set({ honourRetryAfter: event.currentTarget.checked })}
        />
      </div>
      <ProblemText error={problem} />
    </div>
  );
}

/** What a schedule of the other kind begins with: the documented one, or its first rounds. */
function scheduleOf(kind: Schedule["kind"]): Schedule {
  return kind === "exponential"
    ? { kind, firstMs: 10_000, factor: 2, capMs: 1_800_000 }
    : { kind, delaysMs: [10_000, 30_000, 60_000, 300_000] };
}

function ScheduleFields({
  schedule,
  onChange,
}: {
  schedule: Schedule;
  onChange: (change: Change<Schedule>) => Promise<unknown>;
}) {
  if (schedule.kind === "list") {
    return (
      <CommitField
        label="Delays between the starts of rounds"
        name="wide"
        mono
        text={delaysText(schedule.delaysMs)}
        placeholder="none: one round only"
        check={(text) =>
          parseDelays(text) === null ? "Enter delays such as 10 s, 30 s, 5 m." : null
        }
        onCommit={(text) =>
          onChange((before) => ({ ...before, delaysMs: parseDelays(text) ?? [] }))
        }
      />
    );
  }
  return (
    <>
      <CommitField
        label="First delay"
        text={durationText(schedule.firstMs)}
        check={checkTime}
        onCommit={(text) =>
          onChange((before) => ({ ...before, firstMs: parseDuration(text) ?? schedule.firstMs }))
        }
      />
      <CommitField
        label="Factor"
        unit="×"
        inputMode="decimal"
        text={String(schedule.factor)}
        check={(text) =>
          text.trim() !== "" && Number(text) >= 1 ? null : "A factor is 1 or more."
        }
        onCommit={(text) => onChange((before) => ({ ...before, factor: Number(text) }))}
      />
      <CommitField
        label="Longest delay"
        text={durationText(schedule.capMs)}
        check={checkTime}
        onCommit={(text) =>
          onChange((before) => ({ ...before, capMs: parseDuration(text) ?? schedule.capMs }))
        }
      />
    </>
  );
}
