/** What the client throws; `outbox.ts` has what it hands to `onError`. */

export type ErrorCode =
  | "invalid_call"
  | "invalid_option"
  | "call_too_large"
  | "queue_full"
  | "closed"
  | "not_sent";

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
