import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { flowPage } from "./pages/flow.ts";
import { framePage } from "./pages/frame.ts";
import { livePage } from "./pages/live.ts";
import { seriousFindings } from "./support/axe.ts";
import { test } from "./support/inspector-test.ts";
import { layoutFindings } from "./support/layout.ts";
import type { RunningInspector } from "./support/running-inspector.ts";

const order = (userId: string) => ({ userId, event: "Order Completed", properties: { total: 20 } });

/** A second webhook of the shop, which always answers 503. */
async function addLedger({ call }: RunningInspector, sourceIds: string[]) {
  const bad = await call("endpoints.create", {
    name: "ledger",
    steps: [{ do: "answer", status: 503 }],
  });
  return call("destinations.create", { name: "Ledger", sourceIds, webhooks: [{ url: bad.url }] });
}

/** Small, as each look at the canvas makes a picture of all of it. */
const moving = {
  reducedMotion: "no-preference" as const,
  viewport: { width: 800, height: 500 },
};

/** Until the canvas is another picture, or is seen to stay the same over some frames. */
const frames = (page: Page, count: number): Promise<void> =>
  page.evaluate(`new Promise((done) => {
    let left = ${count};
    const next = () => (left-- > 0 ? requestAnimationFrame(next) : done());
    next();
  })`);

