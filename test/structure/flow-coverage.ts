/**
 * `measure.ts` starts this in a process of its own. It runs the pipeline in memory, sends one event
 * to a webhook, advances the clock to a retry, and calls "retry now". It prints, as JSON, the
 * source files that executed a function during each of the three flows. Start-up and set-up do not
 * count.
 */

import { once } from "node:events";
import { createServer } from "node:http";
import { Session } from "node:inspector/promises";
import type { AddressInfo } from "node:net";
import { createApp } from "../../src/app.ts";
import type { AnswerOf, CallName, InputOf } from "../../src/contract/contract.ts";

const sources = new URL("../../src/", import.meta.url).href;

const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

/** The files that executed a function since the previous call. Loading a file does not count. */
async function executedFiles(): Promise<string[]> {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  return result
    .filter(({ url, functions }) => {
      const [file, ...inside] = functions;
      if (!url.startsWith(sources) || file === undefined) return false;
      const isWholeFile = file.functionName === "" && file.ranges[0]?.startOffset === 0;
      return (isWholeFile ? inside : functions).some(({ ranges }) => (ranges[0]?.count ?? 0) > 0);
    })
    .map(({ url }) => `src/${url.slice(sources.length)}`)
    .toSorted();
}

let status = 200;
const receiver = createServer((request, response) => {
  request.resume().on("end", () => response.writeHead(status, { "Content-Length": 0 }).end());
});
receiver.listen(0, "127.0.0.1");
await once(receiver, "listening");
const webhook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;

const app = createApp({
  data: ":memory:",
  ports: { ingest: 0, endpoints: 0, endpointsTls: 0 },
  version: "0.0.0",
});
const { ingestUrl } = await app.start();

async function call<Name extends CallName>(
  name: Name,
  input: InputOf<Name>,
): Promise<AnswerOf<Name>> {
  const { status, body } = await app.api.call(name, input);
  if (status >= 400) throw new Error(`${name} answered ${status}: ${JSON.stringify(body)}`);
  return body as AnswerOf<Name>;
}

const settled = (): Promise<unknown> => app.pipeline.settle(15_000);

async function filesOf(flow: () => Promise<unknown>): Promise<string[]> {
  await settled();
  await executedFiles();
  await flow();
  return executedFiles();
}

const source = await call("sources.create", { name: "Shop", writeKey: "key" });
await call("destinations.create", {
  name: "Receiver",
  sourceIds: [source.id],
  webhooks: [{ url: webhook }],
});

async function send(): Promise<void> {
  const response = await fetch(`${ingestUrl}/v1/track`, {
    method: "POST",
    headers: { Authorization: `Basic ${btoa("key:")}`, "Content-Type": "application/json" },
    body: JSON.stringify({ userId: "u1", event: "Order Completed" }),
  });
  if (!response.ok) throw new Error(`The ingest port answered ${response.status}.`);
}

const event = await filesOf(async () => {
  await send();
  await settled();
});

await call("clock.set", { mode: "paused" });
status = 503;
await send();
await settled();
const clockStep = await filesOf(() => call("clock.advance", { to: "next-due" }));

const [waiting] = (await call("deliveries.list", { state: "waiting" })).items;
if (waiting === undefined) throw new Error("No delivery waits for its next round.");
status = 200;
const { id } = waiting;
const retryNow = await filesOf(() => call("deliveries.retry", { id }));
await settled();

await app.stop();
receiver.closeAllConnections();
receiver.close();
process.stdout.write(JSON.stringify({ event, clockStep, retryNow }));
