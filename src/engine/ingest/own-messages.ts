/**
 * Messages that Hookyard makes itself: the identifies of audiences and computed traits, and the deletes of deletion
 * requests. They are made without HTTP, and from then on they are messages like any other: committed as a request,
 * routed, queued. Whoever asks for them holds the transaction, so that they and their reason are one commit.
 */

import { randomUUID } from "node:crypto";
import type { CheckedMessage } from "../../domain/check.ts";
import type { Destination, Source } from "../../domain/configuration.ts";
import type { JsonObject } from "../../domain/json.ts";
import { makePayload } from "../../domain/payload.ts";
import { formatTimestamp } from "../../domain/timestamp.ts";
import { traitWords } from "../../domain/trait-words.ts";
import type { Clock } from "../clock/clock.ts";
import type { Configuration } from "../pipeline.ts";
import type { CommittedMessage, IncomingRequest, IngestStore, TakenMessage } from "../ports.ts";
import type { ProfileStore } from "../profile-ports.ts";
import { route } from "../route/route.ts";
import { wallNow } from "../wall.ts";

export type OwnMessage = { type: "delete"; userId: string } | { type: "identify"; userId: string; traits: JsonObject; context: JsonObject };

export type OwnMessages = {
  /** Answers a list for each source, in the order of its messages. */
  commit(batches: readonly { source: Source; messages: readonly OwnMessage[] }[]): CommittedMessage[][];
};

type OwnMessagesOptions = {
  store: Pick<IngestStore, "commit"> & Pick<ProfileStore, "followed" | "markFollowed">;
  configuration: Pick<Configuration, "destinations">;
  clock: Clock;
  onCommitted: (messages: CommittedMessage[]) => void;
};

export function createOwnMessages({ store, configuration, clock, onCommitted }: OwnMessagesOptions): OwnMessages {
  return {
    commit(batches) {
      const requests = batches.map(({ source, messages }) =>
        takeInOwn({ source, messages, destinations: configuration.destinations(), now: clock.now(), wallAt: wallNow() }),
      );
      const { upTo, newest: last } = store.followed();
      const committed = store.commit(requests);
      // They are nothing to profiles: these are at the end still, if they were, and nobody has to wait until they have looked.
      if (upTo >= last) store.markFollowed(store.followed().newest);
      onCommitted(committed.flat());
      return committed;
    },
  };
}

/** What receivers would get if it were sent now. */
export function ownPayload(own: OwnMessage, now: number): Uint8Array {
  return Buffer.from(makePayload(ownMessage(own, now), "documented", now));
}

type Own = { source: Source; messages: readonly OwnMessage[]; destinations: readonly Destination[]; now: number; wallAt: number };

const before = '{"batch":[';

function takeInOwn({ source, messages, destinations, now, wallAt }: Own): IncomingRequest {
  let offset = before.length;
  const texts: string[] = [];
  const taken = messages.map((own): TakenMessage => {
    const checked = ownMessage(own, now);
    const text = JSON.stringify(checked.members);
    const size = Buffer.byteLength(text);
    const { type, messageId, userId, timestamp } = checked;
    texts.push(text);
    offset += size + 1;
    return {
      offset: offset - size - 1,
      size,
      messageId,
      type,
      userId,
      anonymousId: null,
      event: null,
      traits: own.type === "identify" ? traitWords(own.traits) : null,
      timestamp,
      warnings: [],
      rejection: null,
      deduplicate: false,
      replayOf: null,
      computed: true,
      route: () => route({ message: checked, sourceId: source.id, receivedAt: now, destinations }),
    };
  });
  return {
    sourceId: source.id,
    receivedAt: now,
    wallAt,
    method: "POST",
    path: "/v1/batch",
    ip: null,
    headers: [
      ["From", "Hookyard"],
      ["Content-Type", "application/json"],
    ],
    body: Buffer.from(`${before}${texts.join(",")}]}`),
    messages: taken,
  };
}

/** What ingest would have made of it. */
function ownMessage(own: OwnMessage, now: number): CheckedMessage & { messageId: string } {
  const messageId = randomUUID();
  const { type, userId } = own;
  const timestamp = formatTimestamp(now);
  const context = type === "identify" ? own.context : {};
  return {
    type,
    messageId,
    userId,
    anonymousId: null,
    event: null,
    timestamp: now,
    originalTimestamp: now,
    sentAt: null,
    members: { type, messageId, userId, timestamp, ...(type === "identify" ? { traits: own.traits, context } : {}) },
    context,
    integrations: {},
    warnings: [],
  };
}
