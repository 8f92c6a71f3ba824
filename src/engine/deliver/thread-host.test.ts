/** The delivery thread's program, on a port and a clock that the test has in hand. */

import { EventEmitter } from "node:events";
import { performance } from "node:perf_hooks";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { RawReceiver } from "../../../test/support/raw-receiver.ts";
import { answering, closed, ok, receiver, stopAll } from "../../../test/support/sending.ts";
import { nextTurn } from "../real-time.ts";
import type { ExchangeResult } from "./exchange.ts";
import { serve } from "./thread-host.ts";
import { eachResult, type Common, type FromThread, type ToThread } from "./thread-messages.ts";

let now = 0;
const idleMs = 3_600_000;

class Port extends EventEmitter {
  /** What it has said since the last time. */
  said: FromThread[] = [];

  postMessage(message: FromThread): void {
    this.said.push(message);
  }

  take(): FromThread[] {
    return this.said.splice(0);
  }
}

beforeEach(() => {
  now = 1000;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  vi.spyOn(performance, "now").mockImplementation(() => now);
});

afterEach(async () => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  await stopAll();
});

function startHost(waitMs?: number): Port {
  const port = new Port();
  serve(port, { idleMs, waitMs });
  return port;
}

const commonFor = ({ port }: RawReceiver, connections = 1): Common => ({
  ...{ url: `http://127.0.0.1:${port}/`, method: "POST", timeoutMs: undefined, connections },
  head: { opening: "POST / HTTP/1.1\r\nHost: h\r\n", secret: null, closing: "", isBodiless: false },
});

type Send = { id: number; carrier?: number; common?: Common | null; body?: string };

function tell(port: Port, sends: Send[], more: Partial<ToThread> = {}): void {
  const bodies = sends.map(({ body = "" }) => Buffer.from(body));
  const message: ToThread = {
    sends: {
      ids: sends.map(({ id }) => id),
      carriers: sends.map(({ carrier = 1 }) => carrier),
      common: sends.map(({ common = null }) => common),
      sizes: bodies.map(({ length }) => length),
      bodies: Buffer.concat(bodies),
    },
    ...{ aborts: [], closedCarriers: [], localAuthority: null },
    ...more,
  };
  port.emit("message", message);
}

async function until(isSo: () => unknown): Promise<void> {
  while (!isSo()) await nextTurn();
}

function resultsOf(messages: FromThread[]): [id: number, result: ExchangeResult][] {
  const results: [number, ExchangeResult][] = [];
  for (const message of messages)
    eachResult(message, (id, result) => void results.push([id, result]));
  return results;
}

/** Those that came back unsent, by message. */
function unsentAfter(port: Port, ms: number): number[][] {
  now += ms;
  vi.advanceTimersByTime(ms);
  return port.take().map(({ unsent }) => unsent);
}

test("requests are carried with their bodies, and each answer says how long it took", async () => {
  const port = startHost();
  const there = await receiver({});
  const bodies = [{ body: "first" }, { body: "" }, { body: "last" }];
  tell(
    port,
    bodies.map(({ body }, nth) => ({
      ...{ id: nth + 5, body, common: nth === 0 ? commonFor(there, 3) : null },
    })),
  );
  await until(() => there.received.filter((text) => text.includes("\r\n\r\n")).length === 3);
  await until(() => there.received.join("").match(/first|last/g)?.length === 2);
  now += 12.3456;
  const [socket] = there.sockets;
  socket?.write(ok);
  await until(() => port.said.length > 0);
  const [[, result] = []] = resultsOf(port.take());
  expect(result).toMatchObject({
    ...{ outcome: "answered", durationMs: 12.346, response: { status: 200, bodyLength: 2 } },
    phases: { connect: 0, sent: 0, firstByte: 12.346, done: 12.346 },
  });
  expect(result?.phases).not.toHaveProperty("tls");
  for (const each of there.sockets.slice(1)) each.destroy();
  await until(() => port.said.length > 0);
  await nextTurn();
  expect(resultsOf(port.take()).map(([, { outcome }]) => outcome)).toEqual([
    "connection_error",
    "connection_error",
  ]);
});

test("so many are carried at once as the last request of the lane says, and the others when those have ended", async () => {
  const port = startHost();
  const there = await receiver({});
  const carried = (): number => there.received.join("").split("POST").length - 1;
  tell(port, [{ id: 1, common: commonFor(there) }, { id: 2 }, { id: 3 }]);
  await until(() => carried() === 1);
  there.sockets[0]?.write(ok);
  await until(() => carried() === 2);
  expect(resultsOf(port.take()).map(([id]) => id)).toEqual([1]);
  tell(port, [{ id: 4, common: commonFor(there, 3) }]);
  await until(() => carried() === 4);
  expect(there.sockets).toHaveLength(3);
});

