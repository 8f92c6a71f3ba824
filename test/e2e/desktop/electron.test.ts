/**
 * The built desktop host in Electron itself, where its runtime is. Elsewhere the stand-in has to
 * do.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { _electron, type ElectronApplication, type Page } from "playwright-core";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { root } from "../../../src/launch/build.ts";
import { chooseHost, hasDisplay } from "../../../src/launch/choose-host.ts";
import { findRuntime } from "../../../src/launch/electron-runtime.ts";
import { framePage } from "../pages/frame.ts";
import { buildDesktop } from "./desktop-process.ts";
import { windowSuite } from "./window.suite.ts";
import { freePorts } from "../../support/free-ports.ts";

const runtime = findRuntime();
const isRoot = process.getuid?.() === 0;
const choice = chooseHost({
  hasDisplay: hasDisplay(process.platform, process.env),
  isRoot,
  runtime: runtime === null ? "unavailable" : "there",
});
if (choice.host !== "desktop") {
  const reason =
    runtime === null
      ? "its runtime is not here"
      : isRoot
        ? "it refuses to run as root"
        : "there is no display";
  console.log(`Skipped in Electron, because ${reason}. The same tests run with its stand-in.`);
}

const running: { app: ElectronApplication; data: string }[] = [];

async function start(): Promise<ElectronApplication> {
  const data = mkdtempSync(join(tmpdir(), "hookyard-electron-"));
  const app = await _electron.launch({
    executablePath: runtime ?? "",
    args: [root, ...freePorts, "--data", data],
  });
  running.push({ app, data });
  return app;
}

describe.skipIf(choice.host !== "desktop")("in Electron", () => {
  beforeAll(buildDesktop);
  afterEach(async () => {
    for (const { app, data } of running.splice(0)) {
      await app.close();
      rmSync(data, { recursive: true, force: true });
    }
  });

  windowSuite(
    test.extend<{ windowPage: Page }>({
      // oxlint-disable-next-line no-empty-pattern -- vitest reads from it that nothing is needed
      windowPage: async ({}, use) => use(await (await start()).firstWindow()),
    }),
  );

  test("the page is at app://hookyard, in a window of its smallest size at least", async () => {
    const app = await start();
    const page = await app.firstWindow();
    await framePage(page).clock.waitFor();
    expect(page.url()).toMatch(/^app:\/\/hookyard\//);
    expect(
      await app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.getMinimumSize()),
    ).toEqual([1100, 700]);
  });

  test("quitting ends the process cleanly", async () => {
    const app = await start();
    await framePage(await app.firstWindow()).clock.waitFor();
    const child = app.process();
    const ended = new Promise((resolve) => child.once("exit", resolve));
    await app.evaluate(({ app }) => app.quit());
    expect(await ended).toBe(0);
  });
});
