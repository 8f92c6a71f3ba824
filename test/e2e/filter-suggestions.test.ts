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

  test("keep a letter that is typed in the moment in which they decide a name before it", async ({
    open,
    inspector,
  }) => {
    await fill(inspector);
    const { page } = await open();
    const live = livePage(page);
    await expect.poll(() => live.count()).toBe(1);
    const reading = inspector.hold("messages.values");
    await page.keyboard.press("/");
    await page.keyboard.type("event:order completed ");
    await page.evaluate(`(() => {
      const field = document.activeElement;
      const { set } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
      new MutationObserver((_, observer) => {
        if (document.querySelector("[role=listbox]") === null) return;
        observer.disconnect();
        set.call(field, field.value + "u");
        field.dispatchEvent(new Event("input", { bubbles: true }));
      }).observe(field.closest(".live-filter"), { subtree: true, childList: true });
    })()`);
    reading.release();
    await live.chip("event").waitFor();
    await page.keyboard.type("ser:ada ");
    await expect.poll(() => live.chip("user").textContent()).toBe("user:ada");
  });
});
