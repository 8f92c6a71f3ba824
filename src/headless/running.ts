/**
 * The file in the data directory that says where a running Hookyard listens: the command line and a
 * second Hookyard find it there.
 */

import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const runningFile = "hookyard.running.json";

/** `agent`: started by `hookyard mcp`, and ends with the agent that started that. */
export type Host = "headless" | "desktop" | "agent";
type Running = { pid: number; host: Host; version: string; uiUrl: string };

/** In one step, so that nobody reads half of it. */
export function writeRunning(dataDir: string, running: Running): void {
  const file = join(dataDir, runningFile);
  const fresh = `${file}.new`;
  rmSync(fresh, { force: true });
  writeFileSync(fresh, `${JSON.stringify(running)}\n`, { mode: 0o600, flag: "wx" });
  renameSync(fresh, file);
}

/** The Hookyard that said that it runs here; it may have been killed since. */
export function runningIn(dataDir: string): (Running & { token: string }) | null {
  try {
    const running = JSON.parse(readFileSync(join(dataDir, runningFile), "utf8")) as Running;
    if (new URL(running.uiUrl).protocol !== "http:") return null;
    return { ...running, token: readFileSync(join(dataDir, "token"), "utf8").trim() };
  } catch {
    return null;
  }
}

/** Why nobody can see who runs here, or ask it; null where nobody said so. */
export function unreadableIn(dataDir: string): string | null {
  for (const name of [runningFile, "token"]) {
    try {
      readFileSync(join(dataDir, name));
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      return name === runningFile && code === "ENOENT" ? null : message;
    }
  }
  return null;
}
