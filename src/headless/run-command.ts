/** `hookyard run`: runs scenario files side by side, prints the results, and sets the exit code. */

import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import { existsSync, globSync, watchFile } from "node:fs";
import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, relative, resolve, sep } from "node:path";
import type { ScenarioReport } from "../contract/scenarios.ts";
import { isProblem } from "../domain/problem.ts";
import { monotonic, startTimer, wallClockNow, type RealTimer } from "../engine/real-time.ts";
import { typedCalls, type RunningPipeline } from "../scenarios/run/pipeline.ts";
import type { runRead as RunRead } from "../scenarios/run/run-scenario.ts";
import { annotations, stepSummary } from "../scenarios/report/github.ts";
import { junitXml, type TimedReport } from "../scenarios/report/junit.ts";
import { colourPaint, plainPaint, reportText, type Paint } from "../scenarios/report/text.ts";
import { whenAskedToStop } from "./asked-to-stop.ts";
import { run } from "./commands.ts";
import { endEarly, readFlags, wholeNumber, type Invocation } from "./flags.ts";

/**
 * A scenario mostly waits for its own sockets: a few at the same time fill that time, more would
 * only compete.
 */
const besideEachOther = 4;

export async function runCommand({ args, root, version }: Invocation): Promise<number> {
  const flags = parseRunFlags(args);
  if (flags === "help" || "wrong" in flags) return endEarly(flags, run);
  const paint = hasColour() ? colourPaint : plainPaint;
  let kept: Kept | null = null;
  const keep = (pipeline: Kept): void => {
    kept = pipeline;
  };
  /** The last result of each file, in the order of the first run. */
  const latest = new Map<string | null, TimedReport>();
  const runThese = async (files: readonly string[]): Promise<boolean> => {
    const began = monotonic();
    const github = inGitHub(flags.json);
    github.begin();
    const timed = await runAll(
      { ...flags, files: [...files] },
      { version, root },
      keep,
      (report) => {
        if (!flags.json) process.stdout.write(`${reportText(report, paint)}\n\n`);
      },
    );
    const reports = timed.map(({ report }) => report);
    if (flags.json) process.stdout.write(`${JSON.stringify({ scenarios: reports }, null, 2)}\n`);
    else process.stdout.write(`${summary(reports, monotonic() - began, paint)}\n`);
    for (const each of timed) latest.set(each.report.file, each);
    const written =
      flags.junit === undefined || (await writeJunit(flags.junit, [...latest.values()]));
    await github.end(reports);
    return written && reports.every(({ state }) => state === "passed");
  };
  if (flags.watch) return watchFiles(flags.files, runThese);
  const passed = await runThese(flags.files);
  if (kept !== null) await serveKept(kept, { root, version });
  return passed ? 0 : 1;
}

/**
 * The job's log, where lines of a certain form are commands: what receivers and files say is kept
 * from being one.
 */
function inGitHub(json: boolean) {
  const { GITHUB_ACTIONS, GITHUB_STEP_SUMMARY, GITHUB_WORKSPACE } = process.env;
  const isThere = GITHUB_ACTIONS === "true";
  const stop = randomUUID();
  const out = json ? process.stderr : process.stdout;
  const pathOf = (file: string): string =>
    relative(GITHUB_WORKSPACE || process.cwd(), resolve(file))
      .split(sep)
      .join("/");
  return {
    begin: (): void => void (isThere && !json && out.write(`::stop-commands::${stop}\n`)),
    async end(reports: readonly ScenarioReport[]): Promise<void> {
      if (!isThere) return;
      if (!json) out.write(`::${stop}::\n`);
      for (const line of annotations(reports, pathOf)) out.write(`${line}\n`);
      if (!GITHUB_STEP_SUMMARY) return;
      await appendFile(GITHUB_STEP_SUMMARY, stepSummary(reports)).catch((error: Error) =>
        process.stderr.write(`The step summary cannot be written: ${error.message}\n`),
      );
    },
  };
}

/** At once for a person, and next to no work for the machine. */
const lookEveryMs = 100;
/** An editor saves in several steps, which two looks may see. */
const settledMs = 150;

/**
 * Runs all, and then those that have changed, one run at a time, until a signal comes. The program
 * exits then, and the watchers with it. Returns the exit code.
 */
