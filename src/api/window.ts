import type { Pipeline } from "../engine/pipeline.ts";
import type { WindowOf } from "./presenters.ts";

export function windowsOf(pipeline: Pipeline): WindowOf {
  return ({ destinationId }) => {
    const destination = pipeline.configuration.destination(destinationId);
    if (destination === undefined) return null;
    return pipeline.configuration.retryProfile(destination.retryProfile)?.windowMs ?? null;
  };
}
