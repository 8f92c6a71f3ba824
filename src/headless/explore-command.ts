/**
 * `hookyard explore`: searches for the schedule that breaks a receiver, writes it as a scenario,
 * and sets the exit code.
 */

import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { shellQuoted } from "../domain/shell-quoted.ts";
import { explore as searchSchedules, type Explored } from "../explore/explore.ts";
import { readExploration, type Exploration } from "../explore/explore-file.ts";
import { CannotExplore } from "../explore/explored-receiver.ts";
import { scenarioOf } from "../explore/scenario.ts";
import { scheduleTexts } from "../explore/schedule.ts";
import {
  colourPaint,
  plainPaint,
  shown,
  shownLines,
  type Paint,
} from "../scenarios/report/text.ts";
import { whenAskedToStop } from "./asked-to-stop.ts";
import { explore } from "./commands.ts";
import { endEarly, readFlags, wholeNumber } from "./flags.ts";

type Flags = {
  file: string;
  runs: number;
  minutes: number;
  seed: number | undefined;
  out: string;
  json: boolean;
};

export async function exploreCommand({ args }: { args: string[] }): Promise<number> {
  const flags = parseExploreFlags(args);
  if (flags === "help" || "wrong" in flags) return endEarly(flags, explore);
  try {
    return await search(flags);
  } catch (error) {
    if (!(error instanceof CannotExplore)) throw error;
    process.stderr.write(`${shownLines(error.message)}\n`);
    return 2;
  }
}

async function search({ file, out, runs, minutes, seed: given, json }: Flags): Promise<number> {
  const paint =
    process.stdout.isTTY && (process.env["NO_COLOR"] ?? "") === "" ? colourPaint : plainPaint;
  const print = (text: string): void => void (json || process.stdout.write(`${text}\n`));
  const exploration = await read(file);
  // Before minutes of search.
  const there = await stat(out).catch(() => null);
  if (there?.isDirectory() === false) throw new CannotExplore(`${out} is not a folder.`);
  const seed = given ?? exploration.seed ?? 1;
  const variable = process.env["HOOKYARD_SECRET"] ?? "";
  print(`${paint.strong(shown(exploration.name))}  ${exploration.receiver.url}  seed ${seed}`);
  const stop = new AbortController();
  void whenAskedToStop().then(() => {
    stop.abort();
    process.stderr.write(
      "Stopping after the schedules that are running. Press Ctrl-C again to end at once.\n",
    );
  });
  const explored = await searchSchedules({
    exploration,
    signal: stop.signal,
    secret: variable === "" ? null : variable,
    seed,
    runs,
    minutes,
    onProgress(progress) {
      if (process.stdout.isTTY && !json) process.stdout.write(`${progressText(progress)}\r`);
    },
    onFailure: ({ number, text }) =>
      print(
        paint.faint(
          `Schedule ${number} failed: ${shown(text)} Looking for the smallest that does …`,
        ),
      ),
  });
  print(summary(explored, paint));
  const { finding, schedules, notes, unsteady, gone, isStopped, coverage } = explored;
  const printJson = (found: object | null): void => {
    const about = { name: exploration.name, seed, schedules, stopped: isStopped };
    const searched = { ...about, notes, unsteady, gone, coverage };
    if (json) process.stdout.write(`${JSON.stringify({ ...searched, finding: found })}\n`);
  };
  if (finding === null) {
    printJson(null);
    if (unsteady.length > 0 || gone !== null) return 1;
    return isStopped ? 130 : 0;
  }
  print(`\n${paint.bad(`✗ ${finding.violations.map((one) => shown(one.text)).join(" ")}`)}`);
  const lines = scheduleTexts(finding.schedule, exploration);
  for (const [index, line] of lines.entries()) print(`  ${index + 1}. ${shown(line)}`);
  const states = finding.violations.flatMap((one) => one.states ?? []);
  for (const { expected, actual } of states)
    print(`  expected  ${shown(expected)}\n  actual    ${shown(actual)}`);
  const printFound = (scenario: string | null): void =>
    printJson({
      number: finding.number,
      violations: finding.violations.map((one) => one.text),
      states,
      schedule: lines,
      scenario,
    });
  const path = await writeScenario({
    out,
    name: `${
      exploration.name
        .toLowerCase()
        .replace(/[^a-z0-9]+/g, "-")
        .replace(/^-|-$/g, "") || "explored"
    }-seed-${seed}`,
    contentFor: (name) =>
      scenarioOf({
        exploration: explored.exploration,
        schedule: finding.schedule,
        isSigned: variable !== "",
        violations: finding.violations,
        isAfterOthers: finding.isAfterOthers,
        seed,
        number: finding.number,
        file: name,
      }),
  }).catch((error: unknown) => {
    printFound(null);
    throw error;
  });
  printFound(path);
  print(`\nWritten: ${path}  ${paint.faint(`hookyard run ${shellQuoted(path)} shows it again.`)}`);
  return 1;
}

