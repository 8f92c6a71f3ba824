/** What is being typed for each destination; it stays while the user looks at something else. */

import { create } from "zustand";
import type { DestinationDraft } from "./destination-draft.ts";

/** The draft of the destination that does not exist yet. */
export const newDestination = "new";

type DraftStore = {
  drafts: Readonly<Record<string, DestinationDraft>>;
  keep(id: string, draft: DestinationDraft): void;
  drop(id: string): void;
};

export const useDrafts = create<DraftStore>()((set, get) => ({
  drafts: {},
  keep: (id, draft) => set({ drafts: { ...get().drafts, [id]: draft } }),
  drop(id) {
    const { [id]: _, ...drafts } = get().drafts;
    set({ drafts });
  },
}));
