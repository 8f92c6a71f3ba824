/**
 * What is checked: the receiver's URL and secret, where its effects are, the message that it
 * expects, and the seed. It is kept while other views are open.
 */

import { useEffect, useId, useState, type ReactNode } from "react";
import { create } from "zustand";
import { Button, IconButton } from "../../kit/controls.tsx";
import { some } from "../../kit/words.ts";
import { useLive } from "../../stores/live-data.ts";
import { usePlace } from "../../stores/place.ts";
import { masked, unmasked } from "../../transport/secrets.ts";
import { type CheckDraft, type CheckFields, emptyCheck, withUrl } from "./check-draft.ts";
import { readKept, writeKept } from "../../kit/kept.ts";

const key = "hookyard.check";

/** All but the secret survives a reload. */
export const useCheckForm = create<CheckDraft>()(() => ({ ...emptyCheck, ...stored() }));
useCheckForm.subscribe(({ secret: _, ...form }) => {
  writeKept(key, JSON.stringify(form), "sessionStorage");
});

/** It has the secrets that the fields may not show. */
export const changeForm = (changes: Partial<CheckDraft>): void =>
  useCheckForm.setState(unmasked(changes));

function stored(): Partial<CheckDraft> {
  return JSON.parse(readKept(key, "sessionStorage") ?? "{}") as Partial<CheckDraft>;
}

/** Fills the form from `?destination=…&webhook=…`, where a webhook's menu leads. */
export function useWebhookOfPlace(): void {
  const { query, change } = usePlace();
  const { destination: id, webhook: webhookId } = query;
  const items = useLive("destinations.list", id === undefined ? null : {}).answer?.items;
  useEffect(() => {
    if (id === undefined || items === undefined) return;
    const destination = items.find((each) => each.id === id);
    const webhook = destination?.webhooks.find((each) => each.id === webhookId);
    if (destination !== undefined && webhook !== undefined) {
      const { name, hasSharedSecret } = destination;
      changeForm({
        ...emptyCheck,
        url: webhook.url,
        headers: webhook.headers,
        headersOf: name,
        destination: hasSharedSecret ? { id, name } : null,
      });
    }
    change({ query: { destination: null, webhook: null } });
  }, [id, webhookId, items, change]);
}

type CheckFormProps = {
  isRunning: boolean;
  isBusy: boolean;
  onStart: () => void;
  onStop: () => void;
};

export function CheckForm({ isRunning, isBusy, onStart, onStop }: CheckFormProps) {
  const form = masked(useCheckForm());
  return (
    <form
      className="check-form"
      aria-label="Check a receiver"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isRunning) onStart();
      }}
    >
      <h1>Check a receiver</h1>
      <FormField
        name="url"
        label="URL"
        placeholder="http://127.0.0.1:8080/hooks"
        value={form.url}
        onChange={(url) => changeForm(withUrl(useCheckForm.getState(), unmasked(url)))}
      />
      <HeadersField />
      <SecretField />
      <FormField
        name="effects"
        label="Effects, asked after each check"
        placeholder="optional: lists what was done"
        unit="GET"
        value={form.effects}
      />
      <FormField name="message" label="Message" placeholder="optional JSON" value={form.message} />
      <FormField name="seed" label="Seed" placeholder="new" value={form.seed} />
      {isRunning ? (
        <Button icon="stop" shortcut="Esc" isBusy={isBusy} onClick={onStop}>
          Stop
        </Button>
      ) : (
        <Button look="primary" icon="send" type="submit" isBusy={isBusy}>
          Start
        </Button>
      )}
    </form>
  );
}

type FormFieldProps = {
  name: keyof CheckFields;
  label: string;
  placeholder: string;
  value: string;
  unit?: string;
  type?: "text" | "password";
  onChange?: (text: string) => void;
  children?: ReactNode;
};

function FormField({
  name,
  label,
  placeholder,
  value,
  unit,
  type = "text",
  onChange = (text) => changeForm({ [name]: text }),
  children,
}: FormFieldProps) {
  const id = useId();
  return (
    <div className={`check-field ${name}`}>
      <label htmlFor={id}>{label}</label>
      <span className="field mono">
        {unit === undefined ? null : <span className="unit">{unit}</span>}
        <input
          id={id}
          type={type}
          spellCheck={false}
          autoComplete="off"
          placeholder={placeholder}
          value={value}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
        {children}
      </span>
    </div>
  );
}

function HeadersField() {
  const { headers, headersOf } = masked(useCheckForm());
  const names = Object.keys(headers);
  if (names.length === 0) return null;
  return (
    <div className="check-field headers">
      <span className="check-label">Headers</span>
      <span className="copyable" title={names.join(", ")}>
        <span className="clip grow isolate">
          with {some(names.length, "header")}
          {headersOf === "" ? null : ` of ${headersOf}`}
        </span>
        <IconButton
          small
          icon="close"
          label="Send without these headers"
          onClick={() => changeForm({ headers: {} })}
        />
      </span>
    </div>
  );
}

function SecretField() {
  const { secret, destination } = masked(useCheckForm());
  const [isShown, setIsShown] = useState(false);
  if (destination !== null) {
    return (
      <div className="check-field secret">
        <span className="check-label">Shared secret</span>
        <span
          className="copyable"
          title={`The shared secret of the destination ${destination.name}. It stays in Hookyard.`}
        >
          <span className="clip grow isolate">of {destination.name}</span>
          <IconButton
            small
            icon="close"
            label="Enter another secret"
            onClick={() => changeForm({ destination: null })}
          />
        </span>
      </div>
    );
  }
  return (
    <FormField
      name="secret"
      label="Shared secret"
      placeholder="not signed"
      value={secret}
      type={isShown ? "text" : "password"}
    >
      <IconButton
        small
        icon="show"
        label={isShown ? "Hide the secret" : "Show the secret"}
        onClick={() => setIsShown(!isShown)}
      />
    </FormField>
  );
}
