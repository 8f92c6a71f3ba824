import type { Page } from "playwright-core";
import { describe, expect, onTestFinished } from "vitest";
import { startReceiver } from "../support/webhook-receiver.ts";
import { framePage } from "./pages/frame.ts";
import { livePage } from "./pages/live.ts";
import { palettePage } from "./pages/palette.ts";
import { test } from "./support/inspector-test.ts";
import { layoutFindings } from "./support/layout.ts";

const minute = 60_000;

describe("the clock bar", () => {
  test("shows a clock that is not real time differently, in each of its modes", async ({
    open,
    inspector,
  }) => {
    const { page } = await open();
    const frame = framePage(page);
    await frame.clock.getByText("real time").waitFor();
    for (const [name, mode, speed] of [
      ["×10", "faster", 10],
      ["×60", "faster", 60],
      ["×600", "faster", 600],
      ["paused", "paused", 0],
    ] as const) {
      await frame.mode(name).click();
      await page.locator(`[data-clock=${mode}]`).waitFor();
      await expect.poll(() => frame.mode(name).getAttribute("aria-checked")).toBe("true");
      const clock = await inspector.call("clock.get", {});
      expect(clock.mode).toBe(mode);
      if (speed > 0) expect(clock.speed).toBe(speed);
    }
    await frame.clock.getByText(/ ahead$/).waitFor();
    const stands = await frame.now();
    await page.reload();
    await expect.poll(() => frame.now()).toBe(stands);
    await frame.mode("real").click();
    await page.locator("[data-clock=real]").waitFor();
    await expect.poll(() => frame.now()).toBeGreaterThan(stands);
  });

  test("is read again after the machine slept, when the page's own clock stood still", async ({
    open,
  }) => {
    const { page } = await open();
    await framePage(page).clock.getByText("real time").waitFor();
    const read = page.waitForRequest((request) => new URL(request.url()).pathname === "/api/clock");
    await page.evaluate("{ const { now } = Date; Date.now = () => now() + 60_000; }");
    await read;
  });

  test("is paused and run again with Space, but not from a field or a button", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    await inspector.send([{ userId: "u_1", event: "Seen" }]);
    const { page } = await open();
    const frame = framePage(page);
    await livePage(page).row(/Seen/).waitFor();
    const sets = inspector.hold("clock.set");
    sets.release();
    await page.keyboard.press("Space");
    await page.locator("[data-clock=paused]").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type(" .");
    await expect.poll(() => livePage(page).filter.inputValue()).toBe(" .");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Space");
    await page.locator("[data-clock=real]").waitFor();
    await frame.mode("×60").click();
    await page.locator("[data-clock=faster]").waitFor();
    await livePage(page).grid.focus();
    await page.keyboard.press("Space");
    await page.locator("[data-clock=paused]").waitFor();
    await page.keyboard.press("Space");
    await page.locator("[data-clock=faster]").waitFor();
    expect((await inspector.call("clock.get", {})).speed).toBe(60);
    await frame.advance.focus();
    await page.keyboard.press("Space");
    await expect.poll(async () => (await frame.now()) - Date.now()).toBeGreaterThan(10 * minute);
    expect((await inspector.call("clock.get", {})).mode).toBe("faster");
    const modes = ["paused", "real", "faster", "paused", "faster"];
    expect(sets.inputs).toMatchObject(modes.map((mode) => ({ mode })));

    // As it runs by then, and not as it was set here.
    await livePage(page).grid.focus();
    await inspector.call("clock.set", { mode: "real" });
    await page.locator("[data-clock=real]").waitFor();
    await page.keyboard.press("Space");
    await page.locator("[data-clock=paused]").waitFor();
    await page.keyboard.press("Space");
    await page.locator("[data-clock=real]").waitFor();

    // The second press before the first is answered.
    const held = inspector.hold("clock.set");
    await page.keyboard.press("Space");
    await page.keyboard.press("Space");
    await expect.poll(() => held.inputs).toHaveLength(1);
    held.release();
    await expect.poll(() => held.inputs).toEqual([{ mode: "paused" }, { mode: "real" }]);
    await expect.poll(async () => (await inspector.call("clock.get", {})).mode).toBe("real");
    await page.locator("[data-clock=real]").waitFor();
  });

  test("shows how far an advance has come that takes longer than a moment, with a way to cancel it", async ({
    open,
    inspector,
  }) => {
    const receiver = await startReceiver(() => undefined);
    onTestFinished(() => receiver.stop());
    const { source } = await inspector.shop();
    // However slow the machine is, the attempt lasts until the advance is cancelled.
    await inspector.call("retryProfiles.create", { name: "patient", timeoutMs: 600_000 });
    await inspector.call("destinations.create", {
      name: "Silent",
      retryProfile: "patient",
      sourceIds: [source.id],
      webhooks: [{ url: receiver.url }],
    });
    await inspector.call("clock.set", { mode: "paused" });
    await inspector.send([{ userId: "u_1", event: "Order Completed" }]);
    const { page } = await open();
    const frame = framePage(page);
    await livePage(page)
      .row(/Order Completed/)
      .waitFor();
    const stands = await frame.now();
    await frame.advanceMenu.click();
    await frame.menuItem("Advance 4 h").click();
    await frame.advancing.getByText(/^Advancing to /).waitFor();
    const palette = palettePage(page);
    const cancels = palette.offers.filter({ hasText: "Cancel the advance" });
    await palette.open();
    await cancels.waitFor();
    await page.keyboard.press("Escape");
    await frame.advance.focus();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await expect.poll(() => page.locator(":focus").textContent()).toBe("Cancel");
    await page.keyboard.press("Enter");
    await frame.advancing.waitFor({ state: "detached" });
    await expect
      .poll(() => page.locator(":focus").getAttribute("title"))
      .toBe("Advance the clock by 4 h");
    expect(await inspector.call("clock.get", {})).toMatchObject({ advance: null });
    await expect.poll(() => frame.now()).toBe(stands);
    await palette.open();
    await palette.offers.filter({ hasText: "Run until nothing is due" }).waitFor();
    expect(await cancels.count()).toBe(0);
    await receiver.stop();
  });

  test("advances by a duration, steps to what is due, and runs until nothing is", async ({
    open,
    inspector,
  }) => {
    await inspector.shop({ steps: [{ do: "answer", status: 503 }] });
    await inspector.call("clock.set", { mode: "paused" });
    const { page } = await open();
    const frame = framePage(page);
    const live = livePage(page);
    await frame.step.filter({ hasText: "Nothing is due" }).waitFor();
    expect(await frame.step.isDisabled()).toBe(true);
    await inspector.send([{ userId: "u_1", event: "Order Completed" }]);
    await live.row(/waiting, last .*, 1 attempt/).waitFor();
    await frame.step.filter({ hasText: "Step to next due" }).click();
    await live.row(/waiting, last .*, 2 attempts/).waitFor();
    const { now } = await inspector.call("clock.get", {});
    const before = Date.parse(now) - (Date.parse(now) % 1000);
    await expect.poll(() => frame.now()).toBe(before);
    await frame.advanceMenu.click();
    await frame.menuItem("Advance 1 h").click();
    await expect.poll(() => frame.now()).toBe(before + 60 * minute);
    await frame.advance.filter({ hasText: "1 h" }).click();
    await expect.poll(() => frame.now()).toBe(before + 120 * minute);
    await palettePage(page).run("Advance the clock 1 m");
    await expect.poll(() => frame.now()).toBe(before + 121 * minute);
    await palettePage(page).run("Run until nothing is due");
    await live.row(/expired/).waitFor();
    await frame.step.filter({ hasText: "Nothing is due" }).waitFor();
  });
});

