/**
 * `npm run measure`: how large the code in `src` is and how far apart its pieces are, as a table,
 * or with `--json` as JSON with the names behind the numbers. Tests and fixtures do not count,
 * except where said.
 */

import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { circlesIn, functionsIn, longestChain } from "./figures.ts";
import { readSourceFile } from "./source-file.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const shortLines = 60;
const longLines = 90;

const texts = globSync("src/**/*.{ts,tsx}", { cwd: root })
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => !/\.test\.tsx?$/.test(path))
  .toSorted()
  .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
const files = texts
  .filter(({ path }) => !/\.fixture\.tsx?$/.test(path))
  .map(({ path, text }) => readSourceFile(path, text));

const known = new Set(files.map(({ path }) => path));
const graph = new Map(
  files.map(({ path, imports }) => [
    path,
    [...imports.keys()].filter((target) => known.has(target)),
  ]),
);
const importers = new Map<string, number>();
for (const targets of graph.values())
  for (const target of targets) importers.set(target, (importers.get(target) ?? 0) + 1);

const single = files.filter(({ path }) => importers.get(path) === 1);
const singleShort = single.filter(({ lines }) => lines < shortLines);
const chain = longestChain(graph);
const circles = circlesIn(graph);
const functions = texts
  .flatMap(({ path, text }) => functionsIn(path, text).map((each) => ({ path, ...each })))
  .toSorted((a, b) => b.lines - a.lines);
const [longest] = functions;
const longFunctions = functions.filter(({ lines }) => lines > longLines);
const longByOwn = functions.filter(({ ownLines }) => ownLines > longLines);

const flows = JSON.parse(
  execFileSync(process.execPath, [join(root, "test/structure/flow-coverage.ts")], {
    encoding: "utf8",
  }),
) as Record<"event" | "clockStep" | "retryNow", string[]>;

const inRenderer = texts.filter(({ path }) => path.startsWith("src/renderer/"));
const styles = globSync("src/**/*.css", { cwd: root }).map((path) =>
  readFileSync(join(root, path), "utf8"),
);

const figures: [name: string, value: number, note?: string][] = [
  ["files in src", texts.length, "TypeScript with fixtures, without tests"],
  ["lines in src", linesOf(texts.map(({ text }) => text))],
  [
    "thousand characters in src",
    charactersOf(texts.map(({ text }) => text)),
    "without indentation: the same at every width",
  ],
  ["files in src/renderer", inRenderer.length],
  ["lines in src/renderer", linesOf(inRenderer.map(({ text }) => text))],
  ["lines of CSS", linesOf(styles), `${styles.length} files`],
  [
    "files executed for one event",
    flows.event.length,
    "POST to 200 of the webhook, until all is quiet",
  ],
  [
    "files executed for a clock step",
    flows.clockStep.length,
    "clock.advance to a retry, with its attempt",
  ],
  ["files executed for retry now", flows.retryNow.length, "deliveries.retry until it returns"],
  ["files with one importer", single.length],
  [`files with one importer under ${shortLines} lines`, singleShort.length],
  ["longest function", longest?.lines ?? 0, `${longest?.name} in ${longest?.path}`],
  [`functions over ${longLines} lines`, longFunctions.length],
  ["of those, without the functions in them", longByOwn.length, "still so long"],
  ["longest import chain", chain.length, "types count; a circle counts as its files"],
  ["import circles", circles.length, "types count"],
];

if (process.argv.includes("--json")) {
  const values = Object.fromEntries(figures.map(([name, value]) => [name, value]));
  const names = {
    singleShort: singleShort.map(({ path }) => path),
    longFunctions,
    chain,
    circles,
    flows,
  };
  process.stdout.write(`${JSON.stringify({ values, names }, null, 2)}\n`);
} else {
  for (const [name, value, note = ""] of figures) {
    process.stdout.write(`${name.padEnd(44)} ${String(value).padStart(7)}  ${note}\n`);
  }
}

function linesOf(all: readonly string[]): number {
  return all.reduce((sum, text) => sum + text.split("\n").length - 1, 0);
}

function charactersOf(all: readonly string[]): number {
  const lines = all.flatMap((text) => text.split("\n"));
  return Math.round(lines.reduce((sum, line) => sum + line.trim().length, 0) / 1000);
}
