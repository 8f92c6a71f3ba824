import { z } from "zod";
import { defineCall } from "./call.ts";
import { time } from "./shapes.ts";

const mode = z.enum(["real", "faster", "paused"]);

const clockAnswer = z
  .object({ now: time, mode, speed: z.number(), nextDueAt: time.nullable().describe("When the next thing is due.") })
  .meta({ id: "Clock" });

export const clockCalls = [
  defineCall({ name: "clock.get", method: "GET", path: "/api/clock", summary: "The clock.", answer: clockAnswer }),
  defineCall({
    name: "clock.set",
    method: "POST",
    path: "/api/clock",
    summary: "Sets the clock's mode.",
    body: z.strictObject({ mode, speed: z.literal([10, 60, 600]).optional().describe("Of `faster`: 10 when left out.") }),
    answer: clockAnswer,
  }),
  defineCall({
    name: "clock.advance",
    method: "POST",
    path: "/api/clock/advance",
    summary: "Moves the clock on, and answers once it is there and what started on the way has ended.",
    body: z.union([z.strictObject({ byMs: z.int().min(0) }), z.strictObject({ to: z.enum(["next-due", "idle"]) })]),
    answer: clockAnswer.extend({ ran: z.object({ attempts: z.int() }) }),
  }),
] as const;
