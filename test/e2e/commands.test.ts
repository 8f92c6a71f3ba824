import type { Locator, Page } from "playwright-core";
import { describe, expect } from "vitest";
import { composerPage } from "./pages/composer.ts";
import { destinationsPage } from "./pages/destinations.ts";
import { endpointsPage } from "./pages/endpoints.ts";
import { framePage } from "./pages/frame.ts";
import { livePage } from "./pages/live.ts";
import { palettePage } from "./pages/palette.ts";
import { settingsPage } from "./pages/settings.ts";
import { sourcesPage } from "./pages/sources.ts";
import { sharing, test } from "./support/inspector-test.ts";

const labels = [
  "Live",
  "Flow",
  "Retries",
  "Sources",
  "Destinations",
  "Test endpoints",
  "Clients",
  "Profiles",
  "Audiences",
  "Deletions",
  "Scenarios",
  "Receivers",
  "Settings",
];

/** A shop with one delivered message, which these tests leave as it is. */
const shop = sharing(async (inspector) => {
  await inspector.shop();
  await inspector.send([{ userId: "u_1042", event: "First" }]);
  // The marks of the timeline are controls too: none may appear after the focus has passed its
  // place.
  await inspector.call("pipeline.settle", {});
});

/** With what is there once the view has what it shows: no other view has it. */
function placesOf(
  page: Page,
  message: string,
): Record<string, { place: string; shown: Locator[] }> {
  const main = page.getByRole("main");
  const heading = (name: string) => main.getByRole("heading", { name }).first();
  const { view: settings } = settingsPage(page);
  return {
    Live: {
      place: `/live/${message}`,
      shown: [
        heading("First"),
        main.getByRole("button", { name: /^Round 1: / }),
        livePage(page).rows.first(),
      ],
    },
    Sources: {
      place: "/sources",
      shown: [
        sourcesPage(page).editor("Shop web").getByRole("link", { name: "Billing" }),
        sourcesPage(page).snippet("cURL"),
      ],
    },
    Destinations: {
      place: "/destinations",
      shown: [
        destinationsPage(page).editor("Billing"),
        destinationsPage(page).deliveries.getByRole("link").first(),
      ],
    },
    "Test endpoints": {
      place: "/endpoints",
      shown: [
        endpointsPage(page).editor("flaky-billing").getByRole("link", { name: "Billing" }),
        endpointsPage(page).presets("certificates").first(),
        endpointsPage(page).received.first(),
        main.getByRole("link", { name: "First", exact: true }),
      ],
    },
    Retries: { place: "/retries", shown: [heading("No delivery is waiting")] },
    Scenarios: { place: "/scenarios/outage.yaml", shown: [heading("An outage")] },
    Settings: {
      place: "/settings",
      // A section that has not loaded is a heading.
      shown: [
        settings.getByRole("table", { name: "Pieces of the switch" }),
        settings.locator(".profile").first(),
        settings.getByRole("textbox", { name: "Seed" }),
        settings.getByRole("radiogroup", { name: "Durability" }),
        settings.getByText("Data directory", { exact: true }),
      ],
    },
  };
}

/** From now on the page marks what had the focus, and knows when the focus has come round. */
const followFocus = (page: Page): Promise<void> =>
  page.evaluate(`document.addEventListener("focusin", ({ target }) => {
    if (target.dataset.seen) window.isRound = true;
    target.dataset.seen = "yes";
  })`);

/** The controls in a part of the page that Tab does not come to, on its way round the page. */
async function missedByTab(page: Page, part: string): Promise<string[]> {
  await page.evaluate(`(() => {
    document.activeElement?.blur();
    for (const each of document.querySelectorAll("[data-seen]")) each.removeAttribute("data-seen");
    window.isRound = false;
  })()`);
  for (let presses = 0; presses < 200; presses += 1) {
    if (presses % 10 === 0 && (await page.evaluate<boolean>("window.isRound"))) break;
    await page.keyboard.press("Tab");
  }
  return page.evaluate<
    string[]
  >(`[...document.querySelectorAll("${part} :is(button, a[href], input, select, textarea, [tabindex='0'])")]
    .filter((each) => !each.disabled && (each.tabIndex === 0 || each.matches("nav[aria-label=Views] a")))
    .filter((each) => each.checkVisibility({ visibilityProperty: true }) && !each.dataset.seen)
    .map((each) => each.outerHTML.slice(0, 120))`);
}

