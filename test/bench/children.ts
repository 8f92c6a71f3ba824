/**
 * The processes of a benchmark: our scripts beside this file, and the built program. Each is ended
 * by its own process id.
 */

import { fork, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { cliFile } from "../../src/launch/build.ts";

/** Nothing that a row waits for takes longer, unless something is broken. */
const patienceMs = 120_000;

const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

export type Child = {
  process: ChildProcess;
  send(message: object): void;
  /** The next message that comes from it. */
  answer<T>(): Promise<T>;
  stop(): Promise<void>;
};

/** Starts a script of this folder; `data` is its argument. */
export function startScript(name: string, data: object = {}): Child {
  return childOf(
    fork(fileURLToPath(new URL(name, import.meta.url)), [JSON.stringify(data)], {
      serialization: "advanced",
    }),
  );
}

/** What a script was started with. */
export function scriptData<T>(): T {
  return JSON.parse(process.argv[2] ?? "{}") as T;
}

export type Program = Child & {
  ingestUrl: string;
  endpointsUrl: string;
  /** From its start to its ready line. */
  readyAfterMs: number;
  residentBytes(): number;
  /** What it has taken of the processors: what else the machine does is not in it. */
  processorMs(): number;
  /** The same for its main thread alone. */
  mainThreadMs(): number;
  /** What it has written to its files. */
  writtenBytes(): number;
  call<T>(method: string, path: string, body?: object): Promise<T>;
  uiUrl: string;
  token: string;
};

type ProgramOptions = {
  nodeFlags?: readonly string[];
  /** Of `hookyard serve`, beside the data and the ports. */
  flags?: readonly string[];
  /** What it says on standard error; without it that is shown as it comes. */
  onError?: (text: string) => void;
};

/** Preloads what answers how late the program's timers come. */
export const watchLoop: readonly string[] = [
  "--import",
  new URL("loop-delay.ts", import.meta.url).href,
];

/** The built program on a data directory, on free ports. */
export async function startProgram(
  data: string,
  { nodeFlags = [], flags = [], onError }: ProgramOptions = {},
): Promise<Program> {
  const ports = ["--ingest-port", "--ui-port", "--endpoints-port", "--endpoints-tls-port"].flatMap(
    (flag) => [flag, "0"],
  );
  const startedAt = performance.now();
  const child = spawn(
    process.execPath,
    [...nodeFlags, cliFile, "serve", "--json", "--data", data, ...ports, ...flags],
    {
      stdio: ["ignore", "pipe", onError === undefined ? "inherit" : "pipe", "ipc"],
      serialization: "advanced",
    },
  );
  child.stderr?.setEncoding("utf8").on("data", (text: string) => onError?.(text));
  const parts = childOf(child);
  const line = await within(firstLine(child), "the program's ready line");
  const readyAfterMs = performance.now() - startedAt;
  const { ingestUrl, uiUrl, endpointsUrl, token } = JSON.parse(line) as Record<string, string>;
  if (
    ingestUrl === undefined ||
    uiUrl === undefined ||
    endpointsUrl === undefined ||
    token === undefined
  )
    throw new Error(`not ready: ${line}`);
  return {
    ...parts,
    ingestUrl,
    endpointsUrl,
    uiUrl,
    token,
    readyAfterMs,
    residentBytes: () => residentBytes(child.pid ?? 0),
    processorMs: () => processorMs(`${child.pid}`),
    mainThreadMs: () => processorMs(`${child.pid}/task/${child.pid}`),
    writtenBytes: () => writtenBytes(child.pid ?? 0),
    async call<T>(method: string, path: string, body?: object): Promise<T> {
      const response = await fetch(uiUrl + path, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
      return JSON.parse(text) as T;
    },
  };
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error("the program has no standard output");
  for await (const line of createInterface({ input: child.stdout })) {
    child.stdout.resume();
    return line;
  }
  throw new Error(`the program ended before it was ready, with ${child.exitCode}`);
}

function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes) * 1024;
}

/** In hundredths of a second, as Linux counts for everybody. */
function processorMs(task: string): number {
  const fields = readFileSync(`/proc/${task}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function writtenBytes(pid: number): number {
  return Number(/^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1]);
}

function childOf(child: ChildProcess): Child {
  running.add(child);
  const name = child.spawnargs.slice(1, 3).join(" ");
  const inbox: unknown[] = [];
  child.on("message", (message) => {
    inbox.push(message);
    child.emit("inbox");
  });
  child.once("exit", () => {
    running.delete(child);
    child.emit("inbox");
  });
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  return {
    process: child,
    send: (message) => void child.send(message),
    async answer<T>(): Promise<T> {
      while (inbox.length === 0) {
        if (hasEnded()) throw new Error(`${name} ended with ${child.exitCode ?? child.signalCode}`);
        await within(once(child, "inbox"), `an answer of ${name}`);
      }
      return inbox.shift() as T;
    },
    async stop() {
      if (hasEnded()) return;
      const exit = once(child, "exit");
      child.kill("SIGTERM");
      await within(exit, `the end of ${name}`);
    },
  };
}

async function within<T>(promise: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`${what} did not come within ${patienceMs / 1000} seconds`)),
      patienceMs,
    );
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timer);
  }
}
