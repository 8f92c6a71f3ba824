/**
 * What a user configures: sources, destinations, retry profiles, test endpoints, simulated clients,
 * settings.
 */

import type {
  ClientId,
  DestinationId,
  EndpointId,
  RetryProfileId,
  SourceId,
  WebhookId,
} from "./ids.ts";
import type { MessageType, SourceKind } from "./states.ts";
import type { Json } from "./json.ts";

type AnswerMode = "explain" | "production";

/** What a fault of the ingest side does. */
export const ingestFaultActions = [
  "answer",
  "delay",
  "cut",
  "lose-answer",
  "delay-answer",
  "limit",
] as const;

/** A fault that the ingest port shows to the clients of one source. */
export type IngestFault = {
  do: (typeof ingestFaultActions)[number];
  /** `answer`: the status, 500 when left out. */
  status?: number;
  /** `answer` and `limit`: seconds in a `Retry-After` header. */
  retryAfter?: number;
  /**
   * How long the request waits before it is accepted; of `delay-answer`, how long the answer waits
   * after that.
   */
  delayMs?: number;
  /** `limit`: requests in a second of the clock, beyond which the answer is 429. */
  perSecond?: number;
  /** Serves this many requests, then ends. */
  times?: number;
  /** Serves this share of the requests, 0 to 1, drawn from the seed. */
  chance?: number;
};

export const planActions = ["record", "drop-properties", "block"] as const;
export const unplannedEventActions = ["allow", "record", "block"] as const;
export const unplannedPropertyActions = ["allow", "record", "drop"] as const;

/** What a source does with messages that differ from its plan. */
export type PlanSettings = {
  onViolation: (typeof planActions)[number];
  /** Tracks whose event has no rule. */
  unplannedEvents: (typeof unplannedEventActions)[number];
  /** Members of `properties` and `traits` that the rule does not name. */
  unplannedProperties: (typeof unplannedPropertyActions)[number];
};

/** The plan of a source. The rules are kept as text, which is parsed when they are first used. */
export type SourcePlan = PlanSettings & { name: string | null; rules: string };

export type PlanDraft = Partial<Omit<SourcePlan, "name" | "rules">> & {
  name?: string | null;
  /** A plan of the hosted service, or schemas by event. */
  schemas?: Json;
};

/**
 * `true` applies the hosted service's formula. `auto` moves the times of clients that live by the
 * machine's time as far as the clock was moved.
 */
type ClockSkewCorrection = "auto" | boolean;

/** Requests with a longer key are not kept for a source to come. */
export const maxWriteKeyLength = 200;

export type Source = {
  id: SourceId;
  name: string;
  kind: SourceKind;
  writeKey: string;
  mode: AnswerMode;
  deduplicate: boolean;
  correctClockSkew: ClockSkewCorrection;
  faults: IngestFault[];
  /** The tracking plan that its messages are checked against. */
  plan: SourcePlan | null;
  createdAt: number;
};

export type Webhook = { id: WebhookId; url: string; headers: Record<string, string> };

export type PayloadShape = "documented" | "full";

/** How a destination gets the values of audiences and computed traits. */
export const audienceCalls = ["identify", "track", "both"] as const;
export type AudienceCalls = (typeof audienceCalls)[number];

export const mappingMethods = ["POST", "PUT", "PATCH"] as const;

/** What events that share a batch may have to agree in. */
export const batchKeys = ["url", "method", "headers", "data"] as const;

/** One request of a `webhooks-actions` destination: when it is sent, and what it consists of. */
export type Mapping = {
  /** Of its webhook, which has its lane and its attempts. */
  id: WebhookId;
  name: string;
  enabled: boolean;
  /** A condition; null matches every event. */
  trigger: string | null;
  /** These three are values of the mapping kit. */
  url: unknown;
  headers: unknown;
  data: unknown;
  method: (typeof mappingMethods)[number];
  batch: {
    enabled: boolean;
    size: number;
    keys: (typeof batchKeys)[number][];
    /** Clock time from the first event of a batch until it is sent, if it is not full before. */
    waitMs: number;
  };
};

export type MappingDraft = Pick<Mapping, "name"> &
  Partial<Omit<Mapping, "id" | "batch">> & {
    batch?: Partial<Mapping["batch"]> & Pick<Mapping["batch"], "enabled">;
  };

export const filterActions = ["drop", "sample", "allow-properties", "drop-properties"] as const;
export const sampleBys = ["user", "random"] as const;

