/** Which retry profile a destination goes by, with its schedule in words. */

import { useId } from "react";
import { SelectField } from "../../kit/controls.tsx";
import { durationText } from "../../kit/duration-text.ts";
import { retriedWords, scheduleWords } from "../../kit/retry-words.ts";
import { useLive } from "../../stores/live-data.ts";

export function RetryProfileField({ value, onChange }: { value: string; onChange: (name: string) => void }) {
  const id = useId();
  const profiles = useLive("retryProfiles.list", {}).answer?.items ?? [];
  const profile = profiles.find(({ name }) => name === value);
  return (
    <div className="profile-field">
      <label className="muted" htmlFor={id}>
        Retry profile
      </label>
      <SelectField
        id={id}
        value={value}
        options={profiles.map(({ name, builtIn }) => ({ value: name, label: builtIn ? name : `${name} (custom)` }))}
        onChange={onChange}
      />
      {profile === undefined ? null : (
        <dl className="profile-words">
          <dt>again</dt>
          <dd>{scheduleWords(profile)}</dd>
          <dt>for</dt>
          <dd>at most {durationText(profile.windowMs)} after the first attempt</dd>
          <dt>after</dt>
          <dd>{retriedWords(profile)}</dd>
          <dt>deadline</dt>
          <dd>the whole answer within {durationText(profile.timeoutMs)}</dd>
        </dl>
      )}
      <a className="link muted" href="#/settings/retry-profiles">
        Make a retry profile
      </a>
    </div>
  );
}
