/**
 * What the pipeline needs of a store, by the role that needs it. `store/` implements these on
 * SQLite. All calls are synchronous, and each one that writes is one transaction: when it has
 * returned, it is committed. Times are epoch milliseconds of the clock unless a name says wall.
 */

import type {
  AttemptId,
  DeliveryId,
  DestinationId,
  MessageRowId,
  SourceId,
  WebhookId,
} from "../domain/ids.ts";
import type {
  DeliveryState,
  MessageState,
  MessageType,
  Outcome,
  PlanState,
} from "../domain/states.ts";
import type { Decision, MappedRequest, RoutedMessage, PlanViolation } from "./route/decision.ts";

/** One request at the ingest port, as it arrived, with its messages. */
export type IncomingRequest = {
  sourceId: SourceId;
  receivedAt: number;
  wallAt: number;
  method: string;
  path: string;
  headers: [string, string][];
  /** The client's address; null when there was no connection. */
  ip: string | null;
  /** After decompression; the messages below are spans of it. */
  body: Uint8Array;
  messages: NewMessage[];
};

/** A message as it is to be committed: checked, and kept with the reason when it is rejected. */
export type NewMessage = {
  /** Where its bytes lie in the request's body. */
  offset: number;
  size: number;
  messageId: string;
  type: MessageType | null;
  userId: string | null;
  anonymousId: string | null;
  /** The event of a track, the name of a page or screen, the group of a group. */
  event: string | null;
  /** What an identify sets, in short. */
  traits: string | null;
  timestamp: number;
  warnings: string[];
  /** Set: the message is kept as rejected. */
  rejection: { reason: string; detail: string } | null;
  deduplicate: boolean;
  replayOf: MessageRowId | null;
  /** From an audience or a computed trait: profiles ignore it. */
  computed: boolean;
  /** Called once it is known that the message is neither rejected nor a duplicate. */
  route: () => RoutedMessage;
};

export type CommittedMessage = {
  id: MessageRowId;
  messageId: string;
  sourceId: SourceId;
  duplicateOf: MessageRowId | null;
  /** None of a rejected message or a duplicate. */
  decisions: readonly Decision[];
};

export type UnknownKeyRequest = {
  id: number;
  writeKey: string;
  receivedAt: number;
  wallAt: number;
  method: string;
  path: string;
  headers: [string, string][];
  ip: string | null;
  body: Uint8Array;
};

export type UnknownKey = {
  writeKey: string;
  requests: number;
  firstAt: number;
  lastAt: number;
  lastPath: string;
};

export type IngestStore = {
  /** All requests in one transaction; returns one list per request. */
  commit(requests: IncomingRequest[]): CommittedMessage[][];

  /** Forgets the oldest beyond this many bytes. */
  keepUnknownKeyRequest(request: Omit<UnknownKeyRequest, "id">, maxBytes: number): void;
  unknownKeys(): UnknownKey[];
  oldestUnknownKeyRequest(writeKey: string): UnknownKeyRequest | null;
  forgetUnknownKeyRequest(id: number): void;
  /** The part that is left of its body. */
  shortenUnknownKeyRequest(id: number, body: Uint8Array): void;
  forgetUnknownKey(writeKey: string): void;
};

/** A delivery that was claimed for its next round; it is `sending` from now on. */
export type ClaimedDelivery = {
  id: DeliveryId;
  messageRow: MessageRowId;
  destinationId: DestinationId;
  /** 1 for the first. */
  round: number;
  /** The first round of the current retry window. */
  windowRound: number;
  /** Start of the first attempt in the window, null before it. */
  firstAttemptAt: number | null;
  /** Webhooks that failed in this window and are not retried. */
  finished: WebhookId[];
  /** A text for what it is in UTF-8. */
  payload: Uint8Array | string;
  /** Set for a delivery that a mapping made. */
  mapped?: Pick<MappedRequest, "webhookId" | "url" | "method" | "headers"> & {
    /** What the signature covers: of a batch its first element; null for none. */
    signed: Uint8Array | null;
    /** All of a batch, `messageRow` among them; empty without a batch. */
    messages: MessageRowId[];
  };
};

