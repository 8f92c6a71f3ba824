/**
 * The commands of `hookyard` in the process of the test, also beside each other: for what they do
 * and say. Tests of the program itself, its exit codes and its pipes start one.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Invocation } from "../../src/headless/flags.ts";

type Ended = { code: number | null; out: string; err: string };
type Said = { out: string; err: string };
type Running = { said: Said; env: NodeJS.ProcessEnv; input: Readable };

const runs: Record<string, (given: Invocation) => Promise<number>> = {
  run: async (given) => (await import("../../src/headless/run-command.ts")).runCommand(given),
  check: async (given) => (await import("../../src/headless/check-command.ts")).checkCommand(given),
  explore: async (given) =>
    (await import("../../src/headless/explore-command.ts")).exploreCommand(given),
  share: async (given) => (await import("../../src/headless/share-command.ts")).shareCommand(given),
  doctor: async (given) =>
    (await import("../../src/headless/data-commands.ts")).doctorCommand(given),
  backup: async (given) =>
    (await import("../../src/headless/data-commands.ts")).backupCommand(given),
};
const root = fileURLToPath(new URL("../../", import.meta.url));

const running = new AsyncLocalStorage<Running>();
let count = 0;
let putBack: (() => void)[] = [];

/** What this process has of its own stays that for all that is no command. */
function divert(): void {
  const { env } = process;
  const stdin = Object.getOwnPropertyDescriptor(process, "stdin") ?? {};
  const envNow = (): NodeJS.ProcessEnv => running.getStore()?.env ?? env;
  process.env = new Proxy(env, {
    get: (_, name) => Reflect.get(envNow(), name),
    has: (_, name) => Reflect.has(envNow(), name),
    set: (_, name, value) => Reflect.set(envNow(), name, value),
    deleteProperty: (_, name) => Reflect.deleteProperty(envNow(), name),
    ownKeys: () => Reflect.ownKeys(envNow()),
    getOwnPropertyDescriptor: (_, name) => Reflect.getOwnPropertyDescriptor(envNow(), name),
  });
  Object.defineProperty(process, "stdin", {
    ...{ configurable: true, enumerable: true },
    get: () => running.getStore()?.input ?? (stdin.get?.call(process) as unknown),
  });
  putBack = [
    () => void (process.env = env),
    () => void Object.defineProperty(process, "stdin", stdin),
  ];
  for (const name of ["out", "err"] as const) {
    const stream = process[`std${name}`];
    const write = stream.write;
    stream.write = (...given: unknown[]): boolean => {
      const command = running.getStore();
      if (command === undefined) return Reflect.apply(write, stream, given) as boolean;
      command.said[name] += String(given[0]);
      return true;
    };
    putBack.push(() => void (stream.write = write));
  }
}

export function startInProcess(
  [name = "", ...args]: readonly string[],
  { env = {}, input = "" }: { env?: Record<string, string>; input?: string } = {},
): { said: Said; ended: Promise<Ended> } {
  if (count === 0) divert();
  count += 1;
  const said = { out: "", err: "" };
  const command = {
    said,
    env: { ...process.env, NO_COLOR: "1", GITHUB_ACTIONS: "", ...env },
    input: Readable.from(input === "" ? [] : [Buffer.from(input)]),
  };
  const ended = running.run(command, async () => {
    try {
      const known = runs[name];
      const code =
        known === undefined
          ? await (await import("../../src/headless/verbs.ts")).runVerbNamed(name, args)
          : await known({ args, root, version: "0.0.0" });
      return { code, ...said };
    } finally {
      count -= 1;
      if (count === 0) for (const put of putBack) put();
    }
  });
  return { said, ended };
}

export const runInProcess = (
  args: readonly string[],
  options?: { env?: Record<string, string>; input?: string },
): Promise<Ended> => startInProcess(args, options).ended;
