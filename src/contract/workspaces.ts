import { z } from "zod";
import { destinationIds, endpointIds, sourceIds } from "../domain/ids.ts";
import { defineCall } from "./call.ts";
import { idOf } from "./shapes.ts";

export const workspaceCalls = [
  defineCall({
    name: "workspaces.open",
    method: "POST",
    path: "/api/workspaces",
    summary: "Sets up something to start from, once: a first source, destination and test endpoint, or a shop that sends by itself.",
    body: z.strictObject({ kind: z.enum(["first", "demo"]) }),
    answer: z
      .object({ sourceId: idOf(sourceIds), destinationId: idOf(destinationIds), endpointId: idOf(endpointIds) })
      .describe("Those to show first. What is there already is used again."),
  }),
] as const;
