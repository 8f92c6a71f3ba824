/**
 * Starts a scenario's session and creates what it sets up, in the order of references. An error of the pipeline is shown at
 * its place in the file.
 */

import type { ScenarioProblem } from "../../contract/scenarios.ts";
import { sourcesOf } from "../file/references.ts";
import type { Path } from "../file/yaml-places.ts";
import { CallRefused, type ScenarioPipeline } from "./pipeline.ts";
import { Session } from "./session.ts";
import { defaultSeed, type ReadScenario } from "../file/scenario-schema.ts";

/** The session, or what the pipeline refused. */
export async function startSession(
  pipeline: ScenarioPipeline,
  read: ReadScenario,
  seed = read.scenario.seed ?? defaultSeed,
): Promise<Session | { problem: ScenarioProblem }> {
  const { settings } = read.scenario;
  try {
    const session = await Session.start(pipeline, { ...settings, seed });
    const problem = await setUp(session, read);
    return problem === null ? session : { problem };
  } catch (error) {
    if (!(error instanceof CallRefused)) throw error;
    return { problem: { ...read.file.placeOf(["settings"]), message: error.message } };
  }
}

/** Null when all is there. */
async function setUp(
  session: Session,
  { scenario, file }: ReadScenario,
): Promise<ScenarioProblem | null> {
  const things: { path: Path; create: () => Promise<unknown>; steps?: Path }[] = [
    ...Object.entries(sourcesOf(scenario)).map(([name, source]) => ({
      path: ["sources", name],
      create: () => session.addSource(name, source),
    })),
    ...Object.entries(scenario.endpoints ?? {}).map(([name, endpoint]) => ({
      path: ["endpoints", name],
      create: () => session.addEndpoint(name, endpoint),
      steps: Array.isArray(endpoint) ? [] : ["steps"],
    })),
    ...Object.entries(scenario.retryProfiles ?? {}).map(([name, profile]) => ({
      path: ["retryProfiles", name],
      create: () => session.addRetryProfile(name, profile),
    })),
    ...Object.entries(scenario.destinations ?? {}).map(([name, destination]) => ({
      path: ["destinations", name],
      create: () => session.addDestination(name, destination),
    })),
    ...Object.entries(scenario.audiences ?? {}).map(([name, audience]) => ({
      path: ["audiences", name],
      create: () => session.addAudience(name, audience),
    })),
    ...Object.entries(scenario.computedTraits ?? {}).map(([name, trait]) => ({
      path: ["computedTraits", name],
      create: () => session.addComputedTrait(name, trait),
    })),
  ];
  for (const { path, create, steps } of things) {
    try {
      await create();
    } catch (error) {
      if (!(error instanceof CallRefused)) throw error;
      const wrongStep = steps === undefined ? null : stepOf(error.problem.data);
      const place =
        wrongStep === null
          ? file.placeOfName(path)
          : file.placeOf([...path, ...(steps ?? []), wrongStep]);
      return { ...place, message: error.message };
    }
  }
  return null;
}

/** The step of an endpoint's program that was refused. */
function stepOf(data: unknown): number | null {
  const step = typeof data === "object" && data !== null && "step" in data ? data.step : null;
  return typeof step === "number" ? step : null;
}
