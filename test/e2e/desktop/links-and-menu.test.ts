/**
 * Links that lead outside, and the menu: the built desktop host, with the stand-in for Electron.
 */

import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { launchBrowser } from "../../support/browser.ts";
import { buildDesktop, startDesktop, type DesktopProcess } from "./desktop-process.ts";

let browser: Browser;
const running: DesktopProcess[] = [];

beforeAll(async () => {
  await buildDesktop();
  browser = await launchBrowser();
});
afterAll(() => browser.close());
afterEach(async () => {
  for (const desktop of running.splice(0)) await desktop.stop();
});

function start(environment: Record<string, string> = {}): DesktopProcess {
  const desktop = startDesktop({ browser, environment });
  running.push(desktop);
  return desktop;
}

test("a link is opened only when the user agrees to the address, and not asked for again where that is wanted", async () => {
  const desktop = start();
  const { window } = await desktop.page();
  const click = async (
    url: string,
    answer: { response: number; checkboxChecked?: boolean } | null,
  ) => {
    const asked = desktop.called("dialog.showMessageBox").length;
    // The last answer may still be on its way: until it is there, a click is ignored.
    const questions = async () => {
      expect(await desktop.ask({ ask: "open-window", window, url })).toBe(false);
      return desktop.called("dialog.showMessageBox").length - asked;
    };
    if (answer === null) return expect(await questions()).toBe(0);
    await expect.poll(questions).toBe(1);
    desktop.tell({ tell: "dialog-answer", ...answer });
  };
  await click("https://docs.example/page?a=1", { response: 1, checkboxChecked: true });
  expect(desktop.called("dialog.showMessageBox")[0]).toMatchObject([
    {
      message: "Open docs.example in your browser?",
      detail: "https://docs.example/page?a=1",
      buttons: ["Open", "Cancel"],
      defaultId: 1,
      cancelId: 1,
    },
  ]);
  await click("https://docs.example/page?a=2", { response: 0, checkboxChecked: true });
  await expect
    .poll(() => desktop.called("shell.openExternal"))
    .toEqual([["https://docs.example/page?a=2"]]);
  await click("https://docs.example/page?a=3", null);
  await click("https://user:password@docs.example.evil.test/", { response: 1 });
  await click("https://other.example/", { response: 0 });
  await expect
    .poll(() => desktop.called("shell.openExternal"))
    .toEqual([
      ["https://docs.example/page?a=2"],
      ["https://docs.example/page?a=3"],
      ["https://other.example/"],
    ]);
});

test("one question about a link at a time: a page cannot pile them up", async () => {
  const desktop = start();
  const { window } = await desktop.page();
  for (let index = 0; index < 20; index += 1)
    await desktop.ask({ ask: "open-window", window, url: `https://h${index}.example/` });
  expect(desktop.called("dialog.showMessageBox")).toHaveLength(1);
});

test.each([
  ["a clone", {}],
  [
    "a packaged program, whatever its environment says",
    { STAND_IN_IS_PACKAGED: "yes", ELECTRON_RENDERER_URL: "http://127.0.0.1:1" },
  ],
])("the developer tools are not in the menu of %s", async (_name, environment) => {
  const desktop = start(environment);
  const { page } = await desktop.page();
  expect(JSON.stringify(desktop.called("Menu.setApplicationMenu")).includes("toggleDevTools")).toBe(
    false,
  );
  expect(desktop.called("new BrowserWindow")).toMatchObject([
    [{ webPreferences: { devTools: false } }],
  ]);
  await page.getByRole("group", { name: "The clock" }).waitFor();
});
