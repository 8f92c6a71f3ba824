/**
 * Deletion requests: their slices, their states as their messages go on, and what they do when the
 * store refuses.
 */

import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { createSteppedClock } from "../../../test/support/stepped-clock.ts";
import { deletionIds, messageIds, type DeletionId, type DeliveryId } from "../../domain/ids.ts";
import { isProblem } from "../../domain/problem.ts";
import { moveTo, openTestStore, request } from "../../store/store.fixture.ts";
import { createChangeFeed } from "../changes.ts";
import { Activity } from "../clock/activity.ts";
import { createConfiguration } from "../configuration.ts";
import { createInternalMessages } from "../ingest/internal-messages.ts";
import type { Change } from "../pipeline.ts";
import type { DeletionView } from "../profile-pipeline.ts";
import { follow } from "../profiles/follow.ts";
import { nextTurn } from "../real-time.ts";
import { createDeletions, createSuppressions } from "./deletions.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

function startDeletions() {
  const { db, store } = openTestStore();
  const clock = createSteppedClock();
  const activity = new Activity();
  const changes = createChangeFeed();
  const told: Change[] = [];
  changes.subscribe((lines) => void told.push(...lines));
  const reported: unknown[] = [];
  const now = (): number => clock.now();
  const configuration = createConfiguration({
    store,
    now,
    changes,
    onChange: () => {},
    onDestinationDeleted: () => {},
  });
  const source = configuration.createSource({ name: "Shop" });
  if (isProblem(source)) throw new Error(source.message);
  const connect = (name: string): void =>
    void configuration.createDestination({
      name,
      sourceIds: [source.id],
      webhooks: [{ url: "http://127.0.0.1/", headers: {} }],
    });
  connect("D");
  const suppressions = createSuppressions({ store, now, changes, onLifted: () => {} });
  const parts = { store, clock, activity, changes, configuration };
  const internalMessages = createInternalMessages({ ...parts, onCommitted: () => {} });
  const again = () =>
    createDeletions({
      ...{ ...parts, suppressions, internalMessages, hasSentTo: () => true },
      ...{ forget: () => {}, onFailed: () => {} },
      caughtUp: () => Promise.resolve(void follow({ store, limit: 10_000, isTimeUp: () => false })),
      report: (error) => reported.push(error),
    });
  const deletions = again();
  deletions.start();
  onTestFinished(() => {
    deletions.stop();
    changes.stop();
  });
  return {
    db,
    store,
    activity,
    changes,
    deletions,
    /** As after a start. */
    again,
    suppressions,
    reported,
    connect,
    /** An event of each. */
    send(users: readonly string[]): void {
      const bought = (userId: string) => ({
        userId,
        event: "Bought",
        text: JSON.stringify({ type: "track", userId, event: "Bought" }),
      });
      store.commit([request(users.map(bought))]);
    },
    /** Joins each to the user. */
    alias(userId: string, previous: readonly string[]): void {
      const type = "alias" as const;
      const joined = (previousId: string) => ({
        ...{ type, userId },
        text: JSON.stringify({ type, userId, previousId }),
      });
      store.commit([request(previous.map(joined))]);
    },
    create: async (users: readonly string[], suppress = true) =>
      (await deletions.create(users, suppress)) as DeletionView,
    /** Requests whose change the feed tells, gathered until now. */
    noted(): string[] {
      vi.advanceTimersByTime(60);
      vi.advanceTimersByTime(60);
      return told.splice(0).flatMap(({ area, ids }) => (area === "deletions" ? ids : []));
    },
    move(delivery: number, state: Parameters<typeof moveTo>[1]): void {
      store.record([], [moveTo(delivery as DeliveryId, state)]);
      changes.note(
        "messages",
        messageIds.format(
          store.deliveryDetails(delivery as DeliveryId)?.messageRow ?? (0 as never),
        ),
      );
    },
    refuse: () =>
      db.exec(
        "CREATE TRIGGER refuse BEFORE UPDATE ON deletion_users BEGIN SELECT RAISE(ABORT, 'no room'); END",
      ),
    allow: () => db.exec("DROP TRIGGER refuse"),
    left: () => db.prepare("SELECT count(*) FROM deletion_users WHERE body IS NULL").pluck().get(),
  };
}

