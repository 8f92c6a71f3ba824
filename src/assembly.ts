/**
 * The parts that `app.ts` composes, each connected to those that it needs. Only `app.ts` calls
 * this.
 */

import { randomInt, randomUUID } from "node:crypto";
import { createConfiguration } from "./engine/configuration.ts";
import { createChangeFeed } from "./engine/changes.ts";
import { Activity, Holds, type Origin } from "./engine/clock/activity.ts";
import type { AdvanceWork } from "./engine/clock/advances.ts";
import type { Clock, ClockMode } from "./engine/clock/clock.ts";
import { PipelineClock } from "./engine/clock/pipeline-clock.ts";
import { createSuppressions, createDeletions } from "./engine/deletions/deletions.ts";
import { reportTo } from "./engine/store-failure.ts";
import { monotonic, wallClockNow } from "./engine/real-time.ts";
import { openStore } from "./store/sqlite-store.ts";
import { messageIds, type DestinationId } from "./domain/ids.ts";
import type { CommittedMessage, RecordedAttempt } from "./engine/ports.ts";
import type { ProfileChange } from "./engine/profile-ports.ts";
import { createDeliveries } from "./engine/deliver/deliveries.ts";
import { DeliveryScheduler } from "./engine/deliver/delivery-scheduler.ts";
import { DeliveryThread } from "./engine/deliver/delivery-thread.ts";
import { createTrust } from "./engine/deliver/dial.ts";
import { createAuthority } from "./engine/endpoints/authority.ts";
import { createComputations, type Computations } from "./engine/audiences/computations.ts";
import type { Traces } from "./engine/traces/traces.ts";
import { createInternalMessages } from "./engine/ingest/internal-messages.ts";
import { Follower } from "./engine/profiles/follower.ts";
import { createProfiles } from "./engine/profiles/profiles.ts";
import { PortTaken } from "./app-errors.ts";
import { createClients } from "./engine/clients/clients.ts";
import { Flow } from "./engine/flow.ts";
import { createMetrics } from "./engine/metrics.ts";
import { createEndpoints } from "./engine/endpoints/endpoints.ts";
import { createIngestClient } from "./engine/messages.ts";
import { Ingest } from "./engine/ingest/ingest.ts";
import { createRefusedRequests } from "./engine/ingest/refused-requests.ts";
import { createUpkeep } from "./engine/whole-pipeline.ts";

type CoreOptions = {
  /** A directory, or `:memory:`. */
  data: string;
  /** Where the clock of new data begins; the machine's time, and running, when left out. */
  clock?: { startAt: number; mode: ClockMode };
  /**
   * The same bytes in every run: ids are numbered, attempts take clock time only, and each has a
   * connection of its own.
   */
  steady?: boolean;
  /** Checkpoints of the data file have a thread of their own. */
  inThread: boolean;
  report: (error: unknown) => void;
};

export type Core = ReturnType<typeof createCore>;

