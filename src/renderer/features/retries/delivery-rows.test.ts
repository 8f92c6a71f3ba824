import { describe, expect, test } from "vitest";
import { deliveryOf, startsAt, time } from "../timeline/delivery.fixture.ts";
import { createDeliveryRows, type DeliveryRow, type DeliveryRows } from "./delivery-rows.ts";

const idOf = (number: number): string => `dlv_${String(number).padStart(9, "0")}`;
const numberOf = (id: string): number => Number(id.slice(4));

/**
 * A list of deliveries in the order of their numbers as the API answers it, and a timer that is
 * moved by hand.
 */
function createList(size: number, { most = Infinity } = {}) {
  const there = new Set(Array.from({ length: size }, (_, n) => n + 1));
  const readings: { limit: number; cursor?: string }[] = [];
  let timers: { run: () => void }[] = [];
  let down: Error | null = null;
  let drawn = 0;
  const rowOf = (number: number): DeliveryRow => ({
    ...deliveryOf({ state: "waiting" }),
    id: idOf(number),
    createdAt: time(startsAt + number),
    type: "track",
    event: "Bought",
    userId: "ada",
    anonymousId: null,
    marks: [],
  });
  const rows: DeliveryRows = createDeliveryRows({
    async read(input) {
      readings.push(input);
      if (readings.length > 100) throw new Error("read again and again without a pause");
      if (down !== null) throw down;
      const after = input.cursor === undefined ? 0 : numberOf(input.cursor);
      const rest = [...there].filter((number) => number > after);
      const items = rest.slice(0, Math.min(input.limit, most)).map(rowOf);
      const last = items.at(-1);
      return {
        items,
        nextCursor: rest.length > items.length && last !== undefined ? last.id : null,
        total: there.size,
        totalCapped: false,
      };
    },
    cursorAfter: ({ id }) => id,
    monotonic: () => 0,
    later(_ms, run) {
      const timer = { run };
      timers.push(timer);
      return () => void (timers = timers.filter((each) => each !== timer));
    },
    onChange: () => (drawn += 1),
  });
  /** Until nothing is being read. */
  const settled = async (): Promise<void> => {
    for (let before = -1; before !== drawn + readings.length;) {
      before = drawn + readings.length;
      for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
    }
  };
  return {
    rows,
    readings,
    settled,
    waits: () => timers.length,
    async pass(): Promise<void> {
      for (const { run } of timers.splice(0)) run();
      await settled();
    },
    leave: (...numbers: number[]) => numbers.forEach((number) => there.delete(number)),
    fail: (error: Error | null) => (down = error),
    shown: (first: number, last: number) =>
      Array.from({ length: last - first + 1 }, (_, n) => rows.rowAt(first + n)).map((row) =>
        row === undefined ? null : numberOf(row.id),
      ),
  };
}

const from = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, n) => first + n);

describe("the rows of the deliveries that wait", () => {
  test("are read around the view only, wherever it is", async () => {
    const list = createList(20_000);
    await list.settled();
    expect([list.rows.isReady(), list.rows.total(), list.rows.count()]).toEqual([
      true,
      20_000,
      20_000,
    ]);
    list.rows.look(0, 29);
    await list.settled();
    expect(list.shown(0, 29)).toEqual(from(1, 30));
    for (const first of [100, 700, 5400, 5380, 640, 19_970, 0]) {
      list.rows.look(first, first + 29);
      await list.settled();
      expect(list.shown(first, first + 29)).toEqual(from(first + 1, 30));
      expect(
        from(0, 20_000).filter((place) => list.rows.rowAt(place) !== undefined).length,
      ).toBeLessThan(160);
    }
  });

  test("on the way up, cost one short reading", async () => {
    const list = createList(3000);
    await list.settled();
    list.rows.look(2000, 2030);
    await list.settled();
    list.readings.length = 0;
    list.rows.look(1500, 1530);
    await list.settled();
    expect(list.readings).toHaveLength(1);
    expect(list.readings[0]?.limit).toBeLessThan(200);
  });

  test("are read again after a pause when deliveries have moved, as often as they move", async () => {
    const list = createList(100);
    await list.settled();
    list.rows.look(0, 29);
    await list.settled();
    await list.pass();
    list.readings.length = 0;
    list.leave(1, 2, 3);
    list.rows.change();
    list.rows.change();
    await list.settled();
    expect(list.readings).toHaveLength(1);
    expect(list.shown(0, 4)).toEqual([4, 5, 6, 7, 8]);
    expect(list.rows.total()).toBe(97);
    list.leave(4);
    list.rows.change();
    await list.settled();
    expect(list.readings).toHaveLength(1);
    await list.pass();
    expect(list.shown(0, 2)).toEqual([5, 6, 7]);
    expect(list.rows.positionOf(idOf(6))).toBe(1);
    expect(list.rows.positionOf(idOf(4))).toBeNull();
  });

  test("are read again after a pause when an answer had no room for all of them", async () => {
    const list = createList(100, { most: 10 });
    list.rows.look(0, 29);
    await list.settled();
    expect(list.readings).toHaveLength(2);
    expect(list.shown(8, 10)).toEqual([9, 10, null]);
    await list.pass();
    expect(list.readings).toHaveLength(3);
  });

  test("stay whole, each once, when those above the view have left", async () => {
    const list = createList(500);
    await list.settled();
    list.rows.look(200, 229);
    await list.settled();
    list.leave(...from(1, 180));
    list.rows.change();
    await list.pass();
    expect(list.shown(200, 229)).toEqual(from(201, 30));
    list.rows.look(0, 29);
    await list.settled();
    expect(list.shown(0, 29)).toEqual(from(181, 30));
    list.rows.look(290, 319);
    await list.settled();
    expect(list.rows.count()).toBe(320);
    expect(list.shown(290, 319)).toEqual(from(471, 30));
  });

  test("end where the list ends, also when all behind a place has left", async () => {
    const list = createList(400);
    await list.settled();
    list.rows.look(370, 399);
    await list.settled();
    list.leave(...from(11, 390));
    list.rows.change();
    await list.pass();
    expect([list.rows.count(), list.rows.total()]).toEqual([10, 10]);
    list.rows.look(0, 9);
    await list.settled();
    expect(list.shown(0, 9)).toEqual(from(1, 10));
  });

  test("stay on the screen when a reading fails, and come back after a while", async () => {
    const list = createList(50);
    await list.settled();
    await list.pass();
    list.fail(new Error("gone"));
    list.leave(1);
    list.rows.change();
    await list.settled();
    expect(list.rows.error()?.message).toBe("gone");
    expect(list.shown(0, 1)).toEqual([1, 2]);
    list.rows.look(0, 20);
    await list.settled();
    expect(list.readings).toHaveLength(2);
    list.fail(null);
    await list.pass();
    expect(list.rows.error()).toBeNull();
    expect(list.shown(0, 1)).toEqual([2, 3]);
    list.rows.stop();
    expect(list.waits()).toBe(0);
  });
});
