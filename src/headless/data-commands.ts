/**
 * The commands on a data directory: `hookyard doctor` checks it, `hookyard backup FILE` writes a
 * verified copy.
 */

import { resolve } from "node:path";
import { OpenError } from "../app-errors.ts";
import type { Examination } from "../app.ts";
import { backup, defaultDataDirectory, doctor } from "./commands.ts";
import { endEarly, readFlags } from "./flags.ts";

type DataFlags = { data: string; json: boolean; force: boolean; files: string[] };

/** The flags, `help`, or what is wrong with them in one line. */
export function parseDataFlags(
  command: typeof doctor | typeof backup,
  args: string[],
): DataFlags | "help" | { wrong: string } {
  const more = `hookyard ${command.name} --help lists all flags.`;
  const read = readFlags<{ data: { value: string; text: string }; json: { text: string } }>(
    command,
    args,
  );
  if (read === "help" || "wrong" in read) return read;
  const { values, positionals: files } = read;
  const data = values.data ?? defaultDataDirectory();
  if (data === "" || data === ":memory:") return { wrong: `--data needs a directory. ${more}` };
  if (command.name === "backup" && files.length !== 1)
    return { wrong: `hookyard backup needs one file to write to. ${more}` };
  return {
    data: resolve(data),
    json: values.json,
    force: "force" in values && values.force === true,
    files,
  };
}

export async function doctorCommand({ args }: { args: string[] }): Promise<number> {
  const flags = parseDataFlags(doctor, args);
  if (flags === "help" || "wrong" in flags) return endEarly(flags, doctor);
  try {
    const { examineData } = await import("../app.ts");
    const examination = examineData(flags.data);
    process.stdout.write(
      flags.json ? `${JSON.stringify(examination, null, 2)}\n` : textOf(examination),
    );
    return examination.findings.length === 0 ? 0 : 1;
  } catch (error) {
    if (!(error instanceof OpenError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 2;
  }
}

function textOf({
  dataDir,
  inUse,
  sizes,
  format,
  newestFormat,
  rows,
  checked,
  findings,
}: Examination): string {
  const size = (bytes: number | null): string =>
    bytes === null ? "missing" : `${bytes.toLocaleString("en")} bytes`;
  const lines = [
    `Data directory  ${dataDir}, ${inUse ? "in use by a running Hookyard" : "not in use"}`,
    `Data file       ${size(sizes.data)}${sizes.free === null ? "" : `, of which ${size(sizes.free)} free`}; log: ${size(sizes.log)}`,
    `Format          ${format ?? "unknown"}; this program knows ${newestFormat}${format !== null && format < newestFormat ? ", and the next start brings it up to date" : ""}`,
    `Rows            ${
      Object.entries(rows)
        .map(([table, count]) => `${count.toLocaleString("en")} ${table}`)
        .join(", ") || "not counted"
    }`,
    `Checked         ${checked.join(", ")}`,
    "",
    findings.length === 0
      ? "Nothing is wrong."
      : `${findings.length} ${findings.length === 1 ? "finding" : "findings"}:`,
    ...findings.flatMap(({ level, message, cure }) => [
      "",
      `${level.padEnd(8)} ${message}`,
      `         ${cure}`,
    ]),
  ];
  return `${lines.join("\n")}\n`;
}

export async function backupCommand({ args }: { args: string[] }): Promise<number> {
  const flags = parseDataFlags(backup, args);
  if (flags === "help" || "wrong" in flags) return endEarly(flags, backup);
  const { data, force, json, files } = flags;
  try {
    const { backUpData } = await import("../app.ts");
    const written = await backUpData({ data, to: files[0] as string, force });
    const { file, bytes, messages } = written;
    const count = (n: number): string => n.toLocaleString("en");
    process.stdout.write(
      json
        ? `${JSON.stringify(written)}\n`
        : `${file}: ${count(messages)} ${messages === 1 ? "message" : "messages"}, ${count(bytes)} bytes, checked. To restore it, put it into a new directory as hookyard.db and start with --data set to that directory.\n`,
    );
    return 0;
  } catch (error) {
    if (!(error instanceof OpenError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
}
