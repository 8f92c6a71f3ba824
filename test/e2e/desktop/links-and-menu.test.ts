/**
 * Links that lead outside, files that macOS names, and the menu: the built desktop host, with the stand-in for Electron.
 */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, expect, onTestFinished, test } from "vitest";
import { portRequest } from "../../../src/contract/port-messages.ts";
import { buildDesktop, startDesktop, type DesktopProcess } from "./desktop-process.ts";

const running: DesktopProcess[] = [];

beforeAll(buildDesktop);
afterEach(async () => {
  for (const desktop of running.splice(0)) await desktop.stop();
});

function start(environment: Record<string, string> = {}): DesktopProcess {
  const desktop = startDesktop({ environment });
  running.push(desktop);
  return desktop;
}

test("a link is opened only when the user agrees to the address, and not asked for again where that is wanted", async () => {
  const desktop = start();
  const window = await desktop.window();
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
  const window = await desktop.window();
  for (let index = 0; index < 20; index += 1)
    await desktop.ask({ ask: "open-window", window, url: `https://h${index}.example/` });
  expect(desktop.called("dialog.showMessageBox")).toHaveLength(1);
});

test("a packaged program shows its own page without developer tools, whatever its environment says", async () => {
  const desktop = start({
    STAND_IN_IS_PACKAGED: "yes",
    ELECTRON_RENDERER_URL: "http://127.0.0.1:1",
  });
  const window = await desktop.window();
  const url = "app://hookyard/";
  expect(desktop.called("window.loadURL")).toEqual([[url]]);
  expect(await desktop.ask({ ask: "request", url, method: "GET" })).toMatchObject({ status: 200 });
  desktop.tell({ tell: "ipc", window, channel: portRequest, frame: { url, isMainFrame: true } });
  await expect.poll(() => desktop.portsGiven()).toBeGreaterThan(0);
  expect(JSON.stringify(desktop.called("Menu.setApplicationMenu"))).not.toContain("toggleDevTools");
  expect(desktop.called("new BrowserWindow")).toMatchObject([
    [{ webPreferences: { devTools: false } }],
  ]);
});

test.runIf(process.platform !== "win32")(
  "a file that macOS names gets a process of its own, also when the program is started for it",
  async () => {
    const directory = mkdtempSync(join(tmpdir(), "hookyard-named-"));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const [program, named] = [join(directory, "program"), join(directory, "named")];
    writeFileSync(program, `#!/bin/sh\necho "$@" >> "${named}"\n`, { mode: 0o755 });
    const environment = { STAND_IN_IS_PACKAGED: "yes", STAND_IN_EXEC_PATH: program };
    const files = (): string => (existsSync(named) ? readFileSync(named, "utf8") : "");

    const started = start({ ...environment, STAND_IN_OPENS: "early.hookyard" });
    expect(await started.ended).toEqual({ code: 0, errors: "" });
    expect(started.called("new BrowserWindow")).toEqual([]);
    await expect.poll(files).toBe("early.hookyard\n");

    const desktop = start(environment);
    await desktop.window();
    desktop.tell({ tell: "open-file", file: "later.hookyard" });
    await expect.poll(files).toBe("early.hookyard\nlater.hookyard\n");
    expect(desktop.called("new BrowserWindow")).toHaveLength(1);
  },
);
