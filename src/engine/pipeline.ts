/**
 * The pipeline as its users see it: its calls and its feed of changes. `app.ts` puts one together;
 * the handlers in `api/` are its only callers.
 */

import type { ClientEvent } from "../client/events.ts";
import type { Advice } from "../domain/client-libraries.ts";
import type {
  CustomRetryProfile,
  Destination,
  DestinationFilter,
  RetryProfile,
  Settings,
  SimulatedClient,
  Source,
  PlanDraft,
  MappingDraft,
} from "../domain/configuration.ts";
import type {
  ClientId,
  DeliveryId,
  DestinationId,
  EndpointId,
  JobId,
  MessageRowId,
  RetryProfileId,
  SourceId,
  WebhookId,
} from "../domain/ids.ts";
import type { Problem } from "../domain/problem.ts";
import type { MessageType, Outcome, sourceKinds } from "../domain/states.ts";
import type { Endpoints, Faults } from "./endpoint-pipeline.ts";
import type { FlowNow } from "./flow.ts";
import type { AdvanceEnd, AdvanceTarget, ClockMode, ClockState } from "./clock/clock.ts";
import type {
  Audiences,
  ComputedTraits,
  Deletions,
  Profiles,
  Suppressions,
} from "./profile-pipeline.ts";
import type {
  AttemptRecord,
  DeliveryFilter,
  DeliverySummary,
  QueryStore,
  UnknownKey,
  MessageSummary,
} from "./ports.ts";
import type { Decision, RoutedMessage } from "./route/decision.ts";
import type { StoredRefusal, NewDestination } from "./store-ports.ts";

export type Pipeline = {
  clock: ClockControl;
  configuration: Configuration;
  messages: Messages;
  previewMapping: PreviewMapping;
  refused: RefusedRequests;
  deliveries: Deliveries;
  testEvents: TestEvents;
  endpoints: Endpoints;
  faults: Faults;
  clients: Clients;
  workspaces: Workspaces;
  profiles: Profiles;
  audiences: Audiences;
  computedTraits: ComputedTraits;
  deletions: Deletions;
  suppressions: Suppressions;
  queries: QueryStore;
  flow: { look(): FlowNow };
  /** The most requests to the ingest port within one second, since the start. */
  peakRequests(): number;
  changes: ChangeFeed;
  /**
   * Waits until nothing is queued or being sent. On a paused clock, what a test endpoint holds is
   * not waited for.
   */
  settle(timeoutMs: number): Promise<{ settled: boolean; queued: number; sending: number }>;
  /** What is wrong with the data file; null when nothing is known to be. */
  trouble(): Problem | null;
  /** What is wrong with the delivery thread; null when nothing is. */
  deliveryTrouble(): string | null;
  rates(): { ingestedPerSecond: number; attemptsPerSecond: number };
  /** With `clock`, the clock shows real time again. */
  reset(what: "messages" | "everything", clock?: boolean): Promise<void>;
};

type ClockControl = {
  state(): ClockState;
  set(mode: ClockMode, speed?: number): ClockState | Problem;
  /** Ends early when the caller aborts it. */
  advance(target: AdvanceTarget, caller?: AbortSignal): Promise<AdvanceEnd | Problem>;
  cancelAdvance(): ClockState;
};

export type SourceDraft = Pick<Source, "name"> &
  Partial<Omit<Source, "id" | "name" | "kind" | "plan" | "createdAt">> & {
    kind?: (typeof sourceKinds)[number];
    plan?: PlanDraft | null;
  };

/** Where a destination sends, as far as a draft says: each kind has one of them. */
export type TargetsDraft = Partial<Pick<NewDestination, "kind" | "webhooks">> & {
  mappings?: MappingDraft[];
};

export type DestinationDraft = Pick<Destination, "name" | "sourceIds"> &
  TargetsDraft &
  Partial<
    Pick<
      Destination,
      "enabled" | "sharedSecret" | "retryProfile" | "payload" | "audienceCalls" | "filters"
    >
  >;

