/**
 * The flags of the desktop host: those of `hookyard serve` that mean something here. An app that is
 * started by its icon has the environment instead.
 */

import { resolve } from "node:path";
import { parseArgs } from "node:util";

/** Null: ingest has no TLS. */
export type AppPorts = {
  ingest: number;
  ingestTls: number | null;
  endpoints: number;
  endpointsTls: number;
};
export type AppFlags = {
  /** A directory, `:memory:`, or null: the platform's place for it. */
  data: string | null;
  ports: AppPorts;
  /** A share file to open in place of the data. */
  share: string | null;
};

const portFlags = [
  { role: "ingest", flag: "ingest-port", usual: 4700 },
  { role: "ingestTls", flag: "ingest-tls-port", usual: null },
  { role: "endpoints", flag: "endpoints-port", usual: 4702 },
  { role: "endpointsTls", flag: "endpoints-tls-port", usual: 4703 },
] as const;

/**
 * The flags, or what is wrong with them in one sentence. Chromium's own switches are among the
 * arguments, so unknown ones pass.
 */
export function parseAppFlags(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): AppFlags | { wrong: string } {
  const { values, positionals } = parseArgs({
    args: [...args],
    strict: false,
    options: Object.fromEntries(
      ["data", ...portFlags.map(({ flag }) => flag)].map((flag) => [
        flag,
        { type: "string" as const },
      ]),
    ),
  });
  const valueOf = (flag: string): string | undefined => {
    const value =
      values[flag] ?? environment[`HOOKYARD_${flag.toUpperCase().replaceAll("-", "_")}`];
    return value === undefined ? undefined : String(value === true ? "" : value);
  };
  const ports: AppPorts = { ingest: 0, ingestTls: null, endpoints: 0, endpointsTls: 0 };
  for (const { role, flag, usual } of portFlags) {
    const text = valueOf(flag) ?? usual?.toString();
    if (text === undefined) continue;
    if (!/^\d{1,5}$/.test(text) || Number(text) > 65535)
      return { wrong: `--${flag} needs a number from 0 to 65535.` };
    ports[role] = Number(text);
  }
  const data = valueOf("data") ?? null;
  if (data === "") return { wrong: "--data needs a directory, or :memory:." };
  const share = positionals.find((each) => each.endsWith(".hookyard"));
  return {
    data: data === null || data === ":memory:" ? data : resolve(data),
    ports,
    share: share === undefined ? null : resolve(share),
  };
}
