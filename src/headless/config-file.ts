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
import { snakeCase } from "../domain/snake-case.ts";
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

/** What each is known by in a file that names it; else it is known by its name. */
const kinds = {
  sources: { kind: "source", known: ({ writeKey }: Named) => writeKey },
  endpoints: { kind: "test endpoint", known: ({ path }: Named) => path },
  destinations: { kind: "destination", known: () => undefined },
  audiences: { kind: "audience", known: ({ key, name = "" }: Named) => key ?? snakeCase(name) },
  computedTraits: {
    kind: "computed trait",
    known: ({ key, name = "" }: Named) => key ?? snakeCase(name),
  },
  clients: { kind: "simulated client", known: () => undefined },
  retryProfiles: { kind: "retry profile", known: () => undefined },
} as const;

/** What exists and is not in the file: somebody created it elsewhere, and it stays. */
export function keptBeside(
  document: ConfigurationDocument,
  present: ConfigurationDocument,
): string[] {
  return Object.entries(kinds).flatMap(([list, { kind, known }]) => {
    const wanted = (document[list as keyof typeof kinds] ?? []) as Named[];
    const others = [...((present[list as keyof typeof kinds] ?? []) as Named[])];
    for (const one of wanted) {
      const key = known(one);
      const place = others.findIndex((other) =>
        key === undefined ? other.name === one.name : known(other) === key,
      );
      if (place !== -1) others.splice(place, 1);
    }
    return others.map(({ name }) =>
      wanted.some((one) => one.name === name) ? `another ${kind} ${name}` : `${kind} ${name}`,
    );
  });
}
