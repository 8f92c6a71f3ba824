/** Settings: one page in sections. */

import type { Page } from "playwright-core";

export function settingsPage(page: Page) {
  const view = page.getByRole("region", { name: "Settings", exact: true });
  const dialog = page.getByRole("dialog");
  return {
    view,
    section: (title: string) => view.getByRole("region", { name: title, exact: true }),
    field: (label: string) => view.getByRole("textbox", { name: label, exact: true }),
    jitter: view.getByRole("checkbox", { name: /^Jitter/ }),
    durability: (name: "NORMAL" | "FULL") =>
      view
        .getByRole("radiogroup", { name: "Durability" })
        .getByRole("radio", { name, exact: true }),
    /** Of the switch that makes Hookyard like the hosted service. */
    piece: (title: string) => view.getByRole("combobox", { name: title, exact: true }),
    theme: (name: "system" | "light" | "dark") =>
      view.getByRole("radiogroup", { name: "Theme" }).getByRole("radio", { name, exact: true }),
    withSecrets: view.getByRole("checkbox", { name: /^Include the shared secrets/ }),
    saveConfiguration: view.getByRole("button", { name: "Save as a file" }),
    configurationFile: view.getByLabel("Configuration file"),
    removeMessages: view.getByRole("button", { name: "Remove all messages…" }),
    dialog,
    confirm: dialog.getByRole("button", { name: /^Remove/ }),
    keep: dialog.getByRole("button", { name: "Cancel" }),
  };
}
