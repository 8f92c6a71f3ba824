/**
 * The two ports of the test endpoints, HTTP and HTTPS: listens, reads whole requests and passes
 * them on, and refuses what is not HTTP. Started and stopped by the endpoints; knows no programs.
 * Every method is allowed, and no input ends the process.
 */

import { createServer as createHttpServer, STATUS_CODES } from "node:http";
import type { IncomingMessage, ServerOptions, ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { Socket } from "node:net";
import { createSecureContext } from "node:tls";
import type { SecureContext } from "node:tls";
import { problem, type Problem } from "../../domain/problem.ts";
import { answerBadInput, arrivalLimits, close, listen, serveRequests } from "../http-port.ts";
import type { Authority, Identity } from "./authority.ts";
import type { Exchange } from "./serve-step.ts";

/** Thirty times the largest delivery: anything larger was not meant for a webhook. */
const maxBody = 1024 * 1024;
/**
 * A body over the limit is read to its end, up to this size, so that the client receives the
 * answer.
 */
const maxDiscarded = 64 * 1024 * 1024;

const serverOptions: ServerOptions = {
  // Longer than any client keeps an idle connection: one that we close between two requests looks
  // like a fault.
  keepAliveTimeout: 75_000,
  // A client on this machine needs milliseconds for these; one that takes longer drips its request.
  ...arrivalLimits({ headersMs: 10_000, requestMs: 60_000 }),
};

export type EndpointRequest = Exchange & {
  tls: boolean;
  method: string;
  /** As received, including the query. */
  url: string;
  rawHeaders: readonly string[];
  /** Of one that is too large its beginning; `bodyLength` is the size of the whole body. */
  body: Uint8Array;
  bodyLength: number;
  tooLarge: boolean;
};

type EndpointServerOptions = {
  host: string;
  port: number;
  tlsPort: number;
  authority: Authority;
  receive: (request: EndpointRequest) => void;
};

type EndpointServer = {
  start(): Promise<{ port: number; tlsPort: number }>;
  stop(): Promise<void>;
};

export function createEndpointServer({
  host,
  port,
  tlsPort,
  authority,
  receive,
}: EndpointServerOptions): EndpointServer {
  const sockets = new Map<string, Socket>();
  const track = (socket: Socket): void => {
    const key = connectionOf(socket);
    sockets.set(key, socket);
    socket.on("error", () => socket.destroy());
    socket.once("close", () => {
      if (sockets.get(key) === socket) sockets.delete(key);
    });
  };
  const onRequest = (request: IncomingMessage, response: ServerResponse, tls: boolean): void => {
    const tcp = tls ? sockets.get(connectionOf(request.socket)) : request.socket;
    if (tcp !== undefined) readRequest({ request, response, tcp }, tls, receive);
  };

  const refuseRequest = (response: ServerResponse, { status, code, message }: Problem): void =>
    answerJson(response, status, code, message);
  const http = createHttpServer(serverOptions);
  serveRequests(http, (request, response) => onRequest(request, response, false), refuseRequest);
  http.prependListener("connection", track);
  const contextFor = createContexts(authority);
  const https = createHttpsServer({
    ...serverOptions,
    SNICallback: (host, done) => done(null, contextFor(host)),
  });
  serveRequests(https, (request, response) => onRequest(request, response, true), refuseRequest);
  let withoutName: Identity | null = null;
  https.prependListener("connection", (socket: Socket) => {
    track(socket);
    const identity = authority.identityFor(null);
    if (identity !== withoutName) https.setSecureContext(identity);
    withoutName = identity;
  });
  for (const server of [http, https])
    answerBadInput(server, problem(405, "no_proxy", "A test endpoint is not a proxy."));

  return {
    async start() {
      const plain = await listen(http, host, port);
      try {
        return { port: plain, tlsPort: await listen(https, host, tlsPort) };
      } catch (error) {
        await close(http, 0);
        throw error;
      }
    },
    async stop() {
      const closed = [close(http, 0), close(https, 0)];
      for (const socket of sockets.values()) socket.destroy();
      await Promise.all(closed);
    },
  };
}

/** Reads the whole request before it is served. */
function readRequest(
  exchange: Exchange,
  tls: boolean,
  receive: (request: EndpointRequest) => void,
): void {
  const { request, response } = exchange;
  const chunks: Buffer[] = [];
  let bodyLength = 0;
  const finish = (): void => {
    const body = Buffer.concat(chunks);
    const { method = "", url = "", rawHeaders } = request;
    try {
      receive({
        ...exchange,
        tls,
        method,
        url,
        rawHeaders,
        body,
        bodyLength,
        tooLarge: bodyLength > maxBody,
      });
    } catch (error) {
      answerJson(
        response,
        500,
        "internal",
        `The test endpoint failed: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  };
  request.on("data", (chunk: Buffer) => {
    bodyLength += chunk.byteLength;
    if (bodyLength <= maxBody) chunks.push(chunk);
    else if (bodyLength > maxDiscarded) request.socket.destroy();
  });
  request.on("end", finish);
  // A client that disconnects in the middle of its request has sent none.
  request.on("error", () => {});
}

export function answerJson(
  response: ServerResponse,
  status: number,
  code: string,
  message: string,
): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const body = JSON.stringify({ code, message });
  // With its own reason: a head that could not be written leaves that of another status.
  response.writeHead(status, STATUS_CODES[status] ?? "", {
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(body),
  });
  response.end(body);
}

/** TLS contexts, created again only when a certificate was renewed. */
function createContexts(authority: Authority): (host: string) => SecureContext {
  const contexts = new WeakMap<Identity, SecureContext>();
  return (host) => {
    const identity = authority.identityFor(host);
    const context = contexts.get(identity) ?? createSecureContext(identity);
    contexts.set(identity, context);
    return context;
  };
}

/**
 * Identifies the TCP socket below a TLS socket: both have the same ends. A client may use one port
 * of its own for connections to both servers.
 */
function connectionOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}
