import { expect } from "vitest";
import { audiencesPage } from "./pages/audiences.ts";
import { test } from "./support/inspector-test.ts";

test("who matches an audience is read again when the clock moves, so that nobody who left is listed", async ({
  open,
  inspector,
}) => {
  await inspector.call("sources.create", { name: "Shop web", writeKey: inspector.writeKey });
  await inspector.call("clock.set", { mode: "paused" });
  await inspector.send([{ userId: "u_1", event: "Order Completed" }]);
  await inspector.call("pipeline.settle", {});
  const { id } = await inspector.call("audiences.create", {
    name: "Buyers",
    rule: { event: "Order Completed", atLeast: 1, withinDays: 7 },
  });
  const { page } = await open(`/audiences/${id}`);
  const audiences = audiencesPage(page);
  await audiences.matching.filter({ hasText: "1 of 1 known user" }).waitFor();
  await audiences.sampled("u_1").waitFor();
  // Of a suppressed user nothing is sent.
  await inspector.call("suppressions.create", { userIds: ["u_1"] });
  await audiences.matching.filter({ hasText: "0 of 1 known user" }).waitFor();
  await inspector.call("suppressions.lift", { userId: "u_1" });
  await audiences.matching.filter({ hasText: "1 of 1 known user" }).waitFor();
  await inspector.call("suppressions.create", { userIds: ["u_1"] });
  await inspector.call("clock.advance", { byMs: 8 * 86_400_000 });
  await audiences.matching.filter({ hasText: "0 of 1 known user" }).waitFor();
  await expect.poll(() => audiences.sampled("u_1").count()).toBe(0);
  await page.getByText("every change was sent").waitFor();
  await inspector.call("suppressions.lift", { userId: "u_1" });
  await page.getByText("will send false for 1").waitFor();

  // Nothing is saved by asking about a user.
  await audiences.name.fill("Later");
  for (const name of ["Explain why a user matches", "User"]) {
    const field = page.getByRole("textbox", { name, exact: true });
    await field.fill("u_1");
    await field.press("Enter");
  }
  await audiences.why("u_1").waitFor();
  expect((await inspector.call("audiences.get", { id })).name).toBe("Buyers");
  await audiences.save.waitFor();

  await page.getByRole("radio", { name: "a fixed list" }).click();
  await audiences.members.fill("nobody\nsomebody");
  await audiences.matching.filter({ hasText: "2 of 2 listed users" }).waitFor();

  // A rejected message gets 200, too.
  await inspector.call("suppressions.create", { userIds: ["u_1"] });
  await audiences.does(/^does Order Completed/).click();
  await page
    .getByRole("status")
    .getByText('u_1: does Order Completed. The user "u_1" is suppressed')
    .waitFor();
});
