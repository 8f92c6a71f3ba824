/**
 * The HTTP server under the ingest port: `node:http`, with an answer in JSON also where it would cut a connection or
 * answer without a body. It takes requests apart no further; `ingest.ts` handles them.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { problem } from "../../domain/problem.ts";
import { problemOfInput, refuse } from "../http-port.ts";
import { failure, problemAnswer } from "./answers.ts";

/** A request that takes longer to arrive is given up: long enough for a phone, short enough to free its connection. */
const requestTimeoutMs = 30_000;

type Exchange = { request: IncomingMessage; response: ServerResponse };

export function createAnsweringServer(handle: (request: IncomingMessage, response: ServerResponse) => void): Server {
  /** Requests of a connection whose answer has not been sent. */
  const open = new WeakMap<Socket, Set<ServerResponse>>();
  const newest = new WeakMap<Socket, Exchange>();

  const server = createServer({
    requestTimeout: requestTimeoutMs,
    headersTimeout: 10_000,
    keepAliveTimeout: 60_000,
    requireHostHeader: false,
  });
  // A client may end its side after its request and still wait for the answer. Node has no option for this, only the member.
  Object.assign(server, { httpAllowHalfOpen: true });

  server.on("request", (request, response) => {
    const { socket } = request;
    const responses = open.get(socket) ?? new Set();
    open.set(socket, responses.add(response));
    newest.set(socket, { request, response });
    response.once("close", () => responses.delete(response));
    // Once the server has been closed an answer is the last of its connection, or a busy client would keep it open.
    response.once("finish", () => {
      if (!server.listening) server.closeIdleConnections();
    });
    handle(request, response);
  });
  server.on("checkExpectation", (request, response) => {
    request.resume();
    problemAnswer(response, problem(417, "unknown_expectation", `\`Expect: ${request.headers.expect}\` cannot be met. Leave it out.`));
  });
  server.on("connect", (_request, socket: Socket) => {
    refuse(socket, problem(405, "method_not_allowed", "This is no proxy: it takes POST, not CONNECT."), failure);
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    const wrong = problemOfInput(error, socket);
    if (wrong === null) {
      socket.destroy();
      return;
    }
    const last = newest.get(socket);
    const broken = last === undefined || last.request.complete ? undefined : last.response;
    // Requests that came whole before what is broken have their answers first.
    const before = [...(open.get(socket) ?? [])].filter((response) => response !== broken);
    void Promise.all(before.map((response) => new Promise((resolve) => response.once("close", resolve)))).then(() => {
      if (broken?.headersSent === true) socket.destroy();
      else refuse(socket, { ...wrong, code: "invalid_http" }, failure);
    });
  });
  return server;
}
