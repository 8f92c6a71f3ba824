/** Settings. */

import type { Page } from "playwright-core";

export function settingsPage(page: Page) {
  return {
    heading: page.getByRole("main").getByRole("heading", { level: 1 }),
  };
}
