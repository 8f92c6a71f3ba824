/** Audiences that follow each event: who leaves by time alone, and when that is looked for. */

import { afterEach, expect, test, vi } from "vitest";
import { createSteppedClock } from "../../../test/support/stepped-clock.ts";
import type { AudienceId } from "../../domain/ids.ts";
import type { AudienceView } from "../profile-pipeline.ts";
import { openTestStore } from "../../store/store.fixture.ts";
import { nextTurn } from "../real-time.ts";
import { createWalker } from "./walk.ts";
import { bought, startFailing } from "./computations.fixture.ts";

const day = 24 * 60 * 60 * 1000;
const rule = { event: "Bought", withinDays: 1 };
const live = { name: "Buyers", rule, sync: "each-event" } as const;
const usersOf = (count: number): string[] => Array.from({ length: count }, (_, nth) => `u${nth}`);

afterEach(() => void vi.useRealTimers());

type App = ReturnType<typeof startFailing>;

const sizeOf = (app: App): number | undefined => app.audiences.list()[0]?.size;

/** The sizes that the audience has, turn by turn, until nothing runs. */
async function sizesUntilQuiet(app: App): Promise<unknown[]> {
  const sizes: unknown[] = [];
  while (!app.activity.isQuiet(true)) {
    if (sizes.at(-1) !== sizeOf(app)) sizes.push(sizeOf(app));
    await nextTurn();
  }
  return sizes;
}

test("users leave when their event leaves the window, a hundred in a turn, and all of it is work", async () => {
  const app = startFailing();
  await app.audiences.create(live);
  await app.send(usersOf(250));
  await app.activity.whenQuiet();
  const end = app.clock.now() + day;
  expect([sizeOf(app), app.clock.scheduled()]).toEqual([250, [end]]);
  app.clock.advanceBy(day - 1);
  expect([app.activity.isQuiet(true), sizeOf(app)]).toEqual([true, 250]);
  app.clock.advanceBy(1);
  expect(await sizesUntilQuiet(app)).toEqual([250, 150, 50, 0]);
  expect([app.clock.scheduled(), app.reported]).toEqual([[], []]);
});

test("one timer waits for the earliest who may leave, and then for the next", async () => {
  const app = startFailing();
  await app.audiences.create(live);
  await app.audiences.create({ ...live, name: "Weekly", rule: { event: "Bought", withinDays: 7 } });
  const start = app.clock.now();
  await app.send(["ada"]);
  expect(app.clock.scheduled()).toEqual([start + day]);
  app.clock.advanceBy(1000);
  await app.send(["bob"]);
  expect(app.clock.scheduled()).toEqual([start + day]);
  app.clock.advanceBy(day - 1000);
  await app.activity.whenQuiet();
  expect([sizeOf(app), app.clock.scheduled()]).toEqual([1, [start + day + 1000]]);
  app.clock.advanceBy(1000);
  await app.activity.whenQuiet();
  expect([sizeOf(app), app.clock.scheduled()]).toEqual([0, [start + 7 * day]]);
});

test("an earlier time moves the timer there", async () => {
  const app = startFailing();
  await app.audiences.create({ ...live, rule: { event: "Bought", withinDays: 7 } });
  await app.send(["ada"]);
  const start = app.clock.now();
  await app.audiences.create({ ...live, name: "Daily" });
  expect(app.clock.scheduled()).toEqual([start + day]);
});

test("who comes while users leave is looked at when it is their time", async () => {
  const app = startFailing();
  await app.audiences.create(live);
  await app.send(usersOf(250));
  app.clock.advanceBy(day);
  await nextTurn();
  await app.send(["late"]);
  const leaves = app.clock.now() + day;
  await app.activity.whenQuiet();
  expect([sizeOf(app), app.clock.scheduled()]).toEqual([1, [leaves]]);
});

test("what the store refuses is reported and tried again after half a second, and nothing is sent twice", async () => {
  const app = startFailing();
  await app.audiences.create(live);
  await app.send(usersOf(3));
  app.db.exec(
    "CREATE TRIGGER refuse BEFORE UPDATE ON computed_values BEGIN SELECT RAISE(ABORT, 'no room'); END",
  );
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  app.clock.advanceBy(day);
  await app.activity.whenQuiet();
  expect([app.reported.length, sizeOf(app), app.clock.scheduled()]).toEqual([1, 3, []]);
  app.db.exec("DROP TRIGGER refuse");
  vi.advanceTimersByTime(499);
  expect(app.clock.scheduled()).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(app.clock.scheduled()).toHaveLength(1);
  app.clock.advanceBy(0);
  await app.activity.whenQuiet();
  expect([sizeOf(app), app.said()]).toEqual([0, ["u0", "u0", "u1", "u1", "u2", "u2"]]);
});

