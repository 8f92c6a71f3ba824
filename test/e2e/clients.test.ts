import { describe, expect } from "vitest";
import { clientsPage } from "./pages/clients.ts";
import { composerPage } from "./pages/composer.ts";
import { livePage } from "./pages/live.ts";
import { test } from "./support/inspector-test.ts";

describe("a simulated client", () => {
  test("fills its queue, counts down, and its batch leaves and arrives; size and interval change while it runs", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    await inspector.call("clock.set", { mode: "paused" });
    const { page } = await open("/clients");
    const view = clientsPage(page);
    await view.makeFirst.click();
    // It is listed before its own answer opens it.
    await view.name.and(page.locator(":focus")).waitFor();
    await page.keyboard.type("Checkout service");
    await page.keyboard.press("Enter");
    await view.client("Checkout service").waitFor();

    for (let nth = 1; nth <= 7; nth += 1) {
      await view.make.click();
      await view.queue.getByText(`${nth} of 20`, { exact: true }).waitFor();
    }
    await view.queue.getByText("flushes in 5 s").waitFor();
    await inspector.call("clock.advance", { byMs: 2000 });
    await view.queue.getByText("flushes in 3 s").waitFor();
    await view.flushAfter.fill("4 s");
    await view.flushAfter.press("Enter");
    await view.queue.getByText("flushes in 2 s").waitFor();

    await inspector.call("clock.advance", { byMs: 2000 });
    await view.queue.getByText("0 of 20", { exact: true }).waitFor();
    await view
      .batch(1)
      .filter({ hasText: "7 calls" })
      .filter({ hasText: "interval elapsed" })
      .filter({ hasText: "sent, 200" })
      .waitFor();
    expect((await inspector.call("messages.list", { state: "delivered" })).total).toBe(7);

    await view.flushAt.fill("3");
    await view.flushAt.press("Enter");
    await view.queue.getByText("0 of 3", { exact: true }).waitFor();
    for (let nth = 0; nth < 3; nth += 1) await view.make.click();
    await view
      .batch(2)
      .filter({ hasText: "3 calls" })
      .filter({ hasText: "queue full" })
      .filter({ hasText: "sent, 200" })
      .waitFor();
    await view.batch(2).getByRole("button").click();
    await expect.poll(() => view.sentCalls.count()).toBe(3);
    await view.log.filter({ hasText: /200/ }).first().waitFor();
    await view.sentCalls.first().click();
    await expect.poll(() => livePage(page).rows.count()).toBe(1);
  });

  test("shows its retries, and what is wrong with a call", async ({ open, inspector }) => {
    const { source } = await inspector.shop();
    await inspector.call("clock.set", { mode: "paused" });
    await inspector.call("sources.update", {
      id: source.id,
      faults: [{ do: "answer", status: 503, times: 2 }],
    });
    await inspector.call("clients.create", { name: "Worker", sourceId: source.id, flushAt: 1 });
    const guarded = await open("/clients");
    const { page } = guarded;
    const view = clientsPage(page);
    await view.body.fill('{"event": "Order Completed"}');
    await view.make.click();
    await view.problem.filter({ hasText: "userId" }).waitFor();
    guarded.expect(/status of 400/);
    await view.body.fill('{"event": "Order Completed", "userId": "ana"}');
    await view.body.press("ControlOrMeta+Enter");
    await view.batch(1).filter({ hasText: "waiting" }).waitFor();
    await inspector.call("clock.advance", { byMs: 60_000 });
    await view.batch(1).filter({ hasText: "sent, 200" }).waitFor();
    await view.queue.getByText("2 retries").waitFor();
    await view.batch(1).getByRole("button").press("Enter");
    await expect.poll(() => view.tries.count()).toBe(3);
    await view.tries.filter({ hasText: "503" }).first().waitFor();
  });

  test("makes calls by itself at a pace of the clock", async ({ open, inspector }) => {
    const { source } = await inspector.shop();
    await inspector.call("clock.set", { mode: "paused" });
    await inspector.call("clients.create", { name: "Worker", sourceId: source.id });
    const { page } = await open("/clients");
    const view = clientsPage(page);
    await view.howMany.fill("30");
    await view.pace.fill("10");
    await view.start.click();
    await page.getByText("1 of 30 generated").waitFor();
    await inspector.call("clock.advance", { byMs: 10_000 });
    await view.batch(2).filter({ hasText: "10 calls" }).filter({ hasText: "sent, 200" }).waitFor();
    expect((await inspector.call("messages.list", {})).total).toBe(30);

    const { id } = await inspector.call("clients.create", { name: "Other", writeKey: "nobody's" });
    const writeKey = async () => (await inspector.call("clients.get", { id })).writeKey;
    await page.evaluate(`location.hash = "#/clients/${id}"`);
    await view.source.selectOption(source.name);
    await expect.poll(writeKey).toBe(source.writeKey);
    await page.keyboard.press("Control+z");
    await expect.poll(writeKey).toBe("nobody's");
    await page.keyboard.press("Control+Shift+z");
    await expect.poll(writeKey).toBe(source.writeKey);
  });

  test("is what the composer sends through, once it is chosen", async ({ open, inspector }) => {
    const { source } = await inspector.shop();
    await inspector.call("clock.set", { mode: "paused" });
    await inspector.call("clients.create", { name: "Worker", sourceId: source.id });
    const { page } = await open("/settings");
    const composer = composerPage(page);
    await page.keyboard.press("n");
    await composer.sentBy.selectOption({ label: "client Worker" });
    await composer.send.click();
    await composer.answer.filter({ hasText: "queued, 1 of 20" }).waitFor();
    await composer.seeClient.click();
    await clientsPage(page).queue.getByText("1 of 20", { exact: true }).waitFor();
    expect((await inspector.call("messages.list", {})).total).toBe(0);
    await page.keyboard.press("n");
    await expect
      .poll(() => composer.sentBy.locator("option:checked").textContent())
      .toBe("client Worker");
  });
});
