/** Messages as files: one record a line, or the HTTP requests of their attempts. */

import type { AnswerOf } from "../../../contract/contract.ts";
import { ingestHeadersWithoutCredentials } from "../../../domain/credentials.ts";
import { attemptWithoutCredentials, harOfAttempts } from "../details/copy-as.ts";

export type ExportKind = "ndjson" | "har";
type Message = AnswerOf<"messages.get">;

/** Each line is a message as `GET /api/messages/{id}` answers it, without credentials: what came, what was decided, what was sent and answered. */
export function ndjsonOf(messages: readonly Message[]): string {
  return messages.map((message) => `${JSON.stringify(withoutCredentials(message))}\n`).join("");
}

/** Files are handed on to others. */
function withoutCredentials(message: Message): Message {
  const headers = ingestHeadersWithoutCredentials(message.request.headers);
  const deliveries = message.deliveries.map((delivery) => ({ ...delivery, attempts: delivery.attempts.map(attemptWithoutCredentials) }));
  return { ...message, request: { ...message.request, headers }, deliveries };
}

/** The attempts of all of them, in the order in which they were made. */
export function harOf(messages: readonly Message[], version: string): string {
  const attempts = messages.flatMap(({ deliveries }) => deliveries.flatMap((delivery) => delivery.attempts));
  attempts.sort((a, b) => (a.startedAt < b.startedAt ? -1 : a.startedAt > b.startedAt ? 1 : a.id < b.id ? -1 : 1));
  return harOfAttempts(attempts, version);
}

/** `hookyard-2026-11-21T16-47-32.har`: no character that a file system refuses. */
export function fileNameOf(kind: ExportKind, at: string): string {
  return `hookyard-${at.slice(0, 19).replaceAll(":", "-")}.${kind}`;
}
