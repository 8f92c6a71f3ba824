/**
 * The HTTP side of the ingest port: `node:http`, with a JSON answer also where it would cut a
 * connection or answer without a body; and the answers themselves. `ingest.ts` handles the requests.
 */

import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import { problem, type Problem } from "../../domain/problem.ts";
import {
  arrivalLimits,
  onBadInput,
  problemOfInput,
  refuse,
  serveRequests,
  type Handle,
} from "../http-port.ts";
import type { CommittedMessage } from "../ports.ts";
import { answerFaultOf } from "./ingest-faults.ts";
import type { AcceptedRequest } from "./accept.ts";
import { addressOf, type IngestCall } from "./read-request.ts";
import type { Refused } from "./refused-requests.ts";

/**
 * A request that takes longer to arrive is refused. Long enough for a phone, short enough to free
 * the connection.
 */
const arrival = { headersMs: 10_000, requestMs: 30_000 };

type Connection = {
  /** Whose answers have not been sent yet. */
  open: Set<ServerResponse>;
  newest: ServerResponse;
};

/** `onRefused` is called for input that `handle` does not get. */
export function createIngestServer(
  handle: Handle,
  onRefused: (refused: Refused) => void,
  limits = arrival,
): Server {
  const connections = new WeakMap<Socket, Connection>();
  /** Each further chunk of what they send is an error too. */
  const refusing = new WeakSet<Socket>();

  const server = createServer({ ...arrivalLimits(limits), keepAliveTimeout: 60_000 });
  // A client may close its side after its request and still wait for the answer. Node has no option
  // for this, only the property.
  Object.assign(server, { httpAllowHalfOpen: true });

  const begin = (socket: Socket, newest: ServerResponse): Connection => {
    const connection = { open: new Set<ServerResponse>(), newest };
    connections.set(socket, connection);
    return connection;
  };
  const record: Handle = ({ socket }, response) => {
    const connection = connections.get(socket) ?? begin(socket, response);
    connection.open.add(response);
    connection.newest = response;
    response.on("close", () => {
      connection.open.delete(response);
      // After the server has been closed, each answer is the last of its connection, or a busy
      // client would keep it open.
      if (!server.listening) server.closeIdleConnections();
    });
  };
  server.on("request", record);
  server.on("checkExpectation", record);
  const refuseRequest = (response: ServerResponse, wrong: Problem): void => {
    onRefused({ ...callerOf(response.req), problem: wrong });
    problemAnswer(response, wrong);
  };
  const refuseSocket = (
    socket: Socket,
    wrong: Problem,
    request: Partial<ReturnType<typeof callerOf>> = {},
  ): void => {
    onRefused({ address: addressOf({ socket }), ...request, problem: wrong });
    refuse(socket, wrong, failure, reasonPhrase(wrong));
  };
  serveRequests(
    server,
    (request, response) => {
      const { expect } = request.headers;
      if (expect === undefined || /(?:^|\W)100-continue(?:$|\W)/i.test(expect))
        return handle(request, response);
      request.resume();
      refuseRequest(
        response,
        problem(
          417,
          "unknown_expectation",
          `\`Expect: ${expect}\` is not supported. Leave it out.`,
        ),
      );
    },
    refuseRequest,
  );
  server.on("connect", (request, socket: Socket) => {
    const wrong = "This port is not a proxy: it accepts POST, not CONNECT.";
    refuseSocket(socket, problem(405, "not_a_proxy", wrong), callerOf(request));
  });
  onBadInput(server, (error, socket) => {
    if (refusing.has(socket)) return;
    refusing.add(socket);
    const wrong = problemOfInput(error, socket);
    if (wrong === null) {
      socket.destroy();
      return;
    }
    const { open = [], newest } = connections.get(socket) ?? {};
    const broken = newest?.req.complete === false ? newest : undefined;
    // Complete requests before the broken one get their answers first.
    const before = [...open].filter((response) => response !== broken);
    void Promise.all(
      before.map((response) => new Promise((resolve) => response.once("close", resolve))),
    ).then(() => {
      if (broken?.headersSent === true) socket.destroy();
      else if (newest === undefined && isTlsHello(error)) refuseSocket(socket, tlsOnPlainPort);
      else
        refuseSocket(
          socket,
          { ...wrong, code: "invalid_http" },
          broken === undefined ? {} : callerOf(broken.req),
        );
    });
  });
  return server;
}

/**
 * TLS clients do not show an answer in plain HTTP, but they say what it means: Go "server gave HTTP
 * response to HTTPS client", OpenSSL "wrong version number". A TLS alert would be reported as a
 * mismatch of versions or ciphers (docs/decisions/0025).
 */
const tlsOnPlainPort = problem(
  400,
  "tls_on_plain_port",
  "This port is plain HTTP, and the client speaks TLS. Use http://, not https://.",
);

/** The first record of TLS is a handshake, type 22, of version 3. */
function isTlsHello({ rawPacket }: { rawPacket?: Buffer }): boolean {
  return rawPacket?.[0] === 22 && (rawPacket.length === 1 || rawPacket[1] === 3);
}

