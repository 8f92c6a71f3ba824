/**
 * The ingest port: accepts messages over the API that client libraries speak, and can do nothing
 * else. It answers success once the messages are committed. Created by `app.ts`; the control API
 * adopts and replays through it.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import {
  maxWriteKeyLength,
  type Destination,
  type Settings,
  type Source,
} from "../../domain/configuration.ts";
import { messageIds, type MessageRowId } from "../../domain/ids.ts";
import { isProblem, notFound, problem, type Problem } from "../../domain/problem.ts";
import type { Activity, Origin } from "../clock/activity.ts";
import type { Clock } from "../clock/clock.ts";
import type { Changes } from "../pipeline.ts";
import type { CommittedMessage, IngestStore, QueryStore } from "../ports.ts";
import type { RoutedMessage } from "../route/decision.ts";
import type { Atomically, WritingTurns } from "../profile-ports.ts";
import { headerPairs } from "../http-port.ts";
import { storeFailure } from "../store-failure.ts";
import { createPeak, createTurnBudget, wallClockNow } from "../real-time.ts";
import {
  acceptRequest,
  recordMalformed,
  replayedFrom,
  type AcceptedMessage,
  type AcceptedRequest,
  type RequestFacts,
} from "./accept.ts";
import { createAdoption } from "./adoption.ts";
import { browserFileAt, sendBrowserFile } from "./browser-library.ts";
import { CommitQueue } from "./commit-queue.ts";
import {
  batchAnswer,
  callerOf,
  createIngestServer,
  missingKey,
  problemAnswer,
  send,
  settingsAnswer,
  success,
  unknownKeyProblem,
  unknownPath,
  writeCors,
  wrongMethod,
} from "./ingest-server.ts";
import { createIngestListeners, type ListenerOptions } from "./ingest-listeners.ts";
import { applyFault, createFaults } from "./ingest-faults.ts";
import { pixelBody, sendPixel } from "./pixel.ts";
import {
  addressOf,
  decompress,
  keyInBody,
  keyInHeader,
  maxRequestBytes,
  parseBody,
  parsePath,
  readBody,
  replayBody,
  splitTarget,
} from "./read-request.ts";
import type { IngestCall, ParsedBody } from "./read-request.ts";
import type { Refused } from "./refused-requests.ts";

/**
 * Bytes that are parsed and checked in one turn of the event loop: as many as one request may have.
 */
const parsedPerTurn = maxRequestBytes;

type IngestOptions = {
  store: IngestStore & Atomically & WritingTurns & Pick<QueryStore, "messageSource">;
  configuration: {
    sourceByWriteKey(key: string): Source | undefined;
    source(id: Source["id"]): Source | undefined;
    destinationsOf(id: Source["id"]): readonly Destination[];
    settings(): Settings;
  };
  clock: Clock;
  activity: Activity;
  changes: Changes;
  isSuppressed: (userId: string) => boolean;
  onCommitted: (messages: CommittedMessage[], origin: Origin) => void;
  onRefused: (refused: Refused) => void;
  report: (error: unknown) => void;
} & ListenerOptions;

type Received = {
  request: IncomingMessage;
  response: ServerResponse;
  call: Extract<IngestCall, { call: "batch" } | { call: "single" }>;
  query: URLSearchParams;
  body: Buffer;
};

type AboutRefused = Pick<Refused, "body" | "writeKey" | "sourceId" | "status">;

/** In a header or in the query. */
function keyBeside({ headers }: IncomingMessage, query: URLSearchParams): string | null {
  return keyInHeader(headers.authorization) ?? (query.get("writeKey") || null);
}

function keyOf(parsed: ReturnType<typeof parseBody>): string | null {
  return isProblem(parsed) ? (parsed.writeKey ?? null) : keyInBody(parsed.root);
}

export class Ingest {
  readonly #options: IngestOptions;
  readonly #queue: CommitQueue;
  readonly #listeners: ReturnType<typeof createIngestListeners>;
  readonly #turnFor = createTurnBudget(parsedPerTurn);
  readonly #faultOf: ReturnType<typeof createFaults>;
  readonly #peak = createPeak();
  readonly #adoption: ReturnType<typeof createAdoption>;

