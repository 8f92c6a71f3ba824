/** A window under 1400 px: lists become menus, and nothing that is read is cut. */

import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { livePage } from "./pages/live.ts";
import { test } from "./support/inspector-test.ts";

const narrow = { viewport: { width: 1100, height: 700 } };

const focused = (page: Page) => page.evaluate<string>("document.activeElement?.ariaLabel ?? ''");

describe("in a narrow window", () => {
  test("the menu of 50 destinations has a search: typing, arrows and Enter open one", async ({
    open,
    inspector,
  }) => {
    const source = await inspector.call("sources.create", { name: "Shop web" });
    for (let number = 1; number <= 50; number += 1)
      await inspector.call("destinations.create", {
        name: `Billing ${number}`,
        sourceIds: [source.id],
        webhooks: [{ url: `http://billing.localhost/${number}` }],
      });
    const { page } = await open("/destinations", narrow);
    const editor = (name: string) => page.getByRole("region", { name, exact: true });
    await editor("Destination Billing 1").waitFor();
    const menu = page.getByRole("button", { name: "Another destination" });
    await menu.focus();
    await page.keyboard.press("Enter");
    const search = page.getByRole("combobox", { name: "Search destinations" });
    await search.and(page.locator(":focus")).waitFor();
    const found = page.getByRole("listbox", { name: "Another destination" }).getByRole("option");
    await expect.poll(() => found.count()).toBe(51);
    await page.keyboard.type("ing 4");
    await expect.poll(() => found.count()).toBe(14);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowUp");
    await expect
      .poll(() => found.and(page.getByRole("option", { selected: true })).textContent())
      .toBe("Billing 14");
    await page.keyboard.press("Enter");
    await editor("Destination Billing 14").waitFor();
    await search.waitFor({ state: "detached" });

    // What is typed at once is not lost, though no frame was drawn.
    await page.evaluate(`(() => {
      const { requestAnimationFrame } = window;
      const held = [];
      window.requestAnimationFrame = (then) => held.push(then);
      window.draw = () => {
        window.requestAnimationFrame = requestAnimationFrame;
        for (const then of held) requestAnimationFrame(then);
      };
    })()`);
    await menu.click();
    await page.keyboard.type("no such name");
    await page.evaluate("window.draw()");
    await page.getByText("Nothing has this name.").waitFor();
    await page.keyboard.press("Escape");
    await search.waitFor({ state: "detached" });
    expect(await focused(page)).toBe("Another destination");
    await editor("Destination Billing 14").waitFor();
  });

  test("the received requests have whole names of events", async ({ open, inspector }) => {
    const { endpoint } = await inspector.shop();
    const event = "Subscription Renewal Payment Authorisation Declined By Issuer";
    await inspector.send([{ userId: "u_1", event }]);
    await inspector.call("pipeline.settle", {});
    const { page } = await open(`/endpoints/${endpoint.id}`);
    const name = page.getByRole("grid").getByText(event);
    for (const width of [1440, 1100, 800]) {
      await page.setViewportSize({ width, height: 700 });
      await name.waitFor();
      const cut = await name.evaluate((element) => {
        const [own, row] = [element, element.closest("[role=row]") ?? element].map((each) =>
          each.getBoundingClientRect(),
        );
        const isHigher =
          (own?.bottom ?? 0) > (row?.bottom ?? 0) || (own?.top ?? 0) < (row?.top ?? 0);
        return { isCut: element.scrollWidth > element.clientWidth, isHigher };
      });
      expect(cut, `at ${width} px`).toEqual({ isCut: false, isHigher: false });
    }
  });
});

