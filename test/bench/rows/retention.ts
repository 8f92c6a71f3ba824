/**
 * What it costs to remove nine of ten messages while nothing else happens: the longest block of the
 * event loop, and the size of the file when it is over.
 */

import { statSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { dataFileName } from "../../../src/store/open.ts";
import { startProgram, watchLoop } from "../children.ts";
import type { LoopDelay } from "../loop-delay.ts";
import type { Row } from "../measure.ts";
import { generate } from "../generate.ts";
import { withDirectory } from "../temporary.ts";

type Stats = { messages: { total: number; byState: { rejected: number; duplicate: number } } };

export const retention: Row = {
  name: "retention",
  run: (options) =>
    withDirectory(async (directory) => {
      const messages = options.quick ? 20_000 : 100_000;
      const data = join(directory, "data");
      const file = join(data, dataFileName);
      generate(data, messages);
      const program = await startProgram(data, { nodeFlags: watchLoop });
      const before = statSync(file).size;
      let loop: LoopDelay;
      try {
        await program.call("POST", "/api/settle", { timeoutMs: 60_000 });
        program.send({});
        await program.answer<LoopDelay>();
        await program.call("PATCH", "/api/settings", { maxMessages: messages / 10 });
        await until(async () => {
          const { total, byState } = (await program.call<Stats>("GET", "/api/stats")).messages;
          return total - byState.rejected - byState.duplicate <= messages / 10;
        });
        let sizes = [0];
        await until(() => {
          sizes = [...sizes, statSync(file).size].slice(-20);
          return Promise.resolve(sizes.length === 20 && new Set(sizes).size === 1);
        });
        program.send({});
        loop = await program.answer<LoopDelay>();
      } finally {
        await program.stop();
      }
      const after = statSync(file).size;
      const kept = keptBytes(file, join(directory, "kept.db"));
      return [
        {
          figure: "retention removes nine of ten messages: p99.9 of the event loop's blocks",
          unit: "ms",
          value: loop.p999,
          runs: loop,
        },
        {
          figure: "the same: longest block",
          unit: "ms",
          value: loop.max,
          mustReach: { atMost: 20 },
        },
        {
          figure: "the data file afterwards; floor: what is kept, in a new file",
          unit: "MB",
          value: after / 1e6,
          floor: kept / 1e6,
          ratio: after / kept,
          mustReach: { ratioAtMost: 1.3 },
          runs: { before: before / 1e6 },
        },
      ];
    }),
};

/** Looks four times a second, for two minutes. */
async function until(isOver: () => Promise<boolean>): Promise<void> {
  for (let looks = 0; !(await isOver()); looks += 1) {
    if (looks > 480) throw new Error("retention does not come to its end within two minutes");
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

function keptBytes(file: string, copy: string): number {
  const db = new Database(file, { readonly: true });
  try {
    db.prepare("VACUUM INTO ?").run(copy);
  } finally {
    db.close();
  }
  return statSync(copy).size;
}
