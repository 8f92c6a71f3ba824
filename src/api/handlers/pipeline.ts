import type { Pipeline } from "../../engine/pipeline.ts";
import type { HandlersOf } from "../handler.ts";

export function pipelineHandlers(pipeline: Pipeline): HandlersOf<"stats" | "pipeline"> {
  return {
    "stats.get": () => {
      const { messages, deliveries } = pipeline.queries.stats();
      const { queued, sending } = deliveries.byState;
      return { messages, deliveries, rates: pipeline.rates(), queueDepth: queued + sending, trouble: pipeline.trouble()?.message ?? null };
    },
    "pipeline.settle": ({ timeoutMs }) => pipeline.settle(timeoutMs),
    "pipeline.reset": async ({ what }) => {
      await pipeline.reset(what);
      return { what };
    },
  };
}
