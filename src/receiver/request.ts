/**
 * One request to somebody's receiver, as a check makes it and as the `request` step of a scenario
 * repeats it.
 */

import { defaultSettings } from "../domain/configuration.ts";
import { retryAfter } from "../domain/retry.ts";
import { signatureKey, sign } from "../domain/signature.ts";
import { monotonic } from "../engine/real-time.ts";
import {
  pause,
  type Connections,
  type OpenConnection,
  type HangUp,
  type WireRequest,
  type WireResult,
} from "./wire.ts";
import type { RequestSpec, WantedAnswers } from "./request-spec.ts";

export type Sent = WireResult & { spec: RequestSpec };

/** The receiver said yes, even if the rest of its answer did not come. */
export function saidYes({ status }: Sent): boolean {
  return status !== null && status >= 200 && status < 300;
}

/** A sender is done with the message. */
export function isAccepted(sent: Sent): boolean {
  return saidYes(sent) && sent.error === null;
}

/** A server error, a reset, or no whole answer. */
export function isCrash({ status, error }: Sent): boolean {
  return status === null || error !== null || status >= 500;
}

/** As most senders do; the documented one takes every 4xx for an answer for good. */
export function isRetried(sent: Sent): boolean {
  return isCrash(sent) || sent.status === 408 || sent.status === 429;
}

/** It refused the right signature of a message. */
export function isUnverified({ status, spec }: Sent): boolean {
  return (status === 401 || status === 403) && spec.signature === "valid";
}

/** How long it asks its sender to wait, because it has been sent too much; null when it does not. */
export function askedToWaitMs({ status, responseHead }: Sent): number | null {
  return status === 429 || status === 503 ? retryAfter(responseHead, 0) : null;
}

/** Longer is not waited: a run takes seconds. */
const longestWaitMs = 5_000;

/** How long to wait before sending again, as it asks. */
export function waitMsOf(sent: Sent): number {
  const asked = askedToWaitMs(sent) ?? 0;
  return asked > longestWaitMs ? 0 : asked;
}

/** Thirty pieces or fewer, and about half a second for a message of the usual size. */
const slowly = { bytes: 24, everyMs: 20 };

export async function performRequest(
  wire: Connections,
  spec: RequestSpec,
  secret: string | null,
): Promise<Sent[]> {
  const { copies, body } = spec;
  if (copies !== undefined) {
    const numbered = (nth: number): RequestSpec => ({
      ...spec,
      body: body.replaceAll("{{copy}}", String(nth + 1)),
    });
    const specs = Array.from({ length: copies }, (_, nth) => numbered(nth));
    return performTogether(wire, specs, secret);
  }
  return [{ ...(await wire.send(requestOf(spec, secret))), spec }];
}

/**
 * Each on a connection of its own. All are open before the first byte is sent, and until the last
 * answer: a receiver that serves fewer at once shows it each time.
 */
export async function performTogether(
  wire: Connections,
  specs: readonly RequestSpec[],
  secret: string | null,
): Promise<Sent[]> {
  const opened = await Promise.all(specs.map(() => wire.open()));
  const isOpen = (one: OpenConnection | WireResult): one is OpenConnection => "send" in one;
  const began = monotonic();
  try {
    return await Promise.all(
      specs.map(async (spec, nth) => {
        const one = opened[nth] as OpenConnection | WireResult;
        if (!isOpen(one)) return { ...one, spec };
        const { apartMs = 0 } = spec;
        if (apartMs > 0) await pause(Math.max(0, began + nth * apartMs - monotonic()));
        return { ...(await one.send(requestOf(spec, secret))), spec };
      }),
    );
  } finally {
    for (const one of opened) if (isOpen(one)) one.close();
  }
}

function requestOf(spec: RequestSpec, secret: string | null): WireRequest {
  const body = Buffer.from(spec.body);
  return {
    method: spec.method ?? "POST",
    headers: headersOf(spec, body, secret),
    body,
    slow:
      spec.slow === true
        ? { ...slowly, bytes: Math.max(slowly.bytes, Math.ceil(body.byteLength / 30)) }
        : undefined,
    hangUp: hangUpOf(spec),
    connection: spec.connection,
  };
}

const betweenTriesMs = 150;

/** With as many tries as it has. Returns the answers to the last. */
export async function deliverRequest(
  wire: Connections,
  spec: RequestSpec,
  secret: string | null,
  signal: AbortSignal | null = null,
): Promise<Sent[]> {
  let sent = await performRequest(wire, spec, secret);
  for (let nth = 1; nth < (spec.tries ?? 1) && sent.every(isRetried); nth += 1) {
    signal?.throwIfAborted();
    await pause(betweenTriesMs * nth, signal);
    sent = await performRequest(wire, spec, secret);
  }
  return sent;
}

function headersOf(spec: RequestSpec, body: Uint8Array, secret: string | null): [string, string][] {
  const given = Object.entries(spec.headers ?? {});
  const has = (name: string): boolean => given.some(([one]) => one.toLowerCase() === name);
  const headers: [string, string][] = [["User-Agent", `${defaultSettings.vendor}/1.0`]];
  if (spec.method !== "GET" && !has("content-type"))
    headers.push(["Content-Type", "application/json"]);
  const signature = signatureOf(spec, body, secret);
  if (signature !== null) headers.push(["X-Signature", signature]);
  return [...headers, ...given];
}

function signatureOf(
  { signature, body: text, otherBody = `${text} ` }: RequestSpec,
  body: Uint8Array,
  secret: string | null,
): string | null {
  if (signature === undefined || signature === "missing") return null;
  if (signature === "empty") return "";
  if (secret === null)
    throw new Error("The request needs a signature, and there is no shared secret.");
  const key = signatureKey(secret);
  const valid = sign(key, body);
  switch (signature) {
    case "valid":
      return valid;
    case "other-secret":
      return sign(signatureKey(`${secret}, but another`), body);
    case "no-secret":
      return sign(signatureKey(""), body);
    case "last-digit":
      return valid.slice(0, -1) + (valid.endsWith("0") ? "1" : "0");
    case "of-other-body":
      return sign(key, Buffer.from(otherBody));
    case "truncated":
      return valid.slice(0, 8);
    case "first-half":
      return valid.slice(0, 20);
    case "restringified":
      return sign(key, Buffer.from(JSON.stringify(JSON.parse(text))));
  }
}

function hangUpOf({ hangUp, waitMs = 0 }: RequestSpec): HangUp | undefined {
  switch (hangUp) {
    case undefined:
      return undefined;
    case "when-sent":
      return { after: "sent", by: "end" };
    case "when-sent-reset":
      return { after: "sent", by: "reset" };
    case "while-working":
      return { after: "sent", waitMs, by: "reset" };
    case "at-first-byte":
      return { after: "first-byte", by: "reset" };
    case "without-reading":
      return { after: "unread", waitMs, by: "end" };
  }
}

/** The first that is not as wanted. */
export function wrongAnswer(sent: readonly Sent[], wanted: WantedAnswers): Sent | undefined {
  switch (wanted) {
    case "2xx":
      return sent.find((one) => !isAccepted(one));
    case "one 2xx":
      return sent.some(isAccepted) ? undefined : sent[0];
    case "refused":
      return sent.find(saidYes);
    case "no crash":
      return sent.find(isCrash);
  }
}
