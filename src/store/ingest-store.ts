/**
 * Takes in what came at the ingest port: all requests of a commit in one transaction, each message with its
 * decisions, payloads and queued deliveries, or none of it.
 */

import type { MessageRowId } from "../domain/ids.ts";
import type { CommittedMessage, IncomingRequest, IngestStore, NewMessage, UnknownKey, UnknownKeyRequest } from "../engine/ports.ts";
import type { Atomically } from "../engine/profile-ports.ts";
import { shapeCode, stateCode, typeCode } from "./codes.ts";
import type { Counts } from "./counts.ts";
import { hash40 } from "./hash.ts";
import type { Db } from "./open.ts";
import type { Postings } from "./postings.ts";
import { RecentIds } from "./recent-ids.ts";

/** The same message id from the same source within this time is a duplicate. */
const duplicateWindowMs = 24 * 60 * 60 * 1000;

/** What is kept of requests with an unknown write key: enough to adopt a client that has been misconfigured for a while. */
const maxUnknownKeyRequests = 1000;

/** What a message's row, its place in postings and its reason take, roughly. */
const rowBytes = 512;

const queued = stateCode("queued");
const rejected = stateCode("rejected");
const duplicate = stateCode("duplicate");
const filtered = stateCode("filtered");

type IngestStoreParts = IngestStore & Atomically & { forgetRecent(): void };

