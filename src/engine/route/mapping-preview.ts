/**
 * What a mapping that is being written would make of the messages that came last. The routing
 * itself decides, with a destination that has only this mapping and the filters of the saved one;
 * nothing is stored or sent.
 */

import { createHmac } from "node:crypto";
import type {
  Destination,
  DestinationFilter,
  Mapping,
  MappingDraft,
  Settings,
  Source,
} from "../../domain/configuration.ts";
import type { DestinationId, SourceId, WebhookId } from "../../domain/ids.ts";
import { isProblem } from "../../domain/problem.ts";
import { messageStates } from "../../domain/states.ts";
import { acceptRequest, replayedFrom } from "../ingest/accept.ts";
import { parseBody, parsePath, replayBody, splitTarget } from "../ingest/read-request.ts";
import { checkMappings, mappingOf } from "../mappings.ts";
import type { MessageSummary, QueryStore } from "../ports.ts";
import type { MappedRequest, MappingDecision } from "./decision.ts";
import { nextTurn } from "../real-time.ts";
import type { PreviewMapping, MappingPreview } from "../pipeline.ts";

/** As many messages as are looked at. */
const maxMessages = 100;

/** Elements of a batch that are shown. */
const maxShared = 3;

/** Messages between turns of the event loop: a message's whole request is read for it. */
const perTurn = 10;

type Made = { message: MessageSummary; decision: MappingDecision; request: MappedRequest | null };

type PreviewOptions = {
  store: Pick<QueryStore, "messages" | "messageSource">;
  configuration: { source(id: SourceId): Source | undefined; settings(): Settings };
};

/** Stands for a URL that is still being typed. */
const anyUrl = "http://127.0.0.1/";

const accepted = messageStates.filter((state) => state !== "rejected" && state !== "duplicate");

export function createMappingPreview({ store, configuration }: PreviewOptions): PreviewMapping {
  /** What the mapping makes of a message on record; null when that no longer is a message. */
  function make(
    message: MessageSummary,
    mapping: Mapping,
    filters: DestinationFilter[],
  ): Made | null {
    const settings = configuration.settings();
    const origin = store.messageSource(message.id);
    const source = configuration.source(message.sourceId);
    if (origin === null || source === undefined) return null;
    const { request, span } = origin;
    const call = parsePath(splitTarget(request.path).path);
    const typeFromPath = call?.call === "single" ? call.type : null;
    const batched = typeFromPath === null;
    const body = replayBody(request.body, span, batched, message.messageId);
    if (isProblem(body)) return null;
    const parsed = parseBody(body, batched);
    if (isProblem(parsed)) return null;
    const { messages } = acceptRequest(
      {
        ...request,
        source,
        destinations: [{ ...destinationWith(mapping, source), filters }],
        typeFromPath,
        replayed: replayedFrom(origin),
        arrivedFirst: request,
        body,
        isSuppressed: () => false,
        seed: settings.seed,
        settings,
      },
      parsed,
    );
    const [decision] = messages[0]?.route().decisions ?? [];
    if (decision === undefined) return null;
    const { reason, detail } = decision;
    return {
      message,
      decision: decision.mappings?.[0] ?? { name: mapping.name, reason, detail },
      request: decision.requests?.[0] ?? null,
    };
  }

  return async ({ mapping: draft, sourceIds, secret, filters = [], id }) => {
    const mistakes = mistakesIn(draft);
    const mapping = withoutMistakes(draft, mistakes);
    const items =
      sourceIds.length === 0
        ? []
        : (await store.messages({ sourceId: sourceIds, state: accepted }, maxMessages, null)).items;
    const all: Made[] = [];
    for (const [place, message] of items.entries()) {
      if (place % perTurn === perTurn - 1) await nextTurn();
      const made = make(message, mapping, filters);
      if (made !== null) all.push(made);
    }
    const matching =
      mistakes.trigger === null
        ? all.filter(({ decision }) => ["routed", "payload_error"].includes(decision.reason))
        : [];
    const chosen = all.find(({ message }) => message.id === id) ?? matching[0];
    return {
      mistakes,
      looked: all.length,
      matching: matching.map(({ message }) => message),
      failing: matching.filter(({ request }) => request === null).length,
      shown: chosen === undefined ? null : shownOf({ chosen, matching, mistakes, secret }),
    };
  };
}

