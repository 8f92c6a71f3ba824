/**
 * Stores what the ingest port accepts: all requests of a commit in one transaction, each message
 * with its decisions, payloads and queued deliveries, or none of it.
 */

import type { MessageRowId } from "../domain/ids.ts";
import type {
  CommittedMessage,
  IncomingRequest,
  IngestStore,
  NewMessage,
  UnknownKey,
  UnknownKeyRequest,
} from "../engine/ports.ts";
import type { Decision, FilteredDecision } from "../engine/route/decision.ts";
import { filteredShape, shapeCode, stateCode, typeCode } from "./codes.ts";
import type { Counts } from "./counts.ts";
import { Duplicates } from "./duplicates.ts";
import { committingRequests, type MappedRequests } from "./mapped-requests.ts";
import type { Postings } from "./postings.ts";
import type { UpkeepStore } from "../engine/store-ports.ts";
import type { RequestBodies } from "./request-bodies.ts";
import { withoutSharedPart } from "./shared-bytes.ts";
import type { Transactions, Db } from "./transactions.ts";

/**
 * What is kept of requests with an unknown write key: enough to adopt a client that has been
 * misconfigured for a while.
 */
const maxUnknownKeyRequests = 1000;

/** What the row of a message, its place in postings and its reason take, roughly. */
const rowBytes = 512;

const queued = stateCode("queued");
const waiting = stateCode("waiting");
const rejected = stateCode("rejected");
const duplicate = stateCode("duplicate");
const filtered = stateCode("filtered");

type Routed = ReturnType<NewMessage["route"]>;

const noDecisions: readonly Decision[] = [];

type IngestStoreOptions = {
  db: Db;
  bodies: RequestBodies;
  mapped: MappedRequests;
  counts: Counts;
  postings: Postings;
  transactions: Transactions;
};

export function createIngestStore({
  db,
  bodies,
  mapped,
  counts,
  postings,
  transactions,
}: IngestStoreOptions): IngestStore & Pick<UpkeepStore, "prepareLookups"> {
  const newest = newestRows(db);
  /** Known to this object alone, so that nothing is asked of the database for each message. */
  let next = newest();
  const duplicates = new Duplicates({ db, postings, newestReceivedAt: () => next.receivedAt });
  transactions.onReload(() => {
    next = newest();
    duplicates.reload();
  });
  const insert = inserting(db);
  const countsFor = countingReplays(db);
  const commitRequestOf = committingRequests(db, counts, mapped);

  /** What the newest commit has added to `duplicates`. */
  let added: Parameters<Duplicates["remove"]>[] = [];

  /** Before the first change of a commit: what to do when its transaction fails. */
  function prepareRollback(): void {
    const before = { ...next };
    const ofCommit: typeof added = [];
    added = ofCommit;
    transactions.changes({
      rollback() {
        for (const each of ofCommit.reverse()) duplicates.remove(...each);
        next = before;
      },
    });
  }

  function commitRequest(request: IncomingRequest): CommittedMessage[] {
    const requestId = next.request++;
    next.receivedAt = Math.max(next.receivedAt, request.receivedAt);
    const headers = JSON.stringify(request.headers);
    insert.request(requestId, request, headers, next.message);
    bodies.add(requestId, request.body);
    const inMessages = request.messages.reduce((sum, { size }) => sum + size, 0);
    const frame = {
      bytes: headers.length + request.path.length + request.body.length - inMessages,
    };
    return request.messages.map((message) => commitMessage(request, requestId, message, frame));
  }

  /**
   * `frame`: the bytes of the request around its messages, which count for its first message that
   * is not accepted.
   */
  function commitMessage(
    request: IncomingRequest,
    requestId: number,
    message: NewMessage,
    frame: { bytes: number },
  ): CommittedMessage {
    const id = next.message++;
    const { messageId, rejection } = message;
    const duplicateOf =
      rejection === null && message.deduplicate ? duplicates.originalOf(request, message) : null;
    const routed = rejection === null && duplicateOf === null ? message.route() : null;
    const { state, reason } = firstStateOf(rejection, routed);
    const type = typeCode(message.type);
    const plan = routed?.plan ?? null;
    const quotaBytes = routed === null ? message.size + rowBytes + frame.bytes : null;
    if (quotaBytes !== null) {
      counts.rejected(quotaBytes);
      frame.bytes = 0;
    }
    insert.message({
      id,
      requestId,
      request,
      message,
      type,
      state,
      reason,
      extra: extraOf(message, duplicateOf, plan, routed !== null && countsFor(message, plan)),
      quotaBytes,
      plan: plan === null ? null : plan.violations.length === 0 ? 1 : 0,
    });
    postings.add({
      id,
      messageId,
      userId: message.userId,
      anonymousId: message.anonymousId,
    });
    counts.message(id, null, { sourceId: request.sourceId, type, state });
    if (routed !== null) {
      const { sourceId } = request;
      added.push([messageId, sourceId, id, duplicates.add(messageId, sourceId, id)]);
      commitRouted(id, routed, request.receivedAt);
      if (routed.payloads.documented !== undefined || routed.payloads.full !== undefined)
        insert.payloads(id, routed.payloads, { ...message, body: request.body });
    }
    return {
      id: id as MessageRowId,
      messageId,
      sourceId: request.sourceId,
      duplicateOf,
      decisions: routed?.decisions ?? noDecisions,
    };
  }

  function commitRouted(id: number, { decisions }: Routed, at: number): void {
    for (const decision of decisions) {
      insert.decision(id, decision);
      if (decision.filtered !== undefined)
        insert.filtered(id, decision.destinationId, decision.filtered);
      if (!decision.routed) continue;
      if (decision.requests !== undefined) {
        const { destinationId } = decision;
        const nextId = (): number => next.delivery++;
        for (const request of decision.requests)
          commitRequestOf({ messageId: id, destinationId, request, at, nextId });
        continue;
      }
      insert.delivery(next.delivery++, id, decision, at);
      counts.delivery(decision.destinationId, queued, 1);
    }
  }

  return {
    prepareLookups: () => duplicates.loadSlice() || postings.mergeSlice(),
    commit: transactions.wrap((requests: IncomingRequest[]): CommittedMessage[][] => {
      prepareRollback();
      return requests.map(commitRequest);
    }),
    ...unknownKeys(db),
  };
}

