/** The command line: as a file for Node to run, and as words for a shell. */

import { fileURLToPath } from "node:url";
import { shellQuoted } from "../../src/domain/shell-quoted.ts";
import {
  cliFile,
  fingerprintOfSources,
  pagesStampFile,
  readStamp,
} from "../../src/launch/build.ts";
import { stateVariable } from "../mutate/switch.ts";

/**
 * The built program starts in half of the time, so the tests take it when it is that of the
 * sources, which it is when all tests run. A mutant is in the sources only.
 */
export const isBuilt =
  process.env[stateVariable] === undefined && readStamp(pagesStampFile) === fingerprintOfSources();

export const program = isBuilt
  ? cliFile
  : fileURLToPath(new URL("../../src/headless/cli.ts", import.meta.url));

/** The directory of this checkout may have any name. */
export const nodeInShell = shellQuoted(process.execPath);

export const programInShell = `${nodeInShell} ${shellQuoted(program)}`;
