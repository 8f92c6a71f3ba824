/** The commands that every view has: places, the clock, what lies over the page. */

import { wantList } from "../../kit/focus.ts";
import type { IconName } from "../../kit/icon.tsx";
import {
  advanceClock,
  advanceDurations,
  advanceToIdle,
  cancelAdvance,
  pauseOrRun,
  setClock,
  stepClock,
  useClock,
} from "../../stores/clock.ts";
import { type Command, useOffer, useOverlay } from "../../stores/commands.ts";
import { useOnce } from "../../stores/live-data.ts";
import { usePlace, type View } from "../../stores/place.ts";
import { usePresenter } from "../../stores/presenter.ts";
import { fiveMinutes, openStory } from "../../stores/story.ts";
import { newAudience } from "../audiences/audiences-view.tsx";
import { createClient } from "../clients/clients-view.tsx";
import { deleteUsers } from "../deletions/deletions-view.tsx";
import { createEndpoint } from "../endpoints/endpoint-editor.tsx";
import { addScenario } from "../scenarios/scenarios-view.tsx";
import { themeCommands } from "../settings/settings-view.tsx";
import { openShareDialog } from "../share/share-dialog.tsx";
import { createSource } from "../sources/sources-view.tsx";
import { newDestination } from "../destinations/destinations-view.tsx";

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
    run: () => void advanceToIdle(),
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
    run: () => void setClock("real"),
  },
  ...[10, 60, 600].map((speed): Command => ({
    id: `clock.${speed}`,
    label: `Clock at ${speed}× speed`,
    icon: "advance",
    run: () => void setClock("faster", speed),
  })),
  ...advanceDurations.map(({ label, ms }): Command => ({
    id: `clock.advance.${ms}`,
    label: `Advance the clock ${label}`,
    icon: "advance",
    run: () => void advanceClock(ms),
  })),
];

const cancelCommand: Command = {
  id: "clock.cancel",
  label: "Cancel the advance",
  icon: "close",
  run: () => void cancelAdvance(),
};

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

const createCommands: readonly Command[] = [
  { id: "sources.new", label: "New source", icon: "sources", run: () => createSource() },
  { id: "destinations.new", label: "New destination", icon: "destinations", run: newDestination },
  {
    id: "endpoints.new",
    label: "New test endpoint",
    icon: "endpoints",
    run: () => createEndpoint(null),
  },
  { id: "clients.new", label: "New client", icon: "clients", run: createClient },
  { id: "audiences.new", label: "New audience", icon: "audiences", run: newAudience("audience") },
  { id: "traits.new", label: "New computed trait", icon: "audiences", run: newAudience("trait") },
  { id: "scenarios.new", label: "New scenario", icon: "scenarios", run: () => addScenario() },
  { id: "deletions.new", label: "Delete users", icon: "deletions", run: deleteUsers },
  {
    id: "receivers.check",
    label: "Check a receiver",
    icon: "receivers",
    run: () => usePlace.getState().go({ view: "receivers" }),
  },
];

/** What every view offers. */
export function useGlobalCommands(
  places: readonly { view: View; icon: IconName; label: string }[],
): void {
  const presets = useOnce("endpoints.presets", {}).answer?.items ?? [];
  const isAdvancing = (useClock()?.advance ?? null) !== null;
  useOffer(
    "Go to",
    places.map(({ view, icon, label }) => ({
      id: `go.${view}`,
      label: `Go to ${label}`,
      icon,
      run() {
        wantList(usePlace.getState().view === view);
        usePlace.getState().go({ view });
      },
    })),
    "all",
  );
  useOffer("Clock", isAdvancing ? [cancelCommand, ...clockCommands] : clockCommands, "all");
  useOffer(
    "Create",
    [
      ...createCommands,
      ...presets.map((preset): Command => ({
        id: `endpoints.new.${preset.name}`,
        label: `New test endpoint: ${preset.title}`,
        icon: "endpoints",
        run: () => createEndpoint(preset),
      })),
    ],
    "all",
  );
  useOffer("Hookyard", [...overlayCommands, ...themeCommands], "all");
}
