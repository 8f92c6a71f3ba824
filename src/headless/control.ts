/**
 * The control API of a running Hookyard, as both hosts serve it: with a token, with the inspector's
 * pages, and with a file in the data directory that says where it listens, by which the command
 * line and a second Hookyard find it. The contract is loaded only where one starts.
 */

import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Api } from "../api/api.ts";
import type { DataInUse } from "../app-errors.ts";
import { monotonic, startTimer } from "../engine/real-time.ts";
import { connect, NoHookyard, type Connection } from "./connect.ts";
import { createStaticPages } from "./static-pages.ts";
import { readOrMakeToken } from "./token.ts";
import { runningFile, runningIn, writeRunning, type Host } from "./running.ts";

type ControlOptions = {
  api: Api;
  dataDir: string | null;
  /** Of the program: where its pages are. */
  root: string;
  host?: string;
  port: number;
  version: string;
  program: Host;
  report: (error: unknown) => void;
};

export type Control = { uiUrl: string; token: string; stop(): Promise<void> };

/** Rejects with `PortTaken`. */
export async function startControl({
  dataDir,
  root,
  host = "127.0.0.1",
  program,
  version,
  ...options
}: ControlOptions): Promise<Control> {
  const { createControlPort } = await import("./http-api.ts");
  const token = readOrMakeToken(dataDir);
  const pages = createStaticPages([join(root, "out", "renderer"), join(root, "resources", "bare")]);
  const control = createControlPort({ ...options, host, token, pages });
  const uiUrl = await control.start();
  if (dataDir !== null) writeRunning(dataDir, { pid: process.pid, host: program, version, uiUrl });
  return {
    uiUrl,
    token,
    async stop() {
      if (dataDir !== null) rmSync(join(dataDir, runningFile), { force: true });
      await control.stop();
    },
  };
}

const places = {
  headless: "hookyard serve",
  desktop: "in its window",
  agent: "hookyard mcp",
} satisfies Record<Host, string>;

/** For whoever wanted to start a second one. */
export function whoHasData({ dataDir, message }: DataInUse): string {
  const running = runningIn(dataDir);
  if (running === null) return message;
  const { host, pid, uiUrl } = running;
  return `The data in ${dataDir} is in use by a running Hookyard (${places[host]}, process ${pid}, ${uiUrl}). hookyard open shows it. To start another one, choose another --data directory.`;
}

/** Opens the inspector of the one that has the data instead. False when it cannot be found. */
export async function joinRunning(
  { dataDir }: DataInUse,
  say: (sentence: string) => void,
): Promise<boolean> {
  const running = await whenRunning(dataDir);
  if (running === null) return false;
  const pid = runningIn(dataDir)?.pid;
  say(`Hookyard already runs with the data in ${dataDir} (process ${pid}): ${running.uiUrl}`);
  const { openInspector } = await import("./open-inspector.ts");
  await openInspector({ ...running, say });
  return true;
}

export const lookMs = 100;
/** A start with a large data file takes a few seconds. */
export const maxStartMs = 10_000;

/** One that starts at the same time has the data before it answers. Null when it does not. */
export async function whenRunning(dataDir: string): Promise<Connection | null> {
  for (const end = monotonic() + maxStartMs; ;) {
    try {
      return await connect(dataDir, {});
    } catch (error) {
      if (!(error instanceof NoHookyard)) throw error;
      if (monotonic() > end) return null;
    }
    await new Promise<void>((resolve) => startTimer(lookMs, resolve));
  }
}
