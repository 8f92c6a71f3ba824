/**
 * The transport of the headless host: JSON over HTTP, and server-sent events read with fetch,
 * because only fetch can carry the token.
 */

import type { AnswerOf, CallName, InputOf } from "../../contract/contract.ts";
import { besideHeader, changesPath, requestOf, type CallRequest } from "../../contract/places.ts";
import {
  type Change,
  type Connection,
  pipelineFor,
  type Transport,
  type Watcher,
} from "./transport.ts";
import { CallError, noConnection } from "./call-error.ts";

/** First pause before the stream is opened again, and the longest. */
const firstPauseMs = 250;
const longestPauseMs = 4000;

/** Nothing for this long, not even a heartbeat (every 15 s): the connection is dead. */
const silenceMs = 40_000;

/** What is read waits this long for the stream to begin: a proxy may keep it back. */
const beginMs = 3000;

/**
 * Why a stream ends that has not been lost. A browser has six connections for a host, so the tabs
 * that nobody sees leave theirs to the others.
 */
const hidden = "the page is hidden";

/**
 * What is typed is sent when the page goes, and a page that goes is hidden first. A browser refuses to
 * keep more than 64 KB for it, of all requests together.
 */
const maxKept = 8000;

/** The changes that are under way. */
const underWay = new Set<{ request: CallRequest; ended: Promise<unknown> }>();

/**
 * Sends a change once those before it that set one of the same members have been answered. Each
 * request has a connection of its own, so a later one could arrive first.
 */
async function inOrder<Answer>(request: CallRequest, send: () => Promise<Answer>): Promise<Answer> {
  const earlier = [...underWay].filter((other) => setsTheSame(other.request, request));
  const sent = Promise.allSettled(earlier.map(({ ended }) => ended)).then(send);
  const entry = { request, ended: sent };
  underWay.add(entry);
  try {
    return await sent;
  } finally {
    underWay.delete(entry);
  }
}

const setsTheSame = (one: CallRequest, other: CallRequest): boolean =>
  one.path === other.path &&
  Object.keys(one.body ?? {}).some((member) => Object.hasOwn(other.body ?? {}, member));

