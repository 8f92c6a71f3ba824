import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { WebhookId } from "../../domain/ids.ts";
import { nextTurn } from "../real-time.ts";
import { DeliveryThread } from "./delivery-thread.ts";
import { createTrust } from "./dial.ts";
import { createLanes, type EndOfTask, type LaneEnd, type LaneTask } from "./lanes.ts";

const one = 1 as WebhookId;
const other = 2 as WebhookId;

/** Only `http://127.0.0.1:9/` is a port of this process's. */
function startLanes(connections: number) {
  const reported: unknown[] = [];
  const started: string[] = [];
  const ends = new Map<string, EndOfTask>();
  const settings = { connections };
  const trust = createTrust();
  const lanes = createLanes({
    trust,
    thread: new DeliveryThread({
      trust,
      ownPorts: [9],
      onTrouble: () => {},
      report: (error) => reported.push(error),
    }),
    connections: () => settings.connections,
    report: (error) => reported.push(error),
  });
  return {
    lanes,
    settings,
    reported,
    started,
    add(id: WebhookId, name: string, port = 9): void {
      const task: LaneTask = {
        url: `http://127.0.0.1:${port}/`,
        start(end) {
          started.push(name);
          ends.set(name, (howItEnds) =>
            end(() => {
              const how = howItEnds();
              if (how === "unsent") lanes.of(id).putBack(task);
              return how;
            }),
          );
        },
      };
      lanes.of(id).add(task);
    },
    async end(name: string, how: LaneEnd | Error = "slow"): Promise<void> {
      ends.get(name)?.(() => {
        if (how instanceof Error) throw how;
        return how;
      });
      await nextTurn();
    },
  };
}

test("as many start as there are connections, the others in their order as those end", async () => {
  const { lanes, started, add, end, settings } = startLanes(2);
  for (const name of ["a", "b", "c", "d"]) add(one, name);
  expect(started).toEqual(["a", "b"]);
  expect([lanes.load(one), lanes.of(one).waiting, lanes.hasWaiting()]).toEqual([4, 2, true]);
  add(other, "x");
  expect(started).toEqual(["a", "b", "x"]);
  await end("b");
  expect(started).toEqual(["a", "b", "x", "c"]);
  settings.connections = 1;
  await end("a");
  expect([started.at(-1), lanes.load(one), lanes.hasWaiting()]).toEqual(["c", 2, true]);
  await end("c");
  expect([started.at(-1), lanes.load(one), lanes.hasWaiting()]).toEqual(["d", 1, false]);
  await end("d");
  expect([lanes.load(one), lanes.load(other), lanes.load(9 as WebhookId)]).toEqual([0, 1, 0]);
});

test("a lane wants three for each connection, and seven while its receiver is quick", async () => {
  const { lanes, add, end } = startLanes(2);
  expect(lanes.wanted(one)).toBe(6);
  for (const name of ["a", "b", "c"]) add(one, name);
  expect(lanes.wanted(one)).toBe(6);
  await end("a", "quick");
  expect([lanes.wanted(one), lanes.wanted(other)]).toEqual([14, 6]);
  await end("b");
  expect(lanes.wanted(one)).toBe(6);
});

test("thousands that end at once when they are started are started one after the other", () => {
  const { lanes } = startLanes(1);
  const tasks = { isHeld: true, started: 0, free: (): void => {} };
  const start = (end: EndOfTask): void => {
    tasks.started += 1;
    const free = (): void => end(() => "slow");
    if (tasks.isHeld) tasks.free = free;
    else free();
  };
  for (let nth = 0; nth < 20_000; nth += 1)
    lanes.of(one).add({ url: "http://127.0.0.1:9/", start });
  tasks.isHeld = false;
  tasks.free();
  expect([tasks.started, lanes.load(one)]).toEqual([20_000, 0]);
});

test("one that fails is reported, and its connection is free again", async () => {
  const { started, add, end, reported } = startLanes(1);
  add(one, "a");
  add(one, "b");
  await end("a", new Error("no"));
  expect([reported, started]).toEqual([[new Error("no")], ["a", "b"]]);
});

test("one that cannot start is reported, and the next one has its connection", async () => {
  const { lanes, started, add, reported } = startLanes(1);
  lanes.of(one).add({
    url: "http://127.0.0.1:9/",
    start() {
      throw new Error("no");
    },
  });
  add(one, "b");
  expect([reported, started, lanes.load(one)]).toEqual([[new Error("no")], ["b"], 1]);
});

test("thousands wait in order, and those that have started are not kept", async () => {
  const { lanes, started, add, end } = startLanes(1);
  const names = Array.from({ length: 4100 }, (_, nth) => String(nth));
  for (const name of names) add(one, name);
  for (const name of names) {
    expect(lanes.load(one)).toBe(names.length - Number(name));
    await end(name);
  }
  expect(started).toEqual(names);
  expect(lanes.load(one)).toBe(0);
});

