/** The settings, and how far the configuration is like the hosted service. */

import type { MessageSummary } from "../../engine/ports.ts";
import { ofDefaults } from "../../engine/ingest/accept.ts";
import { maxBatchMessages } from "../../engine/ingest/read-request.ts";
import type { Pipeline } from "../../engine/pipeline.ts";
import { findingsOfUrl, knownUrl, piecesOf, type Finding } from "../../domain/parity.ts";
import type { HandlersOf } from "../../contract/contract.ts";

/** The hosted service answers 429 above about this many requests a second. */
const hostedRequestsPerSecond = 1000;
/** A `messageId` there has fewer characters. */
const longMessageId = 100;
/** Of one kind, among messages. */
const maxMessages = 3;

export function settingsHandlers(pipeline: Pipeline): HandlersOf<"settings"> {
  const { configuration } = pipeline;
  return {
    "settings.get": () => configuration.settings(),
    "settings.update": (changes) => configuration.updateSettings(changes),
    "settings.parity": async () => {
      const settings = configuration.settings();
      const sources = configuration.sources().filter(({ kind }) => kind !== "audience");
      const destinations = configuration.destinations();
      const pieces = piecesOf(settings, sources, destinations, maxBatchMessages);
      const isHosted = pieces.every((piece) => piece.isHosted);
      return {
        parity: settings.parity,
        isChanged: settings.parity === "hosted" && !isHosted,
        pieces,
        findings: [
          ...findingsOfWebhooks(pipeline),
          ...(await findingsOfMessages(pipeline)),
          ...findingsOfRate(pipeline),
        ].map((finding) => ({ ...nowhere, ...finding })),
      };
    },
  };
}

const nowhere = { destinationId: null, webhookId: null, sourceId: null, messageId: null };

function findingsOfWebhooks({ configuration, faults }: Pipeline): Finding[] {
  return configuration.destinations().flatMap(({ id: destinationId, webhooks, mappings }) =>
    webhooks.flatMap(({ id: webhookId, url }) => {
      const mapping = mappings.find(({ id }) => id === webhookId);
      const known = mapping === undefined ? url : (knownUrl(mapping.url) ?? "");
      // With a fault in front of it, the receiver behind it counts.
      const real = faults.behind(webhookId)?.inFrontOf?.url ?? known;
      return findingsOfUrl(real).map((finding) => ({ ...finding, destinationId, webhookId }));
    }),
  );
}

async function findingsOfMessages({ queries }: Pipeline): Promise<Finding[]> {
  const { miscased, longIds } = queries.unlikeHosted(longMessageId);
  const rejected = async (reason: string): Promise<MessageSummary[]> =>
    (await queries.messages({ reason: [reason] }, maxMessages, null)).items;
  const about = (
    code: Finding["code"],
    messages: readonly MessageSummary[],
    sentenceOf: (message: MessageSummary) => string,
  ): Finding[] =>
    messages.map((message) => ({
      code,
      sentence: sentenceOf(message),
      sourceId: message.sourceId,
      messageId: message.id,
    }));
  return [
    ...about(
      "wrong_case",
      miscased,
      ({ event, type }) =>
        `A name in the integrations of ${event ?? type ?? "a message"} has the wrong case, so it changes nothing, neither here nor there.`,
    ),
    ...about(
      "too_large",
      await rejected("message_too_large"),
      () =>
        "A message of more than 32 KB was rejected. In a batch, the hosted service answers 200 and drops it silently.",
    ),
    ...about("batch_too_long", await rejected("batch_too_long"), ({ id }) =>
      queries.message(id)?.detail?.startsWith(ofDefaults) === true
        ? "Messages of a batch were rejected here only, because its context and integrations are too large to be carried by each. The hosted service has no such limit."
        : "A batch of more than 2,500 messages came. The hosted service answers 200 and drops the others silently.",
    ),
    ...about(
      "long_message_id",
      longIds,
      ({ messageId }) =>
        `A messageId has ${messageId.length} characters; the hosted service accepts fewer than 100.`,
    ),
  ];
}

function findingsOfRate({ peakRequests }: Pipeline): Finding[] {
  const peak = peakRequests();
  if (peak <= hostedRequestsPerSecond) return [];
  const sentence = `${peak} requests arrived within a second. Above about 1,000 the hosted service answers 429 with Retry-After and X-RateLimit-Reset; a fault of the source with \`limit\` shows whether the client handles that.`;
  return [{ code: "too_fast", sentence }];
}
