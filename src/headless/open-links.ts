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

type LinksOptions = { token: string; now?: () => number; own?: number | undefined };

/** `users` are those at the other end of the connection, as `usersOf` has them. */
export function createOpenLinks({
  token,
  now = monotonic,
  own = process.getuid?.(),
}: LinksOptions) {
  const links = new Map<string, { until: number; isUsed: boolean; users: Set<number> }>();
  return {
    /** Returns its path. */
    create(users: readonly number[]): string {
      for (const oldest of [...links.keys()].slice(0, -maxKept)) links.delete(oldest);
      const path = linkPath + randomBytes(32).toString("base64url");
      // Root can read the token anyway.
      const allowed = new Set([...users, 0, ...(own === undefined ? [] : [own])]);
      links.set(path, { until: now() + validMs, isUsed: false, users: allowed });
      return path;
    },
    follow(path: string, users: readonly number[]): { location: string } | { refusal: string } {
      const link = links.get(path);
      if (link !== undefined && !users.every((user) => link.users.has(user)))
        return { refusal: "This link is for another user of this machine." };
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
 * Whose program is at the other end of a connection on this machine. Linux says it; where nothing
 * says it, there are none.
 */
export function usersOf(
  { localPort = 0, remotePort = 0 }: Ports,
  tables: readonly string[] = ["/proc/net/tcp", "/proc/net/tcp6"].map(textOf),
): number[] {
  const hex = (port: number): string => port.toString(16).toUpperCase().padStart(4, "0");
  // Its local and remote address, state, queues, timer, retransmissions, user.
  const row = new RegExp(
    `^ *\\d+: \\w+:${hex(remotePort)} \\w+:${hex(localPort)} \\S+ \\S+ \\S+ \\S+ +(\\d+) `,
    "gm",
  );
  return tables.flatMap((table) => [...table.matchAll(row)].map((found) => Number(found[1])));
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
