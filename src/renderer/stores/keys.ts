/**
 * Single keys. A view says what a key does while it is on the screen; the last one to say so is
 * asked first, and the page itself last of all. Keys do nothing while a dialog is open or a field or a menu has the focus, unless it is
 * closing already, and a focused button keeps its own Space and Enter.
 */

import { useEffect, useRef } from "react";
import { isComposing } from "../kit/composing.ts";

/** One that returns false leaves the key to others. */
export type KeyHandlers = Record<string, (event: KeyboardEvent) => unknown>;

const layers: { current: KeyHandlers }[] = [];

/** Keys as `KeyboardEvent.key` spells them; `mod+k` is Ctrl or ⌘. */
export function useKeys(handlers: KeyHandlers, of: "view" | "page" = "view"): void {
  const layer = useRef(handlers);
  layer.current = handlers;
  useEffect(() => {
    // Views that have their answers are there before the page.
    if (of === "page") layers.unshift(layer);
    else layers.push(layer);
    return () => {
      layers.splice(layers.indexOf(layer), 1);
    };
  }, [of]);
}

export const isMac = /Mac/.test(navigator.platform);

export function takesText(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return (
    target.isContentEditable ||
    /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) ||
    target.closest(":is([role=dialog],[role=menu],[role=listbox]):not([data-closed])") !== null
  );
}

/** Also in the moment before the focus is in it. */
const isDialogOpen = (): boolean =>
  document.querySelector("[role=dialog]:not([data-closed])") !== null;

/** Esc leaves a field; the next one closes what is open. */
function leavesField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement) || !takesText(target)) return false;
  if (target.closest("[role=dialog],[role=menu],[role=listbox]") !== null) return false;
  target.blur();
  return true;
}

function nameOf(event: KeyboardEvent): string {
  const mod = isMac ? event.metaKey : event.ctrlKey;
  if (mod) return `mod+${event.key.toLowerCase()}`;
  if (event.ctrlKey || event.metaKey || event.altKey) return "";
  return event.key === " " ? "Space" : event.key;
}

export function listenToKeys(): () => void {
  const onKey = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || isComposing(event)) return;
    const name = nameOf(event);
    const withMod = name.startsWith("mod+");
    if (name === "Escape" && leavesField(event.target)) return;
    if (!withMod && (takesText(event.target) || isDialogOpen())) return;
    const isPressable =
      event.target instanceof HTMLElement &&
      event.target.closest("button,a,[role=button],[role=tab],[role=radio]") !== null;
    if (isPressable && (name === "Space" || name === "Enter")) return;
    for (const layer of layers.toReversed()) {
      const handler = layer.current[name];
      if (handler === undefined || handler(event) === false) continue;
      event.preventDefault();
      return;
    }
  };
  window.addEventListener("keydown", onKey);
  return () => window.removeEventListener("keydown", onKey);
}

/** All of them, for the `?` overlay and for the hints on controls. */
export const shortcuts: readonly { keys: string[]; does: string; where: string }[] = [
  { keys: ["j", "k"], does: "next, previous row", where: "lists" },
  { keys: ["Enter"], does: "open; again to open the attempt", where: "lists" },
  { keys: ["Esc"], does: "back, close", where: "everywhere" },
  { keys: ["/"], does: "filter", where: "Live" },
  { keys: ["x"], does: "select one more", where: "Live" },
  { keys: ["Shift ↓", "J"], does: "select the next one too", where: "Live" },
  { keys: ["f"], does: "follow new messages", where: "Live" },
  { keys: ["r"], does: "retry now", where: "a message" },
  { keys: ["m", "l"], does: "map, list", where: "Flow" },
  { keys: ["← →", "↑ ↓"], does: "walk along the lines", where: "Flow" },
  { keys: ["/"], does: "show one source or destination", where: "Flow" },
  { keys: ["g"], does: "open or close the groups", where: "Flow" },
  { keys: ["h"], does: "hold one message of a line, release it", where: "Flow" },
  { keys: ["r"], does: "run, stop the run", where: "a scenario" },
  { keys: ["c"], does: "copy as cURL", where: "a message" },
  { keys: ["w"], does: "what if it had answered differently", where: "an attempt" },
  { keys: ["s"], does: "keep it as a scenario", where: "a what if" },
  { keys: ["r"], does: "run it again", where: "a what if" },
  { keys: ["[", "]"], does: "previous, next attempt", where: "a message" },
  { keys: ["[", "]"], does: "previous, next finding", where: "a check" },
  { keys: ["r"], does: "run it as a scenario", where: "a check" },
  { keys: ["a"], does: "check again", where: "a check" },
  { keys: ["Esc"], does: "stop", where: "a check" },
  { keys: ["Space"], does: "pause or resume the clock", where: "everywhere" },
  { keys: ["."], does: "step to the next due time", where: "everywhere" },
  { keys: ["w"], does: "watch the flow", where: "everywhere" },
  { keys: ["n"], does: "compose a message", where: "everywhere" },
  { keys: ["p"], does: "present: large type, no secrets", where: "everywhere" },
  { keys: ["d"], does: "play the demo of five minutes", where: "everywhere" },
  { keys: ["→", "←"], does: "next, previous scene", where: "a story" },
  { keys: ["Space"], does: "play, pause", where: "a story" },
  { keys: ["1", "9"], does: "speed of playing", where: "a story" },
  { keys: ["Home"], does: "from the start", where: "a story" },
  { keys: ["Esc"], does: "back to your own data", where: "a story" },
  {
    keys: [isMac ? "⌘ Z" : "Ctrl Z"],
    does: "undo a change; with Shift, redo it",
    where: "everywhere",
  },
  { keys: [isMac ? "⌘ K" : "Ctrl K"], does: "commands", where: "everywhere" },
  { keys: ["?"], does: "show this list", where: "everywhere" },
];
