/**
 * Puts messages into a store the way the ingest port does, without a socket. The store is not in
 * use by a program.
 */

import type { Destination, Source } from "../../src/domain/configuration.ts";
import { isProblem } from "../../src/domain/problem.ts";
import { parseBody } from "../../src/engine/ingest/read-request.ts";
import { acceptRequest } from "../../src/engine/ingest/accept.ts";
import type { Store } from "../../src/engine/store-ports.ts";

type FillRequest = {
  source: Source;
  destinations: readonly Destination[];
  receivedAt: number;
  messages: readonly object[];
};

export function fill(store: Store, requests: readonly FillRequest[]): void {
  store.commit(
    requests.map(({ source, destinations, receivedAt, messages }) => {
      const body = Buffer.from(JSON.stringify({ batch: messages }));
      const parsed = parseBody(body, true);
      if (isProblem(parsed)) throw new Error(parsed.message);
      const headers: [string, string][] = [
        ["Host", "127.0.0.1:4700"],
        ["User-Agent", "bench/1.0"],
        ["Content-Type", "application/json"],
        ["Content-Length", String(body.length)],
      ];
      const facts = {
        source,
        destinations,
        typeFromPath: null,
        receivedAt,
        wallAt: receivedAt,
        method: "POST",
        path: "/v1/batch",
        headers,
        isSuppressed: () => false,
      };
      return acceptRequest({ ...facts, ip: "127.0.0.1", body }, parsed);
    }),
  );
}

export function addSource(store: Store, name: string, writeKey: string): Source {
  return store.insertSource({
    name,
    kind: "server",
    writeKey,
    mode: "explain",
    deduplicate: true,
    correctClockSkew: false,
    faults: [],
    plan: null,
    createdAt: Date.now(),
  });
}

type NewWebhook = {
  name: string;
  source: Source;
  url: string;
  sharedSecret: string | null;
  enabled?: boolean;
};

export function addDestination(
  store: Store,
  { name, source, url, sharedSecret, enabled = true }: NewWebhook,
): Destination {
  return store.insertDestination({
    name,
    enabled,
    sourceIds: [source.id],
    webhooks: [{ url, headers: {} }],
    sharedSecret,
    retryProfile: "documented",
    payload: "documented",
    createdAt: Date.now(),
  });
}