/** Beside what earlier searches have found, which is kept as a test. Returns its path. */
async function writeScenario({
  out,
  name,
  contentFor,
}: {
  out: string;
  name: string;
  contentFor: (file: string) => string;
}): Promise<string> {
  const cannotWrite = (path: string, error: unknown): Error =>
    new CannotExplore(`${path} cannot be written: ${(error as Error).message}`, { cause: error });
  await mkdir(out, { recursive: true }).catch((error: unknown) =>
    Promise.reject(cannotWrite(out, error)),
  );
  for (let nth = 1; ; nth += 1) {
    const file = `${name}${nth === 1 ? "" : `-${nth}`}.yaml`;
    const path = join(out, file);
    const content = contentFor(file);
    try {
      if ((await readFile(path, "utf8").catch(() => null)) !== content)
        await writeFile(path, content, { flag: "wx" });
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw cannotWrite(path, error);
    }
  }
}

async function read(file: string): Promise<Exploration> {
  const content = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) =>
    Promise.reject(
      new CannotExplore(
        error.code === "ENOENT"
          ? `${file} was not found.`
          : `${file} cannot be read: ${error.message}.`,
      ),
    ),
  );
  const exploration = readExploration(content);
  if (!("problems" in exploration)) return exploration;
  throw new CannotExplore(
    exploration.problems
      .map(({ line, column, message }) => `${file}:${line}:${column}  ${message}`)
      .join("\n"),
  );
}

export function progressText({ schedules, ms }: Pick<Explored, "schedules" | "ms">): string {
  return `${schedules} schedules, ${Math.round(ms / 1000)} s`;
}

function summary(
  { notes, schedules, ms, finding, unsteady, gone, isStopped, coverage }: Explored,
  paint: Paint,
): string {
  const seconds = (ms / 1000).toFixed(1);
  const perMinute = Math.round((schedules / Math.max(ms, 1)) * 60_000);
  const { faults, orders } = coverage;
  const lines = [
    ...notes.map(shown),
    `${schedules} ${schedules === 1 ? "schedule" : "schedules"} in ${seconds} s, ${perMinute} a minute${finding === null ? "" : `, and ${finding.runsToShrink} runs to find the smallest`}.`,
    `Covered, as fault × message × position: ${faults.map(({ fault, seen, of }) => `${fault} ${seen} of ${of}`).join(", ") || "no faults"}; orders ${orders.seen} of ${orders.of}.`,
    ...unsteady.map(({ number, text }) =>
      paint.bad(
        `Schedule ${number} failed, and not again, so no scenario can show it: ${shown(text)}`,
      ),
    ),
    ...(gone === null ? [] : [paint.bad(shown(gone))]),
    ...(finding === null && unsteady.length === 0 && gone === null
      ? [isStopped ? "Stopped. Every schedule held so far." : paint.good("✓ Every schedule held.")]
      : []),
  ];
  return lines.join("\n");
}

/** The flags, `help`, or what is wrong with them in one line. */
export function parseExploreFlags(args: string[]): Flags | "help" | { wrong: string } {
  const read = readFlags(explore, args);
  if (read === "help" || "wrong" in read) return read;
  const { values, positionals } = read;
  const [file, ...more] = positionals;
  if (file === undefined)
    return { wrong: "hookyard explore needs a file. hookyard explore --help says more." };
  if (more.length > 0) return { wrong: "hookyard explore takes one file." };
  const runs = wholeNumber(values.runs, 1, 1_000_000) as number;
  const minutes = Number(values.minutes);
  if (Number.isNaN(runs)) return { wrong: "--runs needs a whole number from 1 to 1000000." };
  if (!(minutes > 0 && minutes <= 1440))
    return { wrong: "--minutes needs a number above 0, and 1440 at most." };
  const seed = wholeNumber(values.seed, 0, 2 ** 31 - 1);
  if (Number.isNaN(seed)) return { wrong: "--seed needs a whole number below 2147483648." };
  return { file, runs, minutes, seed, out: values.out ?? ".", json: values.json };
}
