/**
 * The flags of the desktop host: those of `hookyard serve` that mean something here. An app that is
 * started by its icon has the environment instead.
 */

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { defaultDataDirectory, serve } from "../headless/commands.ts";
import { readFlags } from "../headless/flags.ts";
import { portsIn, type ServePorts } from "../headless/serve-flags.ts";

export type AppFlags = {
  /** A directory, or `:memory:`. */
  data: string;
  /** False where it is the usual place. */
  isDataGiven: boolean;
  ports: ServePorts;
  /** A configuration file; undefined: the one that is found. */
  config: string | undefined;
  /** The collector's address for traces. */
  traces: string | undefined;
  /** A share file to open in place of the data. */
  share: string | null;
};

/**
 * The flags, or what is wrong with them in one sentence. Chromium's own switches are among the
 * arguments, so unknown ones pass.
 */
export function parseAppFlags(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): AppFlags | { wrong: string } {
  const read = readFlags(serve, args, { environment, lenient: true });
  if (read === "help") throw new Error("A lenient reading knows no help.");
  if ("wrong" in read) return read;
  const ports = portsIn(read.values);
  if ("wrong" in ports) return ports;
  const { config, traces } = read.values;
  const data = read.values.data ?? defaultDataDirectory(process.platform, environment);
  if (data === "") return { wrong: "--data needs a directory, or :memory:." };
  const share = read.positionals.find((each) => each.endsWith(".hookyard"));
  return {
    data: data === ":memory:" ? data : resolve(data),
    isDataGiven: read.values.data !== undefined,
    ports,
    config,
    traces,
    share: share === undefined ? null : resolve(share),
  };
}

/**
 * The window kept its data in Electron's directory before it shared the place of the commands. On
 * Linux these are two, and it stays with the former while only that one has data.
 */
export function placeOfData(
  { data, isDataGiven }: Pick<AppFlags, "data" | "isDataGiven">,
  former: string,
): string {
  const isFormer = !isDataGiven && !hasData(data) && hasData(former);
  return isFormer ? former : data;
}

const hasData = (directory: string): boolean => existsSync(join(directory, "hookyard.db"));
