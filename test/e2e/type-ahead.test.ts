/** What is typed right after a thing is created, before its name field is there, is its name. */

import type { CallName } from "../../src/contract/contract.ts";
import { expect } from "vitest";
import { framePage } from "./pages/frame.ts";
import { test } from "./support/inspector-test.ts";

const cases: readonly { of: string; place: string; press: string; create: CallName }[] = [
  { of: "a source", place: "/sources", press: "New source", create: "sources.create" },
  { of: "a client", place: "/clients", press: "New client", create: "clients.create" },
  {
    of: "an endpoint",
    place: "/endpoints",
    press: "New test endpoint",
    create: "endpoints.create",
  },
  { of: "a preset", place: "/endpoints", press: "503 three times", create: "endpoints.create" },
];

test.for(cases)(
  "what is typed before $of is created is its name",
  async (each, { open, inspector }) => {
    await inspector.shop();
    const { page } = await open(each.place);
    const created = inspector.hold(each.create);
    await page.getByRole("button", { name: each.press, exact: true }).click();
    await expect.poll(() => created.inputs).toHaveLength(1);
    // Each of them is a key of the whole page, and Space would press the button again.
    await page.keyboard.type("new p .dx");
    await page.keyboard.press("Backspace");
    await page.keyboard.press("Enter");
    created.release();
    const name = page.getByRole("main").getByRole("textbox", { name: "Name", exact: true });
    await expect.poll(() => name.inputValue()).toBe("new p .d");
    await page.keyboard.type("!");
    await page.keyboard.press("Enter");
    await expect.poll(() => name.inputValue()).toBe("new p .d!");
    expect(created.inputs).toHaveLength(1);
    expect(await page.getByRole("dialog").count()).toBe(0);
    expect((await inspector.call("clock.get", {})).mode).toBe("real");
  },
);

test("keys are shortcuts again once a source is refused, and after Esc", async ({
  open,
  inspector,
}) => {
  await inspector.shop();
  const { page, expect: expectLine } = await open("/sources");
  expectLine(/status of 400/);
  const add = page.getByRole("button", { name: "New source" });
  const { mode } = framePage(page);
  const refused = { code: "no_room", message: "There is no room." };
  const answer = Promise.withResolvers<void>();
  inspector.answer("sources.create", async () => {
    await answer.promise;
    return { status: 400, body: refused };
  });
  await add.click();
  await page.keyboard.type("a");
  await page.keyboard.press("Escape");
  await page.keyboard.press("n");
  await page.getByRole("dialog", { name: "Compose a message" }).waitFor();
  await page.keyboard.press("Escape");
  answer.resolve();
  await page.getByText(refused.message).waitFor();
  await add.click();
  await page.getByText(refused.message).waitFor();
  await page.keyboard.press("w");
  await page.waitForURL(/#\/flow/);
  await expect.poll(() => mode("real").isChecked()).toBe(true);
});