test("a store that cannot be read when it is tried again is reported and asked once more", async () => {
  const app = startFailing();
  await app.audiences.create(live);
  await app.send(["ada"]);
  app.db.exec("ALTER TABLE computed_values RENAME TO elsewhere");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  app.clock.advanceBy(day);
  await app.activity.whenQuiet();
  const before = app.reported.length;
  vi.advanceTimersByTime(500);
  expect([app.reported.length, app.clock.scheduled()]).toEqual([before + 1, []]);
  app.db.exec("ALTER TABLE elsewhere RENAME TO computed_values");
  vi.advanceTimersByTime(500);
  expect(app.clock.scheduled()).toHaveLength(1);
  app.clock.advanceBy(0);
  await app.activity.whenQuiet();
  expect(sizeOf(app)).toBe(0);
});

test("a stop ends it between two slices, and while it waits for another try", async () => {
  const app = startFailing();
  await app.audiences.create(live);
  await app.send(usersOf(250));
  app.clock.advanceBy(day);
  while (sizeOf(app) === 250) await nextTurn();
  app.stop();
  await app.activity.whenQuiet();
  expect([sizeOf(app), app.clock.scheduled()]).toEqual([150, []]);

  const refused = startFailing();
  await refused.audiences.create(live);
  await refused.send(["ada"]);
  refused.db.exec(
    "CREATE TRIGGER refuse BEFORE UPDATE ON computed_values BEGIN SELECT RAISE(ABORT, 'no room'); END",
  );
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  refused.clock.advanceBy(day);
  await refused.activity.whenQuiet();
  vi.advanceTimersByTime(60);
  expect(vi.getTimerCount()).toBe(1);
  refused.stop();
  expect(vi.getTimerCount()).toBe(0);
  vi.advanceTimersByTime(1000);
  expect(refused.clock.scheduled()).toEqual([]);

  const waiting = startFailing();
  await waiting.audiences.create(live);
  await waiting.send(["ada"]);
  waiting.stop();
  expect(waiting.clock.scheduled()).toEqual([]);
  await waiting.send(["bob"]);
  expect(waiting.clock.scheduled()).toEqual([]);

  const idle = startFailing();
  await idle.audiences.create(live);
  idle.stop();
  await idle.send(["ada"]);
  expect([sizeOf(idle), idle.clock.scheduled()]).toEqual([1, []]);
});

test("a change of an audience sets the timer again, and without one that follows each event there is none", async () => {
  const app = startFailing();
  const { id } = (await app.audiences.create(live)) as AudienceView;
  await app.send(["ada"]);
  const end = app.clock.now() + day;
  for (const change of [{ name: "Customers" }, { sync: "each-event" as const }]) {
    await app.audiences.update(id, change);
    expect(app.clock.scheduled()).toEqual([end]);
  }
  await app.audiences.update(id, { sync: "manual" });
  expect(app.clock.scheduled()).toEqual([]);
  await app.audiences.update(id, { sync: "each-event" });
  expect(app.clock.scheduled()).toEqual([end]);
  await app.audiences.delete(id);
  expect(app.clock.scheduled()).toEqual([]);
});

/** So many events with a text that a rule searches: a hundred steps and more for each. */
const manyOf = async (
  app: App,
  userId: string,
  count: number,
  origin: "own" | "arrival" = "own",
): Promise<void> => {
  const text = JSON.stringify({
    ...{ type: "track", event: "Bought" },
    properties: { text: "x".repeat(20_000) },
  });
  for (let sent = 0; sent < count; sent += 50)
    await app.send(
      Array<string>(Math.min(50, count - sent)).fill(userId),
      () => ({ ...bought(userId), text }),
      origin,
    );
};
const searching = {
  event: "Bought",
  where: [{ property: "text", op: "contains" as const, value: "x" }],
};

