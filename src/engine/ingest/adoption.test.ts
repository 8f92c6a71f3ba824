/** Requests that were kept for an unknown write key, once a source has it. */

import { expect, test } from "vitest";
import type { Destination, Source } from "../../domain/configuration.ts";
import type { DestinationId, MessageRowId, SourceId } from "../../domain/ids.ts";
import { expectConsistent, openTestStore, startOfTime } from "../../store/store.fixture.ts";
import { Activity } from "../clock/activity.ts";
import { nextTurn } from "../real-time.ts";
import { createAdoption } from "./adoption.ts";

const writeKey = "shop";

const source = {
  ...{ id: 1 as SourceId, name: "Shop", kind: "server", plan: null, deduplicate: true },
  ...{ correctClockSkew: "always", writeKey },
} as unknown as Source;

const destinations = Array.from({ length: 100 }, (_, nth): Destination => ({
  ...{ id: (nth + 1) as DestinationId, kind: "webhooks", name: `D${nth}`, enabled: true },
  ...{ sourceIds: [source.id], mappings: [], filters: [], webhooks: [], sharedSecret: null },
  ...{ retryProfile: "documented", payload: "documented", createdAt: startOfTime },
}));

const events = (count: number) =>
  Array.from({ length: count }, (_, nth) => `{"type":"track","userId":"u","event":"ü${nth}"}`);

function start({ db, store, restarted } = openTestStore()) {
  const commits: number[] = [];
  let refusedAt = Infinity;
  const activity = new Activity();
  const { adopt, committed } = createAdoption({
    store: {
      ...store,
      commit(requests) {
        if (commits.length + 1 === refusedAt) throw new Error("no room");
        return store.commit(requests);
      },
    },
    configuration: { sourceByWriteKey: (key) => (key === writeKey ? source : undefined) },
    activity,
    factsOf: () => ({
      ...{ source, destinations, seed: 1, receivedAt: startOfTime, wallAt: startOfTime },
      isSuppressed: () => false,
    }),
    onCommitted: (messages) => void commits.push(messages.length),
  });
  return {
    ...{ db, activity, adopt, committed, commits },
    refuse(nth: number): void {
      refusedAt = nth;
    },
    /** After a kill: the same data, and nothing that was in memory. */
    restarted: () => start(restarted()),
    keep(body: string, path = "/v1/batch"): void {
      const request = { writeKey, path, method: "POST", headers: [], ip: null };
      const received = { receivedAt: startOfTime, wallAt: startOfTime, body: Buffer.from(body) };
      store.keepUnknownKeyRequest({ ...request, ...received }, 1_000_000);
    },
    kept(): string | null {
      const request = store.oldestUnknownKeyRequest(writeKey);
      return request === null ? null : Buffer.from(request.body).toString();
    },
    /** The bytes of each message, in order. */
    accepted: () =>
      db
        .prepare<[], MessageRowId>("SELECT id FROM messages ORDER BY id")
        .pluck()
        .all()
        .map((id) => Buffer.from(store.message(id)?.raw ?? []).toString()),
  };
}

const batchOf = (items: readonly string[]): string =>
  `{"context":{"a":1},"batch":[ ${items.join(" , ")} ],"sentAt":null}`;

test("a kept request with many rows is accepted in parts, and each is forgotten with its commit", async () => {
  const one = start();
  const items = events(60);
  one.keep(batchOf(items));
  one.keep(batchOf(items.slice(0, 1)));
  const adopted = one.adopt(writeKey);
  const seen: unknown[] = [];
  while (!one.activity.isQuiet(true)) {
    const now = [one.commits.length, one.kept()];
    if (JSON.stringify(now) !== JSON.stringify(seen.at(-1))) seen.push(now);
    await nextTurn();
  }
  await adopted;
  expect(one.commits).toEqual([50, 10, 1]);
  expect(seen).toEqual([
    [0, batchOf(items)],
    [1, batchOf(items.slice(50))],
    [2, batchOf(items.slice(0, 1))],
    [3, null],
  ]);
  expect([one.kept(), one.accepted()]).toEqual([null, [...items, items[0]]]);
  expectConsistent(one.db);
});

test("after a kill between two parts the next adoption accepts the rest, and each message once", async () => {
  const one = start();
  const items = events(60);
  one.keep(batchOf(items));
  one.refuse(2);
  await expect(one.adopt(writeKey)).rejects.toThrow("no room");
  expect([one.kept(), one.activity.isQuiet(true)]).toEqual([batchOf(items.slice(50)), true]);
  const again = one.restarted();
  await again.adopt(writeKey);
  expect([again.commits, again.kept()]).toEqual([[10], null]);
  expect(again.accepted()).toEqual(items);
  expectConsistent(again.db);
});

test("whoever adopts at the same time waits for the same work, and an adoption that failed can be repeated", async () => {
  const one = start();
  const items = events(60);
  one.keep(batchOf(items));
  one.refuse(2);
  const both = [one.adopt(writeKey), one.adopt(writeKey)];
  expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual([
    "rejected",
    "rejected",
  ]);
  one.refuse(Infinity);
  await Promise.all([one.adopt(writeKey), one.adopt(writeKey)]);
  expect([one.commits, one.accepted()]).toEqual([[50, 10], items]);
});

test("what is accepted by now is committed with the last part of its request, and the next one is checked again", async () => {
  const one = start();
  for (let nth = 0; nth < 2; nth += 1) one.keep(batchOf(events(60)));
  const adopted = one.adopt(writeKey);
  while (one.commits.length === 0) await nextTurn();
  await one.committed();
  expect(one.commits).toEqual([50, 10]);
  await adopted;
  await one.committed();
  one.keep(batchOf(events(60)));
  one.refuse(6);
  const refused = one.adopt(writeKey);
  while (one.commits.length === 4) await nextTurn();
  await one.committed();
  await expect(refused).rejects.toThrow("no room");
});

test("kept requests without a message are forgotten, and those of a key without a source stay", async () => {
  const one = start();
  one.keep("{");
  one.keep(batchOf([]));
  one.keep(events(1)[0] ?? "", "/v1/projects/shop/settings");
  one.keep(events(1)[0] ?? "", "/v1/track");
  await one.adopt("another");
  expect(one.kept()).toBe("{");
  await one.adopt(writeKey);
  expect([one.commits, one.kept(), one.accepted()]).toEqual([[1], null, events(1)]);
});
