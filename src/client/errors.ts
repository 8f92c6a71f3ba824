/** Everything that the client throws or hands to `onError`. */

import type { CallType } from "./calls.ts";

export type ErrorCode = "invalid_call" | "invalid_option" | "call_too_large" | "queue_full" | "closed" | "not_sent";

export class AnalyticsError extends Error {
  override name = "AnalyticsError";
  readonly code: ErrorCode;
  /** The member of the call, or the option, that is wrong. */
  readonly field: string | null;

  constructor(code: ErrorCode, message: string, field: string | null = null, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.code = code;
    this.field = field;
  }
}

/** A message as it would have gone over the wire: the members of its call, and `type`, `messageId` and `timestamp`. */
export type UnsentMessage = { type: CallType; messageId: string } & Record<string, unknown>;

/** A batch that was given up. A message of it is queued again by `const { type, ...call } = message; analytics.call(type, call)`. */
export class NotSentError extends AnalyticsError {
  override name = "NotSentError";
  readonly messages: UnsentMessage[];
  readonly batchId: string;
  readonly tries: number;
  /** Of the last answer; null when none came. */
  readonly status: number | null;

  constructor(details: {
    message: string;
    messages: UnsentMessage[];
    batchId: string;
    tries: number;
    status: number | null;
    cause: unknown;
  }) {
    super("not_sent", details.message, null, details.cause);
    this.messages = details.messages;
    this.batchId = details.batchId;
    this.tries = details.tries;
    this.status = details.status;
  }
}
