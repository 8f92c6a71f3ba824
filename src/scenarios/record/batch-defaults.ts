/** A send step has nothing beside its messages, so each of them has what its batch had for all. */

import type { AnswerOf } from "../../contract/contract.ts";
import type { MessageDetailsAnswer } from "../../contract/messages.ts";
import { isObject, type Json, type JsonObject } from "../../domain/json.ts";
import { nextTurn } from "../../engine/real-time.ts";
import type { ScenarioPipeline } from "../run/pipeline.ts";
import { isOfBatch, receivedJson, requestOf } from "./steps.ts";

type Defaults = AnswerOf<"messages.defaults">;

/** Null where that makes the messages longer than `most` bytes. */
export async function withBatchDefaults(
  own: ScenarioPipeline,
  messages: readonly MessageDetailsAnswer[],
  most: number,
): Promise<MessageDetailsAnswer[] | null> {
  let added = 0;
  const known = new Map<string, Defaults>();
  const merged: MessageDetailsAnswer[] = [];
  for (const message of messages) {
    const request = requestOf(message);
    let defaults = known.get(request);
    if (defaults === undefined) {
      await nextTurn();
      defaults = isOfBatch(message) ? await own.call("messages.defaults", { id: message.id }) : {};
      known.set(request, defaults);
    }
    const raw = withDefaults(message.raw, defaults);
    added += raw?.length ?? 0;
    if (added > most) return null;
    merged.push(raw === null ? message : { ...message, raw });
  }
  return merged;
}

/** As ingest merges them: what is nearer to the message wins. Null where nothing is added. */
function withDefaults(raw: MessageDetailsAnswer["raw"], defaults: Defaults): string | null {
  const value = receivedJson(raw);
  if (Object.keys(defaults).length === 0 || !isObject(value)) return null;
  const context = beneath(defaults.context, value["context"]);
  const inContext = isObject(context) ? context["integrations"] : undefined;
  const integrations =
    defaults.integrations === undefined
      ? value["integrations"]
      : beneath(beneath(defaults.integrations, inContext), value["integrations"]);
  return JSON.stringify({ ...value, context, integrations });
}

function beneath(defaults: unknown, own: Json | undefined): Json | undefined {
  if (!isObject(defaults as Json)) return own;
  const members = defaults as JsonObject;
  return isObject(own) ? { ...members, ...own } : members;
}
