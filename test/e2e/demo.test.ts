import { expect } from "vitest";
import { audiencesPage } from "./pages/audiences.ts";
import { framePage } from "./pages/frame.ts";
import { livePage } from "./pages/live.ts";
import { palettePage } from "./pages/palette.ts";
import { welcomePage } from "./pages/welcome.ts";
import { test } from "./support/inspector-test.ts";

test("the demo tells of a shop's big spenders in five clicks: who is in, who comes, and that time alone makes somebody leave", async ({
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

  // What the shop would send in these days takes a busy machine minutes, and changes nothing here.
  await inspector.call("workspaces.close", {});
  await view.daysPass.click();
  await expect
    .poll(async () => {
      const [audience] = (await inspector.call("audiences.list", {})).items;
      const { items } = await inspector.call("profiles.list", { audienceId: audience?.id ?? "" });
      return items.some(({ userId }) => userId === "u_newcomer");
    })
    .toBe(false);
  await view.sent.filter({ hasText: "false" }).filter({ hasText: "delivered" }).first().waitFor();
  await view.sent.first().getByRole("link").click();
  await page.getByRole("region", { name: "Message details" }).waitFor();
});

test("the demo is opened, closed and reset from the palette and the settings, after the first message too", async ({
  open,
  inspector,
}) => {
  await inspector.shop();
  await inspector.send([{ userId: "ana", event: "Order Completed" }]);
  const { page } = await open("/live");
  const palette = palettePage(page);
  const isOpen = async () => (await inspector.call("workspaces.get", {})).demo;
  await palette.run("Open the demo");
  await expect.poll(isOpen).toBe(true);
  await palette.run("Close the demo");
  await expect.poll(isOpen).toBe(false);

  await inspector.call("clock.advance", { byMs: 3_600_000 });
  await framePage(page).viewLink("Settings").click();
  await page.getByRole("button", { name: "Open the demo" }).click();
  await livePage(page).stage("waiting").waitFor();
  await palette.run("Reset the demo and the clock…");
  const dialog = page.getByRole("dialog", { name: "Reset the demo and the clock?" });
  await dialog.getByText(/permanently deleted/).waitFor();
  await dialog.getByRole("button", { name: "Reset" }).press("Enter");
  await dialog.waitFor({ state: "detached" });
  await page.getByTitle("The clock runs in real time").getByText("real time").waitFor();
  await expect.poll(isOpen).toBe(true);
  const names = (await inspector.call("sources.list", {})).items.map(({ name }) => name);
  expect(names).toContain("Shop web");
  expect(names).not.toContain("Shop");
});
