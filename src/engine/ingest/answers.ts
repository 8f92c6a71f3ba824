/** What the ingest port says. Clients parse `code` and `message` of an error, so both are always strings. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Problem } from "../../domain/problem.ts";
import type { CommittedMessage } from "../ports.ts";
import type { TakenRequest } from "./take-in.ts";

export const success = JSON.stringify({ success: true });

export function send(response: ServerResponse, status: number, body: string | null): void {
  if (response.headersSent || response.destroyed) return;
  if (body === null) {
    response.writeHead(status);
    response.end();
    return;
  }
  response.writeHead(status, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
  response.end(body);
}

export function problemAnswer(response: ServerResponse, refusal: Problem): void {
  const { status, code, message } = refusal;
  send(response, status, JSON.stringify({ ...failure, code, message }));
}

/** What a problem's answer begins with. */
export const failure = { success: false };

/** Messages that a batch's answer lists, of those that were rejected and of those that are duplicates. Where there are more, it counts them. */
const maxListed = 100;

/** In `explain` mode: what was not accepted, by its place in the request. */
export function batchAnswer({ messages, surplus }: TakenRequest, committed: CommittedMessage[]): string {
  const rejected: { index: number; reason: string; message: string }[] = [];
  const duplicates: { index: number; messageId: string }[] = [];
  let rejectedCount = 0;
  let duplicateCount = 0;
  for (const [index, { rejection }] of messages.entries()) {
    const { duplicateOf, messageId } = committed[index] ?? { duplicateOf: null, messageId: "" };
    if (rejection !== null) {
      const { reason, detail: message } = rejection;
      const isSurplus = surplus > 0 && index === messages.length - 1;
      const count = isSurplus ? surplus : 1;
      rejectedCount += count;
      for (let at = 0; at < count && rejected.length < maxListed; at += 1) rejected.push({ index: index + at, reason, message });
    } else if (duplicateOf !== null) {
      duplicateCount += 1;
      if (duplicates.length < maxListed) duplicates.push({ index, messageId });
    }
  }
  if (rejectedCount === 0 && duplicateCount === 0) return success;
  return JSON.stringify({
    success: true,
    rejected,
    rejectedCount: rejectedCount > rejected.length ? rejectedCount : undefined,
    duplicates,
    duplicateCount: duplicateCount > duplicates.length ? duplicateCount : undefined,
  });
}

/** A day: browsers cut it to what they allow. */
const preflightAgeSeconds = 86_400;

/** As a browser library needs it: any origin, with credentials, from a public page to this machine too. */
export function writeCors(request: IncomingMessage, response: ServerResponse): void {
  const { origin } = request.headers;
  if (origin === undefined) return;
  response.setHeader("Access-Control-Allow-Origin", origin);
  response.setHeader("Access-Control-Allow-Credentials", "true");
  response.setHeader("Vary", "Origin");
  if (request.method !== "OPTIONS") return;
  response.setHeader("Access-Control-Allow-Methods", "GET, POST, PUT, OPTIONS");
  response.setHeader("Access-Control-Allow-Headers", request.headers["access-control-request-headers"] ?? "Content-Type, Authorization");
  response.setHeader("Access-Control-Max-Age", String(preflightAgeSeconds));
  if (request.headers["access-control-request-private-network"] !== undefined)
    response.setHeader("Access-Control-Allow-Private-Network", "true");
}

/** What the browser library asks for before it sends: all events go to this port and nowhere else. */
export function browserSettings(writeKey: string, host: string): string {
  return JSON.stringify({
    integrations: {
      "Segment.io": {
        apiKey: writeKey,
        apiHost: `${host}/v1`,
        protocol: "http",
        unbundledIntegrations: [],
        addBundledMetadata: true,
        maybeBundledConfigIds: {},
        versionSettings: { version: "4.4.7", componentTypes: ["browser"] },
      },
    },
    plan: {
      track: { __default: { enabled: true, integrations: {} } },
      identify: { __default: { enabled: true } },
      group: { __default: { enabled: true } },
    },
    edgeFunction: {},
    analyticsNextEnabled: true,
    middlewareSettings: {},
    enabledMiddleware: {},
    metrics: { sampleRate: 0 },
    legacyVideoPluginsEnabled: false,
    remotePlugins: [],
  });
}
