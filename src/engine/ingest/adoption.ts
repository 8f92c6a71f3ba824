/**
 * Accepts the requests that were kept for an unknown write key, once a source has the key. They are
 * committed as requests at the port are, with the time at which they were sent.
 */

import type { Source } from "../../domain/configuration.ts";
import { isProblem } from "../../domain/problem.ts";
import type { Activity, Origin } from "../clock/activity.ts";
import type { CommittedMessage, IngestStore, UnknownKeyRequest } from "../ports.ts";
import type { Atomically } from "../profile-ports.ts";
import { nextTurn } from "../real-time.ts";
import { acceptRequest, type AcceptedRequest, type RequestFacts } from "./accept.ts";
import { parseBody, parsePath, splitTarget } from "./read-request.ts";
import { partsOf } from "./request-parts.ts";

type AdoptionOptions = {
  store: IngestStore & Atomically;
  configuration: { sourceByWriteKey(key: string): Source | undefined };
  activity: Activity;
  /** What holds for requests of the source now. */
  factsOf: (
    source: Source,
  ) => Omit<RequestFacts, "typeFromPath" | "method" | "path" | "headers" | "ip" | "body">;
  onCommitted: (messages: CommittedMessage[], origin: Origin) => void;
};

/**
 * One request after the other. Each is forgotten in the transaction that accepts it, and of a
 * request that is committed in parts each part. Whoever adopts at the same time waits for the same
 * work.
 */
export function createAdoption({
  store,
  configuration,
  activity,
  factsOf,
  onCommitted,
}: AdoptionOptions) {
  const adopting = new Map<string, Promise<void>>();
  /** The request of each key that is being accepted. */
  const accepting = new Map<string, Promise<boolean>>();

  /** Null when it contains no message. */
  function requestOf(source: Source, kept: UnknownKeyRequest): AcceptedRequest | null {
    const call = parsePath(splitTarget(kept.path).path);
    if (call?.call !== "batch" && call?.call !== "single") return null;
    const body = Buffer.from(kept.body);
    const parsed = parseBody(body, call.call === "batch");
    if (isProblem(parsed) || parsed.items.length === 0) return null;
    const typeFromPath = call.call === "single" ? call.type : null;
    const { method, path, headers, ip, receivedAt: arrivedAt } = kept;
    const more = { arrivedAt, arrivedFirst: kept, typeFromPath, method, path, headers, ip, body };
    return acceptRequest({ ...factsOf(source), ...more }, parsed);
  }

  /** Returns false when none is left, or no source has the key. */
  async function adoptOldest(writeKey: string): Promise<boolean> {
    const kept = store.oldestUnknownKeyRequest(writeKey);
    const source = configuration.sourceByWriteKey(writeKey);
    if (kept === null || source === undefined) return false;
    const request = requestOf(source, kept);
    if (request === null) {
      store.forgetUnknownKeyRequest(kept.id);
      return true;
    }
    for await (const { rest, ...part } of partsOf(request)) {
      const committed = store.atomically(() => {
        if (rest === null) store.forgetUnknownKeyRequest(kept.id);
        else store.shortenUnknownKeyRequest(kept.id, rest);
        return store.commit([part]);
      });
      onCommitted(committed.flat(), "own");
      if (rest !== null) await nextTurn();
    }
    return true;
  }

  function adoptNext(writeKey: string): Promise<boolean> {
    const request = adoptOldest(writeKey);
    accepting.set(writeKey, request);
    return request;
  }

  async function adoptAll(writeKey: string): Promise<void> {
    const work = activity.begin();
    try {
      while (await adoptNext(writeKey)) await nextTurn();
    } finally {
      work.end();
      accepting.delete(writeKey);
      adopting.delete(writeKey);
    }
  }

  return {
    adopt(writeKey: string): Promise<void> {
      const running = adopting.get(writeKey) ?? adoptAll(writeKey);
      adopting.set(writeKey, running);
      return running;
    },
    /**
     * Resolves when the requests that are being accepted now are committed, or have failed. Later
     * ones are checked against the users who are suppressed by then.
     */
    async committed(): Promise<void> {
      await Promise.allSettled(accepting.values());
    },
  };
}
