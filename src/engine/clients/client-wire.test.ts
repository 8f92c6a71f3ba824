/**
 * The sockets of a simulated client: what the pipeline knows of each request, and what is left of
 * them.
 */

import { createServer, request as httpRequest, type Server } from "node:http";
import { request as httpsRequest } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { until } from "../../../test/support/running-app.ts";
import { startEndpoints, testAuthority } from "../../../test/support/running-endpoints.ts";
import { createSteppedClock } from "../../../test/support/stepped-clock.ts";
import { Activity, Holds } from "../clock/activity.ts";
import { createTrust } from "../deliver/dial.ts";
import { monotonic, nextTurn } from "../real-time.ts";
import { createWire, type WireOptions } from "./client-wire.ts";

const hour = 3_600_000;

afterEach(() => void vi.useRealTimers());

function startWire(options: Partial<WireOptions> = {}) {
  const parts = {
    clock: createSteppedClock(),
    activity: new Activity(),
    holds: new Holds(),
    trust: createTrust(),
    ...options,
  };
  const wire = createWire(parts);
  onTestFinished(() => wire.close());
  return {
    ...parts,
    wire,
    /** The status of the answer, or the error. One agent serves all calls, as in the library. */
    client(url: string): () => Promise<number | string> {
      const endpoint = new URL(url);
      const agent = wire.agent(endpoint);
      return () =>
        new Promise((resolve) => {
          const post = endpoint.protocol === "https:" ? httpsRequest : httpRequest;
          const sent = post(endpoint, { method: "POST", agent }, (response) => {
            response.resume().on("end", () => resolve(response.statusCode ?? 0));
          });
          sent.on("error", (error) => resolve(error.message));
          sent.end("{}");
        });
    },
  };
}

/** A server that answers at once, or as `onRequest` says, with the sockets that it has. */
async function startServer(
  onRequest: (socket: Socket, answer: () => void) => void = (_, answer) => answer(),
) {
  const sockets = new Set<Socket>();
  // Idle connections stay until the wire closes them.
  const server: Server = createServer({ keepAliveTimeout: 0 }, (request, response) =>
    onRequest(request.socket, () => void response.end()),
  );
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { sockets, port: (server.address() as AddressInfo).port };
}

test("a request is work until its end, which says how long it took in real time, once", async () => {
  const clock = { ...createSteppedClock(), monotonic };
  const { wire, activity, client } = startWire({ clock });
  const { port } = await startServer();
  expect(wire.end()).toBeNull();
  wire.begin();
  expect(activity.isQuiet(true)).toBe(false);
  clock.advanceBy(hour);
  expect(await client(`http://127.0.0.1:${port}`)()).toBe(200);
  const took = wire.end();
  expect(took).toMatchObject({ simulated: false, failedBy: "connection_error" });
  expect(took?.durationMs).toBeGreaterThan(0);
  expect(took?.durationMs).toBeLessThan(hour);
  expect([activity.isQuiet(true), wire.end()]).toEqual([true, null]);
});

test("it counts as sent by the pipeline itself while it is under way", () => {
  const { wire, activity } = startWire();
  activity.beginAdvance();
  wire.begin();
  expect(activity.ingestOrigin).toBe("own");
  wire.end();
  expect(activity.ingestOrigin).toBe("arrival");
});

test.for(["localhost", "some.where.localhost"])("%s is this machine", async (host) => {
  const { client } = startWire();
  const { port } = await startServer();
  expect(await client(`http://${host}:${port}`)()).toBe(200);
});

test("one connection is kept for the next request, and closed with the wire", async () => {
  const { wire, client } = startWire();
  const { port, sockets } = await startServer();
  const send = client(`http://127.0.0.1:${port}`);
  expect([await send(), await send(), sockets.size]).toEqual([200, 200, 1]);
  wire.close();
  await until(() => sockets.size === 0);
});

test("an attempt can be found by its connection, until that has ended", async () => {
  const { holds, client } = startWire();
  const seen: [Parameters<typeof holds.find>[0], boolean][] = [];
  const { port, sockets } = await startServer((socket, answer) => {
    const { remoteAddress, remotePort, localPort } = socket;
    seen.push([{ remoteAddress, remotePort, localPort }, holds.find(socket) !== null]);
    answer();
  });
  await client(`http://127.0.0.1:${port}`)();
  const [ends, wasFound] = seen[0] ?? [{}, false];
  expect([wasFound, holds.find(ends) !== null]).toEqual([true, true]);
  for (const socket of sockets) socket.destroy();
  await until(() => holds.find(ends) === null);
});

