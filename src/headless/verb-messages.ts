/**
 * Which messages a filter on the command line means, and messages as lines for a terminal. Names,
 * ids and bodies come from outside: what could move the cursor or colour the text is written as an
 * escape.
 */

import type { AnswerOf } from "../contract/contract.ts";
import { KnownValues, spacedKeys, type Asked as AskedValues } from "../domain/known-values.ts";
import {
  formatFilter,
  isEmpty,
  keyOf,
  parseFilter,
  problemOf,
  tokensOf,
  withValue,
  type ChipKey,
  type GoesOn,
} from "../domain/message-filter.ts";
import { inOneLine } from "../scenarios/file/in-one-line.ts";
import type { Connection } from "./connect.ts";
import { WrongInput } from "./verb-command.ts";

/** The words beside the flags and the flags, as one filter. */
export async function filterOf({
  hookyard,
  values,
  positionals,
}: {
  hookyard: Connection;
  values: { state?: string | undefined; user?: string | undefined; event?: string | undefined };
  positionals: readonly string[];
}): Promise<string> {
  const text = positionals.join(" ");
  let filter = parseFilter(text, await namesIn(text, positionals, hookyard));
  // A variable of a script that is empty would match every message.
  if (positionals.some((word) => word.trim() === "") || (positionals.length > 0 && isEmpty(filter)))
    throw new WrongInput("The filter has no value: it would match every message.");
  const add = (key: ChipKey, all: string | undefined, separator?: string): void => {
    if (all?.trim() === "") throw new WrongInput(`--${key} needs a value.`);
    for (const value of all === undefined ? [] : separator ? all.split(separator) : [all])
      filter = withValue(filter, key, value);
  };
  add("state", values.state, ",");
  add("user", values.user);
  add("event", values.event);
  const problem = problemOf(filter);
  if (problem !== null) throw new WrongInput(problem);
  return formatFilter(filter);
}

/**
 * Names with spaces need no quotes, as in the inspector: a name extends as far as a stored name
 * does. An operand such as `event:Order Completed`, of which the shell has removed the quotes, is
 * one name also when nothing has it yet, unless its first word is a name.
 */
async function namesIn(
  text: string,
  operands: readonly string[],
  hookyard: Connection,
): Promise<GoesOn> {
  let known = new KnownValues();
  const ask = async (asked: AskedValues): Promise<void> => {
    const { items } = await hookyard.call("messages.values", asked);
    known = known.with(asked, items);
  };
  for (let asked = known.undecided(text); asked !== null; asked = known.undecided(text))
    await ask(asked);
  const names: string[] = [];
  for (const operand of operands) {
    const [first, ...words] = tokensOf(operand);
    const key = first?.key ?? null;
    const [name = ""] = first?.values ?? [];
    if (key === null || !spacedKeys.has(keyOf(key)) || name === "") continue;
    if (words.length === 0 || words.some(({ key: other, unknown }) => (other ?? unknown) !== null))
      continue;
    const asked = { key: keyOf(key), text: name };
    await ask(asked);
    const isName = known.of(asked).items.some(({ value }) => isSame(value, name));
    if (!isName) names.push(operand.toLowerCase());
  }
  return (key, value) =>
    known.goesOn(key, value) ||
    (!value.includes(",") &&
      names.some((operand) => operand.startsWith(`${key}:${value.toLowerCase()}`)));
}

const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

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
