/**
 * The HTTP server under the ingest port: `node:http`, with an answer in JSON also where it would cut a connection or
 * answer without a body. It takes requests apart no further; `ingest.ts` handles them.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { problem } from "../../domain/problem.ts";
import { arrivalLimits, problemOfInput, refuse, serveRequests, type Handle } from "../http-port.ts";
import { failure, problemAnswer } from "./answers.ts";

/** A request that takes longer to arrive is refused: long enough for a phone, short enough to free its connection. */
const arrival = { headersMs: 10_000, requestMs: 30_000 };

type Exchange = { request: IncomingMessage; response: ServerResponse };

export function createAnsweringServer(handle: Handle, limits = arrival): Server {
  /** Requests of a connection whose answer has not been sent. */
  const open = new WeakMap<Socket, Set<ServerResponse>>();
  const newest = new WeakMap<Socket, Exchange>();

  const server = createServer({ ...arrivalLimits(limits), keepAliveTimeout: 60_000 });
  // A client may end its side after its request and still wait for the answer. Node has no option for this, only the member.
  Object.assign(server, { httpAllowHalfOpen: true });

  const record: Handle = (request, response) => {
    const { socket } = request;
    const responses = open.get(socket) ?? new Set();
    open.set(socket, responses.add(response));
    newest.set(socket, { request, response });
    response.once("close", () => responses.delete(response));
    // Once the server has been closed an answer is the last of its connection, or a busy client would keep it open.
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
      if (expect === undefined || /(?:^|\W)100-continue(?:$|\W)/i.test(expect)) return handle(request, response);
      request.resume();
      problemAnswer(response, problem(417, "unknown_expectation", `\`Expect: ${expect}\` cannot be met. Leave it out.`));
    },
    problemAnswer,
  );
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
