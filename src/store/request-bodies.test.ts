import { expect, test } from "vitest";
import type { DestinationId } from "../domain/ids.ts";
import { RequestBodies } from "./request-bodies.ts";
import { openTestStore, request, startOfTime } from "./store.fixture.ts";
import { Transactions } from "./transactions.ts";

const destination = 1 as DestinationId;

/** Each has its own bytes all over, and all of them are more than are kept in memory. */
const texts = Array.from(
  { length: 10 },
  (_, n) => `{"text":"${`${n} is the number. `.repeat(60_000)}"}`,
);

test("deliveries have the bytes of their messages, from memory and from the file", () => {
  const one = openTestStore();
  for (const text of texts) one.store.commit([request([{ text }, { text: "{}" }])]);
  for (const text of texts) one.store.commit([request([{ text, to: [1] }])]);
  const [first, ...rest] = texts;
  const sent = (store: typeof one.store, limit: number): string[] =>
    store
      .claim(destination, startOfTime, limit)
      .map(({ payload }) => Buffer.from(payload).toString());
  expect(sent(one.store, 1)).toEqual([first]);
  one.store.recordClaims();
  expect(sent(one.restarted().store, 20)).toEqual(rest);
});

test("the newest bodies stay in memory, up to 8 MB, and so does what was read last", () => {
  const { db } = openTestStore();
  const bodies = new RequestBodies(db, new Transactions(db));
  const insert = db.prepare(
    "INSERT INTO requests VALUES (?, 1, 0, 0, 'POST', '/', '[]', 1, 1, ?, NULL)",
  );
  for (let id = 1; id <= 5; id += 1) {
    insert.run(id, Buffer.from("in the file"));
    bodies.add(id, Buffer.alloc(2_000_000, "in memory"));
  }
  const sizes = [2, 3, 4, 5].map((id) => bodies.get(id)?.length);
  expect(sizes).toEqual(Array.from({ length: 4 }, () => 2_000_000));
  expect(bodies.get(1)?.toString()).toBe("in the file");
  db.exec("DELETE FROM requests");
  expect(bodies.get(1)?.toString()).toBe("in the file");
  expect(bodies.get(6)).toBeUndefined();
});

test("nothing stays in memory of messages that a reset removed", () => {
  const { db } = openTestStore();
  const transactions = new Transactions(db);
  const bodies = new RequestBodies(db, transactions);
  bodies.add(1, Buffer.from("removed"));
  transactions.run(() => transactions.reload());
  expect(bodies.get(1)).toBeUndefined();
});
