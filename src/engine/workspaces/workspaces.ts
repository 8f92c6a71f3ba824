/**
 * Something to start from, made of the same things that a user makes: a first source and destination, or the demo
 * shop. Everything they send goes through the ingest port like anybody's.
 */

import { randomBytes } from "node:crypto";
import type { Destination, Source, Step } from "../../domain/configuration.ts";
import { isProblem, problem, type Problem } from "../../domain/problem.ts";
import type { Activity } from "../clock/activity.ts";
import type { Clock, ClockTimer } from "../clock/clock.ts";
import type { IngestClient } from "../messages.ts";
import type { Configuration, EndpointView, Endpoints, SourceDraft, Workspace, Workspaces } from "../pipeline.ts";
import type { QueryStore } from "../ports.ts";
import type { Audiences } from "../profile-pipeline.ts";
import { bigSpenders, shopMessages, shopSources, type ShopMessage } from "./shop.ts";

/** What the shop has sent when it is opened, and how many more it sends by itself each time. */
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
  const { configuration, endpoints, clock } = options;
  let timer: ClockTimer | null = null;
  let opening: Promise<Workspace | Problem> | null = null;
  /** The place of the next message in all that the shop sends, and how many are left of what it sends by itself. */
  let next = 0;
  let left = 0;

  const source = (name: string, kind: NonNullable<SourceDraft["kind"]>): Source | Problem =>
    configuration.sources().find((each) => each.name === name) ??
    configuration.createSource({ name, kind, writeKey: `wk_${randomBytes(8).toString("hex")}` });

  const endpoint = (name: string, path: string, steps: Step[]): EndpointView | Problem =>
    endpoints.list().find((each) => each.path === path) ?? endpoints.create({ name, path, steps });

  const destination = (name: string, sources: Source[], { url }: EndpointView): Destination | Problem =>
    configuration.destinations().find((each) => each.name === name) ??
    configuration.createDestination({
      name,
      sourceIds: sources.map(({ id }) => id),
      webhooks: [{ url, headers: {} }],
      sharedSecret: randomBytes(12).toString("hex"),
    });

  function join(sources: (Source | Problem)[], where: EndpointView | Problem, name: string): Workspace | Problem {
    const known: Source[] = [];
    for (const each of sources) {
      if (isProblem(each)) return each;
      known.push(each);
    }
    if (isProblem(where)) return where;
    const made = destination(name, known, where);
    if (isProblem(made)) return made;
    const [first] = known;
    if (first === undefined) throw new Error("a workspace without a source");
    return { sourceId: first.id, destinationId: made.id, endpointId: where.id };
  }

  const shop = (): Source[] => shopSources.flatMap(({ name }) => configuration.sources().filter((each) => each.name === name));

  const sentBy = async (...sources: Source[]): Promise<number> =>
    (await options.store.messages({ sourceId: sources.map(({ id }) => id) }, 1, null)).total;

  /** Of these messages the source's own, in one batch. */
  async function sendAs({ name, writeKey }: Source, messages: readonly ShopMessage[]): Promise<Problem | null> {
    const batch = messages.filter((message) => message.source === name).map(({ body }) => body);
    if (batch.length === 0) return null;
    const answer = await options.ingestClient.send(writeKey, "batch", JSON.stringify({ batch }));
    if (isProblem(answer) || answer.status < 400) return isProblem(answer) ? answer : null;
    const { code, message } = JSON.parse(answer.body) as Pick<Problem, "code" | "message">;
    return problem(answer.status, code, message);
  }

  function sendNext(): void {
    timer = null;
    if (left === 0) return;
    const messages = shopMessages({ seed: options.seed(), from: next, count: 1, now: clock.now() });
    next += 1;
    left -= 1;
    for (const from of shop()) {
      const work = options.activity.beginSending();
      sendAs(from, messages)
        .catch(options.report)
        .finally(() => work.end());
    }
    timer = clock.schedule(clock.now() + everyMs, sendNext, { background: true });
  }

  /** What a source has sent is in the store, so that no restart and no refusal makes it send that again, or leave it out. */
  async function openDemo(): Promise<Workspace | Problem> {
    const sources = shopSources.map(({ name, kind }) => source(name, kind));
    const flaky = endpoint("Flaky billing", "flaky-billing", [
      { do: "answer", status: 503, times: 3 },
      { do: "reset" },
      { do: "answer", status: 200, times: 20 },
      { do: "hang" },
      { do: "answer", status: 200 },
    ]);
    const steady = endpoint("Always 200", "always-200", [{ do: "answer", status: 200 }]);
    const customers = join(sources, steady, "CRM sync");
    const billing = join(sources.slice(0, 2), flaky, "Billing");
    if (isProblem(customers) || isProblem(billing)) return isProblem(customers) ? customers : billing;
    const first = shopMessages({ seed: options.seed(), from: 0, count: firstMessages, now: clock.now() });
    for (const from of shop()) {
      const refused = (await sentBy(from)) === 0 ? await sendAs(from, first) : null;
      if (refused !== null) return refused;
    }
    const known = options.audiences.list().some(({ name }) => name === bigSpenders.name);
    const made = known ? null : await options.audiences.create({ ...bigSpenders, destinationIds: [customers.destinationId] });
    if (isProblem(made)) return made;
    left = laterMessages;
    if (timer === null) {
      next = await sentBy(...shop());
      timer = clock.schedule(clock.now() + everyMs, sendNext, { background: true });
    }
    return billing;
  }

  return {
    first: () => join([source("First source", "server")], endpoint("First", "first", [{ do: "answer", status: 200 }]), "First destination"),
    /** Opened twice at once, it is opened once. */
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
