/**
 * What the simulation knows by itself: what it sent and how that was answered, what is configured,
 * whom it had deleted. Nothing here is read from the data file but the rows that were seen before.
 */

import type { AnswerOf } from "../../src/contract/contract.ts";
import type { RetryProfile } from "../../src/domain/configuration.ts";
import {
  destinationIds,
  sourceIds,
  type DestinationId,
  type SourceId,
} from "../../src/domain/ids.ts";
import { People } from "../support/people.ts";
import type { Routing } from "./routing.ts";
import type { Simulation } from "./simulation.ts";

export type Source = AnswerOf<"sources.list">["items"][number];
export type Destination = AnswerOf<"destinations.list">["items"][number];

/** A message as it was sent, once or several times. */
export type Sent = {
  text: string;
  /** What becomes of it, unless it is a duplicate. */
  expected: "rejected" | "suppressed" | Routing;
  accepted: number;
  /** Sent without hearing whether it was accepted. */
  unanswered: number;
};

/** A value that was sent of a user. */
export type Heard = { value: unknown; id: number; type: string };

type SeenMessage = { id: number; key: string; received_at: number; state: number };

/**
 * How a destination was configured at any time: a round may have begun before the newest change.
 */
type Past = { secrets: Set<string | null>; profiles: Map<string, RetryProfile> };

export class Model {
  /** How many messages are kept; null keeps all. */
  retention: number | null = null;
  /** Numbers destinations, webhooks and messages. */
  made = 0;
  now = 0;
  /** By the file: a time that a failing disk refused may be forgotten with the process. */
  storedNow = 0;
  sources = new Map<string, Source>();
  destinations = new Map<string, Destination>();
  suppressed = new Set<string>();
  /** Messages that were rejected or blocked, and counted with a replay. */
  replayed = new Set<number>();
  people = new People();
  readonly past = new Map<string, Past>();
  /** Of each path at the receivers, the destination that sends there. */
  readonly paths = new Map<string, string>();
  /** Of each mapping, the sizes that its batches have or had. */
  readonly sizes = new Map<string, Set<number>>();
  /** Whether a sample keeps something, once that was seen. */
  readonly samples = new Map<string, boolean>();
  /** By source and message id. */
  sent = new Map<string, Sent>();
  /** Those of the newest step. */
  fresh = new Map<string, Sent>();
  messages = new Map<number, SeenMessage>();
  /** By destination: the ids of its webhooks, and until when they may have been others. */
  readonly webhooks = new Map<number, { ids: readonly number[]; since: number }>();
  /**
   * Audiences that do not follow each event: when they were synced last, and what receivers knew
   * then.
   */
  readonly synced = new Map<string, { at: number | null; sent: unknown }>();
  /**
   * The newest value of each user, by audience or computed trait, and by that and a destination: as
   * `heardBy` spells it.
   */
  readonly heard = new Map<string, Map<string, Heard>>();
  /** Of these a destination was disconnected: it may be told that users left whom it had before. */
  readonly heardBefore = new Set<string>();
  /**
   * Those that a destination was connected to while they may have had users, or that had a disabled
   * one: some values are sent to it later, and not to the others.
   */
  readonly connectedLate = new Set<number>();
  moved = true;
  /** Deliveries that wait for a later round, and when that is. */
  waiting = new Map<number, number>();
  forgot = false;
  /** The newest times of messages: of those that arrived, and of all. */
  newest = { arrived: 0, any: 0 };
  /** Newest rows that were looked at. */
  cursor = { message: 0, attempt: 0, transition: 0 };
  /** Users of a deletion that may have been accepted since the last look. */
  deleting: readonly string[] = [];
  deletions = 0;
  /** A disk that failed has put a deletion off. */
  deletesLate = false;
  /** Messages came before such a deletion: it may have removed them too. */
  peopleUnknown = false;
  resetting = false;
  wasReset = false;
  /**
   * Enough real time has passed since the newest step for everything that does not wait for the
   * clock.
   */
  settled = false;
  finished = false;
  /** Webhooks have or had so few connections that a round may wait for one. */
  hasNarrowLanes = false;

