/** First syncs of destinations that are connected later, and syncs that are cancelled or fail. */

import { afterEach, expect, test, vi } from "vitest";
import type { AudienceId, DeletionId, DestinationId } from "../../domain/ids.ts";
import { createDeleteUsers } from "../deletions/delete-users.ts";
import { nextTurn } from "../real-time.ts";
import { connect, rule, startFailing } from "./computations.fixture.ts";
import { createWalker } from "./walk.ts";

type App = ReturnType<typeof startFailing>;

const live = { name: "Buyers", rule, sync: "each-event" } as const;
const hour = 60 * 60 * 1000;
const usersOf = (count: number): string[] =>
  Array.from({ length: count }, (_, nth) => `u${String(nth).padStart(4, "0")}`);

afterEach(() => void vi.useRealTimers());

/** The userIds that a destination was sent, each as often as it was. */
const reached = (app: App, id: DestinationId): unknown[] =>
  app.db
    .prepare(
      `SELECT user_id FROM decisions JOIN messages ON messages.id = decisions.message_id
       WHERE destination_id = ? AND decisions.reason = 'routed' ORDER BY user_id`,
    )
    .pluck()
    .all(id);

async function startAudience(count: number, more: object = live) {
  const app = startFailing();
  const { id } = (await app.audiences.create({ ...live, ...more })) as { id: AudienceId };
  await app.send(usersOf(count));
  await app.activity.whenQuiet();
  return { app, id };
}

test("a change of the configuration without a new destination is no work, and writes nothing", async () => {
  const { app } = await startAudience(2);
  const noted: unknown[] = [];
  app.changes.subscribe((lines) => void noted.push(...lines));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  vi.advanceTimersByTime(60);
  noted.splice(0);
  app.onConfigurationChanged();
  expect(app.activity.isQuiet(true)).toBe(true);
  vi.advanceTimersByTime(60);
  expect(noted).toEqual([]);
});

test("destinations that are connected together are each sent everything, and one that was away is new again", async () => {
  const { app, id } = await startAudience(3);
  const [one, other, off] = [
    connect(app, "One"),
    connect(app, "Other"),
    connect(app, "Off", false),
  ];
  await app.audiences.update(id, { destinationIds: [one, other, off] });
  await app.activity.whenQuiet();
  expect([one, other, off].map((each) => reached(app, each))).toEqual([usersOf(3), usersOf(3), []]);
  expect(app.audiences.list()[0]).toMatchObject({
    ...{ reached: [one, other], firstSyncs: [{ destinationId: off, after: "", sent: 0 }] },
  });
  await app.audiences.update(id, { destinationIds: [other] });
  expect(app.audiences.list()[0]).toMatchObject({ reached: [other], firstSyncs: [] });
  await app.audiences.update(id, { destinationIds: [one, other] });
  await app.activity.whenQuiet();
  expect(reached(app, one)).toEqual(usersOf(3).flatMap((userId) => [userId, userId]));
  expect(reached(app, other)).toEqual(usersOf(3));
});

test("a destination that was away is told who left meanwhile, also after a suppression, and nobody who left before", async () => {
  const app = startFailing();
  const late = connect(app, "Late");
  const to = { destinationIds: [late] };
  const members = ["ada", "bob", "cyd", "dan"];
  const created = await app.audiences.create({ name: "List", members, ...to });
  const { id } = created as { id: AudienceId };
  const stay = async (...left: string[]) => {
    await app.audiences.update(id, { members: left });
    await app.audiences.sync(id);
    app.clock.advanceBy(1);
  };
  await stay("ada", "bob", "cyd");
  await app.audiences.update(id, { destinationIds: [] });
  await stay("ada");
  app.suppressed.add("cyd");
  app.sent();
  const values = () => app.sent().map(({ message }) => [message.userId, message]);
  const told = (value: boolean) => expect.objectContaining({ traits: { list: value } }) as object;
  const again = async () => {
    await app.audiences.update(id, to);
    await app.activity.whenQuiet();
  };
  await again();
  expect(values()).toEqual([
    ["ada", told(true)],
    ["bob", told(false)],
  ]);
  expect(app.store.audiences()).toMatchObject([{ reached: [late], firstSyncs: [] }]);
  app.suppressed.clear();
  app.onConfigurationChanged();
  await app.activity.whenQuiet();
  expect(values()).toEqual([["cyd", told(false)]]);
  await app.audiences.update(id, { destinationIds: [] });
  await again();
  expect(values()).toEqual([["ada", told(true)]]);

  // One that is suppressed over a whole first sync.
  await app.audiences.update(id, { destinationIds: [] });
  await stay();
  app.suppressed.add("ada");
  await again();
  await app.audiences.update(id, { destinationIds: [] });
  app.suppressed.clear();
  app.sent();
  await again();
  expect(values()).toContainEqual(["ada", told(false)]);
});

