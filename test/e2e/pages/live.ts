/** Live: the stages, the filter, the list. */

import type { Page } from "playwright-core";

export function livePage(page: Page) {
  const stages = page.getByRole("group", { name: "Stages, each a filter" });
  const list = page.getByRole("region", { name: "Messages" });
  const grid = list.getByRole("grid", { name: "Messages, newest first" });
  const filter = list.getByRole("combobox", { name: "Filter messages" });
  const suggestions = list.getByRole("listbox", { name: "Suggestions" });
  return {
    stages,
    stage: (state: string) => stages.getByRole("button", { name: new RegExp(`${state}$`) }),
    list,
    grid,
    /** Of messages: the head of the table has no selection. */
    rows: grid.locator("[role=row][aria-selected]"),
    /** Rows that are still being read. */
    unread: grid.locator("[role=row][aria-busy=true]"),
    /** A row is named with all it shows. */
    row: (name: string | RegExp) => grid.getByRole("row", { name }),
    selected: grid.getByRole("row", { selected: true }),
    filter,
    chips: list.locator(".chip"),
    chip: (key: string) =>
      list.getByRole("button", { name: new RegExp(`^${key}: .*Add another$`) }),
    removeChip: (key: string) => list.getByRole("button", { name: `Remove the filter ${key}` }),
    suggestions,
    suggestion: (name: string | RegExp) => suggestions.getByRole("option", { name }),
    highlighted: suggestions.getByRole("option", { selected: true }),
    tail: list.locator("[aria-keyshortcuts=f]"),
    saved: list.getByRole("button", { name: "Saved filters" }),
    exportMenu: list.getByRole("button", { name: "Export messages" }),
    /** In the dialog that saves a filter. */
    filterName: page.getByRole("dialog", { name: "Save this filter" }).getByRole("textbox", {
      name: "Name",
    }),
    saveFilter: page.getByRole("dialog").getByRole("button", { name: "Save", exact: true }),
    /** How many match, and what can be done with them. */
    matching: list.getByRole("group", { name: "Matching messages" }),
    /** What can be done with several that are selected. */
    several: list.getByRole("group", { name: "Selected messages" }),
    severalDo: (name: string) =>
      list
        .getByRole("group", { name: "Selected messages" })
        .getByRole("button", { name, exact: true }),
    retryThese: list.getByRole("button", { name: "Retry these" }),
    confirmRetry: page.getByRole("dialog").getByRole("button", { name: /^Retry [\d,]+ now$/ }),
    dialogTitle: page.getByRole("dialog").getByRole("heading"),
    closeDialog: page.getByRole("dialog").getByRole("button", { name: "Close" }),
    /** Of the rows, from the newest. */
    users: (): Promise<string[]> =>
      grid.locator("[role=row][aria-selected] .what code").allTextContents(),
    menuItem: (name: string) => page.getByRole("menuitem", { name }),
    divider: page.getByRole("separator", { name: "Width of the details" }),
    clearFilter: list.getByRole("button", { name: "Clear the filter" }),
    nothing: list.getByText("No message matches"),
    /** What the free text may mean, when nothing has it. */
    meant: list.getByRole("button", { name: /^Search for / }),
    /** How many match, as the list tells who cannot see it. */
    count: async (): Promise<number> => Number(await grid.getAttribute("aria-rowcount")) - 1,
  };
}