test("the bar and the stages fit windows of every width, also at 200 % zoom", async ({
  open,
  inspector,
}) => {
  await inspector.shop({ steps: [{ do: "answer", status: 503 }] });
  await inspector.call("clock.set", { mode: "paused" });
  await inspector.send([{ userId: "u_1", event: "Order Completed" }]);
  await inspector.call("pipeline.settle", {});
  const { page } = await open();
  await livePage(page)
    .row(/waiting/)
    .waitFor();
  // 720: what 1440 px are at 200 %.
  for (const width of [720, 800, 880, 960, 1100, 1440]) {
    await page.setViewportSize({ width, height: 700 });
    expect(await layoutFindings(page), `${width}`).toEqual([]);
    expect(await overlaps(page), `${width}`).toEqual([]);
    const { step, advance, clock } = framePage(page);
    await expect.poll(() => clock.locator("time").isVisible()).toBe(true);
    for (const button of [step, advance, page.getByRole("button", { name: /^Commands/ })])
      await expect.poll(() => button.isVisible()).toBe(true);
  }
});

/** Parts of the top bar that lie on each other, and stages whose words are cut. */
const overlaps = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`(() => {
    const parts = [...document.querySelectorAll(".topbar > .brand, .clockbar > *, .topbar .ends > *")];
    const boxes = parts.map((part) => ({ name: part.className, ...part.getBoundingClientRect().toJSON() }));
    const crossed = boxes.flatMap((a, place) => boxes.slice(place + 1)
      .filter((b) => a.left < b.right - 0.5 && b.left < a.right - 0.5)
      .map((b) => a.name + " lies on " + b.name));
    const cut = [...document.querySelectorAll(".strip button")]
      .filter((stage) => stage.scrollWidth > stage.clientWidth)
      .map((stage) => stage.innerText + " is cut");
    return [...crossed, ...cut];
  })()`);
