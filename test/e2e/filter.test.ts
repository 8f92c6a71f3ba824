import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { livePage } from "./pages/live.ts";
import { test } from "./support/inspector-test.ts";
import type { RunningInspector } from "./support/running-inspector.ts";

/** 12 messages: 8 delivered, of 3 users with 2 events, 2 filtered, 2 rejected. */
async function fill(inspector: RunningInspector): Promise<void> {
  await inspector.shop();
  await inspector.send([
    ...Array.from({ length: 8 }, (_, nth) => ({
      userId: `u_${nth % 3}`,
      event: nth % 2 === 0 ? "Order Completed" : "Cart Viewed",
      properties: { nth },
    })),
    { userId: "u_9", event: "Order Completed", integrations: { All: false } },
    { type: "identify", userId: "u_9", integrations: { All: false } },
    { userId: "u_9" },
    { userId: "u_8" },
  ]);
  await inspector.call("pipeline.settle", {});
}

const hash = (page: Page): Promise<string> =>
  page.evaluate<string>("decodeURIComponent(location.hash)");

describe("the filter", () => {
  test("narrows the list by chips, several values of one meaning any", async ({
    open,
    inspector,
  }) => {
    await fill(inspector);
    const { page } = await open();
    const live = livePage(page);
    await expect.poll(() => live.count()).toBe(12);

    await live.filter.click();
    await live.suggestion(/^event:/).click();
    await live.suggestion(/Order Completed/).click();
    await expect.poll(() => live.count()).toBe(5);
    await live.filter.pressSequentially("user:u_0,u_9 ");
    await expect.poll(() => live.count()).toBe(3);
    expect(await live.chip("user").textContent()).toBe("user:u_0, u_9");
    expect(await live.rows.count()).toBe(3);

    await live.removeChip("event").click();
    await expect.poll(() => live.count()).toBe(6);
    await live.removeChip("user").click();
    await expect.poll(() => live.count()).toBe(12);
  });

  test("can be written, chosen, taken back and left with keys alone", async ({
    open,
    inspector,
  }) => {
    await fill(inspector);
    const { page } = await open();
    const live = livePage(page);
    await expect.poll(() => live.count()).toBe(12);

    await page.keyboard.press("/");
    await page.keyboard.type("sta");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await expect.poll(() => live.filter.inputValue()).toBe("state:");
    await page.keyboard.type("fil");
    await live.highlighted.filter({ hasText: "filtered" }).filter({ hasText: "2" }).waitFor();
    await page.keyboard.press("Enter");
    await expect.poll(() => live.count()).toBe(2);
    await page.keyboard.type("rej");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Backspace");
    await page.keyboard.press("Backspace");
    await page.keyboard.press("Backspace");
    await page.keyboard.type("state:rejected ");
    await expect.poll(() => live.count()).toBe(4);
    expect(await hash(page)).toContain("state=filtered,rejected");

    await page.keyboard.press("Backspace");
    await expect.poll(() => live.count()).toBe(2);
    await page.keyboard.press("Backspace");
    await expect.poll(() => live.count()).toBe(12);
    await page.keyboard.type("cart");
    await expect.poll(() => live.count()).toBe(4);

    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await expect.poll(() => live.grid.evaluate((grid) => grid.matches(":focus"))).toBe(true);
    await page.keyboard.press("j");
    await live.selected.filter({ hasText: "Cart Viewed" }).waitFor();
  });

  test("is pressed on the stages as well, which show what is pressed", async ({
    open,
    inspector,
  }) => {
    await fill(inspector);
    const { page } = await open();
    const live = livePage(page);
    await live.stage("rejected").click();
    await expect.poll(() => live.count()).toBe(2);
    await live
      .row(/event is missing/)
      .first()
      .waitFor();
    expect(await live.stage("rejected").getAttribute("aria-pressed")).toBe("true");
    expect(await live.stage("rejected").textContent()).toContain("2");
    await live.stage("filtered").click();
    await expect.poll(() => live.count()).toBe(4);
    await live.stage("received").click();
    await expect.poll(() => live.count()).toBe(12);
  });

  test("searches reasons, attempts and statuses, and says when nothing matches", async ({
    open,
    inspector,
  }) => {
    await fill(inspector);
    const { page } = await open();
    const live = livePage(page);
    for (const [text, count] of [
      ["reason:integrations_all_false ", 2],
      ["attempts:>0 ", 8],
      ["status:2xx ", 8],
      ['source:"Shop web" ', 12],
      ["type:identify ", 1],
    ] as const) {
      await live.filter.pressSequentially(text);
      await expect.poll(() => live.count(), { message: text }).toBe(count);
      await page.keyboard.press("Backspace");
      await expect.poll(() => live.count()).toBe(12);
    }
    await live.filter.pressSequentially("user:nobody ");
    await live.nothing.waitFor();
    await live.clearFilter.click();
    await expect.poll(() => live.count()).toBe(12);
  });

  test("is saved by name of what it says and chosen again after a reload", async ({
    open,
    inspector,
  }) => {
    await fill(inspector);
    const { page } = await open();
    const live = livePage(page);
    await live.stage("rejected").click();
    await live.saved.click();
    await live.menuItem("Save this filter").click();
    await live.stage("received").click();
    await expect.poll(() => live.count()).toBe(12);
    await page.reload();
    await live.saved.click();
    await live.menuItem("state:rejected").click();
    await expect.poll(() => live.count()).toBe(2);
    await live.saved.click();
    await live.menuItem("Delete this saved filter").click();
    await live.saved.click();
    await live.menuItem("Save this filter").waitFor();
    expect(await live.menuItem("state:rejected").count()).toBe(0);
  });
});
