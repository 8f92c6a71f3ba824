/** Log or linear: one choice for every timeline, kept for the next visit. */

import { create } from "zustand";
import type { ScaleName } from "./scale.ts";

const key = "hookyard.timeline.scale";

type ScaleStore = { scale: ScaleName; setScale(scale: ScaleName): void };

export const useScale = create<ScaleStore>()((set) => ({
  scale: window.localStorage.getItem(key) === "linear" ? "linear" : "log",
  setScale(scale) {
    window.localStorage.setItem(key, scale);
    set({ scale });
  },
}));
