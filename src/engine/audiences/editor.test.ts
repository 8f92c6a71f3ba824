/** What is created, changed and refused, and what the calls wait for. */

import { expect, test } from "vitest";
import type { AudienceId, ComputedTraitId, DestinationId } from "../../domain/ids.ts";
import type { AudienceView } from "../profile-pipeline.ts";
import { request } from "../../store/store.fixture.ts";
import { bought, connect, rule, startFailing } from "./computations.fixture.ts";

type App = ReturnType<typeof startFailing>;

const day = 24 * 60 * 60 * 1000;
const hour = day / 24;
const usersOf = (count: number): string[] =>
  Array.from({ length: count }, (_, nth) => `u${String(nth).padStart(4, "0")}`);

async function create(app: App, more: object = { rule }): Promise<AudienceView> {
  const created = await app.audiences.create({ name: "Buyers", ...more });
  if (!("id" in created)) throw new Error(created.message);
  return created;
}

const count = { aggregate: "count", event: "Bought" } as const;
const invalid = { status: 400, code: "invalid" };

test("an audience has what was asked for and what was left out, and a source of its own name", async () => {
  const app = startFailing();
  const [on, off] = [connect(app, "On"), connect(app, "Off", false)];
  const plain = await create(app);
  const now = app.clock.now();
  expect(plain).toMatchObject({
    ...{ name: "Buyers", key: "buyers", sync: "manual", createdAt: now, nextSyncAt: null },
    ...{ openSync: null, lastSync: { at: now, entered: 0, left: 0 }, destinationIds: [on] },
    ...{ rule, members: null, size: 0, firstSyncs: [], cancelledSync: null, syncing: null },
  });
  expect(app.configuration.source(plain.sourceId)).toMatchObject({
    ...{ name: "Buyers", kind: "audience" },
  });
  const given = await create(app, {
    ...{ name: "List of 2", key: "my_key", members: ["ada", "ada", "bob"] },
    ...{ destinationIds: [off, on], sync: { everyMs: hour } },
  });
  expect(given).toMatchObject({
    ...{ name: "List of 2", key: "my_key", members: ["ada", "bob"], rule: null, size: 2 },
    ...{ nextSyncAt: now + hour, destinationIds: [on, off] },
  });
  const trait = await app.computedTraits.create({ name: "Orders", computation: count });
  expect(trait).toMatchObject({
    ...{ key: "orders", computation: count, users: 0, firstSyncs: [], destinationIds: [on] },
  });
  expect(app.audiences.get(given.id)).toEqual(app.audiences.list()[1]);
  expect([app.audiences.list().length, app.computedTraits.list().length]).toEqual([2, 1]);
  expect(app.sourceOf(given.id)).toBe(given.sourceId);
  expect(app.sourceOf(99 as AudienceId)).toBeUndefined();
});

test("a name without a letter, a key that is taken, and a destination that is not there are refused", async () => {
  const app = startFailing();
  const { id } = await create(app);
  await app.computedTraits.create({ name: "Orders", computation: count });
  const before = [app.audiences.list(), app.configuration.sources()];
  expect(await app.audiences.create({ name: "!!", rule })).toMatchObject({
    ...{ status: 400, code: "empty_key" },
  });
  expect(await app.audiences.create({ name: "Other", key: "orders", rule })).toMatchObject({
    ...{ status: 409, code: "key_taken" },
    message: expect.stringContaining("the computed trait Orders") as string,
  });
  const nowhere = { destinationIds: [77 as DestinationId] };
  expect(await app.audiences.create({ name: "Other", rule, ...nowhere })).toMatchObject(invalid);
  expect(await app.audiences.update(id, nowhere)).toMatchObject(invalid);
  expect(await app.audiences.update(id, { name: "!!" })).toMatchObject(invalid);
  const none = { status: 404, code: "not_found" };
  const [audience, trait] = [99 as AudienceId, 99 as ComputedTraitId];
  for (const call of [
    app.audiences.get(audience),
    app.audiences.update(audience, {}),
    app.audiences.delete(audience),
    app.audiences.sync(audience),
    app.audiences.changes(audience, 1),
    app.audiences.cancelSync(audience),
    app.computedTraits.get(trait),
    app.computedTraits.update(trait, {}),
    app.computedTraits.delete(trait),
    app.computedTraits.sync(trait),
    app.computedTraits.cancelSync(trait),
  ])
    expect(await call).toMatchObject(none);
  expect([app.audiences.list(), app.configuration.sources()]).toEqual(before);
});

