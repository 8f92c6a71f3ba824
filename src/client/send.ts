/**
 * One POST at a time over node:http or node:https, on a connection that is kept. Knows no queue and
 * tries nothing again.
 */

import { Agent as HttpAgent, request as httpRequest } from "node:http";
import type { ClientRequest, IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { constants, gunzipSync } from "node:zlib";

export type Answer = {
  status: number;
  retryAfter: string | null;
  /** As much of it as is kept. */ body: string;
};

/** Without an answer, the reason. */
export type Outcome = { answer: Answer } | { error: Error };

export type Exchange = { done: Promise<Outcome>; abort(reason: string): void };

export type Sender = {
  send(body: Buffer): Exchange;
  close(): void;
};

export type SenderOptions = {
  url: URL;
  headers: (host: string, length: number) => Record<string, string>;
  timeoutMs: number;
  /** One's own, for proxies and certificates. It is not closed. */
  agent?: HttpAgent | undefined;
};

/** Enough for any explanation, and not more than a batch. */
const keptAnswerBytes = 64 * 1024;

export function createSender({ url, headers, timeoutMs, agent }: SenderOptions): Sender {
  const secure = url.protocol === "https:";
  const own = agent ?? new (secure ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: 1 });
  const request = secure ? httpsRequest : httpRequest;
  return {
    send(body) {
      const { promise, resolve } = Promise.withResolvers<Outcome>();
      let sent: ClientRequest;
      try {
        sent = request(url, {
          method: "POST",
          agent: own,
          setHost: false,
          headers: headers(url.host, body.length),
        });
      } catch (error) {
        // An agent that is not for this protocol.
        return { done: Promise.resolve({ error: error as Error }), abort() {} };
      }
      // HTTP/1.1 keeps connections without it, and the Go library does not send it.
      sent.removeHeader("Connection");
      const abort = (reason: string): void => void sent.destroy(new Error(reason));
      const deadline = setTimeout(() => abort(`no answer within ${timeoutMs} ms`), timeoutMs);
      const settle = (outcome: Outcome): void => {
        clearTimeout(deadline);
        resolve(outcome);
      };
      let answered = false;
      sent.on("response", (response) => {
        answered = true;
        readAnswer(response, (answer) => settle({ answer }));
      });
      sent.on("error", (error) => {
        if (!answered) settle({ error });
      });
      // The only event after an answer 101.
      sent.on("close", () => {
        if (!answered) settle({ error: new Error("the connection ended without an answer") });
      });
      sent.end(body);
      return { done: promise, abort };
    },
    close() {
      if (agent === undefined) own.destroy();
    },
  };
}

/** The status counts as soon as it is there: a body that is cut short takes nothing back. */
function readAnswer(response: IncomingMessage, settle: (answer: Answer) => void): void {
  const chunks: Buffer[] = [];
  let kept = 0;
  response.on("data", (chunk: Buffer) => {
    if (kept < keptAnswerBytes) chunks.push(chunk.subarray(0, keptAnswerBytes - kept));
    kept += chunk.length;
  });
  response.on("error", () => {});
  response.once("close", () => {
    const body = textOf(Buffer.concat(chunks), response.headers["content-encoding"]);
    settle({
      status: response.statusCode ?? 0,
      retryAfter: response.headers["retry-after"] ?? null,
      body,
    });
  });
}

function textOf(bytes: Buffer, encoding: string | undefined): string {
  if (encoding !== "gzip" || bytes.length === 0) return bytes.toString("utf8");
  try {
    // A body that is not all kept is read as far as it goes.
    return gunzipSync(bytes, {
      finishFlush: constants.Z_SYNC_FLUSH,
      maxOutputLength: 16 * keptAnswerBytes,
    }).toString("utf8");
  } catch {
    return "";
  }
}
