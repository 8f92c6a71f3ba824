/**
 * Loaded by Node in every process that a test starts: the sources that it loads are the switched
 * ones, and the mutant that is on is on here too.
 */

import { appendFileSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { readRun, setSwitch, stateVariable, switchedPath, testVariable } from "./switch.ts";

const state = process.env[stateVariable];
if (state !== undefined) {
  const root = fileURLToPath(new URL("../../", import.meta.url));
  const { active, files } = readRun(state);
  const mine = new Set(files);
  const about = process.env[testVariable];
  if (active !== null) setSwitch(active, new Map());
  else if (about !== undefined) {
    const file = join(state, "hits", `child-${process.pid}`);
    appendFileSync(file, `${about}\n`);
    // At once, because the process may be killed.
    setSwitch(null, new Map(), (path, n) => appendFileSync(file, `${path}#${n}\n`));
  }
  registerHooks({
    load(url, context, nextLoad) {
      const path = url.startsWith("file:") ? relative(root, fileURLToPath(url)) : "";
      if (!mine.has(path) || (active !== null && active.file !== path))
        return nextLoad(url, context);
      return {
        format: "module-typescript",
        source: readFileSync(switchedPath(state, path), "utf8"),
        shortCircuit: true,
      };
    },
  });
  // The worker that started it may have been killed because it hung.
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) process.exit(1);
  }, 500).unref();
}
