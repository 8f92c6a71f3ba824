/**
 * Loaded before each test file in vitest's worker: answers the switched sources which mutant is on,
 * and when coverage is measured, writes down what each test reaches. Child processes inherit the
 * question by their environment.
 */

import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeEach, expect } from "vitest";
import { readRun, setSwitch, stateVariable, testVariable, type Hits } from "./switch.ts";

const state = process.env[stateVariable] ?? "";
const { active } = readRun(state);
const hits: Hits = new Map();
setSwitch(active, hits);

writeFileSync(join(state, "worker"), String(process.pid));
const hook = `--import=${new URL("./in-child.ts", import.meta.url).href}`;
if (process.env["NODE_OPTIONS"]?.includes(hook) !== true)
  process.env["NODE_OPTIONS"] = `${process.env["NODE_OPTIONS"] ?? ""} ${hook}`;

if (active === null) {
  const file = expect.getState().testPath ?? fileURLToPath(import.meta.url);
  // What is reached while the file loads and in its first hooks counts for all of its tests.
  let test: string | null = null;
  const flush = (): void => {
    const reached = Object.fromEntries(
      [...hits].filter(([, set]) => set.size > 0).map(([path, set]) => [path, [...set]]),
    );
    appendFileSync(
      join(state, "hits", `${process.pid}`),
      `${JSON.stringify({ file, test, reached })}\n`,
    );
    for (const set of hits.values()) set.clear();
  };
  const isNow = (name: string | null): void => {
    test = name;
    process.env[testVariable] = JSON.stringify({ file, test });
  };
  isNow(null);
  beforeEach(({ task }) => {
    flush();
    isNow(task.fullTestName);
  });
  afterAll(() => {
    flush();
    isNow(null);
  });
}
