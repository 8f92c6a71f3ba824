/** What is around every view: the clock bar above, the views at the left, a line of facts below. */

import type { ReactNode } from "react";
import type { StoryAnswer } from "../../../contract/stories.ts";
import { copyText, Toast } from "../../kit/copy.tsx";
import { OutcomeGlyph } from "../../kit/glyph.tsx";
import { wantList } from "../../kit/focus.ts";
import { Icon, type IconName } from "../../kit/icon.tsx";
import { bytes, clockTime, count, some } from "../../kit/words.ts";
import { useClock } from "../../stores/clock.ts";
import { useCommands, useOverlay } from "../../stores/commands.ts";
import { isMac, useKeys } from "../../stores/keys.ts";
import { useFeed, useLive, useOnce } from "../../stores/live-data.ts";
import { usePlace, type View } from "../../stores/place.ts";
import { usePresenter } from "../../stores/presenter.ts";
import { useStory } from "../../stores/story.ts";
import { StoryBar, StoryOpening } from "../story/story-bar.tsx";
import { ClockBar } from "./clock-bar.tsx";

type Entry = { view: View; icon: IconName; label: string };

const groups: readonly (readonly Entry[])[] = [
  [
    { view: "live", icon: "live", label: "Live" },
    { view: "flow", icon: "flow", label: "Flow" },
    { view: "retries", icon: "retries", label: "Retries" },
  ],
  [
    { view: "sources", icon: "sources", label: "Sources" },
    { view: "destinations", icon: "destinations", label: "Destinations" },
    { view: "endpoints", icon: "endpoints", label: "Test endpoints" },
    { view: "clients", icon: "clients", label: "Clients" },
  ],
  [
    { view: "profiles", icon: "profiles", label: "Profiles" },
    { view: "audiences", icon: "audiences", label: "Audiences" },
    { view: "deletions", icon: "deletions", label: "Deletions" },
  ],
  [
    { view: "scenarios", icon: "scenarios", label: "Scenarios" },
    { view: "receivers", icon: "receivers", label: "Receivers" },
  ],
];

export const navigation: readonly Entry[] = [
  ...groups.flat(),
  { view: "settings", icon: "settings", label: "Settings" },
];

export function Frame({ children }: { children: ReactNode }) {
  const clock = useClock();
  const stats = useLive("stats.get", {}).answer;
  const unknownKeys = useLive("unknownKeys.list", {}).answer?.items.length ?? 0;
  const refused = useLive("refused.list", {}).answer?.items.length ?? 0;
  const waiting = stats?.deliveries.byState.waiting ?? 0;
  const counts: Partial<Record<View, number>> = {
    retries: waiting,
    sources: unknownKeys + refused,
  };
  const connection = useFeed((feed) => feed.connection);
  const story = useStory((playing) => playing.story);
  const isPresenting = usePresenter(({ isOn }) => isOn);

  return (
    <div
      className="app"
      data-clock={clock?.mode}
      data-connection={connection}
      data-story={story === null ? undefined : ""}
    >
      <header className="topbar">
        <a className="brand" href="#/live" aria-label="Hookyard, go to Live">
          <Brand />
          <span>Hookyard</span>
        </a>
        <ClockBar />
        {isPresenting ? <Presenting story={story} /> : <Ends />}
      </header>
      <Banner trouble={stats?.trouble ?? null} deliveryTrouble={stats?.deliveryTrouble ?? null} />
      <nav className="rail" aria-label="Views">
        {groups.map((entries, place) => (
          <div key={entries[0]?.view} className="rail-group">
            {place > 0 ? <hr /> : null}
            {entries.map((entry) => (
              <RailEntry key={entry.view} entry={entry} number={counts[entry.view] ?? 0} />
            ))}
          </div>
        ))}
        <div className="push">
          <RailEntry entry={{ view: "settings", icon: "settings", label: "Settings" }} number={0} />
        </div>
      </nav>
      <main className="main">{children}</main>
      {story === null ? <StatusBar /> : <StoryBar story={story} />}
      <Toast />
      <StoryOpening />
    </div>
  );
}

/** Esc leaves, as everything that is open is left. */
function Presenting({ story }: { story: StoryAnswer | null }) {
  const leave = story === null ? usePresenter.getState().toggle : useStory.getState().close;
  useKeys({ Escape: leave });
  return (
    <div className="presenting">
      {story === null ? null : <span>your own data is untouched</span>}
      <span>secrets hidden</span>
      <button type="button" className="btn quiet" aria-keyshortcuts="Escape" onClick={leave}>
        {story === null ? "Stop presenting" : "Leave the story"} <kbd aria-hidden="true">Esc</kbd>
      </button>
    </div>
  );
}