const users = (count: number): string[] => Array.from({ length: count }, (_, nth) => `u${nth}`);

test("fifty users are deleted in a turn, it is work until all are, and each is named in the order of the request", async () => {
  const one = startDeletions();
  one.send(users(3));
  const created = one.create([...users(120), "u1"]);
  const counts: unknown[] = [];
  while (!one.activity.isQuiet(true)) {
    const left = one.store.usersToDelete(1 as DeletionId, 1000).length;
    if (left !== counts.at(-1)) counts.push(left);
    // The profiles have what arrives meanwhile, before more users are deleted.
    if (left === 70) one.send(["u119"]);
    await nextTurn();
  }
  expect(counts).toEqual([120, 70, 20, 0]);
  const { users: deleted, state } = await created;
  expect(deleted.map(({ userId }) => userId)).toEqual(users(120));
  const known = deleted.filter(({ deleted: user }) => user?.known === true).length;
  expect([state, one.store.countKnownUsers(), known]).toEqual(["queued", 0, 4]);
  expect([one.suppressions.isSuppressed("u119"), one.suppressions.isSuppressed("u120")]).toEqual([
    true,
    false,
  ]);
});

test("fewer users are deleted in a turn when their delete messages go to many destinations", async () => {
  const one = startDeletions();
  for (let nth = 1; nth < 250; nth += 1) one.connect(`D${nth}`);
  one.send(users(50));
  const before = one.store.newestRows().delivery;
  const created = one.create(users(50));
  const counts = [0];
  while (!one.activity.isQuiet(true)) {
    const count = one.store.newestRows().delivery - before;
    if (count !== counts.at(-1)) counts.push(count);
    await nextTurn();
  }
  expect((await created).users).toHaveLength(50);
  expect(counts).toEqual([0, 5000, 10_000, 12_500]);
});

test("users of one profile are deleted one after the other, and one delete message names each", async () => {
  const one = startDeletions();
  one.send(["old", "new"]);
  one.alias("new", ["old"]);
  const { users: deleted } = await one.create([...users(60), "old", ...users(60), "new"], false);
  expect(
    deleted.filter(({ deleted: known }) => known?.known === true).map(({ userId }) => userId),
  ).toEqual(["old", "new"]);
  expect(
    one.db.prepare("SELECT user_id FROM messages ORDER BY id LIMIT 10 OFFSET 3").pluck().all(),
  ).toEqual(["old", "new"]);
  expect(one.suppressions.isSuppressed("old")).toBe(false);
});

test("a profile with many named userIds is read once and removed once, with the last of them, also after a failure", async () => {
  const one = startDeletions();
  const named = users(120);
  one.send(["u0"]);
  one.alias("u0", [...named.slice(1), "unnamed"]);
  const counts = { userIdsOf: 0, removeLastSentFor: 0 };
  const { userIdsOf, removeLastSentFor } = one.store;
  one.store.userIdsOf = (of) => ((counts.userIdsOf += 1), userIdsOf(of));
  one.store.removeLastSentFor = (of) => ((counts.removeLastSentFor += 1), removeLastSentFor(of));
  one.db.exec(
    "CREATE TRIGGER refuse BEFORE DELETE ON profiles BEGIN SELECT RAISE(ABORT, 'no room'); END",
  );
  await expect(one.create(named)).rejects.toThrow("no room");
  expect([one.left(), one.store.countKnownUsers()]).toEqual([20, 1]);
  // Once for the order and the sentences, and once for the values that were sent of them.
  expect(counts).toEqual({ userIdsOf: 2, removeLastSentFor: 120 + 121 });
  one.db.exec("DROP TRIGGER refuse");
  vi.advanceTimersByTime(500);
  while (!one.activity.isQuiet(true)) await nextTurn();
  expect([one.left(), one.store.countKnownUsers()]).toEqual([0, 0]);
  const sent = one.db.prepare("SELECT user_id FROM messages WHERE id > 121").pluck().all();
  expect([sent.length, new Set(sent)]).toEqual([120, new Set(named)]);
  const details = one.deletions.get(1 as DeletionId)?.users.map(({ deleted }) => deleted?.detail);
  expect([...new Set(details)]).toEqual([
    'The profile was removed. A delete message was created for Shop. The profile also had the userId "unnamed"; to receivers that is another user, which the request did not name.',
  ]);
});

