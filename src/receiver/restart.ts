/**
 * Runs a command of the user's that restarts a receiver, and waits until it listens again. Called
 * by scenarios and by searches.
 */

import { spawn } from "node:child_process";
import { connect } from "node:net";
import { withLoopback } from "../engine/deliver/dial.ts";
import { monotonic } from "../engine/real-time.ts";
import { pause } from "./wire.ts";

const commandMs = 30_000;
const listensMs = 10_000;
/**
 * A receiver that starts in half a second is found soon, and one that needs ten is asked a few
 * hundred times.
 */
const everyMs = 25;

/** Rejects with a sentence for the user. */
export async function restart({
  run,
  listens,
}: {
  run: string;
  listens?: string | undefined;
}): Promise<void> {
  await runCommand(run);
  if (listens === undefined || (await listensSoon(listens))) return;
  throw new Error(
    `${listensMs / 1000} s after the command, nothing listens at ${addressOf(listens)}: ${run}`,
  );
}

/** At once, or when whatever watches it has started it again. */
export async function listensSoon(url: string): Promise<boolean> {
  for (const end = monotonic() + listensMs; !(await isListening(url)); await pause(everyMs))
    if (monotonic() > end) return false;
  return true;
}

/**
 * What it starts may outlive it, and then keeps the standard output that it was given: so it gets
 * none.
 */
function runCommand(command: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, { shell: true, stdio: "ignore", timeout: commandMs });
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`The command ended with ${code ?? signal ?? "nothing"}: ${command}`));
    });
  });
}

function hostOf(url: string): { host: string; port: number } {
  const { hostname, port, protocol } = new URL(url);
  return {
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
  };
}

function addressOf(url: string): string {
  return `${new URL(url).hostname}:${hostOf(url).port}`;
}

export function isListening(url: string): Promise<boolean> {
  const { host, port } = hostOf(url);
  return new Promise((resolve) => {
    const socket = connect({ host, port, ...withLoopback(host) });
    const end = (is: boolean): void => {
      socket.destroy();
      resolve(is);
    };
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
  });
}
