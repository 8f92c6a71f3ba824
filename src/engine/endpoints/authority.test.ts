import { X509Certificate, createPrivateKey, createPublicKey } from "node:crypto";
import {
  chmodSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, createServer } from "node:tls";
import { afterEach, describe, expect, test } from "vitest";
import { curl, hasCurl } from "../../../test/support/foreign-clients.ts";
import { startEndpoints, testAuthority } from "../../../test/support/running-endpoints.ts";
import { certificateHosts, createAuthority } from "./authority.ts";
import { createCertificate } from "./certificate.ts";

const day = 86_400_000;
const folders: string[] = [];
const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "hookyard-authority-"));
  folders.push(folder);
  return folder;
};
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** What Node's own check says of a host's certificate, with the authority trusted or not. */
function verdict(tlsUrl: string, servername: string | undefined, ca?: string): Promise<string> {
  return new Promise((resolve) => {
    const port = Number(new URL(tlsUrl).port);
    const socket = connect(
      { port, host: "127.0.0.1", ca, ...(servername === undefined ? {} : { servername }) },
      () => {
        resolve(socket.authorized ? "authorized" : "not authorized");
        socket.destroy();
      },
    );
    socket.on("error", (error: NodeJS.ErrnoException) =>
      resolve(error.code === "UNSPECIFIED" ? error.message : (error.code ?? "")),
    );
  });
}

test("a certificate is read whatever the lengths of its names, around those that take another byte", () => {
  const lengths = Array.from({ length: 50 }, (_, nth) => 90 + nth);
  for (const length of [...lengths, 255, 256, 257]) {
    const name = "n".repeat(length);
    const { pem } = createCertificate({
      ...{ name, issuer: null, use: "server", hosts: [name] },
      ...{ notBefore: new Date(0), notAfter: new Date(day) },
    });
    const read = new X509Certificate(pem);
    expect([read.subject, read.issuer]).toEqual([`CN=${name}`, `CN=${name}`]);
    expect([read.subjectAltName, read.verify(read.publicKey)]).toEqual([`DNS:${name}`, true]);
  }
});

describe("the certificates of the HTTPS port", () => {
  test.each([
    ["valid.localhost", "authorized"],
    ["expired.localhost", "CERT_HAS_EXPIRED"],
    ["wrong-host.localhost", "ERR_TLS_CERT_ALTNAME_INVALID"],
    ["self-signed.localhost", "DEPTH_ZERO_SELF_SIGNED_CERT"],
    ["VALID.localhost", "authorized"],
    ["another.localhost", "DEPTH_ZERO_SELF_SIGNED_CERT"],
    ["localhost", "DEPTH_ZERO_SELF_SIGNED_CERT"],
    [undefined, "DEPTH_ZERO_SELF_SIGNED_CERT"],
  ])("%s, to a client that trusts the authority: %s", async (host, expected) => {
    const { tlsUrl } = await startEndpoints();
    expect(await verdict(tlsUrl, host, testAuthority.authorityPem())).toBe(expected);
  });

  test.each([
    ["valid.localhost", "UNABLE_TO_VERIFY_LEAF_SIGNATURE"],
    ["self-signed.localhost", "DEPTH_ZERO_SELF_SIGNED_CERT"],
  ])("%s, to a client that does not: %s", async (host, expected) => {
    const { tlsUrl } = await startEndpoints();
    expect(await verdict(tlsUrl, host)).toBe(expected);
  });

  test.skipIf(!hasCurl).each([
    ["valid", 0, "good"],
    ["expired", 60, ""],
    ["wrong-host", 60, ""],
    ["self-signed", 60, ""],
  ])("%s.localhost, to curl with the authority's certificate", async (name, exit, output) => {
    const { tlsUrl, create } = await startEndpoints();
    const { path } = create({ steps: [{ do: "answer", body: "good" }] });
    const { port } = new URL(tlsUrl);
    const file = join(temporaryFolder(), "authority.pem");
    writeFileSync(file, testAuthority.authorityPem());
    const host = `${name}.localhost`;
    expect(
      await curl(
        "--cacert",
        file,
        "--resolve",
        `${host}:${port}:127.0.0.1`,
        `https://${host}:${port}/${path}`,
      ),
    ).toEqual({
      exit,
      output,
    });
  });

  test.each([
    ["anything.localhost", "authorized"],
    ["example.test", "permitted subtree violation"],
  ])("made with a stolen key of the authority for %s: %s", async (host, expected) => {
    const dataDir = temporaryFolder();
    const ca = createAuthority({ dataDir }).authorityPem();
    const stolen = createPrivateKey(
      readFileSync(join(dataDir, "certificates", "authority.key.pem")),
    );
    const issuer = {
      name: "Hookyard local authority",
      privateKey: stolen,
      publicKey: createPublicKey(stolen),
    };
    const [notBefore, notAfter] = [new Date(Date.now() - day), new Date(Date.now() + day)];
    const { pem, privateKey } = createCertificate({
      name: host,
      issuer,
      use: "server",
      hosts: [host],
      notBefore,
      notAfter,
    });
    const server = createServer({
      cert: pem,
      key: privateKey.export({ type: "pkcs8", format: "pem" }),
    });
    server.on("tlsClientError", () => {});
    const port = await new Promise<number>((resolve) =>
      server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port)),
    );
    expect(await verdict(`https://localhost:${port}`, host, ca)).toBe(expected);
    await new Promise((resolve) => server.close(resolve));
  });
});