export type DestinationFilter = {
  name: string;
  enabled: boolean;
  /** In the language of `filter-condition.ts`; empty for all messages. */
  if: string;
  action: (typeof filterActions)[number];
  /** `sample`: the share that goes on, 0 to 1. */
  share?: number;
  /** `sample`: all messages of a user or none, or each on its own. */
  by?: (typeof sampleBys)[number];
  /** Members such as `properties.email`. */
  properties?: string[];
};

export const destinationKinds = ["webhooks", "webhooks-actions"] as const;
export type DestinationKind = (typeof destinationKinds)[number];

/** The names of destinations in the integrations object. */
export const integrationNames: Readonly<Record<DestinationKind, string>> = {
  webhooks: "Webhooks",
  "webhooks-actions": "Actions Webhook",
};

export type Destination = {
  id: DestinationId;
  kind: DestinationKind;
  name: string;
  enabled: boolean;
  sourceIds: SourceId[];
  /** Of `webhooks-actions` one for each mapping, with its URL if that is the same for all events. */
  webhooks: Webhook[];
  /** Of `webhooks-actions`; otherwise none. */
  mappings: Mapping[];
  sharedSecret: string | null;
  retryProfile: string;
  payload: PayloadShape;
  /** `identify` when left out. */
  audienceCalls?: AudienceCalls;
  filters: DestinationFilter[];
  createdAt: number;
};

export type RetryProfile = {
  name: string;
  /** Delays between the starts of rounds: computed, or listed. */
  schedule:
    | { kind: "exponential"; firstMs: number; factor: number; capMs: number }
    | { kind: "list"; delaysMs: number[] };
  /** 0.1 changes each delay by up to ten per cent in either direction. */
  jitter: number;
  /** No attempt starts later than this after the first. */
  windowMs: number;
  /** The complete response must arrive within this time. */
  timeoutMs: number;
  retriedStatuses: { from: number; to: number }[];
  retryTimeouts: boolean;
  retryConnectionErrors: boolean;
  /** A retried answer's `Retry-After` delays the next round, if it asks for more time. */
  honourRetryAfter: boolean;
};

/** A retry profile that a user created; the built-in ones have no id. */
export type CustomRetryProfile = RetryProfile & { id: RetryProfileId };

/** Whose behaviour the settings follow: Hookyard's own, or the hosted service's. */
export const parities = ["own", "hosted"] as const;
type Parity = (typeof parities)[number];

/** Where `context.ip` comes from when a message has none. */
export const contextIps = ["connection", "direct"] as const;
type ContextIp = (typeof contextIps)[number];

export type Settings = {
  /** The switch; each of its pieces can be changed by itself. */
  parity: Parity;
  /** How sources answer; of a new source, and of all when it is changed. */
  answers: AnswerMode;
  /** The same of the correction of times. */
  correctClockSkew: ClockSkewCorrection;
  /** The same of the retry profile of destinations. */
  retryProfile: string;
  /** `direct`: only from messages of a server with `context.direct: true`. */
  contextIp: ContextIp;
  /** Whether a `messageId` of 100 characters or more is rejected. */
  limitMessageIds: boolean;
  /** The product token of `User-Agent: <vendor>/1.0`. */
  vendor: string;
  /** The seed of retry jitter, random failures and shares of faults. */
  seed: number;
  /** Off: delays are exact. */
  jitter: boolean;
  /** Connections per webhook. */
  laneConnections: number;
  /** How requests with an unknown write key are answered. */
  unknownKeys: AnswerMode;
  /**
   * Retention: the newest messages that are kept, and for how long (wall-clock time). Null keeps
   * all.
   */
  maxMessages: number | null;
  maxAgeMs: number | null;
  /** Retention: what the data file may hold, beside the two quotas below. Null for any size. */
  maxBytes: number | null;
  /**
   * Rejected and duplicate messages go, oldest first, beyond so many bytes. They count in no other
   * limit but that of age.
   */
  maxRejectedBytes: number;
  /** The same for requests with an unknown write key. */
  maxUnknownKeyBytes: number;
  /**
   * SQLite's `synchronous`: NORMAL is safe against the death of the process, FULL against a power
   * cut.
   */
  synchronous: "NORMAL" | "FULL";
};

