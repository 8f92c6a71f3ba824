import { X509Certificate, createHash, createPrivateKey, createPublicKey } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
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

const hexOf = (pem: string): string => new X509Certificate(pem).raw.toString("hex");
/** The SHA-1 of its key, which names the key. */
const keyIdOf = (pem: string): string =>
  createHash("sha1")
    .update(new X509Certificate(pem).publicKey.export({ type: "spki", format: "der" }))
    .digest("hex");

test("the extensions of certificates are byte for byte those of RFC 5280", () => {
  const [version3, critical] = ["a003020102", "0101ff"];
  const authority = testAuthority.authorityPem();
  const ofAuthority = [
    version3,
    `06035504030c18${Buffer.from("Hookyard local authority").toString("hex")}`,
    `0603551d13${critical}040830060101ff020100`,
    `0603551d0f${critical}040403020106`,
    `0603551d1e${critical}041d301ba019300b8209${Buffer.from("localhost").toString("hex")}300a87087f000000ff000000`,
    `0603551d0e04160414${keyIdOf(authority)}`,
    `0603551d23041830168014${keyIdOf(authority)}`,
  ];
  for (const bytes of ofAuthority) expect(hexOf(authority)).toContain(bytes);
  const { cert } = testAuthority.identityFor("valid.localhost");
  const ofServer = [
    version3,
    `0603551d13${critical}04023000`,
    "0603551d25040c300a06082b06010505070301",
    `0603551d0e04160414${keyIdOf(cert)}`,
    `0603551d23041830168014${keyIdOf(authority)}`,
  ];
  for (const bytes of ofServer) expect(hexOf(cert)).toContain(bytes);
});

test("certificates are for their host, its usual names and its address, and have serial numbers of their own", () => {
  const certificates = certificateHosts.map(
    (host) => new X509Certificate(testAuthority.identityFor(host).cert),
  );
  const own = (host: string): string => `DNS:${host}, DNS:localhost, IP Address:127.0.0.1`;
  expect(certificates.map(({ subject, subjectAltName }) => [subject, subjectAltName])).toEqual(
    certificateHosts.map((host) => [
      `CN=${host}`,
      host === "wrong-host.localhost" ? "DNS:somewhere-else.localhost" : own(host),
    ]),
  );
  const numbers = certificates.map(({ serialNumber }) => serialNumber);
  expect(numbers).toEqual(numbers.map(() => expect.stringMatching(/^01[0-9A-F]{30}$/)));
  expect(new Set(numbers).size).toBe(numbers.length);
});

test.each([
  ["2049-12-31T23:59:59.999Z", "Dec 31 23:59:59 2049 GMT"],
  ["2050-01-01T00:00:00.000Z", "Jan  1 00:00:00 2050 GMT"],
])("a certificate that ends %s is read as one that does", (end, read) => {
  const { pem } = createCertificate({
    ...{ name: "n", issuer: null, use: "server", hosts: ["n"] },
    ...{ notBefore: new Date(0), notAfter: new Date(end) },
  });
  const { validFrom, validTo } = new X509Certificate(pem);
  expect([validFrom, validTo]).toEqual(["Jan  1 00:00:00 1970 GMT", read]);
});

test("a certificate is PEM with lines of 64 characters, the last one with what is left", () => {
  const [begin, ...lines] = testAuthority.authorityPem().split("\n");
  const [end, after] = lines.splice(-2);
  expect([begin, end, after]).toEqual([
    "-----BEGIN CERTIFICATE-----",
    "-----END CERTIFICATE-----",
    "",
  ]);
  expect(new Set(lines.slice(0, -1).map(({ length }) => length))).toEqual(new Set([64]));
  expect(Buffer.from(lines.join(""), "base64").toString("hex")).toBe(
    hexOf(testAuthority.authorityPem()),
  );
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
    const [valid, root] = [second.identityFor("valid.localhost"), second.authorityPem()];
    rmSync(join(dataDir, "certificates"), { recursive: true });
    expect([second.identityFor("valid.localhost"), second.authorityPem()]).toEqual([valid, root]);
    expect(second.identityFor("valid.localhost")).toBe(valid);
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

  test("is created again where a key is another one's, or the authority's certificate is a server's", () => {
    const dataDir = temporaryFolder();
    const before = createAuthority({ dataDir }).identityFor("valid.localhost");
    const place = (name: string): string => join(dataDir, "certificates", name);
    copyFileSync(place("authority.key.pem"), place("valid.localhost.key.pem"));
    const after = createAuthority({ dataDir }).identityFor("valid.localhost");
    expect(after.cert).not.toBe(before.cert);
    for (const end of ["pem", "key.pem"])
      copyFileSync(place(`valid.localhost.${end}`), place(`authority.${end}`));
    const { ca, subject } = new X509Certificate(createAuthority({ dataDir }).authorityPem());
    expect([ca, subject]).toEqual([true, "CN=Hookyard local authority"]);
  });

  test("that cannot be written costs only that the certificates end with the process", () => {
    const dataDir = join(temporaryFolder(), "file");
    writeFileSync(dataDir, "");
    chmodSync(dataDir, 0o400);
    const authority = createAuthority({ dataDir });
    expect(authority.identityFor("valid.localhost")).toBe(authority.identityFor("valid.localhost"));
  });
});

test("a certificate is valid from a day ago: the authority's for ten years, a server's for one, and the expired one until a day ago", () => {
  const now = Date.UTC(2026, 0, 1);
  const authority = createAuthority({ dataDir: null, wallClockNow: () => now });
  const daysOf = (pem: string): number[] => {
    const { validFrom, validTo } = new X509Certificate(pem);
    return [validFrom, validTo].map((at) => (Date.parse(at) - now) / day);
  };
  expect(daysOf(authority.authorityPem())).toEqual([-1, 3650]);
  expect(certificateHosts.map((host) => daysOf(authority.identityFor(host).cert))).toEqual([
    [-1, 365],
    [-90, -1],
    [-1, 365],
    [-1, 365],
  ]);
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

  test("comes thirty days before the end to the second and before the beginning, and an expired one is made until it has expired", () => {
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
    const renewed = authority.identityFor("self-signed.localhost");
    now = Date.parse(new X509Certificate(renewed.cert).validFrom) - 1;
    expect(authority.identityFor("self-signed.localhost")).not.toBe(renewed);
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
