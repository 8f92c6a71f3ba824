/** Scenarios: the list, the one that is open with what came of it, and its file. */

import type { Page } from "playwright-core";

export function scenariosPage(page: Page) {
  const pane = page.getByRole("region", { name: "Scenario", exact: true });
  const file = page.getByRole("textbox", { name: "The scenario's file" });
  return {
    entry: (name: string | RegExp) =>
      page.getByRole("navigation", { name: "Scenarios" }).getByRole("link", { name }),
    pane,
    title: pane.getByRole("heading", { level: 2 }),
    run: pane.getByRole("button", { name: /^Run/ }),
    result: pane.getByRole("status"),
    steps: pane.getByRole("list", { name: "Steps" }).locator(":scope > li"),
    step: (number: number) =>
      pane
        .getByRole("list", { name: "Steps" })
        .locator(":scope > li")
        .nth(number - 1),
    expectations: (number: number) =>
      pane.getByRole("list", { name: `Expectations of step ${number}` }).locator(":scope > li"),
    problems: page.getByRole("list", { name: "Problems in the file" }).getByRole("listitem"),
    file,
    text: async (): Promise<string> => (await file.innerText()).replace(/\n$/, ""),
    editCopy: page.getByRole("button", { name: "Edit a copy" }),
    chooser: page.locator("input[type=file]"),
    more: pane.getByRole("button", { name: /^More/ }),
    menuItem: (name: string | RegExp) => page.getByRole("menuitem", { name }),
    new: page.getByRole("button", { name: "New scenario" }),
  };
}
