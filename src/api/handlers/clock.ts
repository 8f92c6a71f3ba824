import type { ClockAnswer } from "../../contract/clock.ts";
import { isProblem } from "../../domain/problem.ts";
import type { ClockState } from "../../engine/clock/clock.ts";
import type { Pipeline } from "../../engine/pipeline.ts";
import type { HandlersOf } from "../handler.ts";
import { presentTime, presentTimeOrNull } from "../presenters.ts";

const defaultSpeed = 10;

function presentClock({ now, mode, speed, nextDueAt }: ClockState): ClockAnswer {
  return { now: presentTime(now), mode, speed, nextDueAt: presentTimeOrNull(nextDueAt) };
}

export function clockHandlers({ clock }: Pipeline): HandlersOf<"clock"> {
  return {
    "clock.get": () => presentClock(clock.state()),
    "clock.set": ({ mode, speed }) => {
      const state = mode === "faster" ? clock.set(mode, speed ?? defaultSpeed) : clock.set(mode);
      return isProblem(state) ? state : presentClock(state);
    },
    "clock.advance": async (target) => {
      const advanced = await clock.advance(target);
      return isProblem(advanced) ? advanced : { ...presentClock(advanced.state), ran: advanced.ran };
    },
  };
}
