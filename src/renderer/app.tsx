/** The inspector: the frame, the view of the place, and what lies over both. */

import { Component, type ReactNode, useEffect, useLayoutEffect } from "react";
import type { CallName } from "../contract/contract.ts";
import { placeOf } from "../contract/places.ts";
import { AudiencesView } from "./features/audiences/audiences-view.tsx";
import { ClientsView } from "./features/clients/clients-view.tsx";
import { useGlobalCommands } from "./features/commands/global-commands.ts";
import { Palette, Shortcuts } from "./features/commands/palette.tsx";
import { Composer } from "./features/composer/composer.tsx";
import { Demo } from "./features/demo/demo.tsx";
import { DeletionsView } from "./features/deletions/deletions-view.tsx";
import { DestinationsView } from "./features/destinations/destinations-view.tsx";
import { EndpointsView } from "./features/endpoints/endpoints-view.tsx";
import { FlowView } from "./features/flow/flow-view.tsx";
import { Frame, navigation } from "./features/frame/frame.tsx";
import { LiveView } from "./features/live/live-view.tsx";
import { ProfilesView } from "./features/profiles/profiles-view.tsx";
import { ReceiversView } from "./features/receivers/receivers-view.tsx";
import { RetriesView } from "./features/retries/retries-view.tsx";
import { ScenariosView } from "./features/scenarios/scenarios-view.tsx";
import { SettingsView } from "./features/settings/settings-view.tsx";
import { ShareDialog } from "./features/share/share-dialog.tsx";
import { StageView } from "./features/story/stage-view.tsx";
import { StoryTitle } from "./features/story/story-bar.tsx";
import { SourcesView } from "./features/sources/sources-view.tsx";
import { Button } from "./kit/controls.tsx";
import { useToast } from "./kit/copy.tsx";
import { EmptyState } from "./kit/empty-state.tsx";
import { ProblemText } from "./kit/problem.tsx";
import { pauseOrRun, stepClock } from "./stores/clock.ts";
import { useCommands, useOverlay } from "./stores/commands.ts";
import { listenToKeys, useKeys } from "./stores/keys.ts";
import { followChanges, useOnce } from "./stores/live-data.ts";
import { usePlace, type View } from "./stores/place.ts";
import { usePresenter } from "./stores/presenter.ts";
import { fiveMinutes, openStory, useStory } from "./stores/story.ts";
import { useForgetting, useUndoKeys } from "./stores/undo.ts";
import { listenToRefusals } from "./transport/transport.ts";
import type { CallError } from "./transport/call-error.ts";

const viewsOf: Record<View, () => ReactNode> = {
  live: LiveView,
  flow: FlowView,
  retries: RetriesView,
  sources: SourcesView,
  destinations: DestinationsView,
  endpoints: EndpointsView,
  clients: ClientsView,
  profiles: ProfilesView,
  audiences: AudiencesView,
  deletions: DeletionsView,
  scenarios: ScenariosView,
  receivers: ReceiversView,
  settings: SettingsView,
  stage: StageView,
};

/** What a share file says nothing of: these views would be empty, as if there had been nothing. */
const notShared: ReadonlySet<View> = new Set([
  "clients",
  "profiles",
  "deletions",
  "scenarios",
  "receivers",
]);

function NotShared() {
  return (
    <EmptyState label="Not in the share file" title="Not in the share file">
      It has messages with their deliveries and attempts, the configuration, the flow and the clock.
      It has no profiles, deletions, simulated clients, scenarios or checks of receivers, whether
      there were any or not.
    </EmptyState>
  );
}

export function App() {
  const pipeline = useStory(({ story }) => (story === null ? "own" : `${story.id} ${story.run}`));
  const isPresenting = usePresenter(({ isOn }) => isOn);
  useEffect(listenToKeys, []);
  return <Inspector key={`${pipeline} ${isPresenting}`} />;
}

/** Of one pipeline, with its secrets or without. */
function Inspector() {
  const view = usePlace((place) => place.view);
  // Before any view asks for something.
  useLayoutEffect(followChanges, []);
  useEffect(() => listenToRefusals(leaveWhatIsGone), []);
  useGlobalCommands(navigation);
  useUndoKeys();
  useForgetting();
  useKeys(
    {
      Space: () => void pauseOrRun(),
      ".": () => void stepClock(),
      "?": () => useOverlay.getState().show("shortcuts"),
      p: () => usePresenter.getState().toggle(),
      d: () => void openStory({ file: fiveMinutes }),
      w: () => usePlace.getState().go({ view: "flow" }),
      n: () => useOverlay.getState().show("composer"),
      "mod+k": () => useCommands.getState().open(),
    },
    "page",
  );
  const isBefore = useStory(({ story }) => story?.at === 0);
  const isShared = useOnce("about.get", {}).answer?.shared !== undefined;
  const View = isShared && notShared.has(view) ? NotShared : viewsOf[view];
  return (
    <>
      <Frame>
        <FailureBoundary key={view}>{isBefore ? <StoryTitle /> : <View />}</FailureBoundary>
      </Frame>
      <Palette />
      <Shortcuts />
      <Composer />
      <ShareDialog />
      <Demo />
    </>
  );
}

/** What may be deleted while somebody changes it. */
const things: Partial<Record<CallName, string>> = {
  "sources.update": "source",
  "destinations.update": "destination",
  "endpoints.update": "test endpoint",
  "clients.update": "client",
  "audiences.update": "audience",
  "computedTraits.update": "computed trait",
  "retryProfiles.update": "retry profile",
};

/** Says that a change came too late, and leaves the place of what is gone. */
function leaveWhatIsGone(name: CallName, input: { id?: unknown }, { status }: CallError): void {
  if (status !== 404 || placeOf(name).method !== "PATCH") return;
  useToast
    .getState()
    .showError(
      `The ${things[name] ?? "thing"} that you changed was deleted meanwhile. The change was not saved.`,
    );
  const { path, change } = usePlace.getState();
  if (path.includes(String(input.id))) change({ path: [], query: { name: null } });
}

type Props = { children: ReactNode };

/**
 * What a view's own failure leaves standing: the rest of the page, and a sentence in the view's
 * place.
 */
class FailureBoundary extends Component<Props, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error): { error: Error } {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <section className="empty">
        <h1>This view failed</h1>
        <p className="muted">No data is lost. The other views still work.</p>
        <ProblemText error={error} />
        <Button onClick={() => this.setState({ error: null })}>Try again</Button>
      </section>
    );
  }
}
