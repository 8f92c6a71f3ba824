/** Where the focus goes next: into what was added, and from the rail into the list of a view. */

import { useEffect } from "react";
import { isComposing } from "./composing.ts";

const typed =
  ":is(input,textarea,select,[contenteditable=plaintext-only]):not([type=checkbox],[type=radio],[type=file],:disabled)";

const fieldsIn = (part: ParentNode): HTMLElement[] => [
  ...part.querySelectorAll<HTMLElement>(typed),
];

function startTyping(field: HTMLElement): void {
  field.focus();
  if (field instanceof HTMLInputElement) field.select();
}

/** What a press of the button adds may come with the API's answer; the next press or key ends it. */
export function focusAdded(button: HTMLElement): void {
  const part = button.closest(".main, .dialog");
  if (part === null) return;
  const before = new Set(fieldsIn(part));
  const observer = new MutationObserver(() => {
    const fresh = fieldsIn(part).filter((field) => !before.has(field));
    // An entry that was there already may have got a field too.
    const added = fresh.find((field) => isNewEntry(field.closest("li"), before)) ?? fresh[0];
    if (added === undefined) return;
    stop();
    const { activeElement } = document;
    if (activeElement === button || activeElement === document.body) startTyping(added);
  });
  observer.observe(part, { childList: true, subtree: true });
  const stop = (): void => observer.disconnect();
  onNextInput(stop);
}

const isNewEntry = (entry: HTMLElement | null, before: ReadonlySet<HTMLElement>): boolean =>
  entry !== null && fieldsIn(entry).every((field) => !before.has(field));

/** The user goes on by then, and the focus stays where it is. */
function onNextInput(then: () => void): void {
  const once = { once: true, capture: true };
  window.addEventListener("keydown", then, once);
  window.addEventListener("pointerdown", then, once);
}

/** Of what is new: its first field. */
export function focusFirstField(part: HTMLElement): void {
  const [first] = fieldsIn(part);
  if (first !== undefined) startTyping(first);
}

/** What was typed for a field that is not there yet. */
let ahead: { text: string; stop: () => void } | null = null;

/**
 * Keeps what is typed from now on for the field that an answer brings, which takes it with
 * `takeTypedAhead`. Without this, each key would do what it does as a shortcut, and Space and Enter
 * would press the button again. Returns a function that ends it; so do a click, Esc, a key in
 * another field, and the way back.
 */
export function typeAhead(): () => void {
  ahead?.stop();
  const ended = new AbortController();
  const kept = { text: "", stop };
  function onKey(event: KeyboardEvent): void {
    const { key, target } = event;
    const isElsewhere = target instanceof Element && target.matches(typed);
    if (isElsewhere || key === "Escape") return stop();
    const isText = key.length === 1 && !event.ctrlKey && !event.metaKey;
    if (isComposing(event) || !(isText || key === "Backspace" || key === "Enter")) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (isText) kept.text += key;
    else if (key === "Backspace") kept.text = kept.text.slice(0, -1);
  }
  function stop(): void {
    ended.abort();
    if (ahead === kept) ahead = null;
  }
  const options = { capture: true, signal: ended.signal };
  window.addEventListener("keydown", onKey, options);
  for (const event of ["pointerdown", "popstate"]) window.addEventListener(event, stop, options);
  ahead = kept;
  return stop;
}

/** Empty when nothing was typed. The keys are the field's from now on. */
export function takeTypedAhead(): string {
  const text = ahead?.text ?? "";
  ahead?.stop();
  return text;
}

let isListWanted = false;
let focusList: (() => void) | null = null;

/** The rail was pressed; `isSame`: its view is there already. */
export function wantList(isSame: boolean): void {
  if (isSame) return focusList?.();
  isListWanted = true;
  onNextInput(() => (isListWanted = false));
}

/** Of the list of the view. */
export function useListFocus(focus: () => void): void {
  useEffect(() => {
    focusList = focus;
    if (isListWanted) focus();
    return () => {
      focusList = null;
    };
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- once, when the list is there
  }, []);
}
