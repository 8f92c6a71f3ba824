import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { changesPath } from "../../src/contract/places.ts";
import { detailsPage } from "./pages/details.ts";
import { livePage } from "./pages/live.ts";
import { test } from "./support/inspector-test.ts";
import type { RunningInspector } from "./support/running-inspector.ts";

const send = (inspector: RunningInspector, event: string, count: number): Promise<number> =>
  inspector.send(
    Array.from({ length: count }, (_, nth) => ({ userId: `u_${nth}`, event: `${event} ${nth}` })),
  );

async function sendThree(inspector: RunningInspector): Promise<void> {
  await inspector.shop();
  await send(inspector, "Early", 3);
  await inspector.call("pipeline.settle", {});
}

/** What a row shows changes until its message is delivered. */
async function delivered(inspector: RunningInspector, page: Page): Promise<void> {
  await inspector.call("pipeline.settle", {});
  const others = livePage(page).rows.filter({ hasNotText: "delivered" });
  await expect.poll(() => others.count()).toBe(0);
}

describe("the live tail", () => {
  test("follows until the user scrolls, counts what is new, and catches up with one press", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    await send(inspector, "Early", 120);
    const { page } = await open();
    const live = livePage(page);
    await live.row(/Early 119 of/).waitFor();
    await live.tail.filter({ hasText: "Following" }).waitFor();
    await send(inspector, "Seen", 1);
    await live.row(/Seen 0 of/).waitFor();

    await live.grid.hover();
    await page.mouse.wheel(0, 1000);
    await live.tail.filter({ hasText: /^Follow$/ }).waitFor();
    await expect.poll(() => live.row(/Seen 0 of/).count()).toBe(0);
    await expect.poll(() => live.unread.count()).toBe(0);
    await delivered(inspector, page);
    const before = await live.rows.allTextContents();
    await send(inspector, "Late", 37);
    await live.tail.filter({ hasText: "37 new" }).waitFor();
    await expect.poll(() => live.rows.allTextContents()).toEqual(before);

    await live.tail.click();
    await live.row(/Late 36 of/).waitFor();
    await live.tail.filter({ hasText: "Following" }).waitFor();
    await send(inspector, "Last", 1);
    await live.row(/Last 0 of/).waitFor();
  });

  test("is held when the keys move, keeps the selected row under them, and goes on with f", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    await send(inspector, "Early", 60);
    const { page } = await open();
    const live = livePage(page);
    await live.row(/Early 59 of/).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    await delivered(inspector, page);
    const chosen = await live.selected.textContent();
    const place = await live.selected.boundingBox();
    await send(inspector, "Late", 5);
    await live.tail.filter({ hasText: "5 new" }).waitFor();
    await expect.poll(() => live.selected.textContent()).toBe(chosen);
    expect(await live.selected.boundingBox()).toEqual(place);
    await page.keyboard.press("f");
    await live.row(/Late 4 of/).waitFor();
    await live.tail.filter({ hasText: "Following" }).waitFor();
  });

  test("shows a window of the rows only, wherever it is scrolled", async ({ open, inspector }) => {
    const { writeKey } = inspector;
    await inspector.call("sources.create", { name: "Shop web", kind: "web", writeKey });
    // More than the page keeps.
    for (let nth = 0; nth < 2; nth += 1) await send(inspector, `Batch ${nth}`, 400);
    const { page } = await open();
    const live = livePage(page);
    await expect.poll(() => live.count()).toBe(800);
    await page.keyboard.press("End");
    await live.row(/Batch 0 0 of/).waitFor();
    await page.keyboard.press("Home");
    await live.row(/Batch 1 399 of/).waitFor();
    for (let nth = 0; nth < 6; nth += 1) await page.keyboard.press("PageDown");
    await live.selected.waitFor();
    await expect.poll(() => live.rows.count()).toBeLessThan(80);
  });

  test("shares its room with the details by a line that is dragged, moved with the arrows, and kept", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    await send(inspector, "Early", 1);
    const { page } = await open();
    const live = livePage(page);
    const pane = detailsPage(page).pane;
    const width = async (): Promise<number> => (await pane.boundingBox())?.width ?? 0;
    await live.row(/Early 0 of/).click();
    await pane.waitFor();
    const before = await width();
    const line = (await live.divider.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    await page.mouse.move(line.x + line.width / 2, line.y + line.height / 2);
    await page.mouse.down();
    await page.mouse.move(line.x - 60, line.y + line.height / 2, { steps: 3 });
    await page.mouse.up();
    await expect.poll(width).toBeGreaterThan(before + 50);
    const dragged = await width();
    await live.divider.press("ArrowRight");
    await expect.poll(width).toBe(dragged - 16);
    await page.reload();
    await expect.poll(width).toBe(dragged - 16);
    await live.divider.dblclick();
    await expect.poll(width).toBe(before);
  });

  test("misses no change when its stream of changes begins late", async ({ open, inspector }) => {
    await sendThree(inspector);
    const { page } = await open();
    const live = livePage(page);
    // Late requests of the first document do not count.
    await page.goto("about:blank");
    const order: string[] = [];
    page.on("request", (request) => {
      const { pathname } = new URL(request.url());
      if (pathname.startsWith("/api/")) order.push(pathname);
    });
    const { promise: later, resolve: begin } = Promise.withResolvers<void>();
    await page.route(`**${changesPath}`, async (route) => {
      await later;
      await route.continue();
    });
    await page.goto(inspector.address);
    await live.row(/Early 2 of/).waitFor();
    expect(order[0]).toBe(changesPath);
    const { changes } = inspector.app.api;
    const before = changes.sequence();
    await send(inspector, "Late", 1);
    await inspector.call("pipeline.settle", {});
    // Changes are told in their order, so those of the message have been told with this one.
    await inspector.call("sources.create", { name: "Blog", kind: "web" });
    await expect
      .poll(() => changes.since(before)?.some(({ area }) => area === "sources"))
      .toBe(true);
    begin();
    await live.row(/Late 0 of/).waitFor();
  });

  test("is exported as NDJSON and as HAR: the selected message, or what matches", async ({
    open,
    inspector,
  }) => {
    await sendThree(inspector);
    const { page } = await open();
    const live = livePage(page);
    await live.row(/Early 1 of/).click();
    const saved = async (item: string): Promise<{ name: string; text: string }> => {
      await live.exportMenu.click();
      const download = page.waitForEvent("download");
      await live.menuItem(item).click();
      const file = await download;
      return { name: file.suggestedFilename(), text: await readFile(await file.path(), "utf8") };
    };
    const one = await saved("The selected message as NDJSON");
    expect(one.name).toMatch(/\.ndjson$/);
    expect(
      one.text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as object),
    ).toMatchObject([{ event: "Early 1", state: "delivered" }]);
    const all = await saved("The newest 1,000 messages, as HAR");
    expect(all.name).toMatch(/\.har$/);
    const har = JSON.parse(all.text) as { log: { entries: object[] } };
    expect(har.log.entries).toMatchObject(
      Array(3).fill({ request: { method: "POST" }, response: { status: 200 } }),
    );
  });

  test("is exported after the export that runs, which says that one waits", async ({
    open,
    inspector,
  }) => {
    await sendThree(inspector);
    const { page } = await open();
    const live = livePage(page);
    await live.row(/Early 1 of/).waitFor();
    const reading = inspector.hold("messages.get");
    const names: string[] = [];
    page.on("download", (file) => names.push(file.suggestedFilename().replace(/.*\./, "")));
    for (const kind of ["NDJSON", "HAR"]) {
      await live.exportMenu.click();
      await live.menuItem(`The newest 1,000 messages, as ${kind}`).click();
    }
    const notice = page.locator(".live-notice");
    await notice.getByText("Exporting 0 of 3 messages, 1 more waits").waitFor();
    reading.release();
    await expect.poll(() => names).toEqual(["ndjson", "har"]);
    await expect.poll(() => notice.count()).toBe(0);
  });
});