export type AttemptRecord = {
  deliveryId: DeliveryId;
  round: number;
  webhookId: WebhookId;
  webhookUrl: string;
  startedAt: number;
  durationMs: number;
  /** Milliseconds since the start, for each phase that was reached. */
  phases: Partial<Record<Phase, number>>;
  /** The times above are clock time, because a test endpoint held the attempt. */
  simulated: boolean;
  outcome: Outcome;
  retryable: boolean;
  error: { code: string; message: string } | null;
  /**
   * Request line and headers exactly as sent; empty when nothing was sent. The body is the
   * delivery's payload.
   */
  requestHead: string;
  response: RecordedResponse | null;
};

/** An attempt once it is on record, with what it belongs to. */
export type RecordedAttempt = AttemptRecord & {
  messageRow: MessageRowId;
  destinationId: DestinationId;
};

/** An attempt in flight; `startedAt` is by the time of the flow. */
export type UnderWay = {
  messageId: MessageRowId;
  destinationId: DestinationId;
  webhookId: WebhookId;
  round: number;
  startedAt: number;
};

export type Phase = "dns" | "connect" | "tls" | "sent" | "firstByte" | "done";

export type RecordedResponse = {
  status: number;
  /** Status line and headers exactly as they arrived (latin1). */
  head: string;
  /** The first 64 KB, without the chunked coding. */
  body: Uint8Array;
  bodyLength: number;
};

export type Transition = {
  deliveryId: DeliveryId;
  at: number;
  state: DeliveryState;
  reason: string;
  nextAttemptAt: number | null;
};

export type DeliveryStore = {
  /**
   * Claims up to `limit` deliveries of one destination that are queued, or waiting and due at
   * `now`; oldest due first. No more follow the one that fills the room.
   */
  claim(
    destinationId: DestinationId,
    now: number,
    limit: number,
    room?: { messages: number; bytes: number },
  ): ClaimedDelivery[];
  /**
   * Writes the claims whose attempts have not ended: until then, or until somebody reads a state,
   * the store keeps them in memory.
   */
  recordClaims(): void;
  /** Of these, those that were there at the last call. Returns whether any are left. */
  recordOlderClaims(): boolean;
  /** Attempts and changes of state, in order. */
  record(attempts: AttemptRecord[], transitions: Transition[]): void;
  /** The earliest time at which a waiting delivery of these destinations is due, or null. */
  nextDueAt(destinationIds: readonly DestinationId[]): number | null;
  /** How many deliveries a claim at `now` would find, up to `limit`. */
  countRunnable(destinationId: DestinationId, now: number, limit: number): number;
  /**
   * After a crash: queues what was being sent again, up to this many messages. Returns how many
   * deliveries.
   */
  requeueInterrupted(now: number, maxMessages?: number): number;
  /**
   * Overdue deliveries, spread over the time after `now` in the order in which they were due, each
   * within its window: up to `limit` of them, after the first `place`. Returns how many.
   */
  spreadOverdue(
    now: number,
    gapMs: number,
    atMostMs: number,
    place?: number,
    limit?: number,
    windowOf?: (destination: DestinationId) => number,
  ): number;
  /**
   * Waiting deliveries of a disabled destination whose window is over, oldest first, until they
   * have that many messages.
   */
  pausedPastWindow(
    destinationId: DestinationId,
    now: number,
    windowMs: number,
    maxMessages: number,
  ): { id: DeliveryId; messages: MessageRowId[] }[];
  /** The earliest end of a window among the waiting deliveries of a disabled destination. */
  nextWindowEnd(destinationId: DestinationId, windowMs: number): number | null;
  delivery(id: DeliveryId): DeliverySummary | null;
  countByState(): Record<DeliveryState, number>;
  /** The newest message and the newest delivery; 0 for none. */
  newestRows(): { message: number; delivery: number };
  /** Whether a claim at `now` would find a delivery no newer than this. */
  hasRunnableUpTo(destinationId: DestinationId, now: number, upTo: number): boolean;
  /** Whether one no newer than this can still move: at a disabled destination, by its window. */
  hasUnsettledUpTo(destinationId: DestinationId, isEnabled: boolean, upTo: number): boolean;
  /** The deliveries of a message that are queued, sending or waiting. */
  unsettledOf(
    message: MessageRowId,
  ): { destinationId: DestinationId; state: DeliveryState; hasWindow: boolean }[];
  /**
   * Destinations that have deliveries which are queued, sending or waiting, also those that are no
   * longer configured. Known without reading the file.
   */
  destinationsWithWork(): ReadonlySet<DestinationId>;
};

