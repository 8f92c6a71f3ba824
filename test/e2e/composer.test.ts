import { describe, expect } from "vitest";
import { composerPage } from "./pages/composer.ts";
import { detailsPage } from "./pages/details.ts";
import { livePage } from "./pages/live.ts";
import { test } from "./support/inspector-test.ts";

describe("the composer", () => {
  test("sends a call as it stands and leads to it in Live", async ({ open, inspector }) => {
    await inspector.shop();
    const { page } = await open();
    const composer = composerPage(page);
    await page.getByRole("heading", { name: "Send the first message" }).waitFor();
    await page.keyboard.press("n");
    await composer.type("group").click();
    await composer.body.fill(
      `{"userId": "u_7", "groupId": "acme", "traits": {"seats": 1.50, "big": 12345678901234567890}}`,
    );
    await composer.send.click();
    await composer.answer.filter({ hasText: "accepted" }).waitFor();
    await composer.seeInLive.click();
    await composer.dialog.waitFor({ state: "detached" });
    await livePage(page)
      .row(/^group acme of u_7, from Shop web, .*delivered/)
      .click();
    const details = detailsPage(page);
    await details.tab("Raw").click();
    await details.panel.getByText("12345678901234567890").waitFor();
    await details.panel.getByText("1.50").waitFor();
  });

  test("says before sending that something is not JSON, sends it all the same, and shows what the port said", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    const { page } = await open("/endpoints");
    const composer = composerPage(page);
    await page.getByRole("heading", { name: "Test endpoints" }).first().waitFor();
    await page.keyboard.press("n");
    await composer.body.fill('{"userId": "u_7", ');
    await composer.problem.filter({ hasText: "Not valid JSON" }).waitFor();
    await page.keyboard.press("ControlOrMeta+Enter");
    await composer.answer
      .filter({ hasText: "rejected" })
      .filter({ hasText: /400 .*"code"/ })
      .waitFor();
    await inspector.call("suppressions.create", { userIds: ["u_7"] });
    await composer.body.fill('{"userId": "u_7", "event": "Order Completed"}');
    await page.keyboard.press("ControlOrMeta+Enter");
    await composer.answer
      .filter({ has: page.getByText("rejected", { exact: true }) })
      .filter({ hasText: /200 .*"suppressed"/ })
      .waitFor();
  });

  test("sends to the source that exists, also when it is asked to before it knows the sources", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    const { page } = await open("/retries");
    const composer = composerPage(page);
    await page.getByRole("heading", { name: "Retries" }).first().waitFor();
    const reading = inspector.hold("sources.list");
    await page.keyboard.press("n");
    await composer.body.and(page.locator(":focus")).waitFor();
    await page.keyboard.press("ControlOrMeta+Enter");
    await expect.poll(() => reading.inputs).not.toEqual([]);
    reading.release();
    await composer.answer.filter({ hasText: "accepted" }).waitFor();
    const { items } = await inspector.call("sources.list", {});
    expect(items.map(({ name }) => name)).toEqual(["Shop web"]);
  });

  test("shows the same call for each client, with the real address and write key", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    const { page } = await open();
    const composer = composerPage(page);
    await page.getByRole("heading", { name: "Send the first message" }).waitFor();
    await page.keyboard.press("n");
    await composer.type("identify").click();
    await expect.poll(() => composer.snippet.textContent()).toContain("/v1/identify");
    const kinds = await composer.kinds.allTextContents();
    expect(kinds).toEqual(expect.arrayContaining(["cURL", "Node", "Go"]));
    for (const kind of kinds) {
      await composer.as(kind).click();
      await expect
        .poll(() => composer.snippet.textContent(), { message: kind })
        .toContain("wk_shop");
      await expect
        .poll(() => composer.snippet.textContent(), { message: kind })
        .toContain(new URL(inspector.ingestUrl).host);
      await expect
        .poll(() => composer.snippet.textContent(), { message: kind })
        .toContain("u_1042");
    }
  });

  test("walks its types with the arrows, keeps a draft of each, and gives the focus back on Esc", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    await inspector.send([{ userId: "u_1", event: "Seen" }]);
    const { page } = await open();
    const composer = composerPage(page);
    const live = livePage(page);
    await live.row(/Seen/).waitFor();
    await live.grid.focus();
    await page.keyboard.press("n");
    await composer.body.fill('{"userId":"u_2","event":"Draft"}');
    await composer.type("track").focus();
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => composer.body.inputValue()).toContain("traits");
    await page.keyboard.press("ArrowLeft");
    await expect.poll(() => composer.body.inputValue()).toContain("Draft");
    await page.keyboard.press("Escape");
    await composer.dialog.waitFor({ state: "detached" });
    await expect.poll(() => live.grid.evaluate((grid) => grid.matches(":focus"))).toBe(true);
  });
});
