/**
 * MCP over HTTP at the control port ("Streamable HTTP", without sessions and streams): a POST has a
 * message, its answer is JSON. The port has checked Host, Origin and token. Requests of the
 * revision without a handshake repeat what they are in headers, which have to agree.
 */

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { isProblem, problem } from "../domain/problem.ts";
import {
  errorCodes,
  failure,
  handshakeRevisions,
  isObject,
  isRequest,
  revisionOf,
  statelessRevisions,
  type McpServer,
  type Reply,
} from "../mcp/protocol.ts";
import { answerJson, answerProblem, guardHeaders, readJson } from "./json.ts";

export const mcpPath = "/mcp";

/** Larger than anything that a tool accepts. */
const maxBodyBytes = 1024 * 1024;
const maxBodyValues = 240_000;

/** The errors that concern the HTTP request; all others are answers with 200. */
const statuses: Readonly<Record<number, number>> = {
  [errorCodes.parse]: 400,
  [errorCodes.invalidRequest]: 400,
  [errorCodes.headerMismatch]: 400,
  [errorCodes.unsupportedRevision]: 400,
};

export async function answerMcp(
  mcp: McpServer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const type = (request.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/json")
    return answerProblem(
      response,
      problem(415, "unsupported_type", "Send JSON-RPC as Content-Type: application/json."),
    );
  const body = await readJson(request, { maxBytes: maxBodyBytes, maxValues: maxBodyValues });
  if (body === null) return;
  if (isProblem(body)) {
    const refusal = failure(null, errorCodes.parse, body.message);
    return answerJson(response, body.status, refusal);
  }
  const wrong = wrongHeaders(body.value, request.headers);
  if (wrong !== null) return answerJson(response, 400, wrong);
  const caller = new AbortController();
  response.once("close", () => caller.abort());
  const reply = await mcp.answer(body.value, caller.signal);
  if (reply === null) response.writeHead(202, guardHeaders).end();
  else answerJson(response, statusOf(reply, body.value), reply);
}

function statusOf(reply: Reply | Reply[], message: unknown): number {
  if (Array.isArray(reply) || !("error" in reply)) return 200;
  const { code } = reply.error;
  if (code === errorCodes.unknownMethod && isRequest(message) && revisionOf(message) !== undefined)
    return 404;
  return statuses[code] ?? 200;
}

function wrongHeaders(message: unknown, headers: IncomingHttpHeaders): Reply | null {
  const named = headers["mcp-protocol-version"];
  const revision = isObject(message) ? revisionOf(message) : undefined;
  const id = isRequest(message) ? message.id : null;
  if (revision === undefined) {
    if (named === undefined || handshakeRevisions.some((known) => known === named)) return null;
    return statelessRevisions.some((known) => known === named)
      ? failure(id, errorCodes.invalidParams, "The request names no revision in its _meta.")
      : failure(id, errorCodes.invalidRequest, "Unsupported MCP-Protocol-Version.");
  }
  if (!isRequest(message)) return null;
  const mismatch = (name: string): Reply =>
    failure(id, errorCodes.headerMismatch, `The header ${name} differs from the body.`);
  if (named !== revision) return mismatch("MCP-Protocol-Version");
  if (headers["mcp-method"] !== message.method) return mismatch("Mcp-Method");
  const tool = message.method === "tools/call" ? message.params["name"] : undefined;
  if (typeof tool === "string" && headerText(headers["mcp-name"]) !== tool)
    return mismatch("Mcp-Name");
  return null;
}

/** Names that a header cannot carry are in Base64. */
function headerText(value: string | string[] | undefined): string | undefined {
  const text = String(value ?? "");
  const encoded = /^=\?base64\?([A-Za-z0-9+/=]*)\?=$/.exec(text)?.[1];
  return encoded === undefined ? text : Buffer.from(encoded, "base64").toString("utf8");
}
