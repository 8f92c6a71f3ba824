/** Values that destinations miss while they are disabled, and are sent once they are enabled. */

import { afterEach, expect, test, vi } from "vitest";
import type { AudienceId, DeletionId, DestinationId } from "../../domain/ids.ts";
import { createDeleteUsers } from "../deletions/delete-users.ts";
import { nextTurn } from "../real-time.ts";
import { connect, rule, startFailing } from "./computations.fixture.ts";

type App = ReturnType<typeof startFailing>;

const live = { name: "Buyers", rule, sync: "each-event" } as const;
const hour = 60 * 60 * 1000;
const usersOf = (count: number): string[] =>
  Array.from({ length: count }, (_, nth) => `u${String(nth).padStart(4, "0")}`);

afterEach(() => void vi.useRealTimers());

function enable(app: App, id: DestinationId, enabled: boolean): Promise<void> {
  app.configuration.updateDestination(id, { enabled });
  app.onConfigurationChanged();
  return app.activity.whenQuiet();
}

const row = (app: App) => app.store.audiences()[0];

test("a destination that is disabled during its first sync is told what those it had sent miss, and no more", async () => {
  const app = startFailing();
  const { id } = (await app.audiences.create(live)) as { id: AudienceId };
  await app.send(usersOf(60));
  const late = connect(app, "Late");
  const connected = app.audiences.update(id, { destinationIds: [late] });
  while ((app.audiences.list()[0]?.firstSyncs[0]?.after ?? "") === "") await nextTurn();
  app.configuration.updateDestination(late, { enabled: false });
  await connected;
  app.sent();
  await app.audiences.update(id, { rule: { event: "Never" } });
  await app.activity.whenQuiet();
  expect(row(app)?.skipped).toHaveLength(50);
  app.sent();
  await enable(app, late, true);
  expect(app.sent().map(({ message }) => message)).toMatchObject(
    usersOf(50).map((userId) => ({ userId, traits: { buyers: false } })),
  );
  expect(row(app)).toMatchObject({ reached: [late], firstSyncs: [], skipped: [] });
});

test("a destination that missed too much to list gets a first sync again, and is told who left", async () => {
  const app = startFailing();
  const members = usersOf(1001);
  const off = connect(app, "Off");
  const created = await app.audiences.create({ name: "List", members: members.slice(1) });
  const { id } = created as { id: AudienceId };
  await enable(app, off, false);
  await app.audiences.update(id, { members: members.slice(0, 1) });
  const sizes: number[] = [];
  const sync = app.audiences.sync(id);
  while (row(app)?.openSync !== null) {
    sizes.push(row(app)?.skipped?.length ?? 0);
    await nextTurn();
  }
  await sync;
  expect(Math.max(...sizes)).toBeGreaterThan(900);
  expect(row(app)).toMatchObject({
    ...{ reached: [], formerly: [off], skipped: [] },
    firstSyncs: [{ destinationId: off, after: "", sent: 0 }],
  });
  app.sent();
  await enable(app, off, true);
  const values = app.sent().map(({ message }) => "traits" in message && message.traits["list"]);
  expect([values.length, values[0], new Set(values.slice(1))]).toEqual([
    1001,
    true,
    new Set([false]),
  ]);
  expect(row(app)).toMatchObject({ reached: [off], firstSyncs: [] });
});

/** Users in a live audience whose events are over after an hour, with one destination. */
async function startHour(users: string[]) {
  const app = startFailing();
  const off = connect(app, "Off");
  const draft = { ...live, rule: { ...rule, withinDays: 1 / 24 } };
  const { id } = (await app.audiences.create(draft)) as { id: AudienceId };
  await app.send(users);
  const values = () =>
    app.sent().map(({ message }) => [message.userId, "traits" in message && message.traits]);
  const leave = async () => {
    app.clock.advanceBy(hour);
    await app.activity.whenQuiet();
    app.sent();
  };
  return { app, id, off, values, leave };
}

test("what a destination missed is sent after a suppression, and after a disconnection", async () => {
  const { app, id, off, values, leave } = await startHour(["ada", "bob"]);
  await enable(app, off, false);
  await leave();
  app.suppressed.add("bob");
  await enable(app, off, true);
  expect(values()).toEqual([["ada", { buyers: false }]]);
  app.suppressed.clear();
  await enable(app, off, true);
  expect(values()).toEqual([["bob", { buyers: false }]]);
  await app.send(["ada"]);
  await enable(app, off, false);
  await leave();
  app.clock.advanceBy(1);
  for (const destinationIds of [[], [off]]) await app.audiences.update(id, { destinationIds });
  await enable(app, off, true);
  expect(values()).toContainEqual(["ada", { buyers: false }]);
  expect(row(app)).toMatchObject({ reached: [off], skipped: [] });
});

test("what a destination missed is compared when it is sent, and a user that it has is deleted there", async () => {
  const { app, id, off, values, leave } = await startHour(["ada", "bob"]);
  const other = connect(app, "Other");
  await app.audiences.update(id, { destinationIds: [off, other] });
  await enable(app, off, false);
  await leave();
  app.configuration.updateDestination(off, { enabled: true });
  await app.send(["ada"]);
  expect(app.sent().map(({ leftOut }) => [...(leftOut ?? [])])).toEqual([
    [
      [
        off,
        {
          reason: "first_sync_pending",
          detail:
            "Off was disabled when the value of this user changed. The user's current value is sent next.",
        },
      ],
    ],
  ]);
  const users = createDeleteUsers(app);
  const bob = users.find("bob", { isLast: true, others: [] });
  expect(bob.sending.map(({ to }) => [...to])).toEqual([[off, other]]);
  users.delete([bob], 1 as DeletionId, true);
  app.sent();
  await enable(app, off, true);
  expect([values(), row(app)?.skipped]).toEqual([[], []]);
});

test("what a destination missed in a transaction that failed is noted with the next try", async () => {
  const { app, off, values } = await startHour(["ada"]);
  await enable(app, off, false);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  app.db.exec(
    "CREATE TRIGGER refuse BEFORE INSERT ON messages BEGIN SELECT RAISE(ABORT, 'no room'); END",
  );
  app.clock.advanceBy(hour);
  await app.activity.whenQuiet();
  expect([app.reported.length, row(app)?.skipped]).toEqual([1, undefined]);
  app.db.exec("DROP TRIGGER refuse");
  vi.advanceTimersByTime(500);
  app.clock.advanceBy(0);
  await app.activity.whenQuiet();
  app.sent();
  expect(row(app)?.skipped).toEqual([{ userId: "ada", destinationId: off, had: true }]);
  await enable(app, off, true);
  expect(values()).toEqual([["ada", { buyers: false }]]);
});
