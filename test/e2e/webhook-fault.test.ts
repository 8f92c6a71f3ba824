import { expect } from "vitest";
import { startReceiver } from "../support/webhook-receiver.ts";
import { destinationsPage } from "./pages/destinations.ts";
import { endpointsPage } from "./pages/endpoints.ts";
import { test } from "./support/inspector-test.ts";

test("a fault is put in front of a webhook, seen, edited and undone, by keyboard alone", async ({
  open,
  inspector,
  onTestFinished,
}) => {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.stop());
  const source = await inspector.call("sources.create", {
    name: "Shop web",
    kind: "web",
    writeKey: inspector.writeKey,
  });
  await inspector.call("destinations.create", {
    name: "Billing",
    sourceIds: [source.id],
    webhooks: [{ url: receiver.url }],
  });
  await inspector.call("clock.set", { mode: "paused" });
  const host = `In front of ${new URL(receiver.url).host}`;

  const { page } = await open("/destinations");
  const destinations = destinationsPage(page);
  await destinations.moreOf(1).focus();
  await page.keyboard.press("Enter");
  // The menu takes the focus a moment after it is shown.
  const focused = page.locator(":focus");
  await page.getByRole("menuitem").and(focused).waitFor();
  await page.keyboard.press("l");
  await page.keyboard.press("Home");
  await destinations
    .menuItem("Put a fault in front of it: lose the first answer")
    .and(focused)
    .waitFor();
  await page.keyboard.press("Enter");
  await destinations.behind(host).waitFor();
  await expect.poll(() => destinations.url(1).inputValue()).toMatch(/\/in-front-of-127-0-0-1-\d+$/);

  await inspector.send([{ userId: "ada", event: "Order Completed" }]);
  await inspector.call("clock.advance", { to: "idle" });
  expect(receiver.requests).toHaveLength(2);

  await destinations.behind(host).focus();
  await page.keyboard.press("Enter");
  const endpoints = endpointsPage(page);
  await endpoints.editor(host).waitFor();
  await expect.poll(() => endpoints.program.inputValue()).toBe("forward lose answer → forward");
  await expect.poll(() => endpoints.received.count()).toBe(2);
  await endpoints.sentOn
    .getByText("POST / HTTP/1.1")
    .or(endpoints.sentOn.getByText("POST /"))
    .first()
    .waitFor();
  await endpoints.cameBack.getByText("HTTP/1.1 200 OK").waitFor();
  await endpoints.program.fill("forward lose answer as timeout ×2 → forward copies 3 together");
  await page.keyboard.press("Enter");
  await expect
    .poll(async () => (await inspector.call("endpoints.list", {})).items[0]?.steps)
    .toEqual([
      { do: "forward", to: receiver.url, lose: "answer", loseAs: "timeout", times: 2 },
      { do: "forward", to: receiver.url, copies: 3, together: true },
    ]);
  await endpoints.step(2).getByRole("button", { expanded: false }).last().focus();
  await page.keyboard.press("Enter");
  await endpoints
    .step(2)
    .getByRole("combobox", { name: "Tamper with" })
    .selectOption("reserialise");
  await endpoints.step(2).getByRole("textbox", { name: "Hold" }).fill("4");
  await page.keyboard.press("Enter");
  await expect
    .poll(() => endpoints.program.inputValue())
    .toBe(
      "forward lose answer as timeout ×2 → forward hold 4 tamper reserialise copies 3 together",
    );
  await expect
    .poll(async () => (await inspector.call("endpoints.list", {})).items[0]?.steps[1])
    .toMatchObject({ hold: 4 });

  await page.goBack();
  await destinations.undo.focus();
  await page.keyboard.press("Enter");
  await expect.poll(() => destinations.url(1).inputValue()).toBe(receiver.url);
  await expect.poll(() => destinations.undo.count()).toBe(0);
  await expect.poll(() => inspector.call("endpoints.list", {})).toEqual({ items: [] });
});