describe("the flow", () => {
  test("shows what is configured, what went where and what fails, leads to it, is walked with the arrows, and is a list with the same content", async ({
    open,
    inspector,
  }) => {
    const { source } = await inspector.shop();
    await addLedger(inspector, [source.id]);
    // No second round comes while a slow machine looks at the first.
    await inspector.call("clock.set", { mode: "paused" });
    for (let each = 0; each < 6; each += 1) await inspector.send([order(`u_${each}`)]);
    await inspector.call("pipeline.settle", {});
    const { page } = await open("/live");
    await framePage(page).viewLink("Flow").click();
    const flow = flowPage(page);

    await flow.line("Shop web", "Billing").waitFor();
    await page
      .getByRole("link", { name: /^Shop web to Billing: .*6 messages/ })
      .waitFor({ state: "attached" });
    await page
      .getByRole("link", { name: /^Ledger to .*: .*503, the last 6, 6 waiting/ })
      .waitFor({ state: "attached" });
    await flow.failing.click();
    await page
      .locator(":focus")
      .and(page.getByRole("link", { name: /^Ledger to / }))
      .waitFor();
    await page.keyboard.press("Enter");
    await livePage(page).rows.first().waitFor();
    await expect.poll(() => page.evaluate("location.hash")).toMatch(/^#\/live\?webhook=whk_/);

    await page.keyboard.press("w");
    await flow.node("Billing").click();
    await expect.poll(() => page.evaluate("location.hash")).toMatch(/^#\/destinations\/dst_/);

    await page.keyboard.press("w");
    await flow.node("Shop web").focus();
    await page.keyboard.press("ArrowRight");
    await page.locator(":focus[data-line]").waitFor();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await page
      .locator(":focus")
      .and(flow.map.getByRole("link", { name: /127\.0\.0\.1/ }))
      .waitFor();
    const lines = await flow.map.locator("[data-line]").count();
    await page.keyboard.press("l");
    await flow.rows.first().waitFor();
    await expect.poll(() => flow.rows.count()).toBe(lines);
    await flow.listRow("Shop web", "Billing").getByText("6", { exact: true }).waitFor();
    await flow.listRow("Ledger", "ledger").getByText("503, the last 6, 6 waiting").waitFor();
    await page.reload();
    await flow.rows.first().waitFor();
    await page.keyboard.press("m");
    await flow.line("Shop web", "Billing").waitFor({ state: "attached" });
  });

  test("moves a mark for a message, which stands while the clock is paused", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    const { page } = await open("/flow", moving);
    const flow = flowPage(page);
    await flow.node("Shop web").waitFor();
    await expect.poll(flow.isDrawnOn).toBe(false);
    await inspector.send([order("u_1")]);
    await expect.poll(flow.isDrawnOn).toBe(true);
    await inspector.call("clock.set", { mode: "paused" });
    await framePage(page).mode("paused").and(page.locator("[aria-checked=true]")).waitFor();
    let before = "";
    // What was asked for before the pause may come after it, and is drawn.
    await expect
      .poll(async () => {
        before = await flow.picture();
        await frames(page, 20);
        return (await flow.isDrawnOn()) === true && (await flow.picture()) === before;
      })
      .toBe(true);
    await inspector.call("clock.set", { mode: "real" });
    await expect.poll(flow.picture).not.toBe(before);
    await expect.poll(flow.isDrawnOn).toBe(false);
  });

  test("holds one message, shows its path, and releases it", async ({ open, inspector }) => {
    await inspector.shop({ steps: [{ do: "answer", status: 503 }] });
    const { page } = await open("/flow", moving);
    const flow = flowPage(page);
    await flow.node("Shop web").waitFor();
    await inspector.send([order("u_9")]);
    await flow.line("Shop web", "Billing").focus();
    await page.getByRole("link", { name: /^Shop web to Billing: .*1 message/ }).waitFor({
      state: "attached",
    });
    await page.keyboard.press("h");
    await flow.panel.getByRole("heading", { name: "Order Completed" }).waitFor();
    await flow.panel.getByText("waiting", { exact: true }).first().waitFor();
    await flow.hold.filter({ hasText: "Release" }).waitFor();
    await page.keyboard.press("h");
    await flow.hold.filter({ hasText: "Hold" }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await flow.panel.waitFor({ state: "detached" });
  });

  test("is a loom with ten sources and twenty destinations, and shows one of them alone", async ({
    open,
    inspector,
  }) => {
    const { call } = inspector;
    const sourceIds: string[] = [];
    for (let each = 0; each < 10; each += 1)
      sourceIds.push(
        (await call("sources.create", { name: `Source ${each}`, writeKey: `wk_${each}` })).id,
      );
    const { url } = await call("endpoints.create", { name: "ok", steps: [{ do: "answer" }] });
    for (let each = 0; each < 20; each += 1)
      await call("destinations.create", {
        name: `Destination ${each}`,
        sourceIds: sourceIds.filter((_, place) => (place + each) % 4 === 0),
        webhooks: [{ url }],
      });
    await inspector.send([order("u_1")], "wk_0");
    await call("pipeline.settle", {});
    const { page } = await open("/flow");
    const flow = flowPage(page);
    await flow.row("5 Destination").first().waitFor();
    await expect.poll(() => flow.row("Destination 4").count()).toBe(0);
    await page.keyboard.press("g");
    await flow.row("Destination 4").waitFor();
    await page.keyboard.press("g");
    await flow.row("5 Destination").first().click();
    await flow.row("Destination 4").waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("/");
    await page.keyboard.type("destination 4");
    await page.keyboard.press("Enter");
    const card = flow.card("Destination 4");
    await card.getByRole("link", { name: "Source 0", exact: true }).waitFor();
    await card.getByText("100 %").waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    for (const width of [1440, 1100]) {
      await page.setViewportSize({ width, height: 700 });
      expect(await layoutFindings(page)).toEqual([]);
    }
    await page.keyboard.press("Escape");
    await card.waitFor({ state: "detached" });
    await page.keyboard.press("/");
    await page.keyboard.type("s");
    await page.keyboard.press("Enter");
    await flow.card("Source 0").waitFor();
  });

  test("starts with what is there, and the first message goes along it; nothing is drawn that moves when the system asks for less motion", async ({
    open,
  }) => {
    const { page } = await open("/flow");
    const flow = flowPage(page);
    await flow.sendSample.and(page.locator(":enabled")).click();
    await page.getByRole("link", { name: /^First source to .*1 message/ }).waitFor({
      state: "attached",
    });
    await flow.sendSample.waitFor({ state: "detached" });
    expect(await flow.isDrawnOn()).toBeNull();
  });
});
