/**
 * One exchange: a request to a receiver and its response, or the failure with its code and a
 * sentence for the person who looks at the attempt. The sender starts it, a connection carries it.
 */

import { createHmac } from "node:crypto";
import { isNativeError } from "node:util/types";
import type { Phase, RecordedResponse } from "../ports.ts";
import type { Target } from "./dial.ts";

export type Exchange = {
  /**
   * Ends it now: destroys the socket. The outcome is `timeout`, or `connection_error` for
   * `stopped`.
   */
  abort(reason: EndOfExchange): void;
  /**
   * Gives it this much more real time until its deadline; without end for null, because a test
   * endpoint holds it.
   */
  limit(ms: number | null): void;
  /**
   * The receiver has the request; only a test endpoint can say so. If it ends the connection now,
   * that is its response.
   */
  markReached(): void;
};

/** The deadline has passed, or the process stops. */
export type EndOfExchange = { timeoutMs: number } | "stopped";

export type ExchangeResult = {
  outcome: "answered" | "timeout" | "connection_error" | "tls_error";
  /** The message is a sentence for the user. */
  error: { code: string; message: string } | null;
  /** Request line and headers exactly as sent (latin1); empty when no byte was written. */
  requestHead: string;
  /** Present once the head was complete, also when the exchange then failed. */
  response: RecordedResponse | null;
  /**
   * As the thread that sent it measured them, with milliseconds since the start; left out by one
   * that was sent in this thread.
   */
  durationMs?: number;
  phases?: Partial<Record<Phase, number>>;
  /** The thread that sent it has ended: nobody knows whether the receiver has the request. */
  isInterrupted?: true;
  /** It has waited for a connection in the other thread, and comes back without having been sent. */
  isUnsent?: true;
};

/** A header whose value is the signature of the body. */
type SignedHeader = [name: string, value: { secret: string }];

/**
 * Sent unchanged, in this order. The configuration refuses those that the sender writes itself.
 */
export type RequestHeaders = readonly ([name: string, value: string] | SignedHeader)[];

export type SendRequest = {
  /** `POST` when left out. */
  method?: string | undefined;
  url: string;
  /** What the sender makes of them is kept while the same array is used again. */
  headers: RequestHeaders;
  /** A text is sent as UTF-8. */
  body: Uint8Array | string;
  /** How much of the response's body is kept; 64 KB when left out. */
  keepBody?: number | undefined;
  /** Its deadline in real time; without one, the caller ends it. */
  timeoutMs?: number | undefined;
  /** Not called from another thread: its phases are in the result. */
  onPhase(phase: Phase): void;
  /**
   * Called with our end of the connection and the receiver's port, before the first byte of the
   * request is written.
   */
  onSocket(address: string, port: number, serverPort: number): void;
  /** Always called, exactly once, after `send` has returned. */
  onEnd(result: ExchangeResult): void;
};

/** The line and headers of requests that differ in their bodies. */
export type RequestHead = {
  /** Up to the signature, or all of it where nothing is signed. */
  opening: string;
  secret: string | null;
  /** From after the signature. */
  closing: string;
  /** A GET without a body has no length either: some servers refuse one that has. */
  isBodiless: boolean;
};

export function writeHead(
  { opening, secret, closing, isBodiless }: RequestHead,
  body: Uint8Array,
): string {
  const signature =
    secret === null ? "" : createHmac("sha1", secret).update(body).digest("hex") + closing;
  const length = isBodiless && body.length === 0 ? "" : `Content-Length: ${body.length}\r\n`;
  return `${opening}${signature}${length}Connection: keep-alive\r\n\r\n`;
}

/** Carries requests to their receivers over connections that it keeps. */
export type Carrier = {
  carry(target: Target, request: SendRequest, head: RequestHead): Exchange;
  close(): void;
};

/** How far a connection got. */
export type Stage = "lookup" | "connecting" | "securing" | "open";

