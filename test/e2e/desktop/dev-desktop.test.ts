/**
 * `npm run dev:desktop` with the stand-in in place of Electron. What Vite's server does with the page
 * is shown in `dev-loop.test.ts`: the loop of the browser has the same one.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { portRequest } from "../../../src/contract/port-messages.ts";
import { shellQuoted } from "../../../src/domain/shell-quoted.ts";
import { root } from "../../../src/launch/build.ts";
import { startDesktop } from "./desktop-process.ts";
import { freePorts } from "../../support/free-ports.ts";
import { nodeInShell } from "../../support/program.ts";

const register = fileURLToPath(new URL("electron-stand-in/register.ts", import.meta.url));

test.skipIf(process.platform === "win32")(
  "the window shows the page of Vite's server over its port, and SIGTERM ends the loop with the desktop host",
  async () => {
    const directory = mkdtempSync(join(tmpdir(), "hookyard-dev-desktop-"));
    const runtime = `#!/bin/sh\necho "page $ELECTRON_RENDERER_URL"\nexec ${nodeInShell} --import ${shellQuoted(register)} "$@"\n`;
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

    expect(await (await fetch(address)).text()).toContain("/@vite/client");

    const desktop = startDesktop({ environment: { ELECTRON_RENDERER_URL: address } });
    onTestFinished(() => desktop.stop());
    const window = await desktop.window();
    expect(desktop.called("window.loadURL")).toEqual([[address]]);
    const asks = (url: string): void =>
      desktop.tell({
        tell: "ipc",
        window,
        channel: portRequest,
        frame: { url, isMainFrame: true },
      });
    asks("app://hookyard/");
    // What is asked after it is answered after it.
    await desktop.ask({ ask: "request", url: "app://hookyard/", method: "GET" });
    expect(desktop.portsGiven()).toBe(0);
    asks(`${address}/`);
    await expect.poll(() => desktop.portsGiven()).toBeGreaterThan(0);

    child.kill("SIGTERM");
    // Closed when the desktop host has ended too.
    expect(await once(child, "close")).toEqual([0, null]);
    await expect(fetch(address)).rejects.toThrow("fetch failed");
  },
);
