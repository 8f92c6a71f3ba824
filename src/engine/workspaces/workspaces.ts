/**
 * Workspaces to start with, made of the same parts that a user creates: a first source and
 * destination, or the demo shop. What they send goes through the ingest port like that of any
 * client. The shop sends for as long as it is open, also after a restart.
 */

import { randomBytes } from "node:crypto";
import type {
  Destination,
  RetryProfile,
  Source,
  Step,
  TestEndpoint,
} from "../../domain/configuration.ts";
import { isProblem, problem, type Problem } from "../../domain/problem.ts";
import type { DestinationId, SourceId } from "../../domain/ids.ts";
import { documented } from "../../domain/retry.ts";
import type { Activity } from "../clock/activity.ts";
import type { Clock, ClockState, ClockTimer } from "../clock/clock.ts";
import type { IngestClient } from "../messages.ts";
import type { EndpointView, Endpoints } from "../endpoint-pipeline.ts";
import type {
  Changes,
  Clients,
  Configuration,
  DestinationDraft,
  Workspace,
  Workspaces,
} from "../pipeline.ts";
import type { QueryStore } from "../ports.ts";
import type { Audiences, ComputedTraits, Deletions } from "../profile-pipeline.ts";
import type { DemoStore } from "../store-ports.ts";
import {
  bigSpenders,
  leaver,
  roundOfStories,
  shopMessages,
  shopSources,
  spent,
  visitorOf,
  type ShopMessage,
  type ShopSource,
} from "./shop.ts";

/** How many messages the shop has sent when it is opened. */
const firstMessages = 240;
const everyMs = 2000;
/** The shop gets no busier than this many times as fast: a page can follow five messages a second. */
const fastestPace = 10;
/**
 * In an advance of the clock the shop sends all its stories at once this often: often enough that
 * a retry of four hours is always waiting when the advance ends, and eight days take a moment.
 */
const everyOfAdvanceMs = 2.5 * 60 * 60 * 1000;
const phoneName = "Yard Coffee on a phone";
/** One visitor in this many asks for deletion. */
const roundsPerDeletion = 50;

type WorkspacesOptions = {
  configuration: Configuration;
  audiences: Pick<Audiences, "list" | "create">;
  computedTraits: Pick<ComputedTraits, "list" | "create">;
  deletions: Pick<Deletions, "create" | "list">;
  clients: Pick<Clients, "list" | "create" | "generate">;
  endpoints: Endpoints;
  clock: Clock & { state(): ClockState };
  activity: Activity;
  seed: () => number;
  store: Pick<QueryStore, "messages"> & DemoStore;
  ingestClient: IngestClient;
  changes: Changes;
  report: (error: unknown) => void;
};

type RunningWorkspaces = Workspaces & {
  /** The demo continues where it was when the process ended. */
  start(): void;
  stop(): void;
  /** The clock was set, or an advance has ended: the demo's pace follows it. */
  followClock(): void;
};

export function createWorkspaces(options: WorkspacesOptions): RunningWorkspaces {
  const { configuration, changes, store } = options;
  const setup = createSetup(options);
  const customers = createCustomers(options);
  const traffic = createTraffic({ ...options, customers });
  let opening: Promise<Workspace | Problem> | null = null;
  /** Since it was opened last; it may have been while it was opening. */
  let isClosed = false;

  /**
   * What a source has sent is in the store, so that after a refusal nothing is sent twice or left
   * out.
   */
  async function openDemo(): Promise<Workspace | Problem> {
    const opened = setup.demo();
    if (isProblem(opened)) return opened;
    if (store.demo() === null) {
      const refused = await sendFirst(opened);
      if (refused !== null) return refused;
      if (isClosed) return opened.workspace;
      store.saveDemo({ next: firstMessages });
      changes.note("settings", null);
    }
    traffic.start();
    return opened.workspace;
  }

  async function sendFirst({ crm, app }: Shop): Promise<Problem | null> {
    const { audiences, computedTraits, clients, deletions, clock, seed } = options;
    const now = clock.now();
    const messages = shopMessages({ seed: seed(), from: 0, count: firstMessages, now });
    for (const source of shopOf(configuration)) {
      const refused =
        (await customers.sentBy(source)) === 0 ? await customers.send(source, messages) : null;
      if (refused !== null) return refused;
    }
    const to = { destinationIds: [crm] };
    const missing = <Draft extends { name: string }>(
      all: { list(): { name: string }[] },
      { name }: Draft,
    ): boolean => !all.list().some((each) => each.name === name);
    const phone = { name: phoneName, flushAt: 5, flushAfter: 10_000 };
    const created = [
      missing(audiences, bigSpenders) ? await audiences.create({ ...bigSpenders, ...to }) : null,
      missing(computedTraits, spent) ? await computedTraits.create({ ...spent, ...to }) : null,
      missing(clients, phone) ? clients.create({ ...phone, sourceId: app }) : null,
      deletions.list(1, null).total === 0 ? await deletions.create([leaver], false) : null,
    ];
    return created.find((each) => isProblem(each)) ?? null;
  }

  return {
    first() {
      const source = setup.source({ name: "First source", kind: "server" });
      const endpoint = setup.endpoint("First", "first", [{ do: "answer", status: 200 }]);
      return setup.connect([source], endpoint, "First destination");
    },
    /** A second call while it is being opened gets the result of the first. */
    demo() {
      isClosed = false;
      return (opening ??= openDemo().finally(() => {
        opening = null;
      }));
    },
    isDemoOpen: () => store.demo() !== null,
    closeDemo() {
      isClosed = true;
      traffic.stop();
      store.saveDemo(null);
      changes.note("settings", null);
    },
    start: traffic.start,
    stop: traffic.stop,
    followClock: traffic.followClock,
  };
}

