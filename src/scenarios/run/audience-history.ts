/** What receivers were told of audiences, taken from the messages that told them: so it can be seen as of any moment. */

import { isObject, type Json } from "../../domain/json.ts";
import type { SeenMessage } from "./history.ts";
import type { ScenarioPipeline } from "./pipeline.ts";

/** In or out; gone without a word when the user was deleted. While the clock stands, the order of the messages is that of what happened. */
type Told = { at: number; ordinal: number; userId: string; change: "in" | "out" | "gone" };

export type SeenAudience = { name: string; told: Told[]; messages: SeenMessage[] };

const pageSize = 1000;

export async function readAudiences(
  pipeline: ScenarioPipeline,
  audiences: readonly { name: string; key: string }[],
  messages: readonly SeenMessage[],
): Promise<SeenAudience[]> {
  if (audiences.length === 0) return [];
  const gone = await readDeletions(pipeline, messages);
  return audiences.map(({ name, key }) => {
    const own = messages.filter((message) => message.source === name);
    const told = own.flatMap((message): Told[] => {
      const { userId } = message.details;
      const value = traitOf(message, key);
      return userId === null || typeof value !== "boolean"
        ? []
        : [{ at: message.at, ordinal: message.ordinal, userId, change: value ? "in" : "out" }];
    });
    return { name, told: [...told, ...gone].toSorted((one, other) => one.at - other.at || one.ordinal - other.ordinal), messages: own };
  });
}

async function readDeletions(pipeline: ScenarioPipeline, messages: readonly SeenMessage[]): Promise<Told[]> {
  const { items } = await pipeline.call("deletions.list", { limit: pageSize });
  const ordinals = new Map(messages.map(({ ordinal, details }) => [details.id, ordinal]));
  return items.flatMap(({ requestedAt, users }) =>
    users.map(({ userId, messageIds }): Told => {
      // Without a message nothing says when it was while the clock stood: after all that is known of then.
      const ordinal = messageIds.length === 0 ? Number.MAX_SAFE_INTEGER : Math.max(...messageIds.map((id) => ordinals.get(id) ?? 0));
      return { at: Date.parse(requestedAt), ordinal, userId, change: "gone" };
    }),
  );
}

function traitOf({ details: { raw } }: SeenMessage, key: string): Json | undefined {
  const message = typeof raw === "string" ? (JSON.parse(raw) as Json) : null;
  const traits = isObject(message) ? message["traits"] : undefined;
  return isObject(traits) ? traits[key] : undefined;
}

export function audienceAsOf(audience: SeenAudience, moment: number): SeenAudience {
  return {
    ...audience,
    told: audience.told.filter(({ at }) => at <= moment),
    messages: audience.messages.filter(({ at }) => at <= moment),
  };
}

export function membersOf({ told }: SeenAudience): Set<string> {
  const members = new Set<string>();
  for (const { userId, change } of told) {
    if (change === "in") members.add(userId);
    else members.delete(userId);
  }
  return members;
}
