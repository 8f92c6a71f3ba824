import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { nextTurn } from "../real-time.ts";
import { Activity, Holds } from "./activity.ts";

/** Whether it is resolved or rejected, a few turns of the event loop later. */
async function isOver(wait: Promise<unknown>): Promise<boolean> {
  let over = false;
  const note = (): void => void (over = true);
  void wait.then(note, note);
  for (let turn = 0; turn < 3; turn += 1) await nextTurn();
  return over;
}

describe("work", () => {
  test("is quiet when it has ended, however often its end is told", () => {
    const activity = new Activity();
    const [one, other] = [activity.begin(), activity.begin()];
    expect(activity.isQuiet(false)).toBe(false);
    one.end();
    one.end();
    one.hold();
    one.release();
    expect([activity.isQuiet(false), one.isHeld]).toEqual([false, false]);
    other.end();
    expect([activity.isQuiet(false), activity.isQuiet(true)]).toEqual([true, true]);
  });

  test("that is held is quiet for whoever does not ask for held work, until it is released or has ended", () => {
    const activity = new Activity();
    const work = activity.begin();
    work.release();
    expect(activity.isQuiet(false)).toBe(false);
    work.hold();
    work.hold();
    expect([activity.isQuiet(false), activity.isQuiet(true), work.isHeld]).toEqual([
      true,
      false,
      true,
    ]);
    work.release();
    work.release();
    expect([activity.isQuiet(false), activity.isQuiet(true), work.isHeld]).toEqual([
      false,
      false,
      false,
    ]);
    work.hold();
    work.end();
    expect([activity.isQuiet(false), activity.isQuiet(true), work.isHeld]).toEqual([
      true,
      true,
      false,
    ]);
  });
});

