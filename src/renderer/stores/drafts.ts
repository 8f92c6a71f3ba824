/**
 * What is being typed for each thing of a kind; it stays while the user looks at something else.
 */

import { useEffect } from "react";
import { create, type StoreApi, type UseBoundStore } from "zustand";
import { unmasked } from "../transport/secrets.ts";

type DraftStore<Draft> = {
  drafts: Readonly<Record<string, Draft>>;
  keep(id: string, draft: Draft): void;
  drop(id: string): void;
};

export type UseDrafts<Draft> = UseBoundStore<StoreApi<DraftStore<Draft>>>;

const all = new Set<UseDrafts<never>>();
let isAside = false;

/**
 * While another pipeline is shown, whose ids are the same. Returns a function that restores them.
 */
export function setDraftsAside(): () => void {
  const before = [...all].map((use) => [use, use.getState().drafts] as const);
  isAside = true;
  for (const [use] of before) use.setState({ drafts: {} });
  return () => {
    isAside = false;
    for (const [use, drafts] of before) use.setState({ drafts });
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
  const use = create<DraftStore<Draft>>()((set, get) => {
    const store = (drafts: Readonly<Record<string, Draft>>): void => {
      set({ drafts });
      if (isAside) return;
      try {
        const kept = Object.entries(drafts).map(([id, draft]) => [id, unmasked(stored(draft))]);
        window.sessionStorage.setItem(key, JSON.stringify(Object.fromEntries(kept)));
      } catch {
        // Without room they live as long as the page.
      }
    };
    return {
      drafts: storedDrafts<Draft>(key),
      keep: (id, draft) => store({ ...get().drafts, [id]: draft }),
      drop(id) {
        const { [id]: _, ...drafts } = get().drafts;
        store(drafts);
      },
    };
  });
  all.add(use as unknown as UseDrafts<never>);
  return use;
}

function storedDrafts<Draft>(key: string): Readonly<Record<string, Draft>> {
  try {
    const drafts: unknown = JSON.parse(window.sessionStorage.getItem(key) ?? "{}");
    return typeof drafts === "object" && drafts !== null ? (drafts as Record<string, Draft>) : {};
  } catch {
    return {};
  }
}

const useTyped = draftStore<unknown>("typed");

/** A state that stays while another view is open and over a reload. It ends with its tab. */
export function useKept<Value>(name: string, initial: Value): [Value, (next: Value) => void] {
  const kept = useTyped((store) => store.drafts[name]) as Value | undefined;
  return [kept ?? initial, (next) => useTyped.getState().keep(name, next)];
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

/** Of the one that does not exist yet. */
export const newId = "new";
