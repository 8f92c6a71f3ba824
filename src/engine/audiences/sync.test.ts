/** Syncs: their slices, their progress, their periods, and what they do when the store refuses. */

import { afterEach, expect, test, vi } from "vitest";
import type { AudienceId } from "../../domain/ids.ts";
import type { AudienceView } from "../profile-pipeline.ts";
import { nextTurn } from "../real-time.ts";
import { rule, startFailing } from "./computations.fixture.ts";

const hour = 60 * 60 * 1000;
const usersOf = (count: number): string[] =>
  Array.from({ length: count }, (_, nth) => `u${String(nth).padStart(4, "0")}`);

afterEach(() => void vi.useRealTimers());

type App = ReturnType<typeof startFailing>;

/** What is seen of the first audience turn by turn, each thing once, until nothing runs. */
async function seenUntilQuiet<Seen>(
  app: App,
  look: (audience: AudienceView) => Seen,
): Promise<Seen[]> {
  const seen: Seen[] = [];
  while (!app.activity.isQuiet(true)) {
    const [audience] = app.audiences.list();
    const now = audience === undefined ? undefined : look(audience);
    if (now !== undefined && JSON.stringify(now) !== JSON.stringify(seen.at(-1))) seen.push(now);
    await nextTurn();
  }
  return seen;
}

/** How many turns of the event loop it takes: others are served in each. */
async function turnsOf(work: Promise<unknown>): Promise<number> {
  let isOver = false;
  let turns = 0;
  void work.finally(() => (isOver = true));
  for (; !isOver; turns += 1) await nextTurn();
  return turns;
}

test("what walks over all users takes a turn for each fifty of them, or more", async () => {
  const app = startFailing();
  await app.send(usersOf(200));
  const { id } = (await app.audiences.create({ name: "Buyers", rule })) as { id: AudienceId };
  await app.send(usersOf(400));
  for (const walk of [
    () => app.audiences.preview({ rule }, 5),
    () => app.audiences.preview({ members: usersOf(400) }, 5),
    () => app.computedTraits.preview({ aggregate: "count", event: "Bought" } as never, 5),
    () => app.audiences.changes(id, 5),
    () => app.audiences.sync(id),
  ])
    expect(await turnsOf(walk())).toBeGreaterThanOrEqual(4);
});

test("syncs that run together take turns, one slice in each turn", async () => {
  const app = startFailing();
  await app.send(usersOf(120));
  const ids: AudienceId[] = [];
  for (const name of ["One", "Two", "Three", "Four"])
    ids.push(((await app.audiences.create({ name, members: [] })) as { id: AudienceId }).id);
  for (const id of ids) await app.audiences.update(id, { rule });
  const synced = Promise.all(ids.map((id) => app.audiences.sync(id)));
  const slices: number[] = [];
  while (!app.activity.isQuiet(true)) {
    const before = app.committed.length;
    await nextTurn();
    slices.push(app.committed.length - before);
  }
  expect(await synced).toEqual(ids.map(() => ({ entered: 120, left: 0 })));
  expect(Math.max(...slices)).toBe(1);
  expect(slices.filter((count) => count === 1).length).toBeGreaterThanOrEqual(3 * ids.length);
});

test("a deletion removes the values that were sent in slices of 2,000, and a start those that a kill left behind", async () => {
  const app = startFailing();
  const { id } = (await app.audiences.create({ name: "List", members: usersOf(4100) })) as {
    id: AudienceId;
  };
  const deleted = app.audiences.delete(id);
  const left: number[] = [];
  while (left.at(-1) !== 0) {
    if (left.at(-1) !== app.noted().length) left.push(app.noted().length);
    await nextTurn();
  }
  expect([left, await deleted]).toEqual([[2100, 100, 0], null]);
  app.store.putLastSent({
    sourceId: 77 as never,
    userId: "left",
    value: true,
    since: 1,
    recheckAt: null,
  });
  await app.audiences.create({ name: "Other", members: ["kept"] });
  app.start();
  await nextTurn();
  expect(app.noted()).toEqual(["kept"]);
});

