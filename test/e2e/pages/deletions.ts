/** Deletions: a request being written, one that is followed, and suppressed users. */

import type { Page } from "playwright-core";

export function deletionsPage(page: Page) {
  const list = page.getByRole("navigation", { name: "Deletions", exact: true });
  const dialog = page.getByRole("dialog");
  return {
    list,
    entry: (name: string | RegExp) => list.getByRole("link", { name }),
    first: page.getByRole("main").getByRole("button", { name: "Delete users" }).last(),
    users: page.getByRole("textbox", { name: "Users" }),
    known: page.getByRole("list", { name: "Known users" }).getByRole("listitem"),
    sends: page.getByRole("checkbox", { name: "Send delete messages to destinations" }),
    suppresses: page.getByRole("checkbox", { name: "Suppress: reject later messages" }),
    ask: page.getByRole("button", { name: /^Delete (\d+|1) users?$/ }),
    confirm: dialog.getByRole("button", { name: /^Delete/ }),
    deletion: (name: string) =>
      page.getByRole("region", { name: `Deletion of ${name}`, exact: true }),
    state: page.getByRole("region", { name: "State", exact: true }),
    messagesOf: (userId: string) =>
      page.getByRole("list", { name: `Delete messages for ${userId}` }).getByRole("listitem"),
    suppressed: page.getByRole("textbox", { name: "Suppress without deleting" }),
    suppress: page.getByRole("button", { name: "Suppress", exact: true }),
    lift: (userId: string) =>
      page.getByRole("button", { name: `Lift the suppression of ${userId}` }),
  };
}