export function createHttpTransport({ token }: { token: string }): Transport {
  const headersFor = (pipeline: string | null): Record<string, string> => ({
    Authorization: `Bearer ${token}`,
    ...(pipeline === null ? {} : { [besideHeader]: pipeline }),
  });

  /** A change between an answer and the beginning of the stream would be in neither. */
  let begun = Promise.resolve();

  /** Another stream may take its place meanwhile. */
  async function streamBegun(): Promise<void> {
    let awaited: Promise<void>;
    do {
      awaited = begun;
      await awaited;
    } while (awaited !== begun);
  }

  async function call<Name extends CallName>(
    name: Name,
    input: InputOf<Name>,
  ): Promise<AnswerOf<Name>> {
    const request = requestOf(name, input as object);
    const { path, method, body } = request;
    const headers = headersFor(pipelineFor(name));
    if (method === "GET") await streamBegun();
    const text = body === undefined ? undefined : JSON.stringify(body);
    const send = async (): Promise<{ response: Response; answer: unknown }> => {
      try {
        const response = await fetch(path, {
          method,
          // Chromium lets a request wait for others to the same address that are in its cache.
          cache: "no-store",
          keepalive: document.hidden && text !== undefined && text.length <= maxKept,
          headers:
            text === undefined ? headers : { ...headers, "Content-Type": "application/json" },
          ...(text === undefined ? {} : { body: text }),
        });
        return { response, answer: await response.json() };
      } catch {
        throw noConnection();
      }
    };
    const isChange = method === "PATCH" || name === "clock.set";
    const { response, answer } = await (isChange ? inOrder(request, send) : send());
    if (response.ok) return answer as AnswerOf<Name>;
    throw new CallError({
      status: response.status,
      ...(answer as { code: string; message: string; data?: unknown }),
    });
  }

  function watch(watcher: Watcher): () => void {
    const pipeline = pipelineFor("events");
    const headers = headersFor(pipeline);
    let stopped = false;
    let lastId: string | null = null;
    let pause = firstPauseMs;
    let aborter = new AbortController();
    /** Ends a wait. */
    let wake = (): void => undefined;
    const { promise, resolve: begin } = Promise.withResolvers<void>();
    begun = promise;
    let isLate = false;
    const patience = window.setTimeout(() => {
      isLate = true;
      begin();
    }, beginMs);

    const onVisibility = (): void => {
      if (!document.hidden) wake();
      // A stream without an id could not go on where it was, and a story ends without its stream.
      else if (pipeline === null && lastId !== null) aborter.abort(hidden);
    };
    document.addEventListener("visibilitychange", onVisibility);

    const hear = ({ id, event, data }: ServerSentEvent): void => {
      if (id !== null) lastId = id;
      if (document.hidden) onVisibility();
      if (event === "resync") watcher.onResync();
      else if (event === "change" && data !== "") watcher.onChanges([JSON.parse(data) as Change]);
    };

    let reported: Connection | null = null;
    const report = (state: Connection): void => {
      if (state !== reported) watcher.onConnection(state);
      reported = state;
      window.clearTimeout(patience);
      begin();
      if (isLate) watcher.onResync();
      isLate = false;
    };
    const listen = async (): Promise<void> => {
      aborter = new AbortController();
      const resume: Record<string, string> = lastId === null ? {} : { "Last-Event-ID": lastId };
      const response = await fetch(changesPath, {
        cache: "no-store",
        headers: { ...headers, ...resume },
        signal: aborter.signal,
      });
      if (!response.ok || response.body === null) throw new StreamRefused(response.status);
      pause = firstPauseMs;
      report("connected");
      await readEvents(response.body, hear, { silenceMs, onSilence: () => aborter.abort() });
    };

    const run = async (): Promise<void> => {
      while (!stopped) {
        let end: Connection = "lost";
        try {
          await listen();
        } catch (error) {
          if (error instanceof StreamRefused && error.status === 401) end = "refused";
        }
        if (stopped) return;
        if (aborter.signal.reason === hidden) {
          await new Promise<void>((resolve) => {
            wake = resolve;
            if (!document.hidden) resolve();
          });
          continue;
        }
        // Any other end of the stream is answered the same way: say so once, wait, open it again.
        report(end);
        await new Promise<void>((resolve) => {
          wake = resolve;
          window.setTimeout(resolve, pause);
        });
        pause = Math.min(pause * 2, longestPauseMs);
      }
    };
    void run();

    return () => {
      stopped = true;
      window.clearTimeout(patience);
      begin();
      document.removeEventListener("visibilitychange", onVisibility);
      aborter.abort();
      wake();
    };
  }

  return { call, watch };
}

class StreamRefused extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`the stream was refused with ${status}`);
    this.status = status;
  }
}

type ServerSentEvent = { id: string | null; event: string; data: string };

/** Reads server-sent events from a stream of bytes, as the specification of EventSource does. */
async function readEvents(
  stream: ReadableStream<Uint8Array>,
  onEvent: (event: ServerSentEvent) => void,
  { silenceMs, onSilence }: { silenceMs: number; onSilence: () => void },
): Promise<void> {
  const reader = stream
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader();
  let pending = "";
  let timer = window.setTimeout(onSilence, silenceMs);
  try {
    for (;;) {
      const { value, done } = await reader.read();
      window.clearTimeout(timer);
      if (done) return;
      timer = window.setTimeout(onSilence, silenceMs);
      const blocks = (pending + value).split("\n\n");
      pending = blocks.pop() ?? "";
      for (const block of blocks) onEvent(parse(block));
    }
  } finally {
    window.clearTimeout(timer);
  }
}

function parse(block: string): ServerSentEvent {
  let id: string | null = null;
  let event = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon === 0) continue;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "id") id = value;
    else if (field === "event") event = value;
    else if (field === "data") data.push(value);
  }
  return {
    id,
    event: data.length === 0 && event === "message" ? "" : event,
    data: data.join("\n"),
  };
}
