/**
 * Scenarios: run one and see each step, a failure with what is behind it, a file of one's own, one
 * that was recorded.
 */

import { describe, expect } from "vitest";
import { livePage } from "./pages/live.ts";
import { palettePage } from "./pages/palette.ts";
import { scenariosPage } from "./pages/scenarios.ts";
import { test } from "./support/inspector-test.ts";
import { layoutFindings } from "./support/layout.ts";

describe("a scenario that comes with Hookyard", () => {
  test("is run with a key, and each step says what came of it and when", async ({ open }) => {
    const { page } = await open("/scenarios/wrong-secret.yaml");
    const scenarios = scenariosPage(page);
    await scenarios.title.filter({ hasText: "The receiver expects another secret" }).waitFor();
    await expect.poll(() => scenarios.file.getAttribute("aria-readonly")).toBe("true");
    await page.keyboard.press("r");
    await scenarios.result.filter({ hasText: "passed" }).waitFor();
    await expect
      .poll(() => scenarios.result.textContent())
      .toContain("8 of 8 steps, 4 h of clock time");
    await expect.poll(() => scenarios.steps.count()).toBe(8);
    await expect.poll(() => scenarios.step(2).textContent()).toContain("+4 h");
    await scenarios.entry(/The receiver expects another secret.*passed/).waitFor();
    // The user's own pipeline has seen nothing of it.
    await expect.poll(() => page.getByText("0 messages", { exact: true }).count()).toBe(1);
  });
});

describe("a scenario of one's own", () => {
  test("wraps its lines as they are coloured, away from the edge, and fails with expected against actual, the attempts behind it, and the line of the file", async ({
    open,
  }) => {
    const { page } = await open("/scenarios/outage.yaml", {
      viewport: { width: 800, height: 600 },
    });
    const scenarios = scenariosPage(page);
    await scenarios.editCopy.click();
    await page.waitForURL(/scenarios\/own\/own-\w+/);
    await scenarios.file.waitFor();
    const shape = await page.locator(".yaml-code").evaluate((pane) => {
      const field = pane.querySelector("[role=textbox]");
      const lines = [...pane.querySelectorAll(".yaml-line > code")];
      const heights = lines.reduce((sum, line) => sum + line.getBoundingClientRect().height, 0);
      const continued = lines.flatMap((line) => {
        const { left } = line.getBoundingClientRect();
        const range = line.ownerDocument.createRange();
        range.selectNodeContents(line);
        const rects = [...range.getClientRects()];
        return rects
          .filter(({ top }) => top > (rects[0]?.bottom ?? 0))
          .map((rect) => rect.left - left);
      });
      return { typed: field?.scrollHeight, coloured: heights, least: Math.min(...continued) };
    });
    expect(shape.typed).toBe(shape.coloured);
    expect(shape.least).toBeGreaterThan(30);
    expect(shape.least).toBeLessThan(100);

    await page.setViewportSize({ width: 1440, height: 900 });
    // As long with four orders as with twenty.
    const text = (await scenarios.text())
      .replaceAll(/\b20\b/g, "4")
      .replace("every: 3m", "every: 19m")
      .replace(
        "count: 4, state: delivered, within: 33m",
        "count: 5, state: delivered, within: 33m",
      );
    await scenarios.file.fill(text);
    await scenarios.run.click();
    await scenarios.result.filter({ hasText: "failed" }).waitFor();
    const failed = scenarios.expectations(6).filter({ hasText: "failed:" }).first();
    await expect.poll(() => failed.textContent()).toMatch(/expected5 deliveriesactual4 deliveries/);
    const difference = failed.locator("details").first();
    await difference.locator("summary").press("Enter");
    const attempts = difference.getByRole("listitem");
    await expect.poll(() => attempts.count()).toBeGreaterThan(8);
    await expect.poll(() => attempts.first().textContent()).toContain("round 1, Warehouse: 503");
    await expect.poll(() => attempts.last().textContent()).toContain("Warehouse: 200");
    const line = text.split("\n").findIndex((each) => each.includes("count: 5")) + 1;
    await failed
      .getByRole("button", { name: `line ${line}` })
      .first()
      .click();
    await page.locator(".yaml-code .pointed").waitFor();
    await scenarios.run.click();
    await page.locator(".yaml-code .pointed").waitFor({ state: "detached" });
  });

  test("says what is wrong with it while it is written, with line and column, and stays over a reload", async ({
    open,
  }) => {
    const { page } = await open("/scenarios");
    const scenarios = scenariosPage(page);
    await palettePage(page).open();
    await palettePage(page).input.fill("new scenario");
    await page.keyboard.press("Enter");
    await scenarios.title.filter({ hasText: "A new scenario" }).waitFor();
    await page.locator("body").press("r");
    await scenarios.result.filter({ hasText: "passed" }).waitFor();
    await scenarios.file.fill("name: Broken\nsteps:\n  - send: 3\n  - jump: 1\n");
    await expect
      .poll(() => scenarios.problems.allTextContents())
      .toEqual([
        expect.stringMatching(/^line 3, column \d+send must be a message/),
        expect.stringMatching(/^line 4, column \d+jump is unknown/),
      ]);
    await page.reload();
    await scenarios.title.filter({ hasText: "Broken" }).waitFor();
    expect(await scenarios.text()).toContain("jump: 1");
    await scenarios.more.click();
    await scenarios.menuItem("Delete…").click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await expect.poll(() => scenarios.entry(/Broken/).count()).toBe(0);
  });

  test("is opened from a file, and saved as one", async ({ open }) => {
    const { page } = await open("/scenarios");
    const scenarios = scenariosPage(page);
    await scenarios.entry(/An outage/).waitFor();
    const text = "name: From a file\nsteps:\n  - advance: 1h\n";
    await scenarios.chooser.setInputFiles({
      name: "mine.yaml",
      mimeType: "application/yaml",
      buffer: Buffer.from(text),
    });
    await scenarios.title.filter({ hasText: "From a file" }).waitFor();
    await scenarios.more.click();
    const download = page.waitForEvent("download");
    await scenarios.menuItem(/Save as a file/).click();
    expect((await download).suggestedFilename()).toBe("from-a-file.yaml");
  });
});

