/** The name of what is being made or changed, saved together with the rest. */

import { useId, type ReactNode } from "react";
import { FieldNote } from "./commit-field.tsx";
import { TextField } from "./controls.tsx";

export function NameField({
  name,
  error,
  hint,
  onChange,
}: {
  name: string;
  error: string | null;
  hint?: ReactNode;
  onChange: (name: string) => void;
}) {
  const id = useId();
  return (
    <div className="commit name-field">
      <label className="labelled-name" htmlFor={id}>
        Name
      </label>
      <TextField
        id={id}
        value={name}
        aria-invalid={error !== null || undefined}
        aria-describedby={`${id}-note`}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      <FieldNote id={`${id}-note`} error={error} hint={hint} />
    </div>
  );
}
