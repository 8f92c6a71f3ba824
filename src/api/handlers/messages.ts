/** Messages, their deliveries and attempts, and the jobs that retry many deliveries. */

import {
  attemptIds,
  audienceIds,
  computedTraitIds,
  deliveryIds,
  jobIds,
  messageIds,
  type DeliveryId,
  type MessageRowId,
} from "../../domain/ids.ts";
import { invalid, isProblem, notFound, problem, type Problem } from "../../domain/problem.ts";
import { explaining } from "../../domain/signature-mismatch.ts";
import { sign, signatureKey } from "../../domain/signature.ts";
import type { Configuration, Pipeline } from "../../engine/pipeline.ts";
import type {
  AttemptRecord,
  DeliveryDetails,
  DeliverySummary,
  MessageDetails,
  MessageFilter,
  MessageSummary,
  Page,
} from "../../engine/ports.ts";
import { trimBlanks } from "../../engine/deliver/response-head.ts";
import { causeIn } from "../../engine/ingest/internal-messages.ts";
import { batchDefaults } from "../../engine/ingest/read-request.ts";
import { createTurnBudget } from "../../engine/real-time.ts";
import type { HandlersOf } from "../../contract/contract.ts";
import { jsonSize, maxAnswerBytes, noBytes, withinAnswer, withinRoom } from "./answer-size.ts";
import { messageFilterOf, suggestedValues } from "./message-filters.ts";
import { jobAnswer } from "./delivery-overview.ts";

/** Only what was rejected can be larger than a message may be. */
const maxRawBytes = 65_536;

