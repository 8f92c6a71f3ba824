/** Stories, as somebody plays them on a projector: by keyboard. */

import type { Page, Request } from "playwright-core";
import { describe, expect } from "vitest";
import { clientsPage } from "./pages/clients.ts";
import { detailsPage } from "./pages/details.ts";
import { flowPage } from "./pages/flow.ts";
import { framePage } from "./pages/frame.ts";
import { livePage } from "./pages/live.ts";
import { palettePage } from "./pages/palette.ts";
import { settingsPage } from "./pages/settings.ts";
import { sourcesPage } from "./pages/sources.ts";
import { storyPage } from "./pages/story.ts";
import { seriousFindings } from "./support/axe.ts";
import { test } from "./support/inspector-test.ts";

const projector = { viewport: { width: 1280, height: 720 } };
const stories = [
  ["An audience, entered and left", 7],
  ["An outage, and no message lost", 5],
  ["Five webhooks, one works", 4],
] as const;

async function reached(page: Page, at: number, of: number): Promise<void> {
  const story = storyPage(page);
  await story.at(at, of).waitFor();
  await story.bar.and(page.locator("[aria-busy=false]")).waitFor();
  if (at > 0) await story.highlighted.waitFor();
}

/** Of real time: they depend on how soon one scene follows the other. */
const rates = /: (?:[\d.]+ a second|nothing moves), /g;

const withoutRates = async (page: Page): Promise<string> =>
  (await page.locator("body").ariaSnapshot()).replaceAll(rates, ": ");

/** Another value after each change of the page, also when it was loaded again. */
const changes = (page: Page): Promise<string> =>
  page.evaluate<string>(`(() => {
    if (window.changes === undefined) {
      window.changes = 0;
      const all = { subtree: true, childList: true, attributes: true, characterData: true };
      new MutationObserver(() => (window.changes += 1)).observe(document, all);
    }
    return performance.timeOrigin + " " + window.changes;
  })()`);

/** Reads all that the page shows but rates, and again only when the page has changed since. */
function readerOf(page: Page): () => Promise<string> {
  let read: { at: string; text: string } | null = null;
  return async () => {
    const at = await changes(page);
    if (read?.at !== at) read = { at, text: await withoutRates(page) };
    return read.text;
  };
}

/** Which calls the page waits for; the stream of changes never ends. */
function followCalls(page: Page): { underWay(): number } {
  const calls = new Set<Request>();
  page.on("request", (request) => {
    if (!request.url().endsWith("/api/events")) calls.add(request);
  });
  for (const end of ["requestfinished", "requestfailed"] as const)
    page.on(end as "requestfinished", (request) => calls.delete(request));
  return { underWay: () => calls.size };
}

/**
 * All that the page shows but rates, once the scene is there, nothing changes any more and nothing
 * is asked.
 */
async function scene(
  page: Page,
  calls: ReturnType<typeof followCalls>,
  at: number,
  of: number,
): Promise<string> {
  await reached(page, at, of);
  const read = readerOf(page);
  let seen: string[] = [];
  await expect
    .poll(
      async () => {
        const now = await read();
        seen = seen[0] === now ? [now, ...seen] : [now];
        return seen.length >= 4 && calls.underWay() === 0;
      },
      { interval: 250 },
    )
    .toBe(true);
  return seen[0] ?? "";
}

/** Lists may catch up with the scene after its caption. */
async function shows(page: Page, at: number, of: number, expected: string): Promise<void> {
  await reached(page, at, of);
  await expect.poll(readerOf(page)).toBe(expected);
}

test("Esc cancels the opening of a story", async ({ open, inspector }) => {
  const { page } = await open("/sources");
  const opening = inspector.hold("stories.open");
  const closing = inspector.hold("stories.close");
  closing.release();
  await page.keyboard.press("d");
  await page.getByRole("status").getByText("Opening the story").waitFor();
  await expect.poll(() => opening.inputs).toHaveLength(1);
  await page.keyboard.press("Escape");
  await page.getByText("Opening the story").waitFor({ state: "detached" });
  opening.release();
  await expect.poll(() => closing.inputs).toHaveLength(1);
  await expect.poll(() => storyPage(page).bar.count()).toBe(0);
});

