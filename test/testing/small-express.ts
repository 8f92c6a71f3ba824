/** A web framework in the manner of Express, as small as a receiver under test needs one. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Request = { path: string; headers: IncomingMessage["headers"]; body: Buffer };
type Response = { status(code: number): Response; json(value: unknown): void };
type Handler = (request: Request, response: Response, next: () => void) => void;

export function express(): {
  use(handler: Handler): void;
  get(path: string, handler: Handler): void;
  post(path: string, ...handlers: Handler[]): void;
  listen(listening: (port: number) => void): void;
} {
  const stack: { method: string | null; path: string | null; handlers: Handler[] }[] = [];

  function respond(method: string, request: Request, response: Response): void {
    const handlers = stack
      .filter(
        (layer) =>
          (layer.method ?? method) === method && (layer.path ?? request.path) === request.path,
      )
      .flatMap((layer) => layer.handlers);
    const run = (at: number): void => {
      const handler = handlers[at];
      if (handler === undefined) response.status(404).json({ error: `nothing at ${request.path}` });
      else handler(request, response, () => run(at + 1));
    };
    run(0);
  }

  return {
    use: (handler) => void stack.push({ method: null, path: null, handlers: [handler] }),
    get: (path, handler) => void stack.push({ method: "GET", path, handlers: [handler] }),
    post: (path, ...handlers) => void stack.push({ method: "POST", path, handlers }),
    listen(listening) {
      const server = createServer((incoming, outgoing) => {
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
        incoming.on("end", () => {
          const request = {
            path: incoming.url ?? "/",
            headers: incoming.headers,
            body: Buffer.concat(chunks),
          };
          respond(incoming.method ?? "GET", request, responseOn(outgoing));
        });
      });
      server.listen(0, "127.0.0.1", () => listening((server.address() as AddressInfo).port));
    },
  };
}

function responseOn(outgoing: ServerResponse): Response {
  const response: Response = {
    status(code) {
      outgoing.statusCode = code;
      return response;
    },
    json(value) {
      outgoing.setHeader("Content-Type", "application/json");
      outgoing.end(JSON.stringify(value));
    },
  };
  return response;
}
