/** What the requests of a round are made of: to which webhooks, and with which headers. Pure. */

import { createHmac } from "node:crypto";
import type { Destination, Webhook } from "../../domain/configuration.ts";
import type { MessageRowId } from "../../domain/ids.ts";
import { actionsVendor } from "../../domain/parity.ts";
import type { ClaimedDelivery } from "../ports.ts";
import type { AttemptTrace } from "../traces/traces.ts";
import type { RequestHeaders } from "./exchange.ts";

/** After all others, unless the webhook has a `traceparent` of its own. */
export function withTraceparent(
  headers: RequestHeaders,
  { traceparent }: AttemptTrace,
): RequestHeaders {
  const hasOwn = headers.some(([name]) => name.toLowerCase() === "traceparent");
  return hasOwn ? headers : [...headers, ["traceparent", traceparent]];
}

export function headersFor(
  { sharedSecret }: Destination,
  webhook: Pick<Webhook, "headers">,
  vendor: string,
): RequestHeaders {
  return [
    ["User-Agent", `${vendor}/1.0`],
    ["Content-Type", "application/json"],
    ...(sharedSecret === null ? [] : [["X-Signature", { secret: sharedSecret }] as const]),
    ...Object.entries(webhook.headers),
  ] as RequestHeaders;
}

/** A mapping's request has one URL, which the event gave it; it goes through its mapping's lane. */
export function webhooksOf({ mapped }: ClaimedDelivery, { webhooks }: Destination): Webhook[] {
  if (mapped === undefined) return webhooks;
  const { webhookId, url } = mapped;
  return webhooks.some(({ id }) => id === webhookId) ? [{ id: webhookId, url, headers: {} }] : [];
}

export function messagesOf({ mapped, messageRow }: ClaimedDelivery): readonly MessageRowId[] {
  return mapped === undefined || mapped.messages.length === 0 ? [messageRow] : mapped.messages;
}

/** As the open source merges them: a mapped header replaces ours, but for the content type. */
export function mappedHeaders(
  { headers, signed }: Pick<NonNullable<ClaimedDelivery["mapped"]>, "headers" | "signed">,
  { sharedSecret }: Destination,
  vendor: string,
  hasBody: boolean,
): [string, string][] {
  const merged = new Map([["user-agent", `${actionsVendor(vendor)} (Actions)`]]);
  if (sharedSecret !== null && signed !== null)
    merged.set("x-signature", createHmac("sha1", sharedSecret).update(signed).digest("hex"));
  for (const [name, value] of headers) {
    if (value === "undefined") merged.delete(name);
    else merged.set(name, value);
  }
  if (hasBody) merged.set("content-type", "application/json");
  return [...merged];
}
