/** One message as its row and what hangs on it say it is. */

import type { DestinationId, MessageRowId, SourceId } from "../domain/ids.ts";
import type {
  AttemptMark,
  IncomingRequest,
  MessageDetails,
  MessageSummary,
} from "../engine/ports.ts";
import type {
  Decision,
  FilteredDecision,
  MappingDecision,
  PlanViolation,
} from "../engine/route/decision.ts";
import { messageStateAt, outcomeAt, shapeAt, stateCode, typeAt } from "./codes.ts";
import { createDeliveryReader } from "./delivery-reader.ts";
import { deliveriesOfMessage, type MappedRequests } from "./mapped-requests.ts";
import { memberPath } from "../domain/member-path.ts";
import type { Db } from "./transactions.ts";

export type MessageRow = {
  id: number;
  request_id: number;
  offset: number;
  size: number;
  message_id: string;
  source_id: number;
  type: number;
  state: number;
  user_id: string | null;
  anonymous_id: string | null;
  event: string | null;
  received_at: number;
  timestamp: number;
  reason: string | null;
  extra: string | null;
  attempts: number;
  last_status: number | null;
  pinned: number;
  plan: number | null;
};

type Extra = {
  warnings?: string[];
  detail?: string;
  duplicateOf?: number;
  replayOf?: number;
  traits?: string;
  violations?: PlanViolation[];
  dropped?: string[][];
};

/** The maximum shown for one message; the record keeps all, because profiles use them. */
const maxDropped = 500;

type MessageReader = {
  summary(row: MessageRow): MessageSummary;
  details(row: MessageRow): MessageDetails;
  /** The request that brought it, without its messages. */
  request(row: MessageRow): Omit<IncomingRequest, "messages">;
};

type RequestRow = {
  sourceId: SourceId;
  receivedAt: number;
  wallAt: number;
  method: string;
  path: string;
  headers: string;
  ip: string | null;
  body: Buffer;
  messages: number;
};

type DecisionRow = {
  destination_id: number;
  reason: string;
  detail: string;
  warnings: string | null;
  shape: number;
  mappings: string | null;
};

type FilteredRow = {
  destination_id: number;
  filters: string;
  before: Buffer | null;
  after: Buffer | null;
};

export function createMessageReader(db: Db, mapped: MappedRequests): MessageReader {
  const requests = db.prepare<[number], RequestRow>(
    "SELECT source_id AS sourceId, received_at AS receivedAt, wall_at AS wallAt, method, path, headers, ip, body, messages FROM requests WHERE id = ?",
  );
  const decisions = db.prepare<[number], DecisionRow>(
    "SELECT destination_id, reason, detail, warnings, shape, mappings FROM decisions WHERE message_id = ? ORDER BY destination_id",
  );
  const nextAttempt = db
    .prepare<[number], number | null>(
      `SELECT min(next_attempt_at) FROM (${deliveriesOfMessage}) WHERE state = ${stateCode("waiting")}`,
    )
    .pluck();
  const attempts = db.prepare<
    [number],
    { webhook_id: number; round: number; outcome: number; status: number | null }
  >(
    `SELECT attempts.webhook_id, attempts.round, attempts.outcome, attempts.status
     FROM (${deliveriesOfMessage}) AS deliveries JOIN attempts ON attempts.delivery_id = deliveries.id
     ORDER BY attempts.round, attempts.id`,
  );
  const deliveries = createDeliveryReader(db, mapped);
  const filtered = db.prepare<[number], FilteredRow>(
    "SELECT destination_id, filters, before, after FROM filtered WHERE message_id = ?",
  );

  function withFiltered(all: Decision[], id: number): Decision[] {
    const rows = new Map(filtered.all(id).map((row) => [row.destination_id, row]));
    return all.map((decision) => {
      const row = rows.get(decision.destinationId);
      if (row === undefined) return decision;
      const { before, after } = row;
      const filters = JSON.parse(row.filters) as FilteredDecision["filters"];
      const bodies = before === null || after === null ? null : { before, after };
      return { ...decision, filtered: { filters, bodies } };
    });
  }

  function marksOf(id: number): AttemptMark[] {
    const made = attempts.all(id);
    const lanes = [...new Set(made.map(({ webhook_id }) => webhook_id))].sort((a, b) => a - b);
    return made.map(({ webhook_id, round, outcome, status }) => ({
      lane: lanes.indexOf(webhook_id),
      round,
      outcome: outcomeAt(outcome),
      status,
    }));
  }

  function summary(row: MessageRow): MessageSummary {
    const { replayOf, traits, violations }: Extra =
      row.extra === null ? {} : (JSON.parse(row.extra) as Extra);
    const state = messageStateAt(row.state);
    return {
      id: row.id as MessageRowId,
      messageId: row.message_id,
      sourceId: row.source_id as SourceId,
      type: typeAt(row.type),
      userId: row.user_id,
      anonymousId: row.anonymous_id,
      event: row.event,
      traits: traits ?? null,
      receivedAt: row.received_at,
      timestamp: row.timestamp,
      state,
      reason: row.reason,
      attempts: row.attempts,
      lastStatus: row.last_status,
      pinned: row.pinned === 1,
      replayOf: (replayOf ?? null) as MessageRowId | null,
      plan: row.plan === null ? null : row.plan === 1 ? "ok" : "violations",
      violations: violations ?? [],
      nextAttemptAt:
        row.attempts > 0 || state === "waiting" ? (nextAttempt.get(row.id) as number | null) : null,
      marks: row.attempts > 0 ? marksOf(row.id) : [],
    };
  }

  return {
    summary,
    request(row) {
      const { messages: _messages, headers, ...rest } = requests.get(row.request_id) as RequestRow;
      return { ...rest, headers: JSON.parse(headers) as [string, string][] };
    },
    details(row) {
      const extra: Extra = row.extra === null ? {} : (JSON.parse(row.extra) as Extra);
      const { method, path, headers, body, messages } = requests.get(row.request_id) as RequestRow;
      return {
        ...summary(row),
        detail: extra.detail ?? null,
        duplicateOf: (extra.duplicateOf ?? null) as MessageRowId | null,
        warnings: extra.warnings ?? [],
        dropped: (extra.dropped ?? []).slice(0, maxDropped).map(memberPath),
        raw: body.subarray(row.offset, row.offset + row.size),
        request: {
          method,
          path,
          headers: JSON.parse(headers) as [string, string][],
          size: body.length,
          messages,
        },
        decisions: withFiltered(decisions.all(row.id).map(decisionOf), row.id),
        deliveries: deliveries.ofMessage(row.id as MessageRowId),
      };
    },
  };
}

function decisionOf(row: DecisionRow): Decision {
  const { destination_id, reason, detail, warnings, shape, mappings } = row;
  return {
    ...(mappings === null ? {} : { mappings: JSON.parse(mappings) as MappingDecision[] }),
    destinationId: destination_id as DestinationId,
    routed: reason === "routed",
    reason,
    detail,
    warnings: warnings === null ? [] : (JSON.parse(warnings) as string[]),
    payload: shapeAt(shape),
  };
}
