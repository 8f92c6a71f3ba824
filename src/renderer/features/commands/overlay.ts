/** What lies over the whole page, one at a time. */

import { create } from "zustand";

type OverlayName = "shortcuts" | "composer";

type OverlayStore = { shown: OverlayName | null; show(name: OverlayName): void; hide(): void };

export const useOverlay = create<OverlayStore>()((set) => ({
  shown: null,
  show: (shown) => set({ shown }),
  hide: () => set({ shown: null }),
}));
