/**
 * One attempt: how it ended, its phases, its bytes, its signature; the signature's part is also a
 * tab of the details.
 */

import type { Page } from "playwright-core";

export function attemptPage(page: Page) {
  const pane = page.getByRole("region", { name: "Attempt", exact: true });
  return {
    pane,
    outcome: pane.getByRole("heading", { level: 2 }),
    request: pane.getByRole("group", { name: "Request, exact bytes" }),
    response: pane.getByRole("group", { name: "Response, exact bytes" }),
    previous: pane.getByRole("button", { name: "Previous attempt" }),
    next: pane.getByRole("button", { name: "Next attempt" }),
    all: page.getByRole("navigation", { name: "Attempts by round" }).getByRole("link"),
    backToLive: page.getByRole("link", { name: "Live" }).last(),
    signature: signatureOf(page),
  };
}

export function signatureOf(page: Page) {
  return {
    right: page.getByText("valid for these bytes"),
    showSecret: page.getByRole("button", { name: "Show", exact: true }),
    by: (name: "digest" | "body") =>
      page.getByRole("radiogroup", { name: "Compare by" }).getByRole("radio", { name }),
    digest: page.getByRole("textbox", { name: "Paste your receiver's digest" }),
    body: page.getByRole("textbox", { name: "Paste your receiver's body" }),
    /** Why the two differ, in sentences. */
    found: page.locator(".verdict"),
    firstDifference: page.getByRole("group", { name: "First differing byte" }),
    causes: page
      .getByRole("list", { name: "What was tried" })
      .getByRole("listitem")
      .filter({ has: page.locator("svg") }),
  };
}