const rights = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe("the folder of certificates", () => {
  test("is made at first use, for its owner alone", () => {
    const dataDir = temporaryFolder();
    const authority = createAuthority({ dataDir });
    expect(readdirSync(dataDir)).toEqual([]);
    for (const host of certificateHosts) authority.identityFor(host);
    const folder = join(dataDir, "certificates");
    expect(rights(folder)).toBe("700");
    const files = readdirSync(folder);
    expect(files.toSorted()).toEqual(
      ["authority", ...certificateHosts]
        .flatMap((name) => [`${name}.key.pem`, `${name}.pem`])
        .toSorted(),
    );
    expect(files.map((file) => rights(join(folder, file)))).toEqual(files.map(() => "600"));
    expect(readFileSync(join(folder, "authority.pem"), "utf8")).toBe(authority.authorityPem());
  });

  test("outlives the process", () => {
    const dataDir = temporaryFolder();
    const first = createAuthority({ dataDir });
    const before = certificateHosts.map((host) => first.identityFor(host));
    const second = createAuthority({ dataDir });
    expect(second.authorityPem()).toBe(first.authorityPem());
    expect(certificateHosts.map((host) => second.identityFor(host))).toEqual(before);
  });

  test("is created again where it is damaged", () => {
    const dataDir = temporaryFolder();
    const before = createAuthority({ dataDir }).identityFor("valid.localhost");
    writeFileSync(join(dataDir, "certificates", "valid.localhost.key.pem"), "damaged");
    const after = createAuthority({ dataDir });
    expect(after.identityFor("valid.localhost")).not.toEqual(before);
    writeFileSync(join(dataDir, "certificates", "authority.pem"), "damaged");
    const again = createAuthority({ dataDir });
    const valid = new X509Certificate(again.identityFor("valid.localhost").cert);
    expect(valid.verify(new X509Certificate(again.authorityPem()).publicKey)).toBe(true);
  });

  test("that cannot be written costs only that the certificates end with the process", () => {
    const dataDir = join(temporaryFolder(), "file");
    writeFileSync(dataDir, "");
    chmodSync(dataDir, 0o400);
    const authority = createAuthority({ dataDir });
    expect(authority.identityFor("valid.localhost")).toBe(authority.identityFor("valid.localhost"));
  });
});

describe("renewal", () => {
  test("replaces what runs out within a month, and the authority's certificates with the authority", () => {
    let now = Date.now();
    const authority = createAuthority({ dataDir: null, wallClockNow: () => now });
    const [selfSigned, expired, , valid] = certificateHosts.map((host) =>
      authority.identityFor(host),
    );
    const root = authority.authorityPem();

    now += 300 * day;
    expect(authority.identityFor("valid.localhost")).toBe(valid);
    now += 40 * day;
    expect(authority.identityFor("valid.localhost")).not.toBe(valid);
    expect(authority.identityFor("self-signed.localhost")).not.toBe(selfSigned);
    expect(authority.identityFor("expired.localhost")).toBe(expired);
    expect(authority.authorityPem()).toBe(root);

    now += 3_650 * day;
    expect(authority.authorityPem()).not.toBe(root);
    const renewed = new X509Certificate(authority.identityFor("expired.localhost").cert);
    expect(renewed.verify(new X509Certificate(authority.authorityPem()).publicKey)).toBe(true);
    expect(Date.parse(renewed.validTo)).toBeLessThan(now);
  });

  test("comes thirty days before the end to the second, and an expired one is made until it has expired", () => {
    let now = Date.UTC(2026, 0, 1);
    const authority = createAuthority({ dataDir: null, wallClockNow: () => now });
    const [selfSigned, expired] = certificateHosts.map((host) => authority.identityFor(host));
    const { validFrom, validTo } = new X509Certificate(selfSigned?.cert ?? "");
    const until = Date.parse(validTo) - 30 * day;
    for (const [at, isKept] of [
      [until - 1, true],
      [Date.parse(validFrom), true],
      [until, false],
    ] as const) {
      now = at;
      expect(authority.identityFor("self-signed.localhost") === selfSigned).toBe(isKept);
    }
    const end = Date.parse(new X509Certificate(expired?.cert ?? "").validTo);
    now = end + 1;
    expect(authority.identityFor("expired.localhost")).toBe(expired);
    now = end;
    expect(authority.identityFor("expired.localhost")).not.toBe(expired);
  });

  test("writes years from 2050 on in the long form", () => {
    const now = Date.UTC(2049, 11, 1);
    const authority = createAuthority({ dataDir: null, wallClockNow: () => now });
    expect(new X509Certificate(authority.authorityPem()).validTo).toMatch(/ 2059 GMT$/);
  });
});
