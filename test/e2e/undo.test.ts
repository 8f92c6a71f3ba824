/** What an editor changed or removed is taken back with Ctrl+Z, and with the toast of a removal. */

import type { Page } from "playwright-core";
import { expect } from "vitest";
import { destinationsPage } from "./pages/destinations.ts";
import { test } from "./support/inspector-test.ts";

const offered = (page: Page) => page.getByRole("status").getByRole("button", { name: "Undo" });

test("a step of a test endpoint comes back with Ctrl+Z and with the toast, also from another view", async ({
  open,
  inspector,
}) => {
  const { endpoint, destination } = await inspector.shop({
    steps: [{ do: "answer", status: 503 }, { do: "hang" }, { do: "answer" }],
  });
  const steps = async () =>
    (await inspector.call("endpoints.get", { id: endpoint.id })).steps.map((step) => step.do);
  const { page } = await open(`/endpoints/${endpoint.id}`);
  const remove = async () => {
    await page.getByRole("button", { name: "More for step 2" }).click();
    await page.getByRole("menuitem", { name: "Remove" }).click();
    await expect.poll(steps).toEqual(["answer", "answer"]);
  };
  const three = ["answer", "hang", "answer"];
  await remove();
  await page.keyboard.press("Control+z");
  await expect.poll(steps).toEqual(three);
  await page.keyboard.press("Control+Shift+z");
  await expect.poll(steps).toEqual(["answer", "answer"]);
  await page.keyboard.press("Control+z");
  await expect.poll(steps).toEqual(three);

  await remove();
  await page.evaluate("location.hash = '#/live'");
  await offered(page).click();
  await expect.poll(steps).toEqual(three);
  await page.getByRole("region", { name: "Test endpoint flaky-billing" }).waitFor();

  await page.evaluate(`location.hash = "#/destinations/${destination.id}"`);
  const { name, save } = destinationsPage(page);
  await name.fill("Draft");
  await save.waitFor();
  await page.evaluate("location.hash = '#/live'");
  await inspector.call("pipeline.reset", { what: "everything" });
  const again = await inspector.shop();
  expect([again.endpoint.id, again.destination.id]).toEqual([endpoint.id, destination.id]);
  const drafts = (): Promise<unknown> =>
    page.evaluate("sessionStorage.getItem('hookyard.drafts.Destination')");
  await expect.poll(drafts).toBe("{}");
  await page.evaluate(`location.hash = "#/endpoints/${endpoint.id}"`);
  await page.getByRole("region", { name: "Test endpoint flaky-billing" }).waitFor();
  await page.keyboard.press("Control+z");
  await page.evaluate(`location.hash = "#/destinations/${destination.id}"`);
  await expect.poll(() => name.inputValue()).toBe("Billing");
  expect(await steps()).toEqual(["answer"]);
});

test("a filter and a fault that were removed come back, and a choice that was saved at once", async ({
  open,
  inspector,
}) => {
  const { source, destination } = await inspector.shop();
  const filter = { name: "No carts", enabled: true, if: 'event = "Cart Viewed"', action: "drop" };
  await inspector.call("destinations.update", {
    id: destination.id,
    filters: [{ ...filter, action: "drop" }],
  });
  await inspector.call("sources.update", {
    id: source.id,
    faults: [{ do: "answer", status: 503 }],
  });
  const { page } = await open(`/destinations/${destination.id}`);
  await page.getByRole("radio", { name: "filters" }).click();
  await page.getByRole("button", { name: "Remove No carts" }).click();
  await page.getByText("No filters:").waitFor();
  await offered(page).click();
  await page.getByRole("button", { name: "Remove No carts" }).waitFor();

  const saved = () => inspector.call("sources.get", { id: source.id });
  await page.evaluate(`location.hash = "#/sources/${source.id}"`);
  await page.getByRole("button", { name: "Remove fault 1" }).click();
  await page.getByText("No faults:").waitFor();
  const production = page.getByRole("radio", { name: "production" });
  await production.click();
  await expect.poll(async () => (await saved()).mode).toBe("production");
  await page.keyboard.press("Control+z");
  await expect.poll(async () => (await saved()).mode).toBe("explain");
  await page.keyboard.press("Control+z");
  await page.getByRole("button", { name: "Remove fault 1" }).waitFor();
  await expect
    .poll(async () => (await saved()).faults)
    .toMatchObject([{ do: "answer", status: 503 }]);

  // It changes nothing that could be taken back.
  await production.click();
  await expect.poll(async () => (await saved()).mode).toBe("production");
  const rearmed = page.waitForRequest((request) => request.method() === "PATCH");
  await page.getByRole("button", { name: "Rearm" }).click();
  await rearmed;
  await page.keyboard.press("Control+z");
  await expect.poll(async () => (await saved()).mode).toBe("explain");
});

