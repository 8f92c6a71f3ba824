/** The inspector: the frame, the view of the place, and what lies over both. */

import { useEffect, type ReactNode } from "react";
import { AudiencesView } from "./features/audiences/audiences-view.tsx";
import { ClientsView } from "./features/clients/clients-view.tsx";
import { ownCommands } from "./features/commands/own-commands.ts";
import { useOverlay } from "./features/commands/overlay.ts";
import { Palette } from "./features/commands/palette.tsx";
import { Shortcuts } from "./features/commands/shortcuts.tsx";
import { Composer } from "./features/composer/composer.tsx";
import { Frame, navigation } from "./features/frame/frame.tsx";
import { DeletionsView } from "./features/deletions/deletions-view.tsx";
import { DestinationsView } from "./features/destinations/destinations-view.tsx";
import { EndpointsView } from "./features/endpoints/endpoints-view.tsx";
import { LiveView } from "./features/live/live-view.tsx";
import { ProfilesView } from "./features/profiles/profiles-view.tsx";
import { RetriesView } from "./features/retries/retries-view.tsx";
import { ScenariosView } from "./features/scenarios/scenarios-view.tsx";
import { SettingsView } from "./features/settings/settings-view.tsx";
import { SourcesView } from "./features/sources/sources-view.tsx";
import { FailureBoundary } from "./kit/failure-boundary.tsx";
import { pauseOrRun, stepClock } from "./stores/clock.ts";
import { useCommands, useOffer } from "./stores/commands.ts";
import { listenToKeys, useKeys } from "./stores/keys.ts";
import { followChanges } from "./stores/live-data.ts";
import { usePlace, type View } from "./stores/place.ts";

const viewsOf: Record<View, () => ReactNode> = {
  live: LiveView,
  retries: RetriesView,
  sources: SourcesView,
  destinations: DestinationsView,
  endpoints: EndpointsView,
  clients: ClientsView,
  profiles: ProfilesView,
  audiences: AudiencesView,
  deletions: DeletionsView,
  scenarios: ScenariosView,
  settings: SettingsView,
};

const commands = ownCommands(navigation);

export function App() {
  const view = usePlace((place) => place.view);
  useEffect(followChanges, []);
  useEffect(listenToKeys, []);
  useOffer("own", commands);
  useKeys({
    Space: () => void pauseOrRun(),
    ".": () => void stepClock(),
    "?": () => useOverlay.getState().show("shortcuts"),
    n: () => useOverlay.getState().show("composer"),
    "mod+k": () => useCommands.getState().open(),
  });
  const View = viewsOf[view];
  return (
    <>
      <Frame>
        <FailureBoundary key={view}>
          <View />
        </FailureBoundary>
      </Frame>
      <Palette />
      <Shortcuts />
      <Composer />
    </>
  );
}
