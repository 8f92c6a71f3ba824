import { expect } from "vitest";
import { audiencesPage } from "./pages/audiences.ts";
import { framePage } from "./pages/frame.ts";
import { welcomePage } from "./pages/welcome.ts";
import { test } from "./support/inspector-test.ts";

test("the demo tells of a shop's big spenders in five clicks: who is in, who comes, and that time alone makes all leave", async ({
  open,
  inspector,
}) => {
  const { page } = await open("/live");
  const view = audiencesPage(page);
  await welcomePage(page).openDemo.click();
  await framePage(page).viewLink("Audiences").click();
  await view.editor("Big spenders").waitFor();
  await view.sent.filter({ hasText: "true" }).filter({ hasText: "delivered" }).first().waitFor();

  await page.getByRole("textbox", { name: "User", exact: true }).fill("u_newcomer");
  await view.does(/^does Order Completed/).click();
  await view.sent
    .filter({ hasText: "u_newcomer" })
    .filter({ hasText: "true" })
    .filter({ hasText: "delivered" })
    .waitFor();

  await view.daysPass.click();
  await expect
    .poll(async () => (await inspector.call("audiences.list", {})).items[0]?.size)
    .toBe(0);
  await view.sent.filter({ hasText: "false" }).filter({ hasText: "delivered" }).first().waitFor();
  await view.sent.first().getByRole("link").click();
  await page.getByRole("region", { name: "Message details" }).waitFor();
});
