/**
 * Whom deliveries over TLS believe: the authorities that Node brings along, those of `NODE_EXTRA_CA_CERTS`, those of
 * the system, and those that were added (the local authority behind the test endpoints). Used by every sender; it
 * never makes an exception for a certificate that none of them vouches for.
 */

import { X509Certificate } from "node:crypto";
import { createSecureContext, getCACertificates } from "node:tls";
import type { SecureContext } from "node:tls";

export type Trust = {
  secureContext(): SecureContext;
  /** Throws when it is no certificate. */
  addAuthority(pem: string): void;
};

export function createTrust(): Trust {
  const added: string[] = [];
  let context: SecureContext | null = null;
  return {
    // At the first use, because reading the system's store takes tens of milliseconds that most runs never need.
    secureContext() {
      context ??= createSecureContext({ ca: [...new Set([...getCACertificates("default"), ...systemAuthorities(), ...added])] });
      return context;
    },
    addAuthority(pem) {
      added.push(new X509Certificate(pem).toString());
      context = null;
    },
  };
}

/** A system whose store cannot be read costs its own authorities, not every delivery. */
function systemAuthorities(): string[] {
  try {
    return getCACertificates("system");
  } catch {
    return [];
  }
}