const shopOf = (configuration: Pick<Configuration, "sources">): Source[] =>
  Object.values(shopSources).flatMap(({ name }) =>
    configuration.sources().filter((each) => each.name === name),
  );

type TrafficOptions = WorkspacesOptions & { customers: ReturnType<typeof createCustomers> };

/** What the shop sends by itself for as long as it is open. It is quiet while the clock is paused. */
function createTraffic(options: TrafficOptions) {
  const { configuration, clock, clients, deletions, store, customers } = options;
  let timer: ClockTimer | null = null;

  const nextAt = (): number => {
    const { now, speed, advance } = clock.state();
    if (advance === null) return now + everyMs * Math.max(1, speed / fastestPace);
    // After an advance that has an end the shop continues at once.
    const end = typeof advance.to === "number" ? advance.to + everyMs : Infinity;
    return Math.min(now + everyOfAdvanceMs, end);
  };

  function arm(): void {
    timer?.cancel();
    timer = clock.schedule(nextAt(), sendNext, { background: true });
  }

  function sendNext(): void {
    // First: after a refusal by the store, the next message is due all the same.
    arm();
    const demo = store.demo();
    const sources = shopOf(configuration);
    if (demo === null || sources.length === 0) {
      store.saveDemo(null);
      return stop();
    }
    const { now, advance } = clock.state();
    // An advance until nothing is due would never end if the shop continued.
    if (advance === null || typeof advance.to === "number") {
      const count = advance === null ? 1 : roundOfStories;
      store.saveDemo({ next: demo.next + count });
      run(async () => {
        const messages = shopMessages({
          seed: options.seed(),
          from: demo.next,
          count,
          now,
          apartMs: everyMs,
        });
        for (const source of sources) await customers.send(source, messages);
        await forgetVisitor(demo.next, count);
      });
      useApp();
    }
  }

  function run(work: () => Promise<unknown>): void {
    const underWay = options.activity.beginSending();
    work()
      .catch(options.report)
      .finally(() => underWay.end());
  }

  async function forgetVisitor(from: number, count: number): Promise<void> {
    const round = Math.floor((from + count) / roundOfStories);
    const isNew = round > Math.floor(from / roundOfStories);
    if (isNew && round % roundsPerDeletion === 0)
      await deletions.create([visitorOf(options.seed(), round - 1).id], false);
  }

  /** The phone's client is always in motion. */
  function useApp(): void {
    const phone = clients.list().find(({ name }) => name === phoneName);
    if (phone?.state === "running" && phone.generating === null) clients.generate(phone.id, 5, 0.5);
  }

  function stop(): void {
    timer?.cancel();
    timer = null;
  }

  return {
    start(): void {
      if (store.demo() !== null && timer === null) arm();
    },
    followClock(): void {
      if (timer !== null && clock.state().advance === null) arm();
    },
    stop,
  };
}

const flakySteps: Step[] = [
  { do: "answer", status: 503, times: 3 },
  { do: "reset" },
  { do: "answer", status: 200, times: 20 },
  { do: "hang" },
  { do: "answer", status: 200, times: 15 },
];
const steadySteps: Step[] = [{ do: "answer", status: 200 }];
/** A step with a chance is never used up. */
const warehouseSteps: Step[] = [
  { do: "answer", status: 400, match: { event: "Order Refunded" }, chance: 1 },
  { do: "answer", status: 503, match: { event: "Payment Failed" }, chance: 1 },
  { do: "answer", status: 200 },
];
const loyaltySteps: Step[] = [
  { do: "answer", status: 503, match: { event: "Review Submitted" }, chance: 1 },
  { do: "answer", status: 200 },
];
/** Its window closes before a second round: what fails expires. */
const impatient: RetryProfile = { ...documented, name: "one-try", windowMs: 5000 };

/** What is opened, with the receiver of the audience, and the source of the phone's client. */
type Shop = { workspace: Workspace; crm: DestinationId; app: SourceId };

