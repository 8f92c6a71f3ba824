/**
 * What the configuration and the upkeep need of a store, and the store as a whole. The rules of
 * `ports.ts` hold here too.
 */

import type { ClientLibrary } from "../domain/client-libraries.ts";
import type {
  CustomRetryProfile,
  Destination,
  DestinationKind,
  Mapping,
  Settings,
  SimulatedClient,
  Source,
  TestEndpoint,
} from "../domain/configuration.ts";
import type {
  ClientId,
  DestinationId,
  EndpointId,
  RefusedRequestId,
  RetryProfileId,
  SourceId,
  WebhookId,
} from "../domain/ids.ts";
import type { Problem } from "../domain/problem.ts";
import type { ProgramState } from "../domain/program.ts";
import type { ClockStore } from "./clock/clock.ts";
import type { DeliveryStore, IngestStore, QueryStore, TraceStore } from "./ports.ts";
import type {
  Atomically,
  ComputedStore,
  DeletionStore,
  ProfileStore,
  RuleStore,
  WritingTurns,
} from "./profile-ports.ts";
import type { ReceivedRequest } from "./endpoint-pipeline.ts";

export type ConfigurationStore = {
  sources(): Source[];
  insertSource(source: Omit<Source, "id">): Source;
  updateSource(source: Source): void;
  deleteSource(id: SourceId): void;

  destinations(): Destination[];
  /** Webhooks without an id get one. */
  insertDestination(destination: NewDestination): Destination;
  updateDestination(destination: NewDestination & { id: DestinationId }): Destination;
  deleteDestination(id: DestinationId): void;

  endpoints(): TestEndpoint[];
  insertEndpoint(endpoint: Omit<TestEndpoint, "id">): TestEndpoint;
  updateEndpoint(endpoint: TestEndpoint): void;
  deleteEndpoint(id: EndpointId): void;

  retryProfiles(): CustomRetryProfile[];
  insertRetryProfile(profile: Omit<CustomRetryProfile, "id">): CustomRetryProfile;
  updateRetryProfile(profile: CustomRetryProfile): void;
  deleteRetryProfile(id: RetryProfileId): void;

  settings(): Settings;
  /** Less when the data is in memory. */
  defaultMaxBytes(): Settings["maxBytes"];
  saveSettings(settings: Settings): void;
  /** Outside a transaction. A start does it by the settings. */
  setSynchronous(mode: Settings["synchronous"]): void;
};

/** A request that the ingest port refused, with how often. */
export type StoredRefusal = {
  id: RefusedRequestId;
  firstAt: number;
  lastAt: number;
  count: number;
  address: string | null;
  method: string | null;
  path: string | null;
  library: ClientLibrary;
  status: number | null;
  code: string;
  message: string;
  writeKey: string | null;
  sourceId: SourceId | null;
};

/** Kept from one run to the next. */
export type RefusedStore = {
  refusedRequests(): StoredRefusal[];
  saveRefusedRequests(all: readonly StoredRefusal[]): void;
};

/** A received request, without what a forward sent on, which is in the record of the receiver. */
export type StoredRequest = Pick<
  ReceivedRequest,
  "id" | "receivedAt" | "tls" | "method" | "path" | "step" | "did" | "status" | "answeredAt"
> & {
  /** Names and values in turn, as received. */
  rawHeaders: readonly string[];
  body: string;
  bodyLength: number;
  read: Pick<ReceivedRequest, "message" | "signature"> | null;
};

/** Where a test endpoint stood, and what it had received, when Hookyard was stopped. */
export type StoredEndpointState = {
  id: EndpointId;
  createdAt: number;
  /** As JSON, to know them again. */
  steps: string;
  program: ProgramState;
  received: StoredRequest[];
};

/** Kept from one run to the next. */
export type EndpointStateStore = {
  endpointStates(): StoredEndpointState[];
  saveEndpointStates(all: readonly StoredEndpointState[]): void;
};

export type NewDestination = Omit<Destination, "id" | "webhooks" | "kind" | "mappings"> & {
  /** `webhooks` when left out. */
  kind?: DestinationKind;
  /** One for each webhook, which has its id. */
  mappings?: Omit<Mapping, "id">[];
  webhooks: { id?: WebhookId; url: string; headers: Record<string, string> }[];
};

/** How the simulated clients are set up. What they hold is in memory only. */
export type ClientStore = {
  clients(): SimulatedClient[];
  insertClient(client: Omit<SimulatedClient, "id">): SimulatedClient;
  updateClient(client: SimulatedClient): void;
  deleteClient(id: ClientId): void;
};

/** The demo that is open: the number of the next message that it sends. */
export type DemoStore = {
  demo(): { next: number } | null;
  saveDemo(demo: { next: number } | null): void;
};

/** For keeping the data small. */
export type UpkeepStore = {
  /**
   * Removes up to `limit` settled messages beyond the limits; returns how many, and whether it has
   * not come to the end of those beyond them. Count and bytes are of accepted ones. Pinned messages
   * stay. `isFull`: the file is too large, and the newest messages stay, because they are not what
   * fills it.
   */
  removeOld(
    limits: { maxMessages: number | null; maxBytes?: number | null; olderThanWall: number | null },
    limit: number,
  ): { removed: number; more: boolean; isFull?: boolean };
  /** What rejected and duplicate messages take. */
  rejectedBytes(): number;
  /**
   * Removes the oldest of them beyond this many bytes, up to `limit`; returns how many. Pinned
   * messages stay, and the newest.
   */
  removeRejected(maxBytes: number, limit: number): number;
  /**
   * Shortens the file by up to `limit` of the pages that nothing uses; returns how many went. It
   * begins when they are a quarter of the file, and ends when they are an eighth.
   */
  giveBack(limit: number): number;
  /**
   * Reads what finds duplicates, then merges lists that lookups would have to go through one by
   * one: a slice of it. Returns whether there is more to do.
   */
  prepareLookups(): boolean;
  /**
   * Removes all messages and everything that belongs to them, and requests kept for unknown write
   * keys; ids start again.
   */
  clearMessages(): void;
  /** Removes the configuration too, except settings. */
  clearEverything(): void;
};

/** For knowing whether the data can be trusted. */
export type HealthStore = {
  /** What is wrong with the data file; null when nothing is known to be. */
  trouble(): Problem | null;
  /** How large the data is: the files, or what is in memory. */
  bytes(): number;
  /** Notes an error that a call of the store threw; ignores all others. */
  noteFailure(error: unknown): void;
  /** Watches the files from now on, and calls back when the trouble has changed. */
  watch(onChange: () => void): void;
};

export type Store = ConfigurationStore &
  RefusedStore &
  EndpointStateStore &
  ClientStore &
  DemoStore &
  ClockStore &
  IngestStore &
  DeliveryStore &
  QueryStore &
  TraceStore &
  UpkeepStore &
  ProfileStore &
  ComputedStore &
  DeletionStore &
  RuleStore &
  HealthStore &
  Atomically &
  WritingTurns & { close(): void };
