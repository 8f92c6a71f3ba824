/**
 * What is being typed for each thing of a kind; it stays while the user looks at something else.
 */

import { useEffect } from "react";
import { create, type StoreApi, type UseBoundStore } from "zustand";
import { masked, unmasked } from "../transport/secrets.ts";
import { readKept, writeKept } from "../kit/kept.ts";

export type Saved<Draft> = {
  /** What is saved, or what a new one begins with. */
  before: Draft;
  lists: IdLists<Draft>;
  isSame: (one: Draft, other: Draft) => boolean;
};

type DraftStore<Draft> = {
  drafts: Readonly<Record<string, Draft>>;
  /** What each was made from: only what differs from it was changed. */
  bases: Readonly<Record<string, Draft>>;
  /** What each editor showed last. An edit is undone against it, perhaps by a later editor. */
  saved: Map<string, Saved<Draft>>;
  /** With its secrets, also when it is typed while they are hidden. */
  keep(id: string, draft: Draft, base?: Draft): void;
  drop(id: string): void;
};

export type UseDrafts<Draft> = UseBoundStore<StoreApi<DraftStore<Draft>>>;

const all = new Set<UseDrafts<never>>();
/** How many other pipelines are shown: a share file may be dropped on a story. */
let aside = 0;
let own: (() => void)[] = [];

/**
 * While another pipeline is shown, whose ids are the same. Returns a function that restores them,
 * once no other pipeline is shown.
 */
export function setDraftsAside(): () => void {
  if (aside === 0)
    own = Array.from(all, (use) => {
      const { drafts, bases } = use.getState();
      return () => use.setState({ drafts, bases });
    });
  aside += 1;
  for (const use of all) use.setState({ drafts: {}, bases: {} });
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    aside -= 1;
    if (aside === 0) for (const restore of own) restore();
  };
}

/**
 * They survive a reload of the page, and end with its tab. `stored` is what the browser keeps of
 * one.
 */
export function draftStore<Draft>(
  name: string,
  stored: (draft: Draft) => Draft = (draft) => draft,
): UseDrafts<Draft> {
  const key = `hookyard.drafts.${name}`;
  const basesKey = `hookyard.bases.${name}`;
  const use = create<DraftStore<Draft>>()((set, get) => {
    const write = (to: string, drafts: Readonly<Record<string, Draft>>): void => {
      if (aside > 0) return;
      const kept = Object.entries(drafts).map(([id, draft]) => [id, stored(draft)]);
      // Without room they live as long as the page.
      writeKept(to, JSON.stringify(Object.fromEntries(kept)), "sessionStorage");
    };
    const store = (
      drafts: DraftStore<Draft>["drafts"],
      bases: DraftStore<Draft>["bases"],
    ): void => {
      set({ drafts, bases });
      write(key, drafts);
      write(basesKey, bases);
    };
    return {
      drafts: storedDrafts<Draft>(key),
      bases: storedDrafts<Draft>(basesKey),
      saved: new Map(),
      keep(id, draft, base) {
        const { [id]: _, ...bases } = get().bases;
        store(
          { ...get().drafts, [id]: unmasked(draft) },
          base === undefined ? bases : { ...bases, [id]: unmasked(base) },
        );
      },
      drop(id) {
        const { [id]: _, ...drafts } = get().drafts;
        const { [id]: __, ...bases } = get().bases;
        store(drafts, bases);
      },
    };
  });
  all.add(use as unknown as UseDrafts<never>);
  return use;
}

function storedDrafts<Draft>(key: string): Readonly<Record<string, Draft>> {
  try {
    const drafts: unknown = JSON.parse(readKept(key, "sessionStorage") ?? "{}");
    return typeof drafts === "object" && drafts !== null ? (drafts as Record<string, Draft>) : {};
  } catch {
    return {};
  }
}

const useTyped = draftStore<unknown>("typed");

/** A state that stays while another view is open and over a reload. It ends with its tab. */
export function useKept<Value>(name: string, initial: Value): [Value, (next: Value) => void] {
  const kept = useTyped((store) => store.drafts[name]) as Value | undefined;
  return [masked(kept ?? initial), (next) => useTyped.getState().keep(name, next)];
}

/**
 * Drops what was typed for those that are gone. `ids` is the whole list of those that exist, and
 * the spelling says what they are: a draft is kept by the id, or by words that end with it.
 */
export function useDraftsOnlyOf(
  spelling: { parse(text: string): number | null },
  ids: readonly string[] | undefined,
): void {
  const known = ids?.join(" ");
  useEffect(() => {
    if (known === undefined) return;
    const existing = new Set(known.split(" "));
    for (const use of all) {
      const { drafts, drop } = use.getState();
      for (const name of Object.keys(drafts)) {
        const id = name.slice(name.lastIndexOf(" ") + 1);
        if (spelling.parse(id) !== null && !existing.has(id)) drop(name);
      }
    }
  }, [spelling, known]);
}

