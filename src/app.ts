/**
 * Composition: the one place that names concrete things. A host (headless or desktop) makes an app,
 * starts it, serves its `api`, and stops it.
 */

import { createApi, type Api } from "./api/api.ts";
import { createSwitchedApi } from "./api/switched-api.ts";
import {
  createCore,
  createDelivery,
  createPeople,
  createPorts,
  type Addresses,
  type Core,
  type Ports,
} from "./assembly.ts";
import { createChecks } from "./check/checks.ts";
import { messageIds } from "./domain/ids.ts";
import type { ClockMode } from "./engine/clock/clock.ts";
import { createMappingPreview } from "./engine/route/mapping-preview.ts";
import { Flow } from "./engine/flow.ts";
import { createMessages } from "./engine/messages.ts";
import { createTestEvents } from "./engine/test-events.ts";
import { createMetrics } from "./engine/metrics.ts";
import { preparePlans } from "./engine/plans/plans.ts";
import type { Pipeline } from "./engine/pipeline.ts";
import { createRate, createReset, createSettle } from "./engine/whole-pipeline.ts";
import { monotonic, startIdleTimer } from "./engine/real-time.ts";
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
  /** Sends deliveries in a thread of their own; in the thread of everything else when left out. */
  deliveryThread?: boolean;
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

/** Throws an `OpenError` when the data cannot be opened. */
export function createApp(options: AppOptions): App {
  const {
    data,
    host = "127.0.0.1",
    ports: portNumbers,
    report: reportUnexpected = throwLater,
    log = () => {},
    version,
  } = options;
  const dataDir = data === ":memory:" ? null : data;
  const core = createCore({ ...options, report: reportUnexpected });
  const { store, report, signals, changes, activity, clock, configuration, suppressions } = core;
  const traces =
    options.traces === undefined
      ? null
      : createTraces({ collector: options.traces, store, now: () => clock.now(), version, log });
  const inThread = options.deliveryThread ?? false;
  const delivery = createDelivery(core, { dataDir, inThread, traces });
  const ports = createPorts(core, delivery, { host, ports: portNumbers, dataDir, log });
  const { addresses, ingest, refused, endpoints, clients, ingestClient, upkeep } = ports;
  const people = createPeople(core, { accepted: () => ingest.committed() });
  const { follower, profiles, computations, deletions } = people;
  const { scheduler, deliveries } = delivery;
  const { audiences, computedTraits } = computations;
  const workspaces = createWorkspaces({
    ...core,
    audiences,
    computedTraits,
    deletions,
    clients,
    endpoints,
    ingestClient,
  });

  signals.clockMoved.on(workspaces.followClock);
  const ingested = createRate();
  const attempted = createRate();
  const metrics = createMetrics({
    stats: () => store.stats(),
    clock: () => clock.state(),
    hasTrouble: () => store.trouble() !== null,
    storeBytes: () => store.bytes(),
    traces: traces?.counts ?? null,
    version,
  });
  signals.committed.on((messages, origin) => {
    changes.noteMany("messages", messages, ({ id }) => messageIds.format(id), true);
    ingested.add(messages.length);
    metrics.committed(messages.length);
    traces?.committed(messages);
    follower.kick(origin);
  });
  const flow = new Flow({
    ...core,
    // The rates of a story are the same each time.
    monotonic: core.steady ? () => clock.now() : monotonic,
    underWay: () => scheduler.underWay(),
  });
  signals.committed.on((messages) => flow.committed(messages));
  signals.attemptsRecorded.on((attempts) => {
    attempted.add(attempts.length);
    flow.recorded(attempts);
    metrics.attempted(attempts);
  });

  const faults = createFaults({ store, configuration, endpoints });
  const testEvents = createTestEvents({ ...core, ...delivery });
  const pipeline: Pipeline = {
    clock,
    configuration,
    messages: createMessages({ ...core, ingest, ingestClient }),
    previewMapping: createMappingPreview({ store, configuration }),
    refused,
    deliveries,
    testEvents,
    endpoints,
    faults,
    clients,
    workspaces,
    profiles,
    audiences,
    computedTraits,
    deletions,
    suppressions,
    queries: store,
    flow,
    peakRequests: () => ingest.peakRequests,
    changes,
    settle: createSettle({ activity, clock, store, scheduler, changes }),
    trouble: () => store.trouble() ?? clock.trouble,
    deliveryTrouble: () => delivery.thread?.trouble ?? null,
    rates: () => ({
      ingestedPerSecond: ingested.perSecond(),
      attemptsPerSecond: attempted.perSecond(),
    }),
    reset: createReset({
      ...core,
      ...people,
      flow,
      workspaces,
      clients,
      refused,
      scheduler,
      endpoints,
      profiles: follower,
    }),
  };

  const scenarios = createScenarios({
    directory: options.scenarios ?? null,
    own: typedCalls((name, input, caller) => api.call(name, input, caller)),
    async start({ startAt }) {
      const app = await startInMemory({ startAt, report, version });
      return { ...typedCalls(app.api.call), stop: app.stop };
    },
    onChange: (run) => changes.note("scenario-runs", run),
    report,
  });
  const stories = createStories<Ports, Api>({
    ready: scenarios.text,
    async start({ startAt, ports: same }) {
      const app = await startInMemory({
        startAt,
        steady: true,
        report,
        version,
        ...(options.pages === undefined ? {} : { pages: options.pages }),
        ...(same === undefined ? {} : { ports: same }),
      });
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
  const checks = createChecks({
    trust: delivery.trust,
    destination: configuration.destination,
    onChange: (id) => changes.note("checks", id),
    report,
  });
  const shares = createShareHandlers({
    api: () => api,
    pipeline,
    version,
    pages: options.pages ?? null,
    onChange: () => changes.note("shares", null),
  });
  const rehearse = () =>
    createApp({
      data: ":memory:",
      ports: { ingest: 0, endpoints: 0, endpointsTls: 0 },
      report,
      version,
    });
  const api: Api = createApi({
    pipeline,
    rehearse,
    others: { ...scenarios.handlers, ...stories.handlers, ...shares, ...checks.handlers },
    beside: stories.served,
    about: () => ({ version, ...addresses }),
    metrics: metrics.text,
    report,
  });

  return {
    pipeline,
    api,
    async start() {
      await preparePlans(configuration.sources().flatMap(({ plan }) => plan ?? []));
      await ports.listen();
      faults.refresh();
      clock.start();
      scheduler.start();
      clients.start();
      follower.start();
      computations.start();
      deletions.start();
      upkeep.start();
      workspaces.start();
      watchStore(core, log);
      return addresses;
    },
    async stop() {
      clock.endAdvances();
      upkeep.stop();
      workspaces.stop();
      await clients.stop();
      await scenarios.stop();
      await stories.stop();
      checks.stop();
      await ingest.stop();
      refused.save();
      computations.stop();
      deletions.stop();
      follower.stop();
      deliveries.stop();
      testEvents.stop();
      await scheduler.stop();
      await endpoints.stop();
      await traces?.stop();
      clock.stop();
      changes.stop();
      store.close();
    },
  };
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
  ports = { ingest: 0, endpoints: 0, endpointsTls: 0 },
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
  return { ...app, ...(await app.start()) };
}

/** Without a reporter, an unexpected error is the process's. */
function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
