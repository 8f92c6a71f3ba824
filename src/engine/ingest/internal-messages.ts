/**
 * Messages that Hookyard creates itself: the identify calls of audiences and computed traits, and
 * the delete calls of deletion requests. They are created without HTTP; after that they are
 * messages like any other: committed as a request, routed, queued. The caller opens the
 * transaction, so that the messages and their reason are one commit.
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
import type { CommittedMessage, IncomingRequest, IngestStore, NewMessage } from "../ports.ts";
import type { ProfileStore } from "../profile-ports.ts";
import { route } from "../route/route.ts";
import { wallClockNow } from "../real-time.ts";

export type InternalMessage =
  | { type: "delete"; userId: string }
  | { type: "identify"; userId: string; traits: JsonObject; context: JsonObject };

export type InternalMessages = {
  /** Returns a list for each source, in the order of its messages. */
  commit(
    batches: readonly { source: Source; messages: readonly InternalMessage[] }[],
  ): CommittedMessage[][];
};

type InternalMessagesOptions = {
  store: Pick<IngestStore, "commit"> & Pick<ProfileStore, "followed" | "markFollowed">;
  configuration: Pick<Configuration, "destinations">;
  clock: Clock;
  onCommitted: (messages: CommittedMessage[]) => void;
};

export function createInternalMessages({
  store,
  configuration,
  clock,
  onCommitted,
}: InternalMessagesOptions): InternalMessages {
  return {
    commit(batches) {
      const requests = batches.map(({ source, messages }) =>
        requestOf({
          source,
          messages,
          destinations: configuration.destinations(),
          now: clock.now(),
          wallAt: wallClockNow(),
        }),
      );
      const { upTo, newest: last } = store.followed();
      const committed = store.commit(requests);
      // Profiles ignore these messages. Profiles that were up to date stay so, and nothing has to
      // wait for them.
      if (upTo >= last) store.markFollowed(store.followed().newest);
      onCommitted(committed.flat());
      return committed;
    },
  };
}

/** The payload that receivers would get if it were sent now. */
export function internalPayload(own: InternalMessage, now: number): Uint8Array {
  return Buffer.from(makePayload(checkedMessage(own, now), "documented", now));
}

type Own = {
  source: Source;
  messages: readonly InternalMessage[];
  destinations: readonly Destination[];
  now: number;
  wallAt: number;
};

const before = '{"batch":[';

function requestOf({ source, messages, destinations, now, wallAt }: Own): IncomingRequest {
  let offset = before.length;
  const texts: string[] = [];
  const accepted = messages.map((own): NewMessage => {
    const checked = checkedMessage(own, now);
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
      route: () => route({ message: checked, source, receivedAt: now, destinations }),
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
    messages: accepted,
  };
}

/** The message as the check at ingest would return it. */
function checkedMessage(own: InternalMessage, now: number): CheckedMessage & { messageId: string } {
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
    members: {
      type,
      messageId,
      userId,
      timestamp,
      ...(type === "identify" ? { traits: own.traits, context } : {}),
    },
    context,
    integrations: {},
    warnings: [],
  };
}
