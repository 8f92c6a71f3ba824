/**
 * The control port: the contract over HTTP with JSON, changes as server-sent events, and the
 * inspector's pages. `serve` starts it. It accepts no messages, sends no CORS headers, and no
 * request ends it: each gets an answer.
 */

import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import { PortTaken } from "../app-errors.ts";
import type { Api } from "../api/api.ts";
import { calls } from "../contract/contract.ts";
import type { Call } from "../contract/call.ts";
import { besideHeader, changesPath, type Method } from "../contract/places.ts";
import { type Problem, isProblem, problem } from "../domain/problem.ts";
import type { McpServer } from "../mcp/protocol.ts";
import {
  answerBadInput,
  arrivalLimits,
  close,
  listen,
  serveRequests,
  urlOf,
} from "../engine/http-port.ts";
import { streamChanges } from "./events.ts";
import { type Guard, createGuard } from "./guard.ts";
import { answerJson, answerProblem, answerText, readJsonObject } from "./json.ts";
import { answerMcp, mcpPath } from "./mcp-http.ts";
import { createOpenLinks, linkPath, usersOf, type OpenLinks } from "./open-links.ts";
import { inputOf, matchPath } from "./routes.ts";
import type { StaticPages } from "./static-pages.ts";

/** Calls that still run when the host stops (a long `settle`) are cut after this. */
const stopDeadlineMs = 1_000;
/** A configuration of 8 MiB is imported over loopback. */
const arrival = { headersMs: 10_000, requestMs: 60_000 };
/** A path or a query may have a userId of 32 KB, each byte as three characters. */
const maxHeaderSize = 128 * 1024;
const openApiPath = "/api/openapi.json";
const metricsPath = "/metrics";
const publicPaths: ReadonlySet<string> = new Set([
  openApiPath,
  ...Object.values<Call>(calls)
    .filter(({ isPublic }) => isPublic)
    .map(({ path }) => path),
]);

export type ControlPort = {
  /** Returns the URL, without the token. Rejects with `PortTaken`. */
  start(): Promise<string>;
  stop(): Promise<void>;
};

export function createControlPort({
  api,
  token,
  pages,
  host,
  port,
  report,
}: {
  api: Api;
  token: string;
  pages: StaticPages;
  host: string;
  port: number;
  report: (error: unknown) => void;
}): ControlPort {
  const guard = createGuard({ token, host });
  const links = createOpenLinks({ token });
  const streams = new Set<ServerResponse>();
  let created: Promise<McpServer> | null = null;
  const mcp = (): Promise<McpServer> =>
    (created ??= import("../mcp/mcp.ts").then(({ createMcp }) => createMcp({ api, report })));
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    respond({ api, mcp, guard, links, pages, streams, request, response }).catch(
      (error: unknown) => {
        report(error);
        if (response.headersSent) response.destroy();
        else
          answerProblem(
            response,
            problem(500, "internal", "Hookyard has a bug. Standard error has the details."),
          );
      },
    );
  };
  const server = createServer({ ...arrivalLimits(arrival), maxHeaderSize });
  serveRequests(server, handle, answerProblem);
  answerBadInput(server, problem(405, "method_not_allowed", "This is not a proxy."), maxHeaderSize);

  return {
    async start() {
      try {
        return urlOf(host, await listen(server, host, port));
      } catch (error) {
        throw (error as NodeJS.ErrnoException).code === "EADDRINUSE"
          ? new PortTaken({ port, role: "ui" })
          : error;
      }
    },
    async stop() {
      const closed = close(server, stopDeadlineMs);
      for (const stream of streams) stream.end();
      server.closeIdleConnections();
      await closed;
    },
  };
}

type Exchange = {
  api: Api;
  /** Loaded on first use. */
  mcp: () => Promise<McpServer>;
  guard: Guard;
  links: OpenLinks;
  pages: StaticPages;
  streams: Set<ServerResponse>;
  request: IncomingMessage;
  response: ServerResponse;
};

