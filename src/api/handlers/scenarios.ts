import type { Scenarios } from "../../scenarios/scenarios.ts";
import type { HandlersOf } from "../handler.ts";

export function scenarioHandlers(scenarios: Scenarios): HandlersOf<"scenarios" | "scenarioRuns"> {
  return {
    "scenarios.list": async () => ({ items: await scenarios.ready() }),
    "scenarios.check": ({ text }) => scenarios.check(text),
    "scenarios.run": (input) => scenarios.run(input),
    "scenarios.record": (input) => scenarios.record(input),
    "scenarioRuns.list": () => ({ items: scenarios.runs() }),
    "scenarioRuns.get": ({ id }) => scenarios.get(id),
    "scenarioRuns.delete": ({ id }) => scenarios.delete(id) ?? { id },
  };
}
