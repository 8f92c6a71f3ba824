/**
 * Links that lead a browser to the inspector without its token in them: an address is an argument
 * of the program that opens it, and every user of the machine can read those. Each works once, and
 * for a short time.
 */

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { monotonic } from "../engine/real-time.ts";

export const linkPath = "/open/";

/** A browser that starts cold takes several seconds. */
const validMs = 30_000;
/** Used ones are kept to say that they were used. */
const maxKept = 100;

export function createOpenLinks({ token, now = monotonic }: { token: string; now?: () => number }) {
  const links = new Map<string, { until: number; isUsed: boolean }>();
  return {
    /** Returns its path. */
    create(): string {
      for (const oldest of [...links.keys()].slice(0, -maxKept)) links.delete(oldest);
      const path = linkPath + randomBytes(32).toString("base64url");
      links.set(path, { until: now() + validMs, isUsed: false });
      return path;
    },
    follow(path: string): { location: string } | { refusal: string } {
      const link = links.get(path);
      if (link?.isUsed)
        return {
          refusal:
            "This link was used already, and each works once. hookyard open makes another one. If you have not used it, another user of this machine has, and can read all data now: stop Hookyard, delete the file token in its data directory, and start Hookyard again.",
        };
      if (link === undefined || now() > link.until)
        return { refusal: "This link is too old. hookyard open makes another one." };
      link.isUsed = true;
      return { location: `/#token=${token}` };
    },
  };
}

export type OpenLinks = ReturnType<typeof createOpenLinks>;

type Ports = { localPort?: number | undefined; remotePort?: number | undefined };

/**
 * False when a program of another user of this machine is at the other end. Linux says whose its
 * connections are; where nothing says it, this is true.
 */
export function isOfThisUser(
  { localPort = 0, remotePort = 0 }: Ports,
  own: number | undefined = process.getuid?.(),
  tables: readonly string[] = ["/proc/net/tcp", "/proc/net/tcp6"].map(textOf),
): boolean {
  const hex = (port: number): string => port.toString(16).toUpperCase().padStart(4, "0");
  // Its local and remote address, state, queues, timer, retransmissions, user.
  const row = new RegExp(
    `^ *\\d+: \\w+:${hex(remotePort)} \\w+:${hex(localPort)} \\S+ \\S+ \\S+ \\S+ +(\\d+) `,
    "gm",
  );
  const users = tables.flatMap((table) =>
    [...table.matchAll(row)].map((found) => Number(found[1])),
  );
  // Root can read the token anyway.
  return users.every((user) => user === own || user === 0);
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
