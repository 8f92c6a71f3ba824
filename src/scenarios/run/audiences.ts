/** Who is in the audiences of a scenario, by the values that were sent to receivers. */

import type { MessageDetailsAnswer } from "../../contract/messages.ts";
import { isObject, type Json } from "../../domain/json.ts";
import type { ScenarioPipeline } from "./pipeline.ts";

/**
 * One change of an audience, read from the message that sent it. A deleted user is gone without a
 * message. While the clock is paused, the messages give the order.
 */
type Notice = { at: number; ordinal: number; userId: string; change: "in" | "out" | "gone" };

/** What tells of an audience in a message. */
type Telling = {
  ordinal: number;
  at: number;
  source: string;
  details: Pick<MessageDetailsAnswer, "id" | "userId" | "raw">;
};

export type AudienceName = { name: string; key: string; createdAt: string };

export type SeenAudience = {
  /** When it was created. */
  at: number;
  name: string;
  notices: Notice[];
  messages: Telling[];
};

export async function readAudiences(
  pipeline: ScenarioPipeline,
  audiences: readonly AudienceName[],
  messages: readonly Telling[],
): Promise<SeenAudience[]> {
  if (audiences.length === 0) return [];
  const gone = await readDeletions(pipeline, messages);
  return audiences.map(({ name, key, createdAt }) => {
    const own = messages.filter((message) => message.source === name);
    const sent = own.flatMap((message): Notice[] => {
      const { userId } = message.details;
      const value = valueOf(message, key);
      return userId === null || typeof value !== "boolean"
        ? []
        : [{ at: message.at, ordinal: message.ordinal, userId, change: value ? "in" : "out" }];
    });
    const inOrder = [...sent, ...gone].toSorted(
      (one, other) => one.at - other.at || one.ordinal - other.ordinal,
    );
    return { at: Date.parse(createdAt), name, notices: changesOf(inOrder), messages: own };
  });
}

/** A value is sent to each address of a user, and again to a destination that is connected later. */
function changesOf(notices: readonly Notice[]): Notice[] {
  const last = new Map<string, Notice["change"]>();
  return notices.filter(({ userId, change }) => {
    const isNew = last.get(userId) !== change;
    last.set(userId, change);
    return isNew;
  });
}

/** A page of the newest. */
const maxDeletions = 1000;

async function readDeletions(
  pipeline: ScenarioPipeline,
  messages: readonly Telling[],
): Promise<Notice[]> {
  const { items } = await pipeline.call("deletions.list", { limit: maxDeletions });
  const ordinals = new Map(messages.map(({ ordinal, details }) => [details.id, ordinal]));
  return items.flatMap(({ requestedAt, users }) =>
    users.map(({ userId, messageIds }): Notice => {
      // Without a message its order within one clock time is unknown. It counts as the last.
      const ordinal =
        messageIds.length === 0
          ? Number.MAX_SAFE_INTEGER
          : Math.max(...messageIds.map((id) => ordinals.get(id) ?? 0));
      return { at: Date.parse(requestedAt), ordinal, userId, change: "gone" };
    }),
  );
}

/** Of an identify or a track. */
function valueOf({ details: { raw } }: Telling, key: string): Json | undefined {
  const message = typeof raw === "string" ? (JSON.parse(raw) as Json) : null;
  if (!isObject(message)) return undefined;
  const values = message["type"] === "track" ? message["properties"] : message["traits"];
  return isObject(values) ? values[key] : undefined;
}

export function audienceAsOf(audience: SeenAudience, moment: number): SeenAudience {
  return {
    ...audience,
    notices: audience.notices.filter(({ at }) => at <= moment),
    messages: audience.messages.filter(({ at }) => at <= moment),
  };
}

export function membersOf({ notices }: SeenAudience): Set<string> {
  const members = new Set<string>();
  for (const { userId, change } of notices) {
    if (change === "in") members.add(userId);
    else members.delete(userId);
  }
  return members;
}
