/**
 * What was sent, cancelled and retried, in the order of the clock, with the clock's moves between.
 */

import type { DeliveryDetailsAnswer } from "../../contract/deliveries.ts";
import type { MessageDetailsAnswer } from "../../contract/messages.ts";
import { isObject, type Json, type JsonObject } from "../../domain/json.ts";
import { formatDuration } from "../file/duration.ts";
import { callTypes, misspelledMembers, type ScenarioInput } from "../file/scenario-schema.ts";
import type { RecordedSetup } from "./setup.ts";

type Step = ScenarioInput["steps"][number];
type CallType = (typeof callTypes)[number];
type Message = JsonObject & { type: CallType };
type Event = { at: number; step: Step };

type RecordedSteps = {
  steps: Step[];
  /** The messages that the steps send. */
  sent: MessageDetailsAnswer[];
  /** When the last of these things was done. */
  lastAt: number;
};

export function stepsOf(
  messages: readonly MessageDetailsAnswer[],
  setup: RecordedSetup,
  note: (sentence: string) => void,
): RecordedSteps {
  const sendable = messages.filter((message) => {
    const why = whyNot(message, setup);
    if (why !== null) note(why);
    return why === null;
  });
  const requests = [...Map.groupBy(sendable, requestOf).values()];
  const events: Event[] = [
    ...requests.map((request) => sending(request, setup)),
    ...manualSteps(recordedDeliveries(sendable), setup),
  ];
  const steps: Step[] = [];
  const startedAt = Date.parse(sendable[0]?.receivedAt ?? new Date(0).toISOString());
  let now = startedAt;
  for (const { at, step } of events.toSorted((one, other) => one.at - other.at)) {
    if (at > now) steps.push({ advance: formatDuration(at - now) });
    now = Math.max(now, at);
    steps.push(step);
  }
  return { steps, sent: sendable, lastAt: now };
}

function whyNot(message: MessageDetailsAnswer, { source }: RecordedSetup): string | null {
  if (source(message.sourceId) === undefined)
    return "Messages of audiences, computed traits and deleted sources are left out.";
  if (message.type === "delete") return "Delete messages are left out: a delete step creates them.";
  if (message.reason === "suppressed") return "Messages of suppressed users are left out.";
  return messageOf(message) === null ? "Items that are not messages are left out." : null;
}

/** What is sent: the message as received, and the id that it got. */
function messageOf({ raw, type, messageId }: MessageDetailsAnswer): Message | null {
  const value = receivedJson(raw);
  if (!isObject(value)) return null;
  const { writeKey: _, type: own, ...members } = value;
  // The path of a single call says its type, whatever the body says.
  const known = callTypes.find((one) => one === type) ?? callTypes.find((one) => one === own);
  return known === undefined
    ? null
    : { type: known, ...members, ...(messageId === "" ? {} : { messageId }) };
}

export function receivedJson(raw: MessageDetailsAnswer["raw"]): Json {
  if (typeof raw !== "string") return null;
  try {
    // 1e400 is delivered as null, and a scenario can have no such number.
    return JSON.parse(raw, (_, value: Json) =>
      value === Infinity || value === -Infinity ? null : value,
    ) as Json;
  } catch {
    return null;
  }
}

/** Messages of one batch were received at one time in one request. */
export function requestOf({
  id,
  receivedAt,
  sourceId,
  request: { messages, path, size },
}: MessageDetailsAnswer): string {
  return messages === 1 ? id : [receivedAt, sourceId, path, size].join(" ");
}

export const isOfBatch = ({ request }: MessageDetailsAnswer): boolean =>
  /\/(batch|import|b)\/*(\?|$)/.test(request.path);

function sending(request: readonly MessageDetailsAnswer[], setup: RecordedSetup): Event {
  const [first] = request;
  if (first === undefined) throw new Error("a request without messages");
  const messages = request.flatMap((message) => messageOf(message) ?? []);
  const isBatch = isOfBatch(first);
  const rejected = request.filter(({ state }) => state === "rejected").length;
  const explained = setup.isExplaining(first.sourceId) ? rejected : 0;
  const sent = isBatch || messages.length > 1 ? messages : (messages[0] ?? []);
  const isPosted = messages.some((message) => misspelledMembers(message).length > 0);
  const step: Step = {
    ...(isPosted ? posted(sent) : { send: sent }),
    ...(Object.keys(setup.file.sources ?? {}).length > 1
      ? { from: setup.source(first.sourceId) }
      : {}),
    ...(explained === 0 || (isPosted && isBatch)
      ? {}
      : isBatch
        ? { rejected: explained }
        : { answers: 400 }),
  };
  return { at: Date.parse(first.receivedAt), step };
}

/** A send step refuses other spellings of its members. */
function posted(sent: Message | Message[]): { post: string; call?: CallType } {
  if (Array.isArray(sent)) return { post: JSON.stringify({ batch: sent }) };
  const { type, ...members } = sent;
  return { post: JSON.stringify(members), call: type };
}

type RecordedDelivery = {
  messageIds: [string, ...string[]];
  delivery: DeliveryDetailsAnswer;
};

/** Each message of a batch shows the same delivery. */
export function recordedDeliveries(messages: readonly MessageDetailsAnswer[]): RecordedDelivery[] {
  const found = new Map<string, RecordedDelivery>();
  for (const { messageId, deliveries } of messages) {
    for (const delivery of deliveries) {
      const known = found.get(delivery.id);
      if (known === undefined) found.set(delivery.id, { messageIds: [messageId], delivery });
      else known.messageIds.push(messageId);
    }
  }
  return [...found.values()];
}

/** Deliveries that a user cancelled, or retried before their due time. */
function manualSteps(
  recorded: readonly RecordedDelivery[],
  { destination }: RecordedSetup,
): Event[] {
  const ofOne = Map.groupBy(
    recorded.flatMap(({ messageIds, delivery: { destinationId } }) =>
      messageIds.map((messageId) => JSON.stringify([messageId, destinationId])),
    ),
    (key) => key,
  );
  // With its own jitter, the delivery may be over by then, or being sent.
  const ifPossible = true;
  return recorded.flatMap(({ messageIds: [messageId], delivery }) => {
    const name = destination(delivery.destinationId);
    if (name === undefined) return [];
    const key = JSON.stringify([messageId, delivery.destinationId]);
    const isOneOfSeveral = (ofOne.get(key)?.length ?? 0) > 1;
    return delivery.transitions.flatMap(({ at, reason }, place): Event[] => {
      const before = delivery.transitions[place - 1]?.state;
      const of = {
        messageId,
        destination: name,
        ...(isOneOfSeveral && before !== undefined ? { state: before } : {}),
      };
      if (reason === "cancelled") return [{ at: Date.parse(at), step: { cancel: of, ifPossible } }];
      if (reason === "retry_now") return [{ at: Date.parse(at), step: { retry: of, ifPossible } }];
      return [];
    });
  });
}
