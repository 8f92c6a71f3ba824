/**
 * Composition: the one place that names concrete things. A host (headless or desktop) makes an app, starts it,
 * serves its `api`, and stops it.
 */

import { createApi, type Api } from "./api/api.ts";
import { PortTaken, type PortRole } from "./app-errors.ts";
import { messageIds } from "./domain/ids.ts";
import { createComputations, type Computations } from "./engine/audiences/computations.ts";
import { createChangeFeed } from "./engine/changes.ts";
import { createClients } from "./engine/clients/clients.ts";
import { Activity, type Origin } from "./engine/clock/activity.ts";
import type { ClockMode } from "./engine/clock/clock.ts";
import { Holds } from "./engine/clock/holds.ts";
import { PipelineClock } from "./engine/clock/pipeline-clock.ts";
import { createConfiguration } from "./engine/configuration.ts";
import { createDeletions } from "./engine/deletions/deletions.ts";
import { createSuppressions } from "./engine/deletions/suppressions.ts";
import { createDeliveries } from "./engine/deliver/deliveries.ts";
import { Station } from "./engine/deliver/station.ts";
import { createTrust } from "./engine/deliver/trust.ts";
import { createAuthority } from "./engine/endpoints/authority.ts";
import { createEndpoints } from "./engine/endpoints/endpoints.ts";
import { Ingest } from "./engine/ingest/ingest.ts";
import { createOwnMessages } from "./engine/ingest/own-messages.ts";
import { createIngestClient } from "./engine/ingest/ingest-client.ts";
import { createMessages } from "./engine/messages.ts";
import type { Pipeline } from "./engine/pipeline.ts";
import type { CommittedMessage } from "./engine/ports.ts";
import { createProfiles } from "./engine/profiles/profiles.ts";
import { createRate } from "./engine/rate.ts";
import { createReset } from "./engine/reset.ts";
import { createSettle } from "./engine/settle.ts";
import { reportTo, storeFailure } from "./engine/store-failure.ts";
import { createUpkeep, type Upkeep } from "./engine/upkeep.ts";
import { wallNow } from "./engine/wall.ts";
import { createWorkspaces } from "./engine/workspaces/workspaces.ts";
import { typedCalls } from "./scenarios/run/pipeline.ts";
import { createScenarios } from "./scenarios/scenarios.ts";
import { openStore } from "./store/sqlite-store.ts";

export { backUpData } from "./store/backup.ts";
export { examineData, type Examination } from "./store/examine.ts";

export type AppOptions = {
  /** A directory, or `:memory:`. */
  data: string;
  host?: string;
  /** 0 picks a free one. */
  ports: { ingest: number; endpoints: number; endpointsTls: number };
  /** Where the clock of new data begins; the wall's time, and running, when left out. */
  clock?: { startAt: number; mode: ClockMode };
  /** The directory of the scenarios that come with Hookyard; none when left out. */
  scenarios?: string;
  report?: (error: unknown) => void;
  version: string;
};

export type Addresses = { ingestUrl: string; endpointsUrl: string; endpointsTlsUrl: string; dataDir: string | null };

export type App = {
  pipeline: Pipeline;
  api: Api;
  /** Rejects with `PortTaken`. */
  start(): Promise<Addresses>;
  /** Ends what is under way under a deadline, stores the rest, closes everything. */
  stop(): Promise<void>;
};

