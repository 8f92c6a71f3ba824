/** The results as a table: for the terminal, and in docs/benchmarks.md. */

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../src/launch/build.ts";
import { reaches, type Figure } from "./measure.ts";

export type ReportedFigure = Figure & { row: string; reached: boolean | null };

const head = ["figure", "value", "floor", "ratio", "must reach", ""];

function number(value: number | undefined): string {
  if (value === undefined) return "";
  return value.toLocaleString("en-US", { maximumFractionDigits: Math.abs(value) < 100 ? 1 : 0 });
}

function target({ mustReach }: Figure): string {
  if (mustReach === undefined) return "";
  if ("ratio" in mustReach) return `${mustReach.ratio} of floor`;
  if ("ratioAtMost" in mustReach) return `≤ ${mustReach.ratioAtMost} of floor`;
  return "atMost" in mustReach ? `≤ ${number(mustReach.atMost)}` : `≥ ${number(mustReach.atLeast)}`;
}

function cells(figure: Figure): string[] {
  const reached = reaches(figure);
  return [
    figure.figure,
    `${number(figure.value)} ${figure.unit}`,
    number(figure.floor),
    figure.ratio?.toFixed(2) ?? "",
    target(figure),
    reached === null ? "" : reached ? "ok" : "short",
  ];
}

export function table(figures: readonly Figure[]): string {
  const lines = [head, ...figures.map(cells)];
  const widths = head.map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  const isText = (column: number): boolean => column === 0 || column > 3;
  const pad = (cell: string, column: number): string =>
    isText(column) ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  return lines.map((line) => line.map(pad).join("  ").trimEnd()).join("\n");
}

type Results = {
  at: string;
  figures: readonly ReportedFigure[];
  machine: { cores: number; node: string; loadAtStart: readonly number[] };
  /** The names of all rows. */
  order: readonly string[];
};

const opening = "<!-- results of `npm run bench -- --docs`: do not edit -->";
const closing = "<!-- end of results -->";

/** Replaces the table between the two marks. Rows that did not run keep their results. */
export function writeDocs(file: string, { at, figures, machine, order }: Results): void {
  const text = readFileSync(file, "utf8");
  const start = text.indexOf(opening);
  const end = text.indexOf(closing);
  if (start < 0 || end < start) throw new Error(`${file} has no marks for the results`);
  const day = new Date(at).toLocaleDateString("en-GB", {
    day: "numeric",
    month: "long",
    year: "numeric",
    timeZone: "UTC",
  });
  const load = machine.loadAtStart[0]?.toFixed(1);
  const columns = ["row", ...head.slice(0, 5), "reached"];
  const line = (each: readonly string[]): string => `| ${each.join(" | ")} |`;
  const known = text.slice(start, end).split("\n");
  const rows = order.flatMap((row) => {
    const measured = figures.filter((figure) => figure.row === row);
    return measured.length === 0
      ? known.filter((each) => each.startsWith(`| \`${row}\` `))
      : measured.map((figure) => line([`\`${row}\``, ...cells(figure)]));
  });
  const results = [
    `The last run was on ${day}, with Node ${machine.node.slice(1)} and ${machine.cores} processors (load ${load} at the start):`,
    "",
    line(columns),
    line(
      columns.map((_, column) => (column === 2 || column === 3 || column === 4 ? "---:" : "---")),
    ),
    ...rows,
  ].join("\n");
  writeFileSync(file, `${text.slice(0, start)}${opening}\n\n${results}\n\n${text.slice(end)}`);
  execFileSync(join(root, "node_modules", ".bin", "oxfmt"), [file]);
}
