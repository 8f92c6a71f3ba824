/** Profiles: the list, one of them, and how its identities were joined. */

import type { Page } from "playwright-core";

export function profilesPage(page: Page) {
  const list = page.getByRole("navigation", { name: "Profiles", exact: true });
  const who = page.getByRole("region", { name: "Identities and their history" });
  return {
    list,
    find: page.getByRole("textbox", { name: "Find a profile" }),
    entry: (name: string) => list.getByRole("link", { name }),
    profile: (name: string) => page.getByRole("region", { name: `Profile ${name}`, exact: true }),
    part: (title: string) => page.getByRole("region", { name: title, exact: true }),
    identities: who.getByRole("region", { name: "Identities", exact: true }).getByRole("listitem"),
    history: who.getByRole("region", { name: "How they were merged" }).getByRole("listitem"),
  };
}
