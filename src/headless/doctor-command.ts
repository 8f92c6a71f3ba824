/** `hookyard doctor`: prints what an examination of a data directory finds, and says it with the exit code. */

import { OpenError } from "../app-errors.ts";
import type { Examination } from "../app.ts";
import { doctorHelp, parseDataFlags } from "./data-flags.ts";

export async function doctorCommand({ args }: { args: string[] }): Promise<number> {
  const flags = parseDataFlags("doctor", args);
  if (flags === "help") {
    process.stdout.write(`${doctorHelp}\n`);
    return 0;
  }
  if ("wrong" in flags) {
    process.stderr.write(`${flags.wrong}\n`);
    return 2;
  }
  try {
    const { examineData } = await import("../app.ts");
    const examination = examineData(flags.data);
    process.stdout.write(flags.json ? `${JSON.stringify(examination, null, 2)}\n` : textOf(examination));
    return examination.findings.length === 0 ? 0 : 1;
  } catch (error) {
    if (!(error instanceof OpenError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 2;
  }
}

function textOf({ dataDir, inUse, sizes, format, newestFormat, rows, checked, findings }: Examination): string {
  const size = (bytes: number | null): string => (bytes === null ? "missing" : `${bytes.toLocaleString("en")} bytes`);
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
    findings.length === 0 ? "Nothing is wrong." : `${findings.length} ${findings.length === 1 ? "finding" : "findings"}:`,
    ...findings.flatMap(({ level, message, cure }) => ["", `${level.padEnd(8)} ${message}`, `         ${cure}`]),
  ];
  return `${lines.join("\n")}\n`;
}