test("changes of faults that follow each other at once build on each other", async ({
  open,
  inspector,
}) => {
  const { source } = await inspector.shop();
  const { id } = source;
  await inspector.call("sources.update", { id, faults: [{ do: "answer", status: 503 }] });
  const { page } = await open(`/sources/${id}`);
  const saves = inspector.hold("sources.update");
  await page.getByRole("combobox", { name: "Status of fault 1" }).selectOption("429");
  await page.getByRole("button", { name: "Add a fault" }).click();
  await page.getByRole("combobox", { name: "What fault 2 does" }).selectOption("cut");
  await expect.poll(() => saves.inputs).toHaveLength(1);
  saves.release();
  await expect
    .poll(async () => (await inspector.call("sources.get", { id })).faults)
    .toMatchObject([{ do: "answer", status: 429 }, { do: "cut" }]);
  await expect.poll(() => saves.inputs).toHaveLength(3);
});

test("Ctrl+Z takes back the edit whose save is still on its way, and not the one before", async ({
  open,
  inspector,
}) => {
  const { source } = await inspector.shop();
  const { page } = await open(`/sources/${source.id}`);
  const saves = inspector.hold("sources.update");
  await page.getByRole("radio", { name: "production" }).click();
  await expect.poll(() => saves.inputs).toHaveLength(1);
  await page.keyboard.press("Control+z");
  saves.release();
  const { id } = source;
  await expect
    .poll(() => saves.inputs)
    .toEqual([
      { id, mode: "production" },
      { id, mode: "explain" },
    ]);
});

test("a draft goes back edit by edit, typing as one, and a discarded draft comes back", async ({
  open,
  inspector,
}) => {
  const { destination } = await inspector.shop();
  const { page } = await open(`/destinations/${destination.id}`);
  const name = page.getByRole("textbox", { name: "Name", exact: true });
  const headers = page.getByRole("button", { name: /^Remove header/ });
  await page.getByRole("button", { name: "Add a header" }).click();
  await page.getByRole("textbox", { name: "Name of header 1 of webhook 1" }).fill("X-One");
  await headers.click();
  await expect.poll(() => headers.count()).toBe(0);
  await page.keyboard.press("Control+z");
  await expect.poll(() => headers.count()).toBe(1);

  await name.focus();
  await page.keyboard.press("End");
  await page.keyboard.type(" two");
  await page.keyboard.press("Tab");
  await page.evaluate("document.activeElement?.blur()");
  await page.keyboard.press("Control+z");
  await expect.poll(() => name.inputValue()).toBe("Billing");
  await page.keyboard.press("Control+y");
  await expect.poll(() => name.inputValue()).toBe("Billing two");

  await page.getByRole("button", { name: "Discard" }).click();
  await expect.poll(() => name.inputValue()).toBe("Billing");
  await offered(page).click();
  await expect.poll(() => name.inputValue()).toBe("Billing two");
  await page.reload();
  await expect.poll(() => name.inputValue()).toBe("Billing two");
});

test("after a save Ctrl+Z goes back to what was saved before it", async ({ open, inspector }) => {
  const { destination } = await inspector.shop();
  const { page } = await open(`/destinations/${destination.id}`);
  const name = page.getByRole("textbox", { name: "Name", exact: true });
  await name.fill("Second");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("button", { name: "Discard" }).waitFor({ state: "detached" });
  await expect.poll(() => name.inputValue()).toBe("Second");
  await page.keyboard.press("Control+z");
  await expect.poll(() => name.inputValue()).toBe("Billing");
  await page.getByRole("button", { name: "Discard" }).waitFor();
});

test("after a save Ctrl+Z also takes back what was typed before another destination was opened", async ({
  open,
  inspector,
}) => {
  const { source } = await inspector.shop();
  const sourceIds = [source.id];
  await inspector.call("destinations.create", {
    name: "Other",
    sourceIds,
    webhooks: [{ url: "http://127.0.0.1:9/" }],
  });
  const { page } = await open("/destinations");
  const { name, entry, editor, save } = destinationsPage(page);
  await entry("Billing").click();
  await name.fill("Second");
  await entry("Other").click();
  await editor("Other").waitFor();
  await entry("Billing").click();
  await expect.poll(() => name.inputValue()).toBe("Second");
  await save.click();
  await save.waitFor({ state: "detached" });
  await expect.poll(() => name.inputValue()).toBe("Second");
  await page.keyboard.press("Control+z");
  await expect.poll(() => name.inputValue()).toBe("Billing");
  await save.waitFor();
});

