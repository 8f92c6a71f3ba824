import { z } from "zod";
import { defineCall } from "./call.ts";
import { time, timeText } from "./shapes.ts";

const mode = z.enum(["real", "faster", "paused"]);

const advanceWith = <Time extends z.ZodType>(at: Time) =>
  z
    .object({
      from: at,
      to: z.union([at, z.enum(["next-due", "idle"])]).describe("The target."),
      now: at.describe("The current time of the clock."),
      attempts: z.int().describe("Attempts made during the advance."),
    })
    .nullable();

/** As the stream of changes has it. */
export const advanceText = advanceWith(timeText);

const clockAnswer = z
  .object({
    now: time,
    mode,
    speed: z.number(),
    nextDueAt: time.nullable().describe("The next due time."),
    advance: advanceWith(time).describe("The advance in progress, or null."),
  })
  .meta({ id: "Clock" });

export const clockCalls = [
  defineCall({
    name: "clock.get",
    summary: "The clock.",
    answer: clockAnswer,
  }),
  defineCall({
    name: "clock.set",
    summary: "Sets the clock's mode. Ends a running advance and all queued advances immediately.",
    body: z.strictObject({
      mode,
      speed: z
        .literal([10, 60, 600])
        .optional()
        .describe("The speed of `faster`; 10 when left out."),
    }),
    answer: clockAnswer,
  }),
  defineCall({
    name: "clock.advance",
    summary:
      "Advances the clock. Returns when the clock has reached the target and the work that started during the advance has ended; it does not wait for messages that arrive in the meantime. Ends early when the caller closes the connection.",
    body: z.union([
      z.strictObject({ byMs: z.int().min(0) }),
      z.strictObject({ to: z.enum(["next-due", "idle"]) }),
    ]),
    answer: clockAnswer.extend({
      ran: z.object({ attempts: z.int() }),
      endedEarly: z
        .object({
          code: z.enum(["clock_set", "cancelled", "caller_gone", "stopping"]),
          message: z.string(),
        })
        .nullable()
        .describe("Why the clock did not reach the target, or null when it did."),
    }),
  }),
  defineCall({
    name: "clock.cancelAdvance",
    summary:
      "Ends the running advance and all queued advances. The clock keeps the time that it has reached.",
    answer: clockAnswer,
  }),
] as const;
