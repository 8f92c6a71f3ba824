import { describe, expect } from "vitest";
import { destinationsPage } from "./pages/destinations.ts";
import { livePage } from "./pages/live.ts";
import { framePage } from "./pages/frame.ts";
import { seriousFindings } from "./support/axe.ts";
import { test } from "./support/inspector-test.ts";

describe("filters of a destination", () => {
  test("are made, previewed against the last messages, and name themselves in what they did", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    const order = (userId: string, event: string) => ({
      userId,
      event,
      properties: { email: `${userId}@example.com`, total: 1 },
    });
    await inspector.send([order("u_1", "Order Completed"), order("u_2", "Cart Viewed")]);
    const { page } = await open("/destinations");
    const destinations = destinationsPage(page);
    const { filters } = destinations;
    await destinations.entry("Billing").click();
    await destinations.show("filters").click();
    await filters.add.click();
    await filters.condition("Filter 1").fill('event = "Cart Viewed"');
    await filters.condition("Filter 1").press("Enter");
    await filters.enable("Filter 1").press("Space");
    await page.getByText("1 would be dropped and 0 changed").waitFor();
    await filters.add.click();
    await filters.action("Filter 2").selectOption("drop-properties");
    await filters.members("Filter 2").waitFor();
    await filters.enable("Filter 2").press("Space");
    await page.getByText("1 would be dropped and 1 changed").waitFor();
    const properties = ['properties["a, b"]', "properties.email"];
    await filters.members("Filter 2").fill(properties.join(", "));
    await filters.members("Filter 2").press("Enter");
    await filters.condition("Filter 2").fill("propertis.total = null");
    await filters.condition("Filter 2").press("Enter");
    await page.getByText('Check this: Messages usually have no member "propertis"').waitFor();
    await expect
      .poll(async () => (await inspector.call("destinations.list", {})).items[0]?.filters[1])
      .toMatchObject({ properties });
    const changed = filters.previewed.getByRole("button", { name: /changed.*u_1/ });
    await changed.focus();
    await page.keyboard.press("Enter");
    await page.getByLabel("Payload with filters").waitFor();
    await expect
      .poll(() => page.getByLabel("Payload without filters").textContent())
      .toContain("email");
    await expect
      .poll(() => page.getByLabel("Payload with filters").textContent())
      .not.toContain("email");
    expect(await seriousFindings(page)).toEqual([]);

    await inspector.send([order("u_3", "Cart Viewed"), order("u_4", "Order Completed")]);
    await framePage(page).viewLink("Live").click();
    const live = livePage(page);
    await live.row(/u_3.*filtered: filter_dropped/).waitFor();
    await live.row(/u_4/).click();
    await page
      .getByRole("region", { name: "Message details" })
      .getByText("removed properties.email", { exact: false })
      .first()
      .waitFor();
  });

  test("are saved in the order in which they were changed", async ({ open, inspector }) => {
    const { destination } = await inspector.shop();
    const { id } = destination;
    await inspector.call("destinations.update", {
      id,
      filters: [{ name: "No carts", enabled: false, if: "", action: "drop" }],
    });
    const { page } = await open(`/destinations/${id}`);
    const { show, filters } = destinationsPage(page);
    await show("filters").click();
    const mayAnswer = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    let calls = 0;
    inspector.answer("destinations.update", async (answer) => {
      calls += 1;
      if (calls > 1) return answer();
      await mayAnswer.promise;
      return answer().finally(answered.resolve);
    });
    await filters.condition("No carts").fill('event = "Cart Viewed"');
    await filters.condition("No carts").press("Enter");
    await expect.poll(() => calls).toBe(1);
    await filters.enable("No carts").press("Space");
    await expect.poll(() => filters.enable("No carts").isChecked()).toBe(true);
    mayAnswer.resolve();
    await answered.promise;
    const saved = async () => (await inspector.call("destinations.get", { id })).filters;
    await expect.poll(saved).toMatchObject([{ enabled: true, if: 'event = "Cart Viewed"' }]);
  });

  test("keep the focus when one is renamed, and a refused change keeps its text and its reason", async ({
    open,
    inspector,
  }) => {
    const { destination } = await inspector.shop();
    const { id } = destination;
    await inspector.call("destinations.update", {
      id,
      filters: [{ name: "No carts", enabled: false, if: "", action: "drop" }],
    });
    const guarded = await open(`/destinations/${id}`);
    const { page } = guarded;
    const { show, filters } = destinationsPage(page);
    await show("filters").click();
    await page.getByRole("textbox", { name: "Name of No carts" }).fill("Carts");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.type('event = "Cart');
    await page.getByRole("listitem", { name: "Carts", exact: true }).waitFor();
    await page.keyboard.type(' Viewed"');
    const condition = filters.condition("Carts");
    await expect.poll(() => condition.inputValue()).toBe('event = "Cart Viewed"');
    expect(await condition.evaluate((field) => field.matches(":focus"))).toBe(true);

    await page.keyboard.press("Enter");
    const saved = async () => (await inspector.call("destinations.get", { id })).filters;
    await expect.poll(saved).toMatchObject([{ name: "Carts", if: 'event = "Cart Viewed"' }]);

    guarded.expect(/status of 400/);
    const name = page.getByRole("textbox", { name: "Name of Carts" });
    await name.fill(" ");
    await name.press("Enter");
    await page.getByRole("alert").filter({ hasText: "A filter needs a name." }).waitFor();
    await filters.enable("Carts").press("Space");
    await expect.poll(saved).toMatchObject([{ name: "Carts", enabled: true }]);
    await page.getByRole("alert").filter({ hasText: "A filter needs a name." }).waitFor();
    await expect.poll(() => name.inputValue()).toBe(" ");

    await filters.action("Carts").selectOption("sample");
    const share = page.getByRole("textbox", { name: "Share of Carts" });
    await share.fill("");
    await share.press("Enter");
    await page.getByRole("alert").filter({ hasText: "Enter a number from 0 to 100." }).waitFor();
    await share.fill("25");
    await share.press("Enter");
    await expect.poll(saved).toMatchObject([{ name: "Carts", share: 0.25 }]);
  });

  test("keep a refused text when another is removed, and when that comes back", async ({
    open,
    inspector,
  }) => {
    const { destination } = await inspector.shop();
    const { id } = destination;
    const names = ["Filter 1", "Filter 2", "Filter 3"];
    const none = { enabled: false, if: "", action: "drop" } as const;
    await inspector.call("destinations.update", {
      id,
      filters: names.map((name) => ({ name, ...none })),
    });
    const guarded = await open(`/destinations/${id}`);
    guarded.expect(/status of 400/);
    const { page } = guarded;
    const { show, filters } = destinationsPage(page);
    await show("filters").click();
    const refused = filters.condition("Filter 2");
    await refused.fill("(");
    await refused.press("Enter");
    const reason = page.getByRole("listitem", { name: "Filter 2", exact: true }).getByRole("alert");
    await reason.waitFor();

    await page.getByRole("button", { name: "Remove Filter 1" }).click();
    await filters.enable("Filter 1").waitFor({ state: "detached" });
    await expect.poll(() => refused.inputValue()).toBe("(");
    await expect.poll(() => filters.condition("Filter 3").inputValue()).toBe("");
    await reason.waitFor();

    await page.getByRole("button", { name: "Undo", exact: true }).click();
    await filters.enable("Filter 1").waitFor();
    await expect.poll(() => refused.inputValue()).toBe("(");
    await expect.poll(() => filters.condition("Filter 1").inputValue()).toBe("");
    await reason.waitFor();
  });
});