test("the name of a test endpoint, the switch of a destination and a choice of a plan go back", async ({
  open,
  inspector,
}) => {
  const { source, endpoint, destination } = await inspector.shop();
  await inspector.call("sources.update", { id: source.id, plan: { schemas: { Viewed: {} } } });
  const now = async () => [
    (await inspector.call("endpoints.get", { id: endpoint.id })).name,
    (await inspector.call("destinations.get", { id: destination.id })).enabled,
    (await inspector.call("sources.get", { id: source.id })).plan?.onViolation,
  ];
  const before = await now();
  const { page } = await open(`/endpoints/${endpoint.id}`);
  const name = page.getByRole("textbox", { name: "Name", exact: true });
  await name.fill("steady");
  await name.press("Enter");
  await expect.poll(now).toEqual(before.with(0, "steady"));
  await page.evaluate("document.activeElement?.blur()");
  await page.keyboard.press("Control+z");
  await expect.poll(now).toEqual(before);

  await page.evaluate(`location.hash = "#/destinations/${destination.id}"`);
  await page.getByRole("switch", { name: "enabled" }).click();
  await expect.poll(now).toEqual(before.with(1, false));
  await page.keyboard.press("Control+z");
  await expect.poll(now).toEqual(before);

  await page.evaluate(`location.hash = "#/sources/${source.id}"`);
  const violations = page.getByRole("radiogroup", { name: "Violations" });
  await violations.getByRole("radio", { name: "block" }).click();
  await expect.poll(now).toEqual(before.with(2, "block"));
  await page.keyboard.press("Control+z");
  await expect.poll(now).toEqual(before);
});

test("the switch of the hosted service and its pieces go back, with the own value of a source", async ({
  open,
  inspector,
}) => {
  const { source } = await inspector.shop();
  const second = await inspector.call("sources.create", { name: "Shop server" });
  await inspector.call("sources.update", { id: second.id, mode: "production" });
  const pieces = async () => {
    const { parity, vendor, unknownKeys } = await inspector.call("settings.get", {});
    const modes = await Promise.all(
      [source.id, second.id].map(async (id) => (await inspector.call("sources.get", { id })).mode),
    );
    return [parity, vendor, unknownKeys, ...modes];
  };
  const before = ["own", "Hookyard", "explain", "explain", "production"];
  const hosted = ["hosted", "Segment.io", "production", "production", "production"];
  const { page } = await open("/settings/hosted");
  await page.getByRole("switch", { name: "Like the hosted service" }).click();
  await expect.poll(pieces).toEqual(hosted);
  await page.getByRole("combobox", { name: "User-Agent of deliveries" }).selectOption("Hookyard");
  await page.getByText("hosted, changed").waitFor();
  expect(await pieces()).toEqual(hosted.with(1, "Hookyard"));
  await page.evaluate("document.activeElement?.blur()");
  await page.keyboard.press("Control+z");
  await expect.poll(pieces).toEqual(hosted);
  await page.keyboard.press("Control+Shift+z");
  await expect.poll(pieces).toEqual(hosted.with(1, "Hookyard"));
  // Faster than the calls that the first one makes.
  await page.keyboard.press("Control+z");
  await page.keyboard.press("Control+z");
  await expect.poll(pieces).toEqual(before);
  await page.keyboard.press("Control+Shift+z");
  await expect.poll(pieces).toEqual(hosted);
});

test("what was typed in a field before a save, or at another visit, is an edit of its own", async ({
  open,
  inspector,
}) => {
  const { destination } = await inspector.shop();
  const { page } = await open(`/destinations/${destination.id}`);
  const { name, secret, save } = destinationsPage(page);
  const undone = async (text: string): Promise<void> => {
    await page.keyboard.press("Control+z");
    await expect.poll(() => name.inputValue()).toBe(text);
  };
  const showsSaved = async (text: string): Promise<void> => {
    await save.waitFor({ state: "detached" });
    await expect.poll(() => name.inputValue()).toBe(text);
  };
  await name.fill("Saved");
  await save.click();
  await showsSaved("Saved");
  await name.fill("Saved by Enter");
  await name.press("Enter");
  await showsSaved("Saved by Enter");
  await name.fill("First visit");
  await secret.focus();
  await name.fill("Second");
  await name.fill("Second visit");
  await secret.focus();
  await undone("First visit");
  await undone("Saved by Enter");
  await undone("Saved");
  await undone("Billing");
});
