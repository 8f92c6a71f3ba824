/**
 * The command line, as a file for Node to run. The built one starts in two thirds of the time, so
 * the tests take it when it is that of the sources, which it is when all tests run. A mutant is in
 * the sources only.
 */

import { fileURLToPath } from "node:url";
import {
  cliFile,
  fingerprintOfSources,
  pagesStampFile,
  readStamp,
} from "../../src/launch/build.ts";
import { stateVariable } from "../mutate/switch.ts";

const isBuilt =
  process.env[stateVariable] === undefined && readStamp(pagesStampFile) === fingerprintOfSources();

export const program = isBuilt
  ? cliFile
  : fileURLToPath(new URL("../../src/headless/cli.ts", import.meta.url));
