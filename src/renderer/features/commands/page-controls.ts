/**
 * The controls of the view as commands: whatever can be pressed can be found by its name. They are
 * read from the page when the palette opens, so a new button needs nothing to be found. The page
 * goes on meanwhile: one that has gone, or is called otherwise now, is neither offered nor pressed.
 */

import { menuItemsOf } from "../../kit/floats.tsx";
import type { Command } from "../../stores/commands.ts";

/** Rows and marks are many and have the keys of their list; what they open is found by name. */
const left =
  ":is([role=grid],[role=listbox],.tl-section,.entry,.code,[draggable],[aria-disabled=true])";
const pressed =
  ":is(button,a.btn,td a[aria-label],[role=switch],[type=checkbox],[role=radio],[role=tab])";
const typed =
  ":is(input,textarea,select,[contenteditable=plaintext-only]):not([type=checkbox],[type=file])";

/** A view with more has lists of equal controls. */
const maxControls = 300;

/** The controls of a part of the view, such as those of what is open in it. */
type PagePart = { title: string; isOpen: boolean; commands: readonly Command[] };

/** What is open comes before the list in which it was chosen. */
export function pageParts(): PagePart[] {
  const parts = [...document.querySelectorAll<HTMLElement>(".main .pane, .main .list")].filter(
    (pane) => pane.parentElement?.closest(".pane, .list") === null,
  );
  const inside = parts.map((pane) => ({
    title: pane.getAttribute("aria-label") ?? "This view",
    isOpen: pane.matches(".details, .editor, .scenario, .attempt-centre"),
    commands: controlsIn(pane, () => true),
  }));
  const main = document.querySelector<HTMLElement>(".main");
  const isOutside = (element: Element): boolean => !parts.some((pane) => pane.contains(element));
  const outside = main === null ? [] : controlsIn(main, isOutside);
  return [...inside, { title: "This view", isOpen: false, commands: outside }]
    .filter(({ commands }) => commands.length > 0)
    .sort((a, b) => Number(b.isOpen) - Number(a.isOpen));
}

function controlsIn(part: HTMLElement, isIn: (element: Element) => boolean): Command[] {
  const commands = new Map<string, Command>();
  const add = (element: HTMLElement, label: string, run: () => unknown, more = {}): void => {
    const hint = regionOf(element);
    const id = `${hint} ${label}`;
    if (label === "" || commands.has(id) || commands.size >= maxControls) return;
    const words = wordsWithoutNumbers(element);
    const isThere = (): boolean =>
      element.isConnected && !isAway(element) && wordsWithoutNumbers(element) === words;
    commands.set(id, { id, label, icon: "forward", hint, isThere, ...more, run });
  };
  for (const element of part.querySelectorAll<HTMLElement>(`${pressed},${typed}`)) {
    if (!isIn(element) || element.closest(left) !== null || isAway(element)) continue;
    const name = nameOf(element);
    if (element.matches(typed)) {
      add(element, `Edit ${name}`, () => startTyping(element), { icon: "list" });
      continue;
    }
    const items = menuItemsOf(element);
    for (const item of items ?? []) {
      if (item === "line" || item.disabled === true) continue;
      const label = name.startsWith("More") ? item.label : `${name}: ${item.label}`;
      const current = () =>
        menuItemsOf(element)?.find(
          (each) => each !== "line" && each.label === item.label && each.disabled !== true,
        ) as typeof item | undefined;
      const isThere = (): boolean => element.isConnected && current() !== undefined;
      const run = (): void => current()?.onSelect();
      add(element, label, run, { icon: item.icon ?? "forward", isThere });
    }
    const shortcut = element.getAttribute("aria-keyshortcuts");
    if (items === undefined)
      add(element, labelOf(element, name), () => press(element), shortcut ? { shortcut } : {});
  }
  return [...commands.values()];
}

/** Out of sight, or of no use now. */
const isAway = (element: HTMLElement): boolean =>
  !element.checkVisibility({ visibilityProperty: true }) ||
  (element as HTMLButtonElement).disabled ||
  element.matches("[aria-selected=true],[aria-checked=true]");

function press(element: HTMLElement): void {
  element.focus();
  element.click();
}

function startTyping(element: HTMLElement): void {
  element.focus();
  if (element instanceof HTMLInputElement) element.select();
}

/** One of several of a kind says of what it is one. */
function labelOf(element: HTMLElement, name: string): string {
  const of = element.closest("[role=radiogroup],[role=tablist]")?.getAttribute("aria-label");
  if (of) return `${of}: ${name}`;
  if (!(element instanceof HTMLInputElement)) return name;
  return element.checked ? `Turn off: ${name}` : `Turn on: ${name}`;
}

function nameOf(element: HTMLElement): string {
  const labels = [...((element as HTMLInputElement).labels ?? [])];
  const words =
    element.getAttribute("aria-label") ??
    (labels.length > 0 ? labels.map(wordsIn).join(" ") : wordsIn(element));
  return words.replace(/\s+/g, " ").trim().slice(0, 100);
}

/** A control that counts is the same one when the number changes. */
const wordsWithoutNumbers = (element: HTMLElement): string =>
  nameOf(element).replace(/[\d.,]+/g, "");

/** As a screen reader has it: without keys and pictures. */
function wordsIn(element: Element): string {
  return [...element.childNodes]
    .map((child) =>
      child instanceof Element
        ? child.matches("[aria-hidden=true],kbd,select,textarea,.n,.stage b")
          ? ""
          : wordsIn(child)
        : (child.textContent ?? ""),
    )
    .join(" ");
}

/** The name of the part of the view in which it stands. */
function regionOf(element: HTMLElement): string {
  const region = element.parentElement?.closest(
    ":is(section,nav,li,form,[role=group],[role=region]):is([aria-label],[aria-labelledby])",
  );
  const titleId = region?.getAttribute("aria-labelledby");
  const title = titleId ? document.getElementById(titleId)?.textContent : null;
  return (title ?? region?.getAttribute("aria-label") ?? "").slice(0, 60);
}