/** What everything else needs: the store, the clock, the configuration, signals. */
export function createCore({
  data,
  clock: firstClock,
  steady = false,
  inThread,
  report: reportUnexpected,
}: CoreOptions) {
  const store = openStore(data, inThread);
  const report = reportTo(store, reportUnexpected);
  if (firstClock !== undefined && store.loadClock() === null) {
    store.saveClock({
      now: firstClock.startAt,
      wallAt: wallClockNow(),
      mode: firstClock.mode,
      speed: 1,
    });
  }
  const signals = createSignals();
  const changes = createChangeFeed();
  const activity = new Activity();
  /** What an advance of the clock waits for: delivery and profiles put themselves in. */
  const advanceWork: AdvanceWork = {
    isPending: () => false,
    isWaiting: () => false,
    attemptsMade: () => 0,
    trouble: () => store.trouble(),
  };
  const clock = new PipelineClock({
    store,
    activity,
    work: advanceWork,
    onOverdue: signals.overdue.emit,
    onChange(advance) {
      changes.noteClock(advance);
      signals.clockMoved.emit();
    },
    report,
  });
  const now = (): number => clock.now();
  const newId = steady ? createNumberedIds() : randomUUID;
  const configuration = createConfiguration({
    store,
    now,
    changes,
    onChange: signals.configurationChanged.emit,
    onDestinationDeleted: signals.destinationDeleted.emit,
    ...(steady ? { newWriteKey: () => newId().replaceAll("-", "") } : {}),
  });
  const onLifted = signals.suppressionLifted.emit;
  const suppressions = createSuppressions({ store, now, changes, onLifted });
  const seed = (): number => configuration.settings().seed;
  return {
    store,
    steady,
    newId,
    // The rates of a story are the same each time.
    flowTime: steady ? now : monotonic,
    report,
    signals,
    changes,
    activity,
    holds: new Holds(),
    clock,
    advanceWork,
    configuration,
    seed,
    suppressions,
    isSuppressed: suppressions.isSuppressed,
    /** Where the test endpoints listen, once they do. */
    endpointPorts: [] as number[],
  };
}

/** Ids that look like the random ones. */
function createNumberedIds(): () => string {
  let last = 0;
  return () => {
    last += 1;
    return `00000000-0000-4000-8000-${String(last).padStart(12, "0")}`;
  };
}

type Signal<Args extends unknown[]> = {
  on(listener: (...args: Args) => void): void;
  emit(...args: Args): void;
};

/**
 * What parts of the pipeline announce to others that they do not know. Listeners run in the order
 * in which they were added.
 */
function createSignals() {
  return {
    /** Messages are in the store. */
    committed: signal<[messages: readonly CommittedMessage[], origin: Origin]>(),
    /** A slice of messages was applied to profiles; listeners write within its transaction. */
    profilesChanged: signal<[changes: readonly ProfileChange[]]>(),
    attemptsRecorded: signal<[attempts: readonly RecordedAttempt[]]>(),
    /** The clock was set, or an advance has ended or gets on. */
    clockMoved: signal<[]>(),
    configurationChanged: signal<[]>(),
    destinationDeleted: signal<[id: DestinationId]>(),
    suppressionLifted: signal<[]>(),
    /** Due times were missed, because the machine slept or the process did not run. */
    overdue: signal<[]>(),
  };
}

function signal<Args extends unknown[]>(): Signal<Args> {
  const listeners: ((...args: Args) => void)[] = [];
  return {
    on: (listener) => void listeners.push(listener),
    emit: (...args) => {
      for (const listener of listeners) listener(...args);
    },
  };
}

type DeliveryOptions = {
  dataDir: string | null;
  /** Attempts are sent in a thread of their own. */
  inThread: boolean;
  /** Null when nobody traces. */
  traces: Traces | null;
};

/** From a queued delivery to its attempts on record. */
export function createDelivery(core: Core, { dataDir, inThread, traces }: DeliveryOptions) {
  const { signals, advanceWork, changes, report } = core;
  const authority = createAuthority({ dataDir });
  const trust = createTrust({ localAuthority: () => authority.authorityPem() });
  const thread = inThread
    ? new DeliveryThread({
        trust,
        ownPorts: core.endpointPorts,
        onTrouble: () => changes.note("messages", null),
        report,
      })
    : undefined;
  const scheduler = new DeliveryScheduler({
    ...core,
    ...(core.steady ? { clock: withoutRealTime(core.clock), idleMs: 0 } : {}),
    trust,
    thread,
    traces: traces ?? undefined,
    cancelOf: (destination) => deliveries.cancelOf(destination),
    onAttempts: signals.attemptsRecorded.emit,
  });
  const deliveries = createDeliveries({ ...core, scheduler });

  advanceWork.isPending = () => scheduler.hasOwnWork();
  advanceWork.isWaiting = () => scheduler.hasOwnWaiting();
  advanceWork.attemptsMade = () => scheduler.attemptsMade;
  signals.overdue.on(() => scheduler.spreadOverdue());
  signals.configurationChanged.on(() => scheduler.onConfigurationChanged());
  signals.destinationDeleted.on((id) => {
    try {
      deliveries.cancelOf(id);
    } catch (error) {
      // It is deleted all the same, and the scheduler cancels what is left.
      report(error);
    }
  });
  signals.committed.on((messages, origin) => scheduler.onCommitted(messages, origin));
  return { authority, trust, thread, scheduler, deliveries };
}

