/** The retry profiles: the built-in ones as they are, the custom ones to be changed. */

import { useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { documented } from "../../../domain/retry.ts";
import { ConfirmDialog } from "../../kit/confirm-dialog.tsx";
import { Button, IconButton } from "../../kit/controls.tsx";
import { durationText } from "../../kit/duration-text.ts";
import { Menu } from "../../kit/floats.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { retriedWords, scheduleWords } from "../../kit/retry-words.ts";
import { useAction } from "../../kit/use-action.ts";
import { useLive } from "../../stores/live-data.ts";
import { call } from "../../transport/transport.ts";
import { RetryProfileEditor } from "./retry-profile-editor.tsx";

type Profile = AnswerOf<"retryProfiles.get">;

export function RetryProfilesSection() {
  const { answer, error } = useLive("retryProfiles.list", {});
  const destinations = useLive("destinations.list", {}).answer?.items ?? [];
  const [openId, setOpenId] = useState<string | null>(null);
  const [removed, setRemoved] = useState<Profile | null>(null);
  const { problem, run } = useAction();
  const profiles = answer?.items ?? [];

  /** A copy of a profile is a custom one, open for changes. */
  const copy = ({ id: _, builtIn: __, name, ...members }: Profile): void =>
    run(async () => {
      const made = await call("retryProfiles.create", { ...members, name: freeName(`my-${name}`, profiles) });
      setOpenId(made.id);
    });

  return (
    <>
      <ProblemText error={problem ?? error} />
      <ul className="profiles">
        {profiles.map((profile) => {
          const users = destinations.filter(({ retryProfile }) => retryProfile === profile.name).length;
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
                  <Button small look="quiet" aria-expanded={isOpen} onClick={() => setOpenId(isOpen ? null : id)}>
                    {isOpen ? "Close" : "Change"}
                  </Button>
                )}
                <Menu
                  trigger={<IconButton icon="more" small label={`More for ${profile.name}`} />}
                  items={[
                    { label: "Make a custom one of it", icon: "copy", onSelect: () => copy(profile) },
                    ...(id === null ? [] : [{ label: "Delete…", icon: "deletions" as const, onSelect: () => setRemoved(profile) }]),
                  ]}
                />
              </div>
              <p className="muted">
                {scheduleWords(profile)}; at most {durationText(profile.windowMs)} after the first. Retries {retriedWords(profile)}. Answer
                within {durationText(profile.timeoutMs)}.
              </p>
              {isOpen ? <RetryProfileEditor profile={profile} id={id} /> : null}
            </li>
          );
        })}
      </ul>
      <div className="actions">
        <Button icon="add" disabled={answer === undefined} onClick={() => copy({ ...documented, id: null, builtIn: true })}>
          Make a retry profile
        </Button>
      </div>
      <ConfirmDialog
        open={removed !== null}
        onClose={() => setRemoved(null)}
        title={`Delete ${removed?.name ?? ""}?`}
        action="Delete"
        onConfirm={async () => {
          if (removed !== null && removed.id !== null) await call("retryProfiles.delete", { id: removed.id });
        }}
      >
        The retry profile is gone for good. One that a destination uses is not deleted.
      </ConfirmDialog>
    </>
  );
}

function freeName(name: string, profiles: readonly Profile[]): string {
  const isTaken = (candidate: string): boolean => profiles.some((profile) => profile.name === candidate);
  if (!isTaken(name)) return name;
  let number = 2;
  while (isTaken(`${name}-${number}`)) number += 1;
  return `${name}-${number}`;
}
