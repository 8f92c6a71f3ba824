/** The transport of the desktop host: the contract over a message port, a JSON text a message. */

import type { AnswerOf, CallName, InputOf } from "../../contract/contract.ts";
import type { MessageToHost, MessageToPage } from "../../contract/port-messages.ts";
import { pipelineFor, type Transport, type Watcher } from "./transport.ts";
import { CallError, noConnection } from "./call-error.ts";

/** What is used of a MessagePort. */
export type Port = {
  postMessage(text: string): void;
  addEventListener(type: "message" | "close", listener: (event: { data?: unknown }) => void): void;
  start(): void;
};

type Waiting = { resolve: (answer: unknown) => void; reject: (error: CallError) => void };
type Watch = {
  watcher: Watcher;
  lastSequence: number | null;
  isConnected: boolean;
  pipeline: string | null;
};

const besideOf = (pipeline: string | null): { beside?: string } =>
  pipeline === null ? {} : { beside: pipeline };

/**
 * `connect` gives a port to the host: the first one, and another one each time the host has closed
 * it.
 */
export function createPortTransport({ connect }: { connect: () => Promise<Port> }): Transport {
  const waiting = new Map<number, Waiting>();
  const watches = new Map<number, Watch>();
  let lastId = 0;
  let opening: Promise<Port> | null = null;
  let open: Port | null = null;

  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is a window's, this is a port
  const send = (to: Port, message: MessageToHost): void => to.postMessage(JSON.stringify(message));

  const connected = (): Promise<Port> =>
    (opening ??= connect().then((port) => {
      open = port;
      port.addEventListener("message", ({ data }) =>
        hear(JSON.parse(data as string) as MessageToPage),
      );
      port.addEventListener("close", lose);
      port.start();
      for (const [id, { lastSequence, pipeline }] of watches)
        send(port, { watch: id, after: lastSequence, ...besideOf(pipeline) });
      return port;
    }));

  function lose(): void {
    opening = null;
    open = null;
    for (const { reject } of waiting.values()) reject(noConnection());
    waiting.clear();
    for (const watch of watches.values()) {
      watch.isConnected = false;
      watch.watcher.onConnection("lost");
    }
    if (watches.size > 0) void connected();
  }

  function hear(message: MessageToPage): void {
    if ("watch" in message) return hearChanges(message);
    const call = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.status < 400) call?.resolve(message.body);
    else
      call?.reject(
        new CallError({
          status: message.status,
          ...(message.body as { code: string; message: string; data?: unknown }),
        }),
      );
  }

  function hearChanges({
    watch: id,
    sequence,
    changes,
  }: Extract<MessageToPage, { watch: number }>): void {
    const watch = watches.get(id);
    if (watch === undefined) return;
    watch.lastSequence = sequence;
    if (!watch.isConnected) {
      watch.isConnected = true;
      watch.watcher.onConnection("connected");
    }
    if (changes === null) watch.watcher.onResync();
    else if (changes.length > 0) watch.watcher.onChanges(changes);
  }

  return {
    async call<Name extends CallName>(name: Name, input: InputOf<Name>): Promise<AnswerOf<Name>> {
      const pipeline = pipelineFor(name);
      const port = await connected();
      lastId += 1;
      const id = lastId;
      const answer = new Promise<unknown>((resolve, reject) =>
        waiting.set(id, { resolve, reject }),
      );
      send(port, { id, name, input, ...besideOf(pipeline) });
      return (await answer) as AnswerOf<Name>;
    },
    watch(watcher) {
      lastId += 1;
      const id = lastId;
      const pipeline = pipelineFor("events");
      watches.set(id, { watcher, lastSequence: null, isConnected: false, pipeline });
      // A port that is yet to open asks for all watches together.
      if (open === null) void connected();
      else send(open, { watch: id, after: null, ...besideOf(pipeline) });
      return () => {
        watches.delete(id);
        if (open !== null) send(open, { unwatch: id });
      };
    },
  };
}
