/**
 * The HTTP side of the ingest port: `node:http`, with a JSON answer also where it would cut a
 * connection or answer without a body; the answers themselves; and the faults of a source, which
 * spoil them on demand. `ingest.ts` handles the requests.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { IngestFault, Source } from "../../domain/configuration.ts";
import { problem, type Problem } from "../../domain/problem.ts";
import { drawUnit } from "../../domain/random.ts";
import { arrivalLimits, problemOfInput, refuse, serveRequests, type Handle } from "../http-port.ts";
import type { CommittedMessage } from "../ports.ts";
import { startTimer } from "../real-time.ts";
import type { AcceptedRequest } from "./accept.ts";

/**
 * A request that takes longer to arrive is refused. Long enough for a phone, short enough to free
 * the connection.
 */
const arrival = { headersMs: 10_000, requestMs: 30_000 };

type Exchange = { request: IncomingMessage; response: ServerResponse };

export function createIngestServer(handle: Handle, limits = arrival): Server {
  /** Requests of a connection whose answer has not been sent yet. */
  const open = new WeakMap<Socket, Set<ServerResponse>>();
  const newest = new WeakMap<Socket, Exchange>();

  const server = createServer({ ...arrivalLimits(limits), keepAliveTimeout: 60_000 });
  // A client may close its side after its request and still wait for the answer. Node has no option
  // for this, only the property.
  Object.assign(server, { httpAllowHalfOpen: true });

  const record: Handle = (request, response) => {
    const { socket } = request;
    const responses = open.get(socket) ?? new Set();
    open.set(socket, responses.add(response));
    newest.set(socket, { request, response });
    response.once("close", () => responses.delete(response));
    // After the server has been closed, each answer is the last of its connection, or a busy client
    // would keep it open.
    response.once("finish", () => {
      if (!server.listening) server.closeIdleConnections();
    });
  };
  server.on("request", record);
  server.on("checkExpectation", record);
  serveRequests(
    server,
    (request, response) => {
      const { expect } = request.headers;
      if (expect === undefined || /(?:^|\W)100-continue(?:$|\W)/i.test(expect))
        return handle(request, response);
      request.resume();
      problemAnswer(
        response,
        problem(
          417,
          "unknown_expectation",
          `\`Expect: ${expect}\` is not supported. Leave it out.`,
        ),
      );
    },
    problemAnswer,
  );
  server.on("connect", (_request, socket: Socket) => {
    refuse(
      socket,
      problem(405, "method_not_allowed", "This port is not a proxy: it accepts POST, not CONNECT."),
      failure,
    );
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    const wrong = problemOfInput(error, socket);
    if (wrong === null) {
      socket.destroy();
      return;
    }
    const last = newest.get(socket);
    const broken = last === undefined || last.request.complete ? undefined : last.response;
    // Complete requests before the broken one get their answers first.
    const before = [...(open.get(socket) ?? [])].filter((response) => response !== broken);
    void Promise.all(
      before.map((response) => new Promise((resolve) => response.once("close", resolve))),
    ).then(() => {
      if (broken?.headersSent === true) socket.destroy();
      else refuse(socket, { ...wrong, code: "invalid_http" }, failure);
    });
  });
  return server;
}

export const success = JSON.stringify({ success: true });

export function send(response: ServerResponse, status: number, body: string | null): void {
  if (response.headersSent || response.destroyed) return;
  if (body === null) {
    response.writeHead(status);
    response.end();
    return;
  }
  response.writeHead(status, {
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(body),
  });
  response.end(body);
}

export function problemAnswer(response: ServerResponse, refusal: Problem): void {
  const { status, code, message } = refusal;
  send(response, status, JSON.stringify({ ...failure, code, message }));
}

/**
 * The first members of a problem's answer. Clients parse `code` and `message`, so both are always
 * strings.
 */
const failure = { success: false };

/**
 * A batch's answer lists at most this many rejected messages, and as many duplicates. When there
 * are more, it gives their number.
 */
const maxListed = 100;

/**
 * The answer in `explain` mode: which messages were not accepted, by their index in the request.
 */
