/** A message beside the list: its trace, its retry timeline, its bytes. */

import type { Page } from "playwright-core";

export function detailsPage(page: Page) {
  const pane = page.getByRole("region", { name: "Message details" });
  const timeline = pane.getByRole("group", { name: /^Retry timeline of/ });
  return {
    pane,
    heading: pane.getByRole("heading", { level: 2 }),
    /** Of the only delivery, or of the message when it has none. */
    state: pane.locator(".line .state").first(),
    trace: pane.getByRole("listitem").filter({ has: page.locator(".name") }),
    deliveries: pane.getByRole("list", { name: "Deliveries" }).getByRole("listitem"),
    retryNow: pane.getByRole("button", { name: "Retry now" }).first(),
    cancel: pane.getByRole("button", { name: "Cancel" }).first(),
    copy: pane.getByRole("button", { name: "Copy", exact: true }),
    replay: pane.getByRole("button", { name: "Replay" }),
    close: pane.getByRole("button", { name: "Close details" }),
    timeline,
    scale: (name: "log" | "linear" | "compact") =>
      pane.getByRole("radiogroup", { name: "Scale" }).getByRole("radio", { name }),
    /** Its menu, and what is in it. */
    timelineMenu: pane.getByRole("button", { name: "More about the timeline" }),
    menuItem: (name: string | RegExp) => page.getByRole("menuitem", { name }),
    wholeWindow: pane.getByRole("button", { name: "Whole window" }),
    /** One per webhook. */
    lanes: timeline.getByRole("group", { name: /^Webhook/ }),
    /** Each is named with its round and how it ended. */
    marks: timeline.getByRole("button"),
    mark: (name: string | RegExp) => timeline.getByRole("button", { name }),
    tab: (name: "Payload" | "Raw" | "Attempts" | "Signature") =>
      pane.getByRole("tab", { name: new RegExp(`^${name}`) }),
    panel: pane.getByRole("tabpanel"),
    look: (name: "tree" | "text" | "hex") =>
      pane.getByRole("radiogroup", { name: "Show as" }).getByRole("radio", { name }),
    attempts: pane.getByRole("tabpanel").getByRole("link"),
  };
}
