/**
 * `npm run check`: runs the scripts `check:…` of package.json, as many at a time as there are
 * cores. Prints the output of each part in one piece, and ends with the exit code of the first part
 * in their order that failed. Two runs in one checkout may share the state that tsc keeps: tsc
 * ignores a damaged state file and checks everything.
 *
 * tsc and the lint with types resolve the types of packages once per thread, so each gets its share
 * of the cores, and tsc one checker: with more of them, the same work costs up to twice the CPU
 * time.
 */

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";

type Part = { name: string; command: string };

const root = fileURLToPath(new URL("../../", import.meta.url));
const { scripts } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as {
  scripts: Record<string, string>;
};
const parts = Object.entries(scripts)
  .filter(([name]) => name.startsWith("check:"))
  .map(([name, command]): Part => ({ name, command }));

const { isTTY } = process.stdout;
const cores = availableParallelism();
const env = {
  ...process.env,
  ...(isTTY ? { FORCE_COLOR: "1" } : {}),
  GOMAXPROCS: String(Math.max(1, Math.floor(cores / 2))),
  // Garbage collection is a quarter of their CPU time; without it each needs up to 1.5 GB.
  GOGC: "off",
  GOMEMLIMIT: "2GiB",
};
const started = parts.values();
const codes = new Map<string, number>();
await Promise.all(
  Array.from({ length: cores }, async () => {
    for (const part of started) codes.set(part.name, await run(part));
  }),
);
process.exitCode = parts.map(({ name }) => codes.get(name) ?? 1).find((code) => code !== 0) ?? 0;

/** Returns the exit code. */
function run({ name, command }: Part): Promise<number> {
  const child = spawn(command, {
    cwd: root,
    shell: true,
    stdio: ["ignore", "pipe", "pipe"],
    env,
  });
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => output.push(chunk));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      const text = Buffer.concat(output).toString("utf8");
      process.stdout.write(
        `${name}: ${code === 0 ? "passed" : "failed"}\n${code === 0 ? "" : text}`,
      );
      resolve(code ?? 1);
    });
  });
}