export type Configuration = {
  sources(): Source[];
  source(id: SourceId): Source | undefined;
  sourceByWriteKey(writeKey: string): Source | undefined;
  createSource(draft: SourceDraft): Source | Problem;
  updateSource(id: SourceId, changes: Partial<SourceDraft>): Source | Problem;
  deleteSource(id: SourceId): Problem | null;

  destinations(): Destination[];
  destination(id: DestinationId): Destination | undefined;
  /** Those that this source is connected to. */
  destinationsOf(id: SourceId): readonly Destination[];
  createDestination(draft: DestinationDraft): Destination | Problem;
  updateDestination(id: DestinationId, changes: Partial<DestinationDraft>): Destination | Problem;
  deleteDestination(id: DestinationId): Problem | null;
  /** Gives a webhook another URL; it stays the same webhook. */
  pointWebhook(id: DestinationId, webhook: WebhookId, url: string): Destination | Problem;

  /** The built-in ones first, then the custom ones. */
  retryProfiles(): (RetryProfile & { id: RetryProfileId | null })[];
  retryProfileOf(destination: Destination): RetryProfile;
  createRetryProfile(draft: RetryProfile): CustomRetryProfile | Problem;
  updateRetryProfile(
    id: RetryProfileId,
    changes: Partial<RetryProfile>,
  ): CustomRetryProfile | Problem;
  deleteRetryProfile(id: RetryProfileId): Problem | null;

  settings(): Settings;
  /** Less when the data is in memory. */
  defaultMaxBytes(): Settings["maxBytes"];
  updateSettings(changes: Partial<Settings>): Settings | Problem;
};

/**
 * The sources of the kind `audience`: audiences and computed traits create them, and nobody else
 * changes them.
 */
export type OwnSources = {
  /** Whether there is room for one more. */
  checkOwnSource(name: string): Problem | null;
  createOwnSource(name: string): Source;
  renameOwnSource(id: SourceId, name: string): void;
  deleteOwnSource(id: SourceId): void;
  /** To these destinations and no others. */
  connectOwnSource(id: SourceId, to: readonly DestinationId[]): void;
};

export type Messages = {
  unknownKeys(): UnknownKey[];
  /** Creates a source with the key and accepts what was kept. */
  adopt(writeKey: string, name: string): Promise<Source | Problem>;
  forgetUnknownKey(writeKey: string): Problem | null;
  /** Sends the message again as a new one, and returns the new one's ids. */
  replay(id: MessageRowId): Promise<{ id: MessageRowId; messageId: string } | Problem>;
  /** How routing would decide now for a message on record, with destinations that may differ. */
  routedAgain(id: MessageRowId, destinations: readonly Destination[]): RoutedMessage | Problem;
  /**
   * Sends messages on record to one destination as its filters are now, each as a new one with its
   * own `messageId`. Returns how many go there.
   */
  sendAgain(
    messages: readonly { id: MessageRowId; messageId: string }[],
    destination: Destination,
  ): Promise<number>;
  pin(id: MessageRowId, pinned: boolean): Problem | null;
  /** One call over HTTP to the ingest port, as a client of the source would make it. */
  send(
    sourceId: SourceId,
    call: MessageType | "batch",
    body: string,
  ): Promise<{ status: number; body: string } | Problem>;
};

/** A request that the ingest port refused, with all equal ones, and how to fix its client. */
export type RefusedRequest = StoredRefusal & Advice;

export type RefusedRequests = {
  /** The last one first. */
  list(): { items: RefusedRequest[]; dropped: number };
  /** Returns how many there were. */
  clear(): number;
};

export type Workspaces = {
  /**
   * A source, a destination and a test endpoint that answers 200: enough for the first message.
   * Created once.
   */
  first(): Workspace | Problem;
  /**
   * A shop that generates traffic to four receivers. Created once; it sends until it is closed or
   * everything is removed, also after a restart.
   */
  demo(): Promise<Workspace | Problem>;
  isDemoOpen(): boolean;
  /** The shop sends nothing more; what it created stays. */
  closeDemo(): void;
};

export type Workspace = {
  sourceId: SourceId;
  destinationId: DestinationId;
  endpointId: EndpointId;
};

/** What a mapping that is being written would make of the messages that came last. */
export type PreviewMapping = (asked: {
  mapping: MappingDraft;
  sourceIds: readonly SourceId[];
  secret: string | null;
  filters?: DestinationFilter[] | undefined;
  id?: MessageRowId | undefined;
}) => Promise<MappingPreview>;

