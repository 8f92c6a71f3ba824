/** Makes one X.509 certificate on P-256 (RFC 5280). Pure but for its keys, which are drawn by Node. */

import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { bitString, boolean, explicit, implicit, integer, objectIdentifier, octetString, sequence, set, time, utf8String } from "./der.ts";

export type Issuer = { name: string; publicKey: KeyObject; privateKey: KeyObject };

type CertificateRequest = {
  name: string;
  /** Null signs with the certificate's own key. */
  issuer: Issuer | null;
  use: "authority" | "server";
  /** Host names and IPv4 addresses of the subjectAltName. */
  hosts: string[];
  notBefore: Date;
  notAfter: Date;
};

export type Certificate = { pem: string; publicKey: KeyObject; privateKey: KeyObject };

const ecdsaWithSha256 = sequence(objectIdentifier("1.2.840.10045.4.3.2"));

export function makeCertificate(request: CertificateRequest): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const issuer = request.issuer ?? { name: request.name, publicKey, privateKey };
  const content = sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(randomBytes(16)),
    ecdsaWithSha256,
    commonName(issuer.name),
    sequence(time(request.notBefore), time(request.notAfter)),
    commonName(request.name),
    spki(publicKey),
    explicit(3, sequence(...extensions(request, publicKey, issuer))),
  );
  const der = sequence(content, ecdsaWithSha256, bitString(sign("sha256", content, issuer.privateKey)));
  return { pem: toPem(der), publicKey, privateKey };
}

function extensions({ use, hosts }: CertificateRequest, publicKey: KeyObject, issuer: Issuer): Uint8Array[] {
  const subjectKey = extension("2.5.29.14", octetString(keyIdentifier(publicKey)));
  const authorityKey = extension("2.5.29.35", sequence(implicit(0, keyIdentifier(issuer.publicKey))));
  if (use === "authority") {
    const signsCertificates = bitString(Buffer.from([0b0000_0110]), 1);
    const isAuthority = sequence(boolean(true), integer(Buffer.from([0])));
    return [
      subjectKey,
      authorityKey,
      extension("2.5.29.19", isAuthority, "critical"),
      extension("2.5.29.15", signsCertificates, "critical"),
      extension("2.5.29.30", loopbackOnly, "critical"),
    ];
  }
  const serverAuth = sequence(objectIdentifier("1.3.6.1.5.5.7.3.1"));
  return [
    subjectKey,
    authorityKey,
    extension("2.5.29.19", sequence(), "critical"),
    extension("2.5.29.37", serverAuth),
    extension("2.5.29.17", sequence(...hosts.map(alternativeName))),
  ];
}

/** Whoever trusts the authority trusts it for names and addresses of this machine and no others. */
const loopbackOnly = sequence(
  explicit(
    0,
    Buffer.concat([sequence(implicit(2, Buffer.from("localhost"))), sequence(implicit(7, Buffer.from([127, 0, 0, 0, 255, 0, 0, 0])))]),
  ),
);

function extension(id: string, value: Uint8Array, critical?: "critical"): Uint8Array {
  return sequence(objectIdentifier(id), ...(critical === undefined ? [] : [boolean(true)]), octetString(value));
}

function alternativeName(host: string): Uint8Array {
  return /^[\d.]+$/.test(host) ? implicit(7, Buffer.from(host.split(".").map(Number))) : implicit(2, Buffer.from(host));
}

function commonName(name: string): Uint8Array {
  return sequence(set(sequence(objectIdentifier("2.5.4.3"), utf8String(name))));
}

function spki(key: KeyObject): Buffer {
  return key.export({ type: "spki", format: "der" });
}

function keyIdentifier(key: KeyObject): Buffer {
  return createHash("sha1").update(spki(key)).digest();
}

function toPem(der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
