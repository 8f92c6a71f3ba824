/**
 * Composition: the one place that names concrete things. A host (headless or desktop) makes an app,
 * starts it, serves its `api`, and stops it.
 */

import { createApi, type Api } from "./api/api.ts";
import { createSwitchedApi } from "./api/switched-api.ts";
import {
  createCore,
  createDelivery,
  createObservers,
  createPeople,
  createPorts,
  onLastingPorts,
  type Addresses,
  type Core,
  type Ports,
} from "./assembly.ts";
import { createChecks } from "./check/checks.ts";
import type { ClockMode } from "./engine/clock/clock.ts";
import { createMappingPreview } from "./engine/route/mapping-preview.ts";
import { createMessages } from "./engine/messages.ts";
import { createTestEvents } from "./engine/test-events.ts";
import { preparePlans } from "./engine/plans/plans.ts";
import type { Pipeline } from "./engine/pipeline.ts";
import { createReset, createSettle } from "./engine/whole-pipeline.ts";
import { startIdleTimer } from "./engine/real-time.ts";
import { createFaults } from "./engine/endpoints/faults.ts";
import type { Collector } from "./engine/traces/collector.ts";
import { createTraces } from "./engine/traces/traces.ts";
import { createWorkspaces } from "./engine/workspaces/workspaces.ts";
import { typedCalls } from "./scenarios/run/pipeline.ts";
import { createScenarios } from "./scenarios/scenarios.ts";
import { createStories } from "./scenarios/story/stories.ts";
import { createShareHandlers } from "./share/share-file.ts";

export type { Addresses };
export { backUpData } from "./store/backup.ts";
export { examineData, type Examination } from "./store/examine.ts";

export type AppOptions = {
  /** A directory, or `:memory:`. */
  data: string;
  host?: string;
  ports: Ports;
  /** Where the clock of new data begins; the machine's time, and running, when left out. */
  clock?: { startAt: number; mode: ClockMode };
  /** The same bytes in every run, for stories. */
  steady?: boolean;
  /** The directory of the scenarios that come with Hookyard; none when left out. */
  scenarios?: string;
  /** The directory of the inspector's page, for share files that are pages; none when left out. */
  pages?: string;
  /** Gets every unexpected error. */
  report?: (error: unknown) => void;
  /**
   * Gets a sentence when the data file stops working, one when it works again, and one when ingest
   * does not listen everywhere.
   */
  log?: (sentence: string) => void;
  /**
   * Deliveries are sent, and checkpoints made, in threads of their own; in the thread of everything
   * else when left out.
   */
  threads?: boolean;
  /** Nothing is traced when left out. */
  traces?: Collector | undefined;
  version: string;
};

export type App = {
  pipeline: Pipeline;
  api: Api;
  /** Rejects with `PortTaken`. */
  start(): Promise<Addresses>;
  /** Ends the work in progress under a deadline, stores the rest, and closes everything. */
  stop(): Promise<void>;
};

const anyPorts: Ports = { ingest: 0, endpoints: 0, endpointsTls: 0 };

/** Throws an `OpenError` when the data cannot be opened. */
export function createApp(options: AppOptions): App {
  const { version } = options;
  const parts = createParts(options);
  const { core, ports, delivery, observed } = parts;
  const ending = new AbortController();
  const pipeline = pipelineOf(parts, ending.signal);
  const runs = createRuns(core, options, (name, input, caller) => api.call(name, input, caller));
  const checks = createChecks({
    trust: delivery.trust,
    destination: core.configuration.destination,
    onChange: (id) => core.changes.note("checks", id),
    report: core.report,
  });
  const shares = createShareHandlers({
    api: () => api,
    pipeline,
    version,
    pages: options.pages ?? null,
    onChange: () => core.changes.note("shares", null),
  });
  const api: Api = createApi({
    pipeline,
    rehearse: () => createApp({ data: ":memory:", ports: anyPorts, report: core.report, version }),
    others: { ...runs.handlers, ...shares, ...checks.handlers },
    beside: runs.served,
    about: () => ({ version, ...ports.addresses }),
    metrics: observed.metrics.text,
    report: core.report,
  });
  return {
    pipeline,
    api,
    start: () => start(parts, options.log ?? (() => {})),
    async stop() {
      try {
        await stop(parts, ending, async () => {
          await runs.stop();
          checks.stop();
        });
      } finally {
        core.clock.stop();
        core.changes.stop();
        core.store.close();
      }
    },
  };
}

async function stop(parts: Parts, ending: AbortController, stopRuns: () => Promise<void>) {
  const { core, delivery, people, testEvents } = parts;
  const { clients, ingest, refused, endpoints, upkeep } = parts.ports;
  ending.abort();
  core.clock.endAdvances();
  upkeep.stop();
  parts.workspaces.stop();
  await clients.stop();
  await stopRuns();
  await ingest.stop();
  refused.save();
  people.computations.stop();
  people.deletions.stop();
  people.follower.stop();
  delivery.deliveries.stop();
  testEvents.stop();
  await delivery.scheduler.stop();
  await endpoints.stop();
  await parts.traces?.stop();
}

