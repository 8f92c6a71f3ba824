import { describe, expect } from "vitest";
import { framePage } from "./pages/frame.ts";
import { livePage } from "./pages/live.ts";
import { sourcesPage } from "./pages/sources.ts";
import { seriousFindings } from "./support/axe.ts";
import { test } from "./support/inspector-test.ts";

const plan = {
  name: "Shop plan",
  "Order Completed": { required: ["total"], properties: { total: { type: "number" } } },
};

describe("a tracking plan", () => {
  test("is given to a source by keyboard, marks what violates it, and blocks when told to", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    const { page } = await open("/sources");
    const sources = sourcesPage(page);
    const live = livePage(page);
    await sources.entry("Shop web").click();
    const { plan: planPart } = sources;
    await planPart.add.focus();
    await page.keyboard.press("Enter");
    await planPart.text.fill("{");
    await planPart.use.click();
    await planPart.form.getByRole("alert").waitFor();
    await planPart.text.fill(JSON.stringify(plan));
    await planPart.use.click();
    await planPart.rules.getByRole("listitem").filter({ hasText: "Order Completed" }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);

    const key = await sources.writeKey.inputValue();
    await inspector.send(
      [{ userId: "u_1", event: "Order Completed", properties: { total: "1" } }],
      key,
    );
    await inspector.send(
      [{ userId: "u_2", event: "Order Completed", properties: { total: 1 } }],
      key,
    );
    await planPart.violating.click();
    await live.row(/Order Completed of u_1.*violates its plan/).click();
    await page
      .getByRole("list", { name: "Violations of the plan" })
      .getByText('properties.total must be number, but is the string "1"')
      .waitFor();
    await expect.poll(() => live.row(/u_2/).count()).toBe(0);
    expect(await seriousFindings(page)).toEqual([]);

    await page.getByRole("link", { name: "The plan" }).click();
    await planPart.action("Violations", "block").click();
    await page.getByText("are kept and not delivered").waitFor();
    await inspector.send([{ userId: "u_3", event: "Order Completed" }], key);
    await framePage(page).viewLink("Live").click();
    await live.row(/u_3.*filtered: plan_violations/).waitFor();
  });
});
