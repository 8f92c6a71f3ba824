/** Copying, and the one toast that says it happened. */

import { create } from "zustand";
import { IconButton } from "./controls.tsx";
import { Icon } from "./icon.tsx";

/** Long enough to be read, short enough not to be in the way. */
const toastMs = 4000;

type ToastStore = {
  text: string | null;
  isError: boolean;
  show(text: string): void;
  /** Stays until it is dismissed, or something else is shown. */
  showError(text: string): void;
  hide(): void;
};

let timer = 0;

export const useToast = create<ToastStore>()((set) => ({
  text: null,
  isError: false,
  show(text) {
    window.clearTimeout(timer);
    timer = window.setTimeout(() => set({ text: null }), toastMs);
    set({ text, isError: false });
  },
  showError(text) {
    window.clearTimeout(timer);
    set({ text, isError: true });
  },
  hide: () => set({ text: null }),
}));

export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    useToast.getState().show(`Copied ${what}`);
  } catch {
    useToast.getState().showError(`The browser blocked copying ${what}`);
  }
}

export function Toast() {
  const { text, isError, hide } = useToast();
  return (
    <div role={isError ? "alert" : "status"}>
      {text === null ? null : (
        <div className={isError ? "toast error" : "toast"}>
          {isError ? null : <Icon name="check" />}
          {text}
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
