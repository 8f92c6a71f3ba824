/** A pipeline that collects its unexpected errors, and throws them when it is stopped. */

import { readFileSync } from "node:fs";
import { startInMemory } from "../app.ts";
import { typedCalls, type RunningPipeline } from "../scenarios/run/pipeline.ts";

// Two levels up from here, both in the sources and in the built package.
const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { version: string };

export async function startPipeline({ startAt }: { startAt: number }): Promise<RunningPipeline> {
  const unexpected: unknown[] = [];
  const app = await startInMemory({ startAt, version, report: (error) => unexpected.push(error) });
  return {
    ...typedCalls(app.api.call),
    async stop() {
      await app.stop();
      if (unexpected.length > 0) throw new AggregateError(unexpected, "Something unexpected happened inside Hookyard.");
    },
  };
}