describe("the keyboard alone", () => {
  shop("leads to every view through the command palette", async ({ visit }) => {
    const { page } = await visit();
    const palette = palettePage(page);
    await palette.open();
    await palette.input.fill("go to");
    await expect
      .poll(() => palette.offers.filter({ hasText: /^Go to/ }).allTextContents())
      .toEqual(labels.map((label) => `Go to ${label}`));
    await page.keyboard.press("Escape");
    await palette.dialog.waitFor({ state: "detached" });
    for (const label of ["Receivers", "Live"]) {
      await palette.run(`Go to ${label}`);
      await page.locator("nav [aria-current=page]").filter({ hasText: label }).waitFor();
    }
    await expect.poll(() => framePage(page).links.allTextContents()).toEqual(labels);
  });

  shop("leaves Enter and Escape to an input method that composes a word", async ({ visit }) => {
    const { page } = await visit();
    const compose = (key: string): Promise<unknown> =>
      page.evaluate(
        `document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "${key}", isComposing: true, bubbles: true, cancelable: true }))`,
      );
    const palette = palettePage(page);
    await palette.open();
    await palette.input.fill("Go to Flow");
    await compose("Enter");
    await page.keyboard.press("Escape");
    await palette.dialog.waitFor({ state: "detached" });
    expect(await page.evaluate("location.hash")).toBe("#/live");

    const live = livePage(page);
    await page.keyboard.press("/");
    await page.keyboard.type("user:u");
    await compose("Enter");
    await compose("Escape");
    await page.keyboard.type("_1042");
    await expect.poll(() => live.filter.inputValue()).toBe("user:u_1042");
    await page.keyboard.press("Enter");
    await live.chip("user").waitFor();
  });

  shop(
    "says in the palette once to which part of the view the controls belong",
    async ({ visit, inspector }) => {
      const id = (await inspector.call("messages.list", {})).items[0]?.id ?? "";
      const { page } = await visit(`/live/${id}`);
      await page.getByRole("region", { name: "Message details" }).getByRole("tabpanel").waitFor();
      const palette = palettePage(page);
      await palette.open();
      await palette.dialog.getByText("Message details").first().waitFor();
      await expect
        .poll(() => palette.dialog.getByText("Message details", { exact: true }).count())
        .toBe(1);
      await palette.input.fill("replay");
      await palette.chosen.filter({ hasText: "Replay" }).getByText("Message details").waitFor();
    },
  );

  test("does not offer in the palette what has gone from the page meanwhile", async ({
    open,
    inspector,
  }) => {
    const { id } = await inspector.call("audiences.create", { name: "Buyers", members: ["ana"] });
    const guarded = await open(`/audiences/${id}`);
    // What the page asks about the audience while it is deleted.
    guarded.expect(/404 \(Not Found\)/);
    const { page } = guarded;
    const palette = palettePage(page);
    const sync = palette.offers.filter({ hasText: /Sync now/ });
    const button = page.locator(".main").getByText("Sync now", { exact: true });
    await button.waitFor();
    await palette.open();
    await palette.input.fill("sync no");
    await palette.chosen.filter({ hasText: "Sync now" }).waitFor();
    await inspector.call("audiences.delete", { id });
    await button.waitFor({ state: "detached" });
    await palette.input.fill("sync now");
    await sync.waitFor({ state: "detached" });
    await palette.chosen.waitFor();
  });

  test("does on Live what the pointer does: walk, open, go back, retry, open the attempt", async ({
    open,
    inspector,
  }) => {
    await inspector.shop({ steps: [{ do: "answer", status: 410, times: 2 }, { do: "answer" }] });
    await inspector.send([
      { userId: "u_1", event: "First" },
      { userId: "u_2", event: "Second" },
    ]);
    await inspector.call("pipeline.settle", {});
    const { page } = await open();
    const live = livePage(page);
    await live.row(/First/).waitFor();
    await page.keyboard.press("j");
    await live.selected.filter({ hasText: "Second" }).waitFor();
    await page.keyboard.press("j");
    await live.selected.filter({ hasText: "First" }).waitFor();
    await page.keyboard.press("r");
    await live.row(/First .*delivered, 2 attempts/).waitFor();
    await page.keyboard.press("Enter");
    const details = page.getByRole("region", { name: "Message details" });
    await details.getByRole("heading", { name: "First" }).waitFor();
    await page.keyboard.press("k");
    await details.getByRole("heading", { name: "Second" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Attempt", exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await details.getByRole("heading", { name: "Second" }).waitFor();
    await page.keyboard.press("Escape");
    await details.waitFor({ state: "detached" });
    await expect.poll(() => live.grid.evaluate((grid) => grid.matches(":focus"))).toBe(true);
  });

  shop(
    "leads to every view with Tab and Enter, and reaches every control with Tab, and none of them holds the focus",
    async ({ visit, inspector }) => {
      const { items } = await inspector.call("messages.list", {});
      const { page } = await visit();
      const places = placesOf(page, items[0]?.id ?? "");
      await followFocus(page);
      for (const label of labels.toReversed()) {
        // That Tab leads to it is seen in each view.
        await framePage(page).viewLink(label).focus();
        await page.keyboard.press("Enter");
        await page.locator("nav [aria-current=page]").filter({ hasText: label }).waitFor();
        const { place, shown } = places[label] ?? { place: null, shown: [] };
        if (place !== null) await page.evaluate(`location.hash = ${JSON.stringify(`#${place}`)}`);
        for (const part of shown) await part.waitFor({ state: "attached" });
        expect(
          await missedByTab(page, place === null ? "nav[aria-label=Views]" : ":is(nav, main)"),
          label,
        ).toEqual([]);
      }
    },
  );
});

describe("the palette", () => {
  test("acts on the selected message, on what is open, and on every control of the view", async ({
    open,
    inspector,
  }) => {
    const { endpoint } = await inspector.shop({
      steps: [{ do: "answer", status: 410, times: 2 }, { do: "answer" }],
    });
    await inspector.send([{ userId: "u_1", event: "First" }]);
    await inspector.call("pipeline.settle", {});
    const { page } = await open();
    const palette = palettePage(page);
    await livePage(page).row(/First/).waitFor();
    await page.keyboard.press("j");
    await palette.run("Retry now");
    await livePage(page)
      .row(/First .*2 attempts/)
      .waitFor();
    await palette.run("What if …");
    await page.getByRole("group", { name: "What if" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("region", { name: "Attempt", exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("region", { name: "Message details" }).waitFor();
    await palette.run("Copy: raw message");
    await expect
      .poll(() => page.evaluate<string>("navigator.clipboard.readText()"))
      .toContain('"event":"First"');

    await page.evaluate(`location.hash = "#/endpoints/${endpoint.id}"`);
    await page.getByRole("region", { name: "Test endpoint flaky-billing" }).waitFor();
    await palette.run("Rewind to step 1");
    const position = async () =>
      (await inspector.call("endpoints.get", { id: endpoint.id })).position;
    await expect.poll(position).toMatchObject({ step: 0, received: 0 });
    await palette.run("Duplicate");
    await page.getByRole("region", { name: "Test endpoint flaky-billing copy" }).waitFor();
    await palette.run("Edit Program as text");
    await page
      .getByRole("textbox", { name: "Program as text" })
      .and(page.locator(":focus"))
      .waitFor();
  });

  shop(
    "opens a thing by its name and by its id, and says why a command could not be done",
    async ({ visit, inspector }) => {
      const [source] = (await inspector.call("sources.list", {})).items;
      const [destination] = (await inspector.call("destinations.list", {})).items;
      const [message] = (await inspector.call("messages.list", {})).items;
      const [delivery] = (await inspector.call("deliveries.list", {})).items;
      const { page } = await visit();
      const palette = palettePage(page);
      const details = page.getByRole("region", { name: "Message details" });
      const byText: [text: string, offer: RegExp, place: string][] = [
        ["billing", /^Billing\W*destination/, `#/destinations/${destination?.id}`],
        [source?.writeKey ?? "", /^Shop web/, `#/sources/${source?.id}`],
        [destination?.id ?? "", /^Billing/, `#/destinations/${destination?.id}`],
        [delivery?.id ?? "", /^Delivery dlv_/, `#/live/${message?.id}?delivery=${delivery?.id}`],
        ["u_1042", /^u_1042\W*profile/, "#/profiles/"],
        [message?.id ?? "", /^First/, `#/live/${message?.id}`],
        ["jitter", /^Delivery\W*settings/, "#/settings/delivery"],
        [message?.messageId ?? "", /^First/, `#/live/${message?.id}`],
      ];
      // Each leads to another place than the one before.
      for (const [text, offer, place] of byText) {
        await palette.open();
        await palette.input.fill(text);
        await palette.chosen.filter({ hasText: offer }).waitFor();
        await page.keyboard.press("Enter");
        await expect
          .poll(() => page.evaluate<string>("location.hash"), { message: text })
          .toContain(place);
      }
      await page.evaluate("location.hash = '#/live'");
      await details.waitFor({ state: "detached" });
      await livePage(page).row(/First/).waitFor();
      await palette.run("Retry now");
      await page
        .getByRole("alert")
        .getByText("Nothing to retry: the message is delivered.")
        .waitFor();
    },
  );
});

describe("what lies over the views", () => {
  shop("is the list of shortcuts with ?, which Esc closes", async ({ visit }) => {
    const { page } = await visit("/sources");
    const { shortcuts } = palettePage(page);
    await sourcesPage(page).editor("Shop web").waitFor();
    await page.keyboard.press("?");
    await shortcuts.waitFor();
    const words = await shortcuts.innerText();
    for (const key of [
      "j",
      "k",
      "Enter",
      "Esc",
      "/",
      "f",
      "r",
      "c",
      "[",
      "]",
      "Space",
      ".",
      "n",
      "?",
    ])
      expect(words).toContain(key);
    await page.keyboard.press("n");
    // As from a key that comes before the list has the focus.
    await page.evaluate(
      "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'n', bubbles: true }))",
    );
    await expect.poll(() => composerPage(page).dialog.count()).toBe(0);
    await page.keyboard.press("Escape");
    await shortcuts.waitFor({ state: "detached" });
  });

  test("is the palette, which offers what a view can do, finds things by ids that have letters, and filters messages by any text", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    await inspector.send([
      { userId: "u_1", event: "Order Completed" },
      { userId: "u_2", event: "Cart Viewed" },
      ...Array.from({ length: 8 }, () => ({ userId: "u_3", event: "Signed Up" })),
    ]);
    await inspector.call("pipeline.settle", {});
    const { page } = await open("/endpoints");
    const palette = palettePage(page);
    await page.getByRole("region", { name: "Test endpoint flaky-billing" }).waitFor();
    await palette.open();
    await palette.input.fill("new test");
    await palette.chosen.filter({ hasText: "New test endpoint" }).waitFor();
    await page.keyboard.press("ArrowUp");
    await palette.chosen.filter({ hasText: "Filter messages for" }).waitFor();
    for (const [id, offer] of [
      ["msg_00000000a", /^Signed Up/],
      ["dlv_00000000a", /^Delivery dlv_/],
    ] as const) {
      await palette.input.fill(id);
      await palette.chosen.filter({ hasText: offer }).waitFor();
    }
    await palette.input.fill("cart viewed");
    await page.keyboard.press("ArrowUp");
    await palette.chosen.filter({ hasText: "Filter messages for" }).waitFor();
    await page.keyboard.press("Enter");
    await expect.poll(() => livePage(page).count()).toBe(1);
    await palette.open();
    await palette.dialog.waitFor();
    await page.keyboard.press("Escape");
    await palette.dialog.waitFor({ state: "detached" });
  });
});
