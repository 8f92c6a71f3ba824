/** The directory that holds the data, and what a host keeps beside it. */

import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { OpenError } from "./app-errors.ts";

export function makeDataDirectory(path: string): void {
  try {
    makeDirectory(path);
  } catch (error) {
    throw new OpenError(`The data directory ${path} cannot be made: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/**
 * Makes a directory and those above it. Step by step and not with `recursive`, which tries for ever where a file system
 * answers that there is no such directory although its parent is there, as `/proc` does.
 */
function makeDirectory(path: string): void {
  if (existsSync(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeDirectory(parent);
  mkdirSync(path);
}