async function watchFiles(
  files: readonly string[],
  runThese: (files: readonly string[]) => Promise<boolean>,
): Promise<number> {
  const changed = new Set<string>();
  let running: Promise<unknown> = Promise.resolve();
  let timer: RealTimer | null = null;
  const runChanged = (): void => {
    const these = files.filter((file) => changed.has(file));
    changed.clear();
    running = running.then(() => runThese(these)).catch(reportError);
  };
  const isAnyThere = files.some((file) => existsSync(dirname(resolve(file))));
  // By its path, because an editor may replace the file, and a checkout its directory.
  for (const file of files) {
    watchFile(file, { interval: lookEveryMs }, (now, before) => {
      if (now.mtimeMs === 0 && before.mtimeMs === 0) return;
      changed.add(file);
      timer?.cancel();
      timer = startTimer(settledMs, runChanged);
    });
  }
  const signalled = whenAskedToStop();
  const first = runThese(files);
  running = first.catch(() => undefined);
  await Promise.race([first, signalled]);
  if (!isAnyThere) {
    process.stderr.write("There is no directory to watch.\n");
    return 1;
  }
  process.stderr.write("Waiting for changes. Ctrl+C ends it.\n");
  await signalled;
  return 0;
}

type Kept = RunningPipeline & Pick<import("../app.ts").App, "api" | "pipeline">;

/** Calls back in the order of the files, as soon as a report and all before it are there. */
async function runAll(
  flags: RunFlags,
  { version, root }: { version: string; root: string },
  keep: (pipeline: Kept) => void,
  onReport: (report: ScenarioReport) => void,
): Promise<TimedReport[]> {
  const { startInMemory } = await import("../app.ts");
  const start = async ({ startAt }: { startAt: number }): Promise<Kept> => {
    const app = await startInMemory({ startAt, version, report: reportError });
    const { api, pipeline } = app;
    return { ...typedCalls(api.call), api, pipeline, stop: () => app.stop() };
  };
  const done: TimedReport[] = [];
  let next = 0;
  let reported = 0;
  let isShared = flags.share === undefined;
  const work = async (): Promise<void> => {
    for (let index = next; index < flags.files.length; index = next) {
      next += 1;
      const isKept = flags.keep && index === 0;
      const left: Kept[] = [];
      const keepThis =
        isKept || !isShared
          ? { keep: (pipeline: RunningPipeline) => void left.push(pipeline as Kept) }
          : {};
      done[index] = await runFile({
        file: flags.files[index] as string,
        seed: flags.seed,
        start,
        ...keepThis,
      });
      for (const pipeline of left) {
        if (!isShared && done[index]?.report.state === "failed") {
          isShared = true;
          await shareRun(pipeline, { version, root, file: flags.share as string });
        }
        if (isKept) keep(pipeline);
        else await pipeline.stop();
      }
      for (let ready = done[reported]; ready !== undefined; ready = done[reported]) {
        reported += 1;
        onReport(ready.report);
      }
    }
  };
  await Promise.all(Array.from({ length: besideEachOther }, work));
  return done;
}

/** What the pipeline of a failed run has at its end. */
async function shareRun(
  pipeline: Kept,
  { version, root, file }: { version: string; root: string; file: string },
): Promise<void> {
  const { collectShare, writeShare, writtenText } = await import("../share/share-file.ts");
  const lines = await collectShare({
    ...pipeline,
    version,
    savedAt: new Date(wallClockNow()).toISOString(),
    secrets: false,
    redact: [],
    filter: "",
  });
  const written = isProblem(lines)
    ? { wrong: lines.message }
    : await writeShare({ file, lines, root, force: true });
  process.stderr.write(`${"wrong" in written ? written.wrong : writtenText(written)}\n`);
}

type RunFile = Pick<Parameters<typeof RunRead>[0], "start" | "keep" | "seed"> & { file: string };

async function runFile({ file, ...options }: RunFile): Promise<TimedReport> {
  const { readScenario } = await import("../scenarios/file/read-scenario.ts");
  const { runRead, unusableReport } = await import("../scenarios/run/run-scenario.ts");
  const startedAt = wallClockNow();
  const began = monotonic();
  const stepsMs: number[] = [];
  let last = began;
  const onStep = (): void => {
    const now = monotonic();
    stepsMs.push(now - last);
    last = now;
  };
  const text = await read(file);
  const report =
    typeof text === "string"
      ? await runRead({ ...options, file, read: readScenario(text), onStep })
      : unusableReport([{ line: 1, column: 1, message: text.wrong }], { file, seed: options.seed });
  return { report, startedAt, durationMs: monotonic() - began, stepsMs };
}

