/** What is around every view: the clock bar, the links to the views, the line of facts. */

import type { Page } from "playwright-core";

export function framePage(page: Page) {
  const clock = page.getByRole("group", { name: "The clock" });
  const status = page.getByRole("contentinfo");
  const banner = page.locator(".banner[role=alert]");
  const views = page.getByRole("navigation", { name: "Views", exact: true });
  return {
    clock,
    /** In the clock's own time, to the second. */
    now: async (): Promise<number> =>
      Date.parse((await clock.locator("time").getAttribute("datetime")) ?? ""),
    mode: (name: "real" | "×10" | "×60" | "×600" | "paused") =>
      clock.getByRole("radio", { name, exact: true }),
    step: clock.getByRole("button", { name: /Step to next due|Nothing is due/ }),
    advance: clock.getByRole("button", { name: /^Advance/ }).first(),
    advanceMenu: clock.getByRole("button", { name: /^Advance by another duration/ }),
    advancing: clock.getByRole("group", { name: "Advance of the clock" }),
    cancelAdvance: clock.getByRole("button", { name: "Cancel" }),
    menuItem: (name: string) => page.getByRole("menuitem", { name }),
    viewLink: (label: string) => views.getByRole("link", { name: label }),
    links: views.getByRole("link"),
    trouble: banner,
    status,
    toast: page.locator(".toast"),
    /**
     * Shown while the program does not answer; the view may say the same of what it wanted to read.
     */
    lost: banner.filter({ hasText: "Hookyard does not respond" }),
  };
}
