/**
 * The running Hookyard as the commands see it: found by its data directory, asked through the
 * control API of whichever host it has.
 */

import type { IncomingMessage } from "node:http";
import { createInterface } from "node:readline";
import type { ChangeAnswer } from "../contract/events.ts";
import { changesPath, requestOf } from "../contract/places.ts";
import { startTimer } from "../engine/real-time.ts";
import { typedCalls, type ScenarioPipeline } from "../scenarios/run/pipeline.ts";
import { ask, textOf } from "./ask.ts";
import { runningIn, unreadableIn, type Host } from "./running.ts";

/** The message says what to do. */
export class NoHookyard extends Error {
  override name = "NoHookyard";
}

export type Connection = ScenarioPipeline & {
  uiUrl: string;
  token: string;
  /** Null for one that is named by its address. */
  host: Host | null;
  /**
   * Resolves when the stream has begun: what changes from then on is in it. It goes on after a cut
   * with a `resync`, and throws when no Hookyard answers any more.
   */
  changes(): Promise<AsyncIterable<ChangeAnswer | "resync">>;
};

/** `HOOKYARD_URL` and `HOOKYARD_TOKEN` reach one that stores nothing, or runs elsewhere. */
export async function connect(
  data: string,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Connection> {
  const at = placeOf(data, environment);
  const connection = connectionTo(at);
  const caller = new AbortController();
  const deadline = startTimer(firstAnswerMs, () => caller.abort());
  try {
    const { version } = await connection.call("about.get", {}, caller.signal);
    if (typeof version !== "string") throw anotherProgram(at);
  } finally {
    deadline.cancel();
  }
  return connection;
}

/** Of the first call, which is answered at once; a program that hangs never answers it. */
const firstAnswerMs = 10_000;

/** One without a process was named by the environment. */
const anotherProgram = ({ uiUrl, pid }: Place): NoHookyard =>
  new NoHookyard(
    pid === null
      ? `${uiUrl} does not accept the token. Set HOOKYARD_TOKEN to that of the Hookyard there, unless another program listens there.`
      : `${uiUrl} does not accept the token of this data directory: another program listens there.`,
  );

type Place = { uiUrl: string; token: string; pid: number | null; host: Host | null };

function placeOf(data: string, environment: NodeJS.ProcessEnv): Place {
  const url = environment["HOOKYARD_URL"] || null;
  const running = data === ":memory:" ? null : runningIn(data);
  const token = environment["HOOKYARD_TOKEN"]?.trim() || running?.token;
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token))
    throw new NoHookyard(
      "The token has characters that no token has. Set HOOKYARD_TOKEN to the one that hookyard serve printed.",
    );
  if (url !== null) {
    if (!/^http:\/\/[^/]+\/?$/.test(url) || !URL.canParse(url))
      throw new NoHookyard("HOOKYARD_URL must be an address such as http://127.0.0.1:4701.");
    if (token === undefined)
      throw new NoHookyard(
        "HOOKYARD_URL needs HOOKYARD_TOKEN beside it: the token of the address that hookyard serve printed.",
      );
    return { uiUrl: url.replace(/\/$/, ""), token, pid: null, host: null };
  }
  if (data === ":memory:")
    throw new NoHookyard(
      "A Hookyard without a data directory is found by HOOKYARD_URL and HOOKYARD_TOKEN: set them to the address and the token that hookyard serve printed.",
    );
  if (running === null) {
    const why = unreadableIn(data);
    throw new NoHookyard(
      why === null
        ? `No Hookyard runs with the data in ${data}. Start one with hookyard serve, or name the directory of the one that runs with --data.`
        : `A Hookyard with the data in ${data} cannot be found: ${why}. Do this as the user who started it, start it again, or set HOOKYARD_URL and HOOKYARD_TOKEN to the address and the token that it printed.`,
    );
  }
  return running;
}

function connectionTo(place: Place): Connection {
  const { uiUrl, token, pid, host } = place;
  const noAnswer = (): NoHookyard =>
    new NoHookyard(
      pid === null
        ? `Nothing answers at ${uiUrl}.`
        : `The Hookyard that ran as process ${pid} no longer answers at ${uiUrl}. Start it again with hookyard serve.`,
    );
  const asked = (method: string, path: string, body?: object, signal?: AbortSignal) =>
    ask(`${uiUrl}${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}` },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    }).catch(() => {
      throw noAnswer();
    });
  const calls = typedCalls(async (name, input, signal) => {
    const { method, path, body } = requestOf(name, input as object);
    const response = await asked(method, path, body, signal);
    const text = await textOf(response).catch(() => {
      throw noAnswer();
    });
    const answer = objectIn(text);
    const status = response.statusCode ?? 0;
    const isRefusal = status >= 400;
    if (status === 401 || answer === null || (isRefusal && !("code" in answer)))
      throw anotherProgram(place);
    return { status, body: answer };
  });
  return {
    ...calls,
    uiUrl,
    token,
    host,
    async changes() {
      const open = async (): Promise<IncomingMessage> => {
        const response = await asked("GET", changesPath);
        if (response.statusCode === 200) return response;
        response.destroy();
        throw anotherProgram(place);
      };
      async function* goingOn(first: IncomingMessage): AsyncGenerator<ChangeAnswer | "resync"> {
        for (let response = first; ; response = await open()) {
          if (response !== first) yield "resync";
          yield* changesIn(response);
          // It has stopped, or it cut off a reader that was too slow.
          await calls.call("about.get", {});
        }
      }
      return goingOn(await open());
    },
  };
}

/** Every answer of Hookyard is an object. */
function objectIn(text: string): object | null {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" ? value : null;
  } catch {
    return null;
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
    // It ended.
  } finally {
    response.destroy();
  }
}
