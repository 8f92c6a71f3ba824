import { expect, test } from "vitest";
import type { Change, ChangeFeed } from "../engine/pipeline.ts";
import { createPortApi } from "./port-api.ts";

const change = (sequence: number): Change => ({
  sequence,
  area: "sources",
  ids: [],
  count: 1,
  added: 0,
});

/** An API that answers with what it was asked, and a feed that knows the changes from 10 on. */
function served() {
  const sent: unknown[] = [];
  const listeners = new Set<(changes: Change[]) => void>();
  let newest = 12;
  const feed: ChangeFeed = {
    sequence: () => newest,
    since: (sequence) =>
      sequence < 9 ? null : [10, 11, 12].filter((each) => each > sequence).map(change),
    subscribe: (listener) => {
      listeners.add(listener);
      return () => {
        if (!listeners.delete(listener)) throw new Error("It has ended already.");
      };
    },
  };
  const portApi = createPortApi({
    api: {
      call: async (name, input) => ({ status: 200, body: { name, input } }),
      beside: () => undefined,
      changes: feed,
    },
    send: (text) => sent.push(JSON.parse(text)),
  });
  const receive = async (message: unknown) => {
    portApi.receive(JSON.stringify(message));
    await Promise.resolve();
  };
  return {
    portApi,
    sent,
    receive,
    listeners,
    publish(...changes: Change[]) {
      newest += changes.length;
      for (const listener of listeners) listener(changes);
    },
  };
}

test.each<[string, unknown]>([
  ["no text", { id: 1, name: "about.get", input: {} }],
  ["no JSON", "about.get"],
  ["no object", "null"],
  ["a list", "[1]"],
  ["no name", '{"id":1}'],
  ["a number that is none", '{"id":"1","name":"about.get"}'],
  ["no place to go on", '{"watch":1}'],
  ["a place that is none", '{"watch":1,"after":"soon"}'],
  ["a watch whose number is none", '{"watch":"1","after":null}'],
  ["nothing that ends", '{"unwatch":"1"}'],
])("what is no message is dropped: %s", async (_name, data) => {
  const { portApi, sent, listeners } = served();
  portApi.receive(data);
  await Promise.resolve();
  expect(sent).toEqual([]);
  expect(listeners.size).toBe(0);
});

test("a call is answered with its number", async () => {
  const { sent, receive } = served();
  await receive({ id: 7, name: "sources.get", input: { id: "src_1" } });
  expect(sent).toEqual([
    { id: 7, status: 200, body: { name: "sources.get", input: { id: "src_1" } } },
  ]);
});

test.each([
  ["from now on", null, []],
  ["after the newest", 12, []],
  ["after some", 10, [change(11), change(12)]],
  ["after what is no longer known", 3, null],
])("a watch %s begins with what was missed, and goes on", async (_name, after, changes) => {
  const { sent, receive, publish } = served();
  await receive({ watch: 1, after });
  publish(change(13), change(14));
  expect(sent).toEqual([
    { watch: 1, sequence: 12, changes },
    { watch: 1, sequence: 14, changes: [change(13), change(14)] },
  ]);
});

test("a watch ends when it is asked to, when it begins again, and with its port", async () => {
  const { portApi, sent, receive, listeners, publish } = served();
  await receive({ watch: 1, after: null });
  await receive({ watch: 1, after: null });
  expect(listeners.size).toBe(1);
  await receive({ watch: 2, after: null });
  await receive({ unwatch: 1 });
  expect(listeners.size).toBe(1);
  portApi.end();
  expect(listeners.size).toBe(0);
  const before = sent.length;
  await receive({ id: 1, name: "about.get", input: {} });
  publish(change(13));
  expect(sent).toHaveLength(before);
});

test("what is under way when the port ends hears that nobody waits for it, and is not answered", async () => {
  const sent: string[] = [];
  const asked: (AbortSignal | undefined)[] = [];
  const answers = Promise.withResolvers<void>();
  const portApi = createPortApi({
    api: {
      call: async (_name, _input, caller) => {
        asked.push(caller);
        await answers.promise;
        return { status: 200, body: {} };
      },
      beside: () => undefined,
      changes: { sequence: () => 0, since: () => [], subscribe: () => () => undefined },
    },
    send: (text) => sent.push(text),
  });
  portApi.receive('{"id":1,"name":"clock.advance","input":{"to":"idle"}}');
  expect(asked.map((caller) => caller?.aborted)).toEqual([false]);
  portApi.end();
  expect(asked.map((caller) => caller?.aborted)).toEqual([true]);
  answers.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  expect(sent).toEqual([]);
});
