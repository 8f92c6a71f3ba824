/** Check a receiver: the form, the score, the checks, and the one that is open. */

import type { Page } from "playwright-core";

export function receiversPage(page: Page) {
  const form = page.getByRole("form", { name: "Check a receiver" });
  const list = page.getByRole("region", { name: "Checks", exact: true });
  const open = page.getByRole("region", { name: "The open check" });
  return {
    url: form.getByRole("textbox", { name: "URL", exact: true }),
    secret: form.getByLabel("Shared secret"),
    effects: form.getByRole("textbox", { name: /^Effects/ }),
    message: form.getByRole("textbox", { name: /^Message/ }),
    seed: form.getByRole("textbox", { name: "Seed" }),
    start: form.getByRole("button", { name: "Start" }),
    stop: form.getByRole("button", { name: "Stop" }),
    secretOf: (name: string) => form.getByText(`of ${name}`, { exact: true }),
    status: page.locator(".check-score").getByRole("status"),
    group: (name: string) => list.getByRole("button", { name: new RegExp(`^${name}`) }),
    check: (id: string) => list.getByRole("button", { name: new RegExp(`^${id} `) }),
    current: list.locator("[aria-current=true]"),
    sentence: open.getByRole("heading", { level: 2 }),
    requests: open.getByRole("group", { name: /^Request / }),
    sequence: open.getByRole("img"),
    effectsBox: open.locator(".effects"),
    fix: open.getByRole("region", { name: "Fix it" }),
    asScenario: open.getByRole("button", { name: "Run this as a scenario" }),
    again: open.getByRole("button", { name: "Check again" }),
    next: open.getByRole("button", { name: "Next finding" }),
    previous: open.getByRole("button", { name: "Previous finding" }),
    exportHtml: page.getByRole("button", { name: "Export HTML" }),
    exportMore: page.getByRole("button", { name: "Export as JSON or JUnit" }),
    menuItem: (name: string | RegExp) => page.getByRole("menuitem", { name }),
  };
}