/** Not rejected and not routed: a duplicate. A message that goes into batches alone waits for them. */
function firstStateOf(
  rejection: NewMessage["rejection"],
  routed: Routed | null,
): { state: number; reason: string | null } {
  if (rejection !== null) return { state: rejected, reason: rejection.reason };
  if (routed === null) return { state: duplicate, reason: "duplicate" };
  const { decisions, plan } = routed;
  if (!decisions.some((decision) => decision.routed))
    return { state: filtered, reason: plan?.reason ?? decisions[0]?.reason ?? "no_destination" };
  const collects = decisions.every(
    (decision) =>
      !decision.routed || decision.requests?.every(({ batch }) => batch !== null) === true,
  );
  return { state: collects ? waiting : queued, reason: null };
}

/** The ids after those of the newest rows, and when the newest message was received. */
function newestRows(db: Db) {
  const followed = db.prepare<[], string>("SELECT value FROM meta WHERE key = 'followed'").pluck();
  const receivedAt = db
    .prepare<[], number>(
      "SELECT received_at FROM messages WHERE id = (SELECT max(id) FROM messages)",
    )
    .pluck();
  const maxId = (table: string) => {
    const query = db.prepare<[], number>(`SELECT coalesce(max(id), 0) FROM ${table}`).pluck();
    return () => query.get() as number;
  };
  const [requests, messages, deliveries] = [
    maxId("requests"),
    maxId("messages"),
    maxId("deliveries"),
  ];
  return () => ({
    request: requests() + 1,
    // Retention may have removed the newest; profiles have followed all up to there.
    message: Math.max(messages(), Number(followed.get() ?? 0)) + 1,
    delivery: deliveries() + 1,
    receivedAt: receivedAt.get() ?? 0,
  });
}

type MessageValues = {
  id: number;
  requestId: number;
  request: IncomingRequest;
  message: NewMessage;
  type: number;
  state: number;
  reason: string | null;
  extra: string | null;
  quotaBytes: number | null;
  plan: number | null;
};

