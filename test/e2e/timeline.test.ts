import { describe, expect } from "vitest";
import { attemptPage } from "./pages/attempt.ts";
import { detailsPage } from "./pages/details.ts";
import { livePage } from "./pages/live.ts";
import { test } from "./support/inspector-test.ts";
import type { RunningInspector } from "./support/running-inspector.ts";

/** A 503 and the 200 after it at one destination, nothing but 500s at the other. */
async function twoDeliveries(inspector: RunningInspector): Promise<string> {
  const { source } = await inspector.shop({
    steps: [{ do: "answer", status: 503 }, { do: "answer" }],
  });
  const down = await inspector.call("endpoints.create", {
    name: "a receiver with a name that is far longer than what fits in a line",
    steps: [{ do: "answer", status: 500 }],
  });
  await inspector.call("destinations.create", {
    name: "Invoices",
    sourceIds: [source.id],
    webhooks: [{ url: down.url }],
  });
  await inspector.call("clock.set", { mode: "paused" });
  await inspector.send([{ userId: "u_1", event: "Order Completed" }]);
  await inspector.call("pipeline.settle", {});
  await inspector.call("clock.advance", { byMs: 3_600_000 });
  return (await inspector.call("messages.list", {})).items[0]?.id ?? "";
}

describe("the retry timeline", () => {
  test("keeps a failure and the success after it apart, and writes the length of the pauses", async ({
    open,
    inspector,
  }) => {
    const id = await twoDeliveries(inspector);
    const [delivery] = (await inspector.call("messages.get", { id })).deliveries;
    const { page } = await open(`/live/${id}?delivery=${delivery?.id}`);
    const details = detailsPage(page);
    for (const scale of ["log", "linear", "compact"] as const) {
      await details.scale(scale).click();
      await expect.poll(() => details.marks.count()).toBe(2);
      const failure = await details.mark(/^Round 1: http_error 503/).boundingBox();
      const success = await details.mark(/^Round 2: success 200/).boundingBox();
      expect((success?.x ?? 0) - (failure?.x ?? 0)).toBeGreaterThanOrEqual(11);
    }
    await details.timeline.getByText(/^(9|10|11) s$/).waitFor();
  });

  test("shows first, of deliveries in the same state, the one that took the most attempts", async ({
    open,
    inspector,
  }) => {
    const { source } = await inspector.shop();
    const flaky = await inspector.call("endpoints.create", {
      name: "flaky",
      steps: [{ do: "answer", status: 503 }, { do: "answer" }],
    });
    await inspector.call("destinations.create", {
      name: "Archive",
      sourceIds: [source.id],
      webhooks: [{ url: flaky.url }],
    });
    await inspector.call("clock.set", { mode: "paused" });
    await inspector.send([{ userId: "u_1", event: "Order Completed" }]);
    await inspector.call("pipeline.settle", {});
    await inspector.call("clock.advance", { byMs: 60_000 });
    const id = (await inspector.call("messages.list", {})).items[0]?.id ?? "";
    const { deliveries } = await inspector.call("messages.get", { id });
    expect(deliveries.map(({ attempts }) => attempts.length)).toEqual([1, 2]);
    const { page } = await open(`/live/${id}`);
    const details = detailsPage(page);
    await details.mark(/^Round 2: success 200/).waitFor();
  });

  test("keeps a chosen retry window for its delivery, and shows the newest of another", async ({
    open,
    inspector,
  }) => {
    const { source, endpoint } = await inspector.shop({ steps: [{ do: "answer", status: 410 }] });
    await inspector.call("destinations.create", {
      name: "Archive",
      sourceIds: [source.id],
      webhooks: [{ url: endpoint.url }],
    });
    await inspector.call("clock.set", { mode: "paused" });
    await inspector.send([{ userId: "u_1", event: "Order Completed" }]);
    await inspector.call("pipeline.settle", {});
    const id = (await inspector.call("messages.list", {})).items[0]?.id ?? "";
    for (const delivery of (await inspector.call("messages.get", { id })).deliveries)
      await inspector.call("deliveries.retry", { id: delivery.id });
    await inspector.call("pipeline.settle", {});
    const { page } = await open(`/live/${id}`);
    const { pane, deliveries, mark } = detailsPage(page);
    const window = pane.getByRole("combobox", { name: "Retry window" });
    await mark(/^Round 2:/).waitFor();
    await window.selectOption("0");
    await mark(/^Round 1:/).waitFor();
    await deliveries.getByRole("button", { name: "Archive" }).click();
    await mark(/^Round 2:/).waitFor();
    await deliveries.getByRole("button", { name: "Billing" }).click();
    await mark(/^Round 1:/).waitFor();
  });

  test("draws the deliveries of a message over one axis, and opens an attempt of each", async ({
    open,
    inspector,
  }) => {
    const id = await twoDeliveries(inspector);
    const { page } = await open(`/live/${id}`);
    const details = detailsPage(page);
    await expect.poll(() => details.lanes.count()).toBe(1);
    await details.timelineMenu.click();
    await details.menuItem("All deliveries over each other").click();
    await expect.poll(() => details.lanes.count()).toBe(2);
    await details.timeline.getByRole("heading", { name: "Billing" }).waitFor();
    await details.timeline.getByRole("heading", { name: "Invoices" }).waitFor();
    await details.mark(/^Round 2: success 200/).focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "http_error" }).waitFor();
  });

  test("zooms with a drag and with keys, and back", async ({ open, inspector }) => {
    const id = await twoDeliveries(inspector);
    const { page } = await open(`/live/${id}`);
    const details = detailsPage(page);
    await details.scale("linear").click();
    const ninth = details.mark(/^Round 9/);
    await ninth.waitFor();
    // A name that comes later moves what is below it.
    await details.deliveries.filter({ hasText: "Invoices" }).waitFor();
    const lane = await details.timeline.getByText("5 s", { exact: true }).boundingBox();
    const [x, y] = [(lane?.x ?? 0) + (lane?.width ?? 0) + 8, (lane?.y ?? 0) + 20];
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + 20, y, { steps: 3 });
    await page.mouse.up();
    await details.wholeWindow.waitFor();
    await ninth.waitFor({ state: "detached" });
    await details.marks.first().waitFor();

    await details.wholeWindow.click();
    await ninth.focus();
    await page.keyboard.press("+");
    await page.keyboard.press("+");
    await details.mark(/^Round 1:/).waitFor({ state: "detached" });
    expect(await ninth.evaluate((mark) => mark.matches(":focus"))).toBe(true);
    await page.keyboard.press("0");
    await details.wholeWindow.waitFor({ state: "detached" });
    await page.getByRole("button", { name: /rounds 1 to/ }).waitFor();
  });

  test("takes a drag in both directions and while attempts come, and drops it with Esc", async ({
    open,
    inspector,
  }) => {
    const id = await twoDeliveries(inspector);
    const { page } = await open(`/live/${id}`);
    const details = detailsPage(page);
    await details.deliveries.filter({ hasText: "Invoices" }).waitFor();
    const shown = () =>
      details.marks.evaluateAll((all) =>
        all.map((mark) => /Round (\d+):/.exec(mark.ariaLabel ?? "")?.[1]),
      );
    await details.mark(/^Round 9/).waitFor();
    const box = async (round: number) => {
      const { x, y, width } = (await details
        .mark(new RegExp(`^Round ${round}:`))
        .boundingBox()) ?? {
        x: 0,
        y: 0,
        width: 0,
      };
      return { x: x + width / 2, y: y - 12 };
    };
    const [fifth, eighth] = [await box(5), await box(8)];
    const drag = async (from: number, to: number, meanwhile?: () => Promise<unknown>) => {
      await page.mouse.move(from, fifth.y);
      await page.mouse.down();
      await page.mouse.move(to, fifth.y, { steps: 4 });
      await meanwhile?.();
      await page.mouse.up();
    };
    const between = ["5", "6", "7", "8"];
    const whole = await shown();
    for (const [from, to] of [
      [fifth.x - 10, eighth.x + 10],
      [eighth.x + 10, fifth.x - 10],
    ] as const) {
      await drag(from, to);
      await expect.poll(shown).toEqual(between);
      // The focus is elsewhere after a drag.
      await page.keyboard.press("0");
      await expect.poll(shown).toEqual(whole);
    }
    await drag(fifth.x - 10, fifth.x - 7);
    await drag(fifth.x - 10, eighth.x + 10, () => page.keyboard.press("Escape"));
    expect(await shown()).toEqual(whole);
    await details.pane.waitFor();

    await drag(fifth.x - 10, eighth.x + 10, async () => {
      await inspector.call("clock.advance", { to: "next-due" });
      await details.mark(/^Round 10: http_error/).waitFor();
    });
    await expect.poll(shown).toEqual(between);
    await page.keyboard.press("-");
    await expect.poll(async () => (await shown()).length).toBeGreaterThan(between.length);
    // In a field, it is text.
    await livePage(page).filter.focus();
    await page.keyboard.type("0");
    await expect.poll(() => livePage(page).filter.inputValue()).toBe("0");
    await details.wholeWindow.waitFor();
  });

  test("does not press a mark on which a drag begins and ends", async ({ open, inspector }) => {
    const id = await twoDeliveries(inspector);
    const { page } = await open(`/live/${id}`);
    const details = detailsPage(page);
    const box = await details.mark(/^Round 5:/).boundingBox();
    const [x, y] = [(box?.x ?? 0) + 2, (box?.y ?? 0) + (box?.height ?? 0) / 2];
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + 8, y, { steps: 4 });
    await page.mouse.up();
    await details.wholeWindow.waitFor();
    expect(page.url()).not.toContain("attempts");
  });

  test("cuts no address and no reason, and says the day of another day", async ({
    open,
    inspector,
  }) => {
    const id = await twoDeliveries(inspector);
    await inspector.call("clock.advance", { byMs: 8 * 86_400_000 });
    const { page } = await open(`/live/${id}`);
    const details = detailsPage(page);
    for (const width of [1440, 1100]) {
      await page.setViewportSize({ width, height: 900 });
      await details.lanes.first().waitFor();
      const cut = () =>
        details.pane
          .locator(
            ".trace .said, .delivery-lines .standing, .tl-label code, .tl-label .end, .tl-note",
          )
          .evaluateAll((all) =>
            all
              .filter((each) => each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0)
              .map((each) => each.textContent),
          );
      await expect.poll(cut).toEqual([]);
    }
    const day = "\\d+ (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)";
    await details.pane.getByText(new RegExp(`in round 2 at ${day} `)).waitFor();
    await details.trace
      .first()
      .getByText(new RegExp(`^${day} `))
      .waitFor();
    await livePage(page)
      .rows.first()
      .getByText(new RegExp(`^${day}`))
      .first()
      .waitFor();
    const { deliveries } = await inspector.call("messages.get", { id });
    const place = `#/live/${id}/attempts/${deliveries[0]?.attempts[0]?.id}`;
    await page.evaluate(`location.hash = ${JSON.stringify(place)}`);
    await attemptPage(page)
      .pane.getByText(new RegExp(`^${day} `))
      .first()
      .waitFor();
  });
});
