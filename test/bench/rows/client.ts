/**
 * Tracks a second through the client library into our own ingest, until all are answered, beside
 * the client for Node that is published.
 */

import { startProgram, startScript } from "../children.ts";
import type { ClientLoad, ClientLoadTook } from "../client-load.ts";
import { takePairs, type Row } from "../measure.ts";
import { withDirectory } from "../temporary.ts";

const writeKey = "bench";

function rateOf(kind: Pick<ClientLoad, "library" | "tracks" | "flushAt">): Promise<number> {
  return withDirectory(async (data) => {
    const program = await startProgram(data);
    try {
      await program.call("POST", "/api/sources", { name: "Bench", writeKey });
      const script = startScript("client-load.ts", {
        ...kind,
        url: program.ingestUrl,
        writeKey,
        seed: 3,
      });
      const { ms, notSent } = await script.answer<ClientLoadTook>();
      const { messages } = await program.call<{ messages: { byState: { filtered: number } } }>(
        "GET",
        "/api/stats",
      );
      const sent = kind.tracks + kind.tracks / 10;
      if (notSent > 0 || messages.byState.filtered !== sent) {
        throw new Error(
          `${sent} tracks by ${kind.library}, ${notSent} not sent: ${JSON.stringify(messages)}`,
        );
      }
      return (kind.tracks * 1000) / ms;
    } finally {
      await program.stop();
    }
  });
}

export const client: Row = {
  name: "client",
  async run(options) {
    const tracks = options.quick ? 40_000 : 200_000;
    const figures = [];
    for (const flushAt of [20, 250]) {
      const pairs = await takePairs(
        options,
        () => rateOf({ library: "ours", tracks, flushAt }),
        () => rateOf({ library: "node", tracks, flushAt }),
      );
      const figure = `client library, batches of ${flushAt}; floor: analytics-node`;
      figures.push({ figure, unit: "tracks/s", ...pairs, mustReach: { ratio: 1 } });
    }
    return figures;
  },
};
