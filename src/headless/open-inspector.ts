/**
 * Opens the inspector in the browser. Its address holds the token, and arguments of a program can
 * be read by every user of the machine: so the browser gets the name of a page that only its owner
 * can read, and that page leads to the address.
 */

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export const pageName = "hookyard.open.html";

type OpenOptions = {
  url: string;
  /** Null when nothing is kept. */
  dataDir: string | null;
  say: (sentence: string) => void;
};

/** `opened` resolves when the browser has been started, or could not be. */
type Opened = { remove: () => void; opened: Promise<void> };

/** If it cannot be opened, one sentence says so and everything continues. */
export function openInspector({ url, dataDir, say }: OpenOptions): Opened {
  const refuse = () => say("The browser could not be opened. Open the address above yourself.");
  // A directory of its own has mode 0700.
  const directory = dataDir ?? mkdtempSync(join(tmpdir(), "hookyard-open-"));
  const page = join(directory, pageName);
  const remove = () =>
    rmSync(dataDir === null ? directory : page, { recursive: true, force: true });
  try {
    rmSync(page, { force: true });
    writeFileSync(page, leadingTo(url), { mode: 0o600, flag: "wx" });
  } catch {
    refuse();
    return { remove, opened: Promise.resolve() };
  }
  const address = pathToFileURL(page).href;
  const [command, args]: [string, string[]] =
    process.platform === "darwin"
      ? ["open", [address]]
      : process.platform === "win32"
        ? ["rundll32", ["url.dll,FileProtocolHandler", address]]
        : ["xdg-open", [address]];
  const child = spawn(command, args, { stdio: "ignore", detached: true });
  const opened = new Promise<void>((resolve) => {
    child.on("spawn", resolve);
    child.on("error", () => resolve());
  });
  child.on("error", refuse);
  child.on("exit", (code) => {
    if (code !== 0 && code !== null) refuse();
  });
  child.unref();
  return { remove, opened };
}

/** The address is ours: an origin, a fragment and a token of letters, digits, - and _. */
function leadingTo(url: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="referrer" content="no-referrer" />
    <meta http-equiv="refresh" content="0; url=${url}" />
    <title>Hookyard</title>
  </head>
  <body>
    <p><a href="${url}">Open the inspector</a></p>
  </body>
</html>
`;
}