test("the state of a request follows its messages, and each change of it is told once", async () => {
  const one = startDeletions();
  one.send(["ada"]);
  const { id, state } = await one.create(["ada"]);
  const name = deletionIds.format(id);
  expect([state, one.noted()]).toEqual(["queued", [name]]);
  one.move(1, "queued");
  expect(one.noted()).toEqual([]);
  one.move(1, "waiting");
  expect([one.noted(), one.deletions.get(id)?.state]).toEqual([[name], "waiting"]);
  one.store.record([], [moveTo(1 as DeliveryId, "delivered")]);
  // A line of the feed names a hundred: of more changes any may be of a delete message.
  one.changes.noteMany("messages", users(150), () => "msg_000009999", false);
  expect([one.noted(), one.deletions.list(10, null).items[0]?.state]).toEqual([
    [name],
    "delivered",
  ]);
  one.changes.noteMany("messages", users(150), () => "msg_000009999", false);
  expect(one.noted()).toEqual([]);
});

test("of many requests that may have changed, one is read in a turn", async () => {
  const one = startDeletions();
  const named = users(4);
  one.send(named);
  for (const userId of named) await one.create([userId]);
  one.noted();
  const { stateOfMessages } = one.store;
  let read = 0;
  one.store.stateOfMessages = (id) => {
    read += 1;
    return stateOfMessages(id);
  };
  // A line of the feed names a hundred: of more changes any may be of a delete message.
  for (let line = 0; line < 3; line += 1) {
    one.changes.noteMany("messages", users(150), () => "msg_000009999", false);
    vi.advanceTimersByTime(60);
  }
  const seen = [read];
  while (read < 4) {
    await nextTurn();
    if (read !== seen.at(-1)) seen.push(read);
  }
  expect(seen).toEqual([1, 2, 3, 4]);
  for (let turn = 0; turn < 10; turn += 1) await nextTurn();
  // The one that was read with the first line has its turn again.
  expect(read).toBe(5);
});

test("a request that is deleted before its turn to be read is not told again", async () => {
  const one = startDeletions();
  one.send(["ada", "bob"]);
  await one.create(["ada"]);
  const { id } = await one.create(["bob"]);
  one.noted();
  for (const delivery of [1, 2]) one.move(delivery, "delivered");
  vi.advanceTimersByTime(60);
  expect(one.deletions.delete(id)).toBeNull();
  // The first is read at once, and the second is told as deleted.
  expect(one.noted()).toEqual([1, 2].map((each) => deletionIds.format(each as DeletionId)));
  for (let turn = 0; turn < 4; turn += 1) await nextTurn();
  expect(one.noted()).toEqual([]);
});

test("a suppression that is lifted is told, and one that is not there is not", () => {
  const one = startDeletions();
  const told: Change[] = [];
  one.suppressions.create(["ada", "bob", "ada"]);
  vi.advanceTimersByTime(60);
  one.changes.subscribe((lines) => void told.push(...lines));
  expect(one.suppressions.lift("nobody")).toMatchObject({ status: 404 });
  expect(one.suppressions.lift("ada")).toBeNull();
  vi.advanceTimersByTime(60);
  expect(told).toMatchObject([{ area: "suppressions", ids: ["ada"], count: 1 }]);
  expect([one.suppressions.isSuppressed("ada"), one.suppressions.isSuppressed("bob")]).toEqual([
    false,
    true,
  ]);
  expect(one.suppressions.list("", 10, null).items).toMatchObject([{ userId: "bob" }]);
});

test("with nobody to send to, the request says so", async () => {
  const one = startDeletions();
  const { id, state } = await one.create(["nobody"]);
  expect([state, one.noted()]).toEqual(["nothing_to_send", [deletionIds.format(id)]]);
  const next = one.create(["nobody else"]);
  const begun = one.noted();
  const named = [deletionIds.format((await next).id)];
  expect([begun, one.noted()]).toEqual([named, named]);
});