test("a user who takes a part of a turn is evaluated with the event, and one who takes several a little later", async () => {
  const app = startFailing();
  await app.audiences.create({ ...live, rule: { ...searching, atLeast: 30 } });
  await manyOf(app, "some", 30);
  expect(sizeOf(app)).toBe(1);
  // The first look at a user without a message.
  const other = startFailing();
  await manyOf(other, "many", 400);
  const { id } = (await other.audiences.create({ ...live, rule: { event: "Never" } })) as {
    id: AudienceId;
  };
  await other.audiences.update(id, { sync: "manual" });
  await other.audiences.update(id, { rule: searching });
  other.store.removeLastSentBy(other.audiences.list()[0]?.sourceId ?? (0 as never), 10);
  const updated = other.audiences.update(id, { sync: "each-event" });
  other.audiences.cancelSync(id);
  await updated;
  await manyOf(other, "many", 1);
  expect([sizeOf(other), other.clock.scheduled()[0]]).toEqual([0, other.clock.now()]);
  expect(other.store.lastSentFor("many")).toMatchObject([
    { value: null, since: 0, recheckAt: other.clock.now() },
  ]);
  other.clock.advanceBy(0);
  await other.activity.whenQuiet();
  expect([sizeOf(other), other.reported]).toEqual([1, []]);
  expect(other.sent().map(({ cause: { reason, messageId } }) => [reason, messageId])).toEqual([
    ["event", null],
  ]);

  // One that is deleted meanwhile sends nothing of the user.
  await manyOf(other, "many", 1);
  other.clock.advanceBy(0);
  await nextTurn();
  expect(other.activity.isQuiet(true)).toBe(false);
  const deleted = other.audiences.delete(id);
  await other.activity.whenQuiet();
  await deleted;
  expect([other.sent(), other.noted(), other.reported]).toEqual([[], [], []]);
});

test("a user whose events do not end keeps nobody from leaving by time, and no advance from ending", async () => {
  const app = startFailing();
  await app.audiences.create({ ...live, rule: searching });
  await app.audiences.create({ ...live, name: "Days" });
  await app.send(["ada"]);
  await manyOf(app, "many", 400);
  app.clock.advanceBy(0);
  await app.activity.whenQuiet();
  app.activity.beginAdvance();
  const waits = () => false;
  const ownWork = () => app.activity.whenOwnQuiet({ waits, signal: new AbortController().signal });
  await manyOf(app, "many", 1, "arrival");
  app.clock.advanceBy(0);
  await ownWork();
  expect(app.activity.isQuiet(true)).toBe(false);
  app.clock.advanceBy(day);
  for (let sent = 0; sent < 60 && app.noted().includes("ada"); sent += 1)
    await manyOf(app, "many", 1, "arrival");
  expect(app.noted()).toEqual(["many", "many"]);
  app.activity.endAdvance();
  await app.activity.whenQuiet();
  expect(app.reported).toEqual([]);
});

test("who leaves by time alone leaves for that reason, also after an event that made no difference", async () => {
  const app = startFailing();
  await app.audiences.create({ ...live, rule: { ...searching, withinDays: 1 } });
  const reasons = () => app.sent().map(({ cause: { reason } }) => reason);
  const advance = async (byMs: number): Promise<void> => {
    app.clock.advanceBy(byMs);
    await app.activity.whenQuiet();
  };
  await manyOf(app, "many", 400);
  await advance(0);
  await manyOf(app, "many", 1);
  await advance(0);
  expect([reasons(), sizeOf(app)]).toEqual([["event"], 1]);
  await advance(day);
  expect([reasons(), sizeOf(app)]).toEqual([["time"], 0]);
});

test("one that is deleted, or no longer follows each event, while its users leave stops sending", async () => {
  for (const change of [
    (app: App, id: AudienceId) => app.audiences.delete(id),
    (app: App, id: AudienceId) => app.audiences.update(id, { sync: "manual" }),
  ]) {
    const app = startFailing();
    const { id } = (await app.audiences.create(live)) as AudienceView;
    await app.audiences.create({ ...live, name: "Others" });
    await app.send(usersOf(250));
    const before = app.said().length;
    app.clock.advanceBy(day);
    while (app.audiences.list()[0]?.size === 250) await nextTurn();
    await change(app, id);
    await app.activity.whenQuiet();
    expect(app.said().length - before).toBe(100 + 250);
    expect(app.audiences.list().at(-1)?.size).toBe(0);
  }
});

test("a user who is joined to another leaves those that follow each event, and no fixed list and no other", async () => {
  const app = startFailing();
  await app.send(["old", "new"]);
  const lasting = { rule: { event: "Bought" } };
  await app.audiences.create({ ...live, ...lasting });
  await app.audiences.create({ name: "Manual", ...lasting });
  await app.audiences.create({ name: "List", members: ["old"], sync: "each-event" });
  const alias = { type: "alias", userId: "new", previousId: "old" } as const;
  const before = app.said().length;
  await app.send(["new"], () => ({ type: "alias", userId: "new", text: JSON.stringify(alias) }));
  expect(app.said().slice(0)).toHaveLength(before + 1);
  expect(app.audiences.list().map(({ size }) => size)).toEqual([1, 2, 1]);
});

