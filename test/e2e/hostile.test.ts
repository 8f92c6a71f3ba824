import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { attemptPage } from "./pages/attempt.ts";
import { audiencesPage } from "./pages/audiences.ts";
import { deletionsPage } from "./pages/deletions.ts";
import { detailsPage } from "./pages/details.ts";
import { livePage } from "./pages/live.ts";
import { palettePage } from "./pages/palette.ts";
import { fillWorkspace } from "./support/filled-workspace.ts";
import { test } from "./support/inspector-test.ts";
import { layoutFindings } from "./support/layout.ts";
import { fullScreens, show } from "./support/screens.ts";

const markup = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script><a href="javascript:window.hacked=1">"'&amp;{{7*7}}`;
const bidi =
  "\u202Egnirts\u202C \u2066left\u2067right\u2069 \u200Bzero\u200Dwidth\uFEFF \u0000\u0007\u001B[31m";
const combining = `Z${"\u0351".repeat(400)}algo`;
const long = "W".repeat(30_000);
const lines = "one\r\ntwo\u2028three\tfour";

/** Their words are the product's own, and beside them those of other views; views.test.ts measures them. */
const inside =
  /^(?:scenario-\w+|settings-delivery|shortcuts|menu|endpoint-forward|destination-behind)$/;

const hacked = (page: Page): Promise<unknown> => page.evaluate("window.hacked ?? null");

