/** Where the ingest port listens: over TLS with the local authority, and at `[::1]`. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request as httpsRequest } from "node:https";
import { connect, createServer, type AddressInfo, type Server } from "node:net";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { createApp, type AppOptions } from "../../src/app.ts";
import { typedCalls } from "../../src/scenarios/run/pipeline.ts";
import { hasCurl } from "../support/foreign-clients.ts";
import { lastingPort } from "../support/free-ports.ts";
import { basic } from "../support/ingest-client.ts";
import { starting } from "../support/running-app.ts";
import { hasIpv6 } from "../support/sending.ts";

const writeKey = "wk_test";
const track = JSON.stringify({ userId: "u", event: "e" });

async function startWith(ports: Partial<AppOptions["ports"]>) {
  const { directory } = await starting({}, { onCleanup: onTestFinished });
  const data = await directory();
  const log: string[] = [];
  const unexpected: unknown[] = [];
  const app = createApp({
    data,
    ports: { ingest: 0, endpoints: 0, endpointsTls: 0, ...ports },
    version: "0.0.0",
    report: (error) => unexpected.push(error),
    log: (sentence) => log.push(sentence),
  });
  const addresses = await app.start();
  let stopped: Promise<void> | null = null;
  const stop = (): Promise<void> => (stopped ??= app.stop());
  onTestFinished(async () => {
    await stop();
    expect(unexpected).toEqual([]);
  });
  const { call } = typedCalls(app.api.call);
  await call("sources.create", { name: "Shop", writeKey });
  return {
    call,
    stop,
    log,
    port: Number(new URL(addresses.ingestUrl).port),
    tlsUrl: addresses.ingestTlsUrl,
    tlsPort: Number(new URL(addresses.ingestTlsUrl ?? "https://h:1").port),
    ca: () => readFileSync(join(data, "certificates", "authority.pem"), "utf8"),
    codes: async () => (await call("refused.list", {})).items.map(({ code }) => code),
  };
}

/** One request over TLS, and its answer. */
function ask(
  port: number,
  {
    ca,
    host = "127.0.0.1",
    path = "/v1/track",
    body = track,
    headers = {},
  }: {
    ca?: string;
    host?: string;
    path?: string;
    body?: string | null;
    headers?: Record<string, string>;
  },
): Promise<{ status: number; reason: string; text: string }> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      {
        port,
        host,
        path,
        method: body === null ? "GET" : "POST",
        headers: { Authorization: basic(writeKey), ...headers },
        agent: false,
        ...(ca === undefined ? {} : { ca }),
      },
      (response) => {
        let text = "";
        response.on("data", (chunk: Buffer) => (text += chunk.toString()));
        response.on("end", () =>
          resolve({
            status: response.statusCode ?? 0,
            reason: response.statusMessage ?? "",
            text,
          }),
        );
      },
    );
    request.on("error", reject);
    request.end(body ?? undefined);
  });
}

test("TLS is off unless it has a port", async () => {
  const { tlsUrl, call } = await startWith({});
  expect([tlsUrl, (await call("about.get", {})).ingestTlsUrl]).toEqual([null, null]);
});

test("over TLS a client that trusts the local authority is served as at the plain port", async () => {
  const app = await startWith({ ingestTls: 0 });
  expect((await app.call("about.get", {})).ingestTlsUrl).toBe(`https://127.0.0.1:${app.tlsPort}`);
  const ca = app.ca();
  for (const host of ["127.0.0.1", "localhost"])
    expect(await ask(app.tlsPort, { ca, host })).toMatchObject({ status: 200 });
  expect((await app.call("messages.list", {})).items).toHaveLength(2);

  const settings = await ask(app.tlsPort, {
    ca,
    path: `/v1/projects/${writeKey}/settings`,
    body: null,
  });
  expect(JSON.parse(settings.text)).toMatchObject({
    integrations: { "Segment.io": { protocol: "https", apiHost: `127.0.0.1:${app.tlsPort}/v1` } },
  });
  expect(await ask(app.tlsPort, { ca, path: "/t" })).toMatchObject({
    status: 404,
    reason: expect.stringContaining("/t is not an ingest path"),
  });
  expect(await ask(app.tlsPort, { ca, headers: { "X-Large": "x".repeat(20_000) } })).toMatchObject({
    status: 431,
  });
  expect(await app.codes()).toEqual(["invalid_http", "unknown_path"]);
});

test.skipIf(!hasCurl)("a client that does not trust the authority is listed", async () => {
  const app = await startWith({ ingestTls: 0 });
  const curl = spawn("curl", ["-sS", `${app.tlsUrl}/v1/track`], { stdio: "ignore" });
  expect(await once(curl, "exit")).toEqual([60, null]);
  await expect.poll(app.codes).toEqual(["certificate_not_trusted"]);
  const { items } = await app.call("refused.list", {});
  expect(items).toMatchObject([{ status: null, advice: expect.stringContaining("authority.pem") }]);
});

test("a client without TLS at the port for TLS is listed", async () => {
  const app = await startWith({ ingestTls: 0 });
  const plain = connect(app.tlsPort, "127.0.0.1");
  plain.on("error", () => {});
  plain.write("POST /v1/track HTTP/1.1\r\nHost: h\r\n\r\n");
  plain.resume();
  await once(plain, "close");
  expect((await app.call("refused.list", {})).items).toMatchObject([
    { code: "http_on_tls_port", status: null },
  ]);
});

test.skipIf(!hasIpv6)(
  "[::1] has the same ports, and the faults and limits of the port",
  async () => {
    const app = await startWith({ ingest: await lastingPort(), ingestTls: 0 });
    expect(app.log).toEqual([]);
    const init = { method: "POST", headers: { Authorization: basic(writeKey) }, body: track };
    expect(await fetch(`http://[::1]:${app.port}/v1/track`, init)).toMatchObject({ status: 200 });
    expect(await fetch(`http://[::1]:${app.port}/t`, init)).toMatchObject({ status: 404 });
    expect((await app.call("refused.list", {})).items).toMatchObject([{ address: "::1" }]);
    const socket = connectTls({
      port: app.tlsPort,
      host: "::1",
      servername: "localhost",
      ca: app.ca(),
    });
    await once(socket, "secureConnect");
    socket.destroy();
    await app.stop();
    await expect(fetch(`http://[::1]:${app.port}/v1/track`, init)).rejects.toThrow("fetch failed");
  },
);

async function listening(server: Server, host: string, port: number): Promise<number> {
  server.listen(port, host);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

test.skipIf(!hasIpv6)(
  "where another program has [::1], it goes on without it, and says so once",
  async () => {
    const [other, first] = [createServer(), createServer()];
    onTestFinished(() => void other.close());
    const port = await lastingPort();
    await listening(first, "127.0.0.1", port);
    await listening(other, "::1", port);
    first.close();
    await once(first, "close");
    const app = await startWith({ ingest: port });
    expect(app.log).toEqual([
      `Ingest listens on 127.0.0.1:${port} only: another program uses [::1]:${port}.`,
    ]);
    const init = { method: "POST", headers: { Authorization: basic(writeKey) }, body: track };
    expect(await fetch(`http://127.0.0.1:${port}/v1/track`, init)).toMatchObject({ status: 200 });
  },
);

test("a port for TLS that is taken is named", async () => {
  const taken = createServer();
  onTestFinished(() => void taken.close());
  const port = await listening(taken, "127.0.0.1", 0);
  await expect(startWith({ ingestTls: port })).rejects.toMatchObject({ role: "ingestTls", port });
});

if (!hasIpv6) process.stdout.write("The tests at [::1] are left out: there is no IPv6 here.\n");