function mistakesIn(draft: MappingDraft): MappingPreview["mistakes"] {
  const mistakeOf = (place: keyof MappingPreview["mistakes"]): string | null => {
    const only = {
      name: "x",
      url: anyUrl,
      [place]: draft[place] ?? (place === "url" ? "" : undefined),
    };
    const wrong = checkMappings([mappingOf(only)]);
    return wrong === null
      ? null
      : wrong.message.replace(`mappings[0].${place}`, "").replace(/^[.:] ?/, "");
  };
  return {
    trigger: mistakeOf("trigger"),
    url: mistakeOf("url"),
    headers: mistakeOf("headers"),
    data: mistakeOf("data"),
    batch: mistakeOf("batch"),
  };
}

/** What can be read of it, so that the rest is shown while one part is being typed. */
function withoutMistakes(draft: MappingDraft, mistakes: MappingPreview["mistakes"]): Mapping {
  const right = { ...draft, enabled: true };
  if (mistakes.trigger !== null) right.trigger = null;
  if (mistakes.url !== null) right.url = anyUrl;
  if (mistakes.headers !== null) right.headers = {};
  if (mistakes.data !== null) right.data = {};
  if (mistakes.batch !== null) right.batch = { enabled: draft.batch?.enabled ?? false };
  return { ...mappingOf(right), id: 1 as WebhookId };
}

function destinationWith(mapping: Mapping, { id }: Source): Destination {
  return {
    id: 1 as DestinationId,
    kind: "webhooks-actions",
    name: "Preview",
    enabled: true,
    sourceIds: [id],
    webhooks: [{ id: mapping.id, url: "", headers: {} }],
    mappings: [mapping],
    sharedSecret: null,
    retryProfile: "documented",
    payload: "documented",
    filters: [],
    createdAt: 0,
  };
}

type ShownOptions = {
  chosen: Made;
  matching: readonly Made[];
  mistakes: MappingPreview["mistakes"];
  secret: string | null;
};

function shownOf({ chosen, matching, mistakes, secret }: ShownOptions): MappingPreview["shown"] {
  const { message, decision, request } = chosen;
  const id = message.id;
  const cannot = mistakes.data ?? mistakes.headers;
  if (cannot !== null) return { id, detail: cannot, request: null, batch: null };
  if (request === null) return { id, detail: decision.detail, request: null, batch: null };
  const sign = (bytes: Uint8Array | null): string | null =>
    secret === null || bytes === null
      ? null
      : createHmac("sha1", secret).update(bytes).digest("hex");
  const { url, method, headers, body } = request;
  return {
    id,
    detail: decision.detail,
    request: {
      url: mistakes.url === null ? url : null,
      method,
      headers,
      body: body ?? new Uint8Array(),
      signature: sign(body),
    },
    batch: batchOf(chosen, matching, sign),
  };
}

type Batch = NonNullable<MappingPreview["shown"]>["batch"];

function batchOf(
  chosen: Made,
  matching: readonly Made[],
  sign: (bytes: Uint8Array | null) => string | null,
): Batch {
  const key = chosen.request?.batch?.key;
  if (key === undefined) return null;
  const others = matching.filter((made) => made !== chosen && made.request?.batch?.key === key);
  // The oldest comes first, as in a batch that is collected.
  const shared = [chosen, ...others.slice(0, maxShared - 1)].toSorted(
    (a, b) => a.message.id - b.message.id,
  );
  const bodies = shared.flatMap(({ request }) => request?.body ?? []);
  const body = Buffer.from(`[${bodies.map((each) => Buffer.from(each).toString()).join(",")}]`);
  const [first = null] = bodies;
  return {
    messages: shared.map(({ message }) => message.id),
    body,
    first: first?.length ?? 0,
    signature: sign(first),
    wholeSignature: sign(body),
  };
}
