/** HTTP clients that are not ours, brought to one answer: what they saw, or how they failed. */

import { execFile, execFileSync } from "node:child_process";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect } from "node:net";
import { Agent, request as undiciRequest } from "undici";

export type Seen =
  | { status: number; headers: Record<string, string>; body: string }
  | { failed: string };

type AskOptions = {
  body?: string;
  method?: string;
  ca?: string;
  /** It does not wait any longer then. */
  givesUp?: Promise<unknown>;
};

/**
 * Node's own client; `failed` is the error's code. Names below localhost resolve to loopback, as
 * everywhere here.
 */
export function askWithNode(
  url: string,
  { body = "{}", method = "POST", ca, givesUp }: AskOptions = {},
): Promise<Seen> {
  return new Promise((resolve) => {
    const fail = (error: NodeJS.ErrnoException): void =>
      resolve({ failed: error.code ?? error.message });
    const { hostname, protocol } = new URL(url);
    const tls = protocol === "https:" ? { ca, servername: hostname } : {};
    const send = protocol === "https:" ? httpsRequest : httpRequest;
    const request = send(url, { method, agent: false, lookup: toLoopback, ...tls }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", fail);
      response.on("end", () => {
        const headers = Object.fromEntries(
          Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
        );
        resolve({
          status: response.statusCode ?? 0,
          headers,
          body: Buffer.concat(chunks).toString(),
        });
      });
    });
    void givesUp?.then(() =>
      request.destroy(Object.assign(new Error(), { code: "CLIENT_TIMEOUT" })),
    );
    request.on("error", fail);
    request.end(body);
  });
}

/** Two clients that end their connections in the middle of a request, in both ways. */
export async function disconnectInRequests(url: string): Promise<void> {
  for (const disconnect of ["destroy", "resetAndDestroy"] as const) {
    const client = connect(Number(new URL(url).port), "127.0.0.1");
    await once(client, "connect");
    const half = 'POST /hook HTTP/1.1\r\nHost: h\r\nContent-Length: 40\r\n\r\n{"half":';
    await new Promise((resolve) => client.write(half, resolve));
    client[disconnect]();
  }
}

type Lookup = NonNullable<import("node:http").RequestOptions["lookup"]>;
const toLoopback: Lookup = (_host, options, done) => {
  if (options.all === true) done(null, [{ address: "127.0.0.1", family: 4 }]);
  else done(null, "127.0.0.1", 4);
};

/** `failed` is the error's code; undici names a parser's error by its class. */
export async function askWithUndici(
  url: string,
  { body = "{}", givesUp }: AskOptions = {},
): Promise<Seen> {
  const dispatcher = new Agent();
  const waiting = new AbortController();
  void givesUp?.then(() => waiting.abort());
  try {
    const { signal } = waiting;
    const answer = await undiciRequest(url, { method: "POST", body, dispatcher, signal });
    const headers = Object.fromEntries(
      Object.entries(answer.headers).map(([name, value]) => [name, String(value)]),
    );
    return { status: answer.statusCode, headers, body: await answer.body.text() };
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException;
    return { failed: name === "HTTPParserError" || typeof code !== "string" ? name : code };
  } finally {
    await dispatcher.destroy();
  }
}

export const hasCurl = ((): boolean => {
  try {
    execFileSync("curl", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    console.warn("curl is not on this machine: the cases with curl are skipped.");
    return false;
  }
})();

/** curl's exit code and what it printed. */
export function curl(...args: string[]): Promise<{ exit: number; output: string }> {
  return new Promise((resolve) => {
    execFile(
      "curl",
      ["--silent", "--noproxy", "*", ...args],
      { encoding: "latin1" },
      (error, output) => {
        resolve({ exit: error === null ? 0 : Number(error.code), output });
      },
    );
  });
}