describe("the demo of five minutes", () => {
  const scenes = 13;

  test("plays by one key, and shows the same when it goes back and when it starts again; it can be read in dark colours too", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    const { page } = await open("/destinations", projector);
    const story = storyPage(page);
    const calls = followCalls(page);
    await page.keyboard.press("d");
    const first = [await scene(page, calls, 0, scenes)];
    const goes = async (key: string, at: number): Promise<void> => {
      await page.keyboard.press(key);
      await shows(page, at, scenes, first[at] ?? "");
    };
    for (let at = 1; at <= scenes; at += 1) {
      await page.keyboard.press("ArrowRight");
      first.push(await scene(page, calls, at, scenes));
      // They have all that a scene is made of: a view, a caption, a stage, the flow.
      if (![7, 9, 13].includes(at)) continue;
      expect(await seriousFindings(page)).toEqual([]);
      await page.emulateMedia({ colorScheme: "dark" });
      expect(await seriousFindings(page, "colours")).toEqual([]);
      await page.emulateMedia({ colorScheme: "light" });
    }
    // Each step back plays from the start; these and the first ones show every view again.
    for (const at of [12, 11, 10]) await goes("ArrowLeft", at);
    await goes("Home", 0);
    for (const at of [1, 2, 3]) await goes("ArrowRight", at);

    await page.keyboard.press("Escape");
    await story.bar.waitFor({ state: "detached" });
    await framePage(page).viewLink("Destinations").and(page.locator("[aria-current]")).waitFor();
    await expect.poll(async () => (await inspector.call("stories.list", {})).items).toEqual([]);
    expect((await inspector.call("stats.get", {})).messages.total).toBe(0);
  });

  test("plays by itself, faster by a digit, and reads nothing while it goes back, since what the views show is of the run before", async ({
    open,
    inspector,
  }) => {
    const { page } = await open("/live", projector);
    await page.keyboard.press("d");
    await reached(page, 0, scenes);
    await page.keyboard.press("9");
    await page.keyboard.press("Space");
    // A slow machine may see a later one first.
    await storyPage(page)
      .bar.getByText(/^(?:[3-9]|1\d) of 13$/)
      .waitFor();
    await page.keyboard.press("Space");
    await storyPage(page).play.waitFor();
    await storyPage(page).bar.and(page.locator("[aria-busy=false]")).waitFor();

    const going = inspector.hold("stories.go");
    await page.keyboard.press("Home");
    await expect.poll(() => going.inputs).toHaveLength(1);
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await framePage(page).viewLink("Test endpoints").click();
    await framePage(page).viewLink("Test endpoints").and(page.locator("[aria-current]")).waitFor();
    expect(asked).toEqual([]);
    going.release();
    await reached(page, 0, scenes);
    expect(asked).toContain("/api/about");
    asked.length = 0;
    await page.keyboard.press("ArrowRight");
    await reached(page, 1, scenes);
    expect(asked).toContain("/api/stats");
    // It cannot have changed.
    expect(asked).not.toContain("/api/about");
  });

  test("shows on the flow how the order that a scene sends moves", async ({ open }) => {
    const { page } = await open("/live", {
      viewport: { width: 800, height: 500 },
      reducedMotion: "no-preference",
    });
    await page.keyboard.press("d");
    await reached(page, 0, scenes);
    for (const at of [1, 2]) {
      await page.keyboard.press("ArrowRight");
      await storyPage(page).at(at, scenes).waitFor();
    }
    const flow = flowPage(page);
    await expect.poll(flow.isDrawnOn, { interval: 50 }).toBe(true);
    const before = await flow.picture();
    await expect.poll(flow.picture, { interval: 50 }).not.toBe(before);
    await expect.poll(flow.isDrawnOn, { interval: 500 }).toBe(false);
  });

  test("goes on where it was when the page is reloaded, and ends when it is left", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    const { page } = await open("/destinations", projector);
    const calls = followCalls(page);
    await page.keyboard.press("d");
    await reached(page, 0, scenes);
    await page.keyboard.press("ArrowRight");
    const first = await scene(page, calls, 1, scenes);
    const resuming = inspector.hold("stories.get");
    await page.reload();
    await expect.poll(() => resuming.inputs).toHaveLength(1);
    await page.reload();
    await expect.poll(() => resuming.inputs).toHaveLength(2);
    resuming.release();
    await shows(page, 1, scenes, first);
    expect((await inspector.call("stories.list", {})).items).toHaveLength(1);
    await page.keyboard.press("ArrowRight");
    await reached(page, 2, scenes);
    // Keys of the story are text in a field.
    const palette = palettePage(page);
    await palette.open();
    await palette.input.pressSequentially("9 1");
    await expect.poll(() => palette.input.inputValue()).toBe("9 1");
    await page.keyboard.press("Escape");
    await palette.dialog.waitFor({ state: "detached" });
    await storyPage(page).at(2, scenes).waitFor();
    await page.keyboard.press("Escape");
    await framePage(page).viewLink("Destinations").and(page.locator("[aria-current]")).waitFor();
    await expect.poll(async () => (await inspector.call("stories.list", {})).items).toEqual([]);
    await page.reload();
    await framePage(page).viewLink("Destinations").and(page.locator("[aria-current]")).waitFor();
    await storyPage(page).bar.waitFor({ state: "detached" });
  });
});