test("a change renames the source, moves connections and the period, and what is not named stays", async () => {
  const app = startFailing();
  const [one, other] = [connect(app, "One"), connect(app, "Other")];
  const { id, sourceId } = await create(app, { rule, destinationIds: [one] });
  const now = app.clock.now();
  expect(await app.audiences.update(id, { name: "Customers" })).toMatchObject({
    ...{ name: "Customers", key: "buyers", rule, destinationIds: [one], sync: "manual" },
  });
  expect(app.configuration.source(sourceId)?.name).toBe("Customers");
  expect(await app.audiences.update(id, { destinationIds: [other] })).toMatchObject({
    ...{ name: "Customers", destinationIds: [other] },
  });
  app.clock.advanceBy(5);
  expect(await app.audiences.update(id, { sync: { everyMs: hour } })).toMatchObject({
    ...{ sync: { everyMs: hour }, nextSyncAt: now + 5 + hour, destinationIds: [other] },
  });
  expect(await app.audiences.update(id, { members: ["b", "b"] })).toMatchObject({
    ...{ members: ["b"], rule: null },
  });
  expect(await app.audiences.update(id, { rule })).toMatchObject({ members: null, rule });
  const trait = (await app.computedTraits.create({ name: "Orders", computation: count })) as {
    id: ComputedTraitId;
  };
  const sum = { ...count, aggregate: "sum", property: "total" } as const;
  expect(await app.computedTraits.update(trait.id, { name: "Spent" })).toMatchObject({
    ...{ name: "Spent", computation: count },
  });
  expect(await app.computedTraits.update(trait.id, { computation: sum })).toMatchObject({
    ...{ name: "Spent", computation: sum },
  });
  const read = [app.audiences.list(), app.computedTraits.list()];
  app.reload();
  expect([app.audiences.list(), app.computedTraits.list()]).toEqual(read);
});

test("one that follows each event is synced when its rule changes or when it begins to, and not otherwise", async () => {
  const app = startFailing();
  await app.send(["ada"]);
  const { id } = await create(app, { rule: { event: "Never" } });
  const synced = (): unknown => {
    const [{ lastSync } = { lastSync: null }] = app.audiences.list();
    return lastSync?.at;
  };
  const start = app.clock.now();
  const changes: [object, boolean][] = [
    [{ rule }, false],
    [{ sync: "each-event" }, true],
    [{ name: "Live" }, false],
    [{ sync: "each-event" }, false],
    [{ rule: { ...rule, atLeast: 2 } }, true],
    [{ sync: "manual", rule }, false],
  ];
  let last: unknown = start;
  for (const [change, isSynced] of changes) {
    app.clock.advanceBy(1000);
    await app.audiences.update(id, change);
    const at = isSynced ? app.clock.now() : last;
    expect(synced(), JSON.stringify(change)).toBe(at);
    last = at;
  }
});

test("what the store refuses leaves neither a source nor a connection behind in memory", async () => {
  const app = startFailing();
  const to = connect(app, "To");
  const { id } = await create(app, { rule, destinationIds: [] });
  const before = [
    app.audiences.list(),
    app.configuration.sources(),
    app.configuration.destinations(),
  ];
  app.db.exec(
    "CREATE TRIGGER no_more BEFORE INSERT ON audiences BEGIN SELECT RAISE(ABORT, 'no room'); END",
  );
  app.db.exec(
    "CREATE TRIGGER no_change BEFORE UPDATE ON audiences BEGIN SELECT RAISE(ABORT, 'no room'); END",
  );
  await expect(app.audiences.create({ name: "Other", rule })).rejects.toThrow("no room");
  await expect(app.audiences.update(id, { name: "Renamed", destinationIds: [to] })).rejects.toThrow(
    "no room",
  );
  expect([
    app.audiences.list(),
    app.configuration.sources(),
    app.configuration.destinations(),
  ]).toEqual(before);
});

test("fixed lists have half a million members or 24 MiB together, and one that is replaced does not count", async () => {
  const app = startFailing();
  const full = {
    ...{ ...invalid, message: expect.stringContaining("500000 members, or 24 MiB") as string },
  };
  const { id } = await create(app, { members: [] });
  const other = await create(app, { name: "Other", members: ["a"] });
  await create(app, { name: "Of a rule", rule });
  const many = Array.from({ length: 500_000 }, (_, nth) => String(nth));
  expect(await app.audiences.create({ name: "Many", members: many })).toMatchObject(full);
  expect(app.audiences.list()).toHaveLength(3);
  // As JSON, with brackets and quotes; the other list takes five.
  const room = 24 * 1024 * 1024 - '["a"]'.length - '[""]'.length;
  expect(await app.audiences.update(id, { members: ["x".repeat(room + 1)] })).toMatchObject(full);
  expect(await app.audiences.update(id, { members: ["x".repeat(room)] })).toMatchObject({ id });
  expect(await app.audiences.update(other.id, { members: ["ab"] })).toMatchObject(full);
  expect(await app.audiences.update(other.id, { members: ["b"] })).toMatchObject({
    members: ["b"],
  });
  expect(await app.audiences.update(id, { members: ["a", "b"] })).toMatchObject({ id });
});

