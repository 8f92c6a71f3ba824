/**
 * `npm run dev:desktop -- FLAGS`: the desktop host in Electron with its page on Vite's server,
 * which updates it as its sources change. The host is built and started again when its own sources
 * or those of the engine change. Closing the window ends it all.
 */

import { execFile, spawn, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { whenAskedToStop } from "../headless/asked-to-stop.ts";
import { root } from "./build.ts";
import { createDevProgram } from "./dev-program.ts";
import { startDevServer } from "./dev-server.ts";
import { downloadRuntime, findRuntime } from "./electron-runtime.ts";
import { endWithNpm } from "./end-with-npm.ts";

const runtime = findRuntime() ?? (await downloadRuntime());
if (runtime === null) {
  process.stderr.write(
    "Electron's runtime is missing and could not be downloaded. npm run dev opens the inspector in a browser instead.\n",
  );
  process.exit(1);
}
endWithNpm();
const buildCommand = fileURLToPath(new URL("build-desktop.ts", import.meta.url));
const ended = whenAskedToStop({ signals: ["SIGINT", "SIGTERM", "SIGHUP"] });
const server = await startDevServer({
  host: "127.0.0.1",
  port: 0,
  engineChanged: () => desktop.restart(),
});
const { ELECTRON_RUN_AS_NODE: _, ...environment } = process.env;

async function start(): Promise<ChildProcess> {
  // In a process of its own: a build sets NODE_ENV, and Vite's server would then mix React's two
  // builds.
  await promisify(execFile)(process.execPath, [buildCommand]);
  const child = spawn(runtime ?? "", [root, ...process.argv.slice(2)], {
    stdio: "inherit",
    env: { ...environment, ELECTRON_RENDERER_URL: server.url },
    // In a group of its own Ctrl+C does not reach it: this process ends it.
    detached: process.platform !== "win32",
  });
  child.once("exit", (code) => {
    if (desktop.isCurrent(child)) process.exit(code ?? 1);
  });
  return child;
}

const desktop = createDevProgram(start);
desktop.restart();
await ended;
await Promise.all([desktop.stop(), server.stop()]);
process.exit(0);
