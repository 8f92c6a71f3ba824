/** The flags of `hookyard run`. */

import { parseArgs } from "node:util";

export type RunFlags = {
  files: string[];
  junit: string | undefined;
  json: boolean;
  seed: number | undefined;
  keep: boolean;
};

export const runHelp = `Usage: hookyard run FILE… [flags]

Runs scenarios, each in a pipeline of its own: in memory, on free ports, on a clock that moves only as the scenario says.

  --junit FILE    Write the results there as JUnit XML.
  --json          Print one JSON document instead of text. The same files and seed give the same bytes.
  --seed N        Draw from this seed instead of the files' own.
  --keep          Keep the first file's pipeline running afterwards, and print the inspector's address.
  --help          This text.

Ends with 0 when every expectation was met, with 1 when one was not or a file cannot be used, and with 2 when a flag is wrong.`;

/** The flags, `help`, or what is wrong with them in one line. */
export function parseRunFlags(args: string[]): RunFlags | "help" | { wrong: string } {
  let parsed;
  try {
    parsed = parseArgs({
      args,
      allowPositionals: true,
      options: {
        junit: { type: "string" },
        json: { type: "boolean", default: false },
        seed: { type: "string" },
        keep: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (error) {
    const reason = error instanceof Error ? error.message.split(/[.\n]/)[0] : "The flags cannot be read";
    return { wrong: `${reason}. hookyard run --help lists all flags.` };
  }
  const { values, positionals: files } = parsed;
  if (values.help) return "help";
  if (files.length === 0) return { wrong: "hookyard run needs at least one scenario file. hookyard run --help says more." };
  const twice = files.find((file, index) => files.indexOf(file) !== index);
  if (twice !== undefined) return { wrong: `${twice} is there twice.` };
  if (values.junit === "") return { wrong: "--junit needs a file." };
  const seed = values.seed === undefined ? undefined : Number(values.seed);
  if (seed !== undefined && !(/^-?\d{1,16}$/.test(values.seed ?? "") && Number.isSafeInteger(seed)))
    return { wrong: "--seed needs a whole number." };
  return { files, junit: values.junit, json: values.json, seed, keep: values.keep };
}