describe("whoever waits", () => {
  test("waits until nothing runs, and with held work until none is held", async () => {
    const activity = new Activity();
    const work = activity.begin();
    const [running, held] = [activity.whenQuiet(), activity.whenQuiet({ includeHeld: true })];
    expect([await isOver(running), await isOver(held)]).toEqual([false, false]);
    work.hold();
    expect([await isOver(running), await isOver(held)]).toEqual([true, false]);
    work.end();
    expect(await isOver(held)).toBe(true);
  });

  test("is not woken by an end whose work was passed on in the same turn", async () => {
    const activity = new Activity();
    const first = activity.begin();
    const wait = activity.whenQuiet();
    first.end();
    const second = activity.begin();
    expect(await isOver(wait)).toBe(false);
    second.end();
    expect(await isOver(wait)).toBe(true);
  });

  test("is known while it waits, and told to those who asked", async () => {
    const activity = new Activity();
    const told: boolean[] = [];
    activity.onAwaited(() => void told.push(activity.isAwaited));
    const work = activity.begin();
    expect(activity.isAwaited).toBe(false);
    const waits = [activity.whenQuiet(), activity.whenQuiet()];
    expect([activity.isAwaited, told]).toEqual([true, [true, true]]);
    work.end();
    await Promise.all(waits);
    expect(activity.isAwaited).toBe(false);
  });

  test("stops waiting at a signal, also one that came before, and leaves no listener", async () => {
    const activity = new Activity();
    activity.begin();
    const controller = new AbortController();
    const wait = activity.whenQuiet({ signal: controller.signal });
    expect(await isOver(wait)).toBe(false);
    controller.abort();
    expect(await isOver(wait)).toBe(true);
    expect(await isOver(activity.whenQuiet({ signal: controller.signal }))).toBe(true);
    const kept = new AbortController();
    const ended = new Activity();
    await ended.whenQuiet({ signal: kept.signal });
    for (const signal of [controller.signal, kept.signal])
      expect(getEventListeners(signal, "abort")).toEqual([]);
    expect([activity.isAwaited, ended.isAwaited]).toEqual([false, false]);
  });

  test("hears in the order in which they asked, is asked once in a turn, and nothing more after that", async () => {
    const activity = new Activity();
    const work = activity.begin();
    const order: string[] = [];
    let asked = 0;
    let isWaiting = true;
    const waits = (): boolean => {
      asked += 1;
      return isWaiting;
    };
    const { signal } = new AbortController();
    const own = activity.whenOwnQuiet({ waits, signal });
    const both = ["first", "second"].map((name) =>
      activity.whenQuiet().then(() => order.push(name)),
    );
    work.end();
    for (let nth = 0; nth < 3; nth += 1) activity.begin().end();
    await Promise.all(both);
    expect([order, await isOver(own), asked]).toEqual([["first", "second"], false, 1]);
    isWaiting = false;
    activity.begin().end();
    await own;
    expect(asked).toBe(2);
    await activity.whenQuiet();
    expect(asked).toBe(2);
  });

  test("hears when what it asks cannot be answered, and the others go on waiting", async () => {
    const activity = new Activity();
    const work = activity.begin();
    const { signal } = new AbortController();
    const failing = activity.whenOwnQuiet({
      waits: () => {
        throw new Error("the store is closed");
      },
      signal,
    });
    const other = activity.whenQuiet();
    work.end();
    await expect(failing).rejects.toThrow("the store is closed");
    expect(await isOver(other)).toBe(true);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

describe("during an advance", () => {
  const signal = new AbortController().signal;

  test("its own work is waited for, and arrivals are not", async () => {
    const activity = new Activity();
    expect([activity.isAdvancing, activity.ingestOrigin, activity.begin("arrival").origin]).toEqual(
      [false, "own", "own"],
    );
    const before = new Activity();
    const own = before.begin();
    before.beginAdvance();
    expect([before.isAdvancing, before.ingestOrigin]).toEqual([true, "arrival"]);
    const arrival = before.begin("arrival");
    expect([own.origin, arrival.origin]).toEqual(["own", "arrival"]);
    const wait = before.whenOwnQuiet({ waits: () => false, signal });
    expect(await isOver(wait)).toBe(false);
    own.end();
    expect(await isOver(wait)).toBe(true);
    expect(before.isQuiet(false)).toBe(false);
    arrival.end();
    expect(before.isQuiet(false)).toBe(true);
    before.endAdvance();
    expect([before.isAdvancing, before.ingestOrigin]).toEqual([false, "own"]);
  });

  test("own work that waits behind arrivals is waited for", async () => {
    const activity = new Activity();
    activity.beginAdvance();
    let waits = true;
    const wait = activity.whenOwnQuiet({ waits: () => waits, signal });
    expect(await isOver(wait)).toBe(false);
    waits = false;
    activity.begin("arrival").end();
    expect(await isOver(wait)).toBe(true);
  });

  test("arrivals of an earlier advance count as own in the next one", async () => {
    const activity = new Activity();
    activity.beginAdvance();
    const old = activity.begin("arrival");
    activity.endAdvance();
    activity.beginAdvance();
    const wait = activity.whenOwnQuiet({ waits: () => false, signal });
    expect(await isOver(wait)).toBe(false);
    old.hold();
    expect(await isOver(wait)).toBe(true);
    old.release();
    expect(await isOver(activity.whenOwnQuiet({ waits: () => false, signal }))).toBe(false);
    old.end();
  });

  test("what the pipeline itself sends to the ingest port is own while it is under way", () => {
    const activity = new Activity();
    activity.beginAdvance();
    const sending = activity.beginSending();
    expect([activity.ingestOrigin, sending.origin, activity.isQuiet(false)]).toEqual([
      "own",
      "own",
      false,
    ]);
    sending.hold();
    expect(activity.ingestOrigin).toBe("arrival");
    sending.release();
    expect(activity.ingestOrigin).toBe("own");
    sending.end();
    expect([activity.ingestOrigin, activity.isQuiet(true)]).toEqual(["arrival", true]);
  });

  test("its beginning and its end are told", () => {
    const activity = new Activity();
    const told: boolean[] = [];
    activity.onAdvance((isUnderWay) => void told.push(isUnderWay));
    activity.beginAdvance();
    activity.endAdvance();
    expect(told).toEqual([true, false]);
  });

  test("code runs with the origin it is given, and what follows with its own again, also after an error", () => {
    const activity = new Activity();
    expect(activity.as("arrival", () => activity.origin)).toBe("arrival");
    expect(activity.origin).toBe("own");
    const fail = (): never => {
      throw new Error("no");
    };
    expect(() => activity.as("arrival", fail)).toThrow("no");
    expect(activity.origin).toBe("own");
  });
});

test("the attempt behind a connection is found by either spelling of its address, until a later one or its end", () => {
  const holds = new Holds();
  const attempt = { hold: () => {}, release: () => {} };
  const later = { ...attempt };
  const ends = { remoteAddress: "127.0.0.1", remotePort: 5000, localPort: 80 };
  const forget = holds.register("::ffff:127.0.0.1", 5000, 80, attempt);
  expect(holds.find(ends)).toBe(attempt);
  const others = [
    { remotePort: 5001 },
    { remoteAddress: "::1" },
    { localPort: 443 },
    ...[{ remoteAddress: undefined }, { remotePort: undefined }, { localPort: undefined }],
  ];
  expect(others.filter((other) => holds.find({ ...ends, ...other }) !== null)).toEqual([]);
  const forgetLater = holds.register("127.0.0.1", 5000, 80, later);
  forget();
  expect(holds.find({ ...ends, remoteAddress: "::ffff:127.0.0.1" })).toBe(later);
  forgetLater();
  expect(holds.find(ends)).toBeNull();
});