/**
 * Who the users are, and what receivers learn of them: profiles, audiences, computed traits,
 * deletions.
 */
export function createPeople(core: Core, { accepted }: { accepted: () => Promise<void> }) {
  const { store, signals, activity, advanceWork } = core;
  const internalMessages = createInternalMessages({
    ...core,
    onCommitted: (messages) => signals.committed.emit(messages, activity.origin),
  });
  const follower = new Follower({
    ...core,
    onApplied: signals.profilesChanged.emit,
    stepsOf: (effects) => computations.stepsOf(effects),
    onFailed: () => computations.onFailed(),
  });
  const caughtUp = (): Promise<void> => follower.caughtUp();
  const computations: Computations = createComputations({ ...core, internalMessages, caughtUp });
  const profiles = createProfiles({ ...core, follower, computed: computations });
  const deletions = createDeletions({
    ...core,
    internalMessages,
    hasSentTo: computations.hasSentTo,
    forget: computations.forget,
    onFailed: computations.onFailed,
    caughtUp: () => accepted().then(caughtUp),
  });

  advanceWork.trouble = () => store.trouble() ?? follower.trouble;
  signals.profilesChanged.on((changes) => computations.onApplied(changes));
  signals.configurationChanged.on(() => computations.onConfigurationChanged());
  signals.suppressionLifted.on(() => computations.onConfigurationChanged());
  signals.attemptsRecorded.on(() => follower.noteOthers());
  return { follower, profiles, computations, deletions };
}

function withoutRealTime(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => 0,
    isRunning: () => clock.isRunning(),
    schedule: (...timer) => clock.schedule(...timer),
  };
}

export type Addresses = {
  ingestUrl: string;
  /** Null when ingest has no TLS. */
  ingestTlsUrl: string | null;
  endpointsUrl: string;
  endpointsTlsUrl: string;
  dataDir: string | null;
};

type PortsOptions = {
  host: string;
  ports: Ports;
  dataDir: string | null;
  log: (sentence: string) => void;
};

/** 0 picks a free one. Ingest has no TLS without a port for it. */
export type Ports = {
  ingest: number;
  ingestTls?: number | null;
  endpoints: number;
  endpointsTls: number;
};

/**
 * On free ports that stay free when they are closed: those below 32,768, of which a system picks
 * none by itself.
 */
export async function onLastingPorts<Started>(
  start: (ports: Ports) => Promise<Started>,
): Promise<Started> {
  for (let tries = 1; ; tries += 1) {
    const ingest = randomInt(20_000, 32_000);
    try {
      return await start({ ingest, endpoints: ingest + 1, endpointsTls: ingest + 2 });
    } catch (error) {
      if (!(error instanceof PortTaken) || tries === 20) throw error;
    }
  }
}

/**
 * What listens: the ingest port, the test endpoints on their two ports; and the clients of the
 * pipeline itself.
 */
