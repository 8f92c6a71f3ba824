/**
 * The certificate authority of this installation and the certificates of the HTTPS port, one for
 * each fault of a certificate. Created at first use, stored as PEM in `<dataDir>/certificates/`,
 * readable by the owner only, and renewed before they expire. The sending side trusts the
 * authority; nothing is ever installed on the machine.
 */

import { X509Certificate, createPrivateKey } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { wallClockNow as machineTime } from "../real-time.ts";
import { createCertificate } from "./certificate.ts";
import type { Certificate, Issuer } from "./certificate.ts";

/** A certificate with its private key, both PEM. The same object until it is renewed. */
export type Identity = { cert: string; key: string };

export type Authority = {
  /** The authority's certificate, for clients that should trust it. */
  authorityPem(): string;
  /** The certificate of the HTTPS port for a host name; null for a client that sends none. */
  identityFor(host: string | null): Identity;
};

export const certificateHosts = [
  "self-signed.localhost",
  "expired.localhost",
  "wrong-host.localhost",
  "valid.localhost",
] as const;
export type CertificateHost = (typeof certificateHosts)[number];

const day = 86_400_000;
const authorityName = "Hookyard local authority";
const authorityDays = 3_650;
/** Some systems refuse server certificates that are valid for more than 398 days. */
const serverDays = 365;
/** No test run lasts for a month. */
const renewBeforeDays = 30;

type AuthorityOptions = {
  /** Null: in memory only. */
  dataDir: string | null;
  /** Certificates use real time, as TLS does on both sides. */
  wallClockNow?: () => number;
};

export function createAuthority({
  dataDir,
  wallClockNow = machineTime,
}: AuthorityOptions): Authority {
  const folder = dataDir === null ? null : createFolder(join(dataDir, "certificates"));
  const cached = new Map<string, Pair>();

  const obtain = (
    name: string,
    isGood: (certificate: X509Certificate) => boolean,
    create: () => Certificate,
  ): Pair => {
    const known = cached.get(name) ?? folder?.read(name);
    if (known !== undefined && isGood(known.certificate)) {
      cached.set(name, known);
      return known;
    }
    const { pem, privateKey } = create();
    const identity = {
      cert: pem,
      key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    };
    const created = { identity, certificate: new X509Certificate(pem) };
    cached.set(name, created);
    folder?.write(name, identity);
    return created;
  };

  const isInForce = (certificate: X509Certificate): boolean =>
    Date.parse(certificate.validFrom) <= wallClockNow() &&
    Date.parse(certificate.validTo) > wallClockNow() + renewBeforeDays * day;
  const isPast = (certificate: X509Certificate): boolean =>
    Date.parse(certificate.validTo) < wallClockNow();
  const lifetime = (days: number) => ({
    notBefore: new Date(wallClockNow() - day),
    notAfter: new Date(wallClockNow() + days * day),
  });

  const authority = (): Pair =>
    obtain(
      "authority",
      (certificate) => certificate.ca && isInForce(certificate),
      () =>
        createCertificate({
          name: authorityName,
          issuer: null,
          use: "authority",
          hosts: [],
          ...lifetime(authorityDays),
        }),
    );

  const authorityAsIssuer = (): Issuer => {
    const { identity, certificate } = authority();
    return {
      name: authorityName,
      publicKey: certificate.publicKey,
      privateKey: createPrivateKey(identity.key),
    };
  };

  const selfSigned = (host: CertificateHost): Pair =>
    obtain(host, isInForce, () =>
      createCertificate({
        name: host,
        issuer: null,
        use: "server",
        hosts: ownNames(host),
        ...lifetime(serverDays),
      }),
    );

  const signed = (host: CertificateHost): Pair => {
    const isExpired = host === "expired.localhost";
    return obtain(
      host,
      (certificate) =>
        (isExpired ? isPast : isInForce)(certificate) &&
        certificate.verify(authority().certificate.publicKey),
      () =>
        createCertificate({
          name: host,
          issuer: authorityAsIssuer(),
          use: "server",
          hosts: host === "wrong-host.localhost" ? ["somewhere-else.localhost"] : ownNames(host),
          ...lifetime(serverDays),
          ...(isExpired
            ? {
                notBefore: new Date(wallClockNow() - 90 * day),
                notAfter: new Date(wallClockNow() - day),
              }
            : {}),
        }),
    );
  };

  return {
    authorityPem: () => authority().identity.cert,
    identityFor(name) {
      const host =
        certificateHosts.find((known) => known === name?.toLowerCase()) ?? "self-signed.localhost";
      return (host === "self-signed.localhost" ? selfSigned(host) : signed(host)).identity;
    },
  };
}

type Pair = { identity: Identity; certificate: X509Certificate };

function ownNames(host: CertificateHost): string[] {
  return [host, "localhost", "127.0.0.1"];
}

function createFolder(folder: string) {
  return {
    read(name: string): Pair | undefined {
      try {
        const cert = readFileSync(join(folder, `${name}.pem`), "utf8");
        const key = readFileSync(join(folder, `${name}.key.pem`), "utf8");
        const certificate = new X509Certificate(cert);
        if (certificate.checkPrivateKey(createPrivateKey(key)))
          return { identity: { cert, key }, certificate };
      } catch {
        // It is missing or damaged.
      }
      return undefined;
    },
    write(name: string, { cert, key }: Identity): void {
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        writePrivate(join(folder, `${name}.key.pem`), key);
        writePrivate(join(folder, `${name}.pem`), cert);
      } catch {
        // When the folder cannot be written, the certificates last as long as the process.
      }
    },
  };
}

function writePrivate(path: string, text: string): void {
  const half = `${path}.half`;
  writeFileSync(half, text, { mode: 0o600 });
  renameSync(half, path);
}
