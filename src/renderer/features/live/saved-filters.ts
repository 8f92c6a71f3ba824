/** Filters that the user has saved, as text; they stay in this browser. */

import { create } from "zustand";
import { parseFilter, formatFilter } from "./filter-text.ts";

const key = "hookyard.filters";

type SavedFilters = { texts: readonly string[]; save(text: string): void; remove(text: string): void };

function stored(): string[] {
  try {
    const value: unknown = JSON.parse(window.localStorage.getItem(key) ?? "[]");
    return Array.isArray(value) ? value.filter((text) => typeof text === "string").map((text) => formatFilter(parseFilter(text))) : [];
  } catch {
    return [];
  }
}

export const useSavedFilters = create<SavedFilters>()((set, get) => {
  const keep = (texts: readonly string[]): void => {
    window.localStorage.setItem(key, JSON.stringify(texts));
    set({ texts });
  };
  return {
    texts: stored(),
    save: (text) => keep([...get().texts.filter((each) => each !== text), text]),
    remove: (text) => keep(get().texts.filter((each) => each !== text)),
  };
});
