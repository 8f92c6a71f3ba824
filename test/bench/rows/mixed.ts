/** A short form of the soak: mixed load with faults and a clock that moves, and its memory. */

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { median, type Row } from "../measure.ts";
import { withDirectory } from "../temporary.ts";
import type { SoakResult } from "../../soak/soak.ts";

export const mixedLoad: Row = {
  name: "mixed-load",
  run: (options) =>
    withDirectory(async (directory) => {
      const minutes = options.quick ? 1 : 2;
      const file = join(directory, "soak.json");
      const soak = fileURLToPath(new URL("../../soak/soak.ts", import.meta.url));
      // It ends with 1 when a check fails, which the file says too.
      const failure = await promisify(execFile)(process.execPath, [
        soak,
        ...["--minutes", String(minutes), "--json", file],
      ]).catch((error: unknown) => error);
      let result: SoakResult;
      try {
        result = JSON.parse(readFileSync(file, "utf8")) as SoakResult;
      } catch {
        throw failure;
      }
      const failed = result.checks.filter(({ passed }) => !passed);
      for (const { what, found } of failed) options.say(`${what}: ${found}`);
      const lastHalf = result.samples.slice(result.samples.length / 2);
      const named = `${minutes} minute${minutes === 1 ? "" : "s"} of mixed load`;
      return [
        {
          figure: `resident memory, ${named}, second half`,
          unit: "MB",
          value: median(lastHalf.map(({ residentMb }) => residentMb)),
          mustReach: { atMost: 300 },
          runs: result.samples,
        },
        {
          figure: `checks that fail, ${named}`,
          unit: `of ${result.checks.length}`,
          value: failed.length,
          mustReach: { atMost: 0 },
          runs: failed,
        },
      ];
    }),
};
