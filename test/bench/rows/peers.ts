/**
 * The same messages through BullMQ, the usual queue of Node programs: how many a second it enqueues,
 * and how many its worker signs and POSTs. It is installed into a cache when the row runs, and needs
 * the machine's `redis-server`, which appends to its log as durably as Hookyard does.
 */

import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startScript } from "../children.ts";
import { takePairs, warmUp, type BenchOptions, type Row } from "../measure.ts";
import type { Enqueued, PeerLoad } from "../peer-queue.ts";
import type { Arrivals, Expected } from "../receiver.ts";
import { withDirectory } from "../temporary.ts";
import { connections, queued, secret, withReceiver, type Receiver } from "./delivery.ts";
import { batches, ours } from "./ingest.ts";

const packages = ["bullmq@6.7.0", "ioredis@5.8.2"];

/** The folder whose `node_modules` has BullMQ; or why there is none. */
function installed(): { folder: string } | { reason: string } {
  if (spawnSync("redis-server", ["--version"]).status !== 0)
    return { reason: "there is no redis-server; on Debian: apt-get install redis-server" };
  const folder = join(tmpdir(), `hookyard-bench-${packages.join("-")}`);
  if (existsSync(join(folder, "installed"))) return { folder };
  mkdirSync(folder, { recursive: true });
  const flags = ["--no-fund", "--no-audit", "--ignore-scripts", "--no-save"];
  try {
    execFileSync("npm", ["install", "--prefix", folder, ...flags, ...packages], {
      stdio: "pipe",
      timeout: 100_000,
    });
  } catch (error) {
    const { stderr } = error as { stderr?: Buffer };
    return {
      reason: `npm could not install ${packages.join(" and ")}: ${String(stderr ?? error)}`,
    };
  }
  mkdirSync(join(folder, "installed"));
  return { folder };
}

type PeerRun = { enqueued: number; delivered: number };

function peer(
  { child, url }: Receiver,
  { folder, jobs, warm }: { folder: string; jobs: number; warm: number },
): Promise<PeerRun> {
  return withDirectory(async (data) => {
    const queue = startScript("peer-queue.ts", {
      folder,
      data,
      url,
      jobs,
      warm,
      connections,
      secret,
    } satisfies PeerLoad);
    try {
      const { ms } = await queue.answer<Enqueued>();
      child.send({ expect: jobs, after: warm } satisfies Expected);
      const arrived = child.answer<Arrivals>();
      queue.send({});
      const { firstAt, lastAt } = await arrived;
      return {
        enqueued: (jobs * 1000) / ms,
        delivered: (jobs * 1000) / (lastAt - firstAt),
      };
    } finally {
      await queue.stop();
    }
  });
}

export const peers: Row = {
  name: "peers",
  run: (options: BenchOptions) =>
    withReceiver(
      (silent) =>
        withReceiver(async (receiver) => {
          const found = installed();
          if ("reason" in found) {
            options.say(`skipped: ${found.reason}`);
            return [];
          }
          const jobs = options.quick ? 10_000 : 20_000;
          const warm = warmUp(options);
          const runs: PeerRun[] = [];
          const delivered = await takePairs(
            options,
            async () => (await queued(receiver, { deliveries: jobs, warm })).perSecond,
            async () => {
              runs.push(await peer(receiver, { folder: found.folder, jobs, warm }));
              return runs.at(-1)?.delivered ?? 0;
            },
          );
          let nth = 0;
          const enqueued = await takePairs(
            options,
            () => ours(batches(options), { webhookUrl: silent.url }),
            () => Promise.resolve(runs[nth++]?.enqueued ?? 0),
          );
          return [
            {
              figure: "deliveries, 64 connections; floor: BullMQ with Redis",
              unit: "deliveries/s",
              ...delivered,
              mustReach: { ratio: 2 },
            },
            {
              figure: "enqueued in batches of 100 for a webhook that never answers; floor: BullMQ",
              unit: "messages/s",
              ...enqueued,
              mustReach: { ratio: 4 },
            },
          ];
        }),
      { silent: true },
    ),
};