test.for([
  ["of a rule", { rule }],
  ["of a list", { members: usersOf(120) }],
] as const)(
  "a sync %s sends fifty users in a turn, and says how far it is",
  async ([, definition]) => {
    const app = startFailing();
    await app.send(usersOf(120));
    const created = app.audiences.create({ name: "Buyers", ...definition });
    const seen = await seenUntilQuiet(app, ({ size, syncing, openSync }) => [
      size,
      syncing?.done,
      syncing?.total,
      openSync?.entered,
    ]);
    expect(seen.filter(([, done]) => done !== undefined)).toEqual([
      [50, 50, 120, 50],
      [100, 100, 120, 100],
      [120, 120, 120, 120],
    ]);
    expect(await created).toMatchObject({
      size: 120,
      syncing: null,
      openSync: null,
      lastSync: { at: app.clock.now(), entered: 120, left: 0 },
    });
    expect(app.said()).toEqual(usersOf(120));
  },
);

test("a cancelled sync ends after its slice, what it sent stays, and the next one sends the rest", async () => {
  const app = startFailing();
  await app.send(usersOf(120));
  const every = { name: "Buyers", rule, sync: { everyMs: hour } };
  const created = app.audiences.create(every);
  while (app.noted().length === 0) await nextTurn();
  const [{ id } = { id: 0 as AudienceId }] = app.audiences.list();
  const requested = app.audiences.sync(id);
  const cancelled = { at: app.clock.now(), done: 50, total: 120, entered: 50, left: 0 };
  const after = { size: 50, syncing: null, lastSync: null, cancelledSync: cancelled };
  expect(app.audiences.cancelSync(id)).toMatchObject(after);
  expect([await created, await requested]).toMatchObject([after, { entered: 0, left: 0 }]);
  await app.activity.whenQuiet();
  expect(app.said()).toEqual(usersOf(50));
  expect(app.audiences.list()[0]).toMatchObject({ ...after, openSync: null });

  expect(await app.audiences.sync(id)).toEqual({ entered: 70, left: 0 });
  expect(app.said()).toEqual(usersOf(120));
  const lastSync = { at: app.clock.now(), entered: 70, left: 0 };
  expect(app.audiences.cancelSync(id)).toMatchObject({ cancelledSync: null, lastSync });
});

test("a period sends the rest of a sync that was cancelled, and a start does not", async () => {
  const app = startFailing();
  await app.send(usersOf(120));
  const created = app.audiences.create({ name: "Buyers", rule, sync: { everyMs: hour } });
  while (app.noted().length === 0) await nextTurn();
  for (const { id } of app.audiences.list()) app.audiences.cancelSync(id);
  await created;
  app.reload();
  app.start();
  await app.activity.whenQuiet();
  expect(app.said()).toEqual(usersOf(50));
  app.clock.advanceBy(hour);
  await app.activity.whenQuiet();
  expect(app.said()).toEqual(usersOf(120));
});

test("a sync also counts what events send while it runs, once, after a failure too", async () => {
  const app = startFailing();
  await app.send(usersOf(120));
  const created = app.audiences.create({ name: "Buyers", rule, sync: "each-event" });
  while (app.noted().length === 0) await nextTurn();
  let failures = 0;
  app.db.function("fails_once", () => {
    failures += 1;
    if (failures === 1) throw new Error("the store failed in the middle");
    return 0;
  });
  app.db.exec(
    "CREATE TRIGGER once AFTER INSERT ON messages WHEN NEW.user_id = 'v2' AND NEW.source_id > 1 BEGIN SELECT fails_once(); END",
  );
  await app.send(["v1", "v2", "v3"]);
  expect(failures).toBe(2);
  expect(app.audiences.list()[0]).toMatchObject({ lastSync: null });
  expect(await created).toMatchObject({ lastSync: { entered: 123, left: 0 } });
  expect(app.said()).toEqual([...usersOf(120), "v1", "v2", "v3"]);
});

