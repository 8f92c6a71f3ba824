/**
 * Workspaces to start with, made of the same parts that a user creates: a first source and
 * destination, or the demo shop. What they send goes through the ingest port like that of any
 * client.
 */

import { randomBytes } from "node:crypto";
import type { Destination, Source, Step } from "../../domain/configuration.ts";
import { isProblem, problem, type Problem } from "../../domain/problem.ts";
import type { Activity } from "../clock/activity.ts";
import type { Clock, ClockTimer } from "../clock/clock.ts";
import type { IngestClient } from "../messages.ts";
import type { EndpointView, Endpoints } from "../endpoint-pipeline.ts";
import type { Configuration, SourceDraft, Workspace, Workspaces } from "../pipeline.ts";
import type { QueryStore } from "../ports.ts";
import type { Audiences } from "../profile-pipeline.ts";
import { bigSpenders, shopMessages, shopSources, type ShopMessage } from "./shop.ts";

/** How many messages the shop has sent when it is opened, and how many more it then generates. */
const firstMessages = 240;
const laterMessages = 600;
const everyMs = 2000;

type WorkspacesOptions = {
  configuration: Configuration;
  audiences: Pick<Audiences, "list" | "create">;
  endpoints: Endpoints;
  clock: Clock;
  activity: Activity;
  seed: () => number;
  store: Pick<QueryStore, "messages">;
  ingestClient: IngestClient;
  report: (error: unknown) => void;
};

export function createWorkspaces(options: WorkspacesOptions): Workspaces & { stop(): void } {
  const { configuration, audiences, clock } = options;
  const setup = createSetup(options);
  const customers = createCustomers(options);
  let timer: ClockTimer | null = null;
  let opening: Promise<Workspace | Problem> | null = null;
  /** The number of the next message that the shop generates, and how many are left. */
  let next = 0;
  let left = 0;

  const shop = (): Source[] =>
    shopSources.flatMap(({ name }) => configuration.sources().filter((each) => each.name === name));

  function scheduleNext(): void {
    timer = clock.schedule(clock.now() + everyMs, sendNext, { background: true });
  }

  function sendNext(): void {
    timer = null;
    if (left === 0) return;
    const messages = shopMessages({ seed: options.seed(), from: next, count: 1, now: clock.now() });
    next += 1;
    left -= 1;
    for (const source of shop()) {
      const work = options.activity.beginSending();
      customers
        .send(source, messages)
        .catch(options.report)
        .finally(() => work.end());
    }
    scheduleNext();
  }

  /**
   * What a source has sent is in the store, so that after a restart or a refusal nothing is sent
   * twice or left out.
   */
  async function openDemo(): Promise<Workspace | Problem> {
    const sources = shopSources.map(({ name, kind }) => setup.source(name, kind));
    const flaky = setup.endpoint("Flaky billing", "flaky-billing", flakySteps);
    const steady = setup.endpoint("Always 200", "always-200", [{ do: "answer", status: 200 }]);
    const crm = setup.connect(sources, steady, "CRM sync");
    const billing = setup.connect(sources.slice(0, 2), flaky, "Billing");
    if (isProblem(crm) || isProblem(billing)) return isProblem(crm) ? crm : billing;
    const messages = shopMessages({
      seed: options.seed(),
      from: 0,
      count: firstMessages,
      now: clock.now(),
    });
    for (const source of shop()) {
      const refused =
        (await customers.sentBy(source)) === 0 ? await customers.send(source, messages) : null;
      if (refused !== null) return refused;
    }
    if (!audiences.list().some(({ name }) => name === bigSpenders.name)) {
      const created = await audiences.create({
        ...bigSpenders,
        destinationIds: [crm.destinationId],
      });
      if (isProblem(created)) return created;
    }
    left = laterMessages;
    if (timer === null) {
      next = await customers.sentBy(...shop());
      scheduleNext();
    }
    return billing;
  }

  return {
    first() {
      const source = setup.source("First source", "server");
      const endpoint = setup.endpoint("First", "first", [{ do: "answer", status: 200 }]);
      return setup.connect([source], endpoint, "First destination");
    },
    /** A second call while it is being opened gets the result of the first. */
    demo: () =>
      (opening ??= openDemo().finally(() => {
        opening = null;
      })),
    stop() {
      timer?.cancel();
      timer = null;
    },
  };
}

const flakySteps: Step[] = [
  { do: "answer", status: 503, times: 3 },
  { do: "reset" },
  { do: "answer", status: 200, times: 20 },
  { do: "hang" },
  { do: "answer", status: 200 },
];

/** Each of these returns what is there already, and else creates it. */
function createSetup({
  configuration,
  endpoints,
}: Pick<WorkspacesOptions, "configuration" | "endpoints">) {
  const destination = (
    name: string,
    sources: Source[],
    { url }: EndpointView,
  ): Destination | Problem =>
    configuration.destinations().find((each) => each.name === name) ??
    configuration.createDestination({
      name,
      sourceIds: sources.map(({ id }) => id),
      webhooks: [{ url, headers: {} }],
      sharedSecret: randomBytes(12).toString("hex"),
    });

  return {
    source: (name: string, kind: NonNullable<SourceDraft["kind"]>): Source | Problem =>
      configuration.sources().find((each) => each.name === name) ??
      configuration.createSource({ name, kind, writeKey: `wk_${randomBytes(8).toString("hex")}` }),

    endpoint: (name: string, path: string, steps: Step[]): EndpointView | Problem =>
      endpoints.list().find((each) => each.path === path) ??
      endpoints.create({ name, path, steps }),

    /** Connects the sources to the endpoint by a destination. */
    connect(
      sources: (Source | Problem)[],
      endpoint: EndpointView | Problem,
      name: string,
    ): Workspace | Problem {
      const created: Source[] = [];
      for (const source of sources) {
        if (isProblem(source)) return source;
        created.push(source);
      }
      if (isProblem(endpoint)) return endpoint;
      const connected = destination(name, created, endpoint);
      if (isProblem(connected)) return connected;
      const [first] = created;
      if (first === undefined) throw new Error("a workspace without a source");
      return { sourceId: first.id, destinationId: connected.id, endpointId: endpoint.id };
    },
  };
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
      if (isProblem(answer) || answer.status < 400) return isProblem(answer) ? answer : null;
      const { code, message } = JSON.parse(answer.body) as Pick<Problem, "code" | "message">;
      return problem(answer.status, code, message);
    },
  };
}
