/** What filters of a destination would do with its last messages, by the routing of the pipeline. */

import type { Destination, DestinationFilter } from "../../domain/configuration.ts";
import { wrongFilter } from "../../domain/destination-filter.ts";
import { invalid, isProblem, type Problem } from "../../domain/problem.ts";
import type { MessageRowId, WebhookId } from "../../domain/ids.ts";
import type { MessageType } from "../../domain/states.ts";
import type { Pipeline } from "../../engine/pipeline.ts";
import { mappingOf } from "../../engine/mappings.ts";
import { nextTurn } from "../../engine/real-time.ts";

const previewed = 100;
/** Of payloads, as an answer stays below 1 MB. */
const maxBytes = 600_000;
const perTurn = 10;

type Item = {
  id: MessageRowId;
  type: MessageType | null;
  event: string | null;
  userId: string | null;
  result: "unchanged" | "changed" | "dropped";
  filters: string[];
  detail: string;
  before: Uint8Array | null;
  after: Uint8Array | null;
};

type Preview = { delivered: number; changed: number; dropped: number; items: Item[] };

/** What mappings see of a message. */
const wholeEvent = {
  ...mappingOf({ name: "Event", url: "http://127.0.0.1/" }),
  id: 1 as WebhookId,
};

export async function previewFilters(
  { queries, messages }: Pick<Pipeline, "queries" | "messages">,
  destination: Destination,
  filters: DestinationFilter[],
): Promise<Preview | Problem> {
  const wrong = wrongFilter(filters);
  if (wrong !== null) return invalid(wrong);
  const preview: Preview = { delivered: 0, changed: 0, dropped: 0, items: [] };
  if (destination.sourceIds.length === 0) return preview;
  const enabled = { ...destination, enabled: true };
  const isMapped = destination.kind === "webhooks-actions";
  const candidates = await queries.messages(
    { sourceId: destination.sourceIds, not: { state: ["rejected", "duplicate"] } },
    previewed,
    null,
  );
  let bytes = 0;
  for (const [place, { id, type, event, userId }] of candidates.items.entries()) {
    if (place % perTurn === 0) await nextTurn();
    const unfiltered = { ...enabled, filters: [] };
    const plain = messages.routedAgain(
      id,
      isMapped ? [unfiltered, { ...unfiltered, mappings: [wholeEvent] }] : [unfiltered],
    );
    const routed = messages.routedAgain(id, [{ ...enabled, filters }]);
    if (isProblem(plain) || isProblem(routed)) continue;
    const [decision] = routed.decisions;
    // Filters have nothing to do with what goes elsewhere, or nowhere.
    if (decision === undefined || plain.decisions[0]?.routed !== true) continue;
    const sent = isMapped
      ? plain.decisions[1]?.requests?.[0]?.body
      : plain.payloads[destination.payload];
    const before = sent ?? new Uint8Array();
    const after = decision.routed ? (decision.filtered?.bodies?.after ?? before) : null;
    const isChanged = after !== null && after !== before;
    bytes += before.length + (after?.length ?? 0);
    preview.items.push({
      id,
      type,
      event,
      userId,
      result: after === null ? "dropped" : isChanged ? "changed" : "unchanged",
      filters: (decision.filtered?.filters ?? []).map(({ name }) => name),
      detail: decision.detail,
      before: bytes > maxBytes ? null : before,
      after: bytes > maxBytes ? null : after,
    });
    if (after === null) preview.dropped += 1;
    else preview.delivered += 1;
    if (isChanged) preview.changed += 1;
  }
  return preview;
}
