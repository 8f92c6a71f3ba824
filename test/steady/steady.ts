/**
 * `npm run steady -- --times 20 --busy 10`: `npm test` so many times in a row, each time with an
 * empty temporary directory, the last few of them while two busy loops take the processor. Prints a
 * line per run and every test that failed, keeps the logs of failed runs in `out/steady`, and ends
 * with 1 when a run failed.
 */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

type Report = {
  testResults: {
    name: string;
    status: string;
    message: string;
    assertionResults: { fullName: string; status: string }[];
  }[];
};
type Run = { failed: string[]; left: string[]; seconds: number };

const root = fileURLToPath(new URL("../../", import.meta.url));
const logs = join(root, "out", "steady");

/** Ends with this process, however that ends. */
const busyLoop = `process.on("disconnect", () => process.exit());
(function turn() { for (const end = Date.now() + 50; Date.now() < end; ); setImmediate(turn); })();`;

function startBusyLoops(): ChildProcess[] {
  return [1, 2].map(() =>
    spawn(process.execPath, ["--eval", busyLoop], { stdio: ["ignore", "ignore", "ignore", "ipc"] }),
  );
}

async function runTests(log: string): Promise<Run> {
  const temporary = mkdtempSync(join(tmpdir(), "hookyard-steady-"));
  const report = `${log}.json`;
  const output = openSync(log, "w");
  const started = performance.now();
  const child = spawn(
    "npm",
    ["test", "--", "--reporter=default", "--reporter=json", `--outputFile=${report}`],
    {
      cwd: root,
      shell: process.platform === "win32",
      stdio: ["ignore", output, output],
      env: { ...process.env, TMPDIR: temporary, TEMP: temporary, TMP: temporary },
    },
  );
  const [code] = (await once(child, "close")) as [number | null];
  closeSync(output);
  const seconds = Math.round((performance.now() - started) / 1000);
  const left = readdirSync(temporary);
  rmSync(temporary, { recursive: true, force: true });
  if (code === 0) for (const file of [log, report]) rmSync(file);
  return { failed: code === 0 ? [] : failuresIn(report), left, seconds };
}

function failuresIn(report: string): string[] {
  let results: Report["testResults"];
  try {
    results = (JSON.parse(readFileSync(report, "utf8")) as Report).testResults;
  } catch {
    return ["no test ran to its end: the log says why"];
  }
  const failed = results.flatMap(({ name, status, message, assertionResults }) => {
    const file = relative(root, name);
    const tests = assertionResults
      .filter((test) => test.status === "failed")
      .map(({ fullName }) => `${file}: ${fullName}`);
    return tests.length > 0 || status !== "failed" ? tests : [`${file}: ${message.split("\n")[0]}`];
  });
  return failed.length > 0
    ? failed
    : ["every test passed, but vitest did not end with 0: the log says why"];
}

const { values } = parseArgs({
  options: { times: { type: "string", default: "20" }, busy: { type: "string", default: "10" } },
});
const [times, busy] = [Number(values.times), Number(values.busy)];
if (!Number.isInteger(times) || times < 1 || !Number.isInteger(busy) || busy < 0) {
  console.error("Usage: npm run steady -- --times 20 --busy 10");
  process.exit(2);
}
mkdirSync(logs, { recursive: true });
const failures = new Map<string, number[]>();
for (let nth = 1; nth <= times; nth += 1) {
  const loops = nth > times - busy ? startBusyLoops() : [];
  const log = join(logs, `run-${nth}.log`);
  const { failed, left, seconds } = await runTests(log);
  for (const loop of loops) loop.kill();
  for (const name of failed) failures.set(name, [...(failures.get(name) ?? []), nth]);
  const outcome =
    failed.length === 0 ? "passed" : `${failed.length} failed, see ${relative(root, log)}`;
  const leavings = left.length === 0 ? "" : `, left ${left.join(", ")} in the temporary directory`;
  console.log(
    `Run ${nth} of ${times}${loops.length > 0 ? ", busy" : ""}: ${outcome}, ${seconds} s${leavings}`,
  );
}
console.log(failures.size === 0 ? `All ${times} runs passed.` : "\nFailed:");
for (const [name, runs] of failures) console.log(`  ${name} (run ${runs.join(", ")})`);
process.exitCode = failures.size === 0 ? 0 : 1;