/** What `createApp` starts and stops, before anything listens. */
function createParts(options: AppOptions) {
  const { data, host = "127.0.0.1", ports: portNumbers, log = () => {}, version } = options;
  const dataDir = data === ":memory:" ? null : data;
  const inThread = options.threads ?? false;
  const core = createCore({ ...options, inThread, report: options.report ?? throwLater });
  const { store, clock, configuration, report } = core;
  const now = (): number => clock.now();
  const traces =
    options.traces === undefined
      ? null
      : createTraces({ collector: options.traces, store, now, version, log, report });
  const delivery = createDelivery(core, { dataDir, inThread, traces });
  const ports = createPorts(core, delivery, { host, ports: portNumbers, dataDir, log });
  const { endpoints } = ports;
  const people = createPeople(core, { accepted: () => ports.ingest.committed() });
  const workspaces = createWorkspaces({ ...core, ...people.computations, ...people, ...ports });
  core.signals.clockMoved.on(workspaces.followClock);
  const observed = createObservers(core, { ...people, ...delivery, traces, version });
  const faults = createFaults({ store, configuration, endpoints });
  const testEvents = createTestEvents({ ...core, ...delivery });
  return { core, traces, delivery, ports, people, workspaces, observed, faults, testEvents };
}

type Parts = ReturnType<typeof createParts>;

function pipelineOf(parts: Parts, ending: AbortSignal): Pipeline {
  const { core, delivery, ports, people, workspaces, observed, faults, testEvents } = parts;
  const { store, clock, configuration, changes } = core;
  const { follower, profiles, computations, deletions } = people;
  const { ingest, refused, endpoints, clients } = ports;
  return {
    clock,
    configuration,
    messages: createMessages({ ...core, ...ports }),
    previewMapping: createMappingPreview({ store, configuration }),
    refused,
    deliveries: delivery.deliveries,
    testEvents,
    endpoints,
    faults,
    clients,
    workspaces,
    profiles,
    audiences: computations.audiences,
    computedTraits: computations.computedTraits,
    deletions,
    suppressions: core.suppressions,
    queries: store,
    flow: observed.flow,
    peakRequests: () => ingest.peakRequests,
    changes,
    settle: createSettle({ ...core, ...delivery, ending }),
    trouble: () => store.trouble(),
    deliveryTrouble: () => delivery.thread?.trouble ?? null,
    rates: observed.metrics.rates,
    reset: createReset({
      ...core,
      ...people,
      ...observed,
      ...ports,
      ...delivery,
      workspaces,
      profiles: follower,
    }),
  };
}

/** Scenarios and stories, each run on a pipeline in memory. */
function createRuns({ changes, report }: Core, options: AppOptions, call: Api["call"]) {
  const { version, pages } = options;
  const scenarios = createScenarios({
    directory: options.scenarios ?? null,
    own: typedCalls(call),
    async start({ startAt }) {
      const app = await startInMemory({ startAt, report, version });
      return { ...typedCalls(app.api.call), stop: app.stop };
    },
    onChange: (run) => changes.note("scenario-runs", run),
    report,
  });
  const stories = createStories<Ports, Api>({
    ready: scenarios.text,
    async start({ startAt, ports }) {
      const shown = pages === undefined ? {} : { pages };
      const startOn = (on: Ports): Promise<App & Addresses> =>
        startInMemory({ startAt, steady: true, report, version, ports: on, ...shown });
      const app = await (ports === undefined ? onLastingPorts(startOn) : startOn(ports));
      const portOf = (url: string): number => Number(new URL(url).port);
      return {
        ...typedCalls(app.api.call),
        stop: app.stop,
        served: app.api,
        ports: {
          ingest: portOf(app.ingestUrl),
          endpoints: portOf(app.endpointsUrl),
          endpointsTls: portOf(app.endpointsTlsUrl),
        },
      };
    },
    createStage: createSwitchedApi,
    later: (ms, run) => startIdleTimer(ms, run).cancel,
    report,
  });
  return {
    handlers: { ...scenarios.handlers, ...stories.handlers },
    served: stories.served,
    async stop() {
      await scenarios.stop();
      await stories.stop();
    },
  };
}

async function start(parts: Parts, log: (sentence: string) => void): Promise<Addresses> {
  const { core, delivery, ports, people, workspaces, faults } = parts;
  await preparePlans(core.configuration.sources().flatMap(({ plan }) => plan ?? []));
  await ports.listen();
  faults.refresh();
  core.clock.start();
  delivery.scheduler.start();
  ports.clients.start();
  people.follower.start();
  people.computations.start();
  people.deletions.start();
  ports.upkeep.start();
  workspaces.start();
  watchStore(core, log);
  return ports.addresses;
}

function watchStore({ store, changes }: Core, log: (sentence: string) => void): void {
  let logged: string | null = null;
  store.watch(() => {
    changes.note("messages", null);
    const trouble = store.trouble()?.message ?? null;
    if (trouble !== logged) log(trouble ?? "The data file works again.");
    logged = trouble;
  });
}

/** A pipeline for one run: in memory, on free ports, its clock paused at a time. */
export async function startInMemory({
  startAt,
  ports = anyPorts,
  steady = false,
  pages,
  report,
  version,
}: {
  startAt: number;
  /** Free ones when left out. */
  ports?: Ports;
  steady?: boolean;
  pages?: string;
  report?: (error: unknown) => void;
  version: string;
}): Promise<App & Addresses> {
  const app = createApp({
    data: ":memory:",
    ports,
    steady,
    clock: { startAt, mode: "paused" },
    version,
    ...(pages === undefined ? {} : { pages }),
    ...(report === undefined ? {} : { report }),
  });
  try {
    return { ...app, ...(await app.start()) };
  } catch (error) {
    // Some of its ports may be open.
    await app.stop();
    throw error;
  }
}

/** Without a reporter, an unexpected error is the process's. */
function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
