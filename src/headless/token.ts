/** The token of the control API: made once per data directory, readable by its owner only. */

import { randomBytes } from "node:crypto";
import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const pattern = /^[A-Za-z0-9_-]{43}$/;

/** `dataDir` is null when nothing is kept. */
export function readOrMakeToken(dataDir: string | null): string {
  const fresh = randomBytes(32).toString("base64url");
  if (dataDir === null) return fresh;
  const file = join(dataDir, "token");
  const stored = readToken(file);
  if (stored !== null) {
    chmodSync(file, 0o600);
    return stored;
  }
  // A new file, so that the rights of an old one do not carry over.
  rmSync(file, { force: true });
  writeFileSync(file, fresh, { mode: 0o600, flag: "wx" });
  return fresh;
}

function readToken(file: string): string | null {
  try {
    const text = readFileSync(file, "utf8").trim();
    return pattern.test(text) ? text : null;
  } catch {
    return null;
  }
}
