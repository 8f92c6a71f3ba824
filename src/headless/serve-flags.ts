/** The flags of `hookyard serve`. */

import { resolve, join } from "node:path";
import { parseArgs } from "node:util";
import { homedir } from "node:os";
import type { PortRole } from "../app-errors.ts";

/** Null: ingest has no TLS. */
type ServePorts = Record<Exclude<PortRole, "ingestTls">, number> & { ingestTls: number | null };

export type ServeFlags = {
  /** A directory, or `:memory:`. */
  data: string;
  host: string;
  ports: ServePorts;
  config: string | undefined;
  /** The collector's address for traces. */
  traces: string | undefined;
  json: boolean;
  open: boolean;
};

export const portFlags: Record<PortRole, string> = {
  ingest: "--ingest-port",
  ingestTls: "--ingest-tls-port",
  ui: "--ui-port",
  endpoints: "--endpoints-port",
  endpointsTls: "--endpoints-tls-port",
};

export const serveHelp = `Usage: hookyard serve [flags]

Runs the pipeline, the test endpoints and the inspector on this machine.

  --data DIR                 The data directory, or :memory: to store nothing.
                             Default: ${defaultDataDirectory()}
  --ingest-port N            Where client libraries send to. Default 4700; 0 picks a free one, for all ports.
  --ingest-tls-port N        Ingest over TLS as well. Off by default.
  --ui-port N                The inspector and the control API. Default 4701.
  --endpoints-port N         The test endpoints. Default 4702.
  --endpoints-tls-port N     The test endpoints over HTTPS. Default 4703.
  --host ADDRESS             Listen on this address instead of 127.0.0.1. Other machines may then reach Hookyard.
  --config FILE              Read this configuration at the start: a JSON file as GET /api/configuration returns it.
  --traces URL               Send traces to this OpenTelemetry collector, such as http://127.0.0.1:4318. Off by default.
  --json                     The first line on standard output is a JSON object with the addresses and the token.
  --open                     Open the inspector in the browser.
  --help                     This text.`;

/** The flags, `help`, or what is wrong with them in one line. */
export function parseServeFlags(args: string[]): ServeFlags | "help" | { wrong: string } {
  let values;
  try {
    ({ values } = parseArgs({
      args,
      options: {
        data: { type: "string" },
        "ingest-port": { type: "string", default: "4700" },
        "ingest-tls-port": { type: "string" },
        "ui-port": { type: "string", default: "4701" },
        "endpoints-port": { type: "string", default: "4702" },
        "endpoints-tls-port": { type: "string", default: "4703" },
        host: { type: "string", default: "127.0.0.1" },
        config: { type: "string" },
        traces: { type: "string" },
        json: { type: "boolean", default: false },
        open: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    }));
  } catch (error) {
    const reason =
      error instanceof Error ? error.message.split(/[.\n]/)[0] : "The flags cannot be read";
    return { wrong: `${reason}. hookyard serve --help lists all flags.` };
  }
  if (values.help) return "help";
  if (values.data === "") return { wrong: "--data needs a directory, or :memory:." };
  if (values.host === "") return { wrong: "--host needs an address." };
  const ingestTls = values["ingest-tls-port"];
  const ports: ServePorts = {
    ingest: portOf(values["ingest-port"]),
    ingestTls: ingestTls === undefined ? null : portOf(ingestTls),
    ui: portOf(values["ui-port"]),
    endpoints: portOf(values["endpoints-port"]),
    endpointsTls: portOf(values["endpoints-tls-port"]),
  };
  for (const role of Object.keys(ports) as PortRole[]) {
    if (Number.isNaN(ports[role]))
      return { wrong: `${portFlags[role]} needs a number from 0 to 65535.` };
  }
  const data = values.data ?? defaultDataDirectory();
  return {
    data: data === ":memory:" ? data : resolve(data),
    host: values.host.replace(/^\[(.*)\]$/, "$1"),
    ports,
    config: values.config,
    traces: values.traces,
    json: values.json,
    open: values.open,
  };
}

function portOf(text: string): number {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65535 ? Number(text) : Number.NaN;
}

export function isLoopback(host: string): boolean {
  return (
    host === "localhost" ||
    host.endsWith(".localhost") ||
    host === "::1" ||
    /^127(\.\d{1,3}){3}$/.test(host)
  );
}

/** Where the data lives when `--data` does not say: the platform's place for it. */
export function defaultDataDirectory(
  platform: NodeJS.Platform = process.platform,
  environment: NodeJS.ProcessEnv = process.env,
  home: string = homedir(),
): string {
  if (platform === "darwin") return join(home, "Library", "Application Support", "Hookyard");
  if (platform === "win32")
    return join(environment["APPDATA"] || join(home, "AppData", "Roaming"), "Hookyard");
  const base = environment["XDG_DATA_HOME"];
  // The XDG specification says to ignore a relative path.
  return join(base?.startsWith("/") ? base : join(home, ".local", "share"), "hookyard");
}
