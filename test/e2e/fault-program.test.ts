import { describe, expect } from "vitest";
import { attemptPage } from "./pages/attempt.ts";
import { destinationsPage } from "./pages/destinations.ts";
import { detailsPage } from "./pages/details.ts";
import { endpointsPage } from "./pages/endpoints.ts";
import { framePage } from "./pages/frame.ts";
import { livePage } from "./pages/live.ts";
import { test } from "./support/inspector-test.ts";

describe("a fault program", () => {
  test("is made in the editor, fails deliveries as it says, and is stepped to recovery on the timeline", async ({
    open,
    inspector,
  }) => {
    await inspector.call("sources.create", { name: "Shop web", writeKey: inspector.writeKey });
    await inspector.call("clock.set", { mode: "paused" });
    const { page } = await open("/endpoints");
    const frame = framePage(page);
    const endpoints = endpointsPage(page);
    const destinations = destinationsPage(page);
    const live = livePage(page);
    const details = detailsPage(page);

    await endpoints.makeSteady.click();
    await endpoints.name.fill("flaky billing");
    await endpoints.program.fill("503 ×2 → hang → reset → 200");
    await endpoints.program.press("Enter");
    await endpoints.step(4).waitFor();
    await expect.poll(() => endpoints.does(2).inputValue()).toBe("hang");
    await expect.poll(() => endpoints.does(3).inputValue()).toBe("reset");
    await endpoints.more(1).click();
    await expect.poll(() => endpoints.program.inputValue()).toBe("503 ×3 → hang → reset → 200");

    await frame.viewLink("Destinations").click();
    await destinations.setUpFirst.click();
    await destinations.name.fill("Billing");
    await destinations.chooseEndpoint(1).click();
    await destinations.menuItem("flaky billing").click();
    await destinations.secret.fill("s3cret");
    await destinations.make.click();
    await destinations.editor("Billing").waitFor();

    await inspector.send([{ userId: "u_1", event: "Order Completed" }]);
    await frame.viewLink("Live").click();
    await live.row(/Order Completed.*waiting, last .*, 1 attempt/).click();
    await details.mark(/^Round 1: http_error 503/).waitFor();
    await details.mark(/^Round 2: next, at/).waitFor();
    const before = await frame.now();

    for (const [round, said] of [
      [2, /^Round 2: http_error 503|rounds 1 to 2/],
      [3, /^Round 3: http_error 503|rounds \d to 3/],
    ] as const) {
      await page.keyboard.press(".");
      await details
        .tab("Attempts")
        .filter({ hasText: String(round) })
        .waitFor();
      await details.mark(said).first().waitFor();
    }
    for (const said of [
      /^Round 4: in progress/,
      /^Round 4: timeout, took 5\.000 s of clock time/,
      /^Round 5: connection_error/,
      /^Round 6: success 200/,
    ]) {
      await page.keyboard.press(".");
      await details.mark(said).waitFor();
    }
    await details.state.filter({ hasText: "delivered" }).waitFor();
    await expect.poll(() => details.mark(/coming|next, at/).count()).toBe(0);
    await expect.poll(() => frame.step.textContent()).toBe("Nothing is due");
    expect((await frame.now()) - before).toBeGreaterThan(200_000);
    await live.row(/Order Completed.*delivered, 6 attempts/).waitFor();

    await details.mark(/^Round 5: connection_error/).click();
    const attempt = attemptPage(page);
    await attempt.outcome.filter({ hasText: "connection_error" }).waitFor();
    await page.keyboard.press("[");
    await attempt.outcome.filter({ hasText: "timeout" }).waitFor();
    await attempt.pane.getByText("clock time, because the test endpoint held it").waitFor();
    await page.keyboard.press("Escape");
    await details.heading.waitFor();

    await frame.viewLink("Test endpoints").click();
    await expect.poll(() => endpoints.received.count()).toBe(6);
    await endpoints.received.first().click();
    await endpoints.receivedBytes.getByText("X-Signature", { exact: false }).waitFor();
    await endpoints.setBack.click();
    await endpoints.step(1).getByText("next", { exact: true }).waitFor();
  });

  test("is edited as steps too: what each does, added, moved with the arrows, and refused with a sentence", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    const { page } = await open("/endpoints");
    const endpoints = endpointsPage(page);
    await endpoints.addStep.click();
    await endpoints.does(2).selectOption("drip");
    await endpoints.status(1).selectOption("503");
    await expect.poll(() => endpoints.program.inputValue()).toMatch(/^503 → drip/);
    const details = endpoints.step(1).getByRole("button", { expanded: true });
    await endpoints.step(1).getByText("no delay, no headers, no body").click();
    await details.waitFor();
    await endpoints.move(1).focus();
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => endpoints.program.inputValue()).toMatch(/^drip.* → 503$/);
    // They are those of another step now.
    await details.waitFor({ state: "detached" });
    await endpoints.move(2).and(page.locator(":focus")).waitFor();
    await endpoints.program.fill("503 ×3 → explode");
    await endpoints.problem.filter({ hasText: "explode" }).waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => endpoints.program.inputValue()).toMatch(/^drip.* → 503$/);
  });

  test("has its rounds on a log or a linear axis, whichever was chosen last", async ({
    open,
    inspector,
  }) => {
    await inspector.shop({ steps: [{ do: "answer", status: 503 }] });
    await inspector.call("clock.set", { mode: "paused" });
    await inspector.send([{ userId: "u_1", event: "Order Completed" }]);
    await inspector.call("pipeline.settle", {});
    await inspector.call("clock.advance", { byMs: 3_600_000 });
    const { page } = await open();
    const details = detailsPage(page);
    await livePage(page)
      .row(/Order Completed/)
      .click();
    /** How far from the first round to the end of the window the newest stands. */
    const newest = async (): Promise<number> => {
      const [mark, axis] = [
        await details.mark(/^Round 9: http_error/).boundingBox(),
        await details.timeline.boundingBox(),
      ];
      return ((mark?.x ?? 0) - (axis?.x ?? 0)) / (axis?.width ?? 1);
    };
    await details.scale("log").click();
    await expect.poll(newest).toBeGreaterThan(0.5);
    await details.scale("linear").click();
    await expect.poll(newest).toBeLessThan(0.5);
    await page.reload();
    await expect.poll(newest).toBeLessThan(0.5);
    await expect.poll(() => details.scale("linear").getAttribute("aria-checked")).toBe("true");
  });

  test("walks the timeline's marks with the arrows and opens an attempt with Enter", async ({
    open,
    inspector,
  }) => {
    await inspector.shop({ steps: [{ do: "answer", status: 503 }] });
    await inspector.call("clock.set", { mode: "paused" });
    await inspector.send([{ userId: "u_1", event: "Order Completed" }]);
    await inspector.call("pipeline.settle", {});
    await inspector.call("clock.advance", { byMs: 3_600_000 });
    const { page } = await open();
    const details = detailsPage(page);
    await livePage(page)
      .row(/Order Completed/)
      .click();
    await details.heading.waitFor();
    await page.keyboard.press("]");
    const attempt = attemptPage(page);
    await attempt.pane.getByText(/round 1, webhook 1 of Billing/).waitFor();
    await page.keyboard.press("Escape");
    await details.tab("Attempts").click();
    await details.panel.getByRole("row", { name: "coming" }).nth(1).waitFor();
    expect(await details.panel.getByRole("row", { name: "next" }).count()).toBe(1);
    await details.mark(/Round 9: http_error/).focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowRight");
    await details.timeline.getByText(/^Round 2: http_error 503, took/).waitFor();
    await page.keyboard.press("Enter");
    await attempt.outcome.filter({ hasText: "http_error" }).waitFor();
    await attempt.pane.getByText(/round 2, webhook 1 of Billing/).waitFor();
    await attempt.request.filter({ hasText: /POST \/\S+ HTTP\/1\.1/ }).waitFor();
    await attempt.response.filter({ hasText: "HTTP/1.1 503 Service Unavailable" }).waitFor();
    await page.keyboard.press("]");
    await attempt.pane.getByText(/round 3, webhook 1 of Billing/).waitFor();
    await attempt.all.and(page.locator("[aria-current]")).focus();
    await page.keyboard.press("]");
    await attempt.all
      .and(page.locator("[aria-current]:focus"))
      .filter({ hasText: "round 4" })
      .waitFor();
  });
});