test("who left while a destination was away is told it also after another interruption", async () => {
  const { app, id } = await startAudience(60);
  const late = connect(app, "Late");
  await app.audiences.update(id, { destinationIds: [late] });
  await app.audiences.update(id, { destinationIds: [] });
  await app.audiences.update(id, { rule: { event: "Never" } });
  app.sent();
  const begun = app.audiences.update(id, { destinationIds: [late] });
  while ((app.audiences.list()[0]?.firstSyncs[0]?.after ?? "") === "") await nextTurn();
  app.audiences.cancelSync(id);
  await begun;
  expect([app.sent().length, app.audiences.list()[0]?.firstSyncs[0]?.sent]).toEqual([50, 0]);
  app.clock.advanceBy(1);
  for (const destinationIds of [[], [late]]) await app.audiences.update(id, { destinationIds });
  await app.activity.whenQuiet();
  expect(app.sent()).toHaveLength(60);
});

/** The deletes that a destination gets when the user is deleted. */
function deletesAt(app: App, userId: string, to: DestinationId): number {
  const before = reached(app, to).length;
  const users = createDeleteUsers(app);
  users.delete([users.find(userId, { isLast: true, others: [] })], 1 as DeletionId, true);
  return reached(app, to).length - before;
}

test("a destination that has a user's value gets the delete after it was connected again", async () => {
  const { app, id } = await startAudience(120);
  const [whole, begun, fresh] = ["Whole", "Begun", "Fresh"].map((name) => connect(app, name)) as [
    DestinationId,
    DestinationId,
    DestinationId,
  ];
  await app.audiences.update(id, { destinationIds: [whole] });
  const connected = app.audiences.update(id, { destinationIds: [whole, begun] });
  while ((app.audiences.list()[0]?.firstSyncs[0]?.after ?? "") === "") await nextTurn();
  app.audiences.cancelSync(id);
  await connected;
  await app.audiences.update(id, { destinationIds: [] });
  const again = app.audiences.update(id, { destinationIds: [whole, begun, fresh] });
  app.audiences.cancelSync(id);
  await again;
  await app.activity.whenQuiet();
  expect(app.audiences.list()[0]?.firstSyncs).toMatchObject([
    ...[whole, begun, fresh].map((destinationId) => ({ destinationId, after: "" })),
  ]);
  const deletes = [whole, begun, fresh].map((to, nth) => deletesAt(app, `u000${nth}`, to));
  expect(deletes).toEqual([1, 1, 0]);
});

test("who has left is sent to no later destination, and is not counted", async () => {
  const app = startFailing();
  const { id } = (await app.audiences.create({ name: "List", members: ["a", "b", "gone"] })) as {
    id: AudienceId;
  };
  await app.audiences.update(id, { members: ["a", "b"] });
  await app.audiences.sync(id);
  const late = connect(app, "Late");
  const connected = app.audiences.update(id, { destinationIds: [late] });
  while ((app.audiences.list()[0]?.firstSyncs[0]?.after ?? "") === "") await nextTurn();
  expect(app.audiences.list()[0]?.firstSyncs).toMatchObject([{ after: "gone", sent: 2 }]);
  await connected;
  await app.activity.whenQuiet();
  expect(reached(app, late)).toEqual(["a", "b"]);
});

test("a first sync whose slice fails is taken back with it, reported, and goes on after half a second", async () => {
  const { app, id } = await startAudience(120);
  const late = connect(app, "Late");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { atomically } = app.store;
  let failures = 2;
  app.store.atomically = (write) =>
    atomically(() => {
      const result = write();
      const sent = app.audiences.list()[0]?.firstSyncs[0]?.sent ?? 0;
      // After all else, so that memory is ahead of the store.
      if (sent === 100 && failures > 0) {
        failures -= 1;
        throw new Error("no room");
      }
      return result;
    });
  await expect(app.audiences.update(id, { destinationIds: [late] })).rejects.toThrow("no room");
  expect([reached(app, late).length, app.activity.isQuiet(true)]).toEqual([50, true]);
  const before = app.reported.length;
  vi.advanceTimersByTime(499);
  expect(app.activity.isQuiet(true)).toBe(true);
  vi.advanceTimersByTime(1);
  expect(app.activity.isQuiet(true)).toBe(false);
  await app.activity.whenQuiet();
  expect([reached(app, late).length, app.reported.length - before]).toEqual([50, 1]);
  vi.advanceTimersByTime(500);
  await app.activity.whenQuiet();
  expect(reached(app, late)).toEqual(usersOf(120));
  expect(app.audiences.list()[0]?.firstSyncs).toEqual([]);
});