describe("strings from outside", () => {
  test("are text in every view: markup, directions, what takes no room, 30,000 letters", async ({
    open,
    inspector,
  }) => {
    const workspace = await fillWorkspace(inspector, {
      source: `${"W".repeat(60)}${markup}${bidi}`.slice(0, 200),
      destination: `${markup}${"W".repeat(200)}`.slice(0, 200),
      endpoint: `${bidi}${"W".repeat(200)}`.slice(0, 200),
      event: `${markup}${bidi}`,
      userId: `${bidi}${markup}${"W".repeat(2000)}`,
      properties: {
        [markup]: markup,
        [bidi]: bidi,
        __proto__: { a: markup },
        long: "W".repeat(9000),
        combining,
        lines,
        ["W".repeat(3000)]: 1,
      },
      headerValue: `<script>window.hacked=1</script>${"W".repeat(4000)}`,
      answerBody: `${markup}${"W".repeat(20_000)}`,
    });
    const { page } = await open("/settings");
    const wrong: Record<string, string[]> = {};
    const sizes = [
      { width: 1440, height: 900 },
      { width: 1100, height: 700 },
    ];
    const screens = fullScreens(workspace).filter(
      ({ name, isAlike }) => isAlike !== true && !inside.test(name),
    );
    for (const screen of screens) {
      await show(page, screen);
      for (const size of sizes) {
        await page.setViewportSize(size);
        const findings = await layoutFindings(page);
        if (findings.length > 0) wrong[`${screen.name}, ${size.width}`] = findings;
      }
      expect(
        await page.locator("main img, main script, main a[href^=javascript]").count(),
        screen.name,
      ).toBe(0);
      expect(await hacked(page), screen.name).toBe(null);
      // The next screen is opened in the size that is there.
      sizes.reverse();
    }
    expect(wrong).toEqual({});
  });

  test("are not lost: what is shown can be read, selected and copied whole", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    const event = `${markup}\u202Eevil\u200B`;
    await inspector.send([
      { userId: "u_1", event, messageId: markup, properties: { long, combining } },
    ]);
    await inspector.call("pipeline.settle", {});
    const { page } = await open();
    const details = detailsPage(page);
    await livePage(page).rows.first().click();
    await details.heading.filter({ hasText: markup }).waitFor();
    // What nobody could see is shown as an escape.
    await details.heading.filter({ hasText: "\\u202e" }).filter({ hasText: "\\u200b" }).waitFor();
    await details.tab("Raw").click();
    await details.look("text").click();
    await details.panel.getByText("onerror=", { exact: false }).first().waitFor();
    await details.mark(/^Round 1: success/).click();
    await attemptPage(page).request.getByText("onerror", { exact: false }).first().waitFor();
    await page.keyboard.press("c");
    await expect
      .poll(() => page.evaluate<string>("navigator.clipboard.readText()"))
      .toContain(long);
    await palettePage(page).open();
    await palettePage(page).input.fill(markup);
    await palettePage(page).chosen.filter({ hasText: markup }).waitFor();
    await page.keyboard.press("Enter");
    await expect.poll(() => livePage(page).count()).toBeLessThanOrEqual(1);
    expect(await hacked(page)).toBe(null);
    expect(await layoutFindings(page)).toEqual([]);
  });

  test("turn nothing around them: a delete message, an audience's message, the key of a signature", async ({
    open,
    inspector,
  }) => {
    const { destination } = await inspector.shop();
    const userId = "u\u202Ereversed";
    await inspector.call("destinations.update", { id: destination.id, name: "a\u202Eevil" });
    await inspector.send([{ userId, event: "Order Completed" }]);
    await inspector.call("pipeline.settle", {});
    const { id = "" } = (await inspector.call("messages.list", {})).items[0] ?? {};
    const attempt = (await inspector.call("messages.get", { id })).deliveries[0]?.attempts[0]?.id;
    const { page } = await open("/deletions/new");
    await deletionsPage(page).users.fill(userId);
    const shown = (label: string, text: string): Promise<void> =>
      page.getByLabel(label, { exact: true }).filter({ hasText: text }).waitFor();
    await shown("The delete message", '"userId":"u\\u202ereversed","timestamp"');
    await page.evaluate("location.hash = '#/audiences/new'");
    await audiencesPage(page).rule.event.fill("Order Completed");
    await shown("What receivers get", '"userId":"u\\u202ereversed","traits"');
    await page.evaluate(`location.hash = "#/live/${id}/attempts/${attempt}"`);
    await page.getByText("the shared secret of a\\u202eevil, 6 bytes, UTF-8").waitFor();
  });

  test("with 10,000 members or 400 levels are drawn a window at a time, and answer at once", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    const members = (count: number): Record<string, number> =>
      Object.fromEntries(Array.from({ length: count }, (_, nth) => [`k${nth}`, nth]));
    await inspector.send([
      { userId: "u_1", event: "Many", properties: members(2_400) },
      {
        userId: "u_2",
        event: "Deep",
        properties: { deep: JSON.parse(`${"[".repeat(400)}1${"]".repeat(400)}`) as unknown },
      },
      { userId: "u_3", event: "W".repeat(30_000) },
      { userId: "W".repeat(30_000), event: "Too many", properties: members(10_000) },
    ]);
    const [endpoint] = (await inspector.call("endpoints.list", {})).items;
    await inspector.call("endpoints.update", {
      id: endpoint?.id ?? "",
      steps: [{ do: "answer", body: JSON.stringify(members(5_000)) }],
    });
    await inspector.send([{ userId: "u_4", event: "Answered" }]);
    await inspector.call("pipeline.settle", {});
    const { page } = await open();
    const live = livePage(page);
    const details = detailsPage(page);
    for (const event of ["Many", "Deep", "WWWW", "Too many"]) {
      await live.row(new RegExp(`track ${event}`)).click();
      await details.heading.filter({ hasText: event }).waitFor();
      await details.tab("Raw").click();
      for (const look of ["text", "hex", "tree"] as const) await details.look(look).click();
      const folded = details.panel.getByRole("button", { expanded: false });
      for (let unfolded = 0; unfolded < 5 && (await folded.count()) > 0; unfolded += 1)
        await folded.first().click();
      await expect
        .poll(() => page.locator("main *").count(), { message: event })
        .toBeLessThan(6_000);
      expect(await layoutFindings(page), event).toEqual([]);
    }
    await live.row(/track Answered /).click();
    await details.heading.filter({ hasText: "Answered" }).waitFor();
    await details.mark(/^Round 1: success/).click();
    await attemptPage(page).response.waitFor();
    await page
      .getByRole("radiogroup", { name: "Show the response's body as" })
      .getByRole("radio", { name: "tree" })
      .click();
    await expect.poll(() => page.locator("main *").count()).toBeLessThan(6_000);
    expect(await layoutFindings(page)).toEqual([]);
  });
});
