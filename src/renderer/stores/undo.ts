/**
 * Edits that can be taken back with Ctrl+Z, of what is open: each thing has its own. An edit that
 * is saved at once is saved back; one of a draft changes the draft.
 */

import { useEffect } from "react";
import { create } from "zustand";
import { type ToastAction, useToast } from "../kit/copy.tsx";
import { readKept, writeKept } from "../kit/kept.ts";
import { errorOf } from "../kit/use-action.ts";
import { isNoConnection } from "../transport/call-error.ts";
import { call, pipelineFor } from "../transport/transport.ts";
import { useOffer } from "./commands.ts";
import { dropDrafts } from "./drafts.ts";
import { isMac, useKeys } from "./keys.ts";
import { useLive } from "./live-data.ts";
import { usePlace } from "./place.ts";

type Edit = {
  undo: () => unknown;
  redo: () => unknown;
  /** Edits of one field follow each other as one, until it is left or the form is saved. */
  field: Element | null;
  visit: number;
  thing: string;
  /** The address where it was made. */
  hash: string;
};

type Edits = { done: readonly Edit[]; undone: readonly Edit[] };

type UndoStore = { edits: ReadonlyMap<string, Edits> };

const none: Edits = { done: [], undone: [] };
const maxEdits = 100;

const useEdits = create<UndoStore>()(() => ({ edits: new Map() }));

const pipeline = (): string => pipelineFor("events") ?? "own";

/**
 * What is open: `endpoints/ept_000000001`. The settings are one thing. A story's pipeline has the
 * same ids for other things.
 */
const thingAt = ({ view, path }: { view: string; path: readonly string[] }): string =>
  [pipeline(), view, ...(view === "settings" ? [] : path)].join("/");

export const openThing = (): string => thingAt(usePlace.getState());

function change(thing: string, next: Edits): void {
  useEdits.setState(({ edits }) => ({ edits: new Map(edits).set(thing, next) }));
}

const typedIn = (): Element | null =>
  document.activeElement?.matches(
    "input:not([type=checkbox]),textarea,[contenteditable=plaintext-only]",
  ) === true
    ? document.activeElement
    : null;

/** Counts the fields that got the focus, and the forms that were saved. */
let visit = 0;
const nextVisit = (): void => void (visit += 1);

/** True while an edit is taken back or done again, which is no new edit. */
let isReplaying = false;

const madeHere = (edit: Pick<Edit, "undo" | "redo">): Edit => ({
  ...edit,
  field: typedIn(),
  visit,
  thing: openThing(),
  hash: window.location.hash,
});

/** The one that was recorded last, and what takes it back in the toast. */
let newest: Edit | null = null;
let offered: { edit: Edit; action: ToastAction } | null = null;

function record(edit: Edit): void {
  if (isReplaying) return;
  const { done } = useEdits.getState().edits.get(edit.thing) ?? none;
  const last = done.at(-1);
  const isSame = edit.field !== null && last?.field === edit.field && last.visit === edit.visit;
  newest = isSame ? { ...edit, undo: last.undo } : edit;
  const kept = isSame ? done.slice(0, -1) : done.slice(1 - maxEdits);
  change(edit.thing, { done: [...kept, newest], undone: [] });
  const { action, hide } = useToast.getState();
  if (offered?.edit.thing === edit.thing && action === offered.action) hide();
}

/** Call it when the edit has been made. */
export const recordEdit = (edit: Pick<Edit, "undo" | "redo">): void => record(madeHere(edit));

/** Of each thing, until its saves under way are recorded as edits, or refused. */
const saving = new Map<string, Promise<unknown>>();

/**
 * Records an edit once it is saved, and those before it are saved or refused: their answers may
 * come in another order. Ctrl+Z waits until then, and takes back this one.
 */
export async function recordSaved(
  save: () => Promise<unknown>,
  edit: Pick<Edit, "undo" | "redo">,
): Promise<void> {
  // The focus may be elsewhere, and something else open, once it is saved.
  const made = madeHere(edit);
  const { thing } = made;
  const saved = save();
  const recorded = Promise.all([saved, saving.get(thing)]).then(() => record(made));
  const all = Promise.allSettled([saving.get(thing), recorded]);
  saving.set(thing, all);
  void all.then(() => {
    if (saving.get(thing) === all) saving.delete(thing);
  });
  await recorded;
}

/** Saves changes at once. To take them back, what was saved before them is saved again. */
export function saveAtOnce<Changes extends object>(
  before: Changes | Promise<Changes>,
  changes: Partial<Changes>,
  save: (changes: Partial<Changes>) => Promise<unknown>,
): Promise<void> {
  const names = Object.keys(changes) as (keyof Changes)[];
  let old: Partial<Changes> = {};
  const saveFirst = async (): Promise<void> => {
    const known: Changes = await before;
    old = Object.fromEntries(names.map((name) => [name, known[name]])) as Partial<Changes>;
    await save(changes);
  };
  return recordSaved(saveFirst, { undo: () => save(old), redo: () => save(changes) });
}

/** Says what the last edit did, and offers to take it back, from wherever the user is then. */
export function offerUndo(did: string): void {
  if (newest === null) return;
  const edit = newest;
  const action = {
    label: "Undo",
    run() {
      window.location.hash = edit.hash;
      replay(edit.thing, "undo", edit);
    },
  };
  offered = { edit, action };
  useToast.getState().show(did, action);
}

