/**
 * Electron's runtime, which its package does not contain: where it is, how it is fetched, how it is
 * run. The package itself is never loaded, because loading it starts a download without a deadline.
 */

import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** As long as people wait for a first start without believing that it hangs. */
export const downloadMs = 20_000;

/**
 * The executable, or null. As the package itself does it: `path.txt` is written last, so that
 * without it a download was cut off.
 */
export function findRuntime(directory: string | null = packageDirectory()): string | null {
  if (directory === null) return null;
  const elsewhere = process.env["ELECTRON_OVERRIDE_DIST_PATH"];
  const nameFile = join(directory, "path.txt");
  const name = existsSync(nameFile)
    ? readFileSync(nameFile, "utf8")
    : elsewhere
      ? "electron"
      : null;
  if (name === null) return null;
  const file = join(elsewhere || join(directory, "dist"), name);
  return existsSync(file) ? file : null;
}

/** One attempt, by the package's own script. Answers the executable, or null. */
export async function downloadRuntime(
  directory: string | null = packageDirectory(),
): Promise<string | null> {
  if (directory === null) return null;
  const signal = AbortSignal.timeout(downloadMs);
  const child = spawn(process.execPath, [join(directory, "install.js")], {
    stdio: "ignore",
    signal,
    killSignal: "SIGKILL",
  });
  await new Promise((resolve) => child.on("error", () => undefined).on("close", resolve));
  return findRuntime(directory);
}

/**
 * Runs a program of Electron's until it ends. Answers its exit code, or null when it never said
 * that it runs and ended in a way that is not ours (we end with 0 or 1): libraries are missing, or
 * the sandbox is not allowed.
 */
export function runRuntime({
  command,
  args,
}: {
  command: string;
  args: readonly string[];
}): Promise<number | null> {
  const { ELECTRON_RUN_AS_NODE: _, ...environment } = process.env;
  const child = spawn(command, args, { stdio: ["inherit", "pipe", "pipe"], env: environment });
  let isRunning = false;
  let held: Buffer[] = [];
  const release = () => {
    for (const chunk of held) process.stderr.write(chunk);
    held = [];
  };
  child.stdout.on("data", (chunk: Buffer) => {
    isRunning = true;
    release();
    process.stdout.write(chunk);
  });
  // What a runtime says that cannot start is for its makers, not for whoever wanted to see
  // Hookyard.
  child.stderr.on("data", (chunk: Buffer) =>
    isRunning ? process.stderr.write(chunk) : held.push(chunk),
  );

  const terminate = () => void child.kill("SIGTERM");
  // The terminal sends SIGINT to the child as well, and we end when it has.
  const wait = () => undefined;
  process.on("SIGTERM", terminate);
  process.on("SIGINT", wait);
  return new Promise((resolve) => {
    const end = (code: number | null) => {
      process.off("SIGTERM", terminate);
      process.off("SIGINT", wait);
      const isOurs = code === 0 || code === 1;
      if (!isRunning && !isOurs) return resolve(null);
      release();
      resolve(code ?? 1);
    };
    child.on("error", () => end(null));
    child.on("close", (code) => end(code));
  });
}

function packageDirectory(): string | null {
  try {
    return dirname(createRequire(import.meta.url).resolve("electron/package.json"));
  } catch {
    return null;
  }
}
