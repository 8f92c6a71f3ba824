import { pathToFileURL } from "node:url";
import { buildIfStale, cliFile } from "./build.ts";

/** Runs the built `hookyard serve` in this process. */
export async function runServe(flags: readonly string[]): Promise<void> {
  await buildIfStale();
  process.argv = [process.execPath, cliFile, "serve", ...flags];
  await import(pathToFileURL(cliFile).href);
}
