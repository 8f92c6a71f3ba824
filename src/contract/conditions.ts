/** The condition languages of triggers and of filters, for those who write a condition. */

import { z } from "zod";
import { defineCall } from "./call.ts";
import { anyMembers } from "./shapes.ts";

/** The open source has no limit of its own that a person reaches. */
export const maxConditionLength = 10_000;

const remark = z
  .object({ message: z.string(), at: z.int().describe("The offset in the condition.") })
  .meta({ id: "ConditionRemark" });

export const conditionCalls = [
  defineCall({
    name: "conditions.check",
    summary: "Reads a condition, and matches it against an event.",
    body: z.strictObject({
      condition: z.string().max(maxConditionLength),
      event: anyMembers.optional(),
      of: z
        .enum(["trigger", "filter"])
        .optional()
        .describe(
          "What the condition is of: a trigger when left out. The language of filters has more.",
        ),
    }),
    answer: z.object({
      error: remark.nullable().describe("Nothing matches a condition that cannot be read."),
      warnings: z
        .array(remark)
        .describe(
          "What it means here and on the hosted service, which is probably not what was meant.",
        ),
      matches: z.boolean().nullable().describe("Null without an event."),
    }),
  }),
] as const;
