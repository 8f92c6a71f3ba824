/**
 * The desktop host: the whole pipeline in Electron's main process, and the inspector in its window.
 * Nothing here waits at the top level, because Electron is not ready before this module has been
 * loaded.
 */

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { app, dialog, session, type WebContents, ipcMain, MessageChannelMain } from "electron";
import { DataInUse, OpenError, Refusal } from "../app-errors.ts";
import { createApp } from "../app.ts";
import { applyAtStart, environmentWith, readConfigFile } from "../headless/config-file.ts";
import type { ConfigFile } from "../headless/read-config.ts";
import { type Control, joinRunning, startControl } from "../headless/control.ts";
import { keepMemorySmall } from "../headless/memory.ts";
import { tracesTo } from "../headless/serve-flags.ts";
import { enlargeThreadPool } from "../headless/thread-pool.ts";
import { makeDataDirectory } from "../data-directory.ts";
import { wallClockNow } from "../engine/real-time.ts";
import { createPortApi } from "../api/port-api.ts";
import type { Api } from "../api/api.ts";
import { isProblem } from "../domain/problem.ts";
import { shareApi } from "../share/share-file.ts";
import { portRequest } from "../contract/port-messages.ts";
import { type AppFlags, parseAppFlags, placeOfData } from "./app-flags.ts";
import { registerAppScheme, serveApp } from "./app-protocol.ts";
import { setMenu, createMainWindow } from "./window.ts";
import { startOnPorts } from "./port-taken.ts";
import { quitDrained } from "./quit.ts";
import { confinePages, denyPermissions, isTrustedSender } from "./security.ts";

