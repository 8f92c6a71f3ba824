/** Live before the first message. */

import type { Page } from "playwright-core";

export function welcomePage(page: Page) {
  const start = page.getByRole("region", { name: "First message" });
  const demo = page.getByRole("complementary", { name: "Demo workspace" });
  return {
    start,
    heading: start.getByRole("heading", { name: "Send the first message" }),
    as: (kind: string) => start.getByRole("radio", { name: kind, exact: true }),
    snippet: start.locator("pre"),
    sendSample: start.getByRole("button", { name: "Send a sample" }),
    nothingArrives: start.getByRole("link", { name: "Nothing arrives?" }),
    openDemo: demo.getByRole("button", { name: "Open the demo workspace" }),
  };
}
