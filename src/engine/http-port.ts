/** What the HTTP ports of Hookyard have in common: how they begin, how they end, and what they say where no request ever was. */

import { once } from "node:events";
import { STATUS_CODES, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { problem, type Problem } from "../domain/problem.ts";
import { startTimer } from "./wall.ts";

/** The port that it listens on. Rejects with Node's own error. */
export async function listen(server: Server, host: string, port: number): Promise<number> {
  server.listen(port, host);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Takes no new connection and lets requests under way end, for so long. */
export async function close(server: Server, limitMs: number): Promise<void> {
  if (!server.listening) return;
  const limit = startTimer(limitMs, () => server.closeAllConnections());
  server.close();
  await once(server, "close");
  limit.cancel();
}

/** Answers what is no request, and CONNECT with what is said to it. */
export function answerBadInput(server: Server, noProxy: Problem): void {
  server.on("connect", (_request, socket: Socket) => refuse(socket, noProxy));
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    const wrong = problemOfInput(error, socket);
    if (wrong === null) socket.destroy();
    else refuse(socket, wrong);
  });
}

/** What is wrong with what came in the place of a request; null when nobody is left to be told. */
export function problemOfInput(error: NodeJS.ErrnoException, socket: Socket): Problem | null {
  if (!socket.writable) return null;
  if (error.code === "HPE_HEADER_OVERFLOW")
    return problem(431, "headers_too_large", "The request's first line and headers are over 16 KB.");
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return problem(408, "request_timeout", "The request did not arrive in time.");
  if (error.code?.startsWith("HPE_") !== true) return null;
  return problem(400, "bad_request", `What arrived is no complete, valid HTTP request: ${error.message}.`);
}

/**
 * The last thing that a connection says, where there is no response to say it with. It is not left half open for the other side to end:
 * no server would ever be closed then.
 */
export function refuse(socket: Socket, { status, code, message }: Problem, more: object = {}): void {
  const body = JSON.stringify({ ...more, code, message });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  socket.on("error", () => socket.destroy());
  socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
  socket.destroySoon();
}