test("a preview counts each user once and samples the first, of a rule, a list and a computation", async () => {
  const app = startFailing();
  await app.send(usersOf(120));
  const first = usersOf(70);
  for (const of of [{ rule }, { members: usersOf(120) }]) {
    const { count, profiles, sample } = (await app.audiences.preview(of, 70)) as {
      count: number;
      profiles: number;
      sample: { userId: string }[];
    };
    expect([count, profiles, sample.map(({ userId }) => userId)]).toEqual([120, 120, first]);
  }
  const counted = await app.computedTraits.preview(
    { aggregate: "count", event: "Bought" } as never,
    70,
  );
  expect(counted).toMatchObject({
    count: 120,
    profiles: 120,
    sample: first.map((userId) => ({ userId, value: 1 })),
  });
});

test("a list that lost members, and a rule whose users were joined to others, leave in slices at a sync", async () => {
  const app = startFailing();
  const { id } = (await app.audiences.create({
    name: "List",
    members: usersOf(130),
  })) as AudienceView;
  await app.audiences.update(id, { members: usersOf(10) });
  const synced = app.audiences.sync(id);
  const sizes = await seenUntilQuiet(app, ({ size }) => size);
  expect(await synced).toEqual({ entered: 0, left: 120 });
  expect(sizes).toEqual([130, 90, 40, 10]);
  expect((await app.audiences.changes(id, 5)) as object).toMatchObject({
    entering: 0,
    leaving: 0,
    sample: [],
  });
});

test("what a sync would change is counted whole and sampled, and nothing is sent", async () => {
  const app = startFailing();
  const { id } = (await app.audiences.create({
    name: "List",
    members: usersOf(60),
  })) as AudienceView;
  await app.audiences.update(id, { members: [...usersOf(58), "x", "y", "z"] });
  const sent = app.said();
  const { entering, leaving, sample } = (await app.audiences.changes(id, 4)) as {
    entering: number;
    leaving: number;
    sample: { userId: string; change: string; payload: Uint8Array }[];
  };
  expect([entering, leaving]).toEqual([3, 2]);
  expect(sample.map(({ userId, change }) => `${change} ${userId}`)).toEqual([
    "entering x",
    "entering y",
    "entering z",
    "leaving u0058",
  ]);
  expect(
    sample.map(
      ({ payload }) => (JSON.parse(Buffer.from(payload).toString()) as { traits: object }).traits,
    ),
  ).toEqual([{ list: true }, { list: true }, { list: true }, { list: false }]);
  expect(app.said()).toEqual(sent);
});

test("what the store refuses is tried again after half a second, as often as it takes, and each sync once", async () => {
  const app = startFailing();
  await app.send(usersOf(60));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  app.db.exec(
    "CREATE TRIGGER refuse BEFORE INSERT ON computed_values WHEN NEW.user_id = 'u0055' BEGIN SELECT RAISE(ABORT, 'no room'); END",
  );
  await expect(
    app.audiences.create({ name: "One", rule, sync: { everyMs: hour } }),
  ).rejects.toThrow("no room");
  await expect(app.audiences.create({ name: "Other", rule })).rejects.toThrow("no room");
  vi.advanceTimersByTime(60);
  expect([app.audiences.list().map(({ size }) => size), vi.getTimerCount(), app.reported]).toEqual([
    [50, 50],
    1,
    [],
  ]);
  // While it waits for its retry it does not follow its period.
  expect(app.clock.scheduled()).toEqual([]);
  vi.advanceTimersByTime(440);
  await app.activity.whenQuiet();
  expect(app.reported).toHaveLength(2);
  app.db.exec("DROP TRIGGER refuse");
  vi.advanceTimersByTime(499);
  expect(app.activity.isQuiet(true)).toBe(true);
  vi.advanceTimersByTime(1);
  await app.activity.whenQuiet();
  expect(app.audiences.list().map(({ size, lastSync }) => [size, lastSync?.entered])).toEqual([
    [60, 60],
    [60, 60],
  ]);
  vi.advanceTimersByTime(60);
  expect([app.said().length, vi.getTimerCount(), app.clock.scheduled()]).toEqual([
    120,
    0,
    [app.clock.now() + hour],
  ]);
});