export type MappingPreview = {
  mistakes: Record<"trigger" | "url" | "headers" | "data" | "batch", string | null>;
  looked: number;
  matching: MessageSummary[];
  failing: number;
  shown: {
    id: MessageRowId;
    detail: string;
    request: {
      url: string | null;
      method: string;
      headers: [string, string][];
      body: Uint8Array;
      signature: string | null;
    } | null;
    batch: {
      messages: MessageRowId[];
      body: Uint8Array;
      first: number;
      signature: string | null;
      wholeSignature: string | null;
    } | null;
  } | null;
};

export type RetryJob = {
  id: JobId;
  state: "running" | "done" | "cancelled";
  total: number;
  done: number;
  /** Requeued so far; the others had changed their state meanwhile. */
  retried: number;
};

export type JobSlice = { size: number; run: () => number | Promise<number> };

export type Deliveries = {
  retry(id: DeliveryId): DeliverySummary | Problem;
  cancel(id: DeliveryId): DeliverySummary | Problem;
  /** How many deliveries `retryAll` would requeue. */
  countRetryable(filter: DeliveryFilter): number;
  retryAll(filter: DeliveryFilter): RetryJob;
  /** The deliveries of a message that `retryThese` would requeue. */
  retryableOf(message: MessageRowId): DeliveryId[];
  retryThese(ids: readonly DeliveryId[]): RetryJob;
  /** A job of another kind of work; each of its slices does some, and says how much was queued. */
  startJob(total: number, slices: Iterable<JobSlice>): RetryJob;
  retryJobs(): RetryJob[];
  retryJob(id: JobId): RetryJob | undefined;
  cancelRetryJob(id: JobId): RetryJob | Problem;
};

/** Sends one event to one destination, without a message and without a record. */
export type TestEvents = {
  /**
   * To all webhooks of the destination, or what its mappings make of it, once each, also when it is
   * disabled. A sample when no event is given. Ends early when the caller aborts it.
   */
  send(id: DestinationId, event?: unknown, caller?: AbortSignal): Promise<TestedEvent | Problem>;
};

export type TestedEvent = {
  messageId: string;
  decision: Decision;
  /**
   * Null when the destination's filters, or the event's integrations, keep it from there, and where
   * each mapping sends its own.
   */
  payload: Uint8Array | null;
  attempts: TestAttempt[];
};

export type TestAttempt = Omit<AttemptRecord, "deliveryId" | "round"> & {
  /** The name of the mapping that made the request. */
  mapping: string | null;
  method: string;
  body: Uint8Array;
};

/** The write key as it is, or that of a source at this moment. */
export type ClientDraft = Pick<SimulatedClient, "name"> &
  Partial<Omit<SimulatedClient, "id" | "name" | "createdAt">> & { sourceId?: SourceId };

export type CallType = Exclude<MessageType, "delete">;

/** A call in short, as messages are listed. */
export type ClientCall = {
  type: CallType;
  messageId: string;
  event: string | null;
  userId: string | null;
};

export type ClientTry = {
  startedAt: number;
  /** Null while it is on the wire. */
  durationMs: number | null;
  /** The duration is clock time, because a test endpoint held the request. */
  simulated: boolean;
  outcome: Outcome | null;
  status: number | null;
  failure: string | null;
  /** The first 2,000 characters of the answer's body, and how many it had. */
  answer: string;
  answerLength: number;
};

type ClientBatchState = "queued" | "sending" | "waiting" | "sent" | "failed";

export type ClientBatch = {
  /** Its `messageId` on the wire. */
  id: string;
  /** Counted from 1, as they were flushed. */
  number: number;
  state: ClientBatchState;
  reason: "size" | "time" | "flush" | "close";
  flushedAt: number;
  messages: number;
  /** Of the request's body; before the first try, of the messages alone. */
  bytes: number;
  /** The first hundred of its messages. */
  calls: ClientCall[];
  tries: ClientTry[];
  nextTryAt: number | null;
};

