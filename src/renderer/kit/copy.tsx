/** Copying, and the one toast that says it happened. */

import { useEffect } from "react";
import { create } from "zustand";
import { Button, IconButton } from "./controls.tsx";
import { Icon } from "./icon.tsx";
import { errorOf, useReturns } from "./use-action.ts";
import { noConnection } from "../transport/call-error.ts";

/** Long enough to be read, short enough not to be in the way; longer with something to press. */
const toastMs = 4000;
const actionMs = 10_000;

export type ToastAction = { label: string; run: () => void };

type ToastStore = {
  text: string | null;
  isError: boolean;
  action: ToastAction | null;
  show(text: string, action?: ToastAction): void;
  /** Stays until it is dismissed, or something else is shown. */
  showError(text: string): void;
  hide(): void;
};

let timer = 0;

export const useToast = create<ToastStore>()((set) => ({
  text: null,
  isError: false,
  action: null,
  show(text, action) {
    window.clearTimeout(timer);
    const ms = action === undefined ? toastMs : actionMs;
    timer = window.setTimeout(() => set({ text: null }), ms);
    set({ text, isError: false, action: action ?? null });
  },
  showError(text) {
    window.clearTimeout(timer);
    set({ text, isError: true, action: null });
  },
  hide: () => set({ text: null }),
}));

/** What has no room for a sentence says in a toast why it failed. */
export async function orToast(run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    useToast.getState().showError(errorOf(error).message);
  }
}

export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    useToast.getState().show(`Copied ${what}`);
  } catch {
    useToast.getState().showError(`The browser blocked copying ${what}`);
  }
}

export function Toast() {
  const { text, isError, action, hide } = useToast();
  useEffect(
    () =>
      useReturns.subscribe(() => {
        if (useToast.getState().text === noConnection().message) hide();
      }),
    [hide],
  );
  return (
    <div role={isError ? "alert" : "status"}>
      {text === null ? null : (
        <div className={isError ? "toast error" : "toast"}>
          {isError ? null : <Icon name="check" />}
          {text}
          {action === null ? null : (
            <Button small onClick={action.run}>
              {action.label}
            </Button>
          )}
          <button type="button" className="icon-btn small" aria-label="Dismiss" onClick={hide}>
            <Icon name="close" small />
          </button>
        </div>
      )}
    </div>
  );
}

/** A value from outside or of ours, in mono, with a button that copies it. */
export function Copyable({ value, label, note }: { value: string; label: string; note?: string }) {
  return (
    <span className="copyable">
      <code className="clip grow">{value}</code>
      {note === undefined ? null : <span className="quiet">{note}</span>}
      <IconButton icon="copy" label={`Copy ${label}`} onClick={() => void copyText(value, label)} />
    </span>
  );
}
