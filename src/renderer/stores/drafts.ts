/** What is being typed for each thing of a kind; it stays while the user looks at something else. */

import { create, type StoreApi, type UseBoundStore } from "zustand";

type DraftStore<Draft> = {
  drafts: Readonly<Record<string, Draft>>;
  keep(id: string, draft: Draft): void;
  drop(id: string): void;
};

export type UseDrafts<Draft> = UseBoundStore<StoreApi<DraftStore<Draft>>>;

export function draftStore<Draft>(): UseDrafts<Draft> {
  return create<DraftStore<Draft>>()((set, get) => ({
    drafts: {},
    keep: (id, draft) => set({ drafts: { ...get().drafts, [id]: draft } }),
    drop(id) {
      const { [id]: _, ...drafts } = get().drafts;
      set({ drafts });
    },
  }));
}
