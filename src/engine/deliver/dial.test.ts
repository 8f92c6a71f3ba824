import type { Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { lastingPort } from "../../../test/support/free-ports.ts";
import { certificate } from "../../../test/support/raw-receiver.ts";
import type { RawReceiver, RawReceiverOptions } from "../../../test/support/raw-receiver.ts";
import {
  answering,
  hasIpv6,
  ok,
  post,
  receiver,
  sender,
  stopAll,
} from "../../../test/support/sending.ts";
import { createTargets, createTrust, parseTarget } from "./dial.ts";
import type { Trust } from "./dial.ts";
import type { ExchangeResult } from "./exchange.ts";

afterEach(stopAll);

/** Speaks TLS with one of the fixtures. */
function secured(
  name: Parameters<typeof certificate>[0],
  { tls, ...options }: RawReceiverOptions = {},
): Promise<RawReceiver> {
  return answering(ok, { ...options, tls: { ...certificate(name), ...tls } });
}

function trusting(): Trust {
  return createTrust({ localAuthority: () => certificate("authority").cert });
}

async function exchangeWith(
  trust: Trust,
  url: string,
): Promise<ExchangeResult & { phases: string[] }> {
  const exchange = post(sender({ trust }), url);
  return { ...(await exchange.done), phases: exchange.phases };
}

describe("over TLS", () => {
  test("a certificate of an added authority is believed, for a name and for an address", async () => {
    const names: (string | false)[] = [];
    const there = await secured("valid", {
      onConnection: (socket) =>
        names.push("servername" in socket ? (socket.servername as string | false) : ""),
      tls: { ALPNProtocols: ["h2", "http/1.1"] },
    });
    const trust = trusting();
    for (const host of ["valid.localhost", "127.0.0.1"]) {
      const result = await exchangeWith(trust, `https://${host}:${there.port}/`);
      expect(result).toMatchObject({
        outcome: "answered",
        response: { status: 200, bodyLength: 2 },
      });
      expect(result.phases).toEqual(["connect", "tls", "sent", "firstByte", "done"]);
    }
    expect(names).toEqual(["valid.localhost", false]);
    expect(there.sockets.map((socket) => "alpnProtocol" in socket && socket.alpnProtocol)).toEqual([
      "http/1.1",
      "http/1.1",
    ]);
    expect(there.received[0]).toContain(`Host: valid.localhost:${there.port}\r\n`);
  });

  test.skipIf(!hasIpv6)(
    "the server name also goes to the second address that is tried",
    async () => {
      const names: unknown[] = [];
      const there = await secured("valid", {
        host: "::1",
        // No other test may have it at 127.0.0.1, which is tried first.
        port: await lastingPort(),
        onConnection: (socket) => names.push("servername" in socket && socket.servername),
      });
      expect(
        await exchangeWith(trusting(), `https://valid.localhost:${there.port}/`),
      ).toMatchObject({ outcome: "answered" });
      expect(names).toEqual(["valid.localhost"]);
    },
  );

  test("connections are reused, and large bodies pass in both directions", async () => {
    const there = await secured("valid", {
      onRequest: (socket, _, request) =>
        socket.write(
          `HTTP/1.1 200 OK\r\nKeep-Alive: timeout=3600\r\nContent-Length: ${request.length}\r\n\r\n${request}`,
        ),
    });
    const from = sender({ trust: trusting() });
    for (const size of [10, 300_000, 10]) {
      const body = Buffer.alloc(size, "x");
      const { response } = await post(from, `https://valid.localhost:${there.port}/`, { body })
        .done;
      expect(response?.bodyLength).toBeGreaterThan(size);
    }
    expect(there.sockets).toHaveLength(1);
  });

  test.each([
    [
      "self-signed",
      "self-signed.localhost",
      "DEPTH_ZERO_SELF_SIGNED_CERT",
      /self-signed.*certificate store and restart Hookyard, or .*NODE_EXTRA_CA_CERTS/,
    ],
    ["expired", "expired.localhost", "CERT_HAS_EXPIRED", /has expired. Renew it/],
    [
      "wrong-host",
      "wrong-host.localhost",
      "ERR_TLS_CERT_ALTNAME_INVALID",
      /another host \(DNS:elsewhere.example\)/,
    ],
    ["wrong-host", "127.0.0.1", "ERR_TLS_CERT_ALTNAME_INVALID", /covers 127.0.0.1/],
  ] as const)(
    "%s at %s is a tls_error, and not one byte of the request is sent",
    async (name, host, code, message) => {
      const there = await secured(name);
      const result = await exchangeWith(trusting(), `https://${host}:${there.port}/`);
      expect(result).toMatchObject({
        outcome: "tls_error",
        error: { code, message: expect.stringMatching(message) },
        requestHead: "",
        response: null,
      });
      expect(result.error?.message).toContain(`The certificate of ${host}`);
      expect(result.phases).toEqual(["connect"]);
      expect(there.received.join("")).toBe("");
    },
  );

  test("the local authority is asked at the first use over TLS, once", async () => {
    const there = await secured("valid");
    const plain = await answering(ok);
    let asked = 0;
    const localAuthority = () => {
      asked += 1;
      return certificate("authority").cert;
    };
    const trust = createTrust({ localAuthority });
    await exchangeWith(trust, `http://127.0.0.1:${plain.port}/`);
    expect(asked).toBe(0);
    for (let round = 0; round < 2; round += 1) {
      expect(await exchangeWith(trust, `https://valid.localhost:${there.port}/`)).toMatchObject({
        outcome: "answered",
      });
    }
    expect(asked).toBe(1);
  });

  test("a certificate whose authority is unknown is a tls_error that says so", async () => {
    const there = await secured("valid");
    expect(
      await exchangeWith(createTrust(), `https://valid.localhost:${there.port}/`),
    ).toMatchObject({
      outcome: "tls_error",
      error: {
        code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
        message: expect.stringContaining("authority"),
      },
    });
  });

  test("a chain that ends in an unknown authority says so", async () => {
    const { cert } = certificate("authority");
    const there = await secured("valid", { tls: { cert: certificate("valid").cert + cert } });
    expect(
      await exchangeWith(createTrust(), `https://valid.localhost:${there.port}/`),
    ).toMatchObject({
      outcome: "tls_error",
      error: {
        code: "SELF_SIGNED_CERT_IN_CHAIN",
        message: expect.stringContaining("does not trust"),
      },
    });
  });

  test("plain HTTP at the port is a tls_error that says what to write instead", async () => {
    const there = await receiver({
      onConnection: (socket) => socket.write("HTTP/1.1 400 Bad Request\r\n\r\n"),
    });
    const result = await exchangeWith(trusting(), `https://valid.localhost:${there.port}/`);
    expect(result).toMatchObject({
      outcome: "tls_error",
      error: { message: expect.stringContaining("http://") },
      requestHead: "",
    });
  });

  test("a handshake that finds nothing in common is a tls_error", async () => {
    const there = await secured("valid", { tls: { ALPNProtocols: ["h2"] } });
    expect(await exchangeWith(trusting(), `https://valid.localhost:${there.port}/`)).toMatchObject({
      outcome: "tls_error",
      requestHead: "",
    });
  });

  test.each(["TLSv1.2", "TLSv1.3"] as const)(
    "a receiver that wants our certificate is a tls_error in %s",
    async (maxVersion) => {
      const there = await secured("valid", {
        tls: { requestCert: true, rejectUnauthorized: true, maxVersion },
      });
      const result = await exchangeWith(trusting(), `https://valid.localhost:${there.port}/`);
      expect(result).toMatchObject({
        outcome: "tls_error",
        error: { code: expect.stringContaining("ALERT") },
        response: null,
      });
      expect(there.received.join("")).toBe("");
    },
  );

  test.each([
    ["closed", "closed_without_answer", (socket: Socket) => socket.destroy()],
    ["reset", "ECONNRESET", (socket: Socket) => socket.resetAndDestroy()],
  ])("a connection that is %s during the handshake is a connection_error", async (_, code, end) => {
    const there = await receiver({
      onConnection: (socket) => socket.once("data", () => end(socket)),
    });
    const result = await exchangeWith(trusting(), `https://valid.localhost:${there.port}/`);
    expect(result).toMatchObject({ outcome: "connection_error", error: { code }, requestHead: "" });
    expect(result.error?.message).toContain("during the TLS handshake");
  });

  test("a deadline during the handshake ends it", async () => {
    const there = await receiver({});
    const exchange = post(sender({ trust: trusting() }), `https://valid.localhost:${there.port}/`);
    const socket = await there.connection(0);
    await new Promise((resolve) => socket.once("data", resolve));
    exchange.abort({ timeoutMs: 5000 });
    expect(await exchange.done).toMatchObject({
      outcome: "timeout",
      error: { message: expect.stringContaining("TLS handshake") },
      requestHead: "",
    });
  });
});

test.each([
  ["http://a.localhost/", ""],
  ["http://ada@a.localhost/", "ada:"],
  ["http://:word@a.localhost/", ":word"],
  ["http://ada:50%25%@a.localhost/", "ada:50%25%"],
  ["http://a|b:c^d%@a.localhost/", "a|b:c^d%"],
  ["http://ada:a:b@c@a.localhost/", "ada:a:b@c"],
  ["http://ada:gr%C3%BCn@a.localhost/@x", "ada:grün"],
])("of %s the credentials are %j", (url, credentials) => {
  const header =
    credentials === ""
      ? ""
      : `Authorization: Basic ${Buffer.from(credentials).toString("base64")}\r\n`;
  expect(parseTarget(url)?.authorization).toBe(header);
});

test.each([
  ["http://a.localhost", "/"],
  ["http://a.localhost?", "/?"],
  ["http://a.localhost/?", "/?"],
  ["http://a.localhost?q=a/../b", "/?q=a/../b"],
  ["http://a.localhost/a/../b/./c//d", "/a/../b/./c//d"],
  ["http://a.localhost/%7Eada/%2e%2E/x%20y", "/%7Eada/%2e%2E/x%20y"],
  ["http://a.localhost/a|b{c}^`\"<>'?q=a|\"b'", "/a|b{c}^`\"<>'?q=a|\"b'"],
  ["http://a.localhost/a\\b", "/a\\b"],
  ["http://ada:x@a.localhost/a?b#c/d", "/a?b"],
  ["http://a.localhost/grün?q=ü", "/gr%C3%BCn?q=%C3%BC"],
  ["http://a.localhost/a\r\nX-Evil: 1", "/aX-Evil:%201"],
  ["http:\\\\a.localhost\\b", "/b"],
])("of %j the request has the target %s", (url, target) => {
  expect(parseTarget(url)?.opening).toBe(`${target} HTTP/1.1\r\nHost: a.localhost\r\n`);
});

const plain = { secure: false, port: 80, loopback: false, literal: false };

test.each<[string, object | null]>([
  ["http://a.test/", { ...plain, origin: "http://a.test", host: "a.test" }],
  ["https://a.test./", { ...plain, host: "a.test", secure: true, port: 443 }],
  ["https://a.test:80/", { ...plain, host: "a.test", secure: true }],
  ["http://a.test:443/", { ...plain, host: "a.test", port: 443 }],
  ["http://127.0.0.1:8080/", { ...plain, host: "127.0.0.1", port: 8080, literal: true }],
  ["http://[::1]/", { ...plain, origin: "http://[::1]", host: "::1", literal: true }],
  ["http://localhost/", { ...plain, host: "localhost", loopback: true }],
  ["http://a.b.localhost./", { ...plain, host: "a.b.localhost", loopback: true }],
  ["http://notlocalhost/", { ...plain, host: "notlocalhost" }],
  ["http://localhost.test/", { ...plain, host: "localhost.test" }],
  ["ftp://a.test/", null],
  ["a.test", null],
])("the target of %s", (url, target) => {
  if (target === null) expect(parseTarget(url)).toBeNull();
  else expect(parseTarget(url)).toMatchObject(target);
});

test("a URL is parsed once while fewer than a hundred others are", () => {
  const targets = createTargets();
  const first = targets("http://a.test/");
  for (let nth = 0; nth < 99; nth += 1) targets(`http://a.test/${nth}`);
  expect(targets("http://a.test/")).toBe(first);
  expect(targets("none")).toBeNull();
  expect(targets("http://a.test/")).not.toBe(first);
  expect(targets("http://a.test/")).toEqual(first);
});

test("without a local authority there is none", () => {
  expect(createTrust().localAuthority()).toBeNull();
  expect(createTrust({ localAuthority: () => "pem" }).localAuthority()).toBe("pem");
});
