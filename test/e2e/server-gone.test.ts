import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect } from "vitest";
import { dataFileName } from "../../src/store/open.ts";
import { composerPage } from "./pages/composer.ts";
import { endpointsPage } from "./pages/endpoints.ts";
import { framePage } from "./pages/frame.ts";
import { livePage } from "./pages/live.ts";
import { settingsPage } from "./pages/settings.ts";
import { openGuarded } from "./support/guarded-page.ts";
import { goInto } from "./support/inspector-place.ts";
import { test } from "./support/inspector-test.ts";
import { startInspector } from "./support/running-inspector.ts";

describe("when the program is gone", () => {
  test("the page keeps what it has and says so, and goes on by itself when it is back", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    await inspector.send([{ userId: "u_1", event: "Before" }]);
    const guarded = await open();
    const { page } = guarded;
    const frame = framePage(page);
    const live = livePage(page);
    const composer = composerPage(page);
    await live.row(/Before/).waitFor();
    // The browser logs each connection that is refused or cut.
    guarded.expect(/net::ERR_/);

    await inspector.stopServing();
    await frame.lost.waitFor();
    await live.row(/Before/).waitFor();
    await live.tail.filter({ hasText: "Waiting" }).waitFor();
    await page.keyboard.press("n");
    await composer.send.click();
    await composer.dialog
      .getByRole("alert")
      .filter({ hasText: "Hookyard does not respond" })
      .waitFor();
    await page.keyboard.press("Escape");
    await frame.mode("paused").click();
    await frame.toast.filter({ hasText: "may have been stopped" }).waitFor();
    await inspector.send([{ userId: "u_2", event: "Meanwhile" }]);
    // Nothing of it changes meanwhile.
    await frame.viewLink("Settings").click();
    const profiles = settingsPage(page).section("Retry profiles");
    await profiles.getByText("Hookyard does not respond").waitFor();

    await inspector.serveAgain();
    await profiles.getByText("built in").first().waitFor();
    await frame.viewLink("Live").click();
    await live.row(/Meanwhile/).waitFor();
    await live.tail.filter({ hasText: "Following" }).waitFor();
    await expect.poll(() => frame.lost.count()).toBe(0);
    await expect.poll(() => frame.toast.count()).toBe(0);
    await inspector.send([{ userId: "u_3", event: "After" }]);
    await live.row(/After/).waitFor();
  });

  test("a field keeps what was typed, and saves it when it is back", async ({
    open,
    inspector,
  }) => {
    const { endpoint } = await inspector.shop();
    const guarded = await open(`/endpoints/${endpoint.id}`);
    const { page } = guarded;
    const frame = framePage(page);
    const endpoints = endpointsPage(page);
    await endpoints.editor("flaky-billing").waitFor();
    guarded.expect(/net::ERR_/);

    await inspector.stopServing();
    await frame.lost.waitFor();
    await endpoints.name.fill("Renamed meanwhile");
    await endpoints.name.press("Enter");
    const silent = page.locator(".commit").getByText("Hookyard does not respond");
    await silent.waitFor();

    await inspector.serveAgain();
    await endpoints.editor("Renamed meanwhile").waitFor();
    await expect.poll(() => silent.count()).toBe(0);
    expect((await inspector.call("endpoints.get", { id: endpoint.id })).name).toBe(
      "Renamed meanwhile",
    );
  });

  test("a change of what was deleted meanwhile says so, and leads to those that are left", async ({
    open,
    inspector,
  }) => {
    const { endpoint } = await inspector.shop();
    await inspector.call("endpoints.create", { name: "steady", steps: [] });
    const guarded = await open(`/endpoints/${endpoint.id}`);
    const { page } = guarded;
    const frame = framePage(page);
    const endpoints = endpointsPage(page);
    await endpoints.editor("flaky-billing").waitFor();
    guarded.expect(/net::ERR_|404/);

    await inspector.stopServing();
    await frame.lost.waitFor();
    await endpoints.name.fill("Renamed meanwhile");
    await endpoints.name.press("Enter");
    await page.locator(".commit").getByText("Hookyard does not respond").waitFor();
    await inspector.call("endpoints.delete", { id: endpoint.id });

    await inspector.serveAgain();
    await frame.toast
      .filter({ hasText: "The test endpoint that you changed was deleted meanwhile" })
      .waitFor();
    await endpoints.editor("steady").waitFor();
    expect(new URL(page.url()).hash).toBe("#/endpoints");
  });
});

test("a page without the right token says that it is the token, until the address is opened with it", async ({
  open,
  inspector,
}) => {
  const guarded = await open();
  const { page } = guarded;
  guarded.expect(/401/);
  await framePage(page).clock.waitFor();
  await page.evaluate("sessionStorage.clear()");
  await page.goto("about:blank");
  const [refused] = await Promise.all([
    page.waitForResponse((response) => new URL(response.url()).pathname === "/api/messages"),
    page.goBack(),
  ]);
  expect(refused.status()).toBe(401);
  await page
    .getByRole("alert")
    .filter({ hasText: "The token of this page is not valid" })
    .waitFor();
  // The list was refused as well, and leaves it to the frame to say so.
  await refused.finished();
  await livePage(page).tail.filter({ hasText: "Waiting" }).waitFor();
  await expect.poll(() => page.getByRole("alert").count()).toBe(1);
  // Nothing is shown as a number that nobody has read.
  await page.getByRole("button", { name: "– delivered", exact: true }).waitFor();
  expect(await page.getByText("0 messages", { exact: true }).count()).toBe(0);
  await page.goto(inspector.address);
  await page.locator("[data-connection=connected]").waitFor();
});

test("when the data file takes nothing in, the page says so and why, until it does again", async ({
  browser,
}) => {
  const data = mkdtempSync(join(tmpdir(), "hookyard-locked-"));
  const inspector = await startInspector({ data });
  const guarded = await openGuarded(browser, inspector.url);
  const frame = framePage(guarded.page);
  await inspector.shop();
  await goInto(guarded.page, inspector.address, "/live");
  await frame.clock.waitFor();
  const other = new Database(join(data, dataFileName));
  other.exec("BEGIN IMMEDIATE");
  expect(await inspector.send([{ userId: "u_1", event: "Refused" }])).toBe(503);
  await frame.trouble
    .filter({ hasText: "locked by another program" })
    .filter({ hasText: "503" })
    .waitFor();
  other.exec("ROLLBACK");
  other.close();
  expect(await inspector.send([{ userId: "u_1", event: "Taken in" }])).toBe(200);
  await livePage(guarded.page)
    .row(/Taken in/)
    .waitFor();
  await expect.poll(() => frame.trouble.count()).toBe(0);
  await inspector.call("pipeline.settle", {});
  expect(guarded.problems()).toEqual([]);
  await guarded.close();
  await inspector.stop();
  rmSync(data, { recursive: true });
});
