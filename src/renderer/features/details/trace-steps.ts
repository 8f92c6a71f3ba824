/** The path that a message took, as steps with their sentences. Pure. */

import type { AnswerOf } from "../../../contract/contract.ts";
import { keyName, linesInside } from "../../kit/json-tokens.ts";
import { count, some } from "../../kit/words.ts";
import type { Json, PayloadChanges } from "./payload-changes.ts";
import { deliveryName } from "./state-words.ts";

type Message = AnswerOf<"messages.get">;
type Delivery = Message["deliveries"][number];

export type TraceStep = {
  id: string;
  glyph:
    | "received"
    | "checked"
    | "rejected"
    | "duplicate"
    | "filtered"
    | "routed"
    | "not-routed"
    | "warning"
    | Delivery["state"];
  name: "received" | "checked" | "warning" | "decision" | "delivery";
  isBranch: boolean;
  /** A name from outside, before the sentence. */
  strong: string | null;
  /** For machines, in mono. */
  code: string | null;
  text: string;
  /** Milliseconds since it was received; null when the record does not say. */
  sinceMs: number | null;
  /** Said in full when the pointer rests on it. */
  title: string | null;
};

export type TraceFacts = {
  message: Message;
  /** Names of destinations, by id. */
  names: ReadonlyMap<string, string>;
  library: string | null;
  /** The changes between the message and its payload, when there is one. */
  filled: string | null;
};

const step = (
  fields: Partial<TraceStep> & Pick<TraceStep, "id" | "glyph" | "name" | "text">,
): TraceStep => ({
  isBranch: false,
  strong: null,
  code: null,
  sinceMs: null,
  title: null,
  ...fields,
});

export function traceSteps({ message, names, library, filled }: TraceFacts): TraceStep[] {
  const { request, decisions, deliveries } = message;
  const nameOf = (id: string): string => names.get(id) ?? "a deleted destination";
  const of = [
    request.messages > 1 ? `one of ${count(request.messages)} messages` : "",
    library ?? "",
  ].filter((part) => part !== "");
  return [
    step({
      id: "received",
      glyph: "received",
      name: "received",
      code: `${request.method} ${request.path}`,
      text: of.join(", "),
      sinceMs: 0,
      title: `${request.method} ${request.path}, ${some(request.size, "byte")}`,
    }),
    checked(message, filled),
    ...message.warnings.map(warningStep),
    ...decisions.map(({ destinationId, routed, reason, detail, filtered, mappings = [] }) =>
      step({
        id: `decision ${destinationId}`,
        glyph: routed ? "routed" : "not-routed",
        name: "decision",
        isBranch: true,
        strong: nameOf(destinationId),
        code: reason,
        text: [
          ...(filtered === undefined
            ? []
            : [`filtered by ${filtered.filters.map(({ name }) => name).join(", ")}`]),
          // Without any delivery, the details of all decisions stand below.
          ...(deliveries.length > 0 ? mappings : [])
            .filter((mapping) => mapping.reason !== reason || reason === "payload_error")
            .map(
              (mapping) =>
                `${mapping.name}: ${mapping.reason}${mapping.reason === "payload_error" ? ` (${mapping.detail})` : ""}`,
            ),
        ].join(", "),
        title: detail,
      }),
    ),
    // They are about the message's integrations, so each decision has the same.
    ...[...new Set(decisions.flatMap(({ warnings }) => warnings))].map(warningStep),
    ...deliveries.flatMap((delivery) =>
      deliverySteps(delivery, deliveryName(delivery, names), message),
    ),
  ];
}

const warningStep = (text: string): TraceStep =>
  step({ id: `warning ${text}`, glyph: "warning", name: "warning", isBranch: true, text });

function checked(
  { state, reason, decisions, detail, duplicateOf, replayOf }: Message,
  filled: string | null,
): TraceStep {
  if (state === "rejected")
    return step({
      id: "checked",
      glyph: "rejected",
      name: "checked",
      code: reason,
      text: "rejected",
      title: detail,
    });
  if (state === "duplicate")
    return step({
      id: "checked",
      glyph: "duplicate",
      name: "checked",
      text: `a duplicate of ${duplicateOf ?? "a deleted message"}`,
    });
  const parts = [
    "accepted",
    replayOf === null ? "" : `a replay of ${replayOf}`,
    filled ?? "",
  ].filter((part) => part !== "");
  const none = decisions.length === 0 ? ["no destination is connected to its source"] : [];
  return step({
    id: "checked",
    glyph: "checked",
    name: "checked",
    text: [...parts, ...none].join(", "),
  });
}

function deliverySteps(delivery: Delivery, name: string, { receivedAt }: Message): TraceStep[] {
  const { id, state, attempts, createdAt } = delivery;
  const rounds = new Set(attempts.map(({ round }) => round));
  const webhooks = new Set(attempts.map(({ webhookId }) => webhookId));
  const isSigned = attempts.some(({ request }) =>
    request.headers.some(([header]) => header.toLowerCase() === "x-signature"),
  );
  const words = [
    many(rounds.size, "round"),
    `${many(attempts.length, "attempt")}${webhooks.size > 1 ? ` at ${webhooks.size} webhooks` : ""}`,
    ...(attempts.some(({ request }) => request.sent) ? [isSigned ? "signed" : "not signed"] : []),
  ];
  const since = (at: string): number => Date.parse(at) - Date.parse(receivedAt);
  return [
    step({
      id,
      glyph: state,
      name: "delivery",
      strong: name,
      text: attempts.length === 0 ? `, ${state}, no attempt yet` : `, ${words.join(", ")}`,
      sinceMs: since(createdAt),
      title: `${name}: ${state}`,
    }),
  ];
}

const many = (n: number, word: string): string => `${count(n)} ${word}${n === 1 ? "" : "s"}`;

/**
 * What the request gave to a message that did not say it itself. The members of what a mapping
 * sends say nothing about that.
 */
export function filledWords(
  { webhookId }: Pick<Delivery, "webhookId">,
  payload: Json,
  { marks }: PayloadChanges,
): string | null {
  if (webhookId !== undefined) return null;
  const filled: string[] = [];
  for (const member of linesInside(payload.lines, 0)) {
    const line = payload.lines[member];
    if (line?.key === null || line === undefined) continue;
    const name = keyName(payload.text, line.key);
    const isAdded = marks.get(line.value.start)?.kind === "added";
    if (isAdded && (name === "messageId" || name === "timestamp")) filled.push(name);
    if (name !== "context") continue;
    for (const inner of linesInside(payload.lines, member)) {
      const part = payload.lines[inner];
      if (part?.key && marks.get(part.value.start)?.kind === "added")
        filled.push(`context.${keyName(payload.text, part.key)}`);
    }
  }
  if (filled.length === 0) return null;
  return filled.length > 3 ? `${filled.length} fields filled in` : `${filled.join(", ")} filled in`;
}

/** The library as the payload names it, `analytics-go 2.1.0`. */
export function libraryWords(payload: string): string | null {
  try {
    const { context } = JSON.parse(payload) as {
      context?: { library?: { name?: unknown; version?: unknown } };
    };
    const { name, version } = context?.library ?? {};
    if (typeof name !== "string") return null;
    return typeof version === "string" ? `${name} ${version}`.trim() : name;
  } catch {
    return null;
  }
}