test("only what depends on a change is evaluated: a trait, an event, nothing, or that there is a user at all", async () => {
  const app = startFailing();
  const each = { sync: "each-event" } as const;
  await app.audiences.create({ name: "Event", rule: { event: "Bought" }, ...each });
  await app.audiences.create({
    name: "Trait",
    rule: { trait: "plan", op: "is", value: "pro" },
    ...each,
  });
  await app.audiences.create({ name: "Nobody", rule: { not: { event: "Bought" } }, ...each });
  await app.audiences.create({ name: "Manual", rule: { event: "Bought" } });
  const sizes = (): number[] => app.audiences.list().map(({ size }) => size);
  await app.send(["ada"], (userId) => ({
    type: "page",
    userId,
    text: JSON.stringify({ type: "page", userId }),
  }));
  expect(sizes()).toEqual([0, 0, 1, 0]);
  await app.send(["ada"], (userId) => ({
    type: "identify",
    userId,
    text: JSON.stringify({ type: "identify", userId, traits: { plan: "pro" } }),
  }));
  expect(sizes()).toEqual([0, 1, 1, 0]);
  await app.send(["ada", "bob"], bought);
  expect(sizes()).toEqual([2, 1, 0, 0]);
});

test("a commit has the messages of fewer users when they go to many destinations, whatever sends them", async () => {
  const app = startFailing();
  const destinationIds = Array.from({ length: 100 }, (_, nth) => {
    const created = app.configuration.createDestination({
      name: `D${nth}`,
      sourceIds: [],
      webhooks: [{ url: "http://127.0.0.1/", headers: {} }],
      audienceCalls: "both",
    });
    if (!("id" in created)) throw new Error(created.message);
    return created.id;
  });
  const users = usersOf(30);
  await app.send(users);
  const list = (await app.audiences.create({
    ...{ name: "List", members: users },
    destinationIds: destinationIds.slice(1),
  })) as AudienceView;
  const first = app.deliveries.splice(0);
  const later: (() => unknown)[] = [
    () => app.audiences.update(list.id, { destinationIds }),
    () => app.audiences.create({ ...live, destinationIds }),
    () => app.send(users.map((userId) => `${userId}x`)),
    () => app.clock.advanceBy(day),
  ];
  const commits = [first];
  for (const work of later) {
    await work();
    await app.activity.whenQuiet();
    commits.push(app.deliveries.splice(0));
  }
  const inMessages = [99, 1, 100, 100, 100].map((size, place) =>
    (commits[place] ?? []).map((count) => count / size),
  );
  // Two calls for each user. Those who came with the fourth work leave with the fifth, too.
  expect(inMessages.map((counts) => counts.reduce((sum, count) => sum + count, 0))).toEqual([
    60, 60, 60, 60, 120,
  ]);
  expect(Math.max(...inMessages.flat())).toBeLessThanOrEqual(26);
});

test("one that no longer follows each event stays as it is when what it depends on changes", async () => {
  const identified = (userId: string) => ({
    type: "identify" as const,
    userId,
    text: JSON.stringify({ type: "identify", userId, traits: { plan: "pro" } }),
  });
  const cases = [
    [{ event: "Bought" }, bought],
    [{ trait: "plan", op: "is", value: "pro" }, identified],
    [{ not: { event: "Bought" } }, identified],
  ] as const;
  for (const [of, happens] of cases) {
    const app = startFailing();
    const { id } = (await app.audiences.create({ ...live, rule: of })) as AudienceView;
    await app.send(["ada"], happens);
    expect(sizeOf(app)).toBe(1);
    await app.audiences.update(id, { sync: "manual" });
    await app.send(["bob"], happens);
    expect(sizeOf(app)).toBe(1);
    await app.audiences.update(id, { sync: "each-event" });
    await app.activity.whenQuiet();
    await app.send(["carl"], happens);
    expect(sizeOf(app)).toBe(3);
  }
});

test("who is looked at when the audience has become a list is in it as the list says", () => {
  const { store } = openTestStore();
  const walker = createWalker({
    ...{ store, clock: createSteppedClock() },
    isSuppressed: () => false,
  });
  const members = new Set(["ada"]);
  const values = [
    { userId: "ada", value: true, until: null },
    { userId: "bob", value: null, until: null },
  ];
  expect([...walker.oneByOne({ members }, ["ada", "bob"])]).toMatchObject([{ seen: 2, values }]);
});
