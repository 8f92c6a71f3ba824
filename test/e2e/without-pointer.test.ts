/**
 * The three tasks of `docs/keyboard.md`, with the keyboard alone, and with nothing to go by but the
 * roles and names that a screen reader has.
 */

import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";
import { test } from "./support/inspector-test.ts";

/** As often as it takes to come round the page. */
const maxTabs = 250;

const focusIn = async (control: Locator): Promise<void> =>
  await expect.poll(() => control.evaluate((element) => element.matches(":focus"))).toBe(true);

async function tabTo(page: Page, control: Locator): Promise<void> {
  for (let presses = 0; presses < maxTabs; presses += 1) {
    if (await control.evaluate((element) => element.matches(":focus"))) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not lead to ${control.toString()}.`);
}

async function command(page: Page, text: string): Promise<void> {
  await page.keyboard.press("Control+k");
  await focusIn(page.getByRole("dialog", { name: "Commands" }).getByRole("combobox"));
  await page.keyboard.type(text);
  await page.getByRole("option", { selected: true, name: text }).waitFor();
  await page.keyboard.press("Enter");
}

test("a failure is found, with its reason", async ({ open, inspector }) => {
  await inspector.shop({ steps: [{ do: "answer", status: 410, times: 1 }, { do: "answer" }] });
  await inspector.send([{ userId: "u_1", event: "Order Completed" }]);
  await inspector.call("pipeline.settle", {});
  await inspector.send([{ userId: "u_2", event: "Cart Viewed" }]);
  await inspector.call("pipeline.settle", {});
  const { page } = await open();
  await page.getByRole("row", { name: /Cart Viewed/ }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("state:failed");
  await page.keyboard.press("Enter");
  await page
    .getByRole("group", { name: "Matching messages" })
    .getByText("1 message matches")
    .waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.getByRole("row", { selected: true, name: /Order Completed of u_1.*failed/ }).waitFor();
  await page.keyboard.press("Enter");
  const details = page.getByRole("region", { name: "Message details" });
  await focusIn(details);
  await details.getByRole("button", { name: /^Round 1: / }).waitFor();
  await page.keyboard.press("Enter");
  const attempt = page.getByRole("region", { name: "Attempt", exact: true });
  await attempt.getByRole("heading", { name: "http_error" }).waitFor();
  await attempt
    .getByText(/does not retry 410/)
    .first()
    .waitFor();
});

test("a failing receiver is made, and what failed there is retried", async ({
  open,
  inspector,
}) => {
  await inspector.call("sources.create", { name: "Shop", kind: "web" });
  // The second round is the one that is asked for.
  await inspector.call("clock.set", { mode: "paused" });
  const { page } = await open("/sources");
  await page.getByRole("region", { name: "Source Shop" }).waitFor();
  await command(page, "New test endpoint: 503 three times");
  await page.getByRole("region", { name: /^Test endpoint 503/ }).waitFor();
  await command(page, "Create a destination with this");
  await page.getByRole("region", { name: "New destination" }).waitFor();
  await focusIn(page.getByRole("textbox", { name: "Name", exact: true }));
  await page.keyboard.type("Flaky");
  await tabTo(page, page.getByRole("button", { name: "Create", exact: true }));
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "Destination Flaky" }).waitFor();
  await command(page, "Compose a message");
  await focusIn(page.getByRole("textbox", { name: "The call" }));
  await page.keyboard.press("Control+Enter");
  await page.getByRole("dialog").getByRole("status").getByText("accepted").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await command(page, "Go to Live");
  await page.getByRole("row", { name: /waiting.*1 attempt\b/ }).waitFor();
  await page.keyboard.press("j");
  await page.getByRole("row", { selected: true }).waitFor();
  await page.keyboard.press("r");
  await page.getByRole("row", { name: /waiting.*2 attempts/ }).waitFor();
});

test("an audience is built, and its members are sent", async ({ open, inspector }) => {
  await inspector.shop();
  await inspector.send([{ userId: "u_1", event: "Order Completed" }]);
  await inspector.call("pipeline.settle", {});
  const { page } = await open();
  await page.getByRole("row", { name: /Order Completed/ }).waitFor();
  await command(page, "New audience");
  await focusIn(page.getByRole("textbox", { name: "Name", exact: true }));
  await page.keyboard.type("Buyers");
  await tabTo(page, page.getByRole("combobox", { name: "Event" }));
  await page.keyboard.type("Order Completed");
  await page.getByRole("status").getByText("of 1 known user").first().waitFor();
  await tabTo(page, page.getByRole("button", { name: "Create and send 1 user" }));
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "Audience Buyers" }).waitFor();
  await page.getByRole("row", { name: /u_1 true/ }).waitFor();
});

test("live regions keep silent while messages come and go", async ({ open, inspector }) => {
  await inspector.shop();
  const { page } = await open();
  await inspector.send([{ userId: "u_0", event: "First" }]);
  await page.getByRole("row", { name: /First/ }).waitFor();
  await page.evaluate(`(() => {
    window.spoken = [];
    const live = ":is([role=status],[role=alert],[aria-live]):not([aria-live=off])";
    new MutationObserver((records) => {
      for (const { target } of records) {
        const region = (target.closest ? target : target.parentElement)?.closest(live);
        if (region) window.spoken.push(region.textContent);
      }
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  })()`);
  for (let n = 1; n <= 20; n += 1) await inspector.send([{ userId: `u_${n}`, event: "More" }]);
  await inspector.call("pipeline.settle", {});
  await page.getByRole("row", { name: /u_20.*delivered/ }).waitFor();
  expect(await page.evaluate<string[]>("window.spoken")).toEqual([]);

  await page.evaluate(`location.hash = "#/profiles"`);
  const profile = (name: RegExp) =>
    page.getByRole("navigation", { name: "Profiles" }).getByRole("link", { name });
  await profile(/^u_20/).waitFor();
  await page.evaluate("window.spoken = []");
  await inspector.send([{ userId: "u_40", event: "More" }]);
  await profile(/^u_40/).waitFor();
  expect(await page.evaluate<string[]>("window.spoken")).toEqual([]);
});
