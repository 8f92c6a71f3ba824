/**
 * The Model Context Protocol over any transport: a message in, its answer out. Two kinds of client
 * exist: those that shake hands (`initialize`, revisions up to 2025-11-25), and those that send
 * revision and capabilities with each request (2026-07-28). A server without sessions, as this one
 * is, answers both, each request by itself. It has tools and nothing else. Transports are in
 * `headless/`.
 */

import type { Answer } from "./answer.ts";

/** The newest first. */
export const handshakeRevisions = [
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
  "2024-10-07",
] as const;
export const statelessRevisions = ["2026-07-28"] as const;

const metaKeys = {
  revision: "io.modelcontextprotocol/protocolVersion",
  capabilities: "io.modelcontextprotocol/clientCapabilities",
  serverInfo: "io.modelcontextprotocol/serverInfo",
} as const;

/** JSON-RPC's, and those that the protocol adds. */
export const errorCodes = {
  parse: -32700,
  invalidRequest: -32600,
  unknownMethod: -32601,
  invalidParams: -32602,
  internal: -32603,
  headerMismatch: -32020,
  unsupportedRevision: -32022,
} as const;

/** How long a client may keep the list of tools: until another version is installed. */
const listTtlMs = 3_600_000;
/** Messages in one batch, which a revision of 2025 has. */
const maxBatch = 50;

type Id = string | number;
type Failure = { code: number; message: string; data?: unknown };
export type Reply = { jsonrpc: "2.0"; id: Id | null } & (
  | { result: Record<string, unknown> }
  | { error: Failure }
);
type Answered = { result: Record<string, unknown> } | { error: Failure };

export type ListedTool = {
  name: string;
  title: string;
  description: string;
  inputSchema: Record<string, unknown>;
  annotations: Record<string, boolean>;
};

export type Toolbox = {
  list: readonly ListedTool[];
  /** Null when no tool has that name. Never throws. */
  call(name: string, input: unknown, caller: AbortSignal): Promise<Answer> | null;
};

export type McpServer = {
  /** Null for what gets no answer: notifications, and a client's own answers. */
  answer(message: unknown, caller: AbortSignal): Promise<Reply | Reply[] | null>;
};

type Request = { id: Id; method: string; params: Record<string, unknown> };

export function createMcpServer({
  tools,
  version,
  instructions,
}: {
  tools: Toolbox;
  version: string;
  instructions: string;
}): McpServer {
  const serverInfo = { name: "hookyard", title: "Hookyard", version };
  const capabilities = { tools: {} };

  async function callTool(
    { params }: Request,
    caller: AbortSignal,
  ): Promise<Record<string, unknown> | Failure> {
    const { name, arguments: input = {} } = params;
    const called = typeof name === "string" ? tools.call(name, input, caller) : null;
    if (called === null)
      return {
        code: errorCodes.invalidParams,
        message: `Unknown tool. The tools are ${tools.list.map((tool) => tool.name).join(", ")}.`,
      };
    const answer = await called;
    const content = [{ type: "text", text: answer.render() }];
    return answer.isError ? { content, isError: true } : { content };
  }

  async function answerByHandshake(request: Request, caller: AbortSignal): Promise<Answered> {
    switch (request.method) {
      case "initialize": {
        const asked = request.params["protocolVersion"];
        const known = handshakeRevisions.find((revision) => revision === asked);
        return {
          result: {
            protocolVersion: known ?? handshakeRevisions[0],
            capabilities,
            serverInfo,
            instructions,
          },
        };
      }
      case "ping":
        return { result: {} };
      case "tools/list":
        return { result: { tools: tools.list } };
      case "tools/call":
        return answered(await callTool(request, caller));
      default:
        return unknownMethod;
    }
  }

  async function answerByItself(request: Request, caller: AbortSignal): Promise<Answered> {
    const wrong = wrongEnvelope(request);
    if (wrong !== null) return { error: wrong };
    const complete = (result: Record<string, unknown>): Answered => ({
      result: { ...result, resultType: "complete", _meta: { [metaKeys.serverInfo]: serverInfo } },
    });
    const cached = { ttlMs: listTtlMs, cacheScope: "private" };
    switch (request.method) {
      case "server/discover":
        return complete({
          supportedVersions: statelessRevisions,
          capabilities,
          instructions,
          ...cached,
        });
      case "tools/list":
        return complete({ tools: tools.list, ...cached });
      case "tools/call": {
        const called = answered(await callTool(request, caller));
        return "error" in called ? called : complete(called.result);
      }
      default:
        return unknownMethod;
    }
  }

  async function answerOne(message: unknown, caller: AbortSignal): Promise<Reply | null> {
    const read = readMessage(message);
    if (read === null) return null;
    if ("error" in read) return read;
    const answer = claimsRevision(read)
      ? await answerByItself(read, caller)
      : await answerByHandshake(read, caller);
    return { jsonrpc: "2.0", id: read.id, ...answer };
  }

  return {
    async answer(message, caller) {
      if (!Array.isArray(message)) return answerOne(message, caller);
      const isBatch = message.length > 0 && message.length <= maxBatch;
      if (!isBatch || message.some((one) => isRequest(one) && claimsRevision(one)))
        return failure(null, errorCodes.invalidRequest, "A batch has 1 to 50 messages of 2025.");
      const replies = await Promise.all(message.map((one) => answerOne(one, caller)));
      const all = replies.filter((reply) => reply !== null);
      return all.length === 0 ? null : all;
    },
  };
}

const unknownMethod: Answered = {
  error: { code: errorCodes.unknownMethod, message: "Unknown method. This server has tools only." },
};

export function failure(id: Id | null, code: number, message: string, data?: unknown): Reply {
  return {
    jsonrpc: "2.0",
    id,
    error: data === undefined ? { code, message } : { code, message, data },
  };
}

function answered(result: Record<string, unknown> | Failure): Answered {
  return "code" in result ? { error: result as Failure } : { result };
}

function readMessage(message: unknown): Request | (Reply & { error: Failure }) | null {
  const invalid = (id: Id | null) =>
    failure(id, errorCodes.invalidRequest, "This is not a JSON-RPC 2.0 request.") as Reply & {
      error: Failure;
    };
  if (!isObject(message) || message["jsonrpc"] !== "2.0") return invalid(null);
  const { id, method, params = {} } = message;
  if (typeof method !== "string")
    return "result" in message || "error" in message ? null : invalid(null);
  if (!("id" in message)) return null;
  if (typeof id !== "string" && typeof id !== "number") return invalid(null);
  return isObject(params) ? { id, method, params } : invalid(id);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isRequest(message: unknown): message is Request {
  return isObject(message) && "id" in message && typeof message["method"] === "string";
}

/** The revision that a request names by itself; undefined for one of a client that shakes hands. */
export function revisionOf({ params }: { params?: unknown }): unknown {
  const meta = isObject(params) ? params["_meta"] : undefined;
  return isObject(meta) ? meta[metaKeys.revision] : undefined;
}

const claimsRevision = (request: { params?: unknown }): boolean =>
  revisionOf(request) !== undefined;

function wrongEnvelope(request: Request): Failure | null {
  const revision = revisionOf(request);
  if (!statelessRevisions.some((known) => known === revision))
    return {
      code: errorCodes.unsupportedRevision,
      message: "Unsupported protocol version.",
      data: { supported: statelessRevisions, requested: String(revision) },
    };
  const { _meta: meta } = request.params;
  return isObject(meta) && isObject(meta[metaKeys.capabilities])
    ? null
    : { code: errorCodes.invalidParams, message: `_meta needs ${metaKeys.capabilities}.` };
}
