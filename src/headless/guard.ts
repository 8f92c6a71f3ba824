/**
 * Who may talk to the control port. Pages of other origins may not, under any name that they have
 * for this machine (Host and Origin), and neither may programs that do not have the token.
 */

import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import { hostname } from "node:os";
import type { Problem } from "../domain/problem.ts";
import { problem } from "../domain/problem.ts";

const hostPattern = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/;

export function createGuard({ token, host }: { token: string; host: string }) {
  const listensEverywhere = host === "0.0.0.0" || host === "::";
  const expected = digest(token);
  const machine = hostname().toLowerCase();

  const isOurs = (name: string): boolean => {
    if (
      name === "127.0.0.1" ||
      name === "localhost" ||
      name === "[::1]" ||
      name.endsWith(".localhost")
    )
      return true;
    if (name === host.toLowerCase() || name === `[${host.toLowerCase()}]`) return true;
    // A page of another origin can only get here by a name that it points here; an address, or the name of this machine on its network, cannot be pointed anywhere.
    return listensEverywhere && (name === machine || isIP(name.replace(/^\[|\]$/g, "")) !== 0);
  };

  return {
    checkAddress(headers: IncomingHttpHeaders): Problem | null {
      const written = (headers.host ?? "").toLowerCase();
      const name = hostPattern.exec(written)?.[1];
      if (name === undefined || !isOurs(name)) {
        return problem(
          403,
          "bad_host",
          "The Host header names another machine. Use the address that Hookyard printed when it started.",
        );
      }
      if (headers.origin !== undefined && headers.origin.toLowerCase() !== `http://${written}`) {
        return problem(403, "bad_origin", "Pages of other origins may not use the control API.");
      }
      return null;
    },
    checkToken(headers: IncomingHttpHeaders): Problem | null {
      const given = /^bearer +(\S+) *$/i.exec(headers.authorization ?? "")?.[1];
      if (given !== undefined && timingSafeEqual(digest(given), expected)) return null;
      return problem(
        401,
        "unauthorized",
        "Send the token that Hookyard printed when it started, as `Authorization: Bearer <token>`.",
      );
    },
  };
}

export type Guard = ReturnType<typeof createGuard>;

/** Digests have one length, so that comparing them reveals nothing of the length of the token. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
