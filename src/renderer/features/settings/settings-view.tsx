/** Settings: one page in sections; each field is saved when it is left. */

import { useEffect, useMemo, useRef } from "react";
import { ListAndEditor, ListEntry, ListPane, OthersMenu } from "../../kit/list-pane.tsx";
import { useOffer, type Command } from "../../stores/commands.ts";
import { hashOf, usePlace } from "../../stores/place.ts";
import { AboutSection } from "./about-section.tsx";
import { AppearanceSection } from "./appearance-section.tsx";
import { ConfigurationSection } from "./configuration-section.tsx";
import { DeliverySection, IngestSection, StoreSection } from "./pipeline-sections.tsx";
import { ResetSection } from "./reset-section.tsx";
import { RetryProfilesSection } from "./retry-profiles-section.tsx";
import { themes, useTheme } from "./theme.ts";
import "./settings.css";

const sections = [
  { id: "delivery", title: "Delivery", detail: "vendor, seed, jitter, lanes", Content: DeliverySection },
  { id: "retry-profiles", title: "Retry profiles", detail: "what is retried, and when", Content: RetryProfilesSection },
  { id: "ingest", title: "Ingest", detail: "unknown write keys", Content: IngestSection },
  { id: "store", title: "Store", detail: "retention, durability", Content: StoreSection },
  { id: "appearance", title: "Appearance", detail: "light or dark", Content: AppearanceSection },
  { id: "configuration", title: "Configuration", detail: "export, import", Content: ConfigurationSection },
  { id: "reset", title: "Reset", detail: "messages, or everything", Content: ResetSection },
  { id: "about", title: "About", detail: "version, ports, data directory", Content: AboutSection },
] as const;

const hrefOf = (id: string): string => hashOf({ view: "settings", path: [id], query: {} });

export function SettingsView() {
  const open = usePlace((place) => place.path[0]);
  const go = usePlace((place) => place.go);
  const body = useRef<HTMLDivElement>(null);
  const current = sections.find(({ id }) => id === open) ?? sections[0];

  const commands = useMemo<readonly Command[]>(
    () =>
      themes.map((theme) => ({
        id: `settings.theme.${theme}`,
        label: theme === "system" ? "Theme as the system has it" : `Theme ${theme}`,
        icon: "settings",
        hint: "Settings",
        run: () => useTheme.getState().choose(theme),
      })),
    [],
  );
  useOffer("settings", commands);

  useEffect(() => {
    if (open === undefined || body.current === null) return;
    const section = body.current.querySelector<HTMLElement>(`[data-section="${CSS.escape(open)}"]`);
    if (section !== null) body.current.scrollTop = section.offsetTop;
  }, [open]);

  return (
    <ListAndEditor
      name="settings"
      title="Settings"
      list={
        <ListPane title="Settings">
          {sections.map(({ id, title, detail }) => (
            <ListEntry key={id} href={hrefOf(id)} isCurrent={id === current.id} name={title} detail={detail} />
          ))}
        </ListPane>
      }
      editor={
        <section className="pane editor" aria-label="Settings">
          <header className="pane-title settings-title">
            <h2>Settings</h2>
            <OthersMenu
              label="Go to a section"
              others={sections.map(({ id, title, detail }) => ({
                label: title,
                hint: detail,
                go: () => go({ view: "settings", path: [id] }),
              }))}
            />
          </header>
          <div className="pane-body settings-body" ref={body}>
            {sections.map(({ id, title, Content }) => (
              <section key={id} className="setting-section" data-section={id} aria-labelledby={`settings-${id}`}>
                <h3 id={`settings-${id}`}>{title}</h3>
                <Content />
              </section>
            ))}
          </div>
        </section>
      }
    />
  );
}
