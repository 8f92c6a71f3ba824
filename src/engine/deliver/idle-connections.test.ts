/** How long a connection is kept and when it is used again, to the millisecond of a clock that the test moves. */

import { performance } from "node:perf_hooks";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import type { RawReceiver } from "../../../test/support/raw-receiver.ts";
import { closed, post, receiver, stopAll } from "../../../test/support/sending.ts";
import { nextTurn } from "../real-time.ts";
import { createTrust } from "./dial.ts";
import { createSender, type Sender } from "./sender.ts";

let now = 0;

beforeEach(() => {
  now = 100_000;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  vi.spyOn(performance, "now").mockImplementation(() => now);
});

afterEach(async () => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  await stopAll();
});

/** Timers fire, and what they end is closed. */
async function pass(ms: number): Promise<void> {
  now += ms;
  vi.advanceTimersByTime(ms);
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
}

async function until(isSo: () => unknown): Promise<void> {
  while (!isSo()) await nextTurn();
}

/** With the usual times where none are given. */
function sender(options: { maxIdle?: number; idleMs?: number } = {}): Sender {
  const created = createSender({ trust: createTrust(), ...options });
  onTestFinished(() => created.close());
  return created;
}

const saying = (head = ""): string => `HTTP/1.1 200 OK\r\n${head}Content-Length: 0\r\n\r\n`;
const promising = saying("Keep-Alive: timeout=60\r\n");

type One = {
  there: RawReceiver;
  from: Sender;
  /** Sends one and returns how many connections there have been. */
  send: () => Promise<number>;
};

async function start(answer: string, options?: Parameters<typeof sender>[0]): Promise<One> {
  const there = await receiver({ onRequest: (socket) => socket.write(answer) });
  const from = sender(options);
  const url = `http://127.0.0.1:${there.port}/`;
  const send = async (): Promise<number> => {
    expect(await post(from, url).done).toMatchObject({ outcome: "answered" });
    return there.sockets.length;
  };
  return { there, from, send };
}

/** Of both ends. */
async function endOf({ there }: One, place: number): Promise<void> {
  const end = closed(there.sockets[place]);
  there.sockets[place]?.end();
  await end;
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
}

test("without a promise a connection is used again within 20 ms, and later as long as one was seen to stay open, less a quarter", async () => {
  const { send } = await start(saying(), { idleMs: 3_600_000 });
  const counts: number[] = [await send()];
  for (const [ms, connections] of [
    [20, 1],
    [21, 2],
    [20, 2],
    [40, 3],
    [30, 3],
    [31, 4],
    [30, 4],
    [400, 5],
    [300, 5],
    [301, 6],
  ] as const) {
    await pass(ms);
    counts.push(await send());
    expect([ms, counts.at(-1)]).toEqual([ms, connections]);
  }
});

test("one that the receiver promises to keep is used again until it has been idle for a second", async () => {
  const { there, send } = await start(promising);
  await send();
  await pass(999);
  expect([await send(), vi.getTimerCount()]).toEqual([1, 1]);
  const end = closed(there.sockets[0]);
  await pass(1000);
  await end;
  expect([await send(), vi.getTimerCount()]).toEqual([2, 1]);
});

test("one is given up half a second before the receiver would close it, and not kept for less than a millisecond", async () => {
  const { there, send } = await start(saying("Keep-Alive: timeout=1\r\n"));
  await send();
  await pass(499);
  expect(await send()).toBe(1);
  const end = closed(there.sockets[0]);
  await pass(500);
  await end;
  expect(await send()).toBe(2);
  const none = await start(saying("Keep-Alive: timeout=0\r\n"));
  await none.send();
  expect(await none.send()).toBe(2);
});

test("one that stayed open for its whole time proves as much", async () => {
  const { there, send } = await start(saying());
  await send();
  const end = closed(there.sockets[0]);
  await pass(1000);
  await end;
  expect(await send()).toBe(2);
  await pass(750);
  expect(await send()).toBe(2);
  await pass(751);
  expect(await send()).toBe(3);
});

test("after the receiver has ended an idle one, none is kept for longer than half as long for a minute", async () => {
  const one = await start(saying());
  await one.send();
  await pass(10);
  await endOf(one, 0);
  expect(await one.send()).toBe(2);
  for (const [ms, connections] of [
    [4, 2],
    [5, 3],
    [59_990, 4],
    [5, 5],
    [5, 5],
  ] as const) {
    await pass(ms);
    expect([ms, await one.send()]).toEqual([ms, connections]);
  }
  await pass(6);
  // It is still kept, and only not used, because nothing is known about as long a time.
  expect(one.there.sockets[4]?.destroyed).toBe(false);
  expect(await one.send()).toBe(6);
});

