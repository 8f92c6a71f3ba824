import { describe, expect } from "vitest";
import { destinationsPage } from "./pages/destinations.ts";
import { seriousFindings } from "./support/axe.ts";
import { test } from "./support/inspector-test.ts";

describe("one destination", () => {
  test("gets a test event, and shows the request and the response", async ({ open, inspector }) => {
    await inspector.shop();
    const { page } = await open("/destinations");
    const destinations = destinationsPage(page);
    await destinations.entry("Billing").click();
    await destinations.show("test event").click();
    await destinations.test.event.fill("{");
    await destinations.test.send.click();
    await page.getByText("The event is not valid JSON.").waitFor();
    await destinations.test.event.fill('{"type":"track","userId":"u_7","event":"Order Completed"}');
    await destinations.test.send.click();
    const { result } = destinations.test;
    const request = result.getByLabel("Request, exact bytes").first();
    await request.waitFor();
    await expect.poll(() => request.textContent()).toContain("X-Signature");
    await expect.poll(() => request.textContent()).toContain("u_7");
    await result.getByLabel("Response, exact bytes").first().waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    const sending = inspector.hold("destinations.test");
    await destinations.test.send.click();
    await result.waitFor({ state: "detached" });
    sending.release();
    await result.waitFor();
  });

  test("with mappings sends the request of each that matches, and says why others do not", async ({
    open,
    inspector,
  }) => {
    const { source, endpoint } = await inspector.shop();
    await inspector.call("destinations.create", {
      kind: "webhooks-actions",
      name: "Ledger",
      sourceIds: [source.id],
      mappings: [
        { name: "Orders", url: endpoint.url, batch: { enabled: true } },
        { name: "People", trigger: 'type = "identify"', url: endpoint.url },
      ],
    });
    const { page } = await open("/destinations");
    const destinations = destinationsPage(page);
    await destinations.entry("Ledger").click();
    await destinations.show("test event").click();
    await destinations.test.send.click();
    const { result } = destinations.test;
    await result.getByText("Its data is sent as a batch of one.").waitFor();
    await result.getByText("trigger_not_met").waitFor();
    const sent = result.getByRole("region", { name: "Test at Orders" });
    const request = sent.getByLabel("Request, exact bytes").first();
    await request.waitFor();
    await expect.poll(() => request.textContent()).toContain('[{"');
    await expect.poll(() => result.getByRole("region", { name: "Test at People" }).count()).toBe(0);
    expect(await seriousFindings(page)).toEqual([]);
  });

  test("shows what became of its messages, and sends those of a period again", async ({
    open,
    inspector,
  }) => {
    await inspector.call("clock.set", { mode: "paused" });
    const { destination } = await inspector.shop();
    await inspector.call("destinations.update", {
      id: destination.id,
      filters: [{ name: "No carts", if: 'event = "Cart Viewed"', action: "drop" }],
    });
    const order = { userId: "u_7", event: "Order Completed", messageId: "m-1" };
    await inspector.send([order, order, { userId: "u_7", event: "Cart Viewed" }]);
    await inspector.call("pipeline.settle", {});
    const { page } = await open("/destinations");
    const { entry, show, funnel } = destinationsPage(page);
    await entry("Billing").click();
    await show("funnel").click();
    await funnel.reasonsOf("filtered at destination").getByText("filter_dropped").waitFor();
    await funnel.reasonsOf("filtered at source").getByText("duplicate").waitFor();
    await funnel.reasonsOf("delivered").getByText("succeeded").waitFor();
    expect(await seriousFindings(page)).toEqual([]);

    await funnel.sendAgain.click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Send 2 messages again?").waitFor();
    await dialog.getByRole("button", { name: "Send 2 again" }).click();
    await dialog.getByText("2 messages done").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    const { items } = await inspector.call("messages.list", { search: "m-1" });
    expect(items.filter(({ replayOf }) => replayOf !== null)).toMatchObject([{ messageId: "m-1" }]);

    await funnel.period.selectOption("a period");
    await page.getByLabel("From", { exact: true }).fill("12001-01-01T00:00:00");
    await page.getByText("A year has four digits.").waitFor();
    await funnel.reasonsOf("delivered").waitFor();
    expect(await funnel.sendAgain.isDisabled()).toBe(true);
    await page.getByLabel("From", { exact: true }).fill("2001-01-01T00:00:00");
    await page.getByLabel("Until", { exact: true }).fill("2001-01-02T00:00:00");
    await page.getByText("Its sources received no message in this period.").waitFor();
    await funnel.period.selectOption("all messages");
    await funnel.reasonsOf("delivered").getByRole("link").first().click();
    await page.getByRole("tab", { name: "Payload" }).waitFor();
  });
});