test("those that wait for fifty milliseconds come back, the newest first, and the others stay", async () => {
  const port = startHost();
  const there = await receiver({});
  tell(port, [{ id: 1, common: commonFor(there) }, { id: 2 }, { id: 3 }]);
  expect(unsentAfter(port, 20)).toEqual([]);
  tell(port, [{ id: 4 }]);
  expect(unsentAfter(port, 29)).toEqual([]);
  expect(unsentAfter(port, 1)).toEqual([[3, 2]]);
  expect(unsentAfter(port, 19)).toEqual([]);
  expect(unsentAfter(port, 1)).toEqual([[4]]);
  expect(vi.getTimerCount()).toBe(0);
  tell(port, [{ id: 5 }]);
  expect([unsentAfter(port, 49), unsentAfter(port, 1)]).toEqual([[], [[5]]]);
});

test("the time that a request may wait is given, and one that was carried meanwhile does not come back", async () => {
  const port = startHost(7);
  const there = await receiver({});
  tell(port, [{ id: 1, common: commonFor(there) }, { id: 2 }]);
  await until(() => there.received.join("").includes("POST"));
  there.sockets[0]?.write(ok);
  await until(() => there.received.join("").split("POST").length === 3);
  port.take();
  expect(unsentAfter(port, 7)).toEqual([]);
  expect(vi.getTimerCount()).toBe(1);
  tell(port, [{ id: 3 }]);
  expect([unsentAfter(port, 6), unsentAfter(port, 1)]).toEqual([[], [[3]]]);
});

test("what is stopped ends if it is carried, and neither comes back nor is sent if it waits", async () => {
  const port = startHost();
  const there = await receiver({});
  tell(port, [{ id: 1, common: commonFor(there) }, { id: 2 }, { id: 3 }]);
  tell(port, [], { aborts: [2, 99] });
  await until(() => there.received.join("").includes("POST"));
  const end = closed(there.sockets[0]);
  tell(port, [], { aborts: [1] });
  await end;
  await until(() => port.said.length > 0);
  expect(resultsOf(port.take())).toMatchObject([[1, { error: { code: "stopped" } }]]);
  await until(() => there.received.join("").split("POST").length === 3);
  expect([there.sockets.length, unsentAfter(port, 100)]).toEqual([2, []]);
});

test("what ends in one turn crosses in one message, in the order in which it ended", async () => {
  const port = startHost();
  const there = await receiver({});
  tell(port, [{ id: 1, common: commonFor(there, 3) }, { id: 2 }, { id: 3 }]);
  await until(() => there.received.join("").split("POST").length === 4);
  tell(port, [], { aborts: [2, 3, 1] });
  await until(() => port.said.length > 0);
  const messages = port.take();
  expect([messages.length, resultsOf(messages).map(([id]) => id)]).toEqual([1, [2, 3, 1]]);
});

test("each carrier has its own connections, which are closed with it, and what they have in common is forgotten", async () => {
  const port = startHost();
  const there = await answering(ok);
  const common = commonFor(there);
  // Nothing is known of what it has in common with others.
  tell(port, [{ id: 9, carrier: 3 }]);
  tell(port, [
    { id: 1, carrier: 1, common },
    { id: 2, carrier: 2, common },
  ]);
  const answered = async (count: number): Promise<number[]> => {
    const ids: number[] = [];
    while (ids.length < count) {
      await nextTurn();
      ids.push(...resultsOf(port.take()).map(([id]) => id));
    }
    return ids.toSorted((one, other) => one - other);
  };
  expect(await answered(2)).toEqual([1, 2]);
  tell(port, [
    { id: 3, carrier: 1 },
    { id: 4, carrier: 2 },
  ]);
  expect(await answered(2)).toEqual([3, 4]);
  expect(there.sockets).toHaveLength(2);
  const end = Promise.race(there.sockets.map(closed));
  tell(port, [], { closedCarriers: [1, 77] });
  await end;
  expect(there.sockets.filter(({ destroyed }) => destroyed)).toHaveLength(1);
  tell(port, [{ id: 5, carrier: 1 }]);
  tell(port, [{ id: 6, carrier: 1, common }]);
  expect(await answered(1)).toEqual([6]);
  tell(port, [{ id: 7, carrier: 2 }]);
  expect(await answered(1)).toEqual([7]);
  expect(there.sockets).toHaveLength(3);
});
