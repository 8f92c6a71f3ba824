/** The bar of a story, and what the page shows while one plays. */

import type { Page } from "playwright-core";

export function storyPage(page: Page) {
  const bar = page.getByRole("region", { name: "Story", exact: true });
  return {
    bar,
    title: bar.getByRole("heading", { level: 1 }),
    at: (scene: number, of: number) => bar.getByText(`${scene} of ${of}`),
    next: bar.getByRole("button", { name: "Next" }),
    back: bar.getByRole("button", { name: "Back" }),
    play: bar.getByRole("button", { name: "Play" }),
    highlighted: page.locator("main [data-highlight]"),
    leave: page.getByRole("button", { name: "Leave the story" }),
  };
}
