/** What the inspector shows of the hosted service: the switch, track calls, and why they are sent. */

import { describe, expect } from "vitest";
import { destinationsPage } from "./pages/destinations.ts";
import { settingsPage } from "./pages/settings.ts";
import { seriousFindings } from "./support/axe.ts";
import { test } from "./support/inspector-test.ts";

describe("the hosted service", () => {
  test("is a switch with pieces, each of which can be changed, and a list of what would not work there", async ({
    open,
    inspector,
  }) => {
    const { destination } = await inspector.shop();
    const { page } = await open("/settings/hosted");
    const { view } = settingsPage(page);
    const pieces = view.getByRole("table", { name: "Pieces of the switch" });
    const like = view.getByRole("switch", { name: "Like the hosted service" });
    await pieces.getByRole("row", { name: /^User-Agent of deliveries/ }).waitFor();
    await like.click();
    await expect.poll(async () => (await inspector.call("settings.get", {})).parity).toBe("hosted");
    const vendor = pieces.getByRole("combobox", { name: "User-Agent of deliveries" });
    await expect.poll(() => vendor.inputValue()).toBe("Segment.io");
    await expect.poll(() => view.getByText("hosted, changed").count()).toBe(0);
    await vendor.selectOption("Hookyard");
    await view.getByText("hosted, changed").waitFor();

    const findings = view.getByRole("list", { name: "What would not work there" });
    await findings.getByText("is a loopback address").first().waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await findings
      .getByRole("link", { name: /^open / })
      .first()
      .click();
    await destinationsPage(page).editor(destination.name).waitFor();
    await page
      .getByRole("list", { name: "At the hosted service" })
      .getByText("is a loopback address")
      .first()
      .waitFor();
  });

  test("audiences as track: chosen at the destination, and the message says why it was sent", async ({
    open,
    inspector,
  }) => {
    const { destination } = await inspector.shop();
    await inspector.call("clock.set", { mode: "paused" });
    const { page } = await open(`/destinations/${destination.id}`);
    const destinations = destinationsPage(page);
    await page
      .getByRole("radiogroup", { name: "Audiences as" })
      .getByRole("radio", { name: "track" })
      .click();
    await destinations.save.click();
    await expect
      .poll(async () => {
        const { items } = await inspector.call("destinations.list", {});
        return items[0]?.audienceCalls;
      })
      .toBe("track");

    const audience = await inspector.call("audiences.create", {
      name: "Big spenders",
      rule: { event: "Order Completed", withinDays: 7 },
      sync: "each-event",
    });
    await inspector.send([{ userId: "ana", event: "Order Completed" }]);
    await inspector.call("pipeline.settle", {});
    const { items } = await inspector.call("messages.list", { sourceId: audience.sourceId });
    expect(items).toMatchObject([{ type: "track", event: "Audience Entered" }]);
    await page.goto(page.url().replace(/#.*/, `#/live/${items[0]?.id ?? ""}`));
    const why = page.getByRole("region", { name: "Why it was sent" });
    await why.getByText("ana entered Big spenders: Order Completed was done on").waitFor();
    await why.getByRole("link", { name: `the receiver ${destination.name}` }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await why.getByRole("link", { name: "the message that made the difference" }).click();
    await page.getByRole("heading", { name: "Order Completed" }).first().waitFor();
    await page.goBack();
    await why.getByRole("link", { name: "the audience" }).click();
    await page.getByRole("heading", { name: "Big spenders" }).first().waitFor();
  });
});
