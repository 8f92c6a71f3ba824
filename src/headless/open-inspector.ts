/**
 * Opens the inspector in the browser. Its address holds the token, and arguments of a program can
 * be read by every user of the machine: so the browser gets a link of `open-links.ts`. A file that
 * leads to the address does not do: browsers in a sandbox cannot read it.
 */

import { spawn } from "node:child_process";
import { startTimer } from "../engine/real-time.ts";
import { ask, textOf } from "./ask.ts";
import { linkPath } from "./open-links.ts";

type OpenOptions = { uiUrl: string; token: string; say: (sentence: string) => void };

/** If it cannot be opened, one sentence says so and where it is. */
export async function openInspector({
  uiUrl,
  token,
  say,
}: OpenOptions): Promise<{ opened: boolean }> {
  const link = await linkTo(uiUrl, token);
  const opened = link !== null && (await launch(link));
  if (!opened)
    say(`The browser could not be opened. Open this address yourself: ${uiUrl}/#token=${token}`);
  return { opened };
}

async function linkTo(uiUrl: string, token: string): Promise<string | null> {
  try {
    const headers = { Authorization: `Bearer ${token}` };
    const response = await ask(`${uiUrl}${linkPath}`, { method: "POST", headers });
    const { path } = JSON.parse(await textOf(response)) as { path?: unknown };
    return response.statusCode === 200 && typeof path === "string" ? `${uiUrl}${path}` : null;
  } catch {
    return null;
  }
}

/** Where no desktop runs, the launcher is the browser itself and goes on. */
const maxLaunchMs = 5_000;

function launch(address: string): Promise<boolean> {
  const [command, args]: [string, string[]] =
    process.platform === "darwin"
      ? ["open", [address]]
      : process.platform === "win32"
        ? ["rundll32", ["url.dll,FileProtocolHandler", address]]
        : ["xdg-open", [address]];
  const child = spawn(command, args, { stdio: "ignore", detached: true });
  child.unref();
  return new Promise((resolve) => {
    const timer = startTimer(maxLaunchMs, () => resolve(true));
    const end = (isOpened: boolean): void => {
      timer.cancel();
      resolve(isOpened);
    };
    child.on("error", () => end(false));
    child.on("exit", (code) => end(code === 0));
  });
}
