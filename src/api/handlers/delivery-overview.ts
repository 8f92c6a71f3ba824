/** What became of the messages of a destination's sources: a funnel with reasons and samples. */

import type { Destination } from "../../domain/configuration.ts";
import { conflict, invalid } from "../../domain/problem.ts";
import type { MessageRowId } from "../../domain/ids.ts";
import type { DeliveryState } from "../../domain/states.ts";
import type { MessageSummary, Page, QueryStore } from "../../engine/ports.ts";
import type { JobSlice, Pipeline, RetryJob } from "../../engine/pipeline.ts";
import { nextTurn } from "../../engine/real-time.ts";

/** Messages that are looked at: the newest of the period. */
const maxLookedAt = 10_000;
const readAtOnce = 100;
const maxSamples = 3;

const stageOf = {
  queued: "underWay",
  sending: "underWay",
  waiting: "retrying",
  delivered: "delivered",
  failed: "failed",
  expired: "expired",
  cancelled: "discarded",
} as const satisfies Record<DeliveryState, string>;

type StageName = (typeof stageOf)[DeliveryState] | "filteredAtSource" | "filteredAtDestination";
type Reason = { reason: string; count: number; samples: MessageRowId[] };
type Place = { stage: StageName; reason: string };
type Period = { since?: number | undefined; until?: number | undefined };

export async function deliveryFunnel(
  { queries }: Pick<Pipeline, "queries">,
  { id, sourceIds }: Destination,
  { since, until }: Period,
) {
  if (since !== undefined && until !== undefined && since > until)
    return invalid("since: It is later than until.");
  const stages = new Map<StageName, Map<string, Reason>>();
  let received = 0;
  let lookedAt = 0;
  let before: MessageRowId | null = null;
  let oldestAt: number | null = null;
  const filter = {
    sourceId: sourceIds,
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
  };
  while (sourceIds.length > 0 && lookedAt < maxLookedAt) {
    const page: Page<MessageSummary, MessageRowId> = await queries.messages(
      filter,
      readAtOnce,
      before,
    );
    for (const message of page.items) {
      oldestAt = message.receivedAt;
      const place = placeOf(queries, message, id);
      if (place === null) continue;
      received += 1;
      note(stages, place, message.id);
    }
    lookedAt += page.items.length;
    before = page.nextCursor;
    if (before === null) break;
    await nextTurn();
  }
  const stage = (name: StageName) => {
    const reasons = [...(stages.get(name)?.values() ?? [])].toSorted((a, b) => b.count - a.count);
    return { count: reasons.reduce((sum, { count }) => sum + count, 0), reasons };
  };
  return {
    received,
    filteredAtSource: stage("filteredAtSource"),
    filteredAtDestination: stage("filteredAtDestination"),
    underWay: stage("underWay"),
    delivered: stage("delivered"),
    retrying: stage("retrying"),
    failed: stage("failed"),
    expired: stage("expired"),
    discarded: stage("discarded"),
    isWhole: before === null,
    oldestAt,
  };
}

/** Null for a message that was sent again to another destination alone. */
function placeOf(
  queries: Pick<QueryStore, "decisionAt" | "deliveriesOf" | "lastOutcome">,
  { id, state, reason, replayOf }: MessageSummary,
  destination: Destination["id"],
): Place | null {
  if (state === "rejected" || state === "duplicate")
    return { stage: "filteredAtSource", reason: reason ?? state };
  const delivery = queries
    .deliveriesOf(id)
    .find(({ destinationId }) => destinationId === destination);
  if (delivery !== undefined) {
    const { state: now, reason: last } = delivery;
    // A batch waits for more messages, or for its turn.
    const isFirst = now === "waiting" && (last === "collecting" || last === "full");
    const stage = isFirst ? "underWay" : stageOf[now];
    const isTrouble = stage === "retrying" || stage === "failed" || stage === "expired";
    const outcome = isTrouble ? queries.lastOutcome(delivery.id) : null;
    return { stage, reason: outcome ?? last ?? now };
  }
  const decision = queries.decisionAt(id, destination);
  if (decision === null)
    return replayOf === null ? { stage: "filteredAtDestination", reason: "not_connected" } : null;
  const { reason: why } = decision;
  if (why.startsWith("plan_")) return { stage: "filteredAtSource", reason: why };
  return { stage: why === "payload_error" ? "failed" : "filteredAtDestination", reason: why };
}

function note(
  stages: Map<StageName, Map<string, Reason>>,
  { stage, reason }: Place,
  id: MessageRowId,
): void {
  const reasons = stages.get(stage) ?? new Map<string, Reason>();
  stages.set(stage, reasons);
  const known = reasons.get(reason) ?? { reason, count: 0, samples: [] };
  reasons.set(reason, known);
  known.count += 1;
  if (known.samples.length < maxSamples) known.samples.push(id);
}

/** Each is read from its whole request, which takes some 2.5 ms where that is a full batch. */
const sentAtOnce = 10;

/**
 * Sends what the sources of a destination accepted in a period to it again. What an earlier run
 * made of a message of the period is not sent a second time.
 */
export async function sendAgain(
  { queries, messages, deliveries, configuration }: Pipeline,
  { id, name, enabled, sourceIds }: Destination,
  { since, until, dryRun }: { since: number; until: number; dryRun?: boolean | undefined },
) {
  if (since > until) return invalid("since: It is later than until.");
  if (!enabled)
    return conflict("disabled", `${name} is disabled. Enable it to send messages to it again.`);
  const found: MessageSummary[] = [];
  let before: MessageRowId | null = null;
  while (found.length < maxLookedAt) {
    const page: Page<MessageSummary, MessageRowId> = await queries.messages(
      { sourceId: sourceIds, since, until, not: { state: ["rejected", "duplicate"] } },
      readAtOnce,
      before,
    );
    found.push(...page.items);
    before = page.nextCursor;
    if (before === null) break;
    await nextTurn();
  }
  const originals = new Set(
    found.flatMap(({ replayOf, messageId }) => (replayOf === null ? [messageId] : [])),
  );
  const chosen = found
    .toReversed()
    .filter(({ replayOf, messageId }) => {
      if (replayOf === null) return true;
      if (originals.has(messageId)) return false;
      originals.add(messageId);
      return true;
    })
    .map((message) => ({ id: message.id, messageId: message.messageId }));
  if (dryRun === true) return { count: chosen.length };
  function* slices(): Generator<JobSlice> {
    for (let from = 0; from < chosen.length; from += sentAtOnce) {
      const slice = chosen.slice(from, from + sentAtOnce);
      const run = (): number | Promise<number> => {
        const now = configuration.destination(id);
        return now === undefined ? 0 : messages.sendAgain(slice, now);
      };
      yield { size: slice.length, run };
    }
  }
  return jobAnswer(deliveries.startJob(chosen.length, slices()));
}

export function jobAnswer(job: RetryJob) {
  return { ...job, count: job.total };
}
