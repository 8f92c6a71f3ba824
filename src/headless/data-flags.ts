/** The flags of the commands that look at a data directory: `hookyard doctor` and `hookyard backup`. */

import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { defaultDataDirectory } from "./data-directory.ts";

type DataFlags = { data: string; json: boolean; force: boolean; files: string[] };

const dataFlag = `  --data DIR    The data directory. Default: ${defaultDataDirectory()}`;

export const doctorHelp = `Usage: hookyard doctor [flags]

Checks a data directory: SQLite's integrity check, counts against rows, the log, the marker, the rights. Works while Hookyard
runs on it and while none does, and changes nothing.

${dataFlag}
  --json        Print one JSON object instead of text.
  --help        This text.

Ends with 0 when nothing is wrong, with 1 when something is, and with 2 when a flag is wrong or there is nothing to check.`;

export const backupHelp = `Usage: hookyard backup FILE [flags]

Copies the data into one file that only its owner can read, also while Hookyard runs, and checks the copy. To restore it, put it
into a new directory under the name hookyard.db, and start Hookyard with --data on that.

${dataFlag}
  --force       Replace FILE when it is there.
  --json        Print one JSON object instead of text.
  --help        This text.

Ends with 0 when the backup is written, with 1 when it is not, and with 2 when a flag is wrong.`;

/** The flags, `help`, or what is wrong with them in one line. */
export function parseDataFlags(command: "doctor" | "backup", args: string[]): DataFlags | "help" | { wrong: string } {
  const more = `hookyard ${command} --help lists all flags.`;
  let parsed;
  try {
    parsed = parseArgs({
      args,
      allowPositionals: command === "backup",
      options: {
        data: { type: "string" },
        json: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
        ...(command === "backup" ? { force: { type: "boolean", default: false } as const } : {}),
      },
    });
  } catch (error) {
    const reason = error instanceof Error ? error.message.split(/[.\n]/)[0] : "The flags cannot be read";
    return { wrong: `${reason}. ${more}` };
  }
  const { values, positionals: files } = parsed;
  if (values.help) return "help";
  const data = values.data ?? defaultDataDirectory();
  if (data === "" || data === ":memory:") return { wrong: `--data needs a directory. ${more}` };
  if (command === "backup" && files.length !== 1) return { wrong: `hookyard backup needs one file to write to. ${more}` };
  return { data: resolve(data), json: values.json, force: values.force === true, files };
}
