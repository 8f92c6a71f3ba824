/**
 * A message and the record that it was sent are one commit: a failure in the middle of either
 * leaves nothing behind.
 */

import { expect, test } from "vitest";
import type { AudienceId, ComputedTraitId } from "../../domain/ids.ts";
import type { AudienceView } from "../profile-pipeline.ts";
import { nextTurn } from "../real-time.ts";
import { bought, rule, startFailing } from "./computations.fixture.ts";

const users = Array.from({ length: 450 }, (_, nth) => `u${String(nth).padStart(4, "0")}`);

test("a slice of a sync that fails is as if it had not begun, and the sync goes on with it", async () => {
  const app = startFailing();
  await app.send(users);
  app.failAt(250);
  await expect(app.audiences.create({ name: "Buyers", rule })).rejects.toThrow("in the middle");
  expect(app.noted().length).toBeGreaterThan(0);
  expect(app.noted().length).toBeLessThan(250);
  expect(app.said()).toEqual(app.noted());
  const [interrupted] = app.audiences.list();
  expect(interrupted).toMatchObject({
    size: app.noted().length,
    lastSync: null,
    openSync: { entered: app.noted().length },
  });

  // It is tried again by itself.
  await expect
    .poll(() => app.audiences.list()[0]?.lastSync)
    .toMatchObject({ entered: users.length, left: 0 });
  expect(app.said()).toEqual(users);
  expect(app.noted()).toEqual(users);
});

test("what follows an event is taken back with the event, and comes with it when that is followed again", async () => {
  const app = startFailing();
  await app.audiences.create({ name: "Buyers", rule, sync: "each-event" });
  app.failAt(3);
  await app.send(users.slice(0, 6));
  expect(app.events()).toBe(6);
  expect(app.said()).toEqual(users.slice(0, 6));
  expect(app.noted()).toEqual(users.slice(0, 6));
});

test("an audience that cannot be made leaves no source, and its key stays free", async () => {
  const app = startFailing();
  expect(
    await app.audiences.create({ name: "Buyers", rule, destinationIds: [7 as never] }),
  ).toMatchObject({ code: "invalid" });
  expect(app.audiences.list()).toEqual([]);
  expect(await app.audiences.changes(1 as AudienceId, 10)).toMatchObject({ status: 404 });
  expect(await app.audiences.create({ name: "Buyers", rule, destinationIds: [] })).toMatchObject({
    key: "buyers",
  });
  expect(await app.audiences.create({ name: "Buyers", rule })).toMatchObject({
    code: "key_taken",
    message: expect.stringContaining("already belongs to the audience Buyers"),
  });
});

test("a change that is followed by a sync commits the sync with it, so that a start after a kill goes on with it", async () => {
  const app = startFailing();
  await app.send(users);
  const { id } = (await app.audiences.create({ name: "Buyers", rule, sync: "each-event" })) as {
    id: AudienceId;
  };
  await app.audiences.update(id, { rule: { event: "Never" } });
  const withRule = app.committed.flatMap((audiences) =>
    audiences.filter((audience) => JSON.stringify(audience).includes("Never")),
  );
  expect(withRule[0]).toMatchObject({ openSync: { entered: 0, left: 0 } });
  expect(app.audiences.list()[0]).toMatchObject({
    openSync: null,
    lastSync: { entered: 0, left: users.length },
  });
});

test("a sync requested while one is running runs after it, and both end", async () => {
  const app = startFailing();
  await app.send(users);
  const made = app.audiences.create({ name: "Buyers", rule });
  const id = app.audiences.list()[0]?.id;
  if (id === undefined) throw new Error("the audience is not there at once");
  const [first, second, third] = await Promise.all([
    made,
    app.audiences.sync(id),
    app.audiences.sync(id),
  ]);
  expect(first).toMatchObject({ size: users.length });
  expect([second, third]).toEqual([
    { entered: 0, left: 0 },
    { entered: 0, left: 0 },
  ]);
  expect(app.said()).toEqual(users);
});

test("a sync stops sending when its audience is deleted or changed in the middle", async () => {
  const app = startFailing();
  await app.send(users);
  const deleted = app.audiences.create({ name: "Buyers", rule });
  const changed = app.audiences.create({ name: "Others", rule });
  const [one, other] = app.audiences.list();
  if (one === undefined || other === undefined)
    throw new Error("the audiences are not there at once");
  while (app.audiences.list().some(({ size }) => size === 0)) await nextTurn();
  const never = app.audiences.update(other.id, { rule: { event: "Never" } });
  await app.audiences.delete(one.id);
  await deleted;
  expect(await never).toMatchObject({ rule: { event: "Never" } });
  const { size, lastSync } = (await changed) as AudienceView;
  expect(size).toBe(0);
  expect(lastSync?.entered).toBeGreaterThan(0);
  expect(lastSync?.entered).toBeLessThan(users.length);
  expect(lastSync?.left).toBe(lastSync?.entered);
  expect(app.noted()).toEqual([]);
});

