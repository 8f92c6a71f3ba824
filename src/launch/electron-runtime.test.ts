import { expect, test, vi } from "vitest";
import { runRuntime } from "./electron-runtime.ts";

/** A program that stands for Electron's runtime. */
const runtime = (code: string) => ({ command: process.execPath, args: ["-e", code] });

test.each<[string, { command: string; args: string[] }, number | null]>([
  ["runs, and is closed", runtime('console.log("running")'), 0],
  ["refuses by itself, with a sentence of its own", runtime('console.error("The data cannot be opened."); process.exit(1)'), 1],
  ["runs, and crashes later", runtime('console.log("running"); process.exit(9)'), 9],
  ["runs, and is killed later", runtime('console.log("running"); setImmediate(() => process.kill(process.pid, "SIGKILL"))'), 1],
  ["lacks a library", runtime("process.exit(127)"), null],
  ["may not make its sandbox", runtime('process.kill(process.pid, "SIGTRAP")'), null],
  ["is not a program", { command: "/nowhere/electron", args: [] }, null],
])("a runtime that %s", async (_name, program, code) => {
  expect(await runRuntime(program)).toBe(code);
});

test("nothing is shown of what a runtime says that does not start", async () => {
  const shown = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  expect(await runRuntime(runtime('console.error("FATAL: at Object.<anonymous>"); process.exit(133)'))).toBe(null);
  expect(shown).not.toHaveBeenCalled();
  expect(await runRuntime(runtime('console.error("a note"); console.log("running")'))).toBe(0);
  expect(shown).toHaveBeenCalledOnce();
  shown.mockRestore();
});
