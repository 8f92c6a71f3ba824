import type { Pipeline } from "../engine/pipeline.ts";
import type { WindowOf } from "./presenters.ts";

export function windowsOf(pipeline: Pipeline): WindowOf {
  return ({ destinationId }) => {
    const destination = pipeline.configuration.destination(destinationId);
    return destination === undefined ? null : pipeline.configuration.retryProfileOf(destination).windowMs;
  };
}
