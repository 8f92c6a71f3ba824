import { startIdleTimer } from "../engine/real-time.ts";

const lookMs = 500;

/**
 * npm runs a script in a shell and sends signals to that shell, which ends without passing them on
 * to its child.
 */
export function endWithNpm(): void {
  if (process.platform === "win32" || process.env["npm_lifecycle_event"] === undefined) return;
  const shell = process.ppid;
  const look = (): void => {
    if (process.ppid === shell) startIdleTimer(lookMs, look);
    else process.kill(process.pid, "SIGTERM");
  };
  look();
}
