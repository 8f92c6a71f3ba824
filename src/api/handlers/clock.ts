import { isProblem } from "../../domain/problem.ts";
import type { Pipeline } from "../../engine/pipeline.ts";
import type { HandlersOf } from "../handler.ts";

const defaultSpeed = 10;

export function clockHandlers({ clock }: Pipeline): HandlersOf<"clock"> {
  return {
    "clock.get": () => clock.state(),
    "clock.set": ({ mode, speed }) => (mode === "faster" ? clock.set(mode, speed ?? defaultSpeed) : clock.set(mode)),
    "clock.advance": async (target, caller) => {
      const advanced = await clock.advance(target, caller);
      if (isProblem(advanced)) return advanced;
      const { state, ran, endedEarly } = advanced;
      return { ...state, ran, endedEarly };
    },
    "clock.cancelAdvance": () => clock.cancelAdvance(),
  };
}
