/**
 * A control port on a free port with a small API of the test's own, and a client that can write any
 * header.
 */

import type { IncomingMessage } from "node:http";
import { request } from "node:http";
import { fileURLToPath } from "node:url";
import type { Api, ApiAnswer } from "../api/api.ts";
import type { Change, ChangeFeed } from "../engine/pipeline.ts";
import { createControlPort } from "./http-api.ts";
import { createStaticPages } from "./static-pages.ts";

export const token = "t".repeat(43);
const barePages = fileURLToPath(new URL("../../resources/bare", import.meta.url));

type Answer = {
  status: number;
  headers: IncomingMessage["headers"];
  text: string;
  json: () => unknown;
};

export async function startControlPort({
  call = async (name, input) => ({ status: 200, body: { name, input } }),
  changes = createFeed().feed,
  host = "127.0.0.1",
}: { call?: Api["call"]; changes?: ChangeFeed; host?: string } = {}) {
  const reported: unknown[] = [];
  const api: Api = {
    call,
    changes,
    openApi: (): unknown => ({ openapi: "3.1.0" }),
    metrics: () => "",
  };
  const port = createControlPort({
    api,
    token,
    pages: createStaticPages(["/nowhere", barePages]),
    host,
    port: 0,
    report: (error) => reported.push(error),
  });
  const url = await port.start();
  return {
    url,
    reported,
    stop: () => port.stop(),
    send: (method: string, path: string, options?: SendOptions) => send(url, method, path, options),
  };
}

type SendOptions = { headers?: Record<string, string>; body?: string | Uint8Array };

/** With the token, unless the test gives its own headers for it. */
export function send(
  url: string,
  method: string,
  path: string,
  { headers = {}, body }: SendOptions = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const outgoing = request(
      {
        hostname,
        port,
        method,
        path,
        agent: false,
        headers: { Authorization: `Bearer ${token}`, ...headers },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString("utf8");
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            json: () => JSON.parse(text) as unknown,
          });
        });
      },
    );
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

export function createFeed() {
  const listeners = new Set<(changes: Change[]) => void>();
  const known: Change[] = [];
  let oldest = 0;
  const feed: ChangeFeed = {
    sequence: () => known.at(-1)?.sequence ?? oldest,
    since: (sequence) =>
      sequence < oldest ? null : known.filter((change) => change.sequence > sequence),
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return {
    feed,
    listeners,
    push(ids: string[]) {
      const change: Change = {
        sequence: feed.sequence() + 1,
        area: "messages",
        ids,
        count: ids.length,
        added: 0,
      };
      known.push(change);
      for (const listener of listeners) listener([change]);
    },
    forgetUpTo(sequence: number) {
      oldest = sequence;
      known.splice(0, known.findLastIndex((change) => change.sequence <= sequence) + 1);
    },
  };
}

export const answerOf = (status: number, body: unknown): Promise<ApiAnswer> =>
  Promise.resolve({ status, body });
