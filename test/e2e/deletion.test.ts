import { describe, expect } from "vitest";
import { deletionsPage } from "./pages/deletions.ts";
import { profilesPage } from "./pages/profiles.ts";
import { seriousFindings } from "./support/axe.ts";
import { test } from "./support/inspector-test.ts";

describe("a deletion", () => {
  test("is followed from the request to its end, and its suppression lifted", async ({
    open,
    inspector,
  }) => {
    const { destination } = await inspector.shop({
      steps: [{ times: 1, match: { type: "delete" }, do: "answer", status: 503 }, { do: "answer" }],
    });
    await inspector.call("clock.set", { mode: "paused" });
    await inspector.send([{ userId: "ana", event: "Order Completed" }]);
    await inspector.call("pipeline.settle", {});
    const { page } = await open("/deletions");
    const view = deletionsPage(page);

    await view.first.click();
    await view.users.fill("ana\nnobody");
    await view.known.filter({ hasText: "ana" }).filter({ hasText: "1 event" }).waitFor();
    await view.known
      .filter({
        hasText: "no profile; only destinations that know this user from an audience get a delete",
      })
      .waitFor();
    await view.ask.click();
    await view.confirm.click();

    await view.deletion("ana and nobody").waitFor();
    await view.messagesOf("ana").filter({ hasText: "waiting" }).waitFor();
    await view.state.getByText("it is being retried").waitFor();
    await page.getByText("No profile has this userId, so there was nothing to delete.").waitFor();

    await page.keyboard.press("Escape");
    await page.keyboard.press(".");
    await view
      .messagesOf("ana")
      .filter({ hasText: "Billing" })
      .filter({ hasText: "delivered" })
      .waitFor();
    await view.state.getByText("Every receiver has accepted").waitFor();
    expect(destination.name).toBe("Billing");

    await inspector.send([{ userId: "ana", event: "Order Completed" }]);
    const { items } = await inspector.call("messages.list", { reason: "suppressed" });
    expect(items).toHaveLength(1);
    await view.entry(/Suppressed users/).click();
    await view.lift("ana").click();
    await view.lift("ana").waitFor({ state: "detached" });
    await inspector.send([{ userId: "ana", event: "Order Completed" }]);
    expect(
      (await inspector.call("messages.list", { userId: "ana", state: ["rejected"] })).items,
    ).toHaveLength(1);
  });

  test("is not needed to suppress users, whose profiles stay", async ({ open, inspector }) => {
    await inspector.shop();
    await inspector.send([{ userId: "ana", event: "Order Completed" }]);
    const { page } = await open("/deletions/suppressed");
    const view = deletionsPage(page);
    // As a column is pasted.
    await view.suppressed.fill("ana\nben, ..");
    await view.suppress.click();
    await view.lift("ana").waitFor();
    await expect.poll(() => view.suppressed.inputValue()).toBe("");
    await view.lift("ben").waitFor();
    await view.lift("..").click();
    await view.lift("..").waitFor({ state: "detached" });
    expect(await seriousFindings(page)).toEqual([]);
    await inspector.send([{ userId: "ana", event: "Order Completed" }]);
    const { items } = await inspector.call("messages.list", { reason: "suppressed" });
    expect(items).toHaveLength(1);
    await inspector.call("pipeline.settle", {});
    expect((await inspector.call("profiles.list", {})).total).toBe(1);
  });

  test("from a profile is of this user alone, whose userId may have commas", async ({
    open,
    inspector,
  }) => {
    const userId = "cn=Ada, ou=people";
    await inspector.shop();
    await inspector.send([{ userId, event: "Order Completed" }]);
    await inspector.call("pipeline.settle", {});
    const { items } = await inspector.call("profiles.list", { userId });
    const { page } = await open(`/profiles/${items[0]?.id}`);
    const view = deletionsPage(page);
    await page.getByRole("button", { name: "More: delete" }).click();
    await page.getByRole("menuitem", { name: "Delete this user…" }).click();
    await view.known.filter({ hasText: userId }).filter({ hasText: "1 event" }).waitFor();
    await view.ask.click();
    await view.confirm.click();
    await view.deletion(userId).waitFor();
    await expect.poll(async () => (await inspector.call("profiles.list", {})).items).toEqual([]);
  });

  test("leads from the profile that is shown to the next, with more than a page of them", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    const event = "Order Completed";
    const messages = Array.from({ length: 102 }, (_, nth) => ({ userId: `u${nth}`, event }));
    await inspector.send(messages);
    await inspector.call("pipeline.settle", {});
    const { items } = await inspector.call("profiles.list", {});
    const [shown, next] = items.map(({ userId }) => userId ?? "");
    const guarded = await open("/profiles");
    guarded.expect(/404 \(Not Found\).*\/profiles\//);
    const view = profilesPage(guarded.page);
    await view.profile(shown ?? "").waitFor();
    await inspector.call("deletions.create", { userIds: [shown ?? ""] });
    await view.profile(next ?? "").waitFor();
  });

  test("is asked for by keyboard alone, and says why nothing was sent", async ({
    open,
    inspector,
  }) => {
    const { destination } = await inspector.shop();
    const event = "Order Completed";
    await inspector.send(["ana", "ben", "cyd"].map((userId) => ({ userId, event })));
    const { page } = await open("/deletions/new");
    const view = deletionsPage(page);
    await view.users.focus();
    await page.keyboard.type("ana");
    await view.sends.press("Space");
    await view.suppresses.uncheck();
    await view.suppresses.check();
    await view.entry(/Suppressed users/).click();
    await view.suppressed.fill("zoe");
    await page.reload();
    await expect.poll(() => view.suppressed.inputValue()).toBe("zoe");
    await page.goBack();
    await expect.poll(() => view.users.inputValue()).toBe("ana");
    await expect.poll(() => view.sends.isChecked()).toBe(false);
    await view.ask.press("Enter");
    await view.confirm.press("Enter");
    await view.deletion("ana").waitFor();
    await view.state.getByText("nothing to send").waitFor();
    await view.state
      .getByText("No delete message was sent, because the request says so.")
      .waitFor();
    await page.goBack();
    await expect.poll(() => view.users.inputValue()).toBe("");
    await expect.poll(() => view.sends.isChecked()).toBe(true);

    const filters = [{ name: "No deletes", if: 'type = "delete"', action: "drop" as const }];
    await inspector.call("destinations.update", { id: destination.id, filters });
    await inspector.call("deletions.create", { userIds: ["ben"] });
    await view.entry(/^ben/).click();
    await view.state.getByText("The delete messages led to no delivery").waitFor();
    await inspector.call("destinations.update", { id: destination.id, enabled: false });
    await inspector.call("deletions.create", { userIds: ["cyd"] });
    await view.entry(/^cyd/).click();
    await view.state.getByText("No delete message was needed: no source that knows").waitFor();

    for (const group of ["big", "huge"]) {
      const userIds = Array.from({ length: 5000 }, (_, nth) => `${group}-${nth}`);
      await inspector.call("deletions.create", { userIds });
    }
    await view.entry(/^huge-0/).waitFor();
    expect(await view.entry(/^ana/).count()).toBe(0);
    await view.list.getByRole("button", { name: "Show more of 5" }).click();
    await view.entry(/^ana/).waitFor();
    expect(await view.entry(/^big-0/).count()).toBe(1);
    await inspector.call("deletions.create", { userIds: ["dan"] });
    await view.entry(/^dan/).waitFor();
    await view.entry(/^ana/).waitFor();
    await view.entry("Suppressed users").filter({ hasText: "10,000+" }).click();
    await page.getByRole("button", { name: "Show 100 more of 10,000+" }).waitFor();
  });
});
