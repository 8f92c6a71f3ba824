/**
 * Messages that profiles follow per second: a start finds all of them committed and none followed,
 * and nothing else to do.
 */

import { openStore } from "../../../src/store/sqlite-store.ts";
import { startProgram } from "../children.ts";
import { addSource, fill } from "../fill.ts";
import { median, type BenchOptions, type Row } from "../measure.ts";
import { makeMessage, seeded } from "../messages.ts";
import { withDirectory } from "../temporary.ts";

function rateOf(messages: number): Promise<number> {
  return withDirectory(async (data) => {
    const store = openStore(data);
    const source = addSource(store, "Bench", "bench");
    const random = seeded(1);
    for (let done = 0; done < messages; done += 500) {
      fill(store, [
        {
          source,
          destinations: [],
          receivedAt: Date.now(),
          messages: Array.from({ length: 500 }, () => makeMessage(random)),
        },
      ]);
    }
    store.close();
    const program = await startProgram(data);
    try {
      const readyAt = performance.now();
      const { settled } = await program.call<{ settled: boolean }>("POST", "/api/settle", {
        timeoutMs: 60_000,
      });
      const rate = (messages * 1000) / (performance.now() - readyAt);
      const { total } = await program.call<{ total: number }>("GET", "/api/profiles?limit=1");
      if (!settled || total === 0)
        throw new Error(`${messages} messages are not followed: ${total} profiles`);
      return rate;
    } finally {
      await program.stop();
    }
  });
}

export const following: Row = {
  name: "following",
  async run(options: BenchOptions) {
    const runs: number[] = [];
    for (let run = 0; run < (options.quick ? 2 : 3); run += 1) {
      runs.push(await rateOf(options.quick ? 20_000 : 100_000));
      options.say(String(Math.round(runs.at(-1) ?? 0)));
    }
    return [
      { figure: "messages that profiles follow", unit: "messages/s", value: median(runs), runs },
    ];
  },
};