/** `only`: when it is still the newest. */
export function replay(thing: string, way: "undo" | "redo", only: Edit | null = null): void {
  const underWay = saving.get(thing);
  if (underWay === undefined) replayNewest(thing, way, only);
  else void underWay.then(() => replayNewest(thing, way, only));
}

function replayNewest(thing: string, way: "undo" | "redo", only: Edit | null): void {
  const before = useEdits.getState().edits.get(thing) ?? none;
  const { done, undone } = before;
  const edit = (way === "undo" ? done : undone).at(-1);
  if (edit === undefined || (only !== null && edit !== only)) return;
  change(
    thing,
    way === "undo"
      ? { done: done.slice(0, -1), undone: [...undone, edit] }
      : { done: [...done, edit], undone: undone.slice(0, -1) },
  );
  useToast.getState().hide();
  const pressed: Replay = { thing, run: edit[way], before, newest, isOver: false };
  waiting = [...waiting, pressed];
  replayed = replayed.then(() => run(pressed));
}

type Replay = {
  thing: string;
  run: () => unknown;
  /** The edits of the thing, and the newest of all, when it was pressed. */
  before: Edits;
  newest: Edit | null;
  isOver: boolean;
};

/** One after the other: an edit can take several calls to take back. */
let replayed = Promise.resolve();
let waiting: readonly Replay[] = [];

async function run(pressed: Replay): Promise<void> {
  waiting = waiting.filter((each) => each !== pressed);
  if (pressed.isOver) return;
  isReplaying = true;
  try {
    const saved = pressed.run();
    isReplaying = false;
    await saved;
  } catch (error) {
    const raised = errorOf(error);
    useToast.getState().showError(raised.message);
    if (isNoConnection(raised)) putBack(pressed);
  } finally {
    isReplaying = false;
  }
}

/** The next press tries it again, and not the edit before; unless others were made meanwhile. */
function putBack({ thing, before, newest: newestThen }: Replay): void {
  for (const each of waiting) if (each.thing === thing) each.isOver = true;
  if (newest === newestThen && useEdits.getState().edits.has(thing)) change(thing, before);
}

const dataKey = "hookyard.data";
/** Which data the drafts and the edits are of; null until that is known. */
let ofData = readKept(dataKey, "sessionStorage");

function keepData(id: string): void {
  ofData = id;
  writeKept(dataKey, id, "sessionStorage");
}

function forgetAll(): void {
  dropDrafts();
  const others = [...useEdits.getState().edits].filter(
    ([thing]) => !thing.startsWith(`${pipeline()}/`),
  );
  useEdits.setState({ edits: new Map(others) });
  useToast.getState().hide();
}

/**
 * Forgets drafts and edits of other data than this. After a reset from anywhere, what is made gets
 * the same ids: they would change it.
 */
export function forgetOtherData(id: string | undefined): void {
  if (id === undefined || id === ofData || pipeline() !== "own") return;
  const isOther = ofData !== null;
  keepData(id);
  if (isOther) forgetAll();
}

export function useForgetting(): void {
  const id = useLive("stats.get", {}).answer?.dataId;
  useEffect(() => forgetOtherData(id), [id]);
}

export async function resetEverything(clock: boolean): Promise<void> {
  await call("pipeline.reset", { what: "everything", clock });
  forgetAll();
  // Else what is typed from now on would be forgotten when the page reads it.
  const { dataId } = await call("stats.get", {});
  if (dataId !== undefined && pipeline() === "own") keepData(dataId);
}

/** The text of the field that has the focus, when it got it. */
let textBefore: string | null = null;
function onFocus({ target }: FocusEvent): void {
  nextVisit();
  textBefore = target instanceof Element && typedIn() === target ? valueOf(target) : null;
}

const valueOf = (field: Element): string => (field as HTMLInputElement).value;

/** What is typed in a field is taken back there first, as in every field. */
function isTyping(): boolean {
  const field = typedIn();
  return field !== null && textBefore !== null && valueOf(field) !== textBefore;
}

/** The keys and the commands. */
export function useUndoKeys(): void {
  const place = usePlace(thingAt);
  const { done, undone } = useEdits(({ edits }) => edits.get(place)) ?? none;
  const press = (way: "undo" | "redo", count: number): boolean => {
    if (isTyping() || (count === 0 && !saving.has(place))) return false;
    replay(place, way);
    return true;
  };
  useKeys({
    "mod+z": ({ shiftKey }) =>
      shiftKey ? press("redo", undone.length) : press("undo", done.length),
    "mod+y": () => press("redo", undone.length),
  });
  useEffect(() => {
    window.addEventListener("focusin", onFocus);
    window.addEventListener("submit", nextVisit);
    return () => {
      window.removeEventListener("focusin", onFocus);
      window.removeEventListener("submit", nextVisit);
    };
  }, []);
  const mod = isMac ? "⌘" : "Ctrl";
  useOffer(
    "Edits",
    [
      ...(done.length === 0
        ? []
        : [
            {
              id: "edits.undo",
              label: "Undo the last change",
              icon: "replay" as const,
              shortcut: `${mod} Z`,
              run: () => replay(place, "undo"),
            },
          ]),
      ...(undone.length === 0
        ? []
        : [
            {
              id: "edits.redo",
              label: "Redo the change",
              icon: "forward" as const,
              shortcut: `${mod} Shift Z`,
              run: () => replay(place, "redo"),
            },
          ]),
    ],
    "thing",
  );
}
