import { expect, test } from "vitest";
import { notFound } from "../domain/problem.ts";
import type { Change } from "../engine/pipeline.ts";
import type { Api } from "./api.ts";
import { createSwitchedApi } from "./switched-api.ts";

const change = (sequence: number): Change => ({
  sequence,
  area: "sources",
  ids: [],
  count: 1,
  added: 0,
});

/** An API that answers with its own name. */
function named(name: string) {
  const listeners = new Set<(changes: Change[]) => void>();
  const api: Api = {
    call: async (call) => ({ status: 200, body: [name, call] }),
    beside: () => api,
    changes: {
      sequence: () => 70,
      since: () => [change(70)],
      subscribe(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    openApi: () => name,
    metrics: () => name,
  };
  return {
    api,
    listeners,
    publish: (...changes: Change[]) => listeners.forEach((listener) => listener(changes)),
  };
}

/** Whether the promise has resolved by the next turn. */
async function isResolved(promise: Promise<unknown>): Promise<boolean> {
  let resolved = false;
  void promise.then(() => (resolved = true));
  await new Promise((resolve) => setImmediate(resolve));
  return resolved;
}

test("calls wait until a pipeline is there, and again while it is exchanged", async () => {
  const { served, show } = createSwitchedApi(() => {});
  expect([served.openApi(), served.metrics(), served.beside("x")]).toEqual([
    undefined,
    "",
    undefined,
  ]);
  const early = served.call("about.get", {});
  expect(await isResolved(early)).toBe(false);
  const [one, other] = [named("one"), named("other")];
  show(one.api);
  expect((await early).body).toEqual(["one", "about.get"]);
  expect((await served.call("clock.get", {})).body).toEqual(["one", "clock.get"]);
  expect([served.openApi(), served.metrics(), served.beside("x")]).toEqual([
    "one",
    "one",
    undefined,
  ]);
  show(null);
  const late = served.call("stats.get", {});
  expect(await isResolved(late)).toBe(false);
  show(other.api);
  expect((await late).body).toEqual(["other", "stats.get"]);
});

test("calls wait through several exchanges, and a problem answers them until a pipeline is there", async () => {
  const { served, show } = createSwitchedApi(() => {});
  const [one, other] = [named("one"), named("other")];
  show(one.api);
  show(null);
  const waiting = served.call("about.get", {});
  show(null);
  show(other.api);
  expect(await isResolved(waiting)).toBe(true);
  expect((await waiting).body).toEqual(["other", "about.get"]);
  show(null);
  const late = served.call("about.get", {});
  show(notFound("story", "story_1"));
  expect(await isResolved(late)).toBe(true);
  expect(await late).toMatchObject({ status: 404, body: { code: "not_found" } });
  expect(await served.call("about.get", {})).toMatchObject({ status: 404 });
  expect([served.openApi(), served.metrics(), other.listeners.size]).toEqual([undefined, "", 0]);
  show(null);
  const again = served.call("about.get", {});
  show(one.api);
  expect(await isResolved(again)).toBe(true);
});

test("who follows the changes goes on with those of the next pipeline, under numbers that continue", () => {
  const { served, show } = createSwitchedApi(() => {});
  const seen: number[][] = [];
  const { changes } = served;
  const unsubscribe = changes.subscribe((list) => seen.push(list.map(({ sequence }) => sequence)));
  const [one, other] = [named("one"), named("other")];
  show(one.api);
  expect([changes.sequence(), changes.since(0), changes.since(1)]).toEqual([0, [], null]);
  one.publish(change(71), change(72));
  show(null);
  expect(one.listeners.size).toBe(0);
  show(other.api);
  other.publish(change(5));
  show(one.api);
  expect([one.listeners.size, other.listeners.size]).toEqual([1, 0]);
  expect(seen).toEqual([[1, 2], [3]]);
  expect([changes.sequence(), changes.since(3), changes.since(2)]).toEqual([3, [], null]);
  unsubscribe();
  one.publish(change(73));
  expect([seen.length, changes.sequence()]).toEqual([2, 4]);
});

test("that somebody follows is told with the first, and that nobody does with the last", () => {
  const told: boolean[] = [];
  const { served } = createSwitchedApi((isWatched) => told.push(isWatched));
  const [first, second] = [1, 2].map(() => served.changes.subscribe(() => {}));
  expect(told).toEqual([true]);
  first?.();
  first?.();
  expect(told).toEqual([true]);
  second?.();
  second?.();
  expect(told).toEqual([true, false]);
});
