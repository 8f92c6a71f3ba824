import { describe, expect } from "vitest";
import { attemptPage } from "./pages/attempt.ts";
import { detailsPage } from "./pages/details.ts";
import { framePage } from "./pages/frame.ts";
import { livePage } from "./pages/live.ts";
import { test } from "./support/inspector-test.ts";

describe("the place", () => {
  test("is kept by a reload: the view, the open message, its tab, the filter", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    await inspector.send([
      { userId: "u_1", event: "Order Completed" },
      { userId: "u_2", event: "Cart Viewed" },
    ]);
    const { page } = await open();
    const live = livePage(page);
    const details = detailsPage(page);
    await live.filter.pressSequentially('event:"Cart Viewed" ');
    await live.row(/Cart Viewed/).click();
    await details.tab("Raw").click();
    await page.reload();
    await details.heading.filter({ hasText: "Cart Viewed" }).waitFor();
    await expect.poll(() => details.tab("Raw").getAttribute("aria-selected")).toBe("true");
    await expect.poll(() => live.chip("event").textContent()).toContain("Cart Viewed");
    await expect.poll(() => live.count()).toBe(1);
    await live.selected.filter({ hasText: "Cart Viewed" }).waitFor();
    expect(page.url()).not.toContain("token");

    await details.mark(/^Round 1: success/).click();
    await attemptPage(page).outcome.waitFor();
    await page.reload();
    await attemptPage(page).outcome.filter({ hasText: "success" }).waitFor();
    await framePage(page).viewLink("Test endpoints").click();
    await page.reload();
    await page.getByRole("region", { name: "Test endpoint flaky-billing" }).waitFor();
  });

  test("goes back and forth with the browser", async ({ open, inspector }) => {
    await inspector.shop();
    await inspector.send([{ userId: "u_1", event: "Order Completed" }]);
    const { page } = await open();
    const details = detailsPage(page);
    await livePage(page)
      .row(/Order Completed/)
      .click();
    await details.heading.waitFor();
    await framePage(page).viewLink("Retries").click();
    await page.getByRole("heading", { name: "Retries" }).waitFor();
    await page.goBack();
    await details.heading.filter({ hasText: "Order Completed" }).waitFor();
    // Another look at the same is no step back.
    await details.tab("Raw").click();
    await page.waitForURL(/tab=raw/);
    await page.goBack();
    await details.pane.waitFor({ state: "detached" });
    await page.goForward();
    await details.heading.waitFor();
  });

  test("that is left with a text that was typed saves it, as a reload does, or says why it cannot", async ({
    open,
    inspector,
  }) => {
    const { source, endpoint } = await inspector.shop();
    await inspector.call("sources.create", { name: "Other", writeKey: "wk_other" });
    const guarded = await open(`/sources/${source.id}`);
    const { page } = guarded;
    const statuses = async (): Promise<unknown> =>
      (await inspector.call("endpoints.get", { id: endpoint.id })).steps.map((step) =>
        step.do === "answer" ? (step.status ?? 200) : step.do,
      );
    const program = page.getByRole("textbox", { name: "Program as text" });
    await page.evaluate(`location.hash = "#/endpoints/${endpoint.id}"`);
    await program.fill("503 → 200");
    await page.goBack();
    await expect.poll(statuses).toEqual([503, 200]);
    await page.goForward();
    await expect.poll(() => program.inputValue()).toBe("503 → 200");
    await page.keyboard.press("Control+z");
    await expect.poll(statuses).toEqual([200]);
    await program.fill("410");
    await page.reload();
    await expect.poll(statuses).toEqual([410]);
    await expect.poll(() => program.inputValue()).toBe("410");

    // The browser logs it.
    guarded.expect(/status of 409/);
    await page.goBack();
    await page.getByRole("textbox", { name: "Write key" }).fill("wk_other");
    await page.goForward();
    await framePage(page)
      .toast.filter({ hasText: /write key/i })
      .waitFor();
  });

  test("that is nowhere, or an address that was cut, says so or falls back, and never leaves a blank page", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    await inspector.send([{ userId: "u_1", event: "Order Completed" }]);
    const guarded = await open("/live/msg_999999999");
    const { page } = guarded;
    // The browser logs each answer 404.
    guarded.expect(/status of 404/);
    const main = page.getByRole("main");
    await main.getByText("There is no message msg_999999999").first().waitFor();
    for (const [address, sentence] of [
      ["#/sources/src_9", "Source not found"],
      ["#/live/msg_999999999/attempts/att_1", "Message not found"],
      ["#/destinations/dst_9", "Destination not found"],
      ["#/endpoints/ept_9", "Test endpoint not found"],
      ["#/profiles/prf_9", "It may also have been merged into another profile."],
    ] as const) {
      await page.goto(`${inspector.url}/${address}`);
      await main.getByText(sentence).first().waitFor();
    }
    for (const address of ["#/nowhere", "#/live/%zz", "#/live?state=%zz&text=%"]) {
      await page.goto(`${inspector.url}/${address}`);
      await page.reload();
      await framePage(page).clock.waitFor();
      await expect
        .poll(async () => (await main.innerText()).trim().length, { message: address })
        .toBeGreaterThan(20);
    }
  });
});
