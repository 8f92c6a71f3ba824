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
import { reaches, type Figure, type Row } from "./measure.ts";
import { firstSync, liveAudiences } from "./rows/audiences.ts";
import { browserFlow, browserScroll, browserTail } from "./rows/browser.ts";
import { client } from "./rows/client.ts";
import {
  deliveryAmongMany,
  deliveryIngested,
  deliveryQueued,
  largeMessages,
  traces,
} from "./rows/delivery.ts";
import { endpoints } from "./rows/endpoints.ts";
import { following } from "./rows/following.ts";
import { ingestBatches, ingestDelivering, ingestPlan, ingestSingles } from "./rows/ingest.ts";
import { eventLoop, listPages, memory, start } from "./rows/million.ts";

const rows: Row[] = [
  ingestBatches,
  ingestSingles,
  ingestDelivering,
  ingestPlan,
  deliveryQueued,
  deliveryAmongMany,
  deliveryIngested,
  largeMessages,
  traces,
  following,
  liveAudiences,
  firstSync,
  listPages,
  start,
  memory,
  eventLoop,
  browserTail,
  browserScroll,
  browserFlow,
  endpoints,
  client,
];

const { values: flags } = parseArgs({
  options: {
    only: { type: "string" },
    quick: { type: "boolean", default: false },
    json: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

const help = `Usage: npm run bench -- [--only row,row] [--quick] [--json FILE]

  --only   Some of: ${rows.map(({ name }) => name).join(", ")}.
  --quick  Fewer runs of fewer requests.
  --json   Where the JSON goes. Default: test/bench/results/<time>.json.`;

function say(text: string): void {
  process.stderr.write(`  ${text}\n`);
}

function number(value: number | undefined): string {
  if (value === undefined) return "";
  return value.toLocaleString("en-US", { maximumFractionDigits: Math.abs(value) < 100 ? 1 : 0 });
}

function cells(figure: Figure): string[] {
  const { mustReach } = figure;
  const limit =
    mustReach === undefined
      ? ""
      : "ratio" in mustReach
        ? `${mustReach.ratio} of floor`
        : "atMost" in mustReach
          ? `≤ ${number(mustReach.atMost)}`
          : `≥ ${number(mustReach.atLeast)}`;
  const reached = reaches(figure);
  const result = reached === null ? "" : reached ? "ok" : "short";
  return [
    figure.figure,
    `${number(figure.value)} ${figure.unit}`,
    number(figure.floor),
    figure.ratio?.toFixed(2) ?? "",
    limit,
    result,
  ];
}

function table(figures: readonly Figure[]): string {
  const lines = [["figure", "value", "floor", "ratio", "must reach", ""], ...figures.map(cells)];
  const widths = [0, 1, 2, 3, 4, 5].map((column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  const isText = (column: number): boolean => column === 0 || column > 3;
  const pad = (cell: string, column: number): string =>
    isText(column) ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  return lines.map((line) => line.map(pad).join("  ").trimEnd()).join("\n");
}

async function main(): Promise<void> {
  if (flags.help) return void process.stdout.write(`${help}\n`);
  const wanted = flags.only?.split(",");
  const unknown = wanted?.find((name) => !rows.some((row) => row.name === name));
  if (unknown !== undefined) throw new Error(`There is no row ${unknown}.\n\n${help}`);
  await buildIfStale();

  const at = new Date().toISOString();
  const loadAtStart = loadavg();
  const figures: (Figure & { row: string; reached: boolean | null })[] = [];
  for (const row of rows) {
    if (wanted !== undefined && !wanted.includes(row.name)) continue;
    process.stderr.write(`${row.name}\n`);
    for (const figure of await row.run({ quick: flags.quick, say }))
      figures.push({ row: row.name, ...figure, reached: reaches(figure) });
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