/** A line as `DEBUG=analytics` writes it. */
export type ClientLogLine = {
  number: number;
  at: number;
  event: ClientEvent["event"];
  line: string;
};

export type ClientView = SimulatedClient & {
  /** The source that currently has its write key. */
  sourceId: SourceId | null;
  /** Where its batches go. */
  url: string;
  state: "running" | "closing" | "closed";
  queued: number;
  nextFlushAt: number | null;
  /** Flushed batches that are neither sent nor given up. */
  underWay: number;
  nextTryAt: number | null;
  /** Of all messages that it holds. */
  bytes: number;
  counts: { calls: number; sent: number; failed: number; batches: number; retries: number };
  generating: { count: number; made: number; perSecond: number } | null;
};

export type ClientDetails = ClientView & {
  /** The first hundred that wait for a flush, oldest first. */
  queue: ClientCall[];
  /** The batch that is on the wire or waits for its next try; those behind it wait for it. */
  current: ClientBatch | null;
};

/** Newest first; `dropped` counts those that were removed for newer ones. */
export type ClientPage<Item> = {
  items: Item[];
  nextCursor: number | null;
  total: number;
  dropped: number;
};

export type Clients = {
  list(): ClientView[];
  get(id: ClientId): ClientDetails | undefined;
  create(draft: ClientDraft): ClientDetails | Problem;
  update(id: ClientId, changes: Partial<ClientDraft>): ClientDetails | Problem;
  /** Closes it, and forgets it at once; its queue is sent all the same. */
  delete(id: ClientId): Problem | null;
  /** One call, as a program would make it. `batchId` is set when it caused a flush. */
  call(
    id: ClientId,
    type: CallType,
    call: unknown,
  ): { messageId: string; batchId: string | null; client: ClientDetails } | Problem;
  /** Does not wait for the answers. */
  flush(id: ClientId): ClientDetails | Problem;
  /** Gives up after `timeoutMs` of the clock what is not sent by then. */
  close(id: ClientId, timeoutMs?: number): ClientDetails | Problem;
  /** After a close, as when its program is started again. */
  reopen(id: ClientId): ClientDetails | Problem;
  /** Calls drawn from the seed, paced by the clock; one at a time. */
  generate(id: ClientId, count: number, perSecond: number): ClientDetails | Problem;
  stopGenerating(id: ClientId): ClientDetails | Problem;
  batches(id: ClientId, limit: number, before: number | null): ClientPage<ClientBatch> | Problem;
  log(id: ClientId, limit: number, before: number | null): ClientPage<ClientLogLine> | Problem;
};

export type Area =
  | "messages"
  | "deliveries"
  | "sources"
  | "destinations"
  | "endpoints"
  | "received"
  | "clients"
  | "retry-profiles"
  | "settings"
  | "unknown-keys"
  | "refused"
  | "clock"
  | "jobs"
  | "profiles"
  | "audiences"
  | "computed-traits"
  | "deletions"
  | "suppressions"
  | "scenario-runs"
  | "checks"
  | "shares";

/** One line of the feed. Changes of one area that are close together are one line. */
export type Change = {
  sequence: number;
  area: Area;
  /**
   * Ids of what was created or changed, as the API spells them; the newest hundred when there were
   * more. For `received`, the endpoint's.
   */
  ids: string[];
  /** How many there were. */
  count: number;
  /** For `messages`: how many of them are new. */
  added: number;
  /** For `clock`: the advance in progress, or null. Times as the API spells them. */
  advance?: { from: string; to: string; now: string; attempts: number } | null;
};

export type ChangeFeed = {
  /** The sequence number of the newest change. */
  sequence(): number;
  /**
   * The changes after a sequence number, or null when they are no longer known and everything must
   * be read again.
   */
  since(sequence: number): Change[] | null;
  subscribe(listener: (changes: Change[]) => void): () => void;
};

/** How the parts of the pipeline notify the feed. */
export type Changes = {
  note(area: Area, id: string | null, added?: boolean): void;
  /** Many at once, the newest last; `format` is called for those that the feed names. */
  noteMany<Id>(area: Area, ids: readonly Id[], format: (id: Id) => string, added: boolean): void;
  /** Many at once that are gone. */
  noteGone(area: Area, count: number): void;
};