/** Each of these returns what is there already, or creates it. */
function createSetup({
  configuration,
  endpoints,
}: Pick<WorkspacesOptions, "configuration" | "endpoints">) {
  function destination(
    name: string,
    sources: Source[],
    { url }: EndpointView,
    more: Partial<DestinationDraft>,
  ): Destination | Problem {
    const known = configuration.destinations().find((each) => each.name === name);
    const connected = known?.sourceIds ?? [];
    const missing = sources.map(({ id }) => id).filter((id) => !connected.includes(id));
    const sourceIds = [...connected, ...missing];
    if (known === undefined)
      return configuration.createDestination({
        ...more,
        ...{ name, sourceIds },
        webhooks: [{ url, headers: {} }],
        sharedSecret: randomBytes(12).toString("hex"),
      });
    // A source that was deleted has been created again. The user may have one of that name.
    return missing.length > 0 && leadsTo(url, known)
      ? configuration.updateDestination(known.id, { sourceIds })
      : known;
  }

  /** There may be a fault in front of the endpoint. */
  const leadsTo = (url: string, { webhooks }: Destination): boolean =>
    webhooks.some(
      (webhook) =>
        webhook.url === url ||
        endpoints.list().some((one) => one.url === webhook.url && one.inFrontOf?.url === url),
    );

  const setup = {
    source: ({ name, kind }: ShopSource): Source | Problem =>
      configuration.sources().find((each) => each.name === name) ??
      configuration.createSource({ name, kind, writeKey: `wk_${randomBytes(8).toString("hex")}` }),

    endpoint: (
      name: string,
      path: string,
      steps: Step[],
      after: TestEndpoint["after"] = "repeat-last",
    ): EndpointView | Problem =>
      endpoints.list().find((each) => each.path === path) ??
      endpoints.create({ name, path, steps, after }),

    /** Connects the sources to the endpoint by a destination. */
    connect(
      sources: (Source | Problem)[],
      endpoint: EndpointView | Problem,
      name: string,
      more: Partial<DestinationDraft> = {},
    ): Workspace | Problem {
      const created: Source[] = [];
      for (const source of sources) {
        if (isProblem(source)) return source;
        created.push(source);
      }
      if (isProblem(endpoint)) return endpoint;
      const connected = destination(name, created, endpoint, more);
      if (isProblem(connected)) return connected;
      const { id: sourceId } = created[0] as Source;
      return { sourceId, destinationId: connected.id, endpointId: endpoint.id };
    },

    /** The shop's sources, and four receivers: one of each kind of luck. */
    demo(): Shop | Problem {
      const web = setup.source(shopSources.web);
      const server = setup.source(shopSources.server);
      const app = setup.source(shopSources.app);
      if (!configuration.retryProfiles().some(({ name }) => name === impatient.name)) {
        const profile = configuration.createRetryProfile(impatient);
        if (isProblem(profile)) return profile;
      }
      const steady = setup.endpoint("Always 200", "always-200", steadySteps);
      const flaky = setup.endpoint("Flaky billing", "flaky-billing", flakySteps, "start-over");
      const warehouse = setup.endpoint("Warehouse", "warehouse", warehouseSteps);
      const loyalty = setup.endpoint("Loyalty", "loyalty", loyaltySteps);
      const crm = setup.connect([web, server, app], steady, "CRM sync");
      const workspace = setup.connect([web, server], flaky, "Billing");
      const stock = setup.connect([server], warehouse, "Warehouse");
      const points = setup.connect([app], loyalty, "Loyalty points", {
        retryProfile: impatient.name,
      });
      if (isProblem(crm)) return crm;
      if (isProblem(workspace)) return workspace;
      if (isProblem(stock)) return stock;
      if (isProblem(points)) return points;
      return { workspace, crm: crm.destinationId, app: points.sourceId };
    },
  };
  return setup;
}

/** The shop's customers, who send over HTTP. */
function createCustomers({
  store,
  ingestClient,
}: Pick<WorkspacesOptions, "store" | "ingestClient">) {
  return {
    async sentBy(...sources: Source[]): Promise<number> {
      return (await store.messages({ sourceId: sources.map(({ id }) => id) }, 1, null)).total;
    },
    /** Sends those of the messages that are the source's, in one batch. */
    async send(
      { name, writeKey }: Source,
      messages: readonly ShopMessage[],
    ): Promise<Problem | null> {
      const batch = messages.filter((message) => message.source === name).map(({ body }) => body);
      if (batch.length === 0) return null;
      const answer = await ingestClient.send(writeKey, "batch", JSON.stringify({ batch }));
      if (isProblem(answer)) return answer;
      if (answer.status < 400) return null;
      const { code, message } = JSON.parse(answer.body) as Pick<Problem, "code" | "message">;
      return problem(answer.status, code, message);
    },
  };
}
