/**
 * `npm run dev:desktop` with the stand-in in place of Electron: one of them is the whole loop, the
 * other has a real page.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import { root } from "../../../src/launch/build.ts";
import { framePage } from "../pages/frame.ts";
import { test } from "../support/inspector-test.ts";
import { startDesktop } from "./desktop-process.ts";
import { freePorts } from "../../support/free-ports.ts";

const register = fileURLToPath(new URL("electron-stand-in/register.ts", import.meta.url));

test.skipIf(process.platform === "win32")(
  "the window shows the page of Vite's server over its port, and SIGTERM ends the loop with the desktop host",
  async ({ browser }) => {
    const directory = mkdtempSync(join(tmpdir(), "hookyard-dev-desktop-"));
    const runtime = `#!/bin/sh\necho "page $ELECTRON_RENDERER_URL"\nexec "${process.execPath}" --import "${register}" "$@"\n`;
    writeFileSync(join(directory, "electron"), runtime, { mode: 0o755 });
    const child = spawn(
      process.execPath,
      [join(root, "src", "launch", "dev-desktop.ts"), ...freePorts, "--data", ":memory:"],
      {
        stdio: ["ignore", "pipe", "inherit"],
        env: {
          ...process.env,
          ELECTRON_OVERRIDE_DIST_PATH: directory,
          STAND_IN_APP_DATA: directory,
        },
      },
    );
    onTestFinished(async () => {
      if (child.exitCode === null && child.signalCode === null) {
        // It ends the desktop host first.
        child.kill("SIGTERM");
        await once(child, "exit");
      }
      rmSync(directory, { recursive: true });
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    await expect.poll(() => output).toContain("is running");
    const [, address = ""] = /^page (\S+)$/m.exec(output) ?? [];

    const desktop = startDesktop({ browser, environment: { ELECTRON_RENDERER_URL: address } });
    onTestFinished(() => desktop.stop());
    const { page, problems } = await desktop.page();
    await framePage(page).mode("paused").click();
    await expect
      .poll(() => framePage(page).mode("paused").getAttribute("aria-checked"))
      .toBe("true");
    expect(new URL(page.url()).origin).toBe(address);
    expect(problems()).toEqual([]);

    child.kill("SIGTERM");
    // Closed when the desktop host has ended too.
    expect(await once(child, "close")).toEqual([0, null]);
    await expect(fetch(address)).rejects.toThrow("fetch failed");
  },
);
