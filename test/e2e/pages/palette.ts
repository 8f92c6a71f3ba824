/** The command palette and the list of shortcuts, which lie over every view. */

import type { Page } from "playwright-core";

export function palettePage(page: Page) {
  const dialog = page.getByRole("dialog", { name: "Commands" });
  return {
    dialog,
    input: dialog.getByRole("combobox"),
    offers: dialog.getByRole("option"),
    chosen: dialog.getByRole("option", { selected: true }),
    open: () => page.keyboard.press("ControlOrMeta+k"),
    /** Without the pointer, from wherever the focus is. */
    async run(command: string): Promise<void> {
      await page.keyboard.press("ControlOrMeta+k");
      await dialog.getByRole("combobox").fill(command);
      // The last offer repeats whatever was typed.
      await dialog
        .getByRole("option", { selected: true })
        .filter({ hasText: command, hasNotText: "Filter messages for" })
        .waitFor();
      await page.keyboard.press("Enter");
      await dialog.waitFor({ state: "detached" });
    },
    shortcuts: page.getByRole("dialog", { name: "Shortcuts" }),
  };
}
