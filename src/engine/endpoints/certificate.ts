/**
 * Creates one X.509 certificate on P-256 (RFC 5280). Why without a library:
 * docs/decisions/0020-own-certificates.md.
 */

import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";

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

export function createCertificate(request: CertificateRequest): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const issuer = request.issuer ?? { name: request.name, publicKey, privateKey };
  const content = sequence(
    explicit(0, integer(2)),
    integer(1, ...randomBytes(15)),
    ecdsaWithSha256,
    commonName(issuer.name),
    sequence(time(request.notBefore), time(request.notAfter)),
    commonName(request.name),
    spki(publicKey),
    explicit(3, sequence(...extensions(request, publicKey, issuer))),
  );
  const der = sequence(
    content,
    ecdsaWithSha256,
    bitString(sign("sha256", content, issuer.privateKey)),
  );
  return { pem: toPem(der), publicKey, privateKey };
}

function extensions(
  { use, hosts }: CertificateRequest,
  publicKey: KeyObject,
  issuer: Issuer,
): Uint8Array[] {
  const subjectKey = extension("2.5.29.14", octetString(keyIdentifier(publicKey)));
  const authorityKey = extension(
    "2.5.29.35",
    sequence(implicit(0, keyIdentifier(issuer.publicKey))),
  );
  if (use === "authority") {
    const signsCertificates = bitString(Buffer.from([0b0000_0110]), 1);
    const isAuthority = sequence(yes, integer(0));
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

/** The authority is trusted for names and addresses of this machine only. */
const loopbackOnly = sequence(
  explicit(
    0,
    Buffer.concat([
      sequence(implicit(2, Buffer.from("localhost"))),
      sequence(implicit(7, Buffer.from([127, 0, 0, 0, 255, 0, 0, 0]))),
    ]),
  ),
);

function extension(id: string, value: Uint8Array, critical?: "critical"): Uint8Array {
  return sequence(
    objectIdentifier(id),
    ...(critical === undefined ? [] : [yes]),
    octetString(value),
  );
}

function alternativeName(host: string): Uint8Array {
  return /^[\d.]+$/.test(host)
    ? implicit(7, Buffer.from(host.split(".").map(Number)))
    : implicit(2, Buffer.from(host));
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
  const lines = Buffer.from(der)
    .toString("base64")
    .replace(/.{1,64}/g, "$&\n");
  return `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`;
}

// The few kinds of DER that a certificate consists of (ITU-T X.690).

function sequence(...parts: Uint8Array[]): Uint8Array {
  return tagged(0x30, Buffer.concat(parts));
}

function set(...parts: Uint8Array[]): Uint8Array {
  return tagged(0x31, Buffer.concat(parts));
}

const yes = tagged(0x01, Buffer.from([0xff]));

/** Its bytes, the highest first: that one is below 128, and not 0 before others. */
function integer(...bytes: number[]): Uint8Array {
  return tagged(0x02, Buffer.from(bytes));
}

function objectIdentifier(dotted: string): Uint8Array {
  const [first, second, ...rest] = dotted.split(".").map(Number) as [number, number, ...number[]];
  return tagged(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function utf8String(text: string): Uint8Array {
  return tagged(0x0c, Buffer.from(text));
}

function octetString(bytes: Uint8Array): Uint8Array {
  return tagged(0x04, bytes);
}

/** `unused` bits of the last byte do not count. */
function bitString(bytes: Uint8Array, unused = 0): Uint8Array {
  return tagged(0x03, Buffer.concat([Buffer.from([unused]), bytes]));
}

/** UTCTime until 2049 and GeneralizedTime from then on, as RFC 5280 requires. */
function time(at: Date): Uint8Array {
  const digits = at.toISOString().replace(/[-:T]|\.\d+/g, "");
  return at.getUTCFullYear() < 2050
    ? tagged(0x17, Buffer.from(digits.slice(2)))
    : tagged(0x18, Buffer.from(digits));
}

/** A context tag around a whole value, `[n] EXPLICIT`, or around a sequence's members. */
function explicit(tag: number, content: Uint8Array): Uint8Array {
  return tagged(0xa0 | tag, content);
}

/** A context tag in the place of a string's own, `[n] IMPLICIT`. */
function implicit(tag: number, content: Uint8Array): Uint8Array {
  return tagged(0x80 | tag, content);
}

function tagged(tag: number, content: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from([tag]), length(content.byteLength), content]);
}

function length(size: number): Uint8Array {
  if (size < 0x80) return Buffer.from([size]);
  const bytes: number[] = [];
  for (let rest = size; rest !== 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let rest = Math.floor(value / 128); rest !== 0; rest = Math.floor(rest / 128))
    bytes.unshift((rest & 0x7f) | 0x80);
  return bytes;
}
