import { destinationIds, endpointIds, sourceIds } from "../../domain/ids.ts";
import { isProblem } from "../../domain/problem.ts";
import type { Pipeline } from "../../engine/pipeline.ts";
import type { HandlersOf } from "../handler.ts";

export function workspaceHandlers({ workspaces }: Pipeline): HandlersOf<"workspaces"> {
  return {
    "workspaces.open": async ({ kind }) => {
      const opened = kind === "first" ? workspaces.first() : await workspaces.demo();
      if (isProblem(opened)) return opened;
      return {
        sourceId: sourceIds.format(opened.sourceId),
        destinationId: destinationIds.format(opened.destinationId),
        endpointId: endpointIds.format(opened.endpointId),
      };
    },
  };
}