export function callerOf(request: IncomingMessage) {
  const { method, url, headers } = request;
  return { address: addressOf(request), method, url, userAgent: headers["user-agent"] };
}

const maxReasonLength = 160;

/**
 * The reason phrase of a refusal: most clients show no more of an answer than its status line. Only
 * printable ASCII, because it may contain what a client sent.
 */
export function reasonPhrase(
  { status, message }: Problem,
  brief = message.replace(/\.$/, ""),
): string {
  const text = brief.replace(/[^\x20-\x7e]/gu, "?");
  const sentence = /^[A-Z][a-z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
  const phrase = `${STATUS_CODES[status] ?? "Refused"}: ${sentence}`;
  return phrase.length <= maxReasonLength ? phrase : `${phrase.slice(0, maxReasonLength - 3)}...`;
}

export const success = JSON.stringify({ success: true });

export function send(response: ServerResponse, status: number, body: string | null): void {
  if (response.headersSent || response.destroyed) return;
  if (answerFaultOf(response, () => send(response, status, body))) return;
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

/** `brief` is for the reason phrase, when it is not the problem's sentence. */
export function problemAnswer(response: ServerResponse, refusal: Problem, brief?: string): void {
  const { status, code, message } = refusal;
  response.statusMessage = reasonPhrase(refusal, brief);
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

export function unknownPath(path: string): Problem {
  return problem(
    404,
    "unknown_path",
    `${shortened(path)} is not an ingest path. Send messages to /v1/batch, /v1/identify, /v1/track, /v1/page, /v1/screen, /v1/group or /v1/alias.`,
  );
}

export function wrongMethod(path: string, method = "that"): Problem {
  return problem(405, "method_not_allowed", `${shortened(path)} accepts POST, not ${method}.`);
}

function shortened(path: string): string {
  return path.length <= 200 ? path : `${path.slice(0, 200)}…`;
}

/**
 * What becomes of a request with an unknown key: it is stored for the user to adopt the key; its
 * key is too long for a source, or has a colon; or it is a call for settings, which has nothing to
 * store.
 */
type UnknownKeyFate = "kept" | "too-long" | "colon" | "settings";

/** With the part of it that fits into a reason phrase. */
export function unknownKeyProblem(
  writeKey: string,
  fate: UnknownKeyFate,
): { wrong: Problem; brief: string } {
  const inReason = writeKey.length > 40 ? `${writeKey.slice(0, 40)}...` : writeKey;
  const sentences: Record<UnknownKeyFate, string> = {
    kept: `No source has the write key ${JSON.stringify(writeKey)}. Create one, or adopt the key in the inspector; Hookyard has stored this request for it.`,
    "too-long": `No source has the write key ${JSON.stringify(writeKey.slice(0, 20))}…, which is too long for one: ${writeKey.length} characters.`,
    colon: `No source has the write key ${JSON.stringify(writeKey)}, and none can have it: it has a colon, which ends the user name of Basic authorization. Use the part before the colon, or another key.`,
    settings: `No source has the write key ${JSON.stringify(writeKey.slice(0, 200))}. Create a source with this key, or use the key of a source.`,
  };
  return {
    wrong: problem(401, "unknown_write_key", sentences[fate]),
    brief: `No source has the write key ${inReason}`,
  };
}

export const missingKey = problem(
  401,
  "missing_write_key",
  "The request has no write key. Send it as the user name of Basic authorization, with an empty password; beside a bearer token, as `writeKey` in the body.",
);

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
function browserSettings(writeKey: string, host: string, protocol: "http" | "https"): string {
  return JSON.stringify({
    integrations: {
      "Segment.io": {
        apiKey: writeKey,
        apiHost: `${host}/v1`,
        protocol,
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

/**
 * What RudderStack's browser library requests before it sends: a source without destinations and
 * without reports to others.
 */
function sourceConfig(writeKey: string): string {
  return JSON.stringify({
    source: {
      id: writeKey,
      name: writeKey,
      writeKey,
      enabled: true,
      config: {
        statsCollection: { errors: { enabled: false }, metrics: { enabled: false } },
      },
      destinations: [],
    },
  });
}

/**
 * What a browser library asks for before it sends. It shall send as it asked: through a proxy too,
 * which may have ended TLS, and which knows this port by a prefix.
 */
export function settingsAnswer(
  call: Extract<IngestCall, { call: "settings" | "sourceConfig" }>,
  writeKey: string,
  { headers, socket }: IncomingMessage,
): string {
  if (call.call === "sourceConfig") return sourceConfig(writeKey);
  const { host = "127.0.0.1", "x-forwarded-host": asked = host } = headers;
  // A proxy that gave this port's own address sends its pages straight to it, without TLS.
  const isTlsBefore = asked === host && headers["x-forwarded-proto"] === "https";
  const protocol = "encrypted" in socket || isTlsBefore ? "https" : "http";
  return browserSettings(writeKey, host + call.prefix, protocol);
}
