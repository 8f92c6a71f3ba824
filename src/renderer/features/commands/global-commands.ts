/** The commands that every view has: places, the clock, what lies over the page. */

import type { IconName } from "../../kit/icon.tsx";
import {
  advanceClock,
  advanceToIdle,
  cancelAdvance,
  pauseOrRun,
  setClock,
  stepClock,
} from "../../stores/clock.ts";
import { type Command, useOverlay } from "../../stores/commands.ts";
import { usePlace, type View } from "../../stores/place.ts";
import { usePresenter } from "../../stores/presenter.ts";
import { fiveMinutes, openStory } from "../../stores/story.ts";
import { openShareDialog } from "../share/share-dialog.tsx";

const minuteMs = 60_000;

const clockCommands: readonly Command[] = [
  {
    id: "clock.step",
    label: "Step to next due",
    icon: "step",
    shortcut: ".",
    run: () => void stepClock(),
  },
  {
    id: "clock.idle",
    label: "Run until nothing is due",
    icon: "advance",
    hint: "the clock",
    run: () => void advanceToIdle(),
  },
  {
    id: "clock.cancel",
    label: "Cancel the advance",
    icon: "close",
    hint: "the clock",
    run: () => void cancelAdvance(),
  },
  {
    id: "clock.pause",
    label: "Pause or resume the clock",
    icon: "pause",
    shortcut: "Space",
    run: () => void pauseOrRun(),
  },
  {
    id: "clock.real",
    label: "Clock in real time",
    icon: "live",
    hint: "the clock",
    run: () => void setClock("real"),
  },
  ...[10, 60, 600].map((speed): Command => ({
    id: `clock.${speed}`,
    label: `Clock at ${speed}× speed`,
    icon: "advance",
    hint: "the clock",
    run: () => void setClock("faster", speed),
  })),
  ...(
    [
      ["10 m", 10],
      ["1 h", 60],
      ["4 h", 240],
    ] as const
  ).map(([words, minutes]): Command => ({
    id: `clock.advance.${minutes}`,
    label: `Advance the clock ${words}`,
    icon: "advance",
    hint: "the clock",
    run: () => void advanceClock(minutes * minuteMs),
  })),
];

const overlayCommands: readonly Command[] = [
  {
    id: "story.demo",
    label: "Play the demo of five minutes",
    icon: "advance",
    shortcut: "d",
    run: () => void openStory({ file: fiveMinutes }),
  },
  {
    id: "present",
    label: "Present: large type, no secrets",
    icon: "show",
    shortcut: "p",
    run: () => usePresenter.getState().toggle(),
  },
  {
    id: "compose",
    label: "Compose a message",
    icon: "send",
    shortcut: "n",
    run: () => useOverlay.getState().show("composer"),
  },
  {
    id: "share",
    label: "Share what happened…",
    icon: "forward",
    hint: "a file for a colleague",
    run: () => openShareDialog(),
  },
  {
    id: "shortcuts",
    label: "Show all shortcuts",
    icon: "more",
    shortcut: "?",
    run: () => useOverlay.getState().show("shortcuts"),
  },
];

export function globalCommands(
  places: readonly { view: View; icon: IconName; label: string }[],
): readonly Command[] {
  const placeCommands = places.map(({ view, icon, label }): Command => ({
    id: `go.${view}`,
    label: `Go to ${label}`,
    icon,
    run: () => usePlace.getState().go({ view }),
  }));
  return [...placeCommands, ...clockCommands, ...overlayCommands];
}
