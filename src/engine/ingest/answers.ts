/** What the ingest port says. Clients parse `code` and `message` of an error, so both are always strings. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Problem } from "../../domain/problem.ts";
import type { CommittedMessage, IncomingRequest } from "../ports.ts";

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

/** In `explain` mode: what was not taken in, by its place in the request. */
export function batchAnswer({ messages }: IncomingRequest, committed: CommittedMessage[]): string {
  const rejected = messages.flatMap(({ rejection }, index) =>
    rejection === null ? [] : [{ index, reason: rejection.reason, message: rejection.detail }],
  );
  const duplicates = committed.flatMap(({ duplicateOf, messageId }, index) => (duplicateOf === null ? [] : [{ index, messageId }]));
  if (rejected.length === 0 && duplicates.length === 0) return success;
  return JSON.stringify({ success: true, rejected, duplicates });
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