export function batchAnswer(
  { messages, surplus }: AcceptedRequest,
  committed: CommittedMessage[],
): string {
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
      for (let at = 0; at < count && rejected.length < maxListed; at += 1)
        rejected.push({ index: index + at, reason, message });
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

/** `isKept`: the request was kept for the user to adopt the key. */
export function unknownKeyProblem(writeKey: string | null, isKept: boolean): Problem {
  if (writeKey === null || writeKey === "") {
    const message =
      "The request has no write key. Send it as the user name of Basic authorization, with an empty password.";
    return problem(401, "missing_write_key", message);
  }
  const message = isKept
    ? `No source has the write key ${JSON.stringify(writeKey)}. Create one, or adopt the key in the inspector; Hookyard has stored this request for it.`
    : `No source has the write key ${JSON.stringify(writeKey.slice(0, 20))}…, which is too long for one: ${writeKey.length} characters.`;
  return problem(401, "unknown_write_key", message);
}

/** A day: browsers shorten it to their own limit. */
const preflightAgeSeconds = 86_400;

/**
 * CORS headers as browser libraries need them: any origin, with credentials, also from a public
 * page to this machine.
 */
export function writeCors(request: IncomingMessage, response: ServerResponse): void {
  const { origin } = request.headers;
  if (origin === undefined) return;
  response.setHeader("Access-Control-Allow-Origin", origin);
  response.setHeader("Access-Control-Allow-Credentials", "true");
  response.setHeader("Vary", "Origin");
  if (request.method !== "OPTIONS") return;
  response.setHeader("Access-Control-Allow-Methods", "GET, POST, PUT, OPTIONS");
  response.setHeader(
    "Access-Control-Allow-Headers",
    request.headers["access-control-request-headers"] ?? "Content-Type, Authorization",
  );
  response.setHeader("Access-Control-Max-Age", String(preflightAgeSeconds));
  if (request.headers["access-control-request-private-network"] !== undefined)
    response.setHeader("Access-Control-Allow-Private-Network", "true");
}

/**
 * The settings that the browser library requests before it sends: all events go to this port and
 * nowhere else.
 */
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

/** The delays of faults that a request meets, and the fault that ends it. */
type MetFault = { delayMs: number; end: IngestFault | null };

/** Separates the draws of ingest faults from all other draws of the same seed. */
const drawsOfIngest = 0x1f;

/**
 * Which faults each request of a source meets. Counts start at zero again when a source's faults
 * are changed.
 */
export function createFaults(seed: () => number): (source: Source) => MetFault {
  const progress = new WeakMap<IngestFault, { seen: number; served: number }>();
  return (source) => {
    let delayMs = 0;
    for (const [place, fault] of source.faults.entries()) {
      const count = progress.get(fault) ?? { seen: 0, served: 0 };
      progress.set(fault, count);
      if (fault.times !== undefined && count.served >= fault.times) continue;
      count.seen += 1;
      if (
        fault.chance !== undefined &&
        drawUnit(seed(), drawsOfIngest, source.id, place, count.seen) >= fault.chance
      )
        continue;
      count.served += 1;
      delayMs += fault.delayMs ?? 0;
      if (fault.do !== "delay") return { delayMs, end: fault };
    }
    return { delayMs, end: null };
  };
}

/** Delays the request, and ends it when a fault says so. Returns whether it has ended. */
export async function applyFault(
  source: Source,
  { delayMs, end }: MetFault,
  socket: Socket,
  response: ServerResponse,
): Promise<boolean> {
  if (delayMs > 0) {
    await new Promise<void>((resolve) => {
      const timer = startTimer(delayMs, resolve);
      socket.once("close", () => {
        timer.cancel();
        resolve();
      });
    });
  }
  if (end === null) return false;
  if (end.do === "cut") socket.destroy();
  else {
    const status = end.status ?? 500;
    if (end.retryAfter !== undefined) response.setHeader("Retry-After", String(end.retryAfter));
    problemAnswer(
      response,
      problem(
        status,
        "fault",
        `This response is intended: the source ${source.name} has a fault that answers ${status}.`,
      ),
    );
  }
  return true;
}
