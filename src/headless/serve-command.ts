/**
 * `hookyard serve`: runs the application and the control port, prints where they are, and ends them
 * on a signal.
 */

import { join } from "node:path";
import { DataInUse, OpenError, PortTaken, Refusal, WrongConfig } from "../app-errors.ts";
import { wallClockNow } from "../engine/real-time.ts";
import { shownLines } from "../scenarios/report/text.ts";
import { whenAskedToStop } from "./asked-to-stop.ts";
import { serve } from "./commands.ts";
import { applyAtStart, environmentWith, readConfigFile } from "./config-file.ts";
import type { ConfigFile } from "./read-config.ts";
import { joinRunning, startControl, whoHasData } from "./control.ts";
import { endEarly, type Invocation } from "./flags.ts";
import { keepMemorySmall } from "./memory.ts";
import {
  isLoopback,
  parseServeFlags,
  portFlags,
  tracesTo,
  type ServeFlags,
} from "./serve-flags.ts";
import { enlargeThreadPool } from "./thread-pool.ts";

/** Returns the exit code. */
export async function serveCommand({ args, root, version }: Invocation): Promise<number> {
  enlargeThreadPool();
  const first = parseServeFlags(args);
  if (first === "help" || "wrong" in first) return endEarly(first, serve);
  let config: ConfigFile | null;
  try {
    config = await readConfigFile(first.config);
  } catch (error) {
    if (!(error instanceof WrongConfig)) throw error;
    warn(error.message);
    return 1;
  }
  const flags = parseServeFlags(args, environmentWith(config));
  if (flags === "help" || "wrong" in flags) return endEarly(flags, serve);
  const asked = whenAskedToStop(flags);
  process.on("uncaughtException", report);
  process.on("unhandledRejection", report);
  let stop: () => Promise<void>;
  try {
    stop = await start({ flags, config, root, version });
  } catch (error) {
    if (error instanceof DataInUse && flags.open && (await joinRunning(error, warn))) return 0;
    warn(sentenceOf(error, flags));
    return 1;
  }
  await asked;
  try {
    await stop();
    return 0;
  } catch (error) {
    warn(`Hookyard ended with an error: ${messageOf(error)}`);
    return 1;
  }
}

/** Returns a function that stops what it started. */
async function start({
  flags,
  config,
  root,
  version,
}: {
  flags: ServeFlags;
  config: ConfigFile | null;
  root: string;
  version: string;
}): Promise<() => Promise<void>> {
  const { data, host, ports } = flags;
  const traces = tracesTo(flags.traces, warn);
  keepMemorySmall();
  const { createApp } = await import("../app.ts");
  const app = createApp({
    data,
    host,
    ports,
    scenarios: join(root, "resources", "scenarios"),
    pages: join(root, "out", "renderer"),
    threads: true,
    traces,
    report,
    log,
    version,
  });
  try {
    const addresses = await app.start();
    if (config !== null) await applyAtStart(config, app.api, warn);
    const control = await startControl({
      api: app.api,
      dataDir: addresses.dataDir,
      root,
      host,
      port: ports.ui,
      version,
      program: "headless",
      report,
    });
    const { token, uiUrl } = control;
    announce({ flags, version, token, uiUrl, ...addresses });
    return async () => {
      await control.stop().finally(() => app.stop());
    };
  } catch (error) {
    await app.stop().catch(report);
    throw error;
  }
}

type Running = {
  flags: ServeFlags;
  version: string;
  token: string;
  uiUrl: string;
  ingestUrl: string;
  ingestTlsUrl: string | null;
  endpointsUrl: string;
  endpointsTlsUrl: string;
  dataDir: string | null;
};

function announce({
  flags,
  version,
  token,
  uiUrl,
  ingestUrl,
  ingestTlsUrl,
  endpointsUrl,
  endpointsTlsUrl,
  dataDir,
}: Running): void {
  if (flags.json) {
    say(
      JSON.stringify({
        event: "ready",
        ingestUrl,
        ...(ingestTlsUrl === null ? {} : { ingestTlsUrl }),
        uiUrl,
        token,
        endpointsUrl,
        endpointsTlsUrl,
        dataDir,
      }),
    );
  } else {
    say(`Hookyard ${version} is running. Ctrl+C ends it.

  Inspector       ${uiUrl}/#token=${token}
  Ingest          ${ingestUrl}${ingestTlsUrl === null ? "" : ` and ${ingestTlsUrl}`}
  Test endpoints  ${endpointsUrl} and ${endpointsTlsUrl}
  Data            ${dataDir ?? "in memory only"}
`);
  }
  if (!isLoopback(flags.host)) {
    warn(
      `Warning: Hookyard listens on ${flags.host}. Other machines may reach its ports, and everything is sent without encryption.`,
    );
  }
  if (flags.open)
    void import("./open-inspector.ts").then(({ openInspector }) =>
      openInspector({ uiUrl, token, say: warn }),
    );
}

function sentenceOf(error: unknown, flags: ServeFlags): string {
  if (error instanceof DataInUse) return whoHasData(error);
  if (error instanceof Refusal || error instanceof OpenError) return error.message;
  if (error instanceof PortTaken) {
    return `Port ${error.port} is in use by another program. Choose another with ${portFlags[error.role]} N (0 picks a free one).`;
  }
  const { code, path } = error as NodeJS.ErrnoException;
  if (code === "ENOSPC" || code === "SQLITE_FULL")
    return `The disk that holds ${flags.data} is full. Free disk space and start again.`;
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return `${flags.host} is not an address of this machine. Choose another with --host.`;
  }
  // An error of a file has its path.
  if (code === "EACCES" && path === undefined)
    return `Hookyard is not allowed to listen there: ports below 1024 need special permissions. ${messageOf(error)}`;
  return `Hookyard could not start: ${messageOf(error)}`;
}

function report(error: unknown): void {
  log(String(error instanceof Error ? error.stack : error));
}

function log(text: string): void {
  warn(`${new Date(wallClockNow()).toISOString()} ${text}`);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function warn(text: string): void {
  process.stderr.write(`${shownLines(text)}\n`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
