/** `hookyard run`: runs scenario files side by side, prints the results, and sets the exit code. */

import { readFile, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { ScenarioReport } from "../contract/scenarios.ts";
import { monotonic, wallClockNow } from "../engine/real-time.ts";
import { typedCalls, type RunningPipeline } from "../scenarios/run/pipeline.ts";
import { readScenario } from "../scenarios/file/read-scenario.ts";
import { runRead, unusableReport } from "../scenarios/run/run-scenario.ts";
import { junitXml, type TimedReport } from "../scenarios/report/junit.ts";
import { colourPaint, plainPaint, reportText, type Paint } from "../scenarios/report/text.ts";
import { endEarly, readFlags, wholeNumber } from "./flags.ts";

/**
 * A scenario mostly waits for its own sockets: a few beside each other fill that time, more would
 * only compete.
 */
const besideEachOther = 4;

export async function runCommand({
  args,
  root,
  version,
}: {
  args: string[];
  root: string;
  version: string;
}): Promise<number> {
  const flags = parseRunFlags(args);
  if (flags === "help" || "wrong" in flags) return endEarly(flags, runHelp);
  const paint = hasColour() ? colourPaint : plainPaint;
  const began = monotonic();
  let kept: Kept | null = null;
  const keep = (pipeline: Kept): void => {
    kept = pipeline;
  };
  const timed = await runAll(flags, { version, root }, keep, (report) => {
    if (!flags.json) process.stdout.write(`${reportText(report, paint)}\n\n`);
  });
  const reports = timed.map(({ report }) => report);
  if (flags.json) process.stdout.write(`${JSON.stringify({ scenarios: reports }, null, 2)}\n`);
  else process.stdout.write(`${summary(reports, monotonic() - began, paint)}\n`);
  const written = flags.junit === undefined || (await writeJunit(flags.junit, timed));
  if (kept !== null) await serveKept(kept, { root });
  return written && reports.every(({ state }) => state === "passed") ? 0 : 1;
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
  const { collectShare } = await import("../share/share-file.ts");
  const { writeShare } = await import("./share-command.ts");
  const lines = await collectShare({
    ...pipeline,
    version,
    savedAt: new Date(wallClockNow()).toISOString(),
    secrets: false,
    redact: [],
    filter: "",
  });
  if (typeof lines === "string")
    writeShare({ file, lines, root, force: true, say: (text) => void process.stderr.write(text) });
}

type RunFile = Pick<Parameters<typeof runRead>[0], "start" | "keep" | "seed"> & { file: string };

async function runFile({ file, ...options }: RunFile): Promise<TimedReport> {
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
    return await readFile(file, "utf8");
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
async function serveKept({ api }: Kept, { root }: { root: string }): Promise<void> {
  const { createControlPort } = await import("./http-api.ts");
  const { createStaticPages } = await import("./static-pages.ts");
  const { readOrMakeToken } = await import("./token.ts");
  const token = readOrMakeToken(null);
  const pages = createStaticPages([join(root, "out", "renderer"), join(root, "resources", "bare")]);
  const control = createControlPort({
    api,
    token,
    pages,
    host: "127.0.0.1",
    port: 0,
    report: reportError,
  });
  const url = await control.start();
  // Standard output may be a JSON document that somebody parses.
  process.stderr.write(
    `The first scenario's pipeline keeps running. Ctrl+C ends it.\n\n  Inspector  ${url}/#token=${token}\n`,
  );
  await new Promise<void>((resolve) => {
    process.once("SIGINT", () => resolve());
    process.once("SIGTERM", () => resolve());
  });
}

export type RunFlags = {
  files: string[];
  junit: string | undefined;
  json: boolean;
  seed: number | undefined;
  keep: boolean;
  share: string | undefined;
};

export const runHelp = `Usage: hookyard run FILE… [flags]

Runs each scenario in its own pipeline: in memory, on free ports, with a clock that only the scenario moves.

  --junit FILE    Write the results to FILE as JUnit XML.
  --json          Print one JSON document instead of text. The same files and seed give the same bytes.
  --seed N        Use this seed instead of the seeds in the files.
  --share FILE    When a scenario fails, write its messages into a share file, or a page: NAME.hookyard, NAME.html.
  --keep          Keep the first file's pipeline running afterwards, and print the inspector's address.
  --help          This text.

Exit code: 0 when every expectation is met, 1 when one is not or a file cannot be used, 2 when a flag is wrong.`;

/** The flags, `help`, or what is wrong with them in one line. */
export function parseRunFlags(args: string[]): RunFlags | "help" | { wrong: string } {
  const read = readFlags("run", args, {
    options: {
      junit: { type: "string" },
      json: { type: "boolean", default: false },
      seed: { type: "string" },
      keep: { type: "boolean", default: false },
      share: { type: "string" },
    },
  });
  if (read === "help" || "wrong" in read) return read;
  const { values, positionals: files } = read;
  if (files.length === 0)
    return {
      wrong: "hookyard run needs at least one scenario file. hookyard run --help lists all flags.",
    };
  const twice = files.find((file, index) => files.indexOf(file) !== index);
  if (twice !== undefined) return { wrong: `${twice} appears twice.` };
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
    share: values.share,
  };
}
