/** The scale of the time axis, for every timeline at once. */

import { create } from "zustand";
import { Choice } from "../../kit/controls.tsx";
import type { ScaleName } from "./timeline-axis.ts";
import { readKept, writeKept } from "../../kit/kept.ts";

const scales: readonly ScaleName[] = ["log", "linear", "compact"];

export function ScaleChoice<Offered extends ScaleName>({
  small = false,
  offered,
}: {
  small?: boolean;
  /** The first stands in for one that is chosen elsewhere and not offered here. */
  offered: readonly Offered[];
}) {
  const scale = useScale(offered);
  return (
    <Choice
      small={small}
      label="Scale"
      value={scale}
      options={scales.flatMap((scale) => offered.filter((each) => each === scale))}
      onChange={(value) => useScaleStore.getState().setScale(value)}
    />
  );
}

/** All of them, in a timeline of one message. */
export const timelineScales = ["log", "linear", "compact"] as const;

const key = "hookyard.timeline.scale";

type ScaleStore = { scale: ScaleName; setScale(scale: ScaleName): void };

/** One choice for every timeline, kept for the next visit. */
const useScaleStore = create<ScaleStore>()((set) => ({
  scale: scales.find((each) => each === readKept(key)) ?? "log",
  setScale(scale) {
    writeKept(key, scale);
    set({ scale });
  },
}));

export function useScale<Offered extends ScaleName>(offered: readonly Offered[]): Offered {
  const chosen = useScaleStore(({ scale }) => scale);
  return offered.find((each) => each === chosen) ?? (offered[0] as Offered);
}
