/** The command line as a process of its own. */

import { spawn } from "node:child_process";
import { program } from "../support/program.ts";

type Ended = { code: number | null; out: string; err: string };

export function runHookyard(
  args: string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<Ended> {
  return startHookyard(args, options).ended;
}

export function startHookyard(
  args: string[],
  { cwd, env }: { cwd?: string; env?: Record<string, string> } = {},
): {
  ended: Promise<Ended>;
  errSays(pattern: RegExp): Promise<string>;
  said(): string;
  end(): void;
} {
  const child = spawn(process.execPath, [program, ...args], {
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...process.env, NO_COLOR: "1", GITHUB_ACTIONS: "", ...env },
  });
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (out += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (err += chunk));
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, out, err }));
  });
  return {
    ended,
    errSays: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (pattern.test(err)) resolve(err);
        };
        look();
        child.stderr.on("data", look);
        child.on("close", () =>
          reject(new Error(`It ended without having said ${pattern}: ${err}`)),
        );
      }),
    said: () => out,
    end: () => void child.kill("SIGTERM"),
  };
}
