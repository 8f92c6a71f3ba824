/** From a call at the ingest port to the arrival of its first attempt, at 200 messages a second. */

import { startProgram, startScript } from "../children.ts";
import type { LatencyLoad, Latencies } from "../latency-load.ts";
import { percentile, type Row } from "../measure.ts";
import { withDirectory } from "../temporary.ts";

export const firstAttempt: Row = {
  name: "first-attempt",
  run: (options) =>
    withDirectory(async (data) => {
      const program = await startProgram(data);
      const load = startScript("latency-load.ts", {
        ingestUrl: program.ingestUrl,
        writeKey: "bench",
        messages: options.quick ? 1000 : 4000,
        warm: options.quick ? 500 : 2000,
        everyMs: 5,
      } satisfies LatencyLoad);
      try {
        const { url } = await load.answer<{ url: string }>();
        const { id } = await program.call<{ id: string }>("POST", "/api/sources", {
          name: "Bench",
          writeKey: "bench",
        });
        await program.call("POST", "/api/destinations", {
          name: "Bench",
          sourceIds: [id],
          webhooks: [{ url }],
          sharedSecret: "s",
        });
        load.send({});
        const { ms } = await load.answer<Latencies>();
        const at = (share: number): number => percentile(ms, share);
        const runs = { p50: at(0.5), p99: at(0.99), p999: at(0.999), max: at(1), count: ms.length };
        const figure = "first attempt after arrival, at 200 messages/s";
        return [
          { figure: `${figure}: p50`, unit: "ms", value: at(0.5), mustReach: { atMost: 5 }, runs },
          { figure: `${figure}: p99`, unit: "ms", value: at(0.99), mustReach: { atMost: 25 } },
        ];
      } finally {
        await load.stop();
        await program.stop();
      }
    }),
};
