/**
 * A refusal of the API, or no answer at all (`code` is then `no_connection`). The message is a
 * sentence for the user.
 */
export class CallError extends Error {
  readonly status: number;
  readonly code: string;
  readonly data: unknown;

  constructor({
    status,
    code,
    message,
    data,
  }: {
    status: number;
    code: string;
    message: string;
    data?: unknown;
  }) {
    super(message);
    this.name = "CallError";
    this.status = status;
    this.code = code;
    this.data = data;
  }
}

export const noConnection = (): CallError =>
  new CallError({
    status: 0,
    code: "no_connection",
    message:
      "Hookyard does not respond. It may have been stopped; this page updates when it is back.",
  });

/** The frame says what to do. */
export const lacksToken = (error: Error | null): boolean =>
  error instanceof CallError && error.code === "unauthorized";

export const isNoConnection = (error: Error | null): boolean =>
  error instanceof CallError && error.code === "no_connection";
