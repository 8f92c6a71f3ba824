/**
 * The test endpoints as the control API sees them: programs, what was received, and faults in front
 * of webhooks. `pipeline.ts` has the rest.
 */

import type { Destination, Step, TestEndpoint } from "../domain/configuration.ts";
import type { DestinationId, EndpointId, ReceivedRequestId, WebhookId } from "../domain/ids.ts";
import type { Problem } from "../domain/problem.ts";
import type { MessageFacts, ProgramPosition } from "../domain/program.ts";
import type { Outcome } from "../domain/states.ts";
import type { RecordedResponse } from "./ports.ts";

export type EndpointDraft = Pick<TestEndpoint, "name" | "steps"> &
  Partial<Pick<TestEndpoint, "path" | "after" | "perMessage" | "inFrontOf">>;

export type EndpointView = TestEndpoint & {
  url: string;
  tlsUrl: string;
  position: ProgramPosition;
};

export type ReceivedRequest = {
  id: ReceivedRequestId;
  endpointId: EndpointId;
  /** Clock time. */
  receivedAt: number;
  tls: boolean;
  method: string;
  path: string;
  headers: [string, string][];
  body: Uint8Array;
  bodyLength: number;
  /** The index of the step that served it, null when none did. */
  step: number | null;
  did: Step["do"] | "default";
  status: number | null;
  /** Clock time; missing before the head of the answer is sent. */
  answeredAt?: number;
  message: MessageFacts;
  signature: {
    value: string;
    verifies: { destinationId: DestinationId; name: string; valid: boolean }[];
  } | null;
  /**
   * What a `forward` step sent to the receiver, and what came back, in the order in which it was
   * sent.
   */
  forwarded: ForwardedExchange[];
};

export type ForwardedExchange = {
  /** Clock time. */
  startedAt: number;
  /** Null while it is under way, like the outcome. */
  durationMs: number | null;
  /** The duration is clock time, because another test endpoint held the request. */
  simulated: boolean;
  outcome: Outcome | null;
  error: { code: string; message: string } | null;
  method: string;
  url: string;
  /** Request line and headers exactly as sent; empty when nothing was sent. */
  requestHead: string;
  /** The first 64 KB. */
  body: Uint8Array;
  bodyLength: number;
  response: RecordedResponse | null;
};

export type EndpointPreset = {
  name: string;
  title: string;
  steps: Step[];
  after: TestEndpoint["after"];
  host?: string;
};

export type Endpoints = {
  list(): EndpointView[];
  get(id: EndpointId): EndpointView | undefined;
  create(draft: EndpointDraft): EndpointView | Problem;
  update(id: EndpointId, changes: Partial<EndpointDraft>): EndpointView | Problem;
  delete(id: EndpointId): Problem | null;
  /** Back to the first step. */
  rewind(id: EndpointId): EndpointView | Problem;
  /** Newest first; `dropped` counts those that were removed for newer ones. */
  received(
    id: EndpointId,
    limit: number,
    before: ReceivedRequestId | null,
  ):
    | {
        items: ReceivedRequest[];
        nextCursor: ReceivedRequestId | null;
        total: number;
        dropped: number;
      }
    | Problem;
  clearReceived(id: EndpointId): Problem | null;
  presets(): EndpointPreset[];
};

/** What a test endpoint in front of a webhook does to its requests. */
type Fault = Omit<Step, "do" | "to">;

export type Faults = {
  /** The endpoint that is in front of a webhook. */
  behind(webhook: WebhookId): EndpointView | null;
  put(id: DestinationId, webhook: WebhookId, fault: Fault): Destination | Problem;
  undo(id: DestinationId, webhook: WebhookId): Destination | Problem;
  /** Deletes a test endpoint. A webhook behind it gets its own URL back. */
  deleteEndpoint(id: EndpointId): Problem | null;
  /** Puts an existing endpoint in front of a webhook. */
  link(id: EndpointId, inFrontOf: NonNullable<TestEndpoint["inFrontOf"]>): void;
  /** Points webhooks at the current addresses of the endpoints in front of them. */
  refresh(): void;
};