async function read(file: string): Promise<string | { wrong: string }> {
  try {
    const bytes = await readFile(file);
    return isUtf8(bytes)
      ? bytes.toString("utf8")
      : { wrong: "The file is not UTF-8. Save it in that encoding." };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return {
      wrong:
        code === "ENOENT"
          ? "The file was not found."
          : code === "EISDIR"
            ? "This is a directory. Name the files in it."
            : `The file cannot be read: ${message}.`,
    };
  }
}

async function writeJunit(file: string, reports: readonly TimedReport[]): Promise<boolean> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, junitXml(reports, hostname()));
    return true;
  } catch (error) {
    process.stderr.write(
      `${file} cannot be written: ${error instanceof Error ? error.message : String(error)}\n`,
    );
    return false;
  }
}

function summary(reports: readonly ScenarioReport[], ms: number, paint: Paint): string {
  const count = (state: ScenarioReport["state"]): number =>
    reports.filter((report) => report.state === state).length;
  const parts = [
    ...(count("passed") > 0 ? [paint.good(`${count("passed")} passed`)] : []),
    ...(count("failed") > 0 ? [paint.bad(`${count("failed")} failed`)] : []),
    ...(count("unusable") > 0 ? [paint.bad(`${count("unusable")} unusable`)] : []),
  ];
  const seconds = `${(ms / 1000).toFixed(1)} s`;
  return `${parts.join(", ")}  ${paint.faint(`${reports.length} ${reports.length === 1 ? "scenario" : "scenarios"} in ${seconds}`)}`;
}

function hasColour(): boolean {
  return process.stdout.isTTY && (process.env["NO_COLOR"] ?? "") === "";
}

function reportError(error: unknown): void {
  process.stderr.write(`${String(error instanceof Error ? error.stack : error)}\n`);
}

/** Until a signal comes. Nothing of it outlives the command. */
async function serveKept(
  { api }: Kept,
  { root, version }: { root: string; version: string },
): Promise<void> {
  const { startControl } = await import("./control.ts");
  const { uiUrl: url, token } = await startControl({
    api,
    dataDir: null,
    root,
    port: 0,
    version,
    program: "headless",
    report: reportError,
  });
  // Standard output may be a JSON document that somebody parses.
  process.stderr.write(
    `The first scenario's pipeline keeps running. Ctrl+C ends it.\n\n  Inspector  ${url}/#token=${token}\n`,
  );
  await whenAskedToStop();
}

export type RunFlags = {
  files: string[];
  junit: string | undefined;
  json: boolean;
  seed: number | undefined;
  keep: boolean;
  watch: boolean;
  share: string | undefined;
};

/** The flags, `help`, or what is wrong with them in one line. */
export function parseRunFlags(args: string[]): RunFlags | "help" | { wrong: string } {
  const read = readFlags(run, args);
  if (read === "help" || "wrong" in read) return read;
  const { values, positionals } = read;
  if (positionals.length === 0)
    return {
      wrong: "hookyard run needs at least one scenario file. hookyard run --help lists all flags.",
    };
  const found = positionals.map(filesOf);
  const none = found.findIndex((files) => files.length === 0);
  if (none !== -1) return { wrong: `No file matches ${positionals[none]}.` };
  const files = found.flat();
  const twice = files.find((file, index) => files.indexOf(file) !== index);
  if (twice !== undefined) return { wrong: `${twice} appears twice.` };
  if (values.keep && values.watch)
    return { wrong: "--keep and --watch both wait: give one of them." };
  if (values.share !== undefined && !/\.(?:hookyard|html)$/.test(values.share))
    return { wrong: "--share needs a file: NAME.hookyard or NAME.html." };
  if (values.junit === "") return { wrong: "--junit needs a file." };
  const seed = wholeNumber(values.seed, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
  if (Number.isNaN(seed)) return { wrong: "--seed needs a whole number." };
  return {
    files,
    junit: values.junit,
    json: values.json,
    seed,
    keep: values.keep,
    watch: values.watch,
    share: values.share,
  };
}

/** Shells of Windows pass a pattern on as it is. */
function filesOf(operand: string): string[] {
  return /[*?[]/.test(operand) && !existsSync(operand) ? globSync(operand).toSorted() : [operand];
}
