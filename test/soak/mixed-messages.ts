/**
 * What the soak sends: every type, some that are rejected, some that go nowhere, some that have
 * come before.
 */

import { randomUUID } from "node:crypto";
import { makeMessage, pick, type BenchMessage, type Random } from "../bench/messages.ts";

/**
 * `garbage` is no message at all; it, `rejected` and `duplicate` are recorded and go no further.
 */
export type Kind = "routed" | "unrouted" | "rejected" | "garbage" | "duplicate";

export type Mixed = { kind: Kind; messageId: string; message: unknown };

/**
 * Ids that were answered for, to send again: old enough to be committed, young enough to be watched
 * for duplicates.
 */
const mostKnown = 500;

export function createMixer(random: Random): {
  next(): Mixed;
  accepted(messageId: string, message: unknown): void;
} {
  const known: { messageId: string; message: unknown }[] = [];
  return {
    next() {
      const draw = random();
      if (draw < 0.02 && known.length > 0) return { kind: "duplicate", ...pick(random, known) };
      const message = ofAnyType(random);
      const { messageId } = message;
      if (draw < 0.03)
        return {
          kind: "rejected",
          messageId,
          message: { ...message, type: "track", event: undefined },
        };
      if (draw < 0.035)
        return {
          kind: "rejected",
          messageId,
          message: { ...message, type: "identify", userId: 12, traits: {} },
        };
      if (draw < 0.04)
        return {
          kind: "garbage",
          messageId: "",
          message: pick(random, [null, 17, "text", ["list"]]),
        };
      if (draw < 0.08)
        return {
          kind: "unrouted",
          messageId,
          message: { ...message, integrations: { All: false } },
        };
      return { kind: "routed", messageId, message };
    },
    accepted(messageId, message) {
      known.push({ messageId, message });
      if (known.length > mostKnown) known.shift();
    },
  };
}

function ofAnyType(random: Random): BenchMessage {
  const message = makeMessage(random);
  const draw = random();
  if (draw < 0.03) return Object.assign(message, { type: "screen", name: "Home" });
  if (draw < 0.045)
    return Object.assign(message, {
      type: "group",
      groupId: `group-${Math.floor(random() * 500)}`,
    });
  if (draw < 0.05) return Object.assign(message, { type: "alias", previousId: randomUUID() });
  return message;
}
