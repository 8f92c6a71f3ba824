/**
 * A pipeline with things set up in it by name, and the actions on it. A scenario's steps and
 * `hookyard/testing` are both done through one; it knows the pipeline only by the contract's calls.
 *
 * After each action, it waits until nothing runs any more while the clock is paused, so that the
 * next step sees all results.
 */

import type { AnswerOf, InputOf } from "../../contract/contract.ts";
import type {
  FileAudience,
  FileComputedTrait,
  FileChange,
  FileCreation,
} from "../file/change-schema.ts";
import type { FileDestination, FileEndpoint, FileRetryProfile } from "../file/setup-schema.ts";
import type { Scenario } from "../file/scenario-schema.ts";
import {
  audienceChanges,
  computedChanges,
  destinationChanges,
  endpointChanges,
  retryProfileDraft,
  sourceChanges,
  writeKeyOf,
  type EndpointAddress,
} from "./drafts.ts";
import type { SeenDelivery } from "./deliveries.ts";
import { createHistoryReader, type History } from "./history.ts";
import { Requests } from "./request.ts";
import { CallRefused, type ScenarioPipeline } from "./pipeline.ts";

type Computed = Pick<AnswerOf<"audiences.create">, "id" | "key" | "sourceId" | "createdAt"> & {
  kind: "audiences" | "computedTraits";
};
type FileSource = NonNullable<Scenario["sources"]>[string];

export class Session {
  readonly pipeline: ScenarioPipeline;
  readonly startedAt: number;
  /** To receivers that are not Hookyard's. */
  readonly requests = new Requests();
  readonly #sources = new Map<string, string>();
  readonly #endpoints = new Map<string, { id: string } & EndpointAddress>();
  readonly #destinations = new Map<string, { id: string; sharedSecret: string | null }>();
  /** Audiences and computed traits. */
  readonly #computed = new Map<string, Computed>();
  /** URLs that webhooks were given, and the endpoints they lead to. */
  readonly #webhooks = new Map<string, string>();
  readonly #read: () => Promise<History>;
  readonly #messageIds = new Set<string>();
  readonly #bodies = new Set<string>();
  #messages = 0;
  #lastDoneAt: number;
  /** How everything stood before that. */
  #before: History | null = null;

