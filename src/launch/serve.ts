/** `npm run serve -- FLAGS`, and the headless host of `npm start`. */

import { pathToFileURL } from "node:url";
import { buildIfStale, cliFile } from "./build.ts";
import { endWithNpm } from "./end-with-npm.ts";

/** Runs the built `hookyard serve` in this process. */
export const runServe = (flags: readonly string[]): Promise<void> => runCli(["serve", ...flags]);

/** Runs the built command line. */
export async function runCli(args: readonly string[]): Promise<void> {
  await buildIfStale();
  process.argv = [process.execPath, cliFile, ...args];
  await import(pathToFileURL(cliFile).href);
}

if (import.meta.main) {
  endWithNpm();
  await runServe(process.argv.slice(2));
}