test("a sync whose audience cannot even be read is tried again later, not at once", async () => {
  const app = startFailing();
  await app.audiences.create({ name: "One", rule, sync: { everyMs: hour } });
  await app.send(["ada"]);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  app.db.exec("ALTER TABLE audiences RENAME TO hidden");
  app.clock.advanceBy(hour);
  await app.activity.whenQuiet();
  expect([app.reported.length, app.clock.scheduled()]).toEqual([1, []]);
  vi.advanceTimersByTime(1000);
  await app.activity.whenQuiet();
  expect(app.reported).toHaveLength(1);
  app.db.exec("ALTER TABLE hidden RENAME TO audiences");
  vi.advanceTimersByTime(500);
  app.clock.advanceBy(0);
  await app.activity.whenQuiet();
  expect(app.audiences.list().map(({ size }) => size)).toEqual([1]);
});

test("a stop while a sync waits for another try leaves no timer", async () => {
  const app = startFailing();
  await app.send(usersOf(1));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  app.failAt(1);
  await expect(app.audiences.create({ name: "One", rule })).rejects.toThrow("in the middle");
  vi.advanceTimersByTime(60);
  expect(vi.getTimerCount()).toBe(1);
  app.stop();
  expect(vi.getTimerCount()).toBe(0);
});

test("periods do not shift, a missed one is not made up for, and the earliest is waited for", async () => {
  const app = startFailing();
  const start = app.clock.now();
  await app.audiences.create({ name: "Two", rule, sync: { everyMs: 2 * hour } });
  const { id } = (await app.audiences.create({ name: "One", rule, sync: { everyMs: hour } })) as {
    id: AudienceId;
  };
  const next = (): unknown[] =>
    app.audiences.list().map(({ nextSyncAt }) => ((nextSyncAt ?? 0) - start) / hour);
  expect([next(), app.clock.scheduled()]).toEqual([[2, 1], [start + hour]]);
  await app.send(["ada"]);
  app.clock.advanceBy(hour);
  await app.activity.whenQuiet();
  expect(app.audiences.list().map(({ size }) => size)).toEqual([0, 1]);
  expect(next()).toEqual([2, 2]);
  app.clock.advanceBy(hour / 2);
  await app.audiences.sync(id);
  expect(next()).toEqual([2, 2]);
  app.clock.advanceBy(hour / 2);
  await app.activity.whenQuiet();
  expect(app.audiences.list().map(({ size }) => size)).toEqual([1, 1]);
  expect([next(), app.clock.scheduled()]).toEqual([[4, 3], [start + 3 * hour]]);
  await app.audiences.update(id, { sync: "manual" });
  expect(app.clock.scheduled()).toEqual([start + 4 * hour]);
  app.stop();
  expect(app.clock.scheduled()).toEqual([]);
});

test.for([
  [0.5, 0.5],
  [1, 1],
  [10, 1],
] as const)(
  "a sync that is %f periods late is made once, and the next one comes after %f",
  async ([late, next]) => {
    const app = startFailing();
    await app.audiences.create({ name: "One", rule, sync: { everyMs: hour } });
    const { store, clock } = app;
    const [audience] = store.audiences();
    if (audience === undefined) throw new Error("the audience is not in the store");
    store.updateAudience({ ...audience, nextSyncAt: clock.now() - late * hour });
    app.reload();
    clock.advanceBy(0);
    await app.activity.whenQuiet();
    expect([app.audiences.list()[0]?.nextSyncAt, clock.scheduled()]).toEqual([
      clock.now() + next * hour,
      [clock.now() + next * hour],
    ]);
  },
);

test("a start goes on with a sync that a kill interrupted, and after a stop nothing is synced", async () => {
  const app = startFailing();
  await app.send(["ada"]);
  const { id } = (await app.audiences.create({ name: "One", rule })) as { id: AudienceId };
  const [audience] = app.store.audiences();
  if (audience === undefined) throw new Error("the audience is not in the store");
  app.store.updateAudience({ ...audience, openSync: { startedAt: 1, entered: 4, left: 2 } });
  app.store.removeLastSentBy(audience.sourceId, 10);
  app.reload();
  app.start();
  await app.activity.whenQuiet();
  expect(app.audiences.list()[0]).toMatchObject({
    size: 1,
    openSync: null,
    lastSync: { entered: 5, left: 2 },
  });
  app.stop();
  expect(await app.audiences.sync(id)).toMatchObject({ code: "stopping" });
});

