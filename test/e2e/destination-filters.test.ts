import { describe, expect } from "vitest";
import { destinationsPage } from "./pages/destinations.ts";
import { livePage } from "./pages/live.ts";
import { framePage } from "./pages/frame.ts";
import { seriousFindings } from "./support/axe.ts";
import { test } from "./support/inspector-test.ts";

describe("filters of a destination", () => {
  test("are made, previewed against the last messages, and name themselves in what they did", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    const order = (userId: string, event: string) => ({
      userId,
      event,
      properties: { email: `${userId}@example.com`, total: 1 },
    });
    await inspector.send([order("u_1", "Order Completed"), order("u_2", "Cart Viewed")]);
    const { page } = await open("/destinations");
    const destinations = destinationsPage(page);
    const { filters } = destinations;
    await destinations.entry("Billing").click();
    await destinations.show("filters").click();
    await filters.add.click();
    await filters.condition("Filter 1").fill('event = "Cart Viewed"');
    await filters.condition("Filter 1").press("Enter");
    await filters.enable("Filter 1").press("Space");
    await page.getByText("1 would be dropped and 0 changed").waitFor();
    await filters.add.click();
    await filters.action("Filter 2").selectOption("drop-properties");
    await filters.members("Filter 2").waitFor();
    await filters.enable("Filter 2").press("Space");
    await page.getByText("1 would be dropped and 1 changed").waitFor();
    const changed = filters.previewed.getByRole("button", { name: /changed.*u_1/ });
    await changed.focus();
    await page.keyboard.press("Enter");
    await page.getByLabel("Payload with filters").waitFor();
    expect(await page.getByLabel("Payload without filters").textContent()).toContain("email");
    expect(await page.getByLabel("Payload with filters").textContent()).not.toContain("email");
    expect(await seriousFindings(page)).toEqual([]);

    await inspector.send([order("u_3", "Cart Viewed"), order("u_4", "Order Completed")]);
    await framePage(page).viewLink("Live").click();
    const live = livePage(page);
    await live.row(/u_3.*filtered: filter_dropped/).waitFor();
    await live.row(/u_4/).click();
    await page
      .getByRole("region", { name: "Message details" })
      .getByText("removed properties.email", { exact: false })
      .first()
      .waitFor();
  });
});