test("a task that has started and ended is not kept while others wait", async () => {
  const { lanes } = startLanes(1);
  const ends: (() => void)[] = [];
  const add = (): WeakRef<LaneTask> => {
    const start = (end: EndOfTask): void => void ends.push(() => end(() => "slow"));
    const task = { url: "http://127.0.0.1:9/", start };
    lanes.of(one).add(task);
    return new WeakRef<LaneTask>(task);
  };
  const tasks = Array.from({ length: 5 }, add);
  for (let ended = 0; ended < 3; ended += 1) {
    ends.shift()?.();
    await nextTurn();
  }
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  await nextTurn();
  collect();
  const isKept = tasks.map((task) => task.deref() !== undefined);
  // Of the one that is under way, only its end is known.
  expect(isKept).toEqual([false, false, false, false, true]);
});

test("with two thousand attempts in all lanes, a further lane has eight, and its others wait for those", async () => {
  const { lanes, started, add, end, settings } = startLanes(1024);
  const many = [10, 11].map((id) => id as WebhookId);
  for (const id of many) for (let nth = 0; nth < 1024; nth += 1) add(id, `${id}-${nth}`);
  started.length = 0;
  for (let nth = 0; nth < 20; nth += 1) add(one, String(nth));
  expect([started.length, lanes.load(one)]).toEqual([8, 20]);
  await end("3");
  expect([started.length, lanes.load(one)]).toEqual([9, 19]);
  for (let nth = 0; nth < 10; nth += 1) await end(`10-${nth}`);
  expect(started.length).toBe(9);
  await end("0");
  expect(started.length).toBe(12);
  settings.connections = 2;
  for (const name of ["a", "b", "c"]) add(other, name);
  expect(started.slice(12)).toEqual(["a", "b"]);
});

test("what waits can be removed: it never starts, and those under way go on", async () => {
  const { lanes, started, add, end } = startLanes(1);
  for (const name of ["a", "b"]) add(one, name);
  add(other, "x");
  add(other, "y");
  lanes.clear();
  expect([lanes.load(one), lanes.load(other), lanes.hasWaiting()]).toEqual([1, 1, false]);
  add(one, "c");
  await end("a");
  await end("x");
  expect(started).toEqual(["a", "x", "c"]);
});

test("after a stop nothing starts, also what comes back unsent", async () => {
  const { lanes, started, add, end } = startLanes(1);
  for (const name of ["a", "b"]) add(one, name);
  lanes.stop();
  lanes.of(one).putBack({ url: "http://127.0.0.1/", start: () => started.push("back") });
  await end("a");
  expect([started, lanes.hasWaiting()]).toEqual([["a"], false]);
});

test("a lane that is not configured any more is closed when it is empty, and a new one takes its place", async () => {
  const { lanes, add, end } = startLanes(1);
  const [lane, kept] = [lanes.of(one), lanes.of(other)];
  const closed: unknown[] = [];
  for (const each of [lane, kept]) each.sender.close = () => void closed.push(each);
  add(one, "a");
  expect(lanes.closeUnused(new Set([other]))).toBe(false);
  expect(lanes.of(one)).toBe(lane);
  await end("a");
  expect(lanes.closeUnused(new Set([other, one]))).toBe(true);
  expect([lanes.of(one), closed]).toEqual([lane, []]);
  expect(lanes.closeUnused(new Set([other]))).toBe(true);
  expect(closed).toEqual([lane]);
  expect(lanes.of(one)).not.toBe(lane);
  expect(lanes.of(other)).toBe(kept);
  lanes.close();
  expect(closed).toEqual([lane, kept]);
});

test("while a receiver is quick, three times as many are with the delivery thread as it has connections", async () => {
  const { started, add, end } = startLanes(2);
  for (const name of "abcdefghijk") add(one, name, 10);
  expect(started).toEqual(["a", "b"]);
  await end("a", "quick");
  expect(started.join("")).toBe("abcdefg");
  await end("b", "slow");
  expect(started.join("")).toBe("abcdefg");
  for (const name of "cdef") await end(name, "slow");
  expect(started.join("")).toBe("abcdefgh");
  await end("g", "quick");
  expect(started.join("")).toBe("abcdefghijk");
});

test("those that come back unsent start again first, in their order, and no more are sent ahead", async () => {
  const { lanes, started, add, end } = startLanes(1);
  for (const name of "abcdef") add(one, name, 10);
  await end("a", "quick");
  expect(started.join("")).toBe("abcd");
  for (const name of "dc") await end(name, "unsent");
  expect([started.join(""), lanes.load(one)]).toEqual(["abcd", 5]);
  await end("b", "slow");
  for (const name of "cdef") await end(name, "slow");
  expect([started.join(""), lanes.load(one)]).toEqual(["abcdcdef", 0]);
  add(one, "g", 10);
  await end("g", "unsent");
  expect([started.join(""), lanes.load(one)]).toEqual(["abcdcdefgg", 1]);
});

test("nothing is sent ahead to a test endpoint, nor to the thread while an endpoint has a request", async () => {
  const { started, add, end } = startLanes(1);
  add(one, "a");
  for (const name of "bc") add(one, name, 10);
  add(one, "d");
  for (const name of "efg") add(one, name, 10);
  await end("a", "quick");
  expect(started.join("")).toBe("abc");
  await end("b", "quick");
  expect(started.join("")).toBe("abc");
  await end("c", "quick");
  expect(started.join("")).toBe("abcd");
  await end("d", "quick");
  expect(started.join("")).toBe("abcdefg");
});