  private constructor(pipeline: ScenarioPipeline, startedAt: number) {
    this.pipeline = pipeline;
    this.startedAt = startedAt;
    this.#lastDoneAt = startedAt;
    this.#read = createHistoryReader(pipeline, {
      source: (id) =>
        nameOf(this.#sources, (one) => one === id) ??
        nameOf(this.#computed, (one) => one.sourceId === id) ??
        id,
      destination: (id) => nameOf(this.#destinations, (one) => one.id === id) ?? id,
      webhook: (url) => this.#webhooks.get(url) ?? url,
      endpoints: () => [...this.#endpoints].map(([name, { id }]) => [name, id]),
      audiences: () =>
        [...this.#computed].flatMap(([name, { kind, key, createdAt }]) =>
          kind === "audiences" ? [{ name, key, createdAt }] : [],
        ),
    });
  }

  /**
   * The clock is paused from now on, unless it is advanced. One connection per webhook keeps
   * requests in order.
   */
  static async start(
    pipeline: ScenarioPipeline,
    settings: InputOf<"settings.update">,
  ): Promise<Session> {
    const { now } = await pipeline.call("clock.set", { mode: "paused" });
    await pipeline.call("settings.update", { laneConnections: 1, ...settings });
    return new Session(pipeline, Date.parse(now));
  }

  async addSource(name: string, source: FileSource): Promise<AnswerOf<"sources.create">> {
    const writeKey = source?.writeKey ?? writeKeyOf(name, this.#sources.size + 1);
    const made = await this.pipeline.call("sources.create", {
      ...sourceChanges(source ?? {}),
      name,
      writeKey,
    });
    this.#sources.set(name, made.id);
    return made;
  }

  async addEndpoint(name: string, endpoint: FileEndpoint): Promise<AnswerOf<"endpoints.create">> {
    const made = await this.pipeline.call("endpoints.create", {
      name,
      ...endpointChanges(endpoint, (other) => this.endpoint(other)),
    });
    this.#endpoints.set(name, { id: made.id, url: made.url, tlsUrl: made.tlsUrl });
    return made;
  }

  async addRetryProfile(name: string, profile: FileRetryProfile): Promise<void> {
    await this.pipeline.call("retryProfiles.create", { name, ...retryProfileDraft(profile) });
  }

  async addDestination(
    name: string,
    { sources, ...destination }: FileDestination,
  ): Promise<AnswerOf<"destinations.create">> {
    const changes = this.#destinationChanges({
      ...destination,
      sources: sources ?? [...this.#sources.keys()],
    });
    const made = await this.pipeline.call("destinations.create", {
      sourceIds: [],
      ...changes,
      name,
    });
    this.#destinations.set(name, { id: made.id, sharedSecret: destination.sharedSecret ?? null });
    return made;
  }

  async addAudience(name: string, audience: FileAudience): Promise<void> {
    const made = await this.pipeline.call("audiences.create", {
      name,
      ...audienceChanges(audience, this.#destinationId),
    });
    this.#computed.set(name, { ...made, kind: "audiences" });
  }

  async addComputedTrait(
    name: string,
    { computation, ...trait }: FileComputedTrait,
  ): Promise<void> {
    const made = await this.pipeline.call("computedTraits.create", {
      name,
      computation,
      ...computedChanges(trait, this.#destinationId),
    });
    this.#computed.set(name, { ...made, kind: "computedTraits" });
  }

  readonly #destinationId = (name: string): string => idOf(this.#destinations, name).id;

  #destinationChanges(
    destination: Partial<FileDestination>,
  ): ReturnType<typeof destinationChanges> {
    const changes = destinationChanges(destination, {
      sourceId: (name) => idOf(this.#sources, name),
      addressOf: (name) => this.endpoint(name),
    });
    for (const [index, { url }] of (changes.webhooks ?? []).entries()) {
      const endpoint = destination.webhooks?.[index]?.endpoint;
      if (endpoint !== undefined) this.#webhooks.set(url, endpoint);
    }
    for (const { endpoint } of destination.mappings ?? [])
      if (endpoint !== undefined) this.#webhooks.set(this.endpoint(endpoint).url, endpoint);
    return changes;
  }

  sourceNames(): string[] {
    return [...this.#sources.keys()];
  }

  sourceId(name: string): string {
    return idOf(this.#sources, name);
  }

  endpoint(name: string): { id: string } & EndpointAddress {
    return idOf(this.#endpoints, name);
  }

  secretOf(destination: string): string | null {
    return this.#destinations.get(destination)?.sharedSecret ?? null;
  }

  /** The id that a message goes out with: the given one, or one by its number. */
  messageId(given: unknown): unknown {
    this.#messages += 1;
    const id = given ?? `message-${this.#messages}`;
    if (typeof id === "string") this.#messageIds.add(id);
    return id;
  }

  /** A body of the file that is sent as it is, with the ids in it. */
  addBody(body: string): void {
    this.#bodies.add(body);
  }

  /** Whether the id is the same in every run. */
  isKnownId(messageId: string): boolean {
    return (
      this.#messageIds.has(messageId) || [...this.#bodies].some((body) => body.includes(messageId))
    );
  }

  /**
   * Does something that may lead to deliveries. What happens from then on can be distinguished from
   * what was there before. Without `begins` it continues what was done before it, and without
   * `ends` something else continues it.
   */
  async act<Result>(
    run: () => Promise<Result>,
    { begins = true, ends = true } = {},
  ): Promise<Result> {
    if (begins || this.#before === null) {
      this.#before = await this.#read();
      this.#lastDoneAt = this.#before.now;
    }
    const result = await run();
    if (ends) await this.settle();
    return result;
  }

  async create({ audiences = {}, computedTraits = {} }: FileCreation): Promise<void> {
    for (const [name, audience] of Object.entries(audiences))
      await this.addAudience(name, audience);
    for (const [name, trait] of Object.entries(computedTraits))
      await this.addComputedTrait(name, trait);
  }

  async change({
    settings,
    sources = {},
    endpoints = {},
    destinations = {},
    audiences = {},
  }: FileChange): Promise<void> {
    if (settings !== undefined) await this.pipeline.call("settings.update", settings);
    for (const [name, source] of Object.entries(sources))
      await this.pipeline.call("sources.update", {
        id: this.sourceId(name),
        ...sourceChanges(source),
      });
    for (const [name, endpoint] of Object.entries(endpoints))
      await this.pipeline.call("endpoints.update", {
        id: this.endpoint(name).id,
        ...endpointChanges(endpoint, (other) => this.endpoint(other)),
      });
    for (const [name, audience] of Object.entries(audiences)) {
      const { id } = idOf(this.#computed, name);
      await this.pipeline.call("audiences.update", {
        id,
        ...audienceChanges(audience, this.#destinationId),
      });
    }
    for (const [name, destination] of Object.entries(destinations)) {
      const known = idOf(this.#destinations, name);
      await this.pipeline.call("destinations.update", {
        id: known.id,
        ...this.#destinationChanges(destination),
      });
      if (destination.sharedSecret !== undefined)
        this.#destinations.set(name, { ...known, sharedSecret: destination.sharedSecret });
    }
  }

  async sync(name: string): Promise<{ entered: number; left: number }> {
    const { kind, id } = idOf(this.#computed, name);
    return this.pipeline.call(`${kind}.sync`, { id });
  }

  async delete(userIds: string[], suppress: boolean): Promise<{ messages: number }> {
    const { users } = await this.pipeline.call("deletions.create", { userIds, suppress });
    return { messages: users.reduce((sum, { messageIds }) => sum + messageIds.length, 0) };
  }

  async lift(userIds: string[]): Promise<void> {
    for (const userId of userIds) await this.pipeline.call("suppressions.lift", { userId });
  }

  /** Retries or cancels the chosen deliveries; returns how many. */
  async withDeliveries(
    what: "retry" | "cancel",
    isChosen: (delivery: SeenDelivery) => boolean,
    ifPossible: boolean,
  ): Promise<number> {
    const { deliveries } = await this.#read();
    const chosen = deliveries.filter(isChosen);
    if (chosen.length === 0 && !ifPossible)
      throw new Error(
        `There is no delivery to ${what}: of ${deliveries.length}, none was selected.`,
      );
    let done = 0;
    for (const { details } of chosen) {
      try {
        await this.pipeline.call(`deliveries.${what}`, { id: details.id });
        done += 1;
      } catch (error) {
        const isRefused = error instanceof CallRefused && error.problem.status === 409;
        if (!ifPossible || !isRefused) throw error;
      }
    }
    return done;
  }

  /** Returns how many attempts were made meanwhile. */
  async advance(target: number | "next-due" | "idle"): Promise<number> {
    const { ran } = await this.pipeline.call(
      "clock.advance",
      typeof target === "number" ? { byMs: target } : { to: target },
    );
    await this.settle();
    return ran.attempts;
  }

  /**
   * An advance to the present time ends when nothing runs any more. What a test endpoint holds, and
   * what is queued behind it, waits for the clock, and only a later step moves that.
   */
  async settle(): Promise<void> {
    await this.pipeline.call("clock.advance", { byMs: 0 });
  }

  /** Clock time since it began. */
  async elapsed(): Promise<number> {
    const { now } = await this.pipeline.call("clock.get", {});
    return Date.parse(now) - this.startedAt;
  }

  history(): Promise<History> {
    return this.#read();
  }

  /** When something was last done, and how everything stood before it. */
  lastDone(): { at: number; before: History | null } {
    return { at: this.#lastDoneAt, before: this.#before };
  }
}

function idOf<Value>(map: ReadonlyMap<string, Value>, name: string): Value {
  const value = map.get(name);
  if (value === undefined)
    throw new Error(`Nothing has the name ${name}. Known: ${[...map.keys()].join(", ")}.`);
  return value;
}

function nameOf<Value>(
  map: ReadonlyMap<string, Value>,
  is: (value: Value) => boolean,
): string | undefined {
  return [...map].find(([, value]) => is(value))?.[0];
}
