/** Whether a thing is one of those that `of` chooses. */

import type { SeenMessage } from "../run/history.ts";

type OneOrSeveral<Value> = Value | readonly Value[] | undefined;

export function isOneOf<Value>(wanted: OneOrSeveral<Value>, value: Value | null): boolean {
  if (wanted === undefined) return true;
  return value !== null && (Array.isArray(wanted) ? wanted.includes(value) : wanted === value);
}

type MessageChoice = {
  source?: OneOrSeveral<string>;
  type?: OneOrSeveral<string>;
  event?: OneOrSeveral<string>;
  userId?: OneOrSeveral<string>;
  messageId?: OneOrSeveral<string>;
};

/** `userId` is known or anonymous. */
export function choosesMessage(of: MessageChoice | undefined, { source, details }: SeenMessage): boolean {
  if (of === undefined) return true;
  const { type, event, userId, anonymousId, messageId } = details;
  return (
    isOneOf(of.source, source) &&
    isOneOf(of.type, type) &&
    isOneOf(of.event, event) &&
    (isOneOf(of.userId, userId) || isOneOf(of.userId, anonymousId)) &&
    isOneOf(of.messageId, messageId)
  );
}

/** `track Order Completed · u_4 · message-4` */
export function messageLabel({ details, ordinal }: SeenMessage): string {
  const { type, event, userId, anonymousId, messageId } = details;
  const what = [type ?? "message", ...(event === null ? [] : [event])].join(" ");
  return [what, userId ?? anonymousId ?? "nobody", messageId === "" ? `#${ordinal}` : messageId].join(" · ");
}
