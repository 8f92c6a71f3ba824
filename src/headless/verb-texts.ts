/**
 * Messages as lines for a terminal. Names, ids and bodies come from outside: what could move the
 * cursor or colour the text is written as an escape.
 */

import type { AnswerOf } from "../contract/contract.ts";
import { inOneLine } from "../scenarios/file/members.ts";

type Details = AnswerOf<"messages.get">;
type Summary = Pick<
  Details,
  | "id"
  | "state"
  | "type"
  | "event"
  | "userId"
  | "anonymousId"
  | "receivedAt"
  | "reason"
  | "attempts"
>;

export function messageLine(message: Summary): string {
  const { id, state, receivedAt, reason, attempts } = message;
  const made = attempts === 0 ? "" : `  ${attempts} ${attempts === 1 ? "attempt" : "attempts"}`;
  const why = reason === null ? "" : `  ${inOneLine(reason)}`;
  return `${receivedAt}  ${id}  ${state.padEnd(9)}  ${nameOf(message)}${made}${why}`;
}

function nameOf({ type, event, userId, anonymousId }: Summary): string {
  const user = userId ?? anonymousId;
  const name = event === null ? "" : ` ${inOneLine(event)}`;
  return `${type ?? "unknown"}${name}${user === null ? "" : ` · ${inOneLine(user)}`}`;
}

const shownBody = 200;

export function detailsText(message: Details, names: ReadonlyMap<string, string>): string {
  const name = (id: string): string => inOneLine(names.get(id) ?? id);
  const lines = [messageLine(message), `  messageId  ${inOneLine(message.messageId)}`];
  if (message.detail !== null) lines.push(`  why        ${inOneLine(message.detail)}`);
  for (const warning of message.warnings) lines.push(`  warning    ${inOneLine(warning)}`);
  for (const { destinationId, routed, detail } of message.decisions)
    lines.push(
      `  ${routed ? "routed to " : "not sent to"} ${name(destinationId)}: ${plain(detail)}`,
    );
  for (const { id, destinationId, state, attempts, nextAttemptAt } of message.deliveries) {
    const next = nextAttemptAt === null ? "" : `, next round at ${nextAttemptAt}`;
    lines.push(`  ${id} → ${name(destinationId)}: ${state}${next}`);
    for (const { round, webhookUrl, startedAt, durationMs, outcome, error, response } of attempts) {
      const result = response === null ? outcome : String(response.status);
      lines.push(
        `    ${startedAt}  round ${round}  ${result}  ${Math.round(durationMs)} ms  ${inOneLine(webhookUrl)}`,
      );
      if (error !== null) lines.push(`      ${plain(error.message)}`);
      const body = response?.body;
      if (typeof body === "string" && body !== "" && outcome !== "success")
        lines.push(`      answered ${JSON.stringify(body.slice(0, shownBody))}`);
    }
  }
  return lines.join("\n");
}

/** Sentences of our own, which may name things from outside. */
const plain = (text: string): string =>
  text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, (character) => JSON.stringify(character).slice(1, -1));