/** Throws an `OpenError` when the data cannot be opened. */
export function createApp(options: AppOptions): App {
  const { data, host = "127.0.0.1", ports, clock: firstClock, version } = options;
  const dataDir = data === ":memory:" ? null : data;
  const store = openStore(data);
  const report = reportTo(store, options.report ?? throwLater);
  if (firstClock !== undefined && store.loadClock() === null) {
    store.saveClock({ now: firstClock.startAt, wallAt: wallNow(), mode: firstClock.mode, speed: 1 });
  }
  const changes = createChangeFeed();
  const activity = new Activity();
  const holds = new Holds();
  const ingested = createRate();
  const attempted = createRate();

  const clock: PipelineClock = new PipelineClock({
    store,
    activity,
    work: {
      isPending: () => station.hasOwnWork(),
      isWaiting: () => station.hasOwnWaiting(),
      attemptsMade: () => station.attemptsMade,
      trouble: () => store.trouble() ?? storeFailure(profiles.failure),
    },
    onOverdue: () => station.spreadOverdue(),
    onChange: (advance) => changes.noteClock(advance),
    report,
  });
  const configuration = createConfiguration({
    store,
    now: () => clock.now(),
    changes,
    onChange: () => station.kick(),
    onDestinationDeleted: (id) => deliveries.cancelOf(id),
  });
  const authority = createAuthority({ dataDir });
  const trust = createTrust({ localAuthority: () => authority.authorityPem() });
  function onCommitted(messages: readonly CommittedMessage[], origin: Origin): void {
    changes.noteMany("messages", messages, ({ id }) => messageIds.format(id), true);
    ingested.add(messages.length);
    station.onCommitted(messages, origin);
  }
  const ownMessages = createOwnMessages({
    store,
    configuration,
    clock,
    onCommitted: (messages) => onCommitted(messages, activity.origin),
  });
  const suppressions = createSuppressions({ store, now: () => clock.now(), changes });
  const profiles = createProfiles({
    store,
    clock,
    activity,
    changes,
    onApplied: (profileChanges) => computations.onApplied(profileChanges),
    computed: { sourceOf: (audience) => computations.sourceOf(audience), valuesOf: (userId) => computations.valuesOf(userId) },
    isSuppressed: suppressions.isSuppressed,
    report,
  });
  const computations: Computations = createComputations({
    store,
    configuration,
    ownMessages,
    clock,
    activity,
    changes,
    isSuppressed: suppressions.isSuppressed,
    caughtUp: () => profiles.caughtUp(),
    report,
  });
  const deletions = createDeletions({
    store,
    configuration,
    ownMessages,
    suppressions,
    clock,
    activity,
    changes,
    caughtUp: () => ingest.committed().then(() => profiles.caughtUp()),
    report,
  });
  const station: Station = new Station({
    store,
    configuration,
    clock,
    activity,
    holds,
    trust,
    changes,
    onAttempts(attempts) {
      attempted.add(attempts);
      profiles.noteOthers();
    },
    report,
  });
  const deliveries = createDeliveries({ store, clock, activity, changes, kick: () => station.kick(), report });
  const ingest = new Ingest({
    store,
    configuration,
    clock,
    activity,
    changes,
    isSuppressed: suppressions.isSuppressed,
    onCommitted(messages, origin) {
      onCommitted(messages, origin);
      profiles.kick(origin);
      upkeep.kick();
    },
    report,
    host,
    port: ports.ingest,
  });
  const endpoints = createEndpoints({
    store,
    clock,
    holds,
    changes,
    authority,
    seed: () => configuration.settings().seed,
    secrets: () =>
      configuration
        .destinations()
        .flatMap(({ id, name, sharedSecret }) => (sharedSecret === null ? [] : [{ destinationId: id, name, secret: sharedSecret }])),
    host,
    port: ports.endpoints,
    tlsPort: ports.endpointsTls,
  });
  const upkeep: Upkeep = createUpkeep({ store, settings: () => configuration.settings(), changes, report });

  const ingestClient = createIngestClient({ ingestUrl: () => addresses.ingestUrl });
  const workspaces = createWorkspaces({
    configuration,
    audiences: computations.audiences,
    endpoints,
    clock,
    activity,
    seed: () => configuration.settings().seed,
    store,
    ingestClient,
    report,
  });

  let addresses: Addresses = { ingestUrl: "", endpointsUrl: "", endpointsTlsUrl: "", dataDir };

  const clients = createClients({
    store,
    configuration,
    clock,
    activity,
    holds,
    trust,
    changes,
    seed: () => configuration.settings().seed,
    ingestUrl: () => addresses.ingestUrl,
  });

  const pipeline: Pipeline = {
    clock,
    configuration,
    messages: createMessages({ store, configuration, ingest, ingestClient, changes }),
    deliveries,
    endpoints,
    clients,
    workspaces,
    profiles,
    audiences: computations.audiences,
    computedTraits: computations.computedTraits,
    deletions,
    suppressions,
    queries: store,
    changes,
    settle: createSettle({ activity, clock, store, station, changes }),
    trouble: () => store.trouble() ?? clock.trouble,
    rates: () => ({ ingestedPerSecond: ingested.perSecond(), attemptsPerSecond: attempted.perSecond() }),
    reset: createReset({
      store,
      workspaces,
      clients,
      station,
      configuration,
      suppressions,
      computations,
      deletions,
      endpoints,
      profiles,
      changes,
    }),
  };

  const listening = async <T>(role: PortRole, port: number, start: () => Promise<T>): Promise<T> => {
    try {
      return await start();
    } catch (error) {
      if (isAddressInUse(error))
        throw new PortTaken({
          port: error.port ?? port,
          role: error.port === ports.endpointsTls && role === "endpoints" ? "endpointsTls" : role,
        });
      throw error;
    }
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
  const rehearse = () => createApp({ data: ":memory:", ports: { ingest: 0, endpoints: 0, endpointsTls: 0 }, report, version });
  const api: Api = createApi({ pipeline, rehearse, scenarios, about: () => ({ version, ...addresses }), report });

  return {
    pipeline,
    api,
    async start() {
      const ingestUrl = await listening("ingest", ports.ingest, () => ingest.start());
      const { url, tlsUrl } = await listening("endpoints", ports.endpoints, () => endpoints.start());
      addresses = { ingestUrl, endpointsUrl: url, endpointsTlsUrl: tlsUrl, dataDir };
      clock.start();
      station.start();
      clients.start();
      deliveries.cancelOrphans(configuration.destinations().map(({ id }) => id));
      profiles.start();
      computations.start();
      deletions.start();
      upkeep.start();
      store.watch(() => changes.note("messages", null));
      return addresses;
    },
    async stop() {
      clock.endAdvances();
      upkeep.stop();
      workspaces.stop();
      await clients.stop();
      await scenarios.stop();
      await ingest.stop();
      computations.stop();
      deletions.stop();
      profiles.stop();
      await station.stop();
      await endpoints.stop();
      clock.stop();
      changes.stop();
      store.close();
    },
  };
}

/** A pipeline for one run: in memory, on free ports, its clock paused at a time. */
export async function startInMemory({
  startAt,
  report,
  version,
}: {
  startAt: number;
  report?: (error: unknown) => void;
  version: string;
}): Promise<App & Addresses> {
  const app = createApp({
    data: ":memory:",
    ports: { ingest: 0, endpoints: 0, endpointsTls: 0 },
    clock: { startAt, mode: "paused" },
    version,
    ...(report === undefined ? {} : { report }),
  });
  return { ...app, ...(await app.start()) };
}

function isAddressInUse(error: unknown): error is NodeJS.ErrnoException & { port?: number } {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === "EADDRINUSE";
}

/** Without a reporter, an unexpected error is the process's. */
function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
