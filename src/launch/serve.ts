/** `npm run serve -- FLAGS`, and the headless host of `npm start`. */

import { pathToFileURL } from "node:url";
import { buildIfStale, cliFile } from "./build.ts";
import { endWithNpm } from "./end-with-npm.ts";

/** Runs the built `hookyard serve` in this process. */
export async function runServe(flags: readonly string[]): Promise<void> {
  await buildIfStale();
  process.argv = [process.execPath, cliFile, "serve", ...flags];
  await import(pathToFileURL(cliFile).href);
}

if (import.meta.main) {
  endWithNpm();
  await runServe(process.argv.slice(2));
}
