/**
 * Whom deliveries over TLS believe: the authorities that Node brings along, those of `NODE_EXTRA_CA_CERTS`, those of
 * the system, and the local authority behind the test endpoints. Used by every sender; it never makes an exception for a
 * certificate that none of them vouches for.
 */

import { createSecureContext, getCACertificates } from "node:tls";
import type { SecureContext } from "node:tls";

export type Trust = {
  secureContext(): SecureContext;
};

/** `localAuthority` answers a PEM certificate. It is asked at the first use, because it is made then. */
export function createTrust({ localAuthority }: { localAuthority?: () => string } = {}): Trust {
  let context: SecureContext | null = null;
  return {
    // At the first use, because reading the system's store takes tens of milliseconds that most runs never need.
    secureContext() {
      context ??= createSecureContext({ ca: authorities(localAuthority ? [localAuthority()] : []) });
      return context;
    },
  };
}

function authorities(added: string[]): string[] {
  return [...new Set([...getCACertificates("default"), ...systemAuthorities(), ...added])];
}

/** A system whose store cannot be read costs its own authorities, not every delivery. */
function systemAuthorities(): string[] {
  try {
    return getCACertificates("system");
  } catch {
    return [];
  }
}
