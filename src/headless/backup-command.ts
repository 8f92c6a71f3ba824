/** `hookyard backup FILE`: writes a verified copy of the data, and says where. */

import { OpenError } from "../app-errors.ts";
import { backupHelp, parseDataFlags } from "./data-flags.ts";

export async function backupCommand({ args }: { args: string[] }): Promise<number> {
  const flags = parseDataFlags("backup", args);
  if (flags === "help") {
    process.stdout.write(`${backupHelp}\n`);
    return 0;
  }
  if ("wrong" in flags) {
    process.stderr.write(`${flags.wrong}\n`);
    return 2;
  }
  const { data, force, json, files } = flags;
  try {
    const { backUpData } = await import("../app.ts");
    const backup = await backUpData({ data, to: files[0] ?? "", force });
    const { file, bytes, messages } = backup;
    const count = (n: number): string => n.toLocaleString("en");
    process.stdout.write(
      json
        ? `${JSON.stringify(backup)}\n`
        : `${file}: ${count(messages)} messages, ${count(bytes)} bytes, checked. To restore it, put it into a new directory as hookyard.db and start with --data on that.\n`,
    );
    return 0;
  } catch (error) {
    if (!(error instanceof OpenError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
}
