/**
 * Requests a second that a test endpoint takes in and records over 64 connections, and what they
 * leave in memory.
 */

import { startProgram } from "../children.ts";
import { median, type Row } from "../measure.ts";
import { sendLoad } from "../send-load.ts";
import { withDirectory } from "../temporary.ts";

export const endpoints: Row = {
  name: "endpoints",
  run: () =>
    withDirectory(async (data) => {
      const program = await startProgram(data);
      try {
        const match = { type: "track" };
        const steps = [{ do: "answer", times: 1_000_000_000, match }, { do: "answer" }];
        const { url } = await program.call<{ url: string }>("POST", "/api/endpoints", {
          name: "Bench",
          steps,
        });
        const load = { url, connections: 64, batch: 1, requests: 50_000, writeKey: "", seed: 1 };
        // Not counted: until then the record of what was received fills, and the heap finds its
        // size.
        for (let run = 0; run < 5; run += 1) await sendLoad(load);
        const before = program.residentBytes() / 1e6;
        const rates = [];
        for (let run = 0; run < 3; run += 1) rates.push(await sendLoad(load));
        const after = program.residentBytes() / 1e6;
        return [
          {
            figure: "test endpoint, 64 connections",
            unit: "requests/s",
            value: median(rates),
            mustReach: { atLeast: 5000 },
            runs: rates,
          },
          // A tenth of what the process may take, and far less than the requests sent meanwhile.
          {
            figure: "its memory's growth under that load",
            unit: "MB",
            value: after - before,
            mustReach: { atMost: 30 },
            runs: { before, after },
          },
        ];
      } finally {
        await program.stop();
      }
    }),
};