test("messages that have the ids of delete messages after a reset belong to no request", async () => {
  const one = startDeletions();
  one.send(["ada"]);
  await one.create(["ada"]);
  const { messageRow } = one.store.deliveryDetails(1 as DeliveryId) ?? {};
  one.store.clearMessages();
  one.deletions.reload();
  one.noted();
  one.changes.note("messages", messageIds.format(messageRow ?? (0 as never)));
  expect(one.noted()).toEqual([]);
});

test("a start knows the messages of earlier requests, and a deleted request is not followed any more", async () => {
  const one = startDeletions();
  one.send(["ada"]);
  const { id } = await one.create(["ada"]);
  one.noted();
  one.deletions.start();
  expect(one.noted()).toEqual([deletionIds.format(id)]);
  one.move(1, "waiting");
  expect(one.noted()).toEqual([deletionIds.format(id)]);
  expect(one.deletions.delete(id)).toBeNull();
  expect([one.noted(), one.deletions.get(id), one.deletions.delete(id)]).toEqual([
    [deletionIds.format(id)],
    undefined,
    expect.objectContaining({ status: 404 }),
  ]);
  one.move(1, "delivered");
  one.changes.noteMany("messages", users(150), () => "msg_000009999", false);
  expect(one.noted()).toEqual([]);
});

test("a state that cannot be read is reported, and the other listeners of the feed hear the change", async () => {
  const one = startDeletions();
  one.send(["ada"]);
  await one.create(["ada"]);
  one.noted();
  one.store.stateOfMessages = () => {
    throw new Error("no file");
  };
  one.move(1, "waiting");
  const heard: Change[] = [];
  one.changes.subscribe((lines) => void heard.push(...lines));
  vi.advanceTimersByTime(60);
  expect([one.reported, heard.map(({ area }) => area)]).toEqual([
    [new Error("no file")],
    ["messages"],
  ]);
  one.deletions.stop();
  one.move(1, "delivered");
  vi.advanceTimersByTime(60);
  expect(one.reported).toHaveLength(1);
});

test("what the store refuses is told to the caller, cannot be deleted, and goes on after half a second", async () => {
  const one = startDeletions();
  one.refuse();
  await expect(one.create(users(3))).rejects.toThrow("no room");
  await expect(one.create(["other"])).rejects.toThrow("no room");
  const id = 1 as DeletionId;
  expect([one.deletions.get(id)?.state, one.activity.isQuiet(true), one.reported]).toEqual([
    "queued",
    true,
    [],
  ]);
  expect(one.deletions.delete(id)).toMatchObject({ status: 409, code: "deletion_under_way" });
  vi.advanceTimersByTime(500);
  await one.activity.whenQuiet();
  expect(one.reported).toHaveLength(2);
  one.allow();
  vi.advanceTimersByTime(499);
  expect(one.activity.isQuiet(true)).toBe(true);
  vi.advanceTimersByTime(1);
  await one.activity.whenQuiet();
  expect(one.deletions.list(10, null).items.map(({ state }) => state)).toEqual([
    "nothing_to_send",
    "nothing_to_send",
  ]);
  expect([one.left(), one.reported.length]).toEqual([0, 2]);
  one.noted();
  expect(vi.getTimerCount()).toBe(0);
});

test("of requests that fail one after the other all are tried again with the first", async () => {
  const one = startDeletions();
  one.refuse();
  await expect(one.create(["first"])).rejects.toThrow("no room");
  one.noted();
  await expect(one.create(["second"])).rejects.toThrow("no room");
  vi.advanceTimersByTime(380);
  await one.activity.whenQuiet();
  expect(one.reported).toHaveLength(2);
  vi.advanceTimersByTime(499);
  await one.activity.whenQuiet();
  expect(one.reported).toHaveLength(2);
  one.allow();
  vi.advanceTimersByTime(1);
  await one.activity.whenQuiet();
  expect([one.left(), one.reported.length]).toEqual([0, 2]);
});

