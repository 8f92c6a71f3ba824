/** What is done to a simulated Hookyard: each step draws its details from the seed. */

import { gzipSync } from "node:zlib";
import type { InputOf } from "../../src/contract/contract.ts";
import { isProblem } from "../../src/domain/problem.ts";
import { collectShare, openShare } from "../../src/share/share-file.ts";
import { Broken, expect } from "./broken.ts";
import { draftMessage, type Draft } from "./messages.ts";
import { drawPlan } from "./routing.ts";
import { destinationDraft, drawRule, userNames } from "./world.ts";
import { moods } from "./receivers.ts";
import type { Source } from "./model.ts";
import type { Simulation } from "./simulation.ts";

const minute = 60_000;
const hour = 60 * minute;

type Step = (sim: Simulation) => Promise<void>;

export type StepName = keyof typeof steps;

function anySource(sim: Simulation): Source {
  return sim.random.pick([...sim.model.sources.values()].filter(({ kind }) => kind !== "audience"));
}

/** Sends and notes what was heard of it. */
async function send(sim: Simulation, drafts: Draft[], asBatch: boolean): Promise<void> {
  const [first] = drafts;
  if (first === undefined) return;
  for (const { key, sent } of drafts) {
    sim.model.fresh.set(key, sent);
    sent.unanswered += 1;
  }
  const body = asBatch
    ? `{"batch":[${drafts.map(({ text }) => text).join(",")}],"sentAt":"${new Date(sim.now()).toISOString()}"}`
    : first.text;
  const answer = await sim.post(asBatch ? "/v1/batch" : first.path, first.source.writeKey, body);
  if (answer === null || sim.disk.dead) return;
  sim.trace(`answered ${answer.status}`);
  for (const { sent } of drafts) {
    sent.unanswered -= 1;
    // A 400 is the answer to a message that is kept as rejected.
    if (answer.status < 500 && answer.status !== 429) sent.accepted += 1;
  }
}

async function traffic(sim: Simulation, most: number): Promise<void> {
  const { random } = sim;
  const requests: Promise<void>[] = [];
  for (let left = random.between(1, most); left > 0; left -= 1) {
    const source = anySource(sim);
    const asBatch = random.chance(0.3);
    const drafts = Array.from({ length: asBatch ? random.between(1, 6) : 1 }, () =>
      draftMessage(sim, source),
    );
    requests.push(send(sim, drafts, asBatch));
    if (random.chance(0.5)) await sim.platform.until("a request", Promise.all(requests.splice(0)));
  }
  const others = random.chance(0.2)
    ? [sim.app.api.call("clock.advance", { byMs: random.below(hour) })]
    : [];
  for (const request of requests) await sim.platform.until("a request", request);
  for (const other of others) await sim.platform.until("an advance", other);
}

async function anyOf(
  sim: Simulation,
  list: "deliveries.list" | "messages.list",
): Promise<string | null> {
  const items: { id: string }[] = (await sim.call(list, { limit: 50 }))?.body.items ?? [];
  return items.length === 0 ? null : sim.random.pick(items).id;
}

/** A change of the configuration is made, or nothing of it. */
async function configure(sim: Simulation, change: () => Promise<unknown>): Promise<void> {
  await change();
  await sim.model.reread(sim);
}

const advance = async (sim: Simulation, target: InputOf<"clock.advance">): Promise<void> =>
  void (await sim.call("clock.advance", target));