export type OneOrMany<Value extends string | number> = Value | readonly Value[];

/** Several values of one member mean any of them, unless it says otherwise. */
type MessageMembers = {
  sourceId?: OneOrMany<SourceId>;
  type?: OneOrMany<MessageType>;
  state?: OneOrMany<MessageState>;
  /** Known or anonymous. */
  userId?: OneOrMany<string>;
  /** In any case. */
  event?: OneOrMany<string>;
  reason?: OneOrMany<string>;
  /** Of any answer: `503`, or `5xx`; of the newest: `last=503`. */
  status?: OneOrMany<string>;
  /** Of any attempt. */
  outcome?: OneOrMany<Outcome>;
  /** Whether it meets its source's tracking plan. */
  plan?: OneOrMany<PlanState>;
  /** How many were made: `3`, `>3`, `>=3`, `<3`, `<=3`. */
  attempts?: OneOrMany<string>;
  /** It has a delivery there. */
  destinationId?: OneOrMany<DestinationId>;
  /** An attempt was made there. */
  webhookId?: OneOrMany<WebhookId>;
  /** It came in the same request as one of these. */
  batch?: OneOrMany<MessageRowId>;
  /** Free text in the message, in its payload, or in what a list shows of it: each of them. */
  search?: OneOrMany<string>;
};

export type MessageFilter = MessageMembers & {
  /** Received then or later. */
  since?: number;
  /** Received before. */
  until?: number;
  /** Messages that match any member of it are left out; of its texts, any. */
  not?: MessageMembers;
};

/** What a message has that can be counted for each of its values. */
export type MessageValueKey = "event" | "reason" | "status" | "outcome" | "attempts" | "plan";

export type Page<Item, Cursor> = {
  items: Item[];
  nextCursor: Cursor | null;
  total: number;
  totalCapped: boolean;
};

export type MessageSummary = {
  id: MessageRowId;
  messageId: string;
  sourceId: SourceId;
  type: MessageType | null;
  userId: string | null;
  anonymousId: string | null;
  event: string | null;
  traits: string | null;
  receivedAt: number;
  timestamp: number;
  state: MessageState;
  reason: string | null;
  attempts: number;
  lastStatus: number | null;
  pinned: boolean;
  replayOf: MessageRowId | null;
  /** The earliest of its deliveries' next rounds. */
  nextAttemptAt: number | null;
  /** Null when its source had no plan, and for what was not accepted. */
  plan: Exclude<PlanState, "none"> | null;
  /** The first twenty. */
  violations: PlanViolation[];
  marks: AttemptMark[];
};

/** An attempt in short: a lane per webhook, from 0. */
export type AttemptMark = {
  lane: number;
  round: number;
  outcome: Outcome;
  status: number | null;
};

export type MessageDetails = MessageSummary & {
  detail: string | null;
  duplicateOf: MessageRowId | null;
  warnings: string[];
  /** Members that its plan removed from what is delivered. */
  dropped: string[];
  raw: Uint8Array;
  request: {
    method: string;
    path: string;
    headers: [string, string][];
    size: number;
    messages: number;
  };
  decisions: Decision[];
  deliveries: DeliveryDetails[];
};

export type DeliverySummary = {
  id: DeliveryId;
  messageRow: MessageRowId;
  destinationId: DestinationId;
  state: DeliveryState;
  reason: string | null;
  createdAt: number;
  firstAttemptAt: number | null;
  nextAttemptAt: number | null;
  rounds: number;
  /** The messages of a batch that are still kept. */
  messages?: MessageRowId[];
};

export type DeliveryDetails = DeliverySummary & {
  payload: Uint8Array;
  /** Of a mapping's request. */
  mapped?: Pick<NonNullable<ClaimedDelivery["mapped"]>, "webhookId" | "url" | "method" | "signed">;
  transitions: Transition[];
  /** The newest ones. */
  attempts: RecordedAttemptDetails[];
};

export type RecordedAttemptDetails = AttemptRecord & {
  id: AttemptId;
  /** The response's body was not read, because newer ones fill an answer. */
  leftOut?: true;
};

/** A delivery as a list shows it: with what it delivers, and a mark for each round. */
type ListedDelivery = DeliverySummary &
  Pick<MessageSummary, "type" | "event" | "userId" | "anonymousId"> & { marks: RoundMark[] };