export type Failure = {
  outcome: ExchangeResult["outcome"];
  error: { code: string; message: string };
};

export function connectionError(code: string, message: string): Failure {
  return { outcome: "connection_error", error: { code, message } };
}

/**
 * An error of the socket before the response was complete. `progress` says how much of it had
 * arrived.
 */
export function socketFailure(
  raised: unknown,
  target: Target,
  stage: Stage,
  progress: string,
): Failure {
  const error = mostSpecific(raised);
  const code = codeOf(error);
  if (isTlsFailure(code, stage))
    return { outcome: "tls_error", error: { code, message: tlsSentence(code, error, target) } };
  return connectionError(code, connectionSentence(code, error, target, stage, progress));
}

/** The receiver closed the connection before the response was complete. */
export function closedFailure(
  target: Target,
  stage: Stage,
  headComplete: boolean,
  progress: string,
): Failure {
  if (stage !== "open") return connectionError("closed_without_answer", handshakeEnded(target));
  return connectionError(
    headComplete ? "body_cut_short" : "closed_without_answer",
    `The receiver closed the connection ${progress}.`,
  );
}

/** No byte of a response arrived, on a connection that had carried requests before. */
export function keptConnectionFailure(): Failure {
  return connectionError(
    "kept_connection_closed",
    "The receiver closed the kept connection while the request was being sent, so it may not have seen this request. A receiver that ends idle connections early can announce it with Keep-Alive: timeout=N or Connection: close.",
  );
}

export function deadlineFailure(
  timeoutMs: number,
  target: Target,
  stage: Stage,
  progress: string,
): Failure {
  const where = {
    lookup: `while the address of ${target.host} was being looked up`,
    connecting: `while connecting to ${place(target)}`,
    securing: `during the TLS handshake with ${place(target)}`,
    open: progress,
  }[stage];
  return {
    outcome: "timeout",
    error: {
      code: "timeout",
      message: `No complete response within ${timeoutMs / 1000} s: timed out ${where}.`,
    },
  };
}

/**
 * Of the errors of several addresses, the first that is not a missing route. Node's errors are no
 * `instanceof Error` where jest has loaded this file: it gives tests other globals.
 */
function mostSpecific(raised: unknown): Error {
  if (!isNativeError(raised)) return new Error(String(raised));
  if (!("errors" in raised) || !Array.isArray(raised.errors)) return raised;
  const errors = raised.errors.filter(isNativeError);
  return errors.find((error) => !noRoute.has(codeOf(error))) ?? errors[0] ?? raised;
}

const noRoute = new Set(["ENETUNREACH", "EHOSTUNREACH", "EADDRNOTAVAIL", "EAFNOSUPPORT"]);

function codeOf(error: Error): string {
  return "code" in error && typeof error.code === "string" ? error.code : "connection_failed";
}

/**
 * During the handshake every error is a TLS error, except the system's errors of the connection
 * below it. After the handshake only an alert is: in TLS 1.3 a receiver may ask for a client's
 * certificate when the request is already on its way.
 */
function isTlsFailure(code: string, stage: Stage): boolean {
  if (stage === "securing") return !/^E[A-Z0-9]+$/.test(code) || code === "EPROTO";
  return stage === "open" && /^ERR_SSL_.*ALERT/.test(code) && !code.includes("CLOSE_NOTIFY");
}