export const defaultSettings: Settings = {
  parity: "own",
  answers: "explain",
  correctClockSkew: "auto",
  retryProfile: "documented",
  contextIp: "connection",
  limitMessageIds: false,
  vendor: "Hookyard",
  seed: 1,
  jitter: true,
  laneConnections: 64,
  unknownKeys: "explain",
  maxMessages: 1_000_000,
  maxAgeMs: null,
  maxBytes: 20_000_000_000,
  maxRejectedBytes: 16_000_000,
  maxUnknownKeyBytes: 16_000_000,
  synchronous: "NORMAL",
};

export type StepMatch = { type?: MessageType; event?: string; userId?: string; messageId?: string };

/** What a step of a program can do. */
export const stepActions = [
  "answer",
  "hang",
  "reset",
  "close",
  "truncate",
  "drip",
  "garbage",
  "redirect",
  "forward",
] as const;

/** Of each: whether it sends a status, headers and a body, and whether it lasts for `forMs`. */
export const stepBehaviours: Record<
  (typeof stepActions)[number],
  { answers: boolean; lasts: boolean }
> = {
  answer: { answers: true, lasts: false },
  hang: { answers: false, lasts: true },
  reset: { answers: false, lasts: false },
  close: { answers: false, lasts: false },
  truncate: { answers: true, lasts: false },
  drip: { answers: true, lasts: true },
  garbage: { answers: false, lasts: false },
  redirect: { answers: true, lasts: false },
  // The receiver answers; a status or `forMs` of its own has another meaning.
  forward: { answers: false, lasts: false },
};

export const losses = ["answer", "request"] as const;
export const lossLooks = ["reset", "timeout"] as const;
export const tamperings = ["body", "signature", "no-signature", "reserialise"] as const;
export const holdOrders = ["reverse", "seeded"] as const;

/**
 * What only a step that forwards has: where the request goes, and what happens to it and to its
 * answer on the way.
 */
export type ForwardMembers = {
  /** The full URL of the receiver. */
  to?: string;
  /**
   * `answer`: the receiver gets the request, the sender no answer. `request`: the receiver gets
   * nothing.
   */
  lose?: (typeof losses)[number];
  /**
   * What the sender sees of a loss: a reset, or nothing until it times out. A reset when left out.
   */
  loseAs?: (typeof lossLooks)[number];
  /** Clock time between the receiver's answer and the answer to the sender. */
  delayAfterMs?: number;
  /** How often the receiver gets the request; the sender gets the first answer. */
  copies?: number;
  /** The copies are sent at the same time; otherwise each when the one before it was answered. */
  together?: boolean;
  tamper?: (typeof tamperings)[number];
  /** Keeps so many requests, then releases them one after the other. */
  hold?: number;
  /** In which order; `reverse` when left out. */
  order?: (typeof holdOrders)[number];
};

/** One step of a test endpoint's program. */
export type Step = ForwardMembers & {
  /**
   * How many requests it serves; without it one, with a `hold` as many as that, or with a `chance`
   * any number.
   */
  times?: number;
  /** It serves, and counts, only requests whose message matches. */
  match?: StepMatch;
  /**
   * It serves this share of the requests that reach it, 0 to 1; the others fall through to the next
   * step.
   */
  chance?: number;
  do: (typeof stepActions)[number];
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  /** Clock time before the step does what it does. */
  delayMs?: number;
  /**
   * `hang` and `drip`: the clock time for which it lasts; a hang without it lasts until the client
   * disconnects. `hold`: how long the first request waits for the others.
   */
  forMs?: number;
};

export type TestEndpoint = {
  id: EndpointId;
  name: string;
  /** Its path on the endpoint ports, without the slash. */
  path: string;
  steps: Step[];
  after: "repeat-last" | "start-over";
  /** Each message meets the first step first, however many others came before it. */
  perMessage?: boolean;
  /** The webhook that points here, and the URL that it had before. */
  inFrontOf?: { destinationId: DestinationId; webhookId: WebhookId; url: string } | null;
  createdAt: number;
};

/** Which version of the Go library a client's requests look like. */
export const wireModes = ["v3", "v2.1", "v2.0", "v1.2"] as const;
type WireMode = (typeof wireModes)[number];

/** A client of the client library inside Hookyard. */
export type SimulatedClient = {
  id: ClientId;
  name: string;
  /** Any key: ingest refuses one that no source has, as it does for a real client. */
  writeKey: string;
  wire: WireMode;
  flushAt: number;
  /** Milliseconds of clock time since the last flush. */
  flushAfter: number;
  /** The URL before `/v1/batch`; null is our own ingest port, whatever its address. */
  endpoint: string | null;
  strict: boolean;
  createdAt: number;
};
