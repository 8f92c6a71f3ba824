/** Settings: one page in sections; each field is saved when it is left. */

import { useEffect, useRef, useState } from "react";
import { create } from "zustand";
import { ConfirmDialog } from "../../kit/confirm-dialog.tsx";
import { Button, CheckField, Choice } from "../../kit/controls.tsx";
import { Copyable } from "../../kit/copy.tsx";
import { some } from "../../kit/words.ts";
import type { Command } from "../../stores/commands.ts";
import { useLive, useOnce } from "../../stores/live-data.ts";
import { usePlace } from "../../stores/place.ts";
import { resetEverything } from "../../stores/undo.ts";
import { call } from "../../transport/transport.ts";
import { Collection, EditorPane, type Entry } from "../collection/collection.tsx";
import { DemoSection } from "../demo/demo.tsx";
import { ConfigurationSection } from "./configuration-section.tsx";
import { ParitySection } from "./parity-section.tsx";
import { DeliverySection, IngestSection, StoreSection } from "./pipeline-sections.tsx";
import { RetryProfilesSection } from "./retry-profiles-section.tsx";
import "./settings.css";
import { readKept, writeKept } from "../../kit/kept.ts";

export const settingsSections = [
  {
    id: "delivery",
    title: "Delivery",
    detail: "vendor, seed, jitter, lanes",
    Content: DeliverySection,
  },
  {
    id: "retry-profiles",
    title: "Retry profiles",
    detail: "what is retried, and when",
    Content: RetryProfilesSection,
  },
  { id: "ingest", title: "Ingest", detail: "unknown write keys", Content: IngestSection },
  {
    id: "hosted",
    title: "Hosted service",
    detail: "like it, and what would not work there",
    Content: ParitySection,
  },
  { id: "store", title: "Store", detail: "retention, durability", Content: StoreSection },
  { id: "appearance", title: "Appearance", detail: "light or dark", Content: AppearanceSection },
  {
    id: "configuration",
    title: "Configuration",
    detail: "export, import",
    Content: ConfigurationSection,
  },
  { id: "demo", title: "Demo", detail: "open, close, reset", Content: DemoSection },
  { id: "reset", title: "Reset", detail: "messages, or everything", Content: ResetSection },
  { id: "about", title: "About", detail: "version, ports, data directory", Content: AboutSection },
] as const;

const entries = settingsSections.map(({ id, title, detail }): Entry => ({
  path: [id],
  label: title,
  detail,
  hint: detail,
}));

export function SettingsView() {
  const open = usePlace((place) => place.path[0]);
  const body = useRef<HTMLDivElement>(null);
  const current = settingsSections.find(({ id }) => id === open) ?? settingsSections[0];

  useEffect(() => {
    if (open === undefined || body.current === null) return;
    const section = body.current.querySelector<HTMLElement>(`[data-section="${CSS.escape(open)}"]`);
    if (section !== null) body.current.scrollTop = section.offsetTop;
  }, [open]);

  return (
    <Collection
      view="settings"
      title="Settings"
      entries={entries}
      current={[current.id]}
      editor={
        <EditorPane label="Settings" title="Settings" others="Go to a section">
          <div className="pane-body settings-body" ref={body}>
            {settingsSections.map(({ id, title, Content }) => (
              <section
                key={id}
                className="setting-section"
                data-section={id}
                aria-labelledby={`settings-${id}`}
              >
                <h3 id={`settings-${id}`}>{title}</h3>
                <Content />
              </section>
            ))}
          </div>
        </EditorPane>
      }
    />
  );
}

function AboutSection() {
  const about = useOnce("about.get", {}).answer;
  if (about === undefined) return null;
  return (
    <div className="pairs">
      <span className="pair-name">Version</span>
      <span>Hookyard {about.version}</span>
      <span className="pair-name">Data directory</span>
      {about.dataDir === null ? (
        <span>none: data is in memory and is lost when the process ends</span>
      ) : (
        <Copyable value={about.dataDir} label="the data directory" />
      )}
      <span className="pair-name">Ingest</span>
      <Copyable value={about.ingestUrl} label="the ingest address" />
      {about.ingestTlsUrl === null ? null : (
        <>
          <span className="pair-name">with TLS</span>
          <Copyable value={about.ingestTlsUrl} label="the TLS address of ingest" />
        </>
      )}
      <span className="pair-name">Test endpoints</span>
      <Copyable value={about.endpointsUrl} label="the address of the test endpoints" />
      <span className="pair-name">with TLS</span>
      <Copyable value={about.endpointsTlsUrl} label="the TLS address of the test endpoints" />
    </div>
  );
}

