/** What if an attempt had been answered differently: the question, both timelines, what differs. */

import type { Page } from "playwright-core";

export function whatIfPage(page: Page) {
  const pane = page.getByRole("region", { name: "Both timelines" });
  const question = pane.getByRole("group", { name: "What if" });
  return {
    open: page.getByRole("link", { name: /^What if/ }),
    pane,
    round: question.getByRole("combobox", { name: "Round" }),
    webhook: question.getByRole("combobox", { name: "Webhook" }),
    answer: question.getByRole("combobox", { name: "Answer" }),
    part: (name: string | RegExp) => pane.getByRole("heading", { name }),
    mark: (name: string | RegExp) => pane.getByRole("button", { name }),
    /** One line of what differs. */
    difference: (name: string | RegExp) =>
      pane.getByRole("table", { name: "What differs" }).getByRole("row", { name }),
    scenario: page
      .getByRole("region", { name: "Scenario" })
      .getByRole("textbox", { name: "The scenario" }),
    changed: page.getByRole("region", { name: "Scenario" }).locator(".changed"),
    back: page.getByRole("link", { name: "Attempt", exact: true }),
  };
}