/** Connects a destination that did not exist when the audience was created. */
function connectLate(app: App, id: AudienceId) {
  const late = app.configuration.createDestination({
    name: "Late",
    sourceIds: [],
    webhooks: [{ url: "http://127.0.0.1/", headers: {} }],
  });
  if (!("id" in late)) throw new Error(late.message);
  const connected = app.audiences.update(id, { destinationIds: [late.id] });
  return { late, connected };
}

/** An audience with so many users, and a first sync of a destination that has reached some. */
async function startFirstSync(count: number) {
  const app = startFailing();
  const live = { name: "Buyers", rule, sync: "each-event" as const };
  const { id } = (await app.audiences.create(live)) as { id: AudienceId };
  const users = usersOf(count);
  await app.send(users);
  const { late, connected } = connectLate(app, id);
  while ((app.audiences.list()[0]?.firstSyncs[0]?.sent ?? 0) === 0) await nextTurn();
  const reached = (): unknown[] =>
    app.db
      .prepare(
        `SELECT user_id FROM decisions JOIN messages ON messages.id = decisions.message_id
         WHERE destination_id = ? AND decisions.reason = 'routed' ORDER BY user_id`,
      )
      .pluck()
      .all(late.id);
  return { app, users, connected, reached };
}

test("a destination that is connected later gets each user once, also of those who enter meanwhile", async () => {
  const { app, users, connected, reached } = await startFirstSync(1000);
  await app.send(["a", "z"]);
  await connected;
  await app.activity.whenQuiet();
  // The first sync had passed one of them, and not the other.
  expect(reached()).toEqual(["a", ...users, "z"]);
  expect(app.audiences.list()[0]?.firstSyncs).toEqual([]);
});

test("a first sync that a stop interrupts goes on at the next start, and reaches each user once", async () => {
  const { app, users, connected, reached } = await startFirstSync(200);
  app.stop();
  await connected;
  await app.activity.whenQuiet();
  expect(reached().length).toBeLessThan(200);
  const again = app.restarted();
  await app.activity.whenQuiet();
  expect(reached()).toEqual(users);
  expect(again.audiences.list()[0]?.firstSyncs).toEqual([]);
});

test("a destination that is connected while nothing can be written is sent everything once it can", async () => {
  const app = startFailing();
  const live = { name: "Buyers", rule, sync: "each-event" as const };
  await app.audiences.create(live);
  await app.send(usersOf(3));
  const [audience] = app.audiences.list();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  app.db.exec(
    "CREATE TRIGGER refuse BEFORE UPDATE ON audiences BEGIN SELECT raise(ABORT, 'no'); END",
  );
  const late = app.configuration.createDestination({
    name: "Late",
    sourceIds: audience === undefined ? [] : [audience.sourceId],
    webhooks: [{ url: "http://127.0.0.1/", headers: {} }],
  });
  expect(() => app.onConfigurationChanged()).toThrow("no");
  vi.advanceTimersByTime(1000);
  app.db.exec("DROP TRIGGER refuse");
  vi.advanceTimersByTime(500);
  await app.activity.whenQuiet();
  const sent = app.db
    .prepare("SELECT count(*) FROM decisions WHERE destination_id = ? AND reason = 'routed'")
    .pluck();
  expect("id" in late ? sent.get(late.id) : late).toBe(3);
});

test("a cancelled first sync of a later destination waits for the next manual sync", async () => {
  const app = startFailing();
  const { id } = (await app.audiences.create({ name: "List", members: usersOf(120) })) as {
    id: AudienceId;
  };
  const { late, connected } = connectLate(app, id);
  const firstSyncs = (): unknown => app.audiences.list()[0]?.firstSyncs;
  while (JSON.stringify(firstSyncs()).includes('"sent":0')) await nextTurn();
  app.audiences.cancelSync(id);
  await connected;
  await app.activity.whenQuiet();
  expect(firstSyncs()).toMatchObject([{ destinationId: late.id, sent: 50, cancelled: true }]);
  app.configuration.updateDestination(late.id, { name: "Later" });
  await app.activity.whenQuiet();
  expect(app.said()).toHaveLength(170);

  await app.audiences.sync(id);
  await app.activity.whenQuiet();
  expect(firstSyncs()).toEqual([]);
  expect(app.said()).toHaveLength(240);
});