  summary(): string {
    return `${this.messages.size} messages, ${this.destinations.size} destinations`;
  }

  /**
   * Takes over the configuration from the process, after changes and when it is not known which of
   * them were made.
   */
  async reread(sim: Simulation): Promise<void> {
    const sources = await sim.done("sources.list", {});
    const destinations = await sim.done("destinations.list", {});
    const profiles = await sim.done("retryProfiles.list", {});
    this.sources = new Map(sources.items.map((source) => [source.id, source]));
    this.#noteConnections(destinations.items);
    this.destinations = new Map(
      destinations.items.map((destination) => [destination.id, destination]),
    );
    for (const { id, retryProfile, webhooks, mappings } of destinations.items) {
      for (const { url } of [...webhooks, ...mappings]) this.paths.set(pathOf(url), id);
      for (const { id: mapping, batch } of mappings)
        this.sizes.set(mapping, (this.sizes.get(mapping) ?? new Set()).add(batch.size));
      const past = this.past.get(id) ?? { secrets: new Set(), profiles: new Map() };
      const { sharedSecret } = await sim.done("destinations.secret", { id });
      past.secrets.delete(sharedSecret);
      past.secrets.add(sharedSecret);
      const profile = profiles.items.find(({ name }) => name === retryProfile);
      if (profile !== undefined) past.profiles.set(retryProfile, profile);
      this.past.set(id, past);
    }
    this.suppressed = new Set(
      sim
        .look(({ suppressions }) => suppressions.list("", 100, null))
        .items.map(({ userId }) => userId),
    );
  }

  /** Of audiences and computed traits. A destination that comes back is new to them. */
  #noteConnections(destinations: readonly Destination[]): void {
    for (const { kind, id } of this.sources.values()) {
      const row = sourceIds.parse(id);
      if (kind !== "audience" || row === null) continue;
      const connectedIn = (all: Iterable<Destination>): Destination[] =>
        [...all].filter((one) => one.sourceIds.includes(id));
      const before = connectedIn(this.destinations.values());
      const connected = connectedIn(destinations);
      const isIn = (all: Destination[], of: Destination): boolean =>
        all.some((one) => one.id === of.id);
      for (const gone of before.filter((one) => !isIn(connected, one))) {
        this.heard.delete(heardBy(row, gone.id));
        this.heardBefore.add(heardBy(row, gone.id));
        this.synced.delete(heardBy(row, gone.id));
      }
      const added = connected.filter((one) => !isIn(before, one));
      const isLate = this.now > 0 && added.length > 0;
      if (isLate || connected.some(({ enabled }) => !enabled)) this.connectedLate.add(row);
    }
  }

  /** After a reset. */
  forget(): void {
    this.wasReset = true;
    this.deletions = 0;
    this.deletesLate = false;
    this.peopleUnknown = false;
    this.people = new People();
    this.suppressed.clear();
    this.replayed.clear();
    this.sent.clear();
    this.fresh.clear();
    this.messages.clear();
    this.newest = { arrived: 0, any: 0 };
    this.synced.clear();
    this.waiting.clear();
    this.heard.clear();
    this.cursor = { message: 0, attempt: 0, transition: 0 };
  }
}

export const heardBy = (source: number, destination: string | null): string =>
  `${source} ${destination ?? ""}`;

/** Of a URL or a template of one; empty for anything else. */
function pathOf(url: unknown): string {
  const text = (url as { "@template"?: string })["@template"] ?? url;
  return typeof text === "string" && URL.canParse(text) ? new URL(text).pathname : "";
}

/** Rows have numbers where the API has ids. */
export const sourceOf = (row: number): string => sourceIds.format(row as SourceId);
export const destinationOf = (row: number): string => destinationIds.format(row as DestinationId);
