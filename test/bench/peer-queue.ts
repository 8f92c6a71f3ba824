/**
 * A program on BullMQ and a Redis of its own: enqueues its jobs, 100 at once on eight ways, then
 * signs and POSTs them with a worker of 64.
 */

import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Pool } from "undici";
import { scriptData } from "./children.ts";
import { makeMessage, seeded } from "./messages.ts";

export type PeerLoad = {
  /** The folder whose `node_modules` has BullMQ. */
  folder: string;
  data: string;
  url: string;
  jobs: number;
  /** Enqueued and delivered before, and not counted. */
  warm: number;
  connections: number;
  secret: string;
};

export type Enqueued = { ms: number };

type Options = { connection: { path: string; maxRetriesPerRequest: null } };
type Job = { name: string; data: string; opts: object };
type BullMq = {
  Queue: new (name: string, options: Options) => { addBulk(jobs: Job[]): Promise<unknown> };
  Worker: new (
    name: string,
    process: (job: { data: string }) => Promise<void>,
    options: Options & { concurrency: number },
  ) => { on(event: "failed" | "error", listener: (...args: unknown[]) => void): unknown };
};

const load = scriptData<PeerLoad>();
const { Queue, Worker } = createRequire(join(load.folder, "package.json"))("bullmq") as BullMq;
const path = join(load.data, "redis.sock");
const durable = ["--appendonly", "yes", "--appendfsync", "everysec", "--save", ""];
const redis = spawn(
  "redis-server",
  ["--port", "0", "--unixsocket", path, "--dir", load.data, ...durable],
  { stdio: ["ignore", "pipe", "inherit"] },
);
process.on("exit", () => redis.kill("SIGKILL"));
process.on("SIGTERM", () => process.exit(0));
for (let log = ""; !log.includes("ready to accept connections");)
  log += String(((await once(redis.stdout, "data")) as [Buffer])[0]);

const options: Options = { connection: { path, maxRetriesPerRequest: null } };
const queue = new Queue("deliveries", options);
const random = seeded(1);
const opts = { attempts: 5, backoff: { type: "exponential", delay: 1000 } };
const bulks = Array.from({ length: (load.warm + load.jobs) / 100 }, () =>
  Array.from({ length: 100 }, (): Job => {
    const data = JSON.stringify({ ...makeMessage(random), version: 1 });
    return { name: "delivery", data, opts };
  }),
);

async function enqueue(from: number, to: number): Promise<void> {
  let next = from;
  const send = async (): Promise<void> => {
    while (next < to) await queue.addBulk(bulks[next++] ?? []);
  };
  await Promise.all(Array.from({ length: 8 }, send));
}

await enqueue(0, load.warm / 100);
const startedAt = performance.now();
await enqueue(load.warm / 100, bulks.length);
process.send?.({ ms: performance.now() - startedAt } satisfies Enqueued);

process.once("message", () => {
  const { origin, pathname } = new URL(load.url);
  const pool = new Pool(origin, { connections: load.connections });
  const worker = new Worker(
    "deliveries",
    async ({ data: body }) => {
      const { statusCode, body: answer } = await pool.request({
        path: pathname,
        method: "POST",
        headers: {
          "user-agent": "Hookyard/1.0",
          "content-type": "application/json",
          "x-signature": createHmac("sha1", load.secret).update(body).digest("hex"),
        },
        body,
      });
      await answer.dump();
      if (statusCode !== 200) throw new Error(`answered ${statusCode}`);
    },
    { ...options, concurrency: load.connections },
  );
  worker.on("failed", (...args) => process.stderr.write(`${args.join(" ")}\n`));
  worker.on("error", (...args) => process.stderr.write(`${args.join(" ")}\n`));
});
