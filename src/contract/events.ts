/**
 * What changed, as server-sent events and as messages on a port. A stream is not a call, so it has
 * no handler.
 */

import { z } from "zod";
import { advanceText } from "./clock.ts";
import { changeAreas, changesPath } from "./places.ts";

export const change = z
  .object({
    sequence: z.int(),
    area: z.enum(changeAreas),
    ids: z.array(z.string()).describe("What was created or changed; at most the newest hundred."),
    count: z.int().describe("The total number."),
    added: z.int().describe("Of `messages`: how many of them are new."),
    advance: advanceText
      .optional()
      .describe(
        "Of `clock`: the advance in progress, at most ten times a second; null when there is none.",
      ),
  })
  .meta({ id: "Change" });
export type ChangeAnswer = z.output<typeof change>;

export const changeStream = {
  name: "events.stream",
  method: "GET",
  path: changesPath,
  summary:
    "Server-sent events: what changed. Event `resync` says that changes were missed and everything must be read again.",
  query: z.strictObject({
    after: z
      .string()
      .optional()
      .describe("The sequence number to resume from, as `Last-Event-ID` does."),
  }),
} as const;
