/**
 * What the HTTP ports of Hookyard have in common: start and stop, the time that a request may take
 * to arrive, the number of requests that a connection may pipeline, and the answer to input that is
 * not a request.
 */

import { once } from "node:events";
import {
  STATUS_CODES,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, Server as NetServer, Socket } from "node:net";
import { problem, type Problem } from "../domain/problem.ts";
import { startTimer } from "./real-time.ts";

export type Handle = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * The options of a server whose requests must arrive within these times. Node checks for late ones
 * at an interval, 30 s by default: a tenth of the shorter time refuses them soon after they are
 * late.
 */
export function arrivalLimits({
  headersMs,
  requestMs,
}: {
  headersMs: number;
  requestMs: number;
}): ServerOptions {
  return {
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: Math.ceil(Math.min(headersMs, requestMs) / 10),
    // Each port decides for itself about a missing Host.
    requireHostHeader: false,
  };
}

/**
 * Requests of one connection that are handled in one turn of the event loop: a browser opens no
 * more than six connections.
 */
export const maxRequestsPerTurn = 16;

type Pipeline = {
  turn: number;
  handled: number;
  waiting: (() => void)[];
  newest: IncomingMessage | null;
};

const pipelines = new WeakMap<Socket, Pipeline>();

/**
 * Handles the server's requests. Of a connection that pipelines, `maxRequestsPerTurn` are handled
 * in a turn of the event loop; the others wait, and nothing more is read of it until they are
 * handled. So it does not delay other connections.
 */
export function serveRequests(
  server: Server,
  handle: Handle,
  refuseRequest: (response: ServerResponse, reason: Problem) => void,
): void {
  /** Those with requests that wait. */
  const waiting = new Map<Socket, Pipeline>();
  let turn = 0;
  let isTurnScheduled = false;

  function receive(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const pipeline = pipelines.get(socket) ?? startPipeline(socket);
    pipeline.newest = request;
    if (!isTurnScheduled) scheduleTurn();
    if (pipeline.turn !== turn) {
      pipeline.turn = turn;
      pipeline.handled = 0;
    }
    if (pipeline.handled < maxRequestsPerTurn) {
      pipeline.handled += 1;
      handleOrRefuse(request, response);
    } else {
      pipeline.waiting.push(() => handleOrRefuse(request, response));
      waiting.set(socket, pipeline);
      socket.pause();
    }
  }

  function handleOrRefuse(request: IncomingMessage, response: ServerResponse): void {
    const wrong = ambiguous(request);
    if (wrong === null) return handle(request, response);
    response.setHeader("Connection", "close");
    // Node discards a body that nobody has begun to read.
    refuseRequest(response, wrong);
  }

  function startPipeline(socket: Socket): Pipeline {
    const pipeline: Pipeline = { turn, handled: 0, waiting: [], newest: null };
    pipelines.set(socket, pipeline);
    // Reading a request's body resumes the connection.
    socket.on("resume", () => {
      if (pipeline.waiting.length > 0) socket.pause();
    });
    return pipeline;
  }

  function scheduleTurn(): void {
    isTurnScheduled = true;
    setImmediate(nextTurn);
  }

  function nextTurn(): void {
    turn += 1;
    isTurnScheduled = false;
    // What is handled now counts until the next turn.
    if (waiting.size > 0) scheduleTurn();
    for (const [socket, pipeline] of waiting) {
      const now = pipeline.waiting.splice(0, maxRequestsPerTurn);
      pipeline.turn = turn;
      pipeline.handled = now.length;
      // Requests of a closed connection get no answer, and change nothing.
      if (socket.destroyed) pipeline.waiting.length = 0;
      else for (const run of now) run();
      if (pipeline.waiting.length > 0) continue;
      waiting.delete(socket);
      if (!socket.destroyed) socket.resume();
    }
  }

  server.on("request", receive);
  server.on("checkExpectation", receive);
}

/**
 * RFC 9112, 3.2: a request with two Hosts is answered 400, because another reader might choose the
 * other one.
 */
