import { z } from "zod";
import { defineCall } from "./call.ts";
import { time, timeText } from "./shapes.ts";

const mode = z.enum(["real", "faster", "paused"]);

const advanceWith = <Time extends z.ZodType>(at: Time) =>
  z
    .object({
      from: at,
      to: z.union([at, z.enum(["next-due", "idle"])]).describe("The target."),
      now: at.describe("The present time of the clock."),
      attempts: z.int().describe("Attempts made on the way."),
    })
    .nullable();

/** As the stream of changes has it. */
export const advanceText = advanceWith(timeText);

const clockAnswer = z
  .object({
    now: time,
    mode,
    speed: z.number(),
    nextDueAt: time.nullable().describe("When the next thing is due."),
    advance: advanceWith(time).describe("The advance under way, or null."),
  })
  .meta({ id: "Clock" });

export const clockCalls = [
  defineCall({
    name: "clock.get",
    method: "GET",
    path: "/api/clock",
    summary: "The clock.",
    reads: ["clock", "deliveries"],
    answer: clockAnswer,
  }),
  defineCall({
    name: "clock.set",
    method: "POST",
    path: "/api/clock",
    summary: "Sets the clock's mode. Ends a running advance immediately, and those that wait for their turn.",
    body: z.strictObject({ mode, speed: z.literal([10, 60, 600]).optional().describe("Of `faster`: 10 when left out.") }),
    answer: clockAnswer,
  }),
  defineCall({
    name: "clock.advance",
    method: "POST",
    path: "/api/clock/advance",
    summary:
      "Moves the clock on, and answers once it is there and what started on the way has ended. What comes in meanwhile is not waited for. Ends early when the caller closes the connection.",
    body: z.union([z.strictObject({ byMs: z.int().min(0) }), z.strictObject({ to: z.enum(["next-due", "idle"]) })]),
    answer: clockAnswer.extend({
      ran: z.object({ attempts: z.int() }),
      endedEarly: z
        .object({ code: z.enum(["clock_set", "cancelled", "caller_gone", "stopping"]), message: z.string() })
        .nullable()
        .describe("Why the clock did not get to the target, or null when it did."),
    }),
  }),
  defineCall({
    name: "clock.cancelAdvance",
    method: "DELETE",
    path: "/api/clock/advance",
    summary: "Ends the advance under way, and those that wait for their turn. The clock stays where they had moved it.",
    answer: clockAnswer,
  }),
] as const;
