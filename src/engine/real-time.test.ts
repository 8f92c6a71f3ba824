import { describe, expect, test } from "vitest";
import { createPeak, createTurnBudget, monotonic, nextTurn, startDeadline } from "./real-time.ts";

/** The turn of the event loop in which each piece was done, from 0. */
async function turnsOf(costs: number[], perTurn: number): Promise<number[]> {
  const take = createTurnBudget(perTurn);
  let turn = 0;
  let left = costs.length;
  const count = (): void => {
    turn += 1;
    if (left > 0) setImmediate(count);
  };
  setImmediate(count);
  const done = costs.map(async (cost) => {
    await take(cost);
    left -= 1;
    return turn;
  });
  return Promise.all(done);
}

test("pieces of work share the turns of the event loop, in order", async () => {
  expect(await turnsOf([5, 5, 5, 5, 1], 10)).toEqual([0, 0, 1, 1, 2]);
});

test("a piece that is larger than a turn has one of its own", async () => {
  expect(await turnsOf([30, 1, 1, 30, 30, 1], 10)).toEqual([0, 1, 1, 2, 3, 4]);
});

test("a turn that was not used up is no help to the next one, and nothing waits when nothing was done", async () => {
  const take = createTurnBudget(10);
  for (let n = 0; n < 3; n += 1) {
    await take(10);
    await nextTurn();
  }
  let isDone = false;
  void take(10).then(() => (isDone = true));
  await Promise.resolve();
  await Promise.resolve();
  expect(isDone).toBe(true);
});

describe("a deadline", () => {
  test("ends the wait", async () => {
    await new Promise<void>((resolve) => void startDeadline(1, resolve));
  });

  test("that fires late, because this process did not run, leaves time to read what has arrived", async () => {
    let isOver = false;
    const deadline = startDeadline(20, () => {
      isOver = true;
    });
    const until = monotonic() + 300;
    while (monotonic() < until);
    for (let turn = 0; turn < 3; turn += 1) await nextTurn();
    expect(isOver).toBe(false);
    deadline.cancel();
  });
});

test("a peak is the most within one second, and stays", () => {
  let now = 500;
  const peak = createPeak(() => now);
  expect(peak.most()).toBe(0);
  for (let n = 0; n < 3; n += 1) peak.note();
  now = 1000;
  peak.note();
  peak.note();
  expect(peak.most()).toBe(3);
  peak.note();
  peak.note();
  expect(peak.most()).toBe(4);
});
