/** Why each value was sent: the reason, the sentence, and the message that made the difference. */

import { expect, test } from "vitest";
import type { AudienceId, ComputedTraitId, DestinationId } from "../../domain/ids.ts";
import type { Rule } from "../../domain/rules.ts";
import { bought, rule, startFailing } from "./computations.fixture.ts";

type App = ReturnType<typeof startFailing>;

const day = 24 * 60 * 60 * 1000;
const live = { sync: "each-event" } as const;
const done = "Bought was done on 21 Nov 00:00 UTC";

const identified = (traits: object) => (userId: string) => ({
  type: "identify" as const,
  userId,
  text: JSON.stringify({ type: "identify", userId, traits }),
});
const aliased = (previousId: string) => (userId: string) => ({
  type: "alias" as const,
  userId,
  text: JSON.stringify({ type: "alias", userId, previousId }),
});

/** Reason, sentence and message of what was sent since the last look. */
const causes = (app: App): unknown[] =>
  app.sent().map(({ cause: { reason, sentence, messageId } }) => [reason, sentence, messageId]);

const newest = (app: App): unknown =>
  app.db.prepare("SELECT max(id) FROM messages WHERE source_id = 1").pluck().get();

async function create(app: App, more: object = { rule }): Promise<AudienceId> {
  const created = await app.audiences.create({ name: "Big", ...more });
  return (created as { id: AudienceId }).id;
}

test("an event, a trait, and a message of another user in the same slice", async () => {
  const app = startFailing();
  await create(app, { ...live, rule: { any: [rule, { trait: "plan", op: "is", value: "pro" }] } });
  await app.send(["ada"]);
  const ofAda = newest(app);
  await app.send(["bob", "cyd"], identified({ plan: "pro" }));
  const ofCyd = newest(app) as number;
  expect(causes(app)).toEqual([
    ["event", `ada entered Big: ${done}.`, ofAda],
    ["event", 'bob entered Big: plan is "pro".', ofCyd - 1],
    ["event", 'cyd entered Big: plan is "pro".', ofCyd],
  ]);
  await app.send(["cyd"], identified({ plan: "free" }));
  expect(causes(app)).toEqual([
    ["event", expect.stringMatching(/^cyd left Big: .*plan is "free"/), newest(app)],
  ]);
});

test("a first sync names no message, and a later one names what decides", async () => {
  const app = startFailing();
  await app.send(["ada"]);
  const id = await create(app);
  const trait = (await app.computedTraits.create({
    name: "Orders",
    computation: { aggregate: "count", event: "Bought" },
  })) as { id: ComputedTraitId };
  expect(causes(app)).toEqual([
    ["first_sync", "ada is in Big at the first sync.", undefined],
    ["first_sync", "Orders of ada is 1 at the first sync.", undefined],
  ]);
  await app.send(["ada", "bob"]);
  const ofBob = newest(app) as number;
  await app.audiences.sync(id);
  await app.computedTraits.sync(trait.id);
  expect(causes(app)).toEqual([
    ["sync", `bob entered Big at a sync: ${done}.`, ofBob],
    ["sync", `Orders of ada is 2, and was 1 at a sync: ${done}.`, ofBob - 1],
    ["sync", `Orders of bob is 1 at a sync: ${done}.`, ofBob],
  ]);
});

test("a changed rule is the cause only for users who would not have entered or left by the rule before", async () => {
  const app = startFailing();
  const total = (above: number): Rule => ({
    event: "Bought",
    where: [{ property: "total", op: "greater", value: above }],
  });
  const boughtFor = (amount: number) => (userId: string) => ({
    ...bought(userId),
    text: JSON.stringify({ type: "track", event: "Bought", properties: { total: amount } }),
  });
  const id = await create(app, { rule: total(10) });
  await app.send(["ten"], boughtFor(15));
  await app.audiences.sync(id);
  app.sent();
  // Changed twice before the next sync: the one that was synced counts.
  await app.audiences.update(id, { rule: total(100) });
  await app.audiences.update(id, { rule: total(20) });
  await app.send(["many"], boughtFor(50));
  await app.audiences.sync(id);
  expect(causes(app).map((cause) => (cause as unknown[]).slice(0, 2))).toEqual([
    ["rule_changed", "ten left Big because its rule was changed: Bought was not done."],
    ["sync", "many entered Big at a sync: Bought with total 50 was done on 21 Nov 00:00 UTC."],
  ]);
  await app.audiences.update(id, { rule: total(5) });
  await app.send(["few"], boughtFor(7));
  await app.audiences.sync(id);
  expect(causes(app).map((cause) => (cause as unknown[])[0])).toEqual([
    "rule_changed",
    "rule_changed",
  ]);
  await app.send(["more"], boughtFor(7));
  await app.audiences.sync(id);
  expect(causes(app).map((cause) => (cause as unknown[])[0])).toEqual(["sync"]);
});

test("a changed list", async () => {
  const app = startFailing();
  const id = await create(app, { members: ["ada", "bob"] });
  app.sent();
  await app.audiences.update(id, { members: ["ada", "cyd"] });
  await app.audiences.sync(id);
  expect(causes(app)).toEqual([
    ["members_changed", "cyd entered Big: the user was put on its list.", undefined],
    ["members_changed", "bob left Big: the user was taken off its list.", undefined],
  ]);
  // A rule instead of the list has no rule before it.
  await app.send(["ada", "dan"]);
  await app.audiences.update(id, { rule });
  await app.audiences.sync(id);
  expect(causes(app)).toEqual([
    ["sync", `dan entered Big at a sync: ${done}.`, newest(app)],
    ["sync", "cyd left Big at a sync.", null],
  ]);
});

