/**
 * MCP over standard input and output: one message on each line. Standard output has nothing else.
 * What answers is the server of this process, or that of a running Hookyard, asked over HTTP.
 */

import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import type { Readable, Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { nextTurn } from "../engine/real-time.ts";
import {
  errorCodes,
  failure,
  isObject,
  isRequest,
  revisionOf,
  type McpServer,
  type Reply,
} from "../mcp/protocol.ts";
import { mcpPath } from "./mcp-http.ts";

/** Longer than anything that a tool accepts. */
const maxLineLength = 1_000_000;
/** Of a running Hookyard each is a connection. What comes meanwhile is read when one has ended. */
const maxAtOnce = 64;

export type Answering = Pick<McpServer, "answer">;

/** Returns when the input ends; what is in progress then is abandoned, because nobody reads it. */
export async function serveLines(
  { input, output }: { input: Readable; output: Writable },
  { answer }: Answering,
): Promise<void> {
  /** A client may use the id of a request that is in progress again. */
  const running = new Set<{ id: unknown; caller: AbortController }>();
  const write = (reply: unknown): void => void output.write(`${JSON.stringify(reply)}\n`);

  async function take(line: Line): Promise<void> {
    if (typeof line !== "string")
      return write(failure(idIn(line), errorCodes.invalidRequest, "The line is too long."));
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      return write(failure(null, errorCodes.parse, "The line is not valid JSON."));
    }
    if (isObject(message) && message["method"] === "notifications/cancelled") {
      const { params } = message;
      const cancelled = isObject(params) ? params["requestId"] : undefined;
      for (const { id, caller } of running) if (id === cancelled) caller.abort();
      return;
    }
    const caller = new AbortController();
    const one = { id: isRequest(message) ? message.id : caller, caller };
    running.add(one);
    try {
      const reply = await answer(message, caller.signal);
      // Nobody waits for the answer of a cancelled request.
      if (reply !== null && !caller.signal.aborted) write(reply);
    } finally {
      running.delete(one);
    }
  }

  const taken = new Set<Promise<void>>();
  for await (const line of linesOf(input)) {
    if (typeof line === "string" && line.trim() === "") continue;
    // What a tool asks of this process is answered in the same turn.
    await nextTurn();
    if (taken.size >= maxAtOnce && !isCancellation(line)) await Promise.race(taken);
    const one = take(line).finally(() => taken.delete(one));
    taken.add(one);
  }
  for (const { caller } of running) caller.abort();
  await Promise.all(taken);
}

/** It makes room for others, so it does not wait for room itself. */
function isCancellation(line: Line): boolean {
  if (typeof line !== "string") return false;
  try {
    const message: unknown = JSON.parse(line);
    return isObject(message) && message["method"] === "notifications/cancelled";
  } catch {
    return false;
  }
}

/** Of a line that is too long only its ends are kept. */
type Line = string | { start: string; end: string };

/** Enough for what clients write before and behind the id. */
const keptLength = 300;

async function* linesOf(input: Readable): AsyncGenerator<Line> {
  const decoder = new StringDecoder("utf8");
  let line: Line = "";
  const add = (text: string): void => {
    if (typeof line === "string" && line.length + text.length <= maxLineLength) line += text;
    else {
      const end = (typeof line === "string" ? line : line.end) + text;
      const start = typeof line === "string" ? end.slice(0, keptLength) : line.start;
      line = { start, end: end.slice(-keptLength) };
    }
  };
  for await (const chunk of input as AsyncIterable<Buffer>) {
    const [first = "", ...more] = decoder.write(chunk).split("\n");
    add(first);
    for (const next of more) {
      yield line;
      line = "";
      add(next);
    }
  }
  yield line;
}

/**
 * Of a request that is too long, where it is sure to be the request's own: behind nothing but short
 * members, or at the very end. Else null.
 */
function idIn({ start, end }: Exclude<Line, string>): string | number | null {
  const value = String.raw`"id"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*")\s*`;
  const [, id] =
    new RegExp(String.raw`,\s*${value}\}\s*$`).exec(end) ??
    new RegExp(String.raw`^\s*\{\s*(?:"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,\s*)*${value},`).exec(
      start,
    ) ??
    [];
  try {
    return JSON.parse(id ?? "null") as string | number | null;
  } catch {
    return null;
  }
}

/** The server of a running Hookyard. `find` says where it is, again after it has ended. */
export function answerElsewhere(find: () => Promise<{ uiUrl: string; token: string }>): Answering {
  type Found = { uiUrl: string; token: string };
  let found: Promise<Found> | null = null;
  const ask = async (
    message: unknown,
    { uiUrl, token }: Found,
    caller: AbortSignal,
  ): Promise<IncomingMessage> => {
    const outgoing = request(`${uiUrl}${mcpPath}`, {
      method: "POST",
      agent: false,
      headers: {
        "Content-Type": "application/json",
        Authorization: `Bearer ${token}`,
        ...headersOf(message),
      },
      signal: caller,
    });
    outgoing.end(JSON.stringify(message));
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    return response;
  };
  return {
    async answer(message, caller) {
      const id = isRequest(message) ? message.id : null;
      for (let tries = 0; tries < 2; tries += 1) {
        const asked = (found ??= find());
        try {
          const response = await ask(message, await asked, caller);
          if (response.statusCode === 202) return (response.resume(), null);
          const reply = await replyIn(response);
          // A body that is too large is refused before its id is read.
          if (id !== null && !Array.isArray(reply)) reply.id ??= id;
          return reply;
        } catch (error) {
          // It may have been started again meanwhile, at another address.
          if (found === asked) found = null;
          if (caller.aborted) return null;
          const { code } = error as NodeJS.ErrnoException;
          // Before its connection was cut, a tool may have done its work.
          const canRepeat =
            code === "ECONNREFUSED" || (code === "ECONNRESET" && !isToolCall(message));
          if (tries === 0 && canRepeat) continue;
          const why = error instanceof Error ? error.message : String(error);
          return id === null ? null : failure(id, errorCodes.internal, why);
        }
      }
      return null;
    },
  };
}

const isToolCall = (message: unknown): boolean =>
  !isObject(message) || message["method"] === "tools/call";

async function replyIn(response: IncomingMessage): Promise<Reply | Reply[]> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const reply = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Partial<Reply> | Reply[];
  if (!Array.isArray(reply) && reply.jsonrpc !== "2.0")
    throw new Error(`Hookyard refused the request with the status ${response.statusCode}.`);
  return reply as Reply | Reply[];
}

/** What a request over HTTP repeats of itself, when it names its revision. */
function headersOf(message: unknown): Record<string, string> {
  if (!isRequest(message) || revisionOf(message) === undefined) return {};
  const { name } = message.params;
  const encoded = `=?base64?${Buffer.from(String(name)).toString("base64")}?=`;
  return {
    "MCP-Protocol-Version": String(revisionOf(message)).replaceAll(/[^\x20-\x7e]/g, "?"),
    "Mcp-Method": message.method.replaceAll(/[^\x20-\x7e]/g, "?"),
    ...(typeof name === "string" ? { "Mcp-Name": encoded } : {}),
  };
}
