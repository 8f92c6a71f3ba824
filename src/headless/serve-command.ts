/**
 * `hookyard serve`: runs the application and the control port, prints where they are, and ends them
 * on a signal.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { OpenError, PortTaken } from "../app-errors.ts";
import { isProblem } from "../domain/problem.ts";
import { wallClockNow } from "../engine/real-time.ts";
import { collectorUrl } from "../engine/traces/collector.ts";
import { createControlPort } from "./http-api.ts";
import { openInspector } from "./open-inspector.ts";
import {
  isLoopback,
  parseServeFlags,
  portFlags,
  serveHelp,
  type ServeFlags,
} from "./serve-flags.ts";
import { createStaticPages } from "./static-pages.ts";
import { readOrMakeToken } from "./token.ts";

/** An error that the user sees in one line before the process ends. */
class Refusal extends Error {}

/** Returns the exit code. */
export async function serveCommand({
  args,
  root,
  version,
}: {
  args: string[];
  root: string;
  version: string;
}): Promise<number> {
  const flags = parseServeFlags(args);
  if (flags === "help") {
    say(serveHelp);
    return 0;
  }
  if ("wrong" in flags) {
    warn(flags.wrong);
    return 2;
  }
  const asked = whenAskedToStop();
  process.on("uncaughtException", report);
  process.on("unhandledRejection", report);
  try {
    const stop = await start({ flags, root, version });
    await asked;
    await stop();
    return 0;
  } catch (error) {
    warn(sentenceOf(error, flags));
    return 1;
  }
}

/** Returns a function that stops what it started. */
async function start({
  flags,
  root,
  version,
}: {
  flags: ServeFlags;
  root: string;
  version: string;
}): Promise<() => Promise<void>> {
  const { data, host, ports } = flags;
  const traces = collectorUrl(flags.traces, process.env);
  if (isProblem(traces)) {
    if (flags.traces !== undefined) throw new Refusal(traces.message);
    warn(traces.message);
  }
  const configuration = flags.config === undefined ? null : readConfiguration(flags.config);
  const { createApp } = await import("../app.ts");
  const app = createApp({
    data,
    host,
    ports,
    scenarios: join(root, "resources", "scenarios"),
    deliveryThread: true,
    traces: typeof traces === "string" ? traces : undefined,
    report,
    log,
    version,
  });
  try {
    if (configuration !== null) {
      const { status, body } = await app.api.call("configuration.import", configuration);
      if (status >= 400)
        throw new Refusal(`${flags.config}: ${(body as { message: string }).message}`);
      const { missing = [] } = body as { missing?: string[] };
      for (const what of missing)
        warn(
          `${flags.config}: a credential was left out, and Hookyard does not have it. Enter it: ${what}.`,
        );
    }
    const addresses = await app.start();
    const token = readOrMakeToken(addresses.dataDir);
    const pages = createStaticPages([
      join(root, "out", "renderer"),
      join(root, "resources", "bare"),
    ]);
    const control = createControlPort({ api: app.api, token, pages, host, port: ports.ui, report });
    const uiUrl = await control.start();
    const closePage = announce({ flags, version, token, uiUrl, ...addresses });
    return async () => {
      closePage();
      await control.stop();
      await app.stop();
    };
  } catch (error) {
    await app.stop().catch(report);
    throw error;
  }
}

function readConfiguration(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new Refusal(`${file} cannot be read: ${messageOf(error)}`);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Refusal(`${file} is not valid JSON: ${jsonFault(text, error)}`);
  }
}

/**
 * Some faults come with the text around their place, which may be a secret: only the line number is
 * reported.
 */
function jsonFault(text: string, error: unknown): string {
  const message = messageOf(error);
  const quoting = /^(Unexpected .+?), (?:\.\.\.)?"(.*)"(?:\.\.\.)? is not valid JSON$/s.exec(
    message,
  );
  if (quoting === null) return message;
  const [, fault, quoted = ""] = quoting;
  return `${fault} near line ${text.slice(0, text.indexOf(quoted) + quoted.length / 2).split("\n").length}`;
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

/** Returns a function that removes what it left for the browser. */
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
}: Running): () => void {
  const inspectorUrl = `${uiUrl}/#token=${token}`;
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

  Inspector       ${inspectorUrl}
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
  return flags.open ? openInspector({ url: inspectorUrl, dataDir, say: warn }) : () => {};
}

function sentenceOf(error: unknown, flags: ServeFlags): string {
  if (error instanceof Refusal || error instanceof OpenError) return error.message;
  if (error instanceof PortTaken) {
    return `Port ${error.port} is in use by another program. Choose another with ${portFlags[error.role]} N (0 picks a free one).`;
  }
  const code = (error as NodeJS.ErrnoException).code;
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return `${flags.host} is not an address of this machine. Choose another with --host.`;
  }
  if (code === "EACCES")
    return `Hookyard is not allowed to listen there: ports below 1024 need special permissions. ${messageOf(error)}`;
  return `Hookyard could not start: ${messageOf(error)}`;
}

/** At the first signal. A second one ends the process at once. */
function whenAskedToStop(): Promise<void> {
  return new Promise((resolve) => {
    let asked = false;
    const stop = () => {
      if (asked) process.exit(130);
      asked = true;
      resolve();
    };
    process.on("SIGTERM", stop);
    process.on("SIGINT", stop);
  });
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
  process.stderr.write(`${text}\n`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
