/** Headers and data of a mapping: a key and a value in each row, or JSON as text. */

import { type ReactNode, useId } from "react";
import type { RecordedBytes } from "../../kit/byte-rows.ts";
import { Visible } from "../../kit/code-rows.tsx";
import { FieldNote } from "../../kit/commit-field.tsx";
import { Button, Choice, IconButton, TextField } from "../../kit/controls.tsx";
import { offerUndo } from "../../stores/undo.ts";
import { masked, unmasked } from "../../transport/secrets.ts";
import { type Pairs, readText, switchedData } from "./mapping-draft.ts";

type FieldsProps = {
  pairs: Pairs;
  problems: readonly (string | null)[];
  onChange: (pairs: Pairs) => void;
};

export function MappedHeaders({ pairs, problems, onChange }: FieldsProps) {
  if (typeof pairs === "string")
    return (
      <JsonField label="Headers as JSON" text={pairs} error={problems[0]} onChange={onChange} />
    );
  return (
    <PairFields
      what="header"
      pairs={pairs}
      problems={problems}
      onChange={onChange}
      placeholder="staging, or $.properties.shop"
      note="Hookyard sets X-Signature itself."
    />
  );
}

export function DataFields({
  pairs,
  problems,
  body,
  onChange,
}: FieldsProps & {
  /** What it makes of the message that is shown. */ body?: RecordedBytes | undefined;
}) {
  const isText = typeof pairs === "string";
  const switched = switchedData(pairs);
  return (
    <>
      <Choice
        small
        label="Write data as"
        value={isText ? "JSON" : "fields"}
        options={["fields", "JSON"]}
        onChange={(as) => {
          if ((as === "JSON") !== isText && switched !== null) onChange(switched);
        }}
      />
      {isText ? (
        <>
          <JsonField label="Data as JSON" text={pairs} error={problems[0]} onChange={onChange} />
          {switched === null ? (
            <p className="quiet">Fields can show only an object that is not a directive.</p>
          ) : null}
        </>
      ) : (
        <PairFields
          what="field"
          pairs={pairs}
          problems={problems}
          results={membersOf(body)}
          onChange={onChange}
          placeholder="$.properties.total"
          note={
            pairs.length === 0
              ? "Without a field, the whole message is sent."
              : switched === null
                ? "Correct the fields before you write the data as JSON."
                : null
          }
        />
      )}
    </>
  );
}

/** With its secrets: a mask in place of a number leaves no JSON. */
function membersOf(body: RecordedBytes | undefined): Record<string, unknown> {
  if (typeof body !== "string" || body === "") return {};
  const value: unknown = JSON.parse(unmasked(body));
  return Object(value) as Record<string, unknown>;
}

function JsonField({
  label,
  text,
  error = null,
  onChange,
}: {
  label: string;
  text: string;
  error: string | null | undefined;
  onChange: (text: string) => void;
}) {
  const id = useId();
  return (
    <>
      <span className="field mono json-field">
        <textarea
          aria-label={label}
          aria-describedby={`${id}-note`}
          aria-invalid={error !== null || undefined}
          spellCheck={false}
          rows={Math.min(16, Math.max(5, text.split("\n").length))}
          value={text}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      </span>
      <FieldNote id={`${id}-note`} error={error} />
    </>
  );
}

type PairsProps = {
  what: "header" | "field";
  pairs: [string, string][];
  problems: readonly (string | null)[];
  results?: Record<string, unknown>;
  placeholder: string;
  note: ReactNode;
  onChange: (pairs: Pairs) => void;
};

function PairFields({ what, pairs, problems, results, placeholder, note, onChange }: PairsProps) {
  const id = useId();
  return (
    <div className={results === undefined ? "pair-fields" : "pair-fields with-results"}>
      {pairs.map(([key, text], at) => {
        const isUntouched = key === "" && text === "";
        const { as } = readText(text, what === "header" ? "text" : "value");
        const error = isUntouched ? null : (problems[at] ?? null);
        const noteId = `${id}-${at}`;
        const result = masked(JSON.stringify(results?.[unmasked(key)]));
        return (
          // oxlint-disable-next-line react/no-array-index-key -- a row that is being typed has nothing but its place
          <div key={at} className="pair-field">
            <TextField
              mono
              aria-label={`Name of ${what} ${at + 1}`}
              aria-describedby={noteId}
              value={key}
              onChange={(event) => onChange(pairs.with(at, [event.currentTarget.value, text]))}
            />
            <span aria-hidden="true" className="quiet">
              ←
            </span>
            <TextField
              mono
              aria-label={`Value of ${what} ${at + 1}`}
              aria-describedby={noteId}
              aria-invalid={error !== null || undefined}
              placeholder={placeholder}
              value={text}
              unit={text === "" ? "" : (as ?? "")}
              onChange={(event) => onChange(pairs.with(at, [key, event.currentTarget.value]))}
            />
            {results === undefined ? null : (
              <code className="clip muted" title="For the message that is shown">
                {result === undefined ? "" : <Visible text={result} />}
              </code>
            )}
            <IconButton
              small
              icon="close"
              label={`Remove ${what} ${at + 1}`}
              onClick={() => {
                onChange(pairs.toSpliced(at, 1));
                offerUndo(`Removed a ${what}`);
              }}
            />
            <FieldNote
              id={noteId}
              error={error}
              hint={isUntouched ? "Enter a name and a value, or remove the row." : undefined}
            />
          </div>
        );
      })}
      <span className="pair-add">
        <Button small icon="add" onClick={() => onChange([...pairs, ["", ""]])}>
          Add a {what}
        </Button>
        <span className="quiet">{note}</span>
      </span>
    </div>
  );
}
