/**
 * The whole program with one source, as tests of ingest and routing need it; it stops with the
 * test.
 */

import { onTestFinished } from "vitest";
import type { AnswerOf, InputOf } from "../../src/contract/contract.ts";
import { basic } from "./ingest-client.ts";
import { starting } from "./running-app.ts";

export const writeKey = "wk_test";

type Sending = { method?: string; key?: string | null; headers?: Record<string, string> };

type Payload = {
  type: string;
  messageId: string;
  timestamp: string;
  event?: string;
  [member: string]: unknown;
};

export type IngestApp = Awaited<ReturnType<typeof startIngestApp>>;

export async function startIngestApp({
  data = ":memory:",
  source = {},
}: { data?: string; source?: Partial<InputOf<"sources.create">> } = {}) {
  const start = await starting({}, { onCleanup: onTestFinished });
  const app = await start.app({ data });
  const { call, ingestUrl } = app;

  async function send(
    path: string,
    body: unknown,
    { method = "POST", key = writeKey, headers = {} }: Sending = {},
  ) {
    const response = await fetch(`${ingestUrl}${path}`, {
      method,
      headers: {
        ...(key === null ? {} : { authorization: basic(key) }),
        "content-type": "application/json",
        ...headers,
      },
      body:
        body === undefined
          ? null
          : typeof body === "string" || body instanceof Uint8Array
            ? body
            : JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parse(text) };
  }

  /** Oldest first, with all that came of each. */
  async function messages(
    filter: InputOf<"messages.list"> = {},
  ): Promise<AnswerOf<"messages.get">[]> {
    const { items } = await call("messages.list", { limit: 500, ...filter });
    return Promise.all(items.toReversed().map(({ id }) => call("messages.get", { id })));
  }

  return {
    /** The plain answer of the control API, for calls that are refused. */
    api: app.answer,
    call,
    send,
    messages,
    stop: app.stop,
    port: Number(new URL(ingestUrl).port),
    url: ingestUrl,
    source: await app.source({ writeKey, ...source }),
    /** A test endpoint that answers 200, and a destination that sends there. */
    async destination(draft: Partial<InputOf<"destinations.create">> & { sourceIds: string[] }) {
      const endpoint = await call("endpoints.create", {
        name: "Receiver",
        steps: [{ do: "answer", status: 200 }],
      });
      const destination = await call("destinations.create", {
        name: "Warehouse",
        webhooks: [{ url: endpoint.url }],
        ...draft,
      });
      /** Payloads in the order in which they arrived, once everything queued has been sent. */
      const received = async (): Promise<Payload[]> => {
        await call("pipeline.settle", {});
        const { items } = await call("endpoints.requests", { id: endpoint.id, limit: 500 });
        return items.toReversed().map(({ body }) => JSON.parse(body as string) as Payload);
      };
      return { ...destination, received };
    },
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
