/**
 * The URLs of a destination, checked as they are typed; a test endpoint can be chosen in place of
 * typing one.
 */

import { useId, useRef, useState } from "react";
import { maxHeaders, maxWebhooks } from "../../../domain/webhook-rules.ts";
import { FieldNote } from "../../kit/commit-field.tsx";
import { Button, IconButton, TextField } from "../../kit/controls.tsx";
import { Menu, type MenuItem } from "../../kit/floats.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { longList, SearchMenu } from "../../kit/search-menu.tsx";
import { type Action, useAction } from "../../kit/use-action.ts";
import { useLive } from "../../stores/live-data.ts";
import { offerUndo } from "../../stores/undo.ts";
import { call } from "../../transport/transport.ts";
import { printProgram } from "../endpoints/program-text.ts";
import type { Destination, DraftProblems, WebhookDraft } from "./destination-draft.ts";
import { Behind, FaultMenu } from "./webhook-fault.tsx";

export function WebhookFields({
  webhooks,
  problems,
  showsAll,
  saved,
  onChange,
}: {
  webhooks: readonly WebhookDraft[];
  problems: DraftProblems["webhooks"];
  showsAll: boolean;
  saved: Destination | undefined;
  onChange: (webhooks: WebhookDraft[]) => void;
}) {
  const { problem, run } = useAction();
  return (
    <>
      <ol className="webhook-fields">
        {webhooks.map((webhook, place) => (
          <WebhookField
            // oxlint-disable-next-line react/no-array-index-key -- a URL that is being typed has nothing but its place
            key={place}
            number={place + 1}
            url={webhook.url}
            error={problems[place]?.url ?? null}
            showsAll={showsAll}
            saved={saved}
            onChange={(url) => onChange(webhooks.with(place, { ...webhook, url }))}
            onRemove={
              webhooks.length === 1
                ? null
                : () => {
                    onChange(webhooks.toSpliced(place, 1));
                    offerUndo(`Removed webhook ${place + 1}`);
                  }
            }
            run={run}
          />
        ))}
      </ol>
      <ProblemText error={problem} />
      {webhooks.length < maxWebhooks ? (
        <Button small icon="add" onClick={() => onChange([...webhooks, { url: "", headers: [] }])}>
          Add a webhook
        </Button>
      ) : (
        <p className="quiet">A destination has at most {maxWebhooks} webhooks.</p>
      )}
      {webhooks.length > 1 ? (
        <p className="quiet">
          Each round goes to all of them at once. When one answers 2xx, the others are not retried.
        </p>
      ) : null}
    </>
  );
}

type WebhookFieldProps = {
  number: number;
  url: string;
  error: string | null;
  showsAll: boolean;
  saved: Destination | undefined;
  onChange: (url: string) => void;
  /** Null for the only one. */
  onRemove: (() => void) | null;
  run: Action["run"];
};

function WebhookField({
  number,
  url,
  error,
  showsAll,
  saved,
  onChange,
  onRemove,
  run,
}: WebhookFieldProps) {
  const id = useId();
  const [wasLeft, setWasLeft] = useState(false);
  const webhook = saved?.webhooks[number - 1];
  // An empty field is wrong only when it has been left, or everything is to be saved.
  const shown = url === "" && !wasLeft && !showsAll ? null : error;
  return (
    <li>
      <label className="sr" htmlFor={id}>
        URL of webhook {number}
      </label>
      <span className={shown === null ? "field mono" : "field mono wrong"}>
        <input
          id={id}
          type="text"
          inputMode="url"
          spellCheck={false}
          autoComplete="off"
          placeholder="https://example.com/hook"
          value={url}
          aria-invalid={shown !== null || undefined}
          aria-describedby={`${id}-note`}
          onChange={(event) => onChange(event.currentTarget.value)}
          onBlur={() => setWasLeft(true)}
        />
      </span>
      <EndpointMenu
        label={`Choose a test endpoint for webhook ${number}`}
        run={run}
        onChoose={onChange}
      />
      {webhook === undefined ? (
        <span />
      ) : (
        <FaultMenu destination={saved?.id ?? ""} webhook={webhook} number={number} />
      )}
      {onRemove === null ? (
        <span />
      ) : (
        <IconButton icon="close" label={`Remove webhook ${number}`} onClick={onRemove} />
      )}
      {webhook?.behind === undefined ? null : (
        <Behind destination={saved?.id ?? ""} webhook={webhook} behind={webhook.behind} />
      )}
      <FieldNote id={`${id}-note`} error={shown} />
    </li>
  );
}

/** Test endpoints to choose a URL from, and a new one that always answers 200. */
export function EndpointMenu({
  label,
  run,
  onChoose,
}: {
  label: string;
  run: Action["run"];
  onChoose: (url: string) => void;
}) {
  const endpoints = useLive("endpoints.list", {}).answer?.items ?? [];
  // The draft may be another one by the time of the answer.
  const latest = useRef(onChoose);
  latest.current = onChoose;
  const create = async (): Promise<void> => {
    const made = await call("endpoints.create", {
      name: "always-200",
      steps: [{ do: "answer", status: 200 }],
    });
    latest.current(made.url);
  };
  const choices: MenuItem[] = [
    ...endpoints.map(({ name, steps, url }) => ({
      label: name,
      hint: printProgram(steps),
      onSelect: () => onChoose(url),
    })),
    ...(endpoints.length === 0 ? [] : (["line"] as const)),
    {
      label: "New test endpoint that always answers 200",
      icon: "add",
      onSelect: () => run(`create: ${label}`, create),
    },
  ];
  const trigger = <IconButton icon="endpoints" label={label} />;
  return endpoints.length < longList ? (
    <Menu trigger={trigger} items={choices} />
  ) : (
    <SearchMenu
      trigger={trigger}
      label={label}
      search={{ label: "Search test endpoints", placeholder: "Search test endpoints" }}
      items={choices}
    />
  );
}

/** The static headers of each webhook, checked as they are typed. */
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
        const set = (next: WebhookDraft["headers"]): void =>
          onChange(webhooks.with(place, { url, headers: next }));
        return (
          // oxlint-disable-next-line react/no-array-index-key -- a URL that is being typed has nothing but its place
          <div key={place} role="group" aria-label={`Headers of webhook ${number}`}>
            {webhooks.length > 1 ? (
              <code className="header-of clip muted isolate">
                {url === "" ? `webhook ${number}` : url}
              </code>
            ) : null}
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
                    onClick={() => {
                      set(headers.toSpliced(at, 1));
                      offerUndo("Removed a header");
                    }}
                  />
                  <FieldNote
                    id={noteId}
                    error={isUntouched ? null : error}
                    hint={
                      isUntouched ? "Enter a name and a value, or remove the header." : undefined
                    }
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