test("users who are joined, at once and at a later sync", async () => {
  const app = startFailing();
  await create(app, { ...live, rule });
  const manual = await create(app, { name: "Manual", rule });
  await app.send(["old", "new"]);
  await app.audiences.sync(manual);
  app.sent();
  await app.send(["new"], aliased("old"));
  expect(causes(app)).toEqual([
    ["users_joined", "old left Big: the user was joined to new.", undefined],
  ]);
  await app.audiences.sync(manual);
  expect(causes(app)).toEqual([
    ["users_joined", "old left Manual: the user was joined to another user.", undefined],
  ]);
  // A user who gets another userId leaves as the former one, and enters as the other.
  await app.send(["newer"], aliased("new"));
  expect(causes(app)).toEqual([
    ["users_joined", "new left Big: the user was joined to newer.", undefined],
    [
      "users_joined",
      `newer entered Big: the user was joined with new, and ${done}.`,
      expect.any(Number),
    ],
  ]);
});

test("a value that users have together, because they were joined", async () => {
  const app = startFailing();
  const computation = { aggregate: "count" as const, event: "Bought" };
  await app.computedTraits.create({ name: "Orders", computation, ...live });
  await app.send(["old"]);
  await app.send(["new"]);
  app.sent();
  await app.send(["new"], aliased("old"));
  expect(causes(app).slice(-1)).toEqual([
    [
      "users_joined",
      `Orders of new is 2, and was 1: the user was joined with old, and ${done}.`,
      expect.any(Number),
    ],
  ]);
});

test("an event that arrived last, and has an earlier time than others", async () => {
  const app = startFailing();
  const computation = { aggregate: "count" as const, event: "Bought" };
  await app.computedTraits.create({ name: "Orders", computation, ...live });
  await create(app, { ...live, rule: { ...rule, atLeast: 2 } });
  await app.send(["ada"]);
  app.sent();
  const timestamp = "2026-11-20T00:00:00.000Z";
  await app.send(["ada"], (userId) => ({ ...bought(userId), timestamp: Date.parse(timestamp) }));
  expect(causes(app)).toEqual([
    ["event", "Orders of ada is 2, and was 1: Bought was done on 20 Nov 00:00 UTC.", newest(app)],
    [
      "event",
      "ada entered Big: Bought was done 2 times, the last time on 21 Nov 00:00 UTC.",
      newest(app),
    ],
  ]);
});

test("addresses: of the user, and of one who was joined", async () => {
  const app = startFailing();
  await create(app, { ...live, rule: { trait: "plan", op: "is", value: "pro" } });
  await app.send(["old"], identified({ plan: "pro", email: "old@x" }));
  await app.send(["new"], identified({ plan: "free" }));
  await app.send(["old"], identified({ email: "older@x" }));
  expect(causes(app).slice(-1)).toEqual([
    ["new_identifier", "old is in Big, and the user has a new email address, older@x.", undefined],
  ]);
  app.clock.advanceBy(1000);
  await app.send(["new"], identified({ plan: "basic" }));
  await app.send(["new"], aliased("old"));
  const joined = "new is not in Big, and the user was joined with old, whose email address is";
  expect(causes(app)).toEqual([
    ["users_joined", "old left Big: the user was joined to new.", undefined],
    ["users_joined", `${joined} old@x.`, undefined],
    ["users_joined", `${joined} older@x.`, undefined],
  ]);
});

test("time, for an audience and for a computed trait, also when nothing is left", async () => {
  const app = startFailing();
  await create(app, { ...live, rule: { ...rule, withinDays: 1 } });
  await app.computedTraits.create({
    ...{ name: "Orders", ...live },
    computation: { aggregate: "sum", event: "Bought", property: "total", withinDays: 1 },
  });
  await app.send(["ada"], (userId) => ({
    ...bought(userId),
    text: JSON.stringify({ type: "track", event: "Bought", properties: { total: 4 } }),
  }));
  const first = newest(app);
  app.sent();
  app.clock.advanceBy(day);
  await app.activity.whenQuiet();
  const gone = "the Bought of 21 Nov 00:00 UTC is older than 1 day";
  const [audience, trait] = causes(app) as [string, string, unknown][];
  expect(audience).toEqual(["time", expect.stringContaining(`ada left Big: ${gone}`), first]);
  expect(trait).toEqual([
    "time",
    expect.stringContaining(`Orders of ada no longer has a value, and was 4: ${gone}`),
    first,
  ]);
});

test("a destination that was connected later", async () => {
  const app = startFailing();
  await app.send(["ada"]);
  const id = await create(app);
  app.sent();
  const late = app.configuration.createDestination({
    ...{ name: "Late", sourceIds: [], webhooks: [{ url: "http://127.0.0.1/", headers: {} }] },
  }) as { id: DestinationId };
  await app.audiences.update(id, { destinationIds: [late.id] });
  await app.activity.whenQuiet();
  expect(app.sent().map(({ cause }) => cause)).toEqual([
    {
      reason: "destination_connected",
      sentence: "ada is in Big, and Late was connected later.",
      destinationId: late.id,
      computedId: "aud_000000001",
    },
  ]);
});
