/**
 * `hookyard.config.yaml`, `.json` or `.ts`: the sources, destinations, endpoints and audiences that
 * a repository wants, and its ports. Found upwards from where a command runs; both hosts and
 * `apply` read it. What reads one is loaded only where there is one.
 */

import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Api } from "../api/api.ts";
import { WrongConfig } from "../app-errors.ts";
import type { ConfigurationDocument } from "../contract/configuration.ts";
import type { ConfigFile } from "./read-config.ts";

const names = ["yaml", "yml", "json", "ts", "mts", "js", "mjs"].map(
  (end) => `hookyard.config.${end}`,
);

/** Without a name, the one that is found upwards; null when there is none. */
export async function readConfigFile(
  named: string | undefined,
  { from = process.cwd(), environment = process.env }: ReadOptions = {},
): Promise<ConfigFile | null> {
  if (named === "") throw new WrongConfig("--config needs a file.");
  const file = named === undefined ? findUpwards(from) : resolve(from, named);
  if (file === null) return null;
  const { readConfigIn } = await import("./read-config.ts");
  return readConfigIn({ file, shown: named ?? file, environment });
}

/** For the flags of a host. An empty variable counts as not set, so the file is asked. */
export function environmentWith(config: ConfigFile | null): NodeJS.ProcessEnv {
  const set = Object.entries(process.env).filter(([, text]) => text !== "");
  return { ...config?.environment, ...Object.fromEntries(set) };
}

/** At the start of a host, before others can reach its control API. */
export async function applyAtStart(
  { file, document, placed }: ConfigFile,
  api: Pick<Api, "call">,
  warn: (sentence: string) => void,
): Promise<void> {
  const { status, body } = await api.call("configuration.import", document);
  if (status >= 400) throw new WrongConfig(placed((body as { message: string }).message));
  for (const what of (body as { missing?: string[] }).missing ?? [])
    warn(`${file}: a credential was left out, and Hookyard does not have it. Enter it: ${what}.`);
  const { body: present } = await api.call("configuration.export", {});
  const kept = keptBeside(document, present as ConfigurationDocument);
  if (kept.length > 0) warn(`Not in ${file}, and kept: ${kept.join(", ")}.`);
}

type ReadOptions = { from?: string; environment?: NodeJS.ProcessEnv };

function findUpwards(from: string): string | null {
  for (let directory = resolve(from); ; directory = dirname(directory)) {
    const found = names.map((name) => join(directory, name)).find((file) => existsSync(file));
    if (found !== undefined) return found;
    if (dirname(directory) === directory) return null;
  }
}

type Named = { name?: string; key?: string; writeKey?: string; path?: string };

/** What exists and is not in the file: somebody created it elsewhere, and it stays. */
export function keptBeside(
  document: ConfigurationDocument,
  present: ConfigurationDocument,
): string[] {
  const kinds = {
    sources: "source",
    endpoints: "test endpoint",
    destinations: "destination",
    audiences: "audience",
    computedTraits: "computed trait",
    clients: "simulated client",
    retryProfiles: "retry profile",
  } as const;
  return Object.entries(kinds).flatMap(([list, kind]) => {
    const wanted = (document[list as keyof typeof kinds] ?? []) as Named[];
    const there = (present[list as keyof typeof kinds] ?? []) as Named[];
    const isWanted = (one: Named): boolean =>
      wanted.some((other) =>
        (["writeKey", "path", "key", "name"] as const).some(
          (member) => one[member] !== undefined && one[member] === other[member],
        ),
      );
    return there.filter((one) => !isWanted(one)).map(({ name }) => `${kind} ${name}`);
  });
}
