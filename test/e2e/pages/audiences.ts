/** Audiences and computed traits: the steps of each, and what was sent to receivers. */

import type { Locator, Page } from "playwright-core";

/** Parts of a rule by their place among all of its conditions, from the top. */
function ruleOf(rule: Locator) {
  return {
    addTrait: rule.getByRole("button", { name: "trait", exact: true }).last(),
    addEvent: rule.getByRole("button", { name: "event", exact: true }).last(),
    addGroup: rule.getByRole("button", { name: "group", exact: true }).last(),
    addProperty: rule.getByRole("button", { name: "property", exact: true }).first(),
    event: rule
      .getByRole("combobox", { name: "Event" })
      .or(rule.getByRole("textbox", { name: "Event" })),
    trait: rule
      .getByRole("combobox", { name: "Trait" })
      .or(rule.getByRole("textbox", { name: "Trait" })),
    property: rule
      .getByRole("combobox", { name: "Property" })
      .or(rule.getByRole("textbox", { name: "Property" })),
    comparison: rule.getByRole("combobox", { name: "Comparison" }),
    value: rule.getByRole("textbox", { name: "Value" }),
    howOften: rule.getByRole("textbox", { name: "How often" }),
    withinDays: rule.getByRole("textbox", { name: "Within days; empty for no limit" }),
    not: rule.getByRole("button", { name: /^not: / }),
    remove: rule.getByRole("button", { name: /^Remove condition/ }),
  };
}

export function audiencesPage(page: Page) {
  const list = page.getByRole("navigation", { name: "Audiences", exact: true });
  const sent = page.getByRole("table", { name: "Sent to receivers, newest first" });
  return {
    list,
    entry: (name: string | RegExp) => list.getByRole("link", { name }),
    makeFirst: page.getByRole("button", { name: "Create an audience" }),
    makeFirstTrait: page.getByRole("button", { name: "Create a computed trait" }),
    editor: (name: string) => page.getByRole("region", { name: `Audience ${name}`, exact: true }),
    trait: (name: string) =>
      page.getByRole("region", { name: `Computed trait ${name}`, exact: true }),
    name: page.getByRole("textbox", { name: "Name", exact: true }),
    rule: ruleOf(page.getByRole("group", { name: "Rule", exact: true })),
    computation: ruleOf(page.getByRole("group", { name: "Computation" })),
    aggregate: page.getByRole("combobox", { name: "Aggregate", exact: true }),
    matching: page.getByRole("listitem", { name: "Matching users" }).getByRole("status"),
    values: page.getByRole("listitem", { name: "Values", exact: true }).getByRole("status"),
    sampled: (userId: string) =>
      page.getByRole("list", { name: "Sample" }).getByRole("button", { name: userId }),
    why: (userId: string) => page.getByLabel(new RegExp(`^Why ${userId} `)),
    make: page.getByRole("button", { name: /^Create/ }),
    save: page.getByRole("button", { name: "Save", exact: true }),
    size: page.getByRole("listitem", { name: "Send", exact: true }).getByRole("status"),
    sync: page.getByRole("button", { name: "Sync now" }),
    syncProgress: page.getByRole("progressbar", { name: "Sync" }),
    cancelSync: page.getByRole("button", { name: "Cancel", exact: true }),
    members: page.getByRole("textbox", { name: "Members, a userId on each line" }),
    does: (what: string | RegExp) => page.getByRole("button", { name: what }),
    daysPass: page.getByRole("button", { name: /^Advance .* days/ }),
    problems: page.getByRole("alert"),
    sent: sent.getByRole("rowgroup").getByRole("row"),
  };
}
