/**
 * Requests of commands to a Hookyard. They do without `fetch`, which takes Node 40 ms of processor
 * time to load.
 */

import { once } from "node:events";
import { request, type IncomingMessage, type RequestOptions } from "node:http";

type Asked = Pick<RequestOptions, "method" | "headers"> & {
  body?: string | undefined;
  signal?: AbortSignal | undefined;
};

/** Rejects when nothing answers. */
export async function ask(
  url: string,
  { method, headers, body, signal }: Asked,
): Promise<IncomingMessage> {
  const outgoing = request(url, {
    method,
    agent: false,
    headers,
    ...(signal === undefined ? {} : { signal }),
  });
  // Whoever has an answer needs no more of the request; before, the wait below rejects.
  outgoing.on("error", () => undefined);
  outgoing.end(body);
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  return response;
}

export async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
