/** The list below the filter: what it offers can be read, and it covers nothing that must be. */

import { describe, expect } from "vitest";
import { filterKeys } from "../../src/domain/message-filter.ts";
import { livePage } from "./pages/live.ts";
import { test } from "./support/inspector-test.ts";
import type { RunningInspector } from "./support/running-inspector.ts";

async function fill(inspector: RunningInspector): Promise<void> {
  await inspector.shop();
  await inspector.send([{ userId: "ada", event: "Order Completed" }]);
  await inspector.call("pipeline.settle", {});
}

describe("suggestions of the filter", () => {
  test("name every key with a hint that fits into the list", async ({ open, inspector }) => {
    await fill(inspector);
    const { page } = await open();
    const live = livePage(page);
    await page.keyboard.press("/");
    const offered = live.suggestion(/^[a-z]+:/);
    await expect.poll(() => offered.count()).toBe(filterKeys.length);
    await expect
      .poll(() =>
        offered.evaluateAll((options) =>
          options
            .filter((option) => option.scrollWidth > option.clientWidth)
            .map((option) => option.textContent),
        ),
      )
      .toEqual([]);
  });

  test("leave the sentence on an unknown key in view, and come back with the next word", async ({
    open,
    inspector,
  }) => {
    await fill(inspector);
    const { page } = await open();
    const live = livePage(page);
    await page.keyboard.press("/");
    await page.keyboard.type("colour:red ");
    await page.getByRole("alert").filter({ hasText: "Unknown key “colour”" }).waitFor();
    await expect.poll(() => live.suggestions.count()).toBe(0);
    await page.keyboard.type("st");
    await live.suggestion(/^state:/).waitFor();
  });
});