test("the minute ends at its last millisecond", async () => {
  for (const [ms, connections] of [
    [59_999, 3],
    [60_000, 2],
  ] as const) {
    const one = await start(promising);
    await one.send();
    await endOf(one, 0);
    await pass(ms);
    await one.send();
    await one.send();
    expect(one.there.sockets).toHaveLength(connections);
  }
});

test("a promise that was broken once is not relied on again", async () => {
  const one = await start(promising);
  await one.send();
  await pass(30);
  expect(await one.send()).toBe(1);
  await pass(30);
  await endOf(one, 0);
  expect(await one.send()).toBe(2);
  await pass(60_001);
  expect(await one.send()).toBe(3);
  await pass(15);
  expect(await one.send()).toBe(3);
  await pass(16);
  expect(await one.send()).toBe(4);
});

test("an end without a promise breaks none", async () => {
  const answers = [saying(), promising];
  const there = await receiver({
    onRequest: (socket) => socket.write(answers.shift() ?? promising),
  });
  const from = sender();
  const url = `http://127.0.0.1:${there.port}/`;
  await post(from, url).done;
  await endOf({ there } as One, 0);
  await pass(60_001);
  await post(from, url).done;
  await pass(500);
  await post(from, url).done;
  expect(there.sockets).toHaveLength(2);
});

test("those whose timer is late are closed when the next request comes, and none of them is used", async () => {
  const there = await receiver({});
  const from = sender({ idleMs: 1000 });
  const url = `http://127.0.0.1:${there.port}/`;
  const both = [post(from, url), post(from, url)];
  await until(() => there.received.filter((text) => text.endsWith("}")).length === 2);
  for (const socket of there.sockets) socket.write(promising);
  for (const { done } of both) await done;
  const ends = there.sockets.map(closed);
  now += 1000;
  const third = post(from, url);
  await Promise.all(ends);
  await there.connection(2);
  await until(() => there.received[2]?.endsWith("}"));
  there.sockets[2]?.write(promising);
  expect(await third.done).toMatchObject({ outcome: "answered" });
});

test("one that ends makes room for another, and without any there is no timer", async () => {
  const one = await start(promising, { maxIdle: 1 });
  await one.send();
  expect(vi.getTimerCount()).toBe(1);
  await pass(30);
  await endOf(one, 0);
  expect(await one.send()).toBe(2);
  expect(await one.send()).toBe(2);
  await pass(1000);
  expect(vi.getTimerCount()).toBe(0);
  await one.send();
  one.from.close();
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  [1000, "kept_connection_closed"],
  [1001, "closed_without_answer"],
])("a kept connection that ends %i ms after the request was written: %s", async (ms, code) => {
  const answers = [promising];
  const there = await receiver({ onRequest: (socket) => void socket.write(answers.pop() ?? "") });
  const from = sender();
  const url = `http://127.0.0.1:${there.port}/`;
  await post(from, url).done;
  const second = post(from, url);
  await until(() => there.received[0]?.split("}").length === 3);
  now += ms;
  there.sockets[0]?.end();
  expect((await second.done).error?.code).toBe(code);
  // Only an end that may have crossed the request says something about the receiver's limit.
  answers.push(promising);
  await post(from, url).done;
  await pass(30);
  answers.push(promising);
  await post(from, url).done;
  expect(there.sockets).toHaveLength(code === "closed_without_answer" ? 2 : 3);
});

test("the answer to a HEAD has no body, on a new connection, a kept one, and one that takes the place of a kept one", async () => {
  const there = await receiver({
    onRequest: (socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
  });
  const from = sender();
  const url = `http://127.0.0.1:${there.port}/`;
  for (const [ms, connections] of [
    [0, 1],
    [20, 1],
    [21, 2],
  ] as const) {
    await pass(ms);
    const { outcome, response } = await post(from, url, { method: "HEAD" }).done;
    expect([outcome, response?.bodyLength, there.sockets.length]).toEqual([
      "answered",
      0,
      connections,
    ]);
  }
});

test("a request that got a new connection instead of a kept one can be stopped there", async () => {
  const answers = [promising];
  const there = await receiver({ onRequest: (socket) => void socket.write(answers.pop() ?? "") });
  const from = sender();
  const url = `http://127.0.0.1:${there.port}/`;
  await post(from, url).done;
  await endOf({ there } as One, 0);
  answers.push(saying());
  await post(from, url).done;
  // Kept for nothing after the end of the first.
  await pass(60_001);
  answers.push(saying());
  await post(from, url).done;
  await pass(21);
  const last = post(from, url);
  await until(() => there.received[3]?.endsWith("}"));
  const end = closed(there.sockets[3]);
  last.abort("stopped");
  expect(await last.done).toMatchObject({ error: { code: "stopped" } });
  await end;
});
