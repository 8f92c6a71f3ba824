import { describe, expect } from "vitest";
import { audiencesPage } from "./pages/audiences.ts";
import { profilesPage } from "./pages/profiles.ts";
import { test } from "./support/inspector-test.ts";

const hour = 3_600_000;

describe("an audience", () => {
  test("from its rule to the identify at the webhook, to a user who comes and one who leaves by time alone", async ({
    open,
    inspector,
  }) => {
    const { endpoint } = await inspector.shop();
    await inspector.call("clock.set", { mode: "paused" });
    await inspector.send([
      { userId: "ana", event: "Order Completed", properties: { total: 80 } },
      { userId: "ben", event: "Order Completed", properties: { total: 20 } },
    ]);
    await inspector.call("pipeline.settle", {});
    const { page } = await open("/audiences");
    const view = audiencesPage(page);

    await view.makeFirst.click();
    await view.name.fill("Big Spenders!");
    await page.getByText("big_spenders", { exact: true }).first().waitFor();
    await view.rule.event.fill("Order Completed");
    await view.matching.filter({ hasText: "2 of 2 known users" }).waitFor();
    await view.rule.withinDays.fill("7");
    await view.rule.addProperty.click();
    await view.rule.property.fill("total");
    await view.rule.comparison.selectOption("greater");
    await view.rule.value.fill("50");
    await view.matching.filter({ hasText: "1 of 2 known users" }).waitFor();
    await view.sampled("ana").click();
    await view
      .why("ana")
      .getByText("did Order Completed within 7 days, with total greater than 50")
      .waitFor();

    await view.make.click();
    await view.editor("Big Spenders!").waitFor();
    await view.size.filter({ hasText: "1 user in the audience" }).waitFor();
    await view.sent
      .filter({ hasText: "ana" })
      .filter({ hasText: "true" })
      .filter({ hasText: "delivered" })
      .waitFor();

    await page.getByRole("textbox", { name: "User", exact: true }).fill("ben");
    await view.does(/^does Order Completed/).click();
    await view.sent.filter({ hasText: "ben" }).filter({ hasText: "true" }).waitFor();
    await view.size.filter({ hasText: "2 users in the audience" }).waitFor();

    await view.daysPass.click();
    await view.size.filter({ hasText: "0 users in the audience" }).waitFor();
    await view.sent
      .filter({ hasText: "ana" })
      .filter({ hasText: "false" })
      .filter({ hasText: "delivered" })
      .waitFor();
    for (const value of ["true", "false"])
      await view.sent
        .filter({ hasText: "ben" })
        .filter({ hasText: value })
        .filter({ hasText: "delivered" })
        .waitFor();
    await expect.poll(() => view.sent.count()).toBe(4);

    const { items } = await inspector.call("endpoints.requests", { id: endpoint.id });
    const said = items
      .map(({ body }) => JSON.parse(body as string))
      .filter(({ type }) => type === "identify");
    expect(said.map(({ userId, traits }) => [userId, traits.big_spenders])).toEqual(
      expect.arrayContaining([
        ["ana", true],
        ["ben", true],
        ["ana", false],
        ["ben", false],
      ]),
    );
    const clock = await inspector.call("clock.get", {});
    expect(Date.parse(clock.now) - Date.parse(said.at(-1).timestamp)).toBeGreaterThan(
      7 * 24 * hour,
    );
  });

  test("shows its first sync before it has ended, and cancels it", async ({ open, inspector }) => {
    const { page } = await open("/audiences/new");
    const view = audiencesPage(page);
    const created = Promise.withResolvers<void>();
    let shown: object = { syncing: { done: 50, total: 120 } };
    inspector.answer("audiences.create", async (answered) => {
      const answer = await answered();
      await created.promise;
      return answer;
    });
    inspector.answer("audiences.list", async (answered) => {
      const { status, body } = await answered();
      const { items } = body as { items: object[] };
      return { status, body: { items: items.map((each) => ({ ...each, ...shown })) } };
    });
    inspector.answer("audiences.cancelSync", async (answered) => {
      const at = new Date(0).toISOString();
      shown = { cancelledSync: { at, done: 50, total: 120, entered: 50, left: 0 } };
      for (const { id } of (await inspector.call("audiences.list", {})).items)
        await inspector.call("audiences.sync", { id });
      return answered();
    });
    await view.name.fill("Everybody");
    await page.getByRole("radio", { name: "a fixed list" }).click();
    await view.members.fill("ana");
    await view.make.click();
    await view.editor("Everybody").waitFor();
    await view.syncProgress.waitFor();
    await page.getByText("50 of 120 checked").waitFor();
    await view.cancelSync.click();
    await view.size
      .filter({ hasText: ", after 50 of 120 users: 50 entered, 0 left. What was sent stays." })
      .waitFor();
    await expect.poll(() => view.syncProgress.count()).toBe(0);
    created.resolve();
  });

  test("is made by keyboard alone, denied conditions and groups included", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    await inspector.send([
      { type: "identify", userId: "ana", traits: { plan: "pro", seats: 5 } },
      { type: "identify", userId: "ben", traits: { plan: "free" } },
    ]);
    await inspector.call("pipeline.settle", {});
    const { page } = await open("/audiences/new");
    const view = audiencesPage(page);
    const { keyboard } = page;
    await view.name.focus();
    await keyboard.type("Paying");
    await view.rule.remove.press("Enter");
    await view.rule.addTrait.press("Enter");
    await view.rule.trait.focus();
    await keyboard.type("plan");
    await keyboard.press("Tab");
    await keyboard.press("Tab");
    await keyboard.type("free");
    await view.matching.filter({ hasText: "1 of 2" }).waitFor();
    await view.rule.not.press("Space");
    await view.sampled("ana").waitFor();
    await view.rule.addGroup.press("Enter");
    await view.rule.trait.last().focus();
    await keyboard.type("seats");
    await view.rule.comparison.last().focus();
    await keyboard.type("is greater");
    await view.rule.value.last().focus();
    await keyboard.type("4.5");
    await view.matching.filter({ hasText: "1 of 2" }).waitFor();
    await view.make.press("Enter");
    await view.editor("Paying").waitFor();
    const { items } = await inspector.call("audiences.list", {});
    expect(items[0]?.rule).toEqual({
      all: [
        { not: { trait: "plan", op: "is", value: "free" } },
        { any: [{ trait: "seats", op: "greater", value: 4.5 }] },
      ],
    });
  });

  test("says what is missing, and which key is taken, where it is", async ({ open, inspector }) => {
    await inspector.call("audiences.create", { name: "Big spenders", members: ["ana"] });
    const { page } = await open("/audiences/new");
    const view = audiencesPage(page);
    await view.matching.filter({ hasText: "needs an event name" }).waitFor();
    await view.name.fill("big_Spenders");
    await view.problems
      .filter({ hasText: "The key big_spenders is already used by Big spenders" })
      .waitFor();
    const creates = inspector.hold("audiences.create");
    creates.release();
    await view.make.click();
    await view.rule.howOften.fill("0");
    await view.rule.howOften.and(page.locator("[aria-invalid]")).waitFor();
    await view.name.fill("Others");
    await expect.poll(() => view.rule.howOften.inputValue()).toBe("1");
    await view.rule.event.fill("Order Completed");
    await page.getByRole("radio", { name: "on a schedule" }).click();
    const every = page.getByRole("textbox", { name: "Every", exact: true });
    const unit = page.getByRole("combobox", { name: "Unit" });
    await unit.selectOption("minutes");
    await expect.poll(() => every.inputValue()).toBe("1");
    await every.fill("0");
    await every.and(page.getByTitle("A number from 0.017 to 527040")).waitFor();
    await every.fill("");
    await every.pressSequentially("605");
    await expect.poll(() => unit.inputValue()).toBe("minutes");
    await view.make.click();
    await view.editor("Others").waitFor();
    expect(creates.inputs).toMatchObject([{ name: "Others", sync: { everyMs: 36_300_000 } }]);
  });
});