/** Cut between two characters, or text would become base64. */
function beginningOf(bytes: Uint8Array): Uint8Array {
  let end = Math.min(bytes.length, maxRawBytes);
  while (((bytes[end] as number) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end);
}

export function messageHandlers(pipeline: Pipeline): HandlersOf<"messages"> {
  const { messages, queries } = pipeline;
  const { details } = deliveryShapes(pipeline);
  const summaryOf = (id: MessageRowId) =>
    queries.message(id) ?? notFound("message", messageIds.format(id));
  const detailsOf = (message: MessageDetails) => ({
    ...message,
    cause: causeOf(message),
    raw: beginningOf(message.raw),
    rawSize: message.raw.length,
    deliveries: withinRoom(
      message.deliveries.map(details),
      maxAnswerBytes -
        jsonSize(message.raw.subarray(0, maxRawBytes)) -
        Buffer.byteLength(JSON.stringify(message.decisions)),
    ),
  });
  /** Only messages of Hookyard itself have one. */
  function causeOf({ id, sourceId, type }: MessageDetails) {
    const source = pipeline.configuration.source(sourceId);
    const isOwn = type === "delete" || source === undefined || source.kind === "audience";
    const origin = isOwn ? queries.messageSource(id) : null;
    const cause = origin === null ? null : causeIn(origin.request, origin.span.offset);
    if (cause === null) return null;
    const { reason, sentence, computedId = "", destinationId, deletionId } = cause;
    const eventId = cause.messageId ?? null;
    return {
      reason,
      sentence,
      audienceId: audienceIds.parse(computedId),
      computedTraitId: computedTraitIds.parse(computedId),
      messageId: eventId === null || queries.message(eventId) === null ? null : eventId,
      destinationId: destinationId ?? null,
      deletionId: deletionId ?? null,
    };
  }
  return {
    "messages.list": async ({ limit, cursor = null, filter: text, ...members }) => {
      const filter = bothOf(members, text, pipeline);
      if (isProblem(filter)) return filter;
      return withinAnswer(
        await queries.messages(filter, limit, cursor),
        ({ id }: MessageSummary) => id,
      );
    },
    "messages.values": async ({ key, text }) => ({
      items: await suggestedValues({ key, text }, pipeline),
    }),
    "messages.retryAll": async ({ filter: text, ids, dryRun }) => {
      if ((text === undefined) === (ids === undefined))
        return invalid("Give either a filter or ids.");
      const filter = text === undefined ? {} : messageFilterOf(text, pipeline);
      if (isProblem(filter)) return filter;
      // A batch is found with each of its messages.
      const found = new Set<DeliveryId>();
      const add = (id: MessageRowId): void => {
        for (const delivery of pipeline.deliveries.retryableOf(id)) found.add(delivery);
      };
      if (ids === undefined) await eachMatching(filter, pipeline, add);
      else for (const id of ids) add(id);
      return dryRun === true
        ? { count: found.size }
        : jobAnswer(pipeline.deliveries.retryThese([...found]));
    },
    "messages.get": ({ id }) => {
      const message = summaryOf(id);
      return isProblem(message) ? message : detailsOf(message);
    },
    "messages.defaults": ({ id }) => {
      const origin = queries.messageSource(id);
      if (origin === null) return notFound("message", messageIds.format(id));
      const defaults = batchDefaults(origin.request.body);
      return Buffer.byteLength(JSON.stringify(defaults)) <= maxAnswerBytes
        ? defaults
        : problem(413, "too_large", "What this batch has beside its messages is over 1 MB.");
    },
    "messages.replay": async ({ id }) => {
      const replayed = await messages.replay(id);
      return isProblem(replayed) ? replayed : summaryOf(replayed.id);
    },
    "messages.pin": ({ id, pinned }) => messages.pin(id, pinned) ?? summaryOf(id),
  };
}

/** Parameters and text, where they do not both name one thing. */
function bothOf(
  members: MessageFilter,
  text: string | undefined,
  pipeline: Pipeline,
): MessageFilter | Problem {
  if (text === undefined) return members;
  const filter = messageFilterOf(text, pipeline);
  if (isProblem(filter)) return filter;
  const twice = Object.keys(members).find((name) => name in filter);
  return twice === undefined
    ? { ...members, ...filter }
    : invalid(`${twice}: Name it as a parameter or in the filter, not in both.`);
}

/** Messages that are retried together at most, and how many are read at once. */
const maxRetried = 10_000;
const readAtOnce = 200;

async function eachMatching(
  filter: MessageFilter,
  { queries }: Pipeline,
  visit: (id: MessageRowId) => void,
): Promise<void> {
  let before: MessageRowId | null = null;
  for (let seen = 0; seen < maxRetried;) {
    const page: Page<MessageSummary, MessageRowId> = await queries.messages(
      filter,
      readAtOnce,
      before,
    );
    for (const { id } of page.items) visit(id);
    seen += page.items.length;
    before = page.nextCursor;
    if (before === null) return;
  }
}

export function deliveryHandlers(pipeline: Pipeline): HandlersOf<"deliveries" | "jobs"> {
  const { deliveries, queries } = pipeline;
  const { summary, details } = deliveryShapes(pipeline);
  const summaryOr = (answer: DeliverySummary | Problem) =>
    isProblem(answer) ? answer : summary(answer);
  const listed = <Cursor>(
    { items, ...page }: Page<DeliverySummary, Cursor>,
    cursorAfter: (delivery: DeliverySummary) => Cursor,
  ) =>
    withinAnswer(
      { ...page, items: items.map((delivery) => summary(queries.listed(delivery))) },
      cursorAfter,
    );
  return {
    "deliveries.list": ({ order, limit, cursor = null, ...filter }) => {
      if (order === "newest") {
        if (typeof cursor === "object" && cursor !== null)
          return invalid("cursor: This cursor belongs to `order: due`.");
        return listed(queries.deliveries(filter, limit, cursor), ({ id }) => id);
      }
      if (filter.state !== "waiting")
        return invalid("order: Only waiting deliveries have a due time. Add `state: waiting`.");
      if (typeof cursor === "number")
        return invalid("cursor: This cursor belongs to `order: newest`.");
      return listed(queries.deliveriesByDue(filter, limit, cursor), ({ nextAttemptAt, id }) => ({
        at: nextAttemptAt as number,
        id,
      }));
    },
    "deliveries.get": ({ id }) => {
      const delivery = queries.deliveryDetails(id);
      if (delivery === null) return notFound("delivery", deliveryIds.format(id));
      const [answer] = withinRoom([details(delivery)], maxAnswerBytes);
      return answer as typeof answer & {};
    },
    "deliveries.attempt": ({ id, attempt }) => {
      const delivery = queries.deliveryDetails(id, 0);
      if (delivery === null) return notFound("delivery", deliveryIds.format(id));
      const found = queries.attempt(id, attempt);
      const [answer] = details({ ...delivery, attempts: found === null ? [] : [found] }).attempts;
      return answer ?? notFound("attempt", attemptIds.format(attempt));
    },
    "deliveries.signature": ({ id, digest, body }) => {
      const delivery = queries.deliveryDetails(id);
      if (delivery === null) return notFound("delivery", deliveryIds.format(id));
      const { sharedSecret = null } =
        pipeline.configuration.destination(delivery.destinationId) ?? {};
      return explainedSignature(delivery, sharedSecret, { digest, body });
    },
    "deliveries.retry": ({ id }) => summaryOr(deliveries.retry(id)),
    "deliveries.cancel": ({ id }) => summaryOr(deliveries.cancel(id)),
    "deliveries.retryAll": ({ filter, dryRun }) =>
      dryRun === true
        ? { count: deliveries.countRetryable(filter) }
        : jobAnswer(deliveries.retryAll(filter)),
    "jobs.list": () => ({ items: deliveries.retryJobs().map(jobAnswer) }),
    "jobs.get": ({ id }) => {
      const job = deliveries.retryJob(id);
      return job === undefined ? notFound("job", jobIds.format(id)) : jobAnswer(job);
    },
    "jobs.cancel": ({ id }) => {
      const cancelled = deliveries.cancelRetryJob(id);
      return isProblem(cancelled) ? cancelled : jobAnswer(cancelled);
    },
  };
}

/** Characters of spellings that are tried in a turn of the event loop: some 20 ms. */
const spellingTurn = createTurnBudget(500_000);

async function inTurns(question: Parameters<typeof explaining>[0]) {
  const steps = explaining(question);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await spellingTurn(step.value);
  }
}