/** Of several attempts the success, else the longest; the round's start. */
export type RoundMark = { round: number; startedAt: number; outcome: Outcome };

/** A place in the order of due times. */
export type DuePlace = { at: number; id: DeliveryId };

/** A message as its trace has it. */
export type TracedMessage = Pick<
  MessageSummary,
  "messageId" | "type" | "sourceId" | "receivedAt" | "state" | "reason"
> & {
  /** When it arrived, in real time. */
  wallAt: number;
  decisions: Pick<Decision, "destinationId" | "reason">[];
};

export type TraceStore = {
  tracedMessage(id: MessageRowId): TracedMessage | null;
  messageIdOf(id: MessageRowId): string | null;
};

export type DeliveryFilter = { state?: DeliveryState; destinationId?: DestinationId };

export type Stats = {
  messages: {
    total: number;
    byState: Record<MessageState, number>;
    byType: Record<string, number>;
  };
  deliveries: { total: number; byState: Record<DeliveryState, number> };
  /** The size of the data file, without its write-ahead log. */
  dataBytes: number;
  /** Another one after everything was cleared, because ids start again then. */
  dataId: string;
};

export type QueryStore = {
  /**
   * Newest first. Asynchronous because a rare search walks far back, in slices that leave the event
   * loop free.
   */
  messages(
    filter: MessageFilter,
    limit: number,
    before: MessageRowId | null,
  ): Promise<Page<MessageSummary, MessageRowId>>;
  message(id: MessageRowId): MessageDetails | null;
  /**
   * The newest of the last messages that have a name in the wrong case in their integrations, and
   * that have a `messageId` of at least this many characters.
   */
  unlikeHosted(longId: number): { miscased: MessageSummary[]; longIds: MessageSummary[] };
  /** How many messages have each value. Asynchronous, as it looks at all of them the first time. */
  messageValues(key: MessageValueKey): Promise<Map<string, number>>;
  /** How many messages there are of each source. */
  messagesBySource(): Map<SourceId, number>;
  /** Users whose id begins with a text, in any case, and how many messages they have. */
  usersNamed(start: string, limit: number): Promise<Map<string, number>>;
  /** What routing decided about a message for one destination; null when it was not connected. */
  decisionAt(id: MessageRowId, destination: DestinationId): Pick<Decision, "reason"> | null;
  /** The deliveries of a message, those first whose state it has. */
  deliveriesOf(
    id: MessageRowId,
  ): Pick<DeliverySummary, "id" | "destinationId" | "state" | "reason">[];
  /** How the last round of a delivery ended that has not succeeded; null before the first. */
  lastOutcome(id: DeliveryId): Outcome | null;
  /** Newest first. */
  deliveries(
    filter: DeliveryFilter,
    limit: number,
    before: DeliveryId | null,
  ): Page<DeliverySummary, DeliveryId>;
  /** Those that are waiting, the next due first. */
  deliveriesByDue(
    filter: Omit<DeliveryFilter, "state">,
    limit: number,
    after: DuePlace | null,
  ): Page<DeliverySummary, DuePlace>;
  /** When the next rounds of its waiting deliveries begin, the next one first. */
  dueTimes(destination: DestinationId, limit: number): number[];
  /**
   * With at most so many attempts and the changes of state that go with as many; what an answer shows
   * where it is left out.
   */
  deliveryDetails(id: DeliveryId, attempts?: number): DeliveryDetails | null;
  attempt(delivery: DeliveryId, id: AttemptId): RecordedAttemptDetails | null;
  /** How many deliveries each destination has in each state. */
  deliveriesByDestination(): Map<DestinationId, Partial<Record<DeliveryState, number>>>;
  /** How the attempts ended that were recorded last, the newest first. */
  newestAttempts(
    limit: number,
  ): { webhookId: WebhookId; outcome: Outcome; status: number | null; durationMs: number }[];
  listed(delivery: DeliverySummary): ListedDelivery;
  stats(): Stats;
  /** For a replay. `timestamp` is null for a rejected message. */
  messageSource(id: MessageRowId): {
    request: Omit<IncomingRequest, "messages">;
    span: { offset: number; size: number };
    timestamp: number | null;
  } | null;
  pin(id: MessageRowId, pinned: boolean): boolean;
};