test("a computed trait shows its values before it is made, and tells them", async ({
  open,
  inspector,
}) => {
  await inspector.shop();
  await inspector.send([
    { userId: "ana", event: "Order Completed", properties: { total: 80 } },
    { userId: "ana", event: "Order Completed", properties: { total: 20.5 } },
  ]);
  await inspector.call("pipeline.settle", {});
  const { page } = await open("/audiences");
  const view = audiencesPage(page);
  await view.makeFirstTrait.click();
  await page.getByText("After you create it, the messages with its values appear here.").waitFor();
  await view.name.fill("Lifetime value");
  await view.aggregate.selectOption("sum");
  await view.computation.property.fill("total");
  await view.computation.event.fill("Order Completed");
  await view.values.filter({ hasText: "1 of 1" }).waitFor();
  await page.getByText("lifetime_value: 100.5").waitFor();
  // A second press before the answer would make it twice, and be refused.
  await view.make.evaluate((button: { click(): void }) => {
    button.click();
    button.click();
  });
  await view.trait("Lifetime value").waitFor();
  await view.sent
    .filter({ hasText: "ana" })
    .filter({ hasText: "100.5" })
    .filter({ hasText: "delivered" })
    .waitFor();

  await view.name.fill("Value of a life");
  await view.save.waitFor();
  await view.name.fill("Lifetime value");
  await view.save.waitFor({ state: "detached" });
  await view.name.fill("Value of all orders");
  await page.getByText("lifetime_value: 100.5").waitFor();
  await view.save.click();
  await view.trait("Value of all orders").waitFor();
  expect((await inspector.call("computedTraits.list", {})).items.map(({ name }) => name)).toEqual([
    "Value of all orders",
  ]);
});

