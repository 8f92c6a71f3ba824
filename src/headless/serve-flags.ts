/** The flags of `hookyard serve`. */

import { resolve } from "node:path";
import { Refusal, type PortRole } from "../app-errors.ts";
import { isProblem } from "../domain/problem.ts";
import { collectorOf, type Collector } from "../engine/traces/collector.ts";
import { defaultDataDirectory, serve } from "./commands.ts";
import { readFlags, type ReadFlags } from "./flags.ts";

/** Null: ingest has no TLS. */
export type ServePorts = Record<Exclude<PortRole, "ingestTls">, number> & {
  ingestTls: number | null;
};

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
  untilInputEnds: boolean;
};

export const portFlags: Record<PortRole, string> = {
  ingest: "--ingest-port",
  ingestTls: "--ingest-tls-port",
  ui: "--ui-port",
  endpoints: "--endpoints-port",
  endpointsTls: "--endpoints-tls-port",
};

/** The flags, `help`, or what is wrong with them in one line. */
export function parseServeFlags(
  args: string[],
  environment: NodeJS.ProcessEnv = process.env,
): ServeFlags | "help" | { wrong: string } {
  const read = readFlags(serve, args, { environment });
  if (read === "help" || "wrong" in read) return read;
  const { values } = read;
  if (values.data === "") return { wrong: "--data needs a directory, or :memory:." };
  if (values.host === "") return { wrong: "--host needs an address." };
  const ports = portsIn(values);
  if ("wrong" in ports) return ports;
  const collector = values.traces === undefined ? null : collectorOf(values.traces, environment);
  if (isProblem(collector)) return { wrong: collector.message };
  const data = values.data ?? defaultDataDirectory();
  return {
    data: data === ":memory:" ? data : resolve(data),
    host: values.host.replace(/^\[(.*)\]$/, "$1"),
    ports,
    config: values.config,
    traces: values.traces,
    json: values.json,
    open: values.open,
    untilInputEnds: values["until-input-ends"],
  };
}

/** The ports of the flags of `serve`, which the desktop host has too. */
export function portsIn(
  values: ReadFlags<Pick<typeof serve, "flags">>["values"],
): ServePorts | { wrong: string } {
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
  return ports;
}

/** Where traces go. An address that somebody named is refused when it is wrong. */
export function tracesTo(
  named: string | undefined,
  warn: (sentence: string) => void,
): Collector | undefined {
  const collector = collectorOf(named, process.env);
  if (!isProblem(collector)) return collector ?? undefined;
  if (named !== undefined) throw new Refusal(collector.message);
  warn(collector.message);
  return undefined;
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