test("a store that refuses what is new is asked every half second, each time with a report, until a stop", async () => {
  const { app } = await startAudience(1);
  const [audience] = app.audiences.list();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  app.db.exec(
    "CREATE TRIGGER refuse BEFORE UPDATE ON audiences BEGIN SELECT raise(ABORT, 'no'); END",
  );
  app.configuration.createDestination({
    ...{ name: "Late", sourceIds: audience === undefined ? [] : [audience.sourceId] },
    webhooks: [{ url: "http://127.0.0.1/", headers: {} }],
  });
  expect(() => app.onConfigurationChanged()).toThrow("no");
  expect(() => app.onConfigurationChanged()).toThrow("no");
  vi.advanceTimersByTime(60);
  expect([app.reported.length, vi.getTimerCount()]).toEqual([0, 1]);
  vi.advanceTimersByTime(440);
  expect(app.reported).toHaveLength(1);
  vi.advanceTimersByTime(500);
  expect(app.reported).toHaveLength(2);
  app.stop();
  expect(vi.getTimerCount()).toBe(0);
  vi.advanceTimersByTime(5000);
  expect(app.reported).toHaveLength(2);
  expect(() => app.onConfigurationChanged()).toThrow("no");
  vi.advanceTimersByTime(60);
  expect(vi.getTimerCount()).toBe(0);
});

test("a sync that waits for another try can be cancelled, and its period goes on at once", async () => {
  const app = startFailing();
  await app.send(usersOf(60));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  app.db.exec(
    "CREATE TRIGGER refuse BEFORE INSERT ON computed_values WHEN NEW.user_id = 'u0055' BEGIN SELECT RAISE(ABORT, 'no room'); END",
  );
  await expect(
    app.audiences.create({ name: "One", rule, sync: { everyMs: hour } }),
  ).rejects.toThrow("no room");
  const [{ id } = { id: 0 as AudienceId }] = app.audiences.list();
  expect(app.clock.scheduled()).toEqual([]);
  const cancelled = { done: 0, total: 60, entered: 50, left: 0 };
  expect(app.audiences.cancelSync(id)).toMatchObject({
    ...{ openSync: null, cancelledSync: cancelled },
  });
  expect(app.clock.scheduled()).toEqual([app.clock.now() + hour]);
  vi.advanceTimersByTime(1000);
  await app.activity.whenQuiet();
  expect([app.said().length, app.reported]).toEqual([50, []]);
  // What was cancelled once is not cancelled again.
  app.clock.advanceBy(1);
  expect(app.audiences.cancelSync(id)).toMatchObject({ cancelledSync: cancelled });
});

test("a sync before the start sends nothing, and the start sends what was asked for", async () => {
  const app = startFailing();
  await app.send(usersOf(2));
  app.stop();
  const early = app.unstarted();
  const { id } = (await early.audiences.create({ name: "Early", rule })) as { id: AudienceId };
  expect(await early.audiences.sync(id)).toEqual({ entered: 0, left: 0 });
  expect(app.said()).toEqual([]);
  early.start();
  await app.activity.whenQuiet();
  expect(app.said()).toEqual(usersOf(2));
  expect(early.audiences.list()[0]).toMatchObject({ lastSync: { entered: 2, left: 0 } });
  early.stop();
});

test("a sync of an audience that is deleted meanwhile ends with what it sent", async () => {
  const app = startFailing();
  await app.send(usersOf(120));
  const { id } = (await app.audiences.create({ name: "Buyers", rule: { event: "Never" } })) as {
    id: AudienceId;
  };
  await app.audiences.update(id, { rule });
  const running = app.audiences.sync(id);
  const next = app.audiences.sync(id);
  while (app.noted().length === 0) await nextTurn();
  await app.audiences.delete(id);
  expect([await running, await next]).toEqual([
    { entered: 0, left: 0 },
    { entered: 0, left: 0 },
  ]);
  expect([app.noted(), app.activity.isQuiet(true)]).toEqual([[], true]);
});

test("a sync that a stop interrupts ends after its slice, and one that is deleted before its first slice at once", async () => {
  const app = startFailing();
  await app.send(usersOf(120));
  const { id } = (await app.audiences.create({ name: "Gone", rule: { event: "Never" } })) as {
    id: AudienceId;
  };
  const running = app.audiences.sync(id);
  await app.audiences.delete(id);
  expect(await running).toEqual({ entered: 0, left: 0 });
  const created = app.audiences.create({ name: "Buyers", rule });
  while (app.noted().length === 0) await nextTurn();
  app.stop();
  await created;
  await app.activity.whenQuiet();
  expect(app.noted()).toHaveLength(50);
});

