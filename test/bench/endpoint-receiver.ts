/**
 * How many requests a second a test endpoint takes in and records, and what that does to memory. Run it with
 * `node test/bench/endpoint-receiver.ts [seconds]`; the requests come from a second process over 64 kept connections.
 */

import { fork } from "node:child_process";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { EndpointId } from "../../src/domain/ids.ts";
import { isProblem } from "../../src/domain/problem.ts";
import { Holds } from "../../src/engine/clock/holds.ts";
import { createAuthority } from "../../src/engine/endpoints/authority.ts";
import { createEndpoints } from "../../src/engine/endpoints/endpoints.ts";
import { createSteppedClock } from "../support/stepped-clock.ts";

const connections = 64;
const seconds = Number(process.argv[2] ?? 5);
const mustReach = 5_000;

function send(url: string): void {
  const { port, pathname } = new URL(url);
  const body = JSON.stringify({ type: "track", event: "Order Completed", userId: "u1", properties: { text: "x".repeat(500) }, version: 1 });
  const head = `POST ${pathname} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: Bench/1.0\r\nContent-Type: application/json\r\nX-Signature: ${"0".repeat(40)}\r\n`;
  const request = Buffer.from(`${head}Content-Length: ${body.length}\r\n\r\n${body}`);
  for (let number = 0; number < connections; number += 1) {
    const socket = connect(Number(port), "127.0.0.1", () => socket.write(request));
    socket.on("data", () => socket.write(request));
    socket.on("error", () => process.exit());
    socket.on("close", () => process.exit());
  }
}

function megabytes(): { heap: number; resident: number } {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  return { heap: (heapUsed + arrayBuffers) / 1e6, resident: rss / 1e6 };
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function receive(): Promise<void> {
  let received = 0;
  const endpoints = createEndpoints({
    store: {
      endpoints: () => [],
      insertEndpoint: (draft) => ({ ...draft, id: 1 as EndpointId }),
      updateEndpoint: () => {},
      deleteEndpoint: () => {},
    },
    clock: createSteppedClock(),
    holds: new Holds(),
    changes: { note: (area) => void (area === "received" && (received += 1)), noteMany: () => {} },
    authority: createAuthority({ dataDir: null }),
    seed: () => 1,
    secrets: () => [],
    host: "127.0.0.1",
    port: 0,
    tlsPort: 0,
  });
  await endpoints.start();
  const match = { type: "track" } as const;
  const endpoint = endpoints.create({ name: "Bench", steps: [{ do: "answer", times: 1e9, match }, { do: "answer" }] });
  if (isProblem(endpoint)) throw new Error(endpoint.message);

  const sender = fork(fileURLToPath(import.meta.url), ["send", endpoint.url]);
  await wait(1_000);
  const before = megabytes();
  const [first, start] = [received, performance.now()];
  await wait(seconds * 1_000);
  const perSecond = ((received - first) / (performance.now() - start)) * 1_000;
  const after = megabytes();
  sender.kill();
  await endpoints.stop();

  const recorded = endpoints.received(endpoint.id, 1, null);
  if (isProblem(recorded)) throw new Error(recorded.message);
  console.log(`${Math.round(perSecond)} requests a second (must reach ${mustReach}) over ${connections} connections`);
  console.log(
    `heap ${before.heap.toFixed(1)} → ${after.heap.toFixed(1)} MB, resident ${before.resident.toFixed(0)} → ${after.resident.toFixed(0)} MB`,
  );
  console.log(`${received} received, ${recorded.total} kept, ${recorded.dropped} dropped`);
  if (perSecond < mustReach) process.exitCode = 1;
}

if (process.argv[2] === "send" && process.argv[3] !== undefined) send(process.argv[3]);
else await receive();
