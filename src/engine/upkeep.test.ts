import { expect, test, vi } from "vitest";
import type { Settings } from "../domain/configuration.ts";
import { createUpkeep } from "./upkeep.ts";

test("retention goes on after the store could not say how much was rejected, and what called it does not fail", () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const broken = new Error("disk I/O error");
  const reported: unknown[] = [];
  let removals = 0;
  let isBroken = true;
  const store = {
    rejectedBytes() {
      if (isBroken) throw broken;
      return 0;
    },
    removeOld() {
      removals += 1;
      return 0;
    },
  };
  const upkeep = createUpkeep({
    store: store as unknown as Parameters<typeof createUpkeep>[0]["store"],
    settings: () => ({ maxRejectedBytes: 1000 }) as Settings,
    changes: { note: () => undefined, noteMany: () => undefined, noteGone: () => undefined },
    report: (error) => reported.push(error),
  });
  upkeep.kick();
  upkeep.start();
  expect([reported, removals]).toEqual([[broken, broken], 1]);
  isBroken = false;
  vi.advanceTimersByTime(10_000);
  expect([reported.length, removals]).toEqual([2, 2]);
  upkeep.stop();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});