  constructor(options: IngestOptions) {
    this.#options = options;
    this.#faultOf = createFaults(
      () => options.configuration.settings().seed,
      () => options.clock.now(),
    );
    this.#adoption = createAdoption({ ...options, factsOf: (source) => this.#facts(source) });
    this.#queue = new CommitQueue({
      store: options.store,
      activity: options.activity,
      onCommitted: (committed, origin) => options.onCommitted(committed.flat(), origin),
      report: options.report,
    });
    const server = createIngestServer((request, response) => {
      this.#handle(request, response).catch((error: unknown) => {
        const failure = storeFailure(error);
        if (failure === null) options.report(error);
        problemAnswer(
          response,
          failure ??
            problem(500, "internal", "Hookyard has a bug. Standard error has the details."),
        );
      });
    }, options.onRefused);
    this.#listeners = createIngestListeners(server, options, (socket, wrong) =>
      options.onRefused({ address: addressOf({ socket }), problem: wrong, status: null }),
    );
  }

  start(): Promise<{ url: string; tlsUrl: string | null }> {
    return this.#listeners.start();
  }

  /** Gives requests in progress a moment to end. */
  stop(): Promise<void> {
    return this.#listeners.stop();
  }

  /** Accepts what was kept for a write key that now belongs to a source. */
  adopt(writeKey: string): Promise<void> {
    return this.#adoption.adopt(writeKey);
  }

  /** Resolves when everything accepted by now is committed, or has failed. */
  async committed(): Promise<void> {
    await Promise.all([this.#queue.drained(), this.#adoption.committed()]);
  }

  async replay(id: MessageRowId): Promise<{ id: MessageRowId; messageId: string } | Problem> {
    const again = this.#again(id);
    if (isProblem(again)) return again;
    const [message] = await this.#queue.add(again.request);
    if (message === undefined) throw new Error("a replay committed no message");
    return { id: message.id, messageId: message.messageId };
  }

  /** To one destination, with its own `messageId`. Null when the message does not go there now. */
  sendAgain(
    id: MessageRowId,
    messageId: string,
    destination: Destination,
  ): Promise<CommittedMessage[]> | null {
    const again = this.#again(id, { destinations: [destination] }, messageId);
    if (isProblem(again) || again.message.rejection !== null) return null;
    const { request, message } = again;
    if (!message.route().decisions.some(({ routed }) => routed)) return null;
    message.deduplicate = false;
    return this.#queue.add(request);
  }

  /** How routing would decide now for a message on record, with destinations that may differ. */
  routedAgain(id: MessageRowId, destinations: readonly Destination[]): RoutedMessage | Problem {
    const again = this.#again(id, { destinations });
    return isProblem(again) ? again : again.message.route();
  }

  /** A request with nothing but that message. */
  #again(
    id: MessageRowId,
    more: Partial<RequestFacts> = {},
    messageId?: string,
  ): { request: AcceptedRequest; message: AcceptedMessage } | Problem {
    const origin = this.#options.store.messageSource(id);
    if (origin === null) return notFound("message", messageIds.format(id));
    const source = this.#options.configuration.source(origin.request.sourceId);
    if (source === undefined)
      return problem(
        409,
        "source_deleted",
        "The message's source has been deleted, so a replay has no source.",
      );
    const call = parsePath(splitTarget(origin.request.path).path);
    const typeFromPath = call?.call === "single" ? call.type : null;
    const body = replayBody(origin.request.body, origin.span, typeFromPath === null, messageId);
    if (isProblem(body)) return body;
    const parsed = parseBody(body, typeFromPath === null);
    if (isProblem(parsed)) return parsed;
    const { method, path, headers, ip } = origin.request;
    const facts = {
      ...this.#facts(source),
      typeFromPath,
      method,
      path,
      headers,
      ip,
      body,
      replayOf: id,
      replayed: replayedFrom(origin),
      arrivedFirst: origin.request,
      ...(messageId === undefined
        ? {}
        : { arrivedAt: origin.timestamp ?? origin.request.receivedAt }),
      ...more,
    };
    const request = acceptRequest(facts, parsed);
    return { request, message: request.messages[0] as AcceptedMessage };
  }

  /** The most requests that came within one second of real time. */
  get peakRequests(): number {
    return this.#peak.most();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#peak.note();
    writeCors(request, response);
    if (request.method === "OPTIONS") return send(response, 204, null);
    const { path, query } = splitTarget(request.url ?? "/");
    const call = parsePath(path);
    if (call?.call === "settings" || call?.call === "sourceConfig") {
      request.resume();
      const writeKey = call.call === "settings" ? call.writeKey : (keyBeside(request, query) ?? "");
      if (this.#refusesKey(writeKey)) {
        const { wrong, brief } = unknownKeyProblem(writeKey, "settings");
        return this.#refuse(response, wrong, { writeKey, brief });
      }
      return send(response, 200, settingsAnswer(call, writeKey, request));
    }
    const file = browserFileAt(path);
    if (file !== null) {
      request.resume();
      const hasSource = (key: string): boolean =>
        this.#options.configuration.sourceByWriteKey(key) !== undefined;
      const noteRefused = (wrong: Problem, writeKey?: string): void =>
        this.#noteRefused(request, wrong, { writeKey });
      return sendBrowserFile({ file, hasSource, noteRefused, request, response });
    }
    if (call?.call === "single" && call.isPixel === true) {
      request.resume();
      return this.#pixel({ request, response, call, query });
    }
    const sent = await readBody(request);
    if (sent === null) return;
    const key = keyBeside(request, query);
    const known = key === null ? undefined : this.#options.configuration.sourceByWriteKey(key);
    const about: AboutRefused = {
      body: isProblem(sent) ? null : sent,
      writeKey: key,
      sourceId: known?.id ?? null,
    };
    if (call === null) {
      return this.#refuse(response, unknownPath(path), about);
    }
    if (request.method !== "POST" && request.method !== "PUT") {
      response.setHeader("Allow", "POST, PUT, OPTIONS");
      return this.#refuse(response, wrongMethod(path, request.method), about);
    }
    if (call.call === "metrics") return send(response, 200, success);

    if (known !== undefined && known.faults.length > 0)
      if (await this.#meetsFault(known, response, about)) return;

    const encoding = request.headers["content-encoding"];
    const body =
      isProblem(sent) || encoding === undefined ? sent : await decompress(sent, encoding);
    const turn = isProblem(body) ? null : this.#turnFor(body.length);
    if (turn !== null) await turn;
    const parsed = isProblem(body) ? body : parseBody(body, call.call === "batch");
    const writeKey = key ?? keyOf(parsed);
    about.writeKey = writeKey;
    let source = known;
    if (key === null && writeKey !== null) {
      source = this.#options.configuration.sourceByWriteKey(writeKey);
      about.sourceId = source?.id ?? null;
      if (source !== undefined && (await this.#meetsFault(source, response, about))) return;
    }
    if (isProblem(body) || isProblem(parsed)) {
      const refused = isProblem(body) ? body : (parsed as Problem);
      const current = source && this.#current(source);
      if (current !== undefined) {
        const bytes = isProblem(body) ? (isProblem(sent) ? Buffer.alloc(0) : sent) : body;
        await this.#queue.add(
          recordMalformed(
            this.#requestFacts(current, { request, response, call, query, body: bytes }),
            refused,
          ),
        );
      }
      return this.#refuse(response, refused, isProblem(body) ? about : { ...about, body });
    }

    const received: Received = { request, response, call, query, body };
    if (source === undefined) return this.#unknownKey(writeKey, received);
    return this.#accept(source, received, parsed);
  }

  async #pixel({ request, response, call, query }: Omit<Received, "body">): Promise<void> {
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("Allow", "GET, HEAD, OPTIONS");
      const message = `A pixel call is a GET, not a ${request.method ?? "request like that"}.`;
      return this.#refuse(response, problem(405, "method_not_allowed", message), {});
    }
    if (request.method === "HEAD") return sendPixel(response);
    const read = pixelBody(query);
    const body = isProblem(read) ? Buffer.alloc(0) : read;
    const parsed = isProblem(read) ? read : parseBody(body, false);
    const key = keyBeside(request, query) ?? keyOf(parsed);
    const known = key === null ? undefined : this.#options.configuration.sourceByWriteKey(key);
    const received: Received = { request, response, call, query, body };
    const about: AboutRefused = { body, writeKey: key, sourceId: known?.id ?? null, status: 200 };
    if (isProblem(parsed)) this.#noteRefused(request, parsed, about);
    if (known !== undefined)
      if (await this.#meetsFault(known, response, { body, writeKey: key })) return;
    const source = known && this.#current(known);
    if (source === undefined) {
      sendPixel(response);
      // Its answer comes too late. It keeps the request, so that the user can adopt the key.
      return isProblem(parsed) ? undefined : this.#unknownKey(key, received);
    }
    const facts = this.#requestFacts(source, received);
    await this.#queue.add(
      isProblem(parsed) ? recordMalformed(facts, parsed) : acceptRequest(facts, parsed),
    );
    sendPixel(response);
  }

  /**
   * A request may have waited: its source has been deleted meanwhile, or, after a reset, another
   * has its id.
   */
  #current({ writeKey }: Source): Source | undefined {
    return this.#options.configuration.sourceByWriteKey(writeKey);
  }

  async #accept(known: Source, received: Received, parsed: ParsedBody): Promise<void> {
    const { response, call, body } = received;
    const source = this.#current(known);
    if (source === undefined) return this.#unknownKey(known.writeKey, received);
    if (parsed.items.length === 0) return send(response, 200, success);
    const incoming = acceptRequest(this.#requestFacts(source, received), parsed);
    const committed = await this.#queue.add(incoming);
    const rejection = call.call === "single" ? (incoming.messages[0]?.rejection ?? null) : null;
    const isProduction = source.mode === "production";
    // A suppressed user is no mistake of the caller: the answer stays 200 and says what happened.
    const isRefused = isProduction
      ? rejection?.reason === "message_too_large"
      : rejection?.reason !== "suppressed";
    if (rejection !== null && isRefused)
      return this.#refuse(response, problem(400, rejection.reason, rejection.detail), {
        body,
        writeKey: source.writeKey,
        sourceId: source.id,
      });
    return send(response, 200, isProduction ? success : batchAnswer(incoming, committed));
  }

  /**
   * Keeps the request for the user to adopt. The answer says so, or is that of the hosted service.
   */
  #unknownKey(writeKey: string | null, { request, response, body }: Received): void {
    const { store, clock, changes, configuration } = this.#options;
    const isProduction = configuration.settings().unknownKeys === "production";
    const about = { body, writeKey, ...(isProduction ? { status: 200 } : {}) };
    const answer = (wrong: Problem, brief?: string): void =>
      isProduction ? send(response, 200, success) : problemAnswer(response, wrong, brief);
    if (writeKey === null || writeKey === "") {
      this.#noteRefused(request, missingKey, about);
      return answer(missingKey);
    }
    const isTooLong = writeKey.length > maxWriteKeyLength;
    const fate = isTooLong ? "too-long" : writeKey.includes(":") ? "colon" : "kept";
    const { wrong, brief } = unknownKeyProblem(writeKey, fate);
    if (fate === "kept") {
      const kept = {
        writeKey,
        receivedAt: clock.now(),
        wallAt: wallClockNow(),
        method: request.method ?? "POST",
        path: request.url ?? "/",
        headers: headerPairs(request.rawHeaders),
        ip: addressOf(request),
        body,
      };
      store.keepUnknownKeyRequest(kept, configuration.settings().maxUnknownKeyBytes);
      changes.note("unknown-keys", writeKey, true);
    } else this.#noteRefused(request, wrong, about);
    answer(wrong, brief);
  }

  #refusesKey(writeKey: string): boolean {
    const { configuration } = this.#options;
    return (
      configuration.settings().unknownKeys === "explain" &&
      configuration.sourceByWriteKey(writeKey) === undefined
    );
  }

  #refuse(
    response: ServerResponse,
    wrong: Problem,
    { brief, ...about }: AboutRefused & { brief?: string },
  ): void {
    this.#noteRefused(response.req, wrong, about);
    problemAnswer(response, wrong, brief);
  }

  #noteRefused(request: IncomingMessage, wrong: Problem, about: AboutRefused): void {
    this.#options.onRefused({ ...callerOf(request), ...about, problem: wrong });
  }

  async #meetsFault(
    source: Source,
    response: ServerResponse,
    about: AboutRefused,
  ): Promise<boolean> {
    if (source.faults.length === 0) return false;
    const { socket } = response.req;
    const fault = await applyFault(source, this.#faultOf(source), socket, response);
    if (fault === null || fault === "cut") return fault !== null;
    if (fault.status >= 400 && fault.status < 500)
      this.#noteRefused(response.req, fault, { ...about, sourceId: source.id });
    problemAnswer(response, fault);
    return true;
  }

  #facts(source: Source) {
    const { clock, configuration, isSuppressed } = this.#options;
    return {
      source,
      destinations: configuration.destinationsOf(source.id),
      seed: configuration.settings().seed,
      receivedAt: clock.now(),
      wallAt: wallClockNow(),
      isSuppressed,
      settings: configuration.settings(),
    };
  }

  #requestFacts(source: Source, { request, call, body }: Received): RequestFacts {
    return {
      ...this.#facts(source),
      typeFromPath: call.call === "single" ? call.type : null,
      method: request.method ?? "POST",
      path: request.url ?? "/",
      headers: headerPairs(request.rawHeaders),
      ip: addressOf(request),
      body,
    };
  }
}
