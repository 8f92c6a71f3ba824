/** `npm start`: opens the product, in Electron where that can be had, else in the browser. */

import { serve } from "../headless/commands.ts";
import { helpOf } from "../headless/flags.ts";
import { buildDesktopIfStale } from "./build-desktop.ts";
import { buildIfStale, root } from "./build.ts";
import { chooseHost, hasDisplay, type Machine } from "./choose-host.ts";
import { downloadMs, downloadRuntime, findRuntime, runRuntime } from "./electron-runtime.ts";
import { endWithNpm } from "./end-with-npm.ts";
import { runCli, runServe } from "./serve.ts";

const help = `Usage: npm start [-- flags]
       npm start NAME.hookyard

The second opens a share file.

Opens Hookyard in its own window, or in the browser if Electron's runtime is missing and cannot be downloaded.
In the browser, all of these flags apply; in a window, all but --host, --json, --open and --until-input-ends:

${helpOf(serve)}`;

const flags = process.argv.slice(2);
// Answered before anything is built.
if (flags.includes("--help") || flags.includes("-h")) {
  process.stdout.write(`${help}\n`);
  process.exit(0);
}
endWithNpm();
let runtime = findRuntime();
const machine: Machine = {
  hasDisplay: hasDisplay(process.platform, process.env),
  isRoot: process.getuid?.() === 0,
  runtime: runtime === null ? "missing" : "there",
};

if (chooseHost(machine).host === "desktop-after-download") {
  process.stderr.write(
    `Downloading Electron's runtime, for ${downloadMs / 1000} seconds or less…\n`,
  );
  runtime = await downloadRuntime();
  machine.runtime = runtime === null ? "unavailable" : "there";
}

if (chooseHost(machine).host === "desktop" && runtime !== null) {
  await buildDesktopIfStale();
  const running = runRuntime({ command: runtime, args: [root, ...flags] });
  // For `npx hookyard` in this clone. The window does not wait for it.
  await buildIfStale().catch((error: unknown) => process.stderr.write(`${String(error)}\n`));
  const code = await running;
  if (code === null) machine.runtime = "broken";
  else process.exitCode = code;
}

const choice = chooseHost(machine);
if (choice.host === "headless") {
  process.stdout.write(`${choice.sentence}\n`);
  const share = flags.find((each) => each.endsWith(".hookyard"));
  if (share === undefined) await runServe([...(choice.opensBrowser ? ["--open"] : []), ...flags]);
  else await runCli([share, ...(choice.opensBrowser ? [] : ["--no-open"])]);
}
