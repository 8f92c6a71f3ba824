/**
 * What holds for the window of the desktop host, whatever runs it: the stand-in's Chromium, or
 * Electron itself.
 */

import type { Page } from "playwright-core";
import { expect, type TestAPI } from "vitest";
import { detailsPage } from "../pages/details.ts";
import { framePage } from "../pages/frame.ts";
import { livePage } from "../pages/live.ts";
import { welcomePage } from "../pages/welcome.ts";

/** The host behind `windowPage` has seen no message; each test may have one of its own, or all one. */
export function windowSuite(test: TestAPI<{ windowPage: Page }>): void {
  test("a newcomer gets to a delivered message, and what arrives then is shown at once", async ({
    windowPage: page,
  }) => {
    const frame = framePage(page);
    await frame.viewLink("Live").click();
    await welcomePage(page).sendSample.click();
    await livePage(page)
      .row(/^track Order Completed of u_1042, .*delivered, 1 attempt/)
      .click();
    await detailsPage(page)
      .mark(/^Round 1: success 200/)
      .waitFor();
    const response = await fetch(`${await ingestOf(page)}/v1/track`, {
      method: "POST",
      headers: { Authorization: `Basic ${btoa("nobody:")}` },
      body: JSON.stringify({ userId: "u", event: "Bought" }),
    });
    await response.text();
    await frame.viewLink("Sources").filter({ hasText: "1" }).waitFor();
  });

  test("the clock is commanded from the page, and stays as it was set when the page is reloaded", async ({
    windowPage: page,
  }) => {
    const frame = framePage(page);
    const isChecked = page.locator("[aria-checked=true]");
    await frame.mode("paused").click();
    await frame.mode("paused").and(isChecked).waitFor();
    await page.reload();
    await frame.mode("paused").and(isChecked).waitFor();
    await frame.mode("real").click();
    await frame.mode("real").and(isChecked).waitFor();
  });

  test("the page has nothing of Node or of Electron, and no script runs in it but its own files", async ({
    windowPage: page,
  }) => {
    const names = ["require", "process", "module", "Buffer", "global", "ipcRenderer", "electron"];
    expect(
      await page.evaluate(`${JSON.stringify(names)}.filter((name) => name in window)`),
    ).toEqual([]);
    const ran = await page.evaluate(`(() => {
      const script = document.createElement("script");
      script.textContent = "window.ran = true";
      document.body.append(script);
      return window.ran === true;
    })()`);
    expect(ran).toBe(false);
  });

  test("the page cannot leave, nor be opened again", async ({ windowPage: page }) => {
    const before = page.url();
    await page.evaluate("void (location.href = 'https://attacker.example/')");
    await page.evaluate("void window.open('about:blank')");
    await framePage(page).viewLink("Destinations").click();
    await expect.poll(() => page.evaluate("location.hash")).toBe("#/destinations");
    expect(page.url().split("#")[0]).toBe(before.split("#")[0]);
  });
}

/** Where the host behind the page takes messages in. */
async function ingestOf(page: Page): Promise<string> {
  const address = page.getByTitle("Ingest address").locator("code").filter({ hasText: ":" });
  return `http://${(await address.textContent()) ?? ""}`;
}