test("beside the details, rows of Live show how many webhooks are not drawn, and why one was rejected", async ({
  open,
  inspector,
}) => {
  const { source, endpoint } = await inspector.shop();
  for (const name of ["Ledger", "Search"])
    await inspector.call("destinations.create", {
      name,
      sourceIds: [source.id],
      webhooks: Array.from({ length: 5 }, (_, nth) => ({ url: `${endpoint.url}?${nth}` })),
    });
  await inspector.send([{ userId: "u_1", event: "Order Completed" }]);
  await inspector.send([{ userId: "u_1", event: "Too large", properties: { a: "a".repeat(4e4) } }]);
  await inspector.call("pipeline.settle", {});
  const id = (await inspector.call("messages.list", {})).items[0]?.id ?? "";
  const { page } = await open(`/live/${id}`, { viewport: { width: 800, height: 700 } });
  const list = page.getByRole("grid", { name: "Messages, newest first" });
  const cells = list.getByRole("gridcell");
  for (const part of [cells.locator("svg text"), cells.getByText("larger than 32 KB")]) {
    await part.waitFor();
    const sticksOut = await part.evaluate((element) => {
      const cell = element.closest("[role=gridcell]")?.getBoundingClientRect();
      const own = element.getBoundingClientRect();
      return { left: own.left < (cell?.left ?? 0) - 1, right: own.right > (cell?.right ?? 0) + 1 };
    });
    expect(sticksOut).toEqual({ left: false, right: false });
  }
});

