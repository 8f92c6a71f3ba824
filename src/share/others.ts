/** Leaves out of a message what a path names in others. */

import type { AnswerOf } from "../contract/contract.ts";
import type { CauseReason } from "../domain/states.ts";
import { nextTurn } from "../engine/real-time.ts";
import type { Text } from "./text-removal.ts";
import type { Cleaner } from "./without-secrets.ts";

/** So many messages are read before others have their turn: a few milliseconds of work. */
export const perTurn = 10;

/**
 * What a message tells of others: the sentence of its cause of one, and each batch that a mapping
 * sent of all that are in it.
 */
export function createOthers(clean: Cleaner, rawOf: (id: string) => Promise<unknown>) {
  async function ofAll(messages: readonly string[]): Promise<Text> {
    const { read, text } = clean.ofOthers();
    for (const [place, id] of messages.entries()) {
      read(await rawOf(id));
      if (place % perTurn === perTurn - 1) await nextTurn();
    }
    return text;
  }
  const ofBatches = new Map<string, Text>();
  async function ofBatch(id: string, messages: readonly string[]): Promise<Text> {
    const text = ofBatches.get(id) ?? (await ofAll(messages));
    ofBatches.set(id, text);
    return text;
  }
  return async ({ cause, deliveries }: AnswerOf<"messages.get">): Promise<Text[]> => {
    const others: Text[] = [];
    if (cause !== null && tellsOfOthers.has(cause.reason)) {
      const raw = cause.messageId === null ? undefined : await rawOf(cause.messageId);
      const { read, text } = clean.ofOthers();
      read(raw);
      others.push(text);
      cause.sentence = withoutUncited(cause.sentence, raw !== undefined);
    }
    for (const { id, messages } of deliveries)
      if (messages !== undefined) others.push(await ofBatch(id, messages));
    return others;
  };
}

const tellsOfOthers: ReadonlySet<CauseReason> = new Set([
  "sync",
  "event",
  "time",
  "rule_changed",
  "new_identifier",
  "users_joined",
]);

/**
 * A cause cites one message, and its sentence may name values of several: all facts are cut off
 * unless there is one, of the message that was read.
 */
function withoutUncited(sentence: string, isRead: boolean): string {
  // A value that was cut has no closing quote.
  const plain = sentence.replaceAll(/"(?:[^"\\…]|\\.)*"/g, (text) => "_".repeat(text.length));
  const end = plain.search(/: |, and |…/);
  const isOne = isRead && plain[end] === ":" && !/ and | with |…(?!\.$)/.test(plain.slice(end));
  return end === -1 || isOne ? sentence : `${sentence.slice(0, end)}.`;
}
