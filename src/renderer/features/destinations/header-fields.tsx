/** The static headers of each webhook, checked as they are typed. */

import { maxHeaders } from "../../../domain/webhook-rules.ts";
import { FieldNote } from "../../kit/commit-field.tsx";
import { Button, IconButton, TextField } from "../../kit/controls.tsx";
import type { DraftProblems, WebhookDraft } from "./destination-draft.ts";

export function HeaderFields({
  webhooks,
  problems,
  onChange,
}: {
  webhooks: readonly WebhookDraft[];
  problems: DraftProblems["webhooks"];
  onChange: (webhooks: WebhookDraft[]) => void;
}) {
  return (
    <div className="header-fields">
      {webhooks.map(({ url, headers }, place) => {
        const number = place + 1;
        const set = (next: WebhookDraft["headers"]): void => onChange(webhooks.with(place, { url, headers: next }));
        return (
          // oxlint-disable-next-line react/no-array-index-key -- a URL that is being typed has nothing but its place
          <div key={place} role="group" aria-label={`Headers of webhook ${number}`}>
            {webhooks.length > 1 ? <code className="header-of clip muted isolate">{url === "" ? `webhook ${number}` : url}</code> : null}
            {headers.map(([name, value], at) => {
              const error = problems[place]?.headers[at] ?? null;
              const noteId = `header-${place}-${at}-note`;
              const isUntouched = name === "" && value === "";
              return (
                // oxlint-disable-next-line react/no-array-index-key -- a header that is being typed has nothing but its place
                <div className="header-field" key={at}>
                  <TextField
                    mono
                    aria-label={`Name of header ${at + 1} of webhook ${number}`}
                    aria-describedby={noteId}
                    aria-invalid={(error !== null && !isUntouched) || undefined}
                    placeholder="X-Environment"
                    value={name}
                    onChange={(event) => set(headers.with(at, [event.currentTarget.value, value]))}
                  />
                  <TextField
                    mono
                    aria-label={`Value of header ${at + 1} of webhook ${number}`}
                    aria-describedby={noteId}
                    placeholder="staging"
                    value={value}
                    onChange={(event) => set(headers.with(at, [name, event.currentTarget.value]))}
                  />
                  <IconButton
                    icon="close"
                    label={`Remove header ${at + 1} of webhook ${number}`}
                    onClick={() => set(headers.toSpliced(at, 1))}
                  />
                  <FieldNote
                    id={noteId}
                    error={isUntouched ? null : error}
                    hint={isUntouched ? "Give it a name and a value, or remove it." : undefined}
                  />
                </div>
              );
            })}
            {headers.length < maxHeaders ? (
              <span>
                <Button small icon="add" onClick={() => set([...headers, ["", ""]])}>
                  Add a header
                </Button>
              </span>
            ) : (
              <span className="quiet">A webhook has at most {maxHeaders} headers.</span>
            )}
          </div>
        );
      })}
    </div>
  );
}
