/**
 * A field whose text is saved when it is left or Enter is pressed, also when its place or the page is
 * left, and put back with Esc. What is wrong with it is said below it: by `check` while it is typed,
 * by the API when it refuses.
 */

import {
  useCallback,
  useEffect,
  useId,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactNode,
} from "react";
import { isComposing } from "./composing.ts";
import { useToast } from "./copy.tsx";
import { takeTypedAhead } from "./focus.ts";
import { errorOf, useAction, useReturns } from "./use-action.ts";
import { CallError, isNoConnection } from "../transport/call-error.ts";

type CommitOptions = {
  /** As it is saved now. */
  text: string;
  /** A sentence about what was typed, or null when it can be saved. */
  check?: ((text: string) => string | null) | undefined;
  /** Rejects with what the API says. */
  onCommit: (text: string) => Promise<unknown>;
};

const leaving = new Set<() => void>();

/** Before another place is shown, or the page goes: a field that goes with them gets no blur. */
export function leaveFields(): void {
  for (const leave of leaving) leave();
}

function useCommit(id: string, { text, check, onCommit }: CommitOptions) {
  const [draft, setDraft] = useState<string | null>(null);
  const { problem, attempt, clear } = useAction();
  const wrong = draft === null ? null : (check?.(draft) ?? null);
  /**
   * The reason of the last refusal while the same text is saved again: without it, what is below
   * would move away from under a click that leaves the field.
   */
  const [lastRefusal, setLastRefusal] = useState<string | null>(null);
  const shown = useRef(text);
  shown.current = text;
  /** The newest text that was sent, until it comes back as `text`, perhaps spelled otherwise. */
  const sent = useRef<string | null>(null);
  const saving = useRef(0);
  /** The draft could not be sent, because there was no connection. */
  const unsent = useRef(false);

  /** It is still there to say why it cannot be saved. */
  const isShown = useRef(true);

  /** What was saved is shown from now on. What has been typed since then stays. */
  const showSaved = useCallback((): void => {
    const saved = sent.current;
    sent.current = null;
    const isTyping = document.activeElement?.id === id;
    setDraft((typed) => (isTyping && typed !== saved ? typed : null));
  }, [id]);
  useEffect(() => {
    clear();
    if (saving.current === 0) showSaved();
  }, [text, clear, showSaved]);

  const save = async (typed: string): Promise<void> => {
    const before = shown.current;
    sent.current = typed;
    saving.current += 1;
    setLastRefusal(problem?.message ?? null);
    try {
      await onCommit(typed);
    } catch (error) {
      if (sent.current === typed) sent.current = null;
      const refusal = errorOf(error);
      unsent.current = isNoConnection(refusal);
      // What was deleted meanwhile is said for all changes.
      const isSaid = isShown.current || (refusal instanceof CallError && refusal.status === 404);
      if (!isSaid) useToast.getState().showError(refusal.message);
      throw error;
    } finally {
      saving.current -= 1;
      setLastRefusal(null);
    }
    if (saving.current === 0 && shown.current !== before) showSaved();
  };
  const sendAgain = useRef(() => {});
  sendAgain.current = () => {
    if (draft === null || !unsent.current) return;
    unsent.current = false;
    void attempt(() => save(draft));
  };
  /** What could not be sent without a connection is sent when it is back. */
  useEffect(() => useReturns.subscribe(() => sendAgain.current()), []);

  const restore = (): void => {
    setDraft(null);
    unsent.current = false;
    clear();
  };
  const commit = (): void => {
    if (draft === null || wrong !== null) return;
    if (draft !== (sent.current ?? text)) void attempt(() => save(draft));
    else if (sent.current === null) restore();
  };
  const leave = useRef(commit);
  leave.current = commit;
  useEffect(() => {
    const leaveThis = (): void => leave.current();
    isShown.current = true;
    leaving.add(leaveThis);
    return () => {
      isShown.current = false;
      leaving.delete(leaveThis);
    };
  }, []);
  return {
    value: draft ?? text,
    error: wrong ?? problem?.message ?? lastRefusal,
    isDirty: draft !== null && draft !== text,
    change: (next: string) => {
      setDraft(next);
      unsent.current = false;
      clear();
    },
    commit,
    restore,
  };
}

type FieldProps = CommitOptions & {
  label: string;
  /** `hidden`: the label is for screen readers only, because the place says what it is. */
  shown?: "label" | "hidden";
  hint?: ReactNode;
  unit?: string | undefined;
  mono?: boolean;
  small?: boolean;
  rows?: number;
  /** An additional class, for the page's layout. */
  name?: string | undefined;
  placeholder?: string | undefined;
  inputMode?: "numeric" | "decimal" | undefined;
  /**
   * Takes the focus with its text selected when it appears: what was just made wants another value.
   * What was typed ahead of it is its text then.
   */
  startsSelected?: boolean;
};

export function CommitField(props: FieldProps) {
  const {
    label,
    shown = "label",
    hint,
    unit,
    mono = false,
    small = false,
    rows,
    name = "",
    placeholder,
    inputMode,
    startsSelected = false,
  } = props;
  const id = useId();
  const field = useCommit(id, props);
  const isWrong = field.error !== null;
  const input = useRef<HTMLInputElement>(null);
  const change = useRef(field.change);
  change.current = field.change;
  useEffect(() => {
    if (!startsSelected) return;
    input.current?.select();
    const typed = takeTypedAhead();
    if (typed !== "") change.current(typed);
  }, [startsSelected]);
  const shared = {
    id,
    value: field.value,
    placeholder,
    spellCheck: false,
    autoComplete: "off",
    "aria-invalid": isWrong || undefined,
    "aria-describedby": isWrong || hint !== undefined ? `${id}-note` : undefined,
    onBlur: field.commit,
  } as const;
  const onKeyDown = (event: KeyboardEvent): void => {
    if (isComposing(event.nativeEvent)) return;
    if (event.key === "Escape" && field.isDirty) {
      event.stopPropagation();
      field.restore();
    } else if (event.key === "Enter" && (rows === undefined || event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      field.commit();
    }
  };
  return (
    <div className={`commit ${name}`}>
      <label htmlFor={id} className={shown === "hidden" ? "sr" : "labelled-name"}>
        {label}
      </label>
      {rows === undefined ? (
        <span
          className={["field", mono ? "mono" : "", small ? "small" : "", isWrong ? "wrong" : ""]
            .filter(Boolean)
            .join(" ")}
        >
          <input
            {...shared}
            ref={input}
            inputMode={inputMode}
            onChange={(event) => field.change(event.currentTarget.value)}
            onKeyDown={onKeyDown}
          />
          {unit === undefined ? null : <span className="unit">{unit}</span>}
        </span>
      ) : (
        <span className={`field area ${mono ? "mono" : ""} ${isWrong ? "wrong" : ""}`}>
          <textarea
            {...shared}
            rows={rows}
            onChange={(event) => field.change(event.currentTarget.value)}
            onKeyDown={onKeyDown}
          />
        </span>
      )}
      <FieldNote id={`${id}-note`} error={field.error} hint={hint} />
    </div>
  );
}

/** What stands below a field: what is wrong with it, else the hint. */
export function FieldNote({
  id,
  error,
  hint,
}: {
  id: string;
  error: string | null;
  hint?: ReactNode;
}) {
  if (error !== null) {
    return (
      <span id={id} className="labelled-error" role="alert">
        {error}
      </span>
    );
  }
  return hint === undefined ? null : (
    <span id={id} className="labelled-hint">
      {hint}
    </span>
  );
}
