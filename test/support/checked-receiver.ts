/** Receivers inside the test for `hookyard check`, and the verdicts that they get. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer, type ServerOptions } from "node:https";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { runCheck, type CheckOptions } from "../../src/check/run-check.ts";
import { lastingPort } from "./free-ports.ts";

export type Message = { type: string; messageId?: string; userId?: string };
export type Answer = (message: Message, response: ServerResponse, done: Message[]) => void;

export const accept: Answer = (message, response, done) => {
  done.push(message);
  response.writeHead(204).end();
};

export const tell = (response: ServerResponse, done: readonly Message[]): void =>
  void response.end(JSON.stringify(done));

/** Its effects are at `/effects`: the messages that it has done. */
export async function receiver({
  onMessage = accept,
  onAsked = tell,
  read = text,
  tls,
}: {
  onMessage?: Answer;
  onAsked?: (response: ServerResponse, done: readonly Message[], nth: number) => void;
  /** The body of a request. */
  read?: (request: IncomingMessage) => Promise<string>;
  tls?: ServerOptions;
}): Promise<{ url: string; close: () => void }> {
  const done: Message[] = [];
  let asked = 0;
  const listener = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.url?.startsWith("/effects") === true) {
      asked += 1;
      return onAsked(response, done, asked);
    }
    const body = await read(request).catch(() => "");
    if (body !== "") onMessage(JSON.parse(body) as Message, response, done);
  };
  const server = tls === undefined ? createServer(listener) : createSecureServer(tls, listener);
  // No other test gets its port when it ends.
  const port = await lastingPort();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  onTestFinished(close);
  return { url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`, close };
}

export async function verdicts(url: string, more: Partial<CheckOptions>) {
  const report = await runCheck({ url, effects: { url: `${url}/effects` }, seed: 7, ...more });
  return Object.fromEntries(
    report.checks.map(({ id, verdict, detail }) => [id, { verdict, detail }]),
  );
}
