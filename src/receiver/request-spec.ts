/** What a request to somebody's receiver says, how it is signed, and how its connection behaves. */

/** How the `X-Signature` header is made; all but `valid` and `restringified` must be refused. */
export const signatures = [
  "valid",
  "missing",
  "empty",
  "other-secret",
  "no-secret",
  "last-digit",
  "of-other-body",
  "truncated",
  "first-half",
  "restringified",
] as const;
export type SignatureManner = (typeof signatures)[number];

/** When the sender leaves without an answer, or without reading it. */
export const hangUps = [
  "when-sent",
  "when-sent-reset",
  "while-working",
  "at-first-byte",
  "without-reading",
] as const;
export type HangUpManner = (typeof hangUps)[number];

/** What the answers have to be. */
export const wantedAnswers = ["2xx", "one 2xx", "refused", "no crash"] as const;
export type WantedAnswers = (typeof wantedAnswers)[number];

export type RequestSpec = {
  method?: string | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  body: string;
  /** Left out: no signature. */
  signature?: SignatureManner | undefined;
  /** The body whose signature `of-other-body` takes. */
  otherBody?: string | undefined;
  /** In small pieces. */
  slow?: boolean | undefined;
  hangUp?: HangUpManner | undefined;
  /** How long the receiver gets before a hang-up `while-working` or `without-reading`. */
  waitMs?: number | undefined;
  /**
   * `kept`: on one that has carried requests, when the receiver keeps it. `close`: on a new one,
   * which the request asks to close.
   */
  connection?: "kept" | "close" | undefined;
  /**
   * So many of the same request, on connections that are open before the first byte is sent. In the
   * body, `{{copy}}` is the number of each.
   */
  copies?: number | undefined;
  /**
   * Sent again so many times in all while it is answered 5xx, 408 or 429, or not at all: see
   * `deliverRequest`.
   */
  tries?: number | undefined;
  /** Between the copies; at the same time when left out. */
  apartMs?: number | undefined;
};
