/**
 * The certificate authority of this installation and the certificates of the HTTPS port, one for each fault of a
 * certificate. Made at first use, kept as PEM in `<dataDir>/certificates/` for the owner alone, and made anew before
 * they run out. The sending side trusts the authority; nothing is ever installed on the machine.
 */

import { X509Certificate, createPrivateKey } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { wallClockNow as machineTime } from "../real-time.ts";
import { makeCertificate } from "./certificate.ts";
import type { Certificate, Issuer } from "./certificate.ts";

/** A certificate with its private key, both PEM. The same object as long as it is not renewed. */
export type Identity = { cert: string; key: string };

export type Authority = {
  /** The authority's certificate, for those who are to trust it. */
  authorityPem(): string;
  /** What the HTTPS port shows for a host name; null for a client that names none. */
  identityFor(host: string | null): Identity;
};

export const certificateHosts = ["self-signed.localhost", "expired.localhost", "wrong-host.localhost", "valid.localhost"] as const;
export type CertificateHost = (typeof certificateHosts)[number];

const day = 86_400_000;
const authorityName = "Hookyard local authority";
const authorityDays = 3_650;
/** Some systems refuse server certificates that live longer than 398 days. */
const serverDays = 365;
/** Nobody leaves a test run going for a month. */
const renewedBeforeDays = 30;

type AuthorityOptions = {
  /** Null keeps all in memory. */
  dataDir: string | null;
  /** Certificates live by the wall, for TLS on both sides does. */
  wallClockNow?: () => number;
};

export function createAuthority({ dataDir, wallClockNow = machineTime }: AuthorityOptions): Authority {
  const folder = createFolder(dataDir);
  const kept = new Map<string, Kept>();

  const obtain = (name: string, isGood: (certificate: X509Certificate) => boolean, make: () => Certificate): Kept => {
    const known = kept.get(name) ?? readPair(folder.read(name));
    if (known !== null && isGood(known.certificate)) {
      kept.set(name, known);
      return known;
    }
    const { pem, privateKey } = make();
    const identity = { cert: pem, key: privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
    const made = { identity, certificate: new X509Certificate(pem) };
    kept.set(name, made);
    folder.write(name, identity);
    return made;
  };

  const isInForce = (certificate: X509Certificate): boolean =>
    Date.parse(certificate.validFrom) <= wallClockNow() && Date.parse(certificate.validTo) > wallClockNow() + renewedBeforeDays * day;
  const isPast = (certificate: X509Certificate): boolean => Date.parse(certificate.validTo) < wallClockNow();
  const lifetime = (days: number) => ({ notBefore: new Date(wallClockNow() - day), notAfter: new Date(wallClockNow() + days * day) });

  const authority = (): Kept =>
    obtain(
      "authority",
      (certificate) => certificate.ca && isInForce(certificate),
      () => makeCertificate({ name: authorityName, issuer: null, use: "authority", hosts: [], ...lifetime(authorityDays) }),
    );

  const authorityAsIssuer = (): Issuer => {
    const { identity, certificate } = authority();
    return { name: authorityName, publicKey: certificate.publicKey, privateKey: createPrivateKey(identity.key) };
  };

  const selfSigned = (host: CertificateHost): Kept =>
    obtain(host, isInForce, () =>
      makeCertificate({ name: host, issuer: null, use: "server", hosts: ownNames(host), ...lifetime(serverDays) }),
    );

  const signed = (host: CertificateHost): Kept => {
    const isExpired = host === "expired.localhost";
    return obtain(
      host,
      (certificate) => (isExpired ? isPast : isInForce)(certificate) && certificate.verify(authority().certificate.publicKey),
      () =>
        makeCertificate({
          name: host,
          issuer: authorityAsIssuer(),
          use: "server",
          hosts: host === "wrong-host.localhost" ? ["somewhere-else.localhost"] : ownNames(host),
          ...lifetime(serverDays),
          ...(isExpired ? { notBefore: new Date(wallClockNow() - 90 * day), notAfter: new Date(wallClockNow() - day) } : {}),
        }),
    );
  };

  return {
    authorityPem: () => authority().identity.cert,
    identityFor(name) {
      const host = certificateHosts.find((known) => known === name?.toLowerCase()) ?? "self-signed.localhost";
      return (host === "self-signed.localhost" ? selfSigned(host) : signed(host)).identity;
    },
  };
}

type Kept = { identity: Identity; certificate: X509Certificate };

function ownNames(host: CertificateHost): string[] {
  return [host, "localhost", "127.0.0.1"];
}

/** Null for what is not there, is damaged, or does not belong together. */
function readPair(identity: Identity | null): Kept | null {
  if (identity === null) return null;
  try {
    const certificate = new X509Certificate(identity.cert);
    return certificate.checkPrivateKey(createPrivateKey(identity.key)) ? { identity, certificate } : null;
  } catch {
    return null;
  }
}

function createFolder(dataDir: string | null) {
  const folder = dataDir === null ? null : join(dataDir, "certificates");
  return {
    read(name: string): Identity | null {
      if (folder === null) return null;
      try {
        return { cert: readFileSync(join(folder, `${name}.pem`), "utf8"), key: readFileSync(join(folder, `${name}.key.pem`), "utf8") };
      } catch {
        return null;
      }
    },
    /** Where the folder cannot be written, the certificates last as long as the process. */
    write(name: string, { cert, key }: Identity): void {
      if (folder === null) return;
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        writePrivate(join(folder, `${name}.key.pem`), key);
        writePrivate(join(folder, `${name}.pem`), cert);
      } catch {
        return;
      }
    },
  };
}

function writePrivate(path: string, text: string): void {
  const half = `${path}.half`;
  writeFileSync(half, text, { mode: 0o600 });
  renameSync(half, path);
}
