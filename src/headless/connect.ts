/**
 * The running Hookyard as the commands see it: found by its data directory, asked through the
 * control API of whichever host it has.
 */

import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { createInterface } from "node:readline";
import type { Call } from "../contract/call.ts";
import { callNamed } from "../contract/contract.ts";
import { changeStream, type ChangeAnswer } from "../contract/events.ts";
import { typedCalls, type ScenarioPipeline } from "../scenarios/run/pipeline.ts";
import { runningIn } from "./running.ts";

/** The message says what to do. */
export class NoHookyard extends Error {
  override name = "NoHookyard";
}

export type Connection = ScenarioPipeline & {
  uiUrl: string;
  token: string;
  /** Resolves when the stream has begun: what changes from then on is in it. */
  changes(): Promise<AsyncIterable<ChangeAnswer | "resync">>;
};

/** `HOOKYARD_URL` and `HOOKYARD_TOKEN` reach one that stores nothing, or runs elsewhere. */
export async function connect(
  data: string,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Connection> {
  const at = placeOf(data, environment);
  const connection = connectionTo(at);
  await connection.call("about.get", {});
  return connection;
}

type Place = { uiUrl: string; token: string; pid: number | null };

function placeOf(data: string, environment: NodeJS.ProcessEnv): Place {
  const url = environment["HOOKYARD_URL"] || null;
  const running = data === ":memory:" ? null : runningIn(data);
  const token = environment["HOOKYARD_TOKEN"] || running?.token;
  if (url !== null) {
    if (!/^https?:\/\/[^/]+\/?$/.test(url))
      throw new NoHookyard("HOOKYARD_URL must be an address such as http://127.0.0.1:4701.");
    if (token === undefined)
      throw new NoHookyard(
        "HOOKYARD_URL needs HOOKYARD_TOKEN beside it: the token of the address that hookyard serve printed.",
      );
    return { uiUrl: url.replace(/\/$/, ""), token, pid: null };
  }
  if (data === ":memory:")
    throw new NoHookyard(
      "A Hookyard without a data directory is found by HOOKYARD_URL and HOOKYARD_TOKEN: set them to the address and the token that hookyard serve printed.",
    );
  if (running === null)
    throw new NoHookyard(
      `No Hookyard runs with the data in ${data}. Start one with hookyard serve, or name the directory of the one that runs with --data.`,
    );
  return running;
}

function connectionTo({ uiUrl, token, pid }: Place): Connection {
  const ask = async (method: string, path: string, body?: object, signal?: AbortSignal) => {
    const outgoing = request(`${uiUrl}${path}`, {
      method,
      agent: false,
      headers: { Authorization: `Bearer ${token}` },
      ...(signal === undefined ? {} : { signal }),
    });
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    try {
      const [response] = (await once(outgoing, "response")) as [IncomingMessage];
      return response;
    } catch {
      throw new NoHookyard(
        pid === null
          ? `Nothing answers at ${uiUrl}.`
          : `The Hookyard that ran as process ${pid} no longer answers at ${uiUrl}. Start it again with hookyard serve.`,
      );
    }
  };
  const calls = typedCalls(async (name, input, signal) => {
    const { method, path, body } = requestOf(callNamed(name) as Call, input as object);
    const response = await ask(method, path, body, signal);
    const answer = await jsonOf(response);
    const status = response.statusCode ?? 0;
    if (status === 401 || answer === undefined)
      throw new NoHookyard(
        `${uiUrl} does not accept the token of this data directory: another program listens there.`,
      );
    return { status, body: answer };
  });
  return {
    ...calls,
    uiUrl,
    token,
    async changes() {
      const response = await ask("GET", changeStream.path);
      return changesIn(response);
    },
  };
}

function requestOf({ method, path, query }: Call, input: object) {
  const rest = new Map<string, unknown>(Object.entries(input));
  const take = (name: string): unknown => {
    const value = rest.get(name);
    rest.delete(name);
    return value;
  };
  const place = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(take(name))),
  );
  const search = new URLSearchParams();
  for (const name of Object.keys(query?.shape ?? {})) {
    const value = take(name);
    const all = value === undefined ? [] : ([value].flat() as (string | number | boolean)[]);
    for (const one of all) search.append(name, String(one));
  }
  const suffix = search.size === 0 ? "" : `?${search.toString()}`;
  const body = Object.fromEntries(rest);
  return { method, path: place + suffix, ...(method === "GET" ? {} : { body }) };
}

async function jsonOf(response: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8")) as unknown;
  } catch {
    return undefined;
  }
}

async function* changesIn(response: IncomingMessage): AsyncIterable<ChangeAnswer | "resync"> {
  let event = "";
  try {
    for await (const line of createInterface({ input: response })) {
      if (line.startsWith("event: ")) event = line.slice(7);
      if (!line.startsWith("data: ")) continue;
      yield event === "resync" ? "resync" : (JSON.parse(line.slice(6)) as ChangeAnswer);
    }
  } catch {
    // It ended; the reader asks again and learns why.
  } finally {
    response.destroy();
  }
}