describe("a recorded scenario", () => {
  test("is made of what Live shows, can be read and edited, and runs; of no message it says so", async ({
    open,
    inspector,
  }) => {
    await inspector.call("clock.set", { mode: "paused" });
    await inspector.shop({ steps: [{ times: 2, do: "answer", status: 503 }, { do: "answer" }] });
    await inspector.send([
      { userId: "u_1", event: "Order Completed" },
      { userId: "u_2", event: "Cart Viewed" },
    ]);
    await inspector.call("pipeline.settle", {});
    await inspector.call("clock.advance", { to: "idle" });
    const { page } = await open("/live?event=Nothing");
    const scenarios = scenariosPage(page);
    await livePage(page).nothing.waitFor();
    await page.getByRole("button", { name: "Export messages" }).click();
    await scenarios.menuItem(/A scenario of matching messages/).click();
    await page.getByText("There are no messages to record.").waitFor();
    await page.evaluate("location.hash = '#/live?user=u_1'");
    await livePage(page).rows.first().waitFor();
    await page.getByRole("button", { name: "Export messages" }).click();
    await scenarios.menuItem(/A scenario of matching messages/).click();
    await page.waitForURL(/scenarios\/own\/own-\w+/);
    const text = await scenarios.text();
    expect(text).toContain("Order Completed");
    expect(text).not.toContain("Cart Viewed");
    await scenarios.run.click();
    await scenarios.result.filter({ hasText: "passed" }).waitFor();
  });
});

test("a file with strings that are meant to hurt is text, and the page keeps its layout", async ({
  open,
}) => {
  const hurt = `<img src=x onerror="window.hacked=1"><b>${"W".repeat(5_000)}</b>\u202Egnirts`;
  const text = [
    `name: ${JSON.stringify(hurt)}`,
    `description: ${JSON.stringify(hurt)}`,
    "steps:",
    `  - name: ${JSON.stringify(hurt)}`,
    `    send: { type: track, userId: u, event: ${JSON.stringify(hurt)} }`,
    `  - expect: [{ messages: { of: { event: ${JSON.stringify(hurt)} }, count: 2 } }]`,
    "",
  ].join("\n");
  const { page } = await open("/scenarios");
  const scenarios = scenariosPage(page);
  await scenarios.entry(/An outage/).waitFor();
  await scenarios.chooser.setInputFiles({
    name: "hurt.yaml",
    mimeType: "application/yaml",
    buffer: Buffer.from(text),
  });
  await scenarios.title.filter({ hasText: "<img src=x" }).waitFor();
  await scenarios.run.click();
  await scenarios.result.filter({ hasText: "failed" }).waitFor();
  for (const viewport of [
    { width: 1440, height: 900 },
    { width: 1100, height: 700 },
  ]) {
    await page.setViewportSize(viewport);
    expect(await layoutFindings(page)).toEqual([]);
  }
  await expect.poll(() => page.locator("main img").count()).toBe(0);
  expect(await page.evaluate("window.hacked ?? null")).toBe(null);
});