test("the other stories play scene by scene, one after the other", async ({ open }) => {
  const { page } = await open("/live", projector);
  for (const [title, scenes] of stories) {
    await palettePage(page).run(
      `Play the story ${title.slice(0, 1).toLowerCase()}${title.slice(1)}`,
    );
    await storyPage(page).title.filter({ hasText: title }).waitFor();
    for (let at = 1; at <= scenes; at += 1) {
      await page.keyboard.press("ArrowRight");
      await reached(page, at, scenes);
    }
    await page.keyboard.press("Escape");
    await storyPage(page).bar.waitFor({ state: "detached" });
  }
});

test("presenting hides write keys everywhere, and a form that is saved meanwhile keeps its key", async ({
  open,
  inspector,
}) => {
  const { source } = await inspector.shop();
  await inspector.send([
    { userId: "ana", event: "Order Completed" },
    {
      type: "identify",
      userId: "eve@example.test",
      traits: { email: "eve@example.test", accessToken: "t0ken-of-eve" },
    },
  ]);
  await inspector.call("pipeline.settle", {});
  const { page } = await open("/sources", projector);
  const shown = (): Promise<string> =>
    page.evaluate(
      "document.body.innerText + [...document.querySelectorAll('input, textarea')].map(({ value }) => value).join(' ')",
    );
  await expect.poll(shown).toContain(source.writeKey);
  await page.keyboard.press("p");
  await page.getByText("secrets hidden").waitFor();
  await expect.poll(shown).toContain("••••••");
  const keys = [source.writeKey, Buffer.from(`${source.writeKey}:`).toString("base64")];
  const loaded = {
    Sources: sourcesPage(page).editor("Shop web"),
    Live: livePage(page).row(/Order Completed/),
    Clients: clientsPage(page).makeFirst.first(),
    Settings: settingsPage(page).saveConfiguration,
  };
  for (const [view, part] of Object.entries(loaded)) {
    await framePage(page).viewLink(view).click();
    await part.waitFor();
    for (const key of keys) expect(await shown(), view).not.toContain(key);
  }
  const hidden = ["eve@example.test", "t0ken-of-eve"];
  await framePage(page).viewLink("Live").click();
  await livePage(page).rows.filter({ hasText: "identify" }).click();
  const details = page.getByRole("region", { name: "Message details" });
  await details.getByText("identify").first().waitFor();
  for (const text of hidden) expect(await shown()).not.toContain(text);
  await page.keyboard.press("]");
  await page.getByRole("region", { name: "Attempt", exact: true }).waitFor();
  for (const text of hidden) expect(await shown()).not.toContain(text);
  await framePage(page).viewLink("Flow").click();
  await flowPage(page).node("Shop web").waitFor();
  for (const text of hidden) expect(await shown()).not.toContain(text);

  await framePage(page).viewLink("Sources").click();
  await page.getByRole("radio", { name: "mobile" }).click();
  await expect
    .poll(async () => (await inspector.call("sources.list", {})).items[0])
    .toMatchObject({ writeKey: source.writeKey });
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Shortcuts" }).waitFor();
  await expect.poll(shown).toContain(source.writeKey);
});

test("while presenting, a filter is hidden on the screen and whole in the address, and views keep their keys", async ({
  open,
  inspector,
}) => {
  await inspector.shop();
  await inspector.send([{ userId: "ada@example.test", event: "Signed Up" }]);
  await inspector.call("pipeline.settle", {});
  const address = "ada@example.test";
  const { page } = await open(`/live?user=${encodeURIComponent(address)}`, projector);
  const live = livePage(page);
  const content = (): Promise<string> => page.evaluate("document.getElementById('root').innerHTML");
  await live.chip("user").waitFor();
  await page.keyboard.press("p");
  await page.getByText("secrets hidden").waitFor();
  await live.chip("user").filter({ hasText: "••••••" }).waitFor();
  await live.row(/Signed Up/).waitFor();
  expect((await content()).replaceAll(/href="[^"]*"/g, "")).not.toContain(address);
  await live.stage("delivered").click();
  await live.chip("state").waitFor();
  expect(decodeURIComponent(page.url())).toContain(`user=${address}`);
  await live.saved.click();
  await live.menuItem("Save this filter…").click();
  await live.filterName.fill("Hers");
  await live.saveFilter.click();
  await expect
    .poll(() => page.evaluate("window.localStorage.getItem('hookyard.filters')"))
    .toContain(`user:${address}`);

  await live.row(/Signed Up/).click();
  await detailsPage(page).marks.first().waitFor();
  await page.keyboard.press("]");
  await page.getByRole("region", { name: "Attempt", exact: true }).waitFor();
  // The page is drawn again, with answers that are there.
  await page.keyboard.press("p");
  await page.getByRole("button", { name: "Shortcuts" }).waitFor();
  await page.keyboard.press("w");
  await page.waitForURL(/what-if/);
  await page.keyboard.press("p");
  await page.getByText("secrets hidden").waitFor();
  await framePage(page).viewLink("Flow").click();
  await flowPage(page).node("Shop web").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Shortcuts" }).waitFor();
});