function connectionSentence(
  code: string,
  error: Error,
  target: Target,
  stage: Stage,
  progress: string,
): string {
  switch (code) {
    case "ENOTFOUND":
      return `The host name ${target.host} has no address in DNS. Check its spelling.`;
    case "EAI_AGAIN":
      return `The host name ${target.host} could not be looked up, because DNS does not answer. This machine may be offline.`;
    case "ECONNREFUSED":
      return `Nothing listens at ${place(target)}: the connection was refused.`;
    case "ECONNRESET":
    case "EPIPE":
    case "ECONNABORTED":
      if (stage === "open") return `The receiver reset the connection ${progress}.`;
      if (stage === "securing") return handshakeEnded(target);
      return `The connection to ${place(target)} was reset while connecting.`;
    case "ETIMEDOUT":
      return `The address ${place(target)} did not answer the attempt to connect.`;
    case "ENETUNREACH":
    case "EHOSTUNREACH":
    case "EADDRNOTAVAIL":
      return `There is no route to ${place(target)}. This machine may be offline.`;
    case "EMFILE":
    case "ENFILE":
      return "This machine allows no more open connections. Close some programs, or raise its limit for open files.";
    default:
      if (stage === "lookup")
        return `The host name ${target.host} could not be looked up (${code}). Check its spelling.`;
      return `The connection to ${place(target)} failed ${stage === "open" ? progress : "while connecting"}: ${error.message}.`;
  }
}

function handshakeEnded(target: Target): string {
  return `The receiver ended the connection during the TLS handshake. It may not speak TLS at ${place(target)}.`;
}

const trustIt =
  "have Hookyard trust it: add it to the system's certificate store and restart Hookyard, or start Hookyard with NODE_EXTRA_CA_CERTS set to its PEM file";

function tlsSentence(code: string, error: Error, target: Target): string {
  const certificate = `The certificate of ${target.host}`;
  switch (code) {
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
      return `${certificate} is self-signed. Use one that an authority has signed, or ${trustIt}.`;
    case "SELF_SIGNED_CERT_IN_CHAIN":
      return `${certificate} is signed by an authority that this machine does not trust. Use one from a known authority, or take that authority's certificate and ${trustIt}.`;
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
    case "UNABLE_TO_GET_ISSUER_CERT":
    case "UNABLE_TO_GET_ISSUER_CERT_LOCALLY":
      return `${certificate} cannot be traced to an authority that this machine trusts. Either the receiver leaves out the intermediate certificates, and has to send the full chain, or this machine does not trust the authority: then take its certificate and ${trustIt}.`;
    case "CERT_HAS_EXPIRED":
      return `${certificate}, or one it depends on, has expired. Renew it at the receiver.`;
    case "CERT_NOT_YET_VALID":
      return `${certificate} is not valid yet. Check the clocks of the receiver and of this machine.`;
    case "CERT_REVOKED":
      return `${certificate} has been revoked. Replace it at the receiver.`;
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return `${certificate} is for another host (${namesOf(error)}). Use a URL with a name that it covers, or a certificate that covers ${target.host}.`;
    case "ERR_SSL_WRONG_VERSION_NUMBER":
    case "ERR_SSL_PACKET_LENGTH_TOO_LONG":
    case "ERR_SSL_HTTP_REQUEST":
      return `The port at ${place(target)} does not speak TLS. If it speaks plain HTTP, the URL must begin with http://.`;
    default:
      if (/CERTIFICATE_REQUIRED|BAD_CERTIFICATE/.test(code))
        return `The receiver at ${target.host} requires a client certificate, and Hookyard has none. Turn that requirement off at the receiver.`;
      if (code.startsWith("ERR_SSL_"))
        return `The TLS handshake with ${place(target)} failed (${code}). Check the TLS versions and ciphers that the receiver allows: it must speak HTTP/1.1 over TLS 1.2 or 1.3.`;
      return `${certificate} was not accepted: ${error.message}. Replace it at the receiver, or ${trustIt}.`;
  }
}

function namesOf(error: Error): string {
  const certificate = "cert" in error ? error.cert : null;
  if (typeof certificate === "object" && certificate !== null && "subjectaltname" in certificate)
    return String(certificate.subjectaltname).slice(0, 200);
  return "it names none";
}

function place(target: Target): string {
  return `${target.host.includes(":") ? `[${target.host}]` : target.host}:${target.port}`;
}
