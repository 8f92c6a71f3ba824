/** The real program in a process of its own, on a data directory, so that it can be killed. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { program } from "../support/program.ts";

const anyPorts = ["--ingest-port", "--ui-port", "--endpoints-port", "--endpoints-tls-port"].flatMap(
  (flag) => [flag, "0"],
);

export type Addresses = { ingestUrl: string; uiUrl: string; token: string };

/** Of a program: the flags of its ports (any free ones), its environment, and where it runs. */
export type Surroundings = {
  ports?: readonly string[];
  env?: Readonly<Record<string, string>>;
  cwd?: string;
};

export type HookyardProcess = {
  /** Null when the process ended before it was ready. */
  ready: Promise<Addresses | null>;
  /** What it said on standard error, once it has ended. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null; errors: string }>;
  /** What it said so far. */
  said: { output: string; errors: string };
  kill(signal: "SIGKILL" | "SIGTERM"): void;
};

export function startHookyard(
  data: string,
  flags: readonly string[] = [],
  { ports = anyPorts, env = {}, cwd }: Surroundings = {},
): HookyardProcess {
  const all = ["serve", "--data", data, "--json", ...ports, ...flags];
  const child = spawn(process.execPath, [program, ...all], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
    ...(cwd === undefined ? {} : { cwd }),
  });
  const said = { output: "", errors: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said.output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said.errors += text;
  });
  const ready = new Promise<Addresses | null>((resolve) => {
    createInterface(child.stdout)
      .once("line", (line) => resolve(JSON.parse(line) as Addresses))
      .once("close", () => resolve(null));
  });
  const ended = once(child, "close").then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
    errors: said.errors,
  }));
  return { ready, ended, said, kill: (signal) => void child.kill(signal) };
}

/** A call of the control API. */
export async function call<Answer>(
  { uiUrl, token }: Addresses,
  method: "GET" | "POST",
  path: string,
  body?: unknown,
): Promise<Answer> {
  const response = await fetch(`${uiUrl}/api/${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return JSON.parse(text) as Answer;
}