export function createPorts(
  core: Core,
  { authority, trust }: ReturnType<typeof createDelivery>,
  { host, ports, dataDir, log }: PortsOptions,
) {
  const { configuration, signals } = core;
  const addresses: Addresses = {
    ingestUrl: "",
    ingestTlsUrl: null,
    endpointsUrl: "",
    endpointsTlsUrl: "",
    dataDir,
  };
  const ingestUrl = (): string => addresses.ingestUrl;
  const upkeep = createUpkeep({ ...core, log, settings: () => configuration.settings() });
  signals.configurationChanged.on(() => upkeep.onConfigurationChanged());
  const refused = createRefusedRequests({ ...core, now: () => core.clock.now(), ingestUrl });
  const ingest = new Ingest({
    ...core,
    onRefused: refused.note,
    onCommitted(messages, origin) {
      signals.committed.emit(messages, origin);
      upkeep.kick();
    },
    host,
    port: ports.ingest,
    tlsPort: ports.ingestTls ?? null,
    identity: () => authority.identityFor("valid.localhost"),
    log,
  });
  const endpoints = createEndpoints({
    ...core,
    authority,
    trust,
    secrets: () =>
      configuration
        .destinations()
        .flatMap(({ id, name, sharedSecret }) =>
          sharedSecret === null ? [] : [{ destinationId: id, name, secret: sharedSecret }],
        ),
    webhookUrls: () =>
      configuration.destinations().flatMap(({ webhooks }) => webhooks.map(({ url }) => url)),
    host,
    port: ports.endpoints,
    tlsPort: ports.endpointsTls,
  });

  async function listening<T>(
    role: "ingest" | "endpoints",
    port: number,
    start: () => Promise<T>,
  ): Promise<T> {
    try {
      return await start();
    } catch (error) {
      if (!isAddressInUse(error)) throw error;
      const tlsRole = role === "ingest" ? "ingestTls" : "endpointsTls";
      const isTls = error.port !== port && error.port === ports[tlsRole];
      throw new PortTaken({ port: error.port ?? port, role: isTls ? tlsRole : role });
    }
  }

  return {
    addresses,
    upkeep,
    ingest,
    refused,
    endpoints,
    ingestClient: createIngestClient({ ingestUrl, steady: core.steady }),
    clients: createClients({ ...core, trust, ingestUrl, log }),
    /** Rejects with `PortTaken`. */
    async listen(): Promise<void> {
      const ingestUrls = await listening("ingest", ports.ingest, () => ingest.start());
      addresses.ingestUrl = ingestUrls.url;
      addresses.ingestTlsUrl = ingestUrls.tlsUrl;
      const { url, tlsUrl } = await listening("endpoints", ports.endpoints, () =>
        endpoints.start(),
      );
      addresses.endpointsUrl = url;
      addresses.endpointsTlsUrl = tlsUrl;
      // Clients are told to trust the file of this certificate: it exists before the first of them.
      if (dataDir !== null) authority.authorityPem();
      core.endpointPorts.push(...[url, tlsUrl].map((each) => Number(new URL(each).port)));
    },
  };
}

type ObserversOptions = {
  follower: Follower;
  scheduler: DeliveryScheduler;
  traces: Traces | null;
  version: string;
};

/** Count what is committed and sent, announce it, and let the profiles follow. */
export function createObservers(
  core: Core,
  { follower, scheduler, traces, version }: ObserversOptions,
) {
  const { store, signals, changes, clock, flowTime } = core;
  const metrics = createMetrics({
    stats: () => store.stats(),
    clock: () => clock.state(),
    hasTrouble: () => store.trouble() !== null,
    storeBytes: () => store.bytes(),
    traces: traces?.counts ?? null,
    version,
  });
  const flow = new Flow({
    ...core,
    monotonic: flowTime,
    underWay: () => scheduler.underWay(),
  });
  signals.committed.on((messages, origin) => {
    const ids = messages.map(({ id }) => id);
    changes.noteMany("messages", ids, messageIds.format, true);
    metrics.committed(messages.length);
    traces?.committed(messages);
    follower.kick(origin);
    flow.committed(messages);
  });
  signals.attemptsRecorded.on((attempts) => {
    flow.recorded(attempts);
    metrics.attempted(attempts);
  });
  return { flow, metrics };
}

function isAddressInUse(error: unknown): error is NodeJS.ErrnoException & { port?: number } {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === "EADDRINUSE";
}
