/** Retries: all deliveries that wait or may be retried, and the retry of all that match. */

import type { Page } from "playwright-core";

export function retriesPage(page: Page) {
  const view = page.getByRole("region", { name: "Retries", exact: true });
  const dialog = page.getByRole("dialog");
  return {
    view,
    state: (name: "waiting" | "failed" | "expired" | "cancelled") =>
      view.getByRole("radio", { name: new RegExp(name) }),
    grid: view.getByRole("grid"),
    rows: view.getByRole("grid").locator("[role=row][aria-selected]"),
    active: view.getByRole("row", { selected: true }),
    retryAll: view.getByRole("button", { name: /^Retry/ }),
    dialog,
    title: dialog.getByRole("heading"),
    confirm: dialog.getByRole("button", { name: /^Retry/ }),
    cancelRest: dialog.getByRole("button", { name: "Cancel the rest" }),
    progress: dialog.getByRole("progressbar"),
    close: dialog.getByRole("button", { name: "Close" }),
  };
}