describe("a request that nobody answers", () => {
  test("is given up after ten seconds of real time", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { wire, client, activity } = startWire();
    let requests = 0;
    const { port } = await startServer(() => void (requests += 1));
    wire.begin();
    const answer = client(`http://127.0.0.1:${port}`)();
    while (requests === 0) await nextTurn();
    vi.advanceTimersByTime(9_999);
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    expect(activity.isQuiet(false)).toBe(false);
    vi.advanceTimersByTime(1);
    expect(await answer).toBe("no answer within 10000 ms");
    expect(wire.end()).toMatchObject({ simulated: false, failedBy: "timeout" });
  });

  test("leaves no deadline once it has ended", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { wire } = startWire();
    wire.begin();
    expect(vi.getTimerCount()).toBe(1);
    wire.end();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a request that a test endpoint holds", () => {
  test("is given up after ten seconds of the clock, counted from its start", async () => {
    const endpoints = await startEndpoints();
    const { url } = endpoints.create({ steps: [{ do: "hang" }] });
    const { wire, client, activity, clock } = startWire({
      clock: endpoints.clock,
      holds: endpoints.holds,
    });
    wire.begin();
    const answer = client(url)();
    const start = clock.now();
    await until(() => activity.isQuiet(false));
    expect([activity.isQuiet(true), endpoints.clock.scheduled()]).toEqual([
      false,
      [start + 10_000],
    ]);
    endpoints.clock.advanceBy(10_000);
    expect(await answer).toBe("no answer within 10000 ms");
    expect(wire.end()).toEqual({ durationMs: 10_000, simulated: true, failedBy: "timeout" });
    expect(activity.isQuiet(true)).toBe(true);
  });

  test("takes the time of the clock, through several waits, and the next one on its connection does not", async () => {
    const endpoints = await startEndpoints();
    const steps = [
      { do: "drip" as const, body: "ab", forMs: 4000, times: 1 },
      { do: "answer" as const },
    ];
    const { url } = endpoints.create({ steps });
    const { wire, client, activity } = startWire({
      clock: endpoints.clock,
      holds: endpoints.holds,
    });
    const send = client(url);
    wire.begin();
    const answer = send();
    const start = endpoints.clock.now();
    await until(() => activity.isQuiet(false));
    expect(endpoints.clock.scheduled()).toEqual([start + 2000, start + 10_000]);
    endpoints.clock.advanceBy(2000);
    expect(activity.isQuiet(false)).toBe(false);
    await until(() => activity.isQuiet(false));
    expect(endpoints.clock.scheduled()).toEqual([start + 4000, start + 10_000]);
    endpoints.clock.advanceBy(2000);
    expect(activity.isQuiet(false)).toBe(false);
    expect(await answer).toBe(200);
    expect(wire.end()).toEqual({ durationMs: 4000, simulated: true, failedBy: "connection_error" });
    expect(endpoints.clock.scheduled()).toEqual([]);
    wire.begin();
    expect(await send()).toBe(200);
    expect(wire.end()).toMatchObject({ simulated: false });
  });
});

describe("a request that fails", () => {
  test("before the certificate was accepted fails by TLS", async () => {
    const { port } = await startServer();
    const endpoints = await startEndpoints();
    endpoints.create({ path: "x", steps: [{ do: "answer" }] });
    for (const url of [`https://127.0.0.1:${port}`, `${endpoints.tlsUrl}/x`]) {
      const { wire, client } = startWire();
      wire.begin();
      expect(await client(url)()).not.toBe(200);
      expect(wire.end()).toMatchObject({ failedBy: "tls_error" });
    }
  });

  test("without a connection, or on an accepted one, fails by the connection", async () => {
    const endpoints = await startEndpoints();
    endpoints.create({ path: "x", steps: [{ do: "answer", times: 1 }, { do: "reset" }] });
    const secure = endpoints.tlsUrl.replace("self-signed", "valid");
    const trust = createTrust({ localAuthority: () => testAuthority.authorityPem() });
    const { wire, client } = startWire({ trust });
    const send = client(`${secure}/x`);
    wire.begin();
    expect(await send()).toBe(200);
    wire.end();
    wire.begin();
    expect(await send()).not.toBe(200);
    expect(wire.end()).toMatchObject({ failedBy: "connection_error" });
    const { port } = await startServer((socket) => socket.resetAndDestroy());
    for (const url of [`http://127.0.0.1:${port}`, "https://127.0.0.1:9"]) {
      wire.begin();
      expect(await client(url)()).not.toBe(200);
      expect(wire.end()).toMatchObject({ failedBy: "connection_error" });
    }
  });
});