function ambiguous({ rawHeaders }: IncomingMessage): Problem | null {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    // The length is compared first: it is cheap, and few names have it.
    if (name.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  return hosts < 2
    ? null
    : problem(400, "two_hosts", "The request has more than one Host header. Send one.");
}

/** From names and values in turn, as Node has them: as they arrived, in their order and spelling. */
export function headerPairs(rawHeaders: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at < rawHeaders.length; at += 2)
    pairs.push([rawHeaders[at] as string, rawHeaders[at + 1] as string]);
  return pairs;
}

export function urlOf(host: string, port: number): string {
  const name = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}

/** Returns the port that it listens on. Rejects with Node's own error. */
export async function listen(server: NetServer, host: string, port: number): Promise<number> {
  server.listen(port, host);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Accepts no new connections, and gives requests in progress this long to end. */
export async function close(server: Server, limitMs: number): Promise<void> {
  if (!server.listening) return;
  const limit = startTimer(limitMs, () => server.closeAllConnections());
  server.close();
  await once(server, "close");
  limit.cancel();
}

/** Of the error for a request that is late. */
const requestTimeout = "ERR_HTTP_REQUEST_TIMEOUT";

/** Node's own limit. */
const usualHeaderSize = 16 * 1024;

/** Answers input that is not a request, and CONNECT with `noProxy`. */
export function answerBadInput(
  server: Server,
  noProxy: Problem,
  maxHeaderSize = usualHeaderSize,
): void {
  server.on("connect", (_request, socket: Socket) => refuse(socket, noProxy));
  onBadInput(server, (error, socket) => {
    const wrong = problemOfInput(error, socket, maxHeaderSize);
    if (wrong === null) socket.destroy();
    else refuse(socket, wrong);
  });
}

type BadInput = NodeJS.ErrnoException & { rawPacket?: Buffer };

/**
 * A request may have arrived while the process or the machine stood still: Node looks at its time
 * first, and reads it later in the same turn. So a late one is only refused in the next.
 */
export function onBadInput(
  server: Server,
  refuseInput: (error: BadInput, socket: Socket) => void,
): void {
  server.on("clientError", (error: BadInput, socket: Socket) => {
    if (error.code !== requestTimeout) return refuseInput(error, socket);
    const before = pipelines.get(socket)?.newest;
    const wasComplete = before?.complete;
    setImmediate(() => {
      const newest = pipelines.get(socket)?.newest;
      const hasArrived = newest?.complete === true && (newest !== before || wasComplete === false);
      if (!hasArrived) refuseInput(error, socket);
    });
  });
}

const http2Begins = "PRI * HTTP/2.0";

/** What is wrong with input that is not a request; null when the connection cannot be answered. */
export function problemOfInput(
  error: BadInput,
  socket: Socket,
  maxHeaderSize = usualHeaderSize,
): Problem | null {
  if (!socket.writable) return null;
  if (error.code === "HPE_HEADER_OVERFLOW") {
    const limit = `${maxHeaderSize / 1024} KB`;
    return problem(431, "headers_too_large", `The request line and headers are over ${limit}.`);
  }
  if (error.code === requestTimeout)
    return problem(408, "request_timeout", "The request did not arrive in time.");
  if (error.code?.startsWith("HPE_") !== true) return null;
  if (error.rawPacket?.subarray(0, http2Begins.length).toString("latin1") === http2Begins)
    return problem(
      400,
      "bad_request",
      "The client speaks HTTP/2, and this port speaks HTTP/1.1. Let the client use HTTP/1.1.",
    );
  return problem(
    400,
    "bad_request",
    `The input is not a complete, valid HTTP request: ${error.message}.`,
  );
}

/**
 * Answers on the bare connection, where there is no response object, and closes it. It is not left
 * half open for the other side to close, or a server could never stop.
 */
export function refuse(
  socket: Socket,
  { status, code, message }: Problem,
  more: object = {},
  reason = STATUS_CODES[status] ?? "",
): void {
  const body = JSON.stringify({ ...more, code, message });
  const head = [
    `HTTP/1.1 ${status} ${reason}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  socket.on("error", () => socket.destroy());
  socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
  socket.destroySoon();
}