function AppearanceSection() {
  const { theme, choose } = useTheme();
  return (
    <div className="commit">
      <span className="labelled-name">Theme</span>
      <Choice label="Theme" value={theme} options={themes} onChange={choose} />
      <span className="labelled-hint">Stored in this browser, for this address.</span>
    </div>
  );
}

/** Removing the messages, or everything: says first what is lost. */
function ResetSection() {
  const [asks, setAsks] = useState<"messages" | "everything" | null>(null);
  const [clock, setClock] = useState(false);
  const stats = useLive("stats.get", {}).answer;
  const sources = useLive("sources.list", {}).answer?.items.length ?? 0;
  const destinations = useLive("destinations.list", {}).answer?.items.length ?? 0;
  const endpoints = useLive("endpoints.list", {}).answer?.items.length ?? 0;
  const profiles =
    useLive("retryProfiles.list", {}).answer?.items.filter(({ builtIn }) => !builtIn).length ?? 0;
  const messages = stats?.messages.total ?? 0;
  const deliveries = stats?.deliveries.total ?? 0;
  const ofUsers = "all profiles, deletion requests and suppressions";
  const lost = `${some(messages, "message")}, pinned ones too, and ${some(deliveries, "delivery", "deliveries")} with all their attempts`;
  return (
    <>
      <div className="actions">
        <Button onClick={() => setAsks("messages")}>Remove all messages…</Button>
        <Button onClick={() => setAsks("everything")}>Remove everything…</Button>
      </div>
      <CheckField
        label="Set the clock to real time, too"
        checked={clock}
        onChange={({ target }) => setClock(target.checked)}
      />
      <span className="labelled-hint">Settings are kept in both cases.</span>
      <ConfirmDialog
        open={asks === "messages"}
        onClose={() => setAsks(null)}
        title={`Remove ${some(messages, "message")}?`}
        action="Remove messages"
        onConfirm={() => call("pipeline.reset", { what: "messages", clock })}
      >
        {lost} are permanently deleted, along with {ofUsers}, and the requests that test endpoints
        received, that ingest refused or that are stored for unknown write keys. The configuration
        is kept.
      </ConfirmDialog>
      <ConfirmDialog
        open={asks === "everything"}
        onClose={() => setAsks(null)}
        title="Remove everything?"
        action="Remove everything"
        onConfirm={() => resetEverything(clock)}
      >
        {lost} are permanently deleted, along with {ofUsers}, {some(sources, "source")},{" "}
        {some(destinations, "destination")} with their shared secrets,{" "}
        {some(endpoints, "test endpoint")}, {some(profiles, "custom retry profile")}, and all
        simulated clients, audiences and computed traits. Export the configuration first if you may
        need it again.
      </ConfirmDialog>
    </>
  );
}

/** Light, dark, or as the system has it. Kept in this browser, and set before anything is drawn. */
const themes = ["system", "light", "dark"] as const;

export const themeCommands = themes.map((theme): Command => ({
  id: `settings.theme.${theme}`,
  label: theme === "system" ? "Theme: system" : `Theme: ${theme}`,
  icon: "settings",
  run: () => useTheme.getState().choose(theme),
}));
type Theme = (typeof themes)[number];

const key = "hookyard.theme";

const kept = (): Theme => themes.find((theme) => theme === readKept(key)) ?? "system";

function show(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

const useTheme = create<{ theme: Theme; choose(theme: Theme): void }>()((set) => ({
  theme: kept(),
  choose(theme) {
    writeKept(key, theme);
    show(theme);
    set({ theme });
  },
}));

show(kept());
