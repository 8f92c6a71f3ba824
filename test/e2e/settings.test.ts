import { readFile } from "node:fs/promises";
import { describe, expect } from "vitest";
import { framePage } from "./pages/frame.ts";
import { settingsPage } from "./pages/settings.ts";
import { welcomePage } from "./pages/welcome.ts";
import { test } from "./support/inspector-test.ts";

describe("settings", () => {
  test("are saved when a field is left, refused with a sentence, and put back with Esc", async ({
    open,
    inspector,
  }) => {
    const { page } = await open("/settings/delivery");
    const settings = settingsPage(page);
    const frame = framePage(page);
    await settings.field("Seed").fill("42");
    await settings.field("Seed").press("Tab");
    await frame.status.filter({ hasText: "jitter seed 42" }).waitFor();
    await frame.status.filter({ hasText: /Data \d+\.\d [KM]B/ }).waitFor();
    expect((await inspector.call("settings.get", {})).seed).toBe(42);
    await settings.field("Seed").fill("about 7");
    await page.getByRole("alert").filter({ hasText: "The seed is a whole number." }).waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => settings.field("Seed").inputValue()).toBe("42");
  });

  test("keep what is typed while the save before it is on its way, also what is still shown", async ({
    open,
    inspector,
  }) => {
    const { page } = await open("/settings/delivery");
    const seed = settingsPage(page).field("Seed");
    const status = (text: string): Promise<void> =>
      framePage(page).status.getByText(`jitter seed ${text}`, { exact: true }).waitFor();
    const first = inspector.hold("settings.update");
    await seed.fill("42");
    await seed.press("Enter");
    await seed.press("End");
    await seed.press("7");
    first.release();
    await status("42");
    await expect.poll(() => seed.inputValue()).toBe("427");
    await seed.press("Enter");
    await status("427");

    const second = inspector.hold("settings.update");
    await seed.fill("5");
    await seed.press("Enter");
    await seed.fill("427");
    await seed.press("Enter");
    await expect.poll(() => second.inputs).toEqual([{ seed: 5 }]);
    second.release();
    await expect.poll(() => second.inputs).toEqual([{ seed: 5 }, { seed: 427 }]);
    await expect.poll(() => seed.inputValue()).toBe("427");
  });

  test("show a choice while its save is on its way, and the old one with the reason when it is refused", async ({
    open,
    inspector,
  }) => {
    const guarded = await open("/settings/delivery");
    const settings = settingsPage(guarded.page);
    const saving = inspector.hold("settings.update");
    const chosen = async () => ({
      jitter: await settings.jitter.isChecked(),
      full: await settings.durability("FULL").getAttribute("aria-checked"),
      skew: await settings.piece("Correction of timestamps").inputValue(),
    });
    await settings.piece("Correction of timestamps").waitFor();
    const before = await chosen();
    const after = { jitter: !before.jitter, full: "true", skew: "off" };
    expect(before).toMatchObject({ full: "false", skew: "auto" });
    await settings.jitter.press("Space");
    await settings.durability("FULL").click();
    await settings.piece("Correction of timestamps").selectOption("off");
    await expect.poll(() => saving.inputs.length).toBe(3);
    expect(await chosen()).toEqual(after);
    saving.release();
    await expect
      .poll(() => inspector.call("settings.get", {}))
      .toMatchObject({ jitter: after.jitter, synchronous: "FULL", correctClockSkew: false });
    await expect.poll(chosen).toEqual(after);

    guarded.expect(/409/);
    const refused = Promise.withResolvers<void>();
    inspector.answer("settings.update", async () => {
      await refused.promise;
      return { status: 409, body: { code: "conflict", message: "Something else changed it." } };
    });
    await settings.jitter.press("Space");
    await settings.durability("NORMAL").click();
    await settings.piece("Correction of timestamps").selectOption("on");
    expect(await chosen()).toEqual({ jitter: before.jitter, full: "false", skew: "on" });
    refused.resolve();
    await expect.poll(() => settings.view.getByText("Something else changed it.").count()).toBe(3);
    await expect.poll(chosen).toEqual(after);
  });

  test("change a copy of a retry profile, which is deleted once no destination uses it, and how many messages are kept", async ({
    open,
    inspector,
  }) => {
    const { destination } = await inspector.shop();
    const guarded = await open("/settings/retry-profiles");
    guarded.expect(/409 \(Conflict\)/);
    const { page } = guarded;
    const settings = settingsPage(page);
    await page.getByRole("button", { name: "Create a retry profile" }).click();
    await settings.field("Jitter").fill("25");
    await settings.field("Jitter").press("Enter");
    await settings.field("Retried statuses").fill("5xx, 429");
    await settings.field("Retried statuses").press("Enter");
    await page.getByRole("radio", { name: "a list" }).click();
    await settings.field("Delays between the starts of rounds").fill("10 s, 5 m");
    await settings.field("Delays between the starts of rounds").press("Enter");
    await expect
      .poll(async () => (await inspector.call("retryProfiles.list", {})).items.at(-1))
      .toMatchObject({
        name: "my-documented",
        jitter: 0.25,
        retriedStatuses: [
          { from: 500, to: 599 },
          { from: 429, to: 429 },
        ],
        schedule: { kind: "list", delaysMs: [10_000, 300_000] },
      });
    const { id } = destination;
    await inspector.call("destinations.update", { id, retryProfile: "my-documented" });
    await page.getByText("custom, used by 1 destination", { exact: true }).waitFor();
    const remove = async (): Promise<void> => {
      await page.getByRole("button", { name: "More for my-documented" }).click();
      await page.getByRole("menuitem", { name: "Delete…" }).click();
      await settings.dialog.getByText("permanently deleted").waitFor();
    };
    await remove();
    await settings.dialog.getByRole("button", { name: "Delete" }).click();
    await settings.dialog.getByRole("alert").waitFor();
    await settings.keep.click();
    await settings.dialog.waitFor({ state: "detached" });
    await remove();
    expect(await settings.dialog.getByRole("alert").count()).toBe(0);
    await inspector.call("destinations.update", { id, retryProfile: "documented" });
    await settings.dialog.getByRole("button", { name: "Delete" }).click();
    await settings.dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "More for my-documented" }).waitFor({
      state: "detached",
    });

    await page.evaluate("location.hash = '#/settings/store'");
    await settings.field("Keep the newest").fill("12,000");
    await settings.field("Keep the newest").press("Enter");
    await expect
      .poll(async () => (await inspector.call("settings.get", {})).maxMessages)
      .toBe(12_000);
  });

  test("a click that leaves a refused field reaches what it was meant for", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    const other = await inspector.call("sources.create", { name: "Other", kind: "web" });
    const guarded = await open(`/sources/${other.id}`);
    const { page } = guarded;
    guarded.expect(/409|400/);
    const key = page.getByRole("textbox", { name: "Write key" });
    await key.fill(inspector.writeKey);
    await key.press("Enter");
    await page.getByRole("alert").waitFor();
    const kind = page.getByRole("radio", { name: "server" });
    const { x, y, height } = (await kind.boundingBox()) ?? { x: 0, y: 0, height: 0 };
    await page.mouse.click(x + 4, y + height - 2);
    await expect
      .poll(async () => (await inspector.call("sources.get", { id: other.id })).kind)
      .toBe("server");
  });

  test("keep the theme over a reload, whatever the system has", async ({ open }) => {
    const { page } = await open("/settings/appearance", { colorScheme: "light" });
    const settings = settingsPage(page);
    const ink = (): Promise<string> =>
      page.evaluate<string>("getComputedStyle(document.body).color");
    const light = await ink();
    await settings.theme("dark").click();
    await expect.poll(ink).not.toBe(light);
    const dark = await ink();
    await page.reload();
    await settings.theme("dark").and(page.locator("[aria-checked=true]")).waitFor();
    expect(await ink()).toBe(dark);
    await settings.theme("system").click();
    await expect.poll(ink).toBe(light);
  });

  test("save the configuration as a file, without secrets unless asked, and read one", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    const { page } = await open("/settings/configuration");
    const settings = settingsPage(page);
    const saved = async (): Promise<string> => {
      const download = page.waitForEvent("download");
      await settings.saveConfiguration.click();
      return readFile(await (await download).path(), "utf8");
    };
    const text = await saved();
    expect(JSON.parse(text)).toMatchObject({
      sources: [{ name: "Shop web" }],
      destinations: [{ name: "Billing" }],
    });
    expect(text).not.toContain("s3cret");
    await settings.withSecrets.check();
    expect(await saved()).toContain("s3cret");

    const changed = text.replaceAll("Billing", "Invoices");
    await settings.configurationFile.setInputFiles({
      name: "mine.json",
      mimeType: "application/json",
      buffer: Buffer.from(changed),
    });
    await settings.view
      .getByRole("status")
      .filter({ hasText: "Imported mine.json: 1 created" })
      .waitFor();
    expect(
      (await inspector.call("destinations.list", {})).items.map(({ name }) => name).toSorted(),
    ).toEqual(["Billing", "Invoices"]);
    await settings.configurationFile.setInputFiles({
      name: "none.json",
      mimeType: "application/json",
      buffer: Buffer.from("{"),
    });
    await settings.view.getByRole("alert").filter({ hasText: "none.json" }).waitFor();

    const webhooks = [{ url: "http://127.0.0.1:9/" }];
    await inspector.call("destinations.create", { name: "Billing", sourceIds: [], webhooks });
    await saved();
    await settings.view
      .getByRole("status")
      .filter({ hasText: "Several destinations are called Billing." })
      .waitFor();
  });

  test("remove all messages after saying what is lost, and Live begins again", async ({
    open,
    inspector,
  }) => {
    await inspector.shop();
    await inspector.send([{ userId: "u_1", event: "Order Completed" }]);
    await inspector.call("pipeline.settle", {});
    const { page } = await open("/settings/reset");
    const settings = settingsPage(page);
    await settings.removeMessages.click();
    await settings.dialog
      .filter({ hasText: "1 message, pinned ones too, and 1 delivery" })
      .filter({ hasText: "along with all profiles, deletion requests and suppressions" })
      .waitFor();
    await settings.keep.click();
    await settings.dialog.waitFor({ state: "detached" });
    expect((await inspector.call("stats.get", {})).messages.total).toBe(1);
    await settings.removeMessages.click();
    await settings.confirm.click();
    await settings.dialog.waitFor({ state: "detached" });
    await framePage(page).viewLink("Live").click();
    await welcomePage(page).heading.waitFor();
  });
});
