import { execFile } from "node:child_process";
import { describe, expect } from "vitest";
import { signatureOf } from "./pages/attempt.ts";
import { detailsPage } from "./pages/details.ts";
import { endpointsPage } from "./pages/endpoints.ts";
import { framePage } from "./pages/frame.ts";
import { livePage } from "./pages/live.ts";
import { welcomePage } from "./pages/welcome.ts";
import { test } from "./support/inspector-test.ts";
import { hasCurl } from "../support/foreign-clients.ts";

describe("a newcomer", () => {
  test("gets from nothing to a delivered, signed message in two presses", async ({ open }) => {
    const { page } = await open();
    const welcome = welcomePage(page);
    const details = detailsPage(page);
    await welcome.heading.waitFor();
    await welcome.sendSample.click();
    await livePage(page)
      .row(/^track Order Completed of u_1042, .*delivered, 1 attempt/)
      .click();
    await details.mark(/^Round 1: success 200/).waitFor();
    await details.tab("Signature").click();
    await signatureOf(page).right.waitFor();

    await framePage(page).viewLink("Test endpoints").click();
    await endpointsPage(page)
      .received.filter({ hasText: "Order Completed" })
      .filter({ hasText: "verifies" })
      .waitFor();
  });

  test.skipIf(!hasCurl)("can run the cURL that the page shows as it stands", async ({ open }) => {
    const { page } = await open();
    const welcome = welcomePage(page);
    await welcome.as("cURL").click();
    await expect.poll(() => welcome.snippet.textContent()).toMatch(/wk_\w+/);
    await sh((await welcome.snippet.textContent()) ?? "");
    await livePage(page)
      .row(/^track Order Completed of u_1042, .*delivered/)
      .waitFor();
  });

  test("sends the sample with Enter, and copies the call with c", async ({ open }) => {
    const { page } = await open();
    const welcome = welcomePage(page);
    await expect.poll(() => welcome.sendSample.isEnabled()).toBe(true);
    await page.keyboard.press("c");
    await framePage(page).toast.filter({ hasText: "Copied as cURL" }).waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(
      await welcome.snippet.textContent(),
    );
    await page.keyboard.press("Enter");
    await livePage(page)
      .row(/Order Completed/)
      .waitFor();
  });

  test("opens the demo workspace: a shop with users, events and a webhook that fails", async ({
    open,
  }) => {
    const { page } = await open();
    const live = livePage(page);
    await welcomePage(page).openDemo.click();
    await live
      .row(/delivered/)
      .first()
      .waitFor();
    await live.stage("waiting").click();
    await live
      .row(/waiting, last .*, \d attempts?, next round in/)
      .first()
      .waitFor();
    await live.removeChip("state").click();
    await expect.poll(() => live.count()).toBeGreaterThanOrEqual(240);
    await framePage(page).viewLink("Destinations").click();
    await page.getByRole("link", { name: "Billing" }).first().waitFor();
  });
});

function sh(command: string): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(
      "sh",
      ["-c", command],
      { env: { ...process.env, NO_PROXY: "*", no_proxy: "*" } },
      (error) => (error === null ? resolve() : reject(error)),
    );
  });
}
