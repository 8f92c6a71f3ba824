/**
 * The addresses of a test endpoint: its host names on the TLS port, and whether a webhook leads to
 * it.
 */

import type { AnswerOf } from "../../../contract/contract.ts";
import type { Outcome } from "../../../domain/states.ts";

type Endpoint = Pick<AnswerOf<"endpoints.get">, "url" | "tlsUrl">;

type CertificateHost = { host: string; words: string; endsIn: Outcome | null };

/**
 * The first is what the endpoint's own URL has. With a good certificate it ends as the program
 * says.
 */
export const certificateHosts: readonly CertificateHost[] = [
  { host: "self-signed.localhost", words: "self-signed", endsIn: "tls_error" },
  { host: "expired.localhost", words: "expired", endsIn: "tls_error" },
  { host: "wrong-host.localhost", words: "wrong host", endsIn: "tls_error" },
  { host: "valid.localhost", words: "valid", endsIn: null },
];

export function tlsUrlAt({ tlsUrl }: Pick<Endpoint, "tlsUrl">, host: string): string {
  const url = new URL(tlsUrl);
  url.hostname = host;
  return url.href;
}

/** By port and path: any host name of this machine leads to it. */
export function leadsTo(webhookUrl: string, { url, tlsUrl }: Endpoint): boolean {
  const webhook = parsed(webhookUrl);
  return webhook !== null && [url, tlsUrl].some((each) => isSamePlace(webhook, parsed(each)));
}

function isSamePlace(webhook: URL, endpoint: URL | null): boolean {
  if (endpoint === null || webhook.protocol !== endpoint.protocol || webhook.port !== endpoint.port)
    return false;
  const isHere =
    /(^|\.)localhost$/.test(webhook.hostname) ||
    webhook.hostname.startsWith("127.") ||
    webhook.hostname === endpoint.hostname;
  return isHere && webhook.pathname.replace(/\/$/, "") === endpoint.pathname;
}

function parsed(url: string): URL | null {
  return URL.canParse(url) ? new URL(url) : null;
}