/** What the newest attempt sent, or the next one would send. */
async function explainedSignature(
  { payload, mapped, attempts }: DeliveryDetails,
  secret: string | null,
  { digest, body }: { digest?: string | undefined; body?: string | undefined },
) {
  const signed = mapped === undefined ? payload : mapped.signed;
  if (secret === null || signed === null) {
    const covers =
      secret === null ? "The destination has no shared secret." : "There is no data to sign.";
    return { signature: null, from: 0, length: 0, covers, cause: "none", sentence: covers };
  }
  const isBatch = signed.length < payload.length;
  const sent = attempts
    .flatMap(({ requestHead }) => parseHead(requestHead).headers)
    .findLast(([name]) => name.toLowerCase() === "x-signature")?.[1];
  const signature = sent ?? sign(signatureKey(secret), signed);
  const { cause, sentence } = await inTurns({
    body: payload,
    ...(isBatch ? { signed } : {}),
    secret,
    expected: signature,
    ...(digest === undefined ? {} : { receiverDigest: digest }),
    ...(body === undefined ? {} : { receiverBody: Buffer.from(body) }),
  });
  const covers = isBatch
    ? `The first element of the batch: ${signed.length} of ${payload.length} bytes, after the opening bracket.`
    : `The whole body: ${payload.length} bytes.`;
  return { signature, from: isBatch ? 1 : 0, length: signed.length, covers, cause, sentence };
}

/**
 * A delivery with the end of its window, which its destination's retry profile says, and its
 * attempts' heads in lines.
 */
export function deliveryShapes({
  configuration,
}: {
  configuration: Pick<Configuration, "destination" | "retryProfileOf">;
}) {
  const summary = <Delivery extends DeliverySummary>(delivery: Delivery) => {
    const { firstAttemptAt, destinationId } = delivery;
    const destination = configuration.destination(destinationId);
    const windowEndsAt =
      firstAttemptAt === null || destination === undefined
        ? null
        : firstAttemptAt + configuration.retryProfileOf(destination).windowMs;
    return { ...delivery, messageRowId: delivery.messageRow, windowEndsAt };
  };
  const details = (delivery: DeliveryDetails) => ({
    ...summary(delivery),
    payloadSize: delivery.payload.length,
    ...(delivery.mapped === undefined
      ? {}
      : {
          webhookId: delivery.mapped.webhookId,
          url: delivery.mapped.url,
          signed: delivery.mapped.signed,
        }),
    attempts: delivery.attempts.map((attempt) => ({
      ...attempt,
      leftOut: attempt.leftOut === true,
      ...exchangeOf({
        ...attempt,
        method: delivery.mapped?.method ?? "POST",
        url: attempt.webhookUrl,
        body: delivery.payload,
      }),
    })),
  });
  return { summary, details };
}

/** Heads in lines, as the contract has them. */
export function exchangeOf({ method, url, requestHead, body, response }: Exchanged) {
  const sent = requestHead !== "";
  return {
    request: { sent, method, url, ...parseHead(requestHead), body: sent ? body : noBytes },
    response: response && { ...response, ...parseHead(response.head) },
  };
}

/**
 * The first line and the headers of a recorded request or response, names and order as they were on
 * the wire.
 */
type Head = { startLine: string; headers: [string, string][] };

export function parseHead(head: string): Head {
  const [startLine = "", ...lines] = head.split(/\r?\n/);
  const headers: [string, string][] = [];
  for (const line of lines) {
    const last = headers.at(-1);
    if (line === "") continue;
    // A line that begins with white space continues the header above it.
    if (/^[ \t]/.test(line) && last !== undefined) {
      const more = trimBlanks(line);
      if (more !== "") last[1] += last[1] === "" ? more : ` ${more}`;
      continue;
    }
    const colon = line.indexOf(":");
    if (colon === -1) headers.push([line, ""]);
    else headers.push([line.slice(0, colon), trimBlanks(line, colon + 1)]);
  }
  return { startLine, headers };
}

type Exchanged = Pick<AttemptRecord, "requestHead" | "response"> & {
  method: string;
  url: string;
  body: Uint8Array;
};
