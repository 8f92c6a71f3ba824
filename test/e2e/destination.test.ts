import { describe, expect } from "vitest";
import { destinationsPage } from "./pages/destinations.ts";
import { seriousFindings } from "./support/axe.ts";
import { test } from "./support/inspector-test.ts";

describe("a destination", () => {
  test("is set up in steps: from the catalog, its sources, five URLs, headers, a secret, and it is on", async ({
    open,
    inspector,
  }) => {
    await inspector.call("sources.create", { name: "Shop web", writeKey: inspector.writeKey });
    await inspector.call("sources.create", { name: "Back office" });
    const { page } = await open("/destinations");
    const destinations = destinationsPage(page);
    await destinations.setUpFirst.click();
    await destinations.fresh.getByText("from the catalog").waitFor();
    expect(await destinations.problems.count()).toBe(0);
    await destinations.url(1).focus();
    await destinations.name.fill("Billing");
    await destinations.problems.first().waitFor();
    await destinations.source("Shop web").check();
    for (const number of [1, 2, 3, 4, 5]) {
      if (number > 1) await destinations.addWebhook.click();
      await destinations.url(number).fill(`http://billing.localhost/${number}`);
    }
    await destinations.fresh.getByText("A destination has at most 5 webhooks.").waitFor();
    const headers = destinations.headersOf(2);
    await headers.add.click();
    await headers.name(1).fill("Host");
    await headers.value(1).fill("billing");
    await destinations.fresh
      .getByText("Hookyard sets the header Host itself.", { exact: false })
      .waitFor();
    await headers.name(1).fill("X-Team");
    await destinations.secret.fill("s3cret");
    await destinations.make.click();
    await destinations.editor("Billing").waitFor();

    const { items } = await inspector.call("destinations.list", {});
    expect(items).toMatchObject([
      { name: "Billing", enabled: true, hasSharedSecret: true, sourceIds: [expect.any(String)] },
    ]);
    expect(items[0]?.webhooks.map(({ url, headers: own }) => [new URL(url).pathname, own])).toEqual(
      [
        ["/1", {}],
        ["/2", { "X-Team": "billing" }],
        ["/3", {}],
        ["/4", {}],
        ["/5", {}],
      ],
    );
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByText("requests no longer carry X-Signature").waitFor();
    await destinations.save.click();
    await expect
      .poll(async () => (await inspector.call("destinations.list", {})).items[0]?.hasSharedSecret)
      .toBe(false);
  });

  test("that could not be saved leaves the focus on the button that saves", async ({
    open,
    inspector,
  }) => {
    const { destination } = await inspector.shop();
    const guarded = await open(`/destinations/${destination.id}`);
    const { page } = guarded;
    const { url, save, problems } = destinationsPage(page);
    guarded.expect(/net::ERR_/);
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
    const { promise: cut, resolve: cutIt } = Promise.withResolvers<void>();
    await page.route(`**/api/destinations/${destination.id}`, async (route) => {
      ask();
      await cut;
      await route.abort();
    });
    await url(1).fill("http://billing.localhost/1");
    await save.focus();
    await page.keyboard.press("Enter");
    await asked;
    await save.and(page.locator("[aria-disabled=true]")).waitFor();
    cutIt();
    await problems.filter({ hasText: "Hookyard does not respond" }).waitFor();
    expect(await save.evaluate((button) => button.matches(":focus"))).toBe(true);
  });

  test("stands still from when it is shown", async ({ open, inspector }) => {
    const { destination } = await inspector.shop();
    const { page } = await open("/settings");
    await page.evaluate(`(() => {
      shifts = [];
      new PerformanceObserver((list) => shifts.push(...list.getEntries())).observe({ type: "layout-shift" });
    })()`);
    const reading = inspector.hold("catalog.list");
    await page.evaluate(`location.hash = "#/destinations/${destination.id}"`);
    await expect.poll(() => reading.inputs).not.toEqual([]);
    reading.release();
    await page.getByText("from the catalog").waitFor();
    // A move is reported after the frame that shows it.
    for (let frame = 0; frame < 5; frame += 1)
      await page.evaluate("new Promise((then) => requestAnimationFrame(() => setTimeout(then)))");
    const moved = await page.evaluate<string[]>(
      "shifts.flatMap(({ sources }) => sources).filter(({ node }) => node?.isConnected && document.querySelector('form')?.contains(node)).map(({ node }) => node.textContent)",
    );
    expect(moved).toEqual([]);
  });

  test("shows what was saved while it is read again", async ({ open, inspector }) => {
    const { destination } = await inspector.shop();
    const { page } = await open(`/destinations/${destination.id}`);
    const destinations = destinationsPage(page);
    await destinations.name.fill("Renamed");
    const reading = inspector.hold("destinations.list");
    await destinations.save.click();
    await destinations.save.waitFor({ state: "detached" });
    await expect.poll(() => destinations.name.inputValue()).toBe("Renamed");
    await destinations.editor("Renamed").waitFor();
    await expect.poll(() => reading.inputs).not.toEqual([]);
    reading.release();
  });

  test("is saved with what was changed: what others changed stays, and what is typed meanwhile", async ({
    open,
    inspector,
  }) => {
    const { source, destination } = await inspector.shop();
    const second = await inspector.call("sources.create", { name: "Back office" });
    const { id } = destination;
    const { page } = await open(`/destinations/${id}`);
    const destinations = destinationsPage(page);
    await destinations.name.fill("Bills");
    await inspector.call("destinations.update", { id, sourceIds: [source.id, second.id] });
    await expect.poll(() => destinations.source("Back office").isChecked()).toBe(true);

    const saves = inspector.hold("destinations.update");
    await destinations.save.click();
    await expect.poll(() => saves.inputs).toEqual([{ id, name: "Bills" }]);
    const url = "http://billing.localhost/1";
    await destinations.url(1).fill(url);
    saves.release();
    await destinations.editor("Bills").waitFor();
    await destinations.list.getByText("unsaved").waitFor();
    await expect.poll(() => destinations.url(1).inputValue()).toBe(url);
    await destinations.save.click();
    await expect.poll(() => saves.inputs).toHaveLength(2);
    expect(saves.inputs[1]).toEqual({ id, webhooks: [{ url, headers: {} }] });
    await destinations.save.waitFor({ state: "detached" });
  });

  test("has a search for its sources from 13 on, which keeps what is chosen out of sight", async ({
    open,
    inspector,
  }) => {
    const named = (nth: number) => `Shop ${String(nth).padStart(2, "0")}`;
    for (let nth = 1; nth <= 12; nth += 1)
      await inspector.call("sources.create", { name: named(nth) });
    const { page } = await open("/destinations/new");
    const { source } = destinationsPage(page);
    const sources = page.getByRole("group", { name: "Sources", exact: true });
    const search = sources.getByRole("searchbox", { name: "Search sources" });
    await source(named(12)).waitFor();
    await expect.poll(() => search.count()).toBe(0);
    await inspector.call("sources.create", { name: named(13) });
    await search.waitFor();
    await source(named(1)).check();
    await search.fill(" SHOP 1");
    await search.press("Enter");
    await sources.getByText("1 chosen, 4 found").waitFor();
    await expect.poll(() => sources.getByRole("checkbox").count()).toBe(4);
    await source(named(13)).check();
    await search.fill("nothing");
    await sources.getByText("2 chosen, 0 found").waitFor();
    await search.fill("");
    await expect.poll(() => source(named(1)).isChecked()).toBe(true);
    await expect.poll(() => source(named(13)).isChecked()).toBe(true);
    expect(await seriousFindings(page)).toEqual([]);
  });

  test("lists its deliveries with links that say which message they open", async ({
    open,
    inspector,
  }) => {
    const { destination } = await inspector.shop();
    await inspector.send([{ userId: "ada", event: "Order Completed" }]);
    await inspector.call("pipeline.settle", {});
    const { page } = await open(`/destinations/${destination.id}`);
    await page.getByRole("link", { name: /^Order Completed, ada, queued [\d:.]+$/ }).click();
    const details = page.getByRole("region", { name: "Message details" });
    await details.getByRole("heading", { name: "Order Completed" }).waitFor();
  });
});
