/** The composer: a call, sent as a source, and the same call as clients make it. */

import type { Page } from "playwright-core";

export function composerPage(page: Page) {
  const dialog = page.getByRole("dialog", { name: "Compose a message" });
  const same = dialog.getByRole("region", { name: "The same call" });
  return {
    dialog,
    type: (name: string) =>
      dialog.getByRole("radiogroup", { name: "Type" }).getByRole("radio", { name, exact: true }),
    sentBy: dialog.getByRole("combobox", { name: "Sent by" }),
    body: dialog.getByRole("textbox", { name: "The call" }),
    problem: dialog.getByRole("alert"),
    send: dialog.getByRole("button", { name: "Send", exact: false }).first(),
    answer: dialog.getByRole("status"),
    seeInLive: dialog.getByRole("button", { name: "Open Live" }),
    seeClient: dialog.getByRole("button", { name: "Open the client" }),
    as: (kind: string) => same.getByRole("radio", { name: kind, exact: true }),
    kinds: same.getByRole("radio"),
    snippet: same.locator("pre"),
  };
}