export function createIngestStore(db: Db, counts: Counts, postings: Postings): IngestStoreParts {
  const insertRequest = db.prepare("INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  const insertMessage = db.prepare(
    `INSERT INTO messages (id, request_id, offset, size, message_id, source_id, type, state, user_id, anonymous_id, event, received_at, timestamp, reason, extra, quota_bytes)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const insertDecision = db.prepare("INSERT INTO decisions VALUES (?, ?, ?, ?, ?, ?)");
  const insertPayloads = db.prepare("INSERT INTO payloads VALUES (?, ?, ?)");
  const insertDelivery = db.prepare(
    "INSERT INTO deliveries (id, message_id, destination_id, state, shape, created_at) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const candidate = db.prepare<[number], { message_id: string; source_id: number; received_at: number; state: number }>(
    "SELECT message_id, source_id, received_at, state FROM messages WHERE id = ?",
  );
  const followed = db.prepare<[], string>("SELECT value FROM meta WHERE key = 'followed'").pluck();
  const firstSince = firstMessageSince(db);

  let newestReceivedAt = 0;
  const recent = new RecentIds(() => firstSince(newestReceivedAt - duplicateWindowMs));
  const next = { request: 1, message: 1, delivery: 1 };

  /** Ids go on from the newest rows: known to this object alone, so nothing is asked of the database for each message. */
  function load(): void {
    const max = (table: string): number => (db.prepare(`SELECT max(id) FROM ${table}`).pluck().get() as number | null) ?? 0;
    next.request = max("requests") + 1;
    // Retention may have removed the newest: profiles know them, and have looked at all up to there.
    next.message = Math.max(max("messages"), Number(followed.get() ?? 0)) + 1;
    next.delivery = max("deliveries") + 1;
    newestReceivedAt =
      (db.prepare("SELECT received_at FROM messages WHERE id = (SELECT max(id) FROM messages)").pluck().get() as number | undefined) ?? 0;
    recent.clear();
    const from = firstSince(newestReceivedAt - duplicateWindowMs);
    postings.forEach("message_ids", from, (hash, id) => {
      if (id >= from) recent.add(hash, id);
    });
  }
  load();

  function originalOf(request: IncomingRequest, message: NewMessage, hash: number): MessageRowId | null {
    if (!recent.has(hash)) return null;
    for (const id of recent.find(hash)) {
      const row = candidate.get(id);
      if (row === undefined || row.message_id !== message.messageId.toWellFormed() || row.source_id !== request.sourceId) continue;
      if (row.state === rejected || row.state === duplicate) continue;
      if (request.receivedAt - row.received_at <= duplicateWindowMs) return id as MessageRowId;
    }
    return null;
  }

  /** `frame`: the bytes of the request around its messages, which its first message that is not accepted answers for. */
  function commitMessage(request: IncomingRequest, requestId: number, message: NewMessage, frame: { bytes: number }): CommittedMessage {
    const id = next.message++;
    const hash = hash40(message.messageId);
    const { rejection } = message;
    const duplicateOf = rejection === null && message.deduplicate ? originalOf(request, message, hash) : null;
    const routed = rejection === null && duplicateOf === null ? message.route() : null;
    const goes = routed?.decisions.some((decision) => decision.routed) ?? false;
    const state = rejection !== null ? rejected : duplicateOf !== null ? duplicate : goes ? queued : filtered;
    const type = typeCode(message.type);
    const quotaBytes = routed === null ? message.size + rowBytes + frame.bytes : null;
    if (quotaBytes !== null) {
      counts.rejected(quotaBytes);
      frame.bytes = 0;
    }

    insertMessage.run(
      id,
      requestId,
      message.offset,
      message.size,
      message.messageId,
      request.sourceId,
      type,
      state,
      message.userId,
      message.anonymousId,
      message.event,
      request.receivedAt,
      message.timestamp,
      rejection?.reason ?? (duplicateOf !== null ? "duplicate" : goes ? null : (routed?.decisions[0]?.reason ?? "no_destination")),
      extraOf(message, duplicateOf),
      quotaBytes,
    );
    postings.add({ id, messageId: message.messageId, userId: message.userId, anonymousId: message.anonymousId, event: message.event });
    counts.message(id, null, { sourceId: request.sourceId, type, state });
    // Only what is accepted can be the original of a duplicate.
    if (routed !== null) recent.add(hash, id);

    if (routed !== null) {
      for (const decision of routed.decisions) {
        const shape = shapeCode(decision.payload);
        const warnings = decision.warnings.length > 0 ? JSON.stringify(decision.warnings) : null;
        insertDecision.run(id, decision.destinationId, decision.reason, decision.detail, warnings, shape);
        if (!decision.routed) continue;
        insertDelivery.run(next.delivery++, id, decision.destinationId, queued, shape, request.receivedAt);
        counts.delivery(decision.destinationId, queued, 1);
      }
      if (goes) insertPayloads.run(id, routed.payloads.documented ?? null, routed.payloads.full ?? null);
    }
    return { id: id as MessageRowId, messageId: message.messageId, duplicateOf };
  }

  const insertAll = db.transaction((requests: IncomingRequest[]): CommittedMessage[][] => {
    const committed = requests.map((request) => {
      const requestId = next.request++;
      newestReceivedAt = Math.max(newestReceivedAt, request.receivedAt);
      const headers = JSON.stringify(request.headers);
      const inMessages = request.messages.reduce((sum, { size }) => sum + size, 0);
      const frame = { bytes: headers.length + request.path.length + request.body.length - inMessages };
      insertRequest.run(
        requestId,
        request.sourceId,
        request.receivedAt,
        request.wallAt,
        request.method,
        request.path,
        headers,
        next.message,
        request.messages.length,
        request.body,
        request.ip,
      );
      return request.messages.map((message) => commitMessage(request, requestId, message, frame));
    });
    counts.flush();
    return committed;
  });

  /** Commits in the transaction that `atomically` holds open; null when there is none. */
  let inOpen: (() => void)[] | null = null;
  const inTransaction = db.transaction(<Result>(write: () => Result): Result => write());

  function commit(requests: IncomingRequest[]): CommittedMessage[][] {
    const before = { ...next };
    const takeBack = (): void => {
      for (const [place, { messageId }] of requests.flatMap(({ messages }) => messages).entries()) {
        recent.remove(hash40(messageId), before.message + place);
      }
      Object.assign(next, before);
    };
    try {
      const committed = insertAll(requests);
      inOpen?.push(takeBack);
      return committed;
    } catch (error) {
      takeBack();
      counts.discard();
      postings.invalidate();
      throw error;
    }
  }

  function atomically<Result>(write: () => Result): Result {
    const outer = inOpen;
    const inner: (() => void)[] = [];
    inOpen = inner;
    try {
      const result = inTransaction(write) as Result;
      outer?.push(...inner);
      return result;
    } catch (error) {
      for (const takeBack of inner.toReversed()) takeBack();
      counts.discard();
      postings.invalidate();
      throw error;
    } finally {
      inOpen = outer;
    }
  }

  return {
    commit,
    atomically,
    forgetRecent() {
      postings.invalidate();
      load();
    },
    ...unknownKeys(db),
  };
}

function extraOf(message: NewMessage, duplicateOf: MessageRowId | null): string | null {
  const { warnings, rejection, replayOf, computed, traits } = message;
  if (warnings.length === 0 && rejection === null && duplicateOf === null && replayOf === null && !computed && traits === null) return null;
  return JSON.stringify({
    warnings: warnings.length > 0 ? warnings : undefined,
    detail: rejection?.detail,
    duplicateOf: duplicateOf ?? undefined,
    replayOf: replayOf ?? undefined,
    computed: computed || undefined,
    traits: traits ?? undefined,
  });
}

/** Rows are in the order of their time, so the first one of a time is found by halving. */
function firstMessageSince(db: Db): (at: number) => number {
  const bounds = db.prepare<[], { low: number | null; high: number | null }>(
    "SELECT (SELECT min(id) FROM messages) AS low, (SELECT max(id) FROM messages) AS high",
  );
  const atOrAfter = db.prepare<[number], { id: number; received_at: number }>(
    "SELECT id, received_at FROM messages WHERE id >= ? ORDER BY id LIMIT 1",
  );
  return (at) => {
    const { low, high } = bounds.get() ?? { low: null, high: null };
    if (low === null || high === null) return 0;
    let from = low;
    let to = high + 1;
    while (from < to) {
      const middle = Math.floor((from + to) / 2);
      const row = atOrAfter.get(middle);
      if (row === undefined || row.received_at >= at) to = middle;
      else from = row.id + 1;
    }
    return from;
  };
}

function unknownKeys(db: Db) {
  const insert = db.prepare(
    "INSERT INTO unknown_key_requests (write_key, received_at, wall_at, method, path, headers, ip, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
  );
  /** Newest first, with what each takes: there are a thousand at most, and SQLite knows the length of a body without reading it. */
  const sizes = db.prepare<[], { id: number; bytes: number }>(
    "SELECT id, length(body) + length(headers) + length(path) AS bytes FROM unknown_key_requests ORDER BY id DESC",
  );
  const removeUpTo = db.prepare<[number]>("DELETE FROM unknown_key_requests WHERE id <= ?");
  const list = db.prepare<[], UnknownKey>(
    `SELECT write_key AS writeKey, count(*) AS requests, min(received_at) AS firstAt, max(received_at) AS lastAt,
            (SELECT substr(path, 1, 200) FROM unknown_key_requests AS newest WHERE newest.write_key = kept.write_key ORDER BY id DESC LIMIT 1) AS lastPath
     FROM unknown_key_requests AS kept GROUP BY write_key ORDER BY lastAt DESC`,
  );
  const oldest = db.prepare<[string], Omit<UnknownKeyRequest, "headers"> & { headers: string }>(
    `SELECT id, write_key AS writeKey, received_at AS receivedAt, wall_at AS wallAt, method, path, headers, ip, body
     FROM unknown_key_requests WHERE write_key = ? ORDER BY id LIMIT 1`,
  );
  const remove = db.prepare("DELETE FROM unknown_key_requests WHERE id = ?");
  const removeAll = db.prepare("DELETE FROM unknown_key_requests WHERE write_key = ?");
  return {
    keepUnknownKeyRequest: db.transaction((request: Omit<UnknownKeyRequest, "id">, maxBytes: number): void => {
      const { writeKey, receivedAt, wallAt, method, path, headers, ip, body } = request;
      insert.run(writeKey, receivedAt, wallAt, method, path, JSON.stringify(headers), ip, body);
      let kept = 0;
      for (const [place, { id, bytes }] of sizes.all().entries()) {
        kept += bytes;
        if (place < maxUnknownKeyRequests && kept <= maxBytes) continue;
        removeUpTo.run(id);
        break;
      }
    }),
    unknownKeys: () => list.all(),
    oldestUnknownKeyRequest(writeKey: string): UnknownKeyRequest | null {
      const row = oldest.get(writeKey);
      return row === undefined ? null : { ...row, headers: JSON.parse(row.headers) as [string, string][] };
    },
    forgetUnknownKeyRequest: (id: number): void => void remove.run(id),
    forgetUnknownKey: (writeKey: string): void => void removeAll.run(writeKey),
  };
}