test("a profile shows how an anonymous visitor became a user, and that what was done before counts", async ({
  open,
  inspector,
}) => {
  await inspector.shop();
  await inspector.send([
    { anonymousId: "a1", event: "Product Viewed", properties: { sku: "GRND-02" } },
    { type: "identify", anonymousId: "a1", userId: "ana", traits: { plan: "pro" } },
    { userId: "ana", event: "Product Viewed" },
  ]);
  await inspector.call("pipeline.settle", {});
  const { page } = await open("/profiles");
  const view = profilesPage(page);
  await view.profile("ana").waitFor();
  await view.part("Events").getByText("2 ×").waitFor();
  await view.part("Traits").getByText('"pro"').waitFor();
  await view.history.filter({ hasText: "identified" }).waitFor();
  await expect.poll(() => view.identities.count()).toBe(2);
  // Who is seen later moves before her, and she stays open.
  await inspector.send([{ userId: "ben", event: "Product Viewed" }]);
  await view.entry("ben").waitFor();
  expect(await view.profile("ana").count()).toBe(1);
  await view.find.fill("nob");
  await view.list.getByText("No identity starts with this.").waitFor();
  await view.find.fill("a1");
  await view.entry("ana").waitFor();
  // Each letter asks again. Without the focus in the field, `d` would open a story.
  await view.find.fill("");
  await view.find.pressSequentially("ada");
  await view.list.getByText("No identity starts with this.").waitFor();
  await expect.poll(() => view.find.inputValue()).toBe("ada");
  expect(await view.find.evaluate((field) => field.matches(":focus"))).toBe(true);

  const { id } = await inspector.call("audiences.create", { name: "Testers", members: ["ana"] });
  await page.evaluate(`location.hash = "#/profiles?audience=${id}"`);
  await view.find.fill("");
  await expect.poll(() => view.entry("ben").count()).toBe(0);
  await view.entry("ana").click();
  await page.waitForURL(/#\/profiles\/\w+\?audience=/);
  await view.list.getByRole("button", { name: "Show all profiles" }).click();
  await view.entry("ben").waitFor();
});