async function respond(exchange: Exchange): Promise<void> {
  const { api, guard, mcp, pages, request, response } = exchange;
  const [path, search] = splitOnce(request.url ?? "", "?");
  const refused = guard.checkAddress(request.headers);
  if (refused !== null) return answerProblem(response, refused);
  if (path === "/api" || path.startsWith("/api/")) return respondToCall(exchange, path, search);
  if (path.startsWith(linkPath)) return respondToLink(exchange, path);
  if (path === mcpPath) {
    if (!isAuthorized(exchange)) return;
    if (request.method !== "POST") return answerWrongMethod(response, ["POST"]);
    return answerMcp(await mcp(), request, response);
  }
  if (path === metricsPath) {
    if (!isAuthorized(exchange)) return;
    if (request.method !== "GET") return answerWrongMethod(response, ["GET"]);
    return answerText(response, api.metrics(), "text/plain; version=0.0.4; charset=utf-8");
  }
  if (!pages.has(path))
    return answerProblem(response, problem(404, "not_found", "This path does not exist."));
  if (request.method !== "GET" && request.method !== "HEAD")
    return answerWrongMethod(response, ["GET", "HEAD"]);
  return pages.answer(response, path);
}

/** Makes a link for the browser, or leads the browser that follows one to the inspector. */
function respondToLink(exchange: Exchange, path: string): void {
  const { links, request, response } = exchange;
  if (path === linkPath) {
    if (!isAuthorized(exchange)) return;
    if (request.method !== "POST") return answerWrongMethod(response, ["POST"]);
    return answerJson(response, 200, { path: links.create(usersOf(request.socket)) });
  }
  if (request.method !== "GET") return answerWrongMethod(response, ["GET"]);
  const followed = links.follow(path, usersOf(request.socket));
  const text = "text/plain; charset=utf-8";
  if ("refusal" in followed) return answerText(response, `${followed.refusal}\n`, text, 403);
  answerText(response, "", text, 303, { Location: followed.location });
}

async function respondToCall(exchange: Exchange, path: string, search: string): Promise<void> {
  if (!publicPaths.has(path) && !isAuthorized(exchange)) return;
  const { api: own, streams, request, response } = exchange;

  const beside = request.headers[besideHeader.toLowerCase()];
  const api = beside === undefined ? own : own.beside(String(beside));
  if (api === undefined)
    return answerProblem(
      response,
      problem(404, "not_found", `There is no pipeline ${String(beside)} beside this one.`),
    );

  if (path === openApiPath || path === changesPath) {
    if (request.method !== "GET") return answerWrongMethod(response, ["GET"]);
    if (path === openApiPath) return answerJson(response, 200, api.openApi());
    streams.add(response);
    response.on("close", () => streams.delete(response));
    const after =
      String(request.headers["last-event-id"] ?? "") || new URLSearchParams(search).get("after");
    return streamChanges({ response, changes: api.changes, after });
  }

  const matches = matchPath(path);
  if (isProblem(matches)) return answerProblem(response, matches);
  if (matches.size === 0)
    return answerProblem(
      response,
      problem(404, "not_found", `No call has this path. ${openApiPath} lists all.`),
    );
  const match = matches.get(request.method as Method);
  if (match === undefined) return answerWrongMethod(response, [...matches.keys()]);

  const body = request.method === "GET" ? {} : await readJsonObject(request, match.call);
  if (body === null) return;
  const input = isProblem(body) ? body : inputOf(match, new URLSearchParams(search), body);
  if (isProblem(input)) return answerProblem(response, input);
  const caller = new AbortController();
  response.once("close", () => caller.abort());
  const answer = await api.call(match.call.name, input, caller.signal);
  answerJson(response, answer.status, answer.body);
}

/** Refuses a request without the token; a preflight has none, and gets no permission either. */
function isAuthorized({ guard, request, response }: Exchange): boolean {
  const unauthorized = request.method === "OPTIONS" ? null : guard.checkToken(request.headers);
  if (unauthorized === null) return true;
  answerProblem(response, unauthorized, { "WWW-Authenticate": "Bearer" });
  return false;
}

function answerWrongMethod(response: ServerResponse, allowed: readonly string[]): void {
  const refusal: Problem = problem(
    405,
    "method_not_allowed",
    `This path accepts ${allowed.join(", ")}.`,
  );
  answerProblem(response, refusal, { Allow: allowed.join(", ") });
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + separator.length)];
}
