/** Log or linear, for every timeline at once. */

import { create } from "zustand";
import { Choice } from "../../kit/controls.tsx";
import type { ScaleName } from "./timeline-layout.ts";

export function ScaleChoice({ small = false }: { small?: boolean }) {
  const { scale, setScale } = useScale();
  return (
    <Choice
      small={small}
      label="Scale"
      value={scale}
      options={[
        { value: "log", label: "log" },
        { value: "linear", label: "linear" },
      ]}
      onChange={setScale}
    />
  );
}

const key = "hookyard.timeline.scale";

type ScaleStore = { scale: ScaleName; setScale(scale: ScaleName): void };

/** Log or linear: one choice for every timeline, kept for the next visit. */
export const useScale = create<ScaleStore>()((set) => ({
  scale: window.localStorage.getItem(key) === "linear" ? "linear" : "log",
  setScale(scale) {
    window.localStorage.setItem(key, scale);
    set({ scale });
  },
}));
