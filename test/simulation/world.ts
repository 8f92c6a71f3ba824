/**
 * What a run begins with, drawn from its seed: settings, sources, test endpoints, destinations,
 * audiences.
 */

import type { AnswerOf, InputOf } from "../../src/contract/contract.ts";
import type { Rule } from "../../src/domain/rules.ts";
import type { Source } from "./model.ts";
import { drawFilters, drawMappings, drawPlan } from "./routing.ts";
import type { Simulation } from "./simulation.ts";

type Steps = InputOf<"endpoints.create">["steps"];
type DestinationDraft = InputOf<"destinations.create">;

const programs: Steps[] = [
  [{ do: "answer", status: 200 }],
  [
    { do: "answer", status: 503, times: 3 },
    { do: "hang" },
    { do: "reset" },
    { do: "answer", status: 200 },
  ],
  [
    { do: "answer", status: 503, chance: 0.5 },
    { do: "answer", status: 200, delayMs: 1200 },
  ],
  [
    { do: "hang", forMs: 3000 },
    { do: "drip", forMs: 4000 },
    { do: "truncate" },
    { do: "garbage" },
    { do: "redirect", status: 302 },
  ],
  [
    { do: "hang", chance: 0.3 },
    { do: "close", chance: 0.3 },
    { do: "answer", status: 200 },
  ],
];

const minute = 60_000;
const profiles: InputOf<"retryProfiles.create">[] = [
  {
    name: "quick",
    schedule: { kind: "exponential", firstMs: 2000, factor: 3, capMs: 5 * minute },
    windowMs: 30 * minute,
    jitter: 0.5,
  },
  {
    name: "listed",
    schedule: { kind: "list", delaysMs: [1000, 30_000, 10 * minute] },
    windowMs: 60 * minute,
    retryTimeouts: false,
  },
];

export const userNames = ["ada", "bob", "cyd", "dot", "eve"];
export const eventNames = ["Bought", "Viewed", "Signed Up"];

/**
 * A world either forgets old messages or has audiences: what retention takes from audiences is not
 * modelled.
 */
export async function furnish(sim: Simulation): Promise<void> {
  const { random, model } = sim;
  const hasAudiences = random.chance(0.5);
  model.retention = hasAudiences ? null : random.pick([120, 250, 500]);
  const laneConnections = random.pick([1, 64, 64]);
  model.hasNarrowLanes = laneConnections < 64;
  await sim.done("settings.update", {
    seed: random.below(1_000_000),
    jitter: random.chance(0.8),
    laneConnections,
    maxMessages: model.retention,
  });
  for (const profile of profiles) await sim.done("retryProfiles.create", profile);
  for (const name of ["Web", "Server", "Phone"].slice(0, random.between(1, 3))) {
    const draft = {
      name,
      writeKey: `wk_${name}`,
      mode: random.pick(["explain", "production"] as const),
      deduplicate: random.chance(0.8),
    };
    await sim.done("sources.create", draft);
  }
  for (const [place, steps] of random.some(programs, 1).entries()) {
    const draft = {
      name: `Endpoint ${place}`,
      path: `e${place}`,
      steps,
      after: random.pick(["repeat-last", "start-over"] as const),
    };
    await sim.done("endpoints.create", draft);
  }
  await model.reread(sim);
  for (const { id } of model.sources.values())
    await sim.done("sources.update", { id, plan: drawPlan(random) });
  if (hasAudiences) await audiences(sim);
  await model.reread(sim);
  for (let place = random.between(1, 2); place > 0; place -= 1)
    await sim.done("destinations.create", await destinationDraft(sim));
  await model.reread(sim);
  const mode = random.pick(["paused", "paused", "real", "faster"] as const);
  await sim.done("clock.set", mode === "faster" ? { mode, speed: 600 } : { mode });
}

export async function destinationDraft(
  sim: Simulation,
  kind: DestinationDraft["kind"] = sim.random.pick(["webhooks", "webhooks-actions"]),
): Promise<DestinationDraft> {
  const { random, model } = sim;
  const { items: endpoints } = await sim.done("endpoints.list", {});
  const isOwn = ({ kind: of }: Source): boolean => of === "audience";
  const all = [...model.sources.values()];
  const ids = (sources: readonly Source[]): string[] => sources.map(({ id }) => id);
  return {
    kind,
    name: `Destination ${(model.made += 1)}`,
    sourceIds: [
      ...random.some(ids(all.filter((source) => !isOwn(source))), 1),
      ...(random.chance(0.7) ? random.some(ids(all.filter(isOwn))) : []),
    ],
    ...(kind === "webhooks"
      ? { webhooks: webhooks(sim, endpoints), payload: random.pick(["documented", "full"]) }
      : { mappings: drawMappings(random, () => target(sim, endpoints)) }),
    filters: drawFilters(random),
    audienceCalls: random.pick(["identify", "track", "both"]),
    sharedSecret: random.chance(0.6) ? `secret ${random.below(1000)} ü` : null,
    enabled: random.chance(0.8),
    retryProfile: random.pick(["documented", "documented", "quick", "listed", "svix", "convoy"]),
  };
}

type Endpoints = AnswerOf<"endpoints.list">["items"];

/** A new receiver, or a test endpoint. */
function target({ random, receivers, model }: Simulation, endpoints: Endpoints): string {
  model.made += 1;
  const own = random.chance(0.3) ? random.pick(endpoints) : undefined;
  if (own === undefined) return receivers.url(`/w${model.made}`);
  return random.chance(0.05) ? own.tlsUrl : own.url;
}

function webhooks(sim: Simulation, endpoints: Endpoints): DestinationDraft["webhooks"] {
  const { random } = sim;
  return Array.from({ length: random.pick([1, 1, 2, 3, 5]) }, () => ({
    url: target(sim, endpoints),
    ...(random.chance(0.2) ? { headers: { "X-Team": "blue" } } : {}),
  }));
}

const rules: Rule[] = [
  { event: "Bought", atLeast: 2, withinDays: 3 },
  { not: { event: "Bought", atLeast: 1, withinDays: 1 } },
  {
    all: [
      { trait: "plan", op: "is", value: "pro" },
      { event: "Viewed", atLeast: 1 },
    ],
  },
  {
    any: [
      { trait: "plan", op: "is", value: "free" },
      { event: "Signed Up", atLeast: 1, withinDays: 7 },
    ],
  },
];

export const drawRule = (sim: Simulation): Rule => sim.random.pick(rules);

async function audiences(sim: Simulation): Promise<void> {
  const { random } = sim;
  await sim.done("audiences.create", {
    name: "Live Ones",
    rule: drawRule(sim),
    sync: "each-event",
  });
  if (random.chance(0.5))
    await sim.done("audiences.create", { name: "By Hand", rule: drawRule(sim), sync: "manual" });
  if (random.chance(0.5))
    await sim.done("audiences.create", {
      name: "Every Six",
      rule: drawRule(sim),
      sync: { everyMs: 6 * 60 * minute },
    });
  await sim.done("computedTraits.create", {
    name: "Times Bought",
    computation: { aggregate: "count", event: "Bought" },
    sync: "each-event",
  });
}
