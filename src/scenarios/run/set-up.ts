/** Makes what a scenario sets up, in the order in which things refer to each other. What the pipeline refuses is shown where the file says it. */

import type { ScenarioProblem } from "../../contract/scenarios.ts";
import type { ReadScenario } from "../file/read-scenario.ts";
import { sourcesOf } from "../file/references.ts";
import type { Path } from "../file/yaml-places.ts";
import { CallRefused } from "./pipeline.ts";
import type { Session } from "./session.ts";

/** Null when all is there. */
export async function setUp(session: Session, { scenario, file }: ReadScenario): Promise<ScenarioProblem | null> {
  const things: { path: Path; make: () => Promise<unknown> }[] = [
    ...Object.entries(sourcesOf(scenario)).map(([name, source]) => ({
      path: ["sources", name],
      make: () => session.addSource(name, source),
    })),
    ...Object.entries(scenario.endpoints ?? {}).map(([name, endpoint]) => ({
      path: ["endpoints", name],
      make: () => session.addEndpoint(name, endpoint),
    })),
    ...Object.entries(scenario.destinations ?? {}).map(([name, destination]) => ({
      path: ["destinations", name],
      make: () => session.addDestination(name, destination),
    })),
    ...Object.entries(scenario.audiences ?? {}).map(([name, audience]) => ({
      path: ["audiences", name],
      make: () => session.addAudience(name, audience),
    })),
    ...Object.entries(scenario.computedTraits ?? {}).map(([name, trait]) => ({
      path: ["computedTraits", name],
      make: () => session.addComputedTrait(name, trait),
    })),
  ];
  for (const { path, make } of things) {
    try {
      await make();
    } catch (error) {
      if (!(error instanceof CallRefused)) throw error;
      return { ...file.placeOfName(path), message: error.message };
    }
  }
  return null;
}