test("what is open is whole at 800 px and at 200 % zoom: its name, its answers, its fields", async ({
  open,
  inspector,
}) => {
  const [event, user] = ["Subscription Renewed", "user_1042"];
  const { endpoint, destination } = await inspector.shop({
    steps: [{ do: "answer", status: 503 }],
  });
  await inspector.call("clock.set", { mode: "paused" });
  await inspector.send([{ userId: user, event }]);
  await inspector.call("pipeline.settle", {});
  const id = (await inspector.call("messages.list", {})).items[0]?.id ?? "";
  const attempt = (await inspector.call("messages.get", { id })).deliveries[0]?.attempts[0]?.id;
  const { page } = await open(`/live/${id}`, { viewport: { width: 800, height: 600 } });
  const row = page.getByRole("row", { name: `track ${event} of ${user}` });
  const details = page.getByRole("region", { name: "Message details" });
  const requests = page.getByRole("region", { name: "Received requests" });
  for (const [place, ...parts] of [
    [`/live/${id}`, row.getByText("503"), details.getByText(user, { exact: true }).first()],
    [`/live/${id}`, details.getByRole("heading", { name: event })],
    [`/live/${id}/attempts/${attempt}`, page.getByText("round 1, webhook 1 of Billing")],
    [`/endpoints/${endpoint.id}`, page.getByRole("combobox", { name: "Status of step 1" })],
    [`/endpoints/${endpoint.id}`, requests.getByText(`round 1 of ${event}`)],
    [`/destinations/${destination.id}`, page.getByRole("cell", { name: /^next \d/ })],
  ] as const) {
    await page.evaluate(`location.hash = ${JSON.stringify(`#${place}`)}`);
    for (const viewport of [
      { width: 800, height: 600 },
      { width: 720, height: 450 },
    ]) {
      await page.setViewportSize(viewport);
      for (const part of parts) {
        await part.waitFor();
        const cut = (): Promise<number> =>
          part.evaluate((element) => element.scrollWidth - element.clientWidth);
        await expect.poll(cut, { message: `${place} at ${viewport.width} px` }).toBeLessThan(1);
      }
    }
  }
});

test("what can be done with selected messages is in view at every width", async ({
  open,
  inspector,
}) => {
  await inspector.shop();
  const user = "user_1042";
  await inspector.send([
    { userId: user, event: "Order Completed" },
    { userId: user, event: "Cart Viewed" },
  ]);
  await inspector.call("pipeline.settle", {});
  const { page } = await open("/live");
  const { rows, several } = livePage(page);
  await rows.nth(1).click();
  await rows.nth(0).click({ modifiers: ["Shift"] });
  await several.getByText("2 selected").waitFor();
  const outside = (): Promise<(string | null)[]> =>
    several.locator("span, button").evaluateAll((parts) =>
      parts
        .filter((part) => {
          const bar = part.closest("[role=group]")?.getBoundingClientRect();
          const { right, bottom } = part.getBoundingClientRect();
          const isOut = bar === undefined || right > bar.right || bottom > bar.bottom;
          return isOut || part.scrollWidth > part.clientWidth;
        })
        .map((part) => part.textContent),
    );
  for (const width of [1440, 1100, 800, 720]) {
    await page.setViewportSize({ width, height: 700 });
    await expect.poll(outside, { message: `${width} px` }).toEqual([]);
  }
});

test("a delivery whose next round is on another day keeps its buttons, at every width", async ({
  open,
  inspector,
}) => {
  const { source, endpoint } = await inspector.shop({ steps: [{ do: "answer", status: 503 }] });
  await inspector.call("destinations.create", {
    name: "Invoices",
    sourceIds: [source.id],
    webhooks: [{ url: endpoint.url }],
  });
  const { now } = await inspector.call("clock.set", { mode: "paused" });
  await inspector.call("clock.advance", {
    byMs: new Date(now).setHours(47, 59, 55, 0) - Date.parse(now),
  });
  await inspector.send([{ userId: "u_1", event: "Order Completed" }]);
  await inspector.call("pipeline.settle", {});
  const id = (await inspector.call("messages.list", {})).items[0]?.id ?? "";
  const { page } = await open(`/live/${id}`);
  const list = page.getByRole("list", { name: "Deliveries" });
  const retry = list.getByRole("button", { name: "Retry now" }).last();
  await list
    .getByText(/round 2 at \w+ 00:00/)
    .last()
    .waitFor();
  for (const width of [1440, 1100, 800, 720]) {
    await page.setViewportSize({ width, height: 700 });
    const beyond = async (): Promise<number> => {
      const [inner, outer] = [await retry.boundingBox(), await list.boundingBox()];
      const [right, edge] = [inner, outer].map((box) => (box?.x ?? 0) + (box?.width ?? 0));
      return (right ?? 0) - (edge ?? 0);
    };
    await expect.poll(beyond, { message: `${width} px` }).toBeLessThanOrEqual(0);
  }
});

test("the ingest address is whole while there is no source", async ({ open }) => {
  const { page } = await open("/sources", narrow);
  const address = page.getByRole("region", { name: "Ingest address" }).locator("code");
  for (const width of [1100, 800]) {
    await page.setViewportSize({ width, height: 700 });
    await address.waitFor();
    const isCut = await address.evaluate((element) => element.scrollWidth > element.clientWidth);
    expect(isCut, `at ${width} px`).toBe(false);
  }
});

test("the draft of a deleted destination is dropped, and the others stay", async ({
  open,
  inspector,
}) => {
  const { destination, source } = await inspector.shop();
  const other = await inspector.call("destinations.create", {
    name: "Other",
    sourceIds: [source.id],
    webhooks: [{ url: "http://other.localhost/" }],
  });
  const { page } = await open(`/destinations/${destination.id}`);
  const name = page.getByRole("textbox", { name: "Name", exact: true });
  const drafts = () =>
    page.evaluate<string[]>(
      `Object.keys(JSON.parse(sessionStorage.getItem("hookyard.drafts.Destination") ?? "{}"))`,
    );
  await name.fill("Typed");
  await page.evaluate(`location.hash = "#/destinations/${other.id}"`);
  await page.getByRole("region", { name: "Destination Other" }).waitFor();
  await name.fill("Typed too");
  await expect.poll(drafts).toEqual([destination.id, other.id]);
  await inspector.call("destinations.delete", { id: destination.id });
  await expect.poll(drafts).toEqual([other.id]);
  await expect.poll(() => name.inputValue()).toBe("Typed too");
});