/** What makes everything else on the page doubtful. */
function Banner({
  trouble,
  deliveryTrouble,
}: {
  trouble: string | null;
  deliveryTrouble: string | null;
}) {
  const shared = useOnce("about.get", {}).answer?.shared;
  const connection = useFeed((feed) => feed.connection);
  const lostAt = useFeed((feed) => feed.lostAt) ?? 0;
  const lostTime = clockTime(window.performance.timeOrigin + lostAt);
  if (shared !== undefined)
    return (
      <p className="banner shared" role="note">
        <strong>A share file.</strong> It shows what happened until{" "}
        {new Date(shared).toLocaleString("en-GB")}. It changes nothing and sends nothing.
      </p>
    );
  if (connection === "refused")
    return (
      <p className="banner" role="alert">
        <strong>The token of this page is not valid.</strong> Open the address that Hookyard prints
        when it starts. It ends with <code>#token=…</code>
      </p>
    );
  if (connection === "lost")
    return (
      <p className="banner" role="alert">
        <strong>Hookyard does not respond.</strong> Everything below is from before {lostTime} and
        is read again when the connection is back.
      </p>
    );
  if (trouble !== null)
    return (
      <p className="banner" role="alert">
        <strong>Nothing can be written.</strong> Ingest answers 503, and attempts are recorded
        later. {trouble}
      </p>
    );
  if (deliveryTrouble !== null)
    return (
      <p className="banner" role="alert">
        {deliveryTrouble}
      </p>
    );
  return null;
}

function RailEntry({ entry: { view, icon, label }, number }: { entry: Entry; number: number }) {
  const current = usePlace((place) => place.view === view);
  return (
    <a
      href={`#/${view}`}
      title={label}
      aria-current={current ? "page" : undefined}
      className={number > 0 ? "has" : undefined}
      onClick={() => wantList(current)}
    >
      <Icon name={icon} />
      <span>{label}</span>
      {number > 0 ? <span className="count">{count(number)}</span> : null}
    </a>
  );
}

function Brand() {
  return (
    <svg
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      strokeWidth="2"
      strokeLinecap="round"
      aria-hidden="true"
    >
      <path d="M1.5 6h17" />
      <path d="M3.5 6c5 0 4.5 8 9.5 8" />
      <path d="M13 14h1.5" />
      <circle cx="16.6" cy="14" r="1.9" fill="var(--clock)" stroke="none" />
    </svg>
  );
}

function Ends() {
  const about = useOnce("about.get", {}).answer;
  const isLost = useFeed((feed) => feed.lostAt !== null);
  const address = about?.ingestUrl.replace(/^https?:\/\//, "") ?? "";
  return (
    <div className="ends">
      <span className="copyable" title="Ingest address">
        <OutcomeGlyph outcome={isLost ? "connection_error" : "success"} />
        <span className="quiet ingest-word">Ingest</span>
        <code className="clip">{address}</code>
        <button
          type="button"
          className="icon-btn"
          aria-label="Copy the ingest address"
          title="Copy the ingest address"
          onClick={() => void copyText(about?.ingestUrl ?? "", "the ingest address")}
        >
          <Icon name="copy" />
        </button>
      </span>
      <button
        type="button"
        className="btn palette"
        title="Commands"
        aria-keyshortcuts={isMac ? "Meta+K" : "Control+K"}
        onClick={() => useCommands.getState().open()}
      >
        <Icon name="search" />
        <span className="wide">Commands</span>
        <kbd>{isMac ? "⌘ K" : "Ctrl K"}</kbd>
      </button>
      <button
        type="button"
        className="icon-btn"
        aria-label="Shortcuts"
        title="Shortcuts (?)"
        onClick={() => useOverlay.getState().show("shortcuts")}
      >
        <kbd aria-hidden="true">?</kbd>
      </button>
    </div>
  );
}

function StatusBar() {
  const about = useOnce("about.get", {}).answer;
  const stats = useLive("stats.get", {}).answer;
  const settings = useLive("settings.get", {}).answer;
  const connection = useFeed((feed) => feed.connection);
  // A share file of data that no Hookyard had open has no addresses.
  const port = (url = ""): string => (url === "" ? "" : new URL(url).port);
  return (
    <footer className="statusbar">
      {connection !== "connected" ? (
        <span>Not connected</span>
      ) : stats === undefined ? null : (
        <span>
          {stats.rates.ingestedPerSecond} messages/s in, {stats.rates.attemptsPerSecond} attempts/s
          out
        </span>
      )}
      <span className="grow" />
      {about === undefined ? null : (
        <span className="ports">
          Test endpoints <code>{port(about.endpointsUrl)}</code> TLS{" "}
          <code>{port(about.endpointsTlsUrl)}</code>
        </span>
      )}
      {settings === undefined ? null : (
        <span className="seed">
          jitter seed <code>{settings.seed}</code>
        </span>
      )}
      {stats === undefined ? null : <span>{some(stats.messages.total, "message")}</span>}
      {stats?.dataBytes === undefined ? null : (
        <span title="The size of the data file">Data {bytes(stats.dataBytes)}</span>
      )}
    </footer>
  );
}