function inserting(db: Db) {
  const request = db.prepare("INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  const message = db.prepare(
    `INSERT INTO messages (id, request_id, offset, size, message_id, source_id, type, state, user_id, anonymous_id, event, received_at, timestamp, reason, extra, quota_bytes, plan)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const decision = db.prepare("INSERT INTO decisions VALUES (?, ?, ?, ?, ?, ?, ?)");
  const payloads = db.prepare("INSERT INTO payloads VALUES (?, ?, ?)");
  const filtered = db.prepare("INSERT INTO filtered VALUES (?, ?, ?, ?, ?)");
  const delivery = db.prepare(
    "INSERT INTO deliveries (id, message_id, destination_id, state, shape, created_at) VALUES (?, ?, ?, ?, ?, ?)",
  );
  return {
    request(
      id: number,
      { sourceId, receivedAt, wallAt, method, path, messages, body, ip }: IncomingRequest,
      headers: string,
      first: number,
    ) {
      request.run(
        id,
        sourceId,
        receivedAt,
        wallAt,
        method,
        path,
        headers,
        first,
        messages.length,
        body,
        ip,
      );
    },
    message({
      id,
      requestId,
      request,
      message: values,
      type,
      state,
      reason,
      extra,
      quotaBytes,
      plan,
    }: MessageValues) {
      message.run(
        id,
        requestId,
        values.offset,
        values.size,
        values.messageId,
        request.sourceId,
        type,
        state,
        values.userId,
        values.anonymousId,
        values.event,
        request.receivedAt,
        values.timestamp,
        reason,
        extra,
        quotaBytes,
        plan,
      );
    },
    filtered(messageId: number, destinationId: number, { filters, bodies }: FilteredDecision) {
      const text = JSON.stringify(filters);
      filtered.run(messageId, destinationId, text, bodies?.before, bodies?.after);
    },

    decision(
      messageId: number,
      { destinationId, reason, detail, warnings, payload, mappings }: Decision,
    ) {
      const warned = warnings.length > 0 ? JSON.stringify(warnings) : null;
      const decided = mappings === undefined ? null : JSON.stringify(mappings);
      decision.run(messageId, destinationId, reason, detail, warned, shapeCode(payload), decided);
    },
    payloads(messageId: number, made: Routed["payloads"], span: Parameters<typeof stored>[1]) {
      payloads.run(messageId, stored(made.documented, span), stored(made.full, span));
    },
    delivery(
      id: number,
      messageId: number,
      { destinationId, payload, filtered: by }: Decision,
      createdAt: number,
    ) {
      const shape = (by?.bodies ?? null) === null ? shapeCode(payload) : filteredShape;
      delivery.run(id, messageId, destinationId, queued, shape, createdAt);
    },
  };
}

function stored(
  payload: Uint8Array | undefined,
  span: Parameters<typeof withoutSharedPart>[1],
): Uint8Array | undefined {
  return payload === undefined ? undefined : withoutSharedPart(payload, span);
}

function extraOf(
  message: NewMessage,
  duplicateOf: MessageRowId | null,
  plan: Routed["plan"],
  counts: boolean,
): string | null {
  const { warnings, rejection, replayOf, computed, traits } = message;
  const { violations = [], dropped = [] } = plan ?? {};
  if (
    violations.length === 0 &&
    dropped.length === 0 &&
    warnings.length === 0 &&
    rejection === null &&
    duplicateOf === null &&
    replayOf === null &&
    !computed &&
    traits === null
  )
    return null;
  return JSON.stringify({
    warnings: warnings.length > 0 ? warnings : undefined,
    detail: rejection?.detail,
    duplicateOf: duplicateOf ?? undefined,
    replayOf: replayOf ?? undefined,
    counts: counts || undefined,
    computed: computed || undefined,
    traits: traits ?? undefined,
    violations: violations.length > 0 ? violations : undefined,
    dropped: dropped.length > 0 ? dropped : undefined,
    blocked: isBlocked(plan) || undefined,
  });
}

function isBlocked(plan: Routed["plan"]): boolean {
  return plan !== null && plan.reason !== null;
}

/**
 * Whether profiles follow an accepted replay: only the first one of a message that they could not
 * follow, because it was rejected, or blocked by its tracking plan. The original says so from then on.
 */
function countingReplays(db: Db): (message: NewMessage, plan: Routed["plan"]) => boolean {
  type Original = { state: number; replayOf: number | null; blocked: 1 | null; counted: 1 | null };
  const find = db.prepare<[number], Original>(
    `SELECT state, extra ->> 'replayOf' AS replayOf, extra ->> 'blocked' AS blocked, extra ->> 'counted' AS counted
     FROM messages WHERE id = ?`,
  );
  const mark = db.prepare<[number]>(
    "UPDATE messages SET extra = json_set(coalesce(extra, '{}'), '$.counted', json('true')) WHERE id = ?",
  );
  return ({ replayOf }, plan) => {
    const original = replayOf === null || isBlocked(plan) ? undefined : find.get(replayOf);
    if (replayOf === null || original === undefined) return false;
    const isLost = original.state === rejected || original.blocked !== null;
    if (!isLost || original.replayOf !== null || original.counted !== null) return false;
    mark.run(replayOf);
    return true;
  };
}

function unknownKeys(db: Db) {
  const insert = db.prepare(
    "INSERT INTO unknown_key_requests (write_key, received_at, wall_at, method, path, headers, ip, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
  );
  /**
   * Newest first, with what each takes: there are a thousand at most, and SQLite knows the length
   * of a body without reading it.
   */
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
  const shorten = db.prepare("UPDATE unknown_key_requests SET body = ? WHERE id = ?");
  const removeAll = db.prepare("DELETE FROM unknown_key_requests WHERE write_key = ?");
  return {
    keepUnknownKeyRequest: db.transaction(
      (request: Omit<UnknownKeyRequest, "id">, maxBytes: number): void => {
        const { writeKey, receivedAt, wallAt, method, path, headers, ip, body } = request;
        insert.run(writeKey, receivedAt, wallAt, method, path, JSON.stringify(headers), ip, body);
        let kept = 0;
        for (const [place, { id, bytes }] of sizes.all().entries()) {
          kept += bytes;
          if (place < maxUnknownKeyRequests && kept <= maxBytes) continue;
          removeUpTo.run(id);
          break;
        }
      },
    ),
    unknownKeys: () => list.all(),
    oldestUnknownKeyRequest(writeKey: string): UnknownKeyRequest | null {
      const row = oldest.get(writeKey);
      return row === undefined
        ? null
        : { ...row, headers: JSON.parse(row.headers) as [string, string][] };
    },
    forgetUnknownKeyRequest: (id: number): void => void remove.run(id),
    shortenUnknownKeyRequest: (id: number, body: Uint8Array): void => void shorten.run(body, id),
    forgetUnknownKey: (writeKey: string): void => void removeAll.run(writeKey),
  };
}
