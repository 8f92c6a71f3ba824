/** Where the focus goes: into what was added, into the list of a view, and out of a field. */

import type { Page } from "playwright-core";
import { expect } from "vitest";
import { framePage } from "./pages/frame.ts";
import { test } from "./support/inspector-test.ts";

const focused = (page: Page): Promise<string> =>
  page.evaluate<string>(
    "document.activeElement.getAttribute('aria-label') ?? document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent",
  );

test("what is added takes the focus with its first field", async ({ open, inspector }) => {
  const { source, endpoint, destination } = await inspector.shop();
  const { page } = await open("/live");
  const additions: [place: string, button: string, field: string][] = [
    [`/destinations/${destination.id}`, "Add a header", "Name of header 1 of webhook 1"],
    [`/destinations/${destination.id}`, "Add a webhook", "URL of webhook 2"],
    ["/destinations", "New destination", "Name"],
    [`/endpoints/${endpoint.id}`, "Add a step", "What step 2 does"],
    ["/endpoints", "New test endpoint", "Name"],
    ["/endpoints", "503 three times", "Name"],
    [`/sources/${source.id}`, "Add a fault", "What fault 1 does"],
    ["/sources", "New source", "Name"],
    ["/deletions", "Delete users", "Users"],
    ["/clients", "New client", "Name"],
    ["/audiences/new", "event", "Event"],
  ];
  for (const [place, button, field] of additions) {
    await page.evaluate(`location.hash = ${JSON.stringify(`#${place}`)}`);
    await page.getByRole("button", { name: button, exact: true }).first().click();
    await expect.poll(() => focused(page), { message: button }).toBe(field);
  }
});

test("the rail leads into the list of a view, arrows walk through it, and Esc leaves a field", async ({
  open,
  inspector,
}) => {
  await inspector.shop();
  await inspector.call("endpoints.create", { name: "second", steps: [{ do: "answer" }] });
  await inspector.send([{ userId: "u_1", event: "First" }]);
  const { page } = await open("/settings");
  const frame = framePage(page);
  for (const [view, first] of [
    ["Destinations", /^Billing/],
    ["Sources", /^Shop web/],
    ["Live", /^Messages, newest first$/],
    ["Test endpoints", /^flaky-billing/],
  ] as const) {
    await frame.viewLink(view).click();
    await expect.poll(() => focused(page), { message: view }).toMatch(first);
  }
  await page.keyboard.press("ArrowDown");
  await expect.poll(() => focused(page)).toMatch(/^second/);
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "Test endpoint second" }).waitFor();

  const [message] = (await inspector.call("messages.list", {})).items;
  await page.evaluate(`location.hash = "#/live/${message?.id}"`);
  const details = page.getByRole("region", { name: "Message details" });
  await details.waitFor();
  await page.getByRole("grid", { name: "Messages, newest first" }).waitFor();
  await page.keyboard.press("/");
  await expect.poll(() => focused(page)).toBe("Filter messages");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await expect.poll(() => focused(page)).toBe("Messages, newest first");
  await page.keyboard.press("Escape");
  await details.waitFor({ state: "detached" });
});