/**
 * After everything was removed: what is made then gets the same ids. What is typed for no thing
 * stays.
 */
export function dropDrafts(): void {
  for (const use of all) {
    const { drafts, drop } = use.getState();
    for (const name of Object.keys(drafts))
      if (use !== (useTyped as unknown) || /_\d{9,}$/.test(name)) drop(name);
  }
}

/** Of the one that does not exist yet. */
export const newId = "new";

/** The members that are lists of ids, with the ids that exist. */
type IdLists<Draft> = { readonly [Name in keyof Draft]?: readonly string[] };

/** What an editor shows: what is saved now, with the changes of the draft. */
export function shownDraft<Draft extends object>(
  store: Pick<DraftStore<Draft>, "drafts" | "bases">,
  id: string,
  saved: Draft,
  lists: IdLists<Draft>,
): Draft {
  return masked(withChanges(store, id, unmasked(saved), lists));
}

function withChanges<Draft extends object>(
  { drafts, bases }: Pick<DraftStore<Draft>, "drafts" | "bases">,
  id: string,
  saved: Draft,
  lists: IdLists<Draft>,
): Draft {
  const kept = drafts[id];
  if (kept === undefined) return saved;
  const base = bases[id];
  const shown =
    id === newId || base === undefined ? { ...kept } : changedAs(base, kept, saved, lists);
  for (const name of namesOf(lists)) {
    const existing = new Set([...(lists[name] ?? []), ...idsOf(saved[name])]);
    shown[name] = idsOf(shown[name]).filter((each) => existing.has(each)) as Draft[typeof name];
  }
  return shown;
}

/**
 * Makes the changes that lead from one draft to another to a third one. In a list of ids, each id
 * that was added or removed is a change.
 */
export function changedAs<Draft extends object>(
  from: Draft,
  to: Draft,
  draft: Draft,
  lists: IdLists<Draft>,
): Draft {
  const changed = { ...draft };
  for (const name of namesOf(to)) {
    if (isSame(from[name], to[name])) continue;
    if (lists[name] === undefined) {
      changed[name] = to[name];
      continue;
    }
    const before = idsOf(from[name]);
    const after = idsOf(to[name]);
    const now = idsOf(draft[name]);
    const stays = now.filter((each) => after.includes(each) || !before.includes(each));
    const added = after.filter((each) => !before.includes(each) && !now.includes(each));
    changed[name] = [...stays, ...added] as Draft[typeof name];
  }
  return changed;
}

/** Keeps a draft. One that equals what is saved is dropped, unless it is of a new one. */
export function putDraft<Draft extends object>(
  { getState }: Pick<UseDrafts<Draft>, "getState">,
  id: string,
  shown: Draft,
): void {
  const { saved, keep, drop } = getState();
  const now = saved.get(id);
  if (now === undefined) return;
  const { lists, isSame: equals } = now;
  const before = unmasked(now.before);
  const next = unmasked(shown);
  if (id !== newId && equals(changedAs(before, next, before, lists), before)) drop(id);
  else keep(id, next, before);
}

/** Makes the changes of an edit, or those that undo it, to what is shown by then. */
export function changeDraft<Draft extends object>(
  { getState }: Pick<UseDrafts<Draft>, "getState">,
  id: string,
  from: Draft,
  to: Draft,
): void {
  const now = getState().saved.get(id);
  if (now === undefined) return;
  const { before, lists } = now;
  const shown = shownDraft(getState(), id, before, lists);
  putDraft({ getState }, id, changedAs(unmasked(from), unmasked(to), shown, lists));
}

/** The members that differ from what is saved. */
export function differing<Members extends object>(
  members: Members,
  saved: Partial<Members>,
): Partial<Members> {
  const names = namesOf(members).filter((name) => !isSame(members[name], saved[name]));
  return Object.fromEntries(names.map((name) => [name, members[name]])) as Partial<Members>;
}

const namesOf = <Members extends object>(members: Members): (keyof Members)[] =>
  Object.keys(members) as (keyof Members)[];
const idsOf = (ids: unknown): readonly string[] => ids as readonly string[];
const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/** What a save of a new thing made, and how to go there. */
export type Made = { id: string; open: () => void };

/** What is typed while it is saved stays a draft, of what was made too. */
export async function saveDraft<Draft>(
  { getState }: Pick<UseDrafts<Draft>, "getState">,
  id: string,
  draft: Draft,
  save: (draft: Draft) => Promise<Made | void>,
): Promise<void> {
  const sent = getState().drafts[id];
  const made = await save(draft);
  const { drafts, keep, drop } = getState();
  const newest = drafts[id];
  if (made !== undefined || newest === sent) drop(id);
  if (newest !== undefined && newest !== sent) keep(made?.id ?? id, newest, draft);
  made?.open();
}