test("what is deleted is gone from the store, and told as what it was", async () => {
  const app = startFailing();
  const noted: string[] = [];
  app.changes.subscribe((lines) => void noted.push(...lines.map(({ area }) => area)));
  const { id } = (await app.audiences.create({ name: "Buyers", rule })) as { id: AudienceId };
  const trait = (await app.computedTraits.create({
    name: "Orders",
    computation: { aggregate: "count", event: "Bought" } as never,
  })) as {
    id: ComputedTraitId;
  };
  await expect.poll(() => noted).toEqual(expect.arrayContaining(["audiences", "computed-traits"]));
  noted.length = 0;
  expect(await app.computedTraits.delete(trait.id)).toBeNull();
  expect([app.store.computedTraits(), app.store.audiences().length]).toEqual([[], 1]);
  await expect.poll(() => noted).toContain("computed-traits");
  expect(noted).not.toContain("audiences");
  expect(await app.audiences.delete(id)).toBeNull();
  expect([app.store.audiences(), app.audiences.list(), app.computedTraits.list()]).toEqual([
    [],
    [],
    [],
  ]);
  for (const gone of [
    app.audiences.get(id),
    app.computedTraits.get(trait.id),
    await app.audiences.delete(id),
    await app.computedTraits.delete(trait.id),
  ])
    expect(gone).toMatchObject({ status: 404 });
});

test("a user who did too much for one turn is evaluated in several, also when an event comes in between", async () => {
  const app = startFailing();
  let sent = 0;
  const send = (count: number): Promise<void> =>
    app.send(Array<string>(count).fill("ada"), (userId) => {
      const properties = { text: `${(sent += 1)}`.padEnd(20_000, "x") };
      return {
        ...bought(userId),
        text: JSON.stringify({ ...JSON.parse(bought(userId).text), properties }),
      };
    });
  for (let times = 0; times < 12; times += 1) await send(50);
  const computation = { aggregate: "unique", event: "Bought", property: "text" } as const;
  const turnsOf = async (work: Promise<unknown>): Promise<number> => {
    let isDone = false;
    let turns = 0;
    void work.finally(() => (isDone = true));
    for (; !isDone; turns += 1) await nextTurn();
    return turns;
  };
  const preview = app.computedTraits.preview(computation, 1);
  const turns = await turnsOf(preview);
  expect(turns).toBeGreaterThan(4);
  expect(turns).toBeLessThan(10);
  expect(await preview).toMatchObject({ count: 1, sample: [{ userId: "ada", value: 600 }] });
  const contains = { property: "text", op: "contains", value: "none" } as const;
  const some = app.audiences.preview({ rule: { ...rule, where: [contains] } }, 1);
  expect(await turnsOf(some)).toBeGreaterThan(3);
  expect(await some).toMatchObject({ count: 0 });

  // Comparing all of these events with a condition takes two turns more.
  const any = ["a", "b", "c", "d", "e"].map((value) => ({
    ...rule,
    where: [{ ...contains, value }],
  }));
  for (const work of [
    () => app.audiences.preview({ rule: { any } }, 1),
    () => app.audiences.create({ name: "Letters", rule: { any } }),
    () => app.audiences.explain({ any }, "ada"),
  ])
    expect(await turnsOf(work())).toBeGreaterThan(10);

  await app.computedTraits.create({ name: "Texts", computation, sync: "each-event" });
  const valueOfAda = () => app.valuesOf("ada").computed[0]?.value;
  expect(valueOfAda()).toBe(600);
  await send(1);
  expect(valueOfAda()).toBe(600);
  app.clock.advanceBy(0);
  expect(await turnsOf(app.activity.whenQuiet())).toBeGreaterThan(4);
  expect(valueOfAda()).toBe(601);
  await send(1);
  app.clock.advanceBy(0);
  for (let turn = 0; turn < 3; turn += 1) await nextTurn();
  expect(valueOfAda()).toBe(601);
  await send(1);
  await app.activity.whenQuiet();
  app.clock.advanceBy(0);
  await app.activity.whenQuiet();
  expect(valueOfAda()).toBe(603);
  expect(app.reported).toEqual([]);
});