test("a request that runs is not begun again while another one is tried again", async () => {
  const one = startDeletions();
  one.send(users(120));
  one.refuse();
  await expect(one.create(["refused"])).rejects.toThrow("no room");
  one.allow();
  const created = one.create(users(120));
  while (one.left() === 121) await nextTurn();
  vi.advanceTimersByTime(500);
  const { id } = await created;
  await one.activity.whenQuiet();
  expect(one.left()).toBe(0);
  expect(one.store.deletion(id)?.users.every(({ deleted }) => deleted?.known)).toBe(true);
});

test("a request whose state cannot be read afterwards leaves no work open, and is looked for again", async () => {
  const one = startDeletions();
  const { usersToDelete, unfinishedDeletions } = one.store;
  // It is read once when the request is made, and then by its run.
  let reads = 0;
  one.store.usersToDelete = (...asked) => {
    reads += 1;
    if (reads > 1) throw new Error("no file");
    return usersToDelete(...asked);
  };
  await expect(one.create(users(3))).rejects.toThrow("no file");
  expect(one.activity.isQuiet(true)).toBe(true);
  one.store.usersToDelete = usersToDelete;
  one.store.unfinishedDeletions = () => {
    throw new Error("no list");
  };
  vi.advanceTimersByTime(500);
  expect(one.reported).toEqual([new Error("no list")]);
  one.store.unfinishedDeletions = unfinishedDeletions;
  vi.advanceTimersByTime(500);
  await one.activity.whenQuiet();
  expect(one.left()).toBe(0);
});

test("a request that cannot be stored suppresses nobody", async () => {
  const one = startDeletions();
  one.db.exec(
    "CREATE TRIGGER refuse BEFORE INSERT ON suppressions WHEN NEW.user_id = 'u1' BEGIN SELECT RAISE(ABORT, 'no room'); END",
  );
  await expect(one.create(users(3))).rejects.toThrow("no room");
  expect([one.suppressions.isSuppressed("u0"), one.deletions.list(10, null).items]).toEqual([
    false,
    [],
  ]);
  expect(() => one.suppressions.create(users(3))).toThrow("no room");
  expect(one.suppressions.isSuppressed("u0")).toBe(false);
});

test("a start goes on with requests that a kill interrupted", async () => {
  const one = startDeletions();
  one.store.insertDeletion({ suppress: false, requestedAt: 0, userIds: users(60) });
  one.deletions.start();
  await one.activity.whenQuiet();
  expect(one.left()).toBe(0);
});

test("the many events of a user go in several turns, and after a stop with the next start", async () => {
  const one = startDeletions();
  one.send(["ada"]);
  await one.create(["bob"]);
  const insert = one.db.prepare("INSERT INTO profile_events VALUES (?, 1, 'Viewed', 1, '{}')");
  for (let id = 1000; id < 16_000; id += 1) insert.run(id);
  const count = one.db.prepare("SELECT count(*) FROM profile_events").pluck();
  const created = one.create(["ada"]);
  while (Number(count.get()) > 10_002) await nextTurn();
  one.deletions.stop();
  await created;
  expect([one.left(), count.get()]).toEqual([0, 10_002]);
  one.again().start();
  await one.activity.whenQuiet();
  expect(count.get()).toBe(0);
});

test("a stop ends a request between two slices, and one that waits for another try", async () => {
  const one = startDeletions();
  const created = one.create(users(120));
  while (one.left() === 120) await nextTurn();
  one.deletions.stop();
  expect(await created).toMatchObject({ code: "stopping" });
  expect([one.left(), one.activity.isQuiet(true)]).toEqual([70, true]);
  expect(await one.create(["late"])).toMatchObject({ code: "stopping" });
  const refused = startDeletions();
  refused.refuse();
  await expect(refused.create(users(1))).rejects.toThrow("no room");
  refused.noted();
  one.changes.stop();
  expect(vi.getTimerCount()).toBe(1);
  refused.deletions.stop();
  expect(vi.getTimerCount()).toBe(0);
});

test("a reset in the middle ends the request", async () => {
  const one = startDeletions();
  const created = one.create(users(120));
  while (one.left() === 120) await nextTurn();
  one.store.clearMessages();
  one.deletions.reload();
  expect(await created).toMatchObject({ status: 404 });
  expect([one.activity.isQuiet(true), one.reported]).toEqual([true, []]);
});