test("a period that comes while its audience is synced asks for no other sync", async () => {
  const app = startFailing();
  await app.audiences.create({ name: "One", rule, sync: { everyMs: hour } });
  await app.audiences.create({ name: "Other", rule, sync: { everyMs: hour } });
  await app.send(usersOf(120));
  const [one] = app.audiences.list();
  if (one === undefined) throw new Error("the audience is not there");
  const running = app.audiences.sync(one.id);
  while ((app.audiences.list()[0]?.size ?? 0) === 0) await nextTurn();
  app.clock.advanceBy(hour);
  await running;
  await app.activity.whenQuiet();
  const counts = app.audiences.list().map(({ lastSync }) => lastSync?.entered);
  expect(counts).toEqual([120, 120]);
});

test("a manual sync sends false and 0 as values, and what a user of another profile had as none", async () => {
  const app = startFailing();
  await app.send(["old", "new"], (userId) => ({
    type: "track" as const,
    userId,
    event: "Bought",
    text: JSON.stringify({ type: "track", event: "Bought", properties: { paid: false, n: 0 } }),
  }));
  for (const property of ["paid", "n"])
    await app.computedTraits.create({
      name: property,
      computation: { aggregate: "last", event: "Bought", property },
    });
  const values = app.sent().map(({ message }) => ("traits" in message ? message.traits : null));
  expect(values).toEqual([{ paid: false }, { paid: false }, { n: 0 }, { n: 0 }]);
  await app.send(["new"], (userId) => ({
    type: "alias" as const,
    userId,
    text: JSON.stringify({ type: "alias", userId, previousId: "old" }),
  }));
  const walker = createWalker({ ...app, isSuppressed: () => false });
  const found = [...walker.oneByOne({ rule }, ["old", "new", "nobody"])];
  expect(found).toMatchObject([
    {
      seen: 3,
      values: [
        { userId: "old", profileId: null, value: null },
        { userId: "new", value: true },
        { userId: "nobody", profileId: null, value: null },
      ],
    },
  ]);
  const [{ id } = { id: 0 as never }] = app.computedTraits.list();
  expect(await app.computedTraits.sync(id)).toEqual({ entered: 0, left: 1 });
});

test("what a suppressed user was not sent follows after the suppression, once to each", async () => {
  const app = startFailing();
  const first = connect(app, "First");
  const created = await app.audiences.create({ ...live, destinationIds: [first] });
  const { id } = created as { id: AudienceId };
  await app.send(["ada", "bob"]);
  app.suppressed.add("ada");
  const late = connect(app, "Late");
  await app.audiences.update(id, { destinationIds: [first, late] });
  await app.send(["ada"], (userId) => ({
    ...{ type: "identify", userId },
    text: JSON.stringify({ type: "identify", userId, traits: { email: "a@x" } }),
  }));
  await app.activity.whenQuiet();
  expect([first, late].map((each) => reached(app, each))).toEqual([["ada", "bob"], ["bob"]]);
  app.suppressed.clear();
  // A disabled destination waits until it is enabled.
  app.configuration.updateDestination(late, { enabled: false });
  app.onConfigurationChanged();
  await app.activity.whenQuiet();
  expect(reached(app, first)).toEqual(["ada", "ada", "bob"]);
  expect(reached(app, late)).toEqual(["bob"]);
  app.configuration.updateDestination(late, { enabled: true });
  app.restarted();
  await app.activity.whenQuiet();
  expect(reached(app, first)).toEqual(["ada", "ada", "bob"]);
  expect(reached(app, late)).toEqual(["ada", "ada", "bob"]);
  expect(app.store.audiences()).toMatchObject([{ reached: [first, late], skipped: [] }]);
});

test("of a deleted user nothing is left that was skipped", async () => {
  const { app, id } = await startAudience(3);
  for (const userId of ["u0000", "u0001"]) app.suppressed.add(userId);
  await app.audiences.update(id, { destinationIds: [connect(app, "Late")] });
  await app.activity.whenQuiet();
  const skipped = () => app.store.audiences()[0]?.skipped?.map(({ userId }) => userId);
  expect(skipped()).toEqual(["u0000", "u0001"]);
  const users = createDeleteUsers(app);
  const user = users.find("u0000", { isLast: true, others: [] });
  users.delete([user], 1 as DeletionId, true);
  expect(skipped()).toEqual(["u0001"]);
});