test("what is asked about users includes what was committed just before", async () => {
  const app = startFailing();
  const { id } = await create(app);
  const trait = (await app.computedTraits.create({ name: "Orders", computation: count })) as {
    id: ComputedTraitId;
  };
  const calls: [() => Promise<unknown>, (userId: string) => unknown][] = [
    [() => app.audiences.preview({ rule }, 9), (userId) => ({ sample: [{ userId }] })],
    [() => app.computedTraits.preview(count, 9), (userId) => ({ sample: [{ userId, value: 1 }] })],
    [
      () => app.audiences.changes(id, 9),
      (userId) => ({ sample: [{ userId, change: "entering" }] }),
    ],
    [() => app.audiences.explain(rule, "u0003"), () => ({ matches: true })],
    [() => app.audiences.sync(id), () => ({ entered: 5, left: 0 })],
    [() => app.computedTraits.sync(trait.id), () => ({ entered: 6, left: 0 })],
  ];
  for (const [nth, [call, answer]] of calls.entries()) {
    app.store.commit([request([bought(`u000${nth}`)], { at: app.clock.now() })]);
    const answered = (await call()) as { sample?: unknown[] };
    const { sample = [] } = answered;
    expect({
      ...answered,
      ...(sample.length > 0 ? { sample: sample.slice(nth) } : {}),
    }).toMatchObject(answer(`u000${nth}`) as object);
  }
});

test("a rule is explained for a user, also for one who did too much for one turn, and for nobody there is no answer", async () => {
  const app = startFailing();
  const window = { ...rule, withinDays: 1 };
  await app.send(["ada"]);
  const until = app.clock.now() + day;
  expect(await app.audiences.explain(window, "ada")).toMatchObject({
    ...{ matches: true, until },
    explained: { holds: true },
  });
  expect(await app.audiences.explain({ event: "Never" }, "ada")).toMatchObject({
    ...{ matches: false, until: null },
  });
  expect(await app.audiences.explain(rule, "nobody")).toMatchObject({
    ...{ status: 404, code: "not_found" },
  });
  for (let times = 0; times < 8; times += 1)
    await app.send(Array<string>(50).fill("eve"), (userId) => ({
      ...bought(userId),
      text: JSON.stringify({
        ...{ type: "track", event: "Bought" },
        properties: { text: "x".repeat(20_000) },
      }),
    }));
  const often = {
    ...rule,
    atLeast: 400,
    where: [{ property: "text", op: "contains", value: "x" }],
  };
  expect(await app.audiences.explain(often as never, "eve")).toMatchObject({ matches: true });
  expect(await app.audiences.explain({ ...often, atLeast: 401 } as never, "eve")).toMatchObject({
    matches: false,
  });
});

test("the values of a user are those of audiences and computed traits that receivers have", async () => {
  const app = startFailing();
  const { id } = await create(app, { rule: { ...rule, withinDays: 1 }, sync: "each-event" });
  const trait = await app.computedTraits.create({
    ...{ name: "Orders", computation: count, sync: "each-event" },
  });
  const since = app.clock.now();
  expect(app.valuesOf("ada")).toEqual({ memberships: [], computed: [] });
  await app.send(["ada"]);
  const computed = [
    { ...{ id: (trait as { id: number }).id, name: "Orders", key: "orders" }, value: 1, since },
  ];
  expect(app.valuesOf("ada")).toEqual({
    memberships: [{ id, name: "Buyers", key: "buyers", since }],
    computed,
  });
  app.store.putLastSent({
    ...{ sourceId: 77 as never, userId: "ada", value: true, since, recheckAt: null },
  });
  app.clock.advanceBy(day);
  await app.activity.whenQuiet();
  expect(app.valuesOf("ada")).toEqual({ memberships: [], computed });
});

test("a deletion has ended when its values are gone, and a stop in between leaves the rest to the next start", async () => {
  const app = startFailing();
  const whole = await create(app, { members: usersOf(2100) });
  const stopped = await create(app, { name: "Stopped", members: usersOf(2100) });
  expect(await app.audiences.delete(whole.id)).toBeNull();
  expect(app.noted()).toHaveLength(2100);
  const deletion = app.audiences.delete(stopped.id);
  app.stop();
  expect(await deletion).toMatchObject({ code: "stopping" });
  expect(app.noted()).toHaveLength(100);
  const again = app.restarted();
  await app.activity.whenQuiet();
  await expect.poll(() => app.noted()).toEqual([]);
  expect(again.audiences.list()).toEqual([]);
});
