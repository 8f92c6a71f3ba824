/**
 * Something to start from, made of the same things that a user makes: a first source and destination, or the demo
 * shop. Everything they send goes through the ingest port like anybody's.
 */

import { randomBytes } from "node:crypto";
import type { Destination, Source, Step } from "../../domain/configuration.ts";
import { isProblem, type Problem } from "../../domain/problem.ts";
import type { Clock, ClockTimer } from "../clock/clock.ts";
import type { Configuration, EndpointView, Endpoints, SourceDraft, Workspace, Workspaces } from "../pipeline.ts";
import type { Audiences } from "../profile-pipeline.ts";
import { bigSpenders, shopMessages, shopSources, type ShopMessage } from "./shop.ts";

/** What the shop has sent when it is opened, and how many more it sends by itself. */
const firstMessages = 240;
const laterMessages = 600;
const everyMs = 2000;

type WorkspacesOptions = {
  configuration: Configuration;
  audiences: Pick<Audiences, "list" | "create">;
  endpoints: Endpoints;
  clock: Clock;
  seed: () => number;
  /** A batch over HTTP to the ingest port. */
  sendBatch: (writeKey: string, batch: object[]) => Promise<void>;
  report: (error: unknown) => void;
};

export function createWorkspaces(options: WorkspacesOptions): Workspaces & { stop(): void } {
  const { configuration, endpoints, clock } = options;
  let timer: ClockTimer | null = null;
  let sent = 0;

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

  async function sendAs(messages: readonly ShopMessage[]): Promise<void> {
    for (const { name } of shopSources) {
      const from = configuration.sources().find((each) => each.name === name);
      const batch = messages.filter((message) => message.source === name).map(({ body }) => body);
      if (from !== undefined && batch.length > 0) await options.sendBatch(from.writeKey, batch);
    }
  }

  function sendNext(): void {
    timer = null;
    if (sent >= firstMessages + laterMessages) return;
    const messages = shopMessages({ seed: options.seed(), from: sent, count: 1, now: clock.now() });
    sent += 1;
    sendAs(messages).catch(options.report);
    timer = clock.schedule(clock.now() + everyMs, sendNext, { background: true });
  }

  return {
    first: () => join([source("First source", "server")], endpoint("First", "first", [{ do: "answer", status: 200 }]), "First destination"),
    async demo() {
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
      if (sent === 0) {
        sent = firstMessages;
        await sendAs(shopMessages({ seed: options.seed(), from: 0, count: firstMessages, now: clock.now() }));
      }
      const known = options.audiences.list().some(({ name }) => name === bigSpenders.name);
      const made = known ? null : await options.audiences.create({ ...bigSpenders, destinationIds: [customers.destinationId] });
      if (isProblem(made)) return made;
      timer ??= clock.schedule(clock.now() + everyMs, sendNext, { background: true });
      return billing;
    },
    stop() {
      timer?.cancel();
      timer = null;
      sent = 0;
    },
  };
}
