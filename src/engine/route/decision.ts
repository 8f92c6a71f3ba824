/** What the routing decides about a message, and what it makes of it. */

import type { PayloadShape } from "../../domain/configuration.ts";
import type { DestinationId, WebhookId } from "../../domain/ids.ts";

export type RoutedMessage = {
  decisions: Decision[];
  /** Null when its source has no plan. */
  plan: PlanOutcome | null;
  payloads: Partial<Record<PayloadShape, Uint8Array>>;
};

/** A request that a mapping made of a message. */
export type MappedRequest = {
  webhookId: WebhookId;
  url: string;
  method: string;
  /** Names in lower case; a value `undefined` removes a header that is otherwise set. */
  headers: [string, string][];
  /** Null: there is nothing to send, and nothing to sign. */
  body: Uint8Array | null;
  /** Requests with one key share a batch, up to its size. */
  batch: { key: string; size: number; waitMs: number } | null;
};

/** What became of a message at one mapping of a destination. */
export type MappingDecision = {
  name: string;
  /** `routed`, `mapping_disabled`, `trigger_not_met` or `payload_error`. */
  reason: string;
  detail: string;
};

export type PlanViolation = { path: string; message: string };

/** How a message met its plan. */
export type PlanResult = {
  violations: PlanViolation[];
  /** Where the members were that were removed from what is delivered. */
  dropped: string[][];
  /** It is not delivered. */
  blocked: boolean;
};

/** How a message met its source's tracking plan; with a reason it is blocked. */
type PlanOutcome = Pick<PlanResult, "violations" | "dropped"> & { reason: string | null };

export type Decision = {
  destinationId: DestinationId;
  routed: boolean;
  /** `routed`, `disabled`, `integrations_all_false`, `integrations_false` … */
  reason: string;
  detail: string;
  warnings: string[];
  payload: PayloadShape;
  /** What filters of the destination did. */
  filtered?: FilteredDecision;
  /** Of a destination with mappings. */
  mappings?: MappingDecision[];
  /** What its mappings send; each is a delivery, or part of one. */
  requests?: readonly MappedRequest[];
};

export type FilteredDecision = {
  filters: { name: string; action: string }[];
  /** The payload without them and with them, where they changed it. */
  bodies: { before: Uint8Array; after: Uint8Array } | null;
};