// Two levels up from here, both in the sources and in the built program.
const root = fileURLToPath(new URL("../../", import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  version: string;
};

enlargeThreadPool();
app.setName("Hookyard");
// The terminal may be closed. Without these, a report that fails is the next thing to report.
process.stdout.on("error", () => undefined);
process.stderr.on("error", () => undefined);
process.on("uncaughtException", report);
process.on("unhandledRejection", report);
registerAppScheme();
confinePages({ report });
let isStartedForFile = false;
app.on("open-file", (event, file) => {
  event.preventDefault();
  openBeside(file);
  isStartedForFile ||= !app.isReady();
});
try {
  start();
} catch (error) {
  fail(error);
}

function start(): void {
  const asked = parseAppFlags(process.argv.slice(1), process.env);
  if ("wrong" in asked) return refuse(asked.wrong);
  if (asked.share !== null) return openShareFile(asked.share);
  const electrons = app.getPath("userData");
  const flags = { ...asked, data: placeOfData(asked, electrons) };
  if (flags.data !== asked.data)
    log(`The data is in ${flags.data}, as before. Commands find it with --data or HOOKYARD_DATA.`);
  if (flags.data === ":memory:") keepUntilQuit();
  else if (flags.data !== electrons) keepBesideData(flags.data);
  const isFirst = app.requestSingleInstanceLock();
  app
    .whenReady()
    .then(() => (isFirst && !isStartedForFile ? run(flags) : app.exit(0)))
    .catch(failUnlessJoined);
}

/**
 * macOS names a file that was double-clicked to the program that runs, or to the one that it starts
 * for it, before that is ready. Each gets a process of its own: where Electron keeps its things is
 * settled by then.
 */
function openBeside(file: string): void {
  const args = app.isPackaged ? [file] : [root, file];
  spawn(process.execPath, args, { detached: true, stdio: "ignore" }).unref();
}

/**
 * What Electron keeps goes with the data, and so does its lock: two data directories are two
 * Hookyards.
 */
function keepBesideData(data: string): void {
  const directory = join(data, "electron");
  makeDataDirectory(directory);
  app.setPath("userData", directory);
}

/** Of a window that stores nothing, and is the only one that uses the directory. */
function keepUntilQuit(): string {
  const directory = mkdtempSync(join(tmpdir(), "hookyard-electron-"));
  app.setPath("userData", directory);
  app.on("quit", () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** A window of its own, beside a Hookyard that runs and its data: it reads the file, and no more. */
function openShareFile(file: string): void {
  let content: Uint8Array;
  try {
    content = readFileSync(file);
  } catch (error) {
    return refuse(`${file} cannot be read: ${(error as Error).message}`);
  }
  const api = shareApi(content);
  if (isProblem(api)) return refuse(`${file}: ${api.message}`);
  const userData = keepUntilQuit();
  app.on("window-all-closed", () => app.quit());
  app
    .whenReady()
    .then(() => {
      denyPermissions(session.defaultSession);
      serveApp(join(root, "out", "renderer"));
      setMenu(process.platform);
      servePorts(api);
      createMainWindow({
        preload: join(root, "out", "preload", "index.cjs"),
        stateFile: join(userData, "window.json"),
        report,
      }).show();
    })
    .catch(fail);
}

async function run({ data, config: configFile }: AppFlags): Promise<void> {
  const config = await readConfigFile(configFile);
  // Its ports are below the flags and the environment.
  const read = parseAppFlags(process.argv.slice(1), environmentWith(config));
  if ("wrong" in read) return refuse(read.wrong);
  const flags = { ...read, data };
  denyPermissions(session.defaultSession);
  serveApp(join(root, "out", "renderer"));
  setMenu(process.platform);
  const hookyard = await startOnPorts({
    ports: flags.ports,
    createApp: (ports) => createHosted({ ...flags, ports }, config),
    report,
  });
  if (hookyard === null) return app.exit(0);

  servePorts(hookyard.api);
  const window = createMainWindow({
    preload: join(root, "out", "preload", "index.cjs"),
    stateFile: join(app.getPath("userData"), "window.json"),
    report,
  });
  quitDrained({ close: () => window.close(), stop: () => hookyard.stop(), report });
  app.on("second-instance", () => window.show());
  app.on("activate", () => window.show());
  app.on("window-all-closed", () => {
    if (process.platform !== "darwin") app.quit();
  });
  window.show();
  process.stdout.write(`Hookyard ${version} is running. Closing its window ends it.\n`);
}

/** The pipeline, with the same control API for scripts as the headless host serves. */
function createHosted({ data, ports, traces }: AppFlags, config: ConfigFile | null) {
  keepMemorySmall();
  const app = createApp({
    data,
    ports,
    traces: tracesTo(traces, log),
    scenarios: join(root, "resources", "scenarios"),
    pages: join(root, "out", "renderer"),
    threads: true,
    report,
    log,
    version,
  });
  let control: Control | null = null;
  return {
    api: app.api,
    async start(): Promise<void> {
      const { dataDir } = await app.start();
      const { api } = app;
      if (config !== null) await applyAtStart(config, api, log);
      const options = { api, dataDir, root, version, report, program: "desktop" } as const;
      control = await startControl({ ...options, port: ports.ui });
    },
    async stop(): Promise<void> {
      await Promise.resolve(control?.stop()).finally(() => app.stop());
    },
  };
}

/** Where another Hookyard has the data, its inspector is what the user wanted to see. */
async function failUnlessJoined(error: unknown): Promise<void> {
  const joins = error instanceof DataInUse && (await joinRunning(error, log));
  if (joins) app.exit(0);
  else fail(error);
}

function fail(error: unknown): void {
  if (!(error instanceof OpenError || error instanceof Refusal)) report(error);
  refuse(error instanceof Error ? error.message : String(error));
}

function refuse(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
  dialog.showErrorBox("Hookyard could not start", sentence);
  app.exit(1);
}

function report(error: unknown): void {
  log(error instanceof Error ? (error.stack ?? error.message) : String(error));
}

function log(text: string): void {
  process.stderr.write(`${new Date(wallClockNow()).toISOString()} ${text}\n`);
}

/**
 * Gives the page of the inspector a message port, and serves the control API on it. One port at a
 * time for each page.
 */
function servePorts(api: Api): void {
  const closing = new WeakMap<WebContents, () => void>();
  ipcMain.on(portRequest, ({ sender, senderFrame }) => {
    if (!isTrustedSender(senderFrame)) return;
    closing.get(sender)?.();
    const { port1: port, port2: portOfPage } = new MessageChannelMain();
    const portApi = createPortApi({ api, send: (text) => port.postMessage(text) });
    port.on("message", ({ data }) => portApi.receive(data));
    port.on("close", () => portApi.end());
    port.start();
    closing.set(sender, () => port.close());
    senderFrame.postMessage(portRequest, null, [portOfPage]);
  });
}