export const steps = {
  async traffic(sim) {
    await traffic(sim, 3);
  },
  async burst(sim) {
    await traffic(sim, 25);
  },
  async advance(sim) {
    await advance(sim, {
      byMs: sim.random.pick([1000, 30_000, 10 * minute, hour, hour, 3 * hour, 26 * hour]),
    });
  },
  async nextDue(sim) {
    for (let times = sim.random.between(1, 6); times > 0; times -= 1)
      await advance(sim, { to: "next-due" });
  },
  idle: (sim) => advance(sim, { to: "idle" }),
  async clockMode(sim) {
    const mode = sim.random.pick(["paused", "paused", "real", "faster"] as const);
    await sim.call(
      "clock.set",
      mode === "faster" ? { mode, speed: sim.random.pick([10, 60, 600] as const) } : { mode },
    );
  },
  /** Time passes by itself, by as much as the mode makes of it. */
  async wait(sim) {
    const { mode, speed } = sim.app.pipeline.clock.state();
    if (mode === "faster") return sim.rest((sim.random.between(1, 120) * minute) / speed);
    return sim.rest(sim.random.between(1, 20) * minute);
  },
  /** The machine slept, or somebody set its clock. */
  async machineClock(sim) {
    sim.platform.setClock(sim.random.pick([-hour, -minute, minute, hour, 5 * hour]));
    await sim.rest(70_000);
  },
  async receivers(sim) {
    sim.receivers.mood = sim.random.pick(["well", ...Object.keys(moods)]);
  },
  async destination(sim) {
    const { random, model } = sim;
    const found = [...model.destinations.keys()];
    const what =
      found.length === 0
        ? "create"
        : random.weighted({
            create: 1,
            enabled: 3,
            sharedSecret: 2,
            requests: 2,
            retryProfile: 2,
            payload: 1,
            filters: 2,
            sourceIds: 4,
            audienceCalls: 1,
            delete: 0.4,
          });
    await configure(sim, async () => {
      if (what === "create")
        return found.length < 5
          ? sim.call("destinations.create", await destinationDraft(sim))
          : null;
      const id = random.pick(found);
      if (what === "delete") return sim.call("destinations.delete", { id });
      const kind = model.destinations.get(id)?.kind;
      const draft = await destinationDraft(sim, kind);
      const requests = kind === "webhooks" ? "webhooks" : "mappings";
      const member = what === "requests" ? requests : what;
      return sim.call("destinations.update", { id, [member]: draft[member] });
    });
  },
  async plan(sim) {
    const { id } = anySource(sim);
    await configure(sim, () => sim.call("sources.update", { id, plan: drawPlan(sim.random) }));
  },
  async ingestFaults(sim) {
    const { id } = anySource(sim);
    const fault = sim.random.pick([
      { do: "answer", status: 503 },
      { do: "cut" },
      { do: "delay", delayMs: 2000 },
    ] as const);
    await configure(sim, () =>
      sim.call("sources.update", {
        id,
        faults: sim.random.chance(0.5) ? [] : [{ ...fault, chance: 0.3 }],
      }),
    );
  },
  async settings(sim) {
    const { random } = sim;
    const laneConnections = random.pick([1, 2, 64]);
    const change = random.pick(["jitter", "lanes", "sync", "parity"] as const);
    if (change === "lanes") sim.model.hasNarrowLanes ||= laneConnections < 64;
    const changes = {
      jitter: { jitter: random.chance(0.5) },
      lanes: { laneConnections },
      sync: { synchronous: "FULL" as const },
      parity: { parity: random.pick(["own", "hosted"] as const) },
    }[change];
    await configure(sim, () => sim.call("settings.update", changes));
  },
  async retry(sim) {
    const id = await anyOf(sim, "deliveries.list");
    if (id !== null) await sim.call("deliveries.retry", { id });
  },
  async retryAll(sim) {
    await sim.call("deliveries.retryAll", {
      filter: sim.random.pick([{}, { state: "waiting" }, { state: "expired" }] as const),
    });
  },
  async cancel(sim) {
    const id = await anyOf(sim, "deliveries.list");
    if (id !== null) await sim.call("deliveries.cancel", { id });
  },
  async replay(sim) {
    const id = await anyOf(sim, "messages.list");
    if (id !== null) await sim.call("messages.replay", { id });
  },
  async pin(sim) {
    const id = await anyOf(sim, "messages.list");
    if (id !== null) await sim.call("messages.pin", { id, pinned: sim.random.chance(0.5) });
  },
  async deletion(sim) {
    const userIds = sim.random.some(userNames, 1);
    await sim.rest(10_000);
    sim.model.deleting = userIds;
    await sim.call("deletions.create", {
      userIds,
      suppress: sim.random.chance(0.5),
      send: sim.random.chance(0.7),
    });
    await sim.rest(10_000);
    await sim.model.reread(sim);
  },
  async lift(sim) {
    const [userId] = sim.model.suppressed;
    if (userId !== undefined) await configure(sim, () => sim.call("suppressions.lift", { userId }));
  },
  async audience(sim) {
    const items = (await sim.call("audiences.list", {}))?.body.items ?? [];
    const [id] = items
      .map((audience) => audience.id)
      .slice(sim.random.below(Math.max(1, items.length)));
    if (id === undefined) return;
    if (sim.random.chance(0.7)) {
      // The time of a sync does not tell it from another at the same moment.
      const { synced, now } = sim.model;
      if ([...synced.values()].some(({ at }) => at === now)) synced.clear();
      return void (await sim.call("audiences.sync", { id }));
    }
    sim.model.moved = true;
    await sim.call("audiences.update", { id, rule: drawRule(sim) });
  },
  /** A share file has what it was made of, but for secrets, and opens. */
  async share(sim) {
    const { app, disk, model, platform } = sim;
    if (disk.failure !== null) return;
    const collected = await platform.until(
      "a share file",
      collectShare({
        ...{ api: app.api, pipeline: app.pipeline, version: "0.0.0", savedAt: "" },
        ...{ secrets: false, redact: [], filter: "last:6h" },
      }),
    );
    if (isProblem(collected)) throw new Broken("a share file is written", "lines", collected);
    const lines = collected.join("\n");
    const secrets = [...model.past.values()].flatMap((past) => [...past.secrets]);
    const keys = [...model.sources.values()].flatMap(({ writeKey }) => [
      writeKey,
      Buffer.from(`${writeKey}:`).toString("base64"),
    ]);
    for (const secret of [...secrets.filter((one) => one !== null), ...keys])
      if (lines.includes(secret)) throw new Broken("a share file has no secrets", "none", secret);
    const opened = openShare(gzipSync(lines));
    const isOpen = "call" in opened && opened.call("messages.list", { limit: 1 }).status === 200;
    expect("a share file opens", true, isOpen);
  },
  async unknownKey(sim) {
    const key = `wk_unknown_${sim.random.below(3)}`;
    const text = `{"userId":"ada","event":"Bought","messageId":"u-${(sim.model.made += 1)}"}`;
    await sim.platform.until("a request", sim.post("/v1/track", key, text));
  },
  async restart(sim) {
    sim.disk.failure = null;
    await sim.restart();
    await sim.model.reread(sim);
  },
  /** It dies while the next steps are taken. */
  async kill(sim) {
    sim.disk.killAfter(sim.random.pick([sim.random.between(1, 30), sim.random.between(1, 1000)]));
  },
  async badDisk(sim) {
    sim.failingSteps = sim.random.between(1, 3);
    const code = sim.random.pick([
      "SQLITE_FULL",
      "SQLITE_IOERR_WRITE",
      "SQLITE_IOERR_READ",
    ] as const);
    sim.disk.failure = { code, chance: sim.random.pick([0.02, 0.3, 1]) };
  },
  async reset(sim) {
    sim.disk.failure = null;
    sim.model.resetting = true;
    await sim.call("pipeline.reset", { what: "messages" });
  },
} satisfies Record<string, Step>;

export const weights: Record<StepName, number> = {
  traffic: 12,
  burst: 0.5,
  advance: 14,
  nextDue: 6,
  idle: 3,
  clockMode: 2,
  wait: 4,
  machineClock: 0.7,
  receivers: 4,
  destination: 4,
  plan: 1,
  ingestFaults: 1,
  settings: 0.7,
  retry: 2,
  retryAll: 0.7,
  cancel: 1.5,
  replay: 1,
  pin: 0.7,
  deletion: 0.8,
  lift: 0.5,
  audience: 1.5,
  share: 0.5,
  unknownKey: 0.5,
  restart: 0.7,
  kill: 2,
  badDisk: 1.5,
  reset: 0.1,
};

/** Everything gets well: then nothing may be left that moves. */
export async function finish(sim: Simulation): Promise<void> {
  sim.disk.failure = null;
  sim.failingSteps = 0;
  sim.receivers.mood = "well";
  await sim.rest(10_000);
  for (const { id } of sim.model.destinations.values())
    await sim.done("destinations.update", { id, enabled: true });
  await sim.model.reread(sim);
  await sim.done("clock.set", { mode: "paused" });
  await sim.done("clock.advance", { to: "idle" });
  await sim.rest(10_000);
  sim.model.finished = true;
}
