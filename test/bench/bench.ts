/**
 * `npm run bench`: prints each figure of the specification next to its floor and what it must
 * reach, and writes all of it as JSON. docs/benchmarks.md says what the figures mean.
 */

import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { buildIfStale, root } from "../../src/launch/build.ts";
import { reaches, type Row } from "./measure.ts";
import { table, writeDocs, type ReportedFigure } from "./report.ts";
import { firstSync, liveAudiences } from "./rows/audiences.ts";
import { browserFlow, browserScroll, browserTail } from "./rows/browser.ts";
import { client } from "./rows/client.ts";
import {
  deliveryAmongMany,
  deliveryIngested,
  deliveryQueued,
  largeMessages,
  manyInUse,
  traces,
} from "./rows/delivery.ts";
import { endpoints } from "./rows/endpoints.ts";
import { following } from "./rows/following.ts";
import { ingestBatches, ingestDelivering, ingestPlan, ingestSingles } from "./rows/ingest.ts";
import { firstAttempt } from "./rows/latency.ts";
import { eventLoop, listFiveMillion, listPages, memory, start } from "./rows/million.ts";
import { mixedLoad } from "./rows/mixed.ts";
import { peers } from "./rows/peers.ts";
import { retention } from "./rows/retention.ts";

const rows: Row[] = [
  ingestBatches,
  ingestSingles,
  ingestDelivering,
  ingestPlan,
  deliveryQueued,
  deliveryAmongMany,
  manyInUse,
  deliveryIngested,
  firstAttempt,
  largeMessages,
  traces,
  following,
  liveAudiences,
  firstSync,
  listPages,
  start,
  memory,
  listFiveMillion,
  retention,
  eventLoop,
  browserTail,
  browserScroll,
  browserFlow,
  endpoints,
  client,
  mixedLoad,
  peers,
];

const { values: flags } = parseArgs({
  options: {
    only: { type: "string" },
    quick: { type: "boolean", default: false },
    large: { type: "boolean", default: false },
    docs: { type: "boolean", default: false },
    json: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

const large = rows.filter((row) => row.large).map(({ name }) => name);
const help = `Usage: npm run bench -- [--only row,row] [--quick] [--large] [--docs] [--json FILE]

  --only   Some of: ${rows.map(({ name }) => name).join(", ")}.
  --quick  Fewer runs of fewer requests.
  --large  Rows that take minutes and gigabytes too: ${large.join(", ")}.
  --docs   Writes the results into docs/benchmarks.md; rows that did not run keep theirs.
  --json   Where the JSON goes. Default: test/bench/results/<time>.json.`;

function say(text: string): void {
  process.stderr.write(`  ${text}\n`);
}

async function main(): Promise<void> {
  if (flags.help) return void process.stdout.write(`${help}\n`);
  const wanted = flags.only?.split(",");
  const unknown = wanted?.find((name) => !rows.some((row) => row.name === name));
  if (unknown !== undefined) throw new Error(`There is no row ${unknown}.\n\n${help}`);
  await buildIfStale();

  const at = new Date().toISOString();
  const loadAtStart = loadavg();
  const figures: ReportedFigure[] = [];
  for (const row of rows) {
    const isWanted = wanted?.includes(row.name) ?? (flags.large || row.large !== true);
    if (!isWanted) continue;
    process.stderr.write(`${row.name}\n`);
    const startedAt = performance.now();
    for (const figure of await row.run({ quick: flags.quick, say }))
      figures.push({ row: row.name, ...figure, reached: reaches(figure) });
    say(`${Math.round((performance.now() - startedAt) / 1000)} s`);
  }
  process.stdout.write(`\n${table(figures)}\n`);

  const file =
    flags.json ??
    join(root, "test", "bench", "results", `${at.replaceAll(":", "-").slice(0, 19)}.json`);
  const machine = {
    cpu: cpus()[0]?.model,
    cores: cpus().length,
    node: process.version,
    loadAtStart,
    loadAtEnd: loadavg(),
  };
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(
    file,
    `${JSON.stringify({ at, commit: commit(), quick: flags.quick, machine, figures }, null, 2)}\n`,
  );
  process.stdout.write(`\n${file}\n`);
  if (flags.docs)
    writeDocs(join(root, "docs", "benchmarks.md"), {
      at,
      figures,
      machine,
      order: rows.map(({ name }) => name),
    });
  if (figures.some(({ reached }) => reached === false)) process.exitCode = 1;
}

function commit(): string | null {
  try {
    return execFileSync("git", ["describe", "--always", "--dirty"], {
      cwd: root,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  } catch {
    return null;
  }
}

await main();
