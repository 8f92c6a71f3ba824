/** The calls that carry values: their members, the users that get them, and those that get none. */

import { expect, test } from "vitest";
import type { Destination } from "../../domain/configuration.ts";
import type { AudienceId, ComputedTraitId, DestinationId } from "../../domain/ids.ts";
import type { Computation } from "../../domain/rules.ts";
import type { CausedMessage } from "../ingest/internal-messages.ts";
import type { AudienceView } from "../profile-pipeline.ts";
import { nextTurn } from "../real-time.ts";
import { bought, rule, startFailing } from "./computations.fixture.ts";

type App = ReturnType<typeof startFailing>;

const live = { name: "Buyers", rule, sync: "each-event" } as const;
const day = 24 * 60 * 60 * 1000;

function connect(
  app: App,
  name: string,
  audienceCalls?: Destination["audienceCalls"],
): DestinationId {
  const created = app.configuration.createDestination({
    ...{ name, sourceIds: [], webhooks: [{ url: "http://127.0.0.1/", headers: {} }] },
    ...(audienceCalls === undefined ? {} : { audienceCalls }),
  });
  if (!("id" in created)) throw new Error(created.message);
  return created.id;
}

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
/** A track whose properties are these. */
const boughtWith =
  (properties: object, event = "Bought") =>
  (userId: string) => ({
    ...bought(userId),
    event,
    text: JSON.stringify({ type: "track", userId, event, properties }),
  });

/** `ada`, or `ada by a@x`, with the value that is sent. */
const reached = (sent: readonly CausedMessage[]): string[] =>
  sent.map(({ message }) => {
    if (!("traits" in message)) return `${message.type} ${message.userId}`;
    const { email, ...values } = message.traits;
    const address = email === undefined ? "" : ` by ${JSON.stringify(email)}`;
    return `${message.userId}${address} ${JSON.stringify(values)}`;
  });

const messages = (sent: readonly CausedMessage[]): object[] => sent.map(({ message }) => message);

async function createTrait(app: App, name: string, computation: Computation) {
  const created = await app.computedTraits.create({ name, computation, sync: "each-event" });
  return created as { id: ComputedTraitId };
}

test("an audience says who entered and who left, by the userId and by each address, with where it comes from", async () => {
  const app = startFailing();
  const destinationIds = [connect(app, "Both", "both")];
  await app.audiences.create({ ...live, destinationIds, rule: { ...rule, withinDays: 1 } });
  await app.send(["ada"], identified({ email: "a@x" }));
  await app.send(["ada"]);
  const space = app.store.space(() => "new");
  expect(space).toMatch(/^spa_[0-9A-Za-z]{27}$/);
  const personas = {
    ...{ computation_class: "audience", computation_key: "buyers" },
    ...{ computation_id: "aud_000000001", namespace: space, space_id: space },
  };
  const common = { userId: "ada", integrations: { All: false, Webhooks: true } };
  const told = (entered: boolean): object[] => {
    const track = {
      ...{ ...common, type: "track", event: `Audience ${entered ? "Entered" : "Exited"}` },
      properties: { audience_key: "buyers", buyers: entered },
    };
    const identify = { ...common, type: "identify", context: { personas } };
    return [
      { ...identify, traits: { buyers: entered } },
      { ...identify, traits: { buyers: entered, email: "a@x" } },
      { ...track, context: { personas } },
      { ...track, context: { personas, traits: { email: "a@x" } } },
    ];
  };
  expect(messages(app.sent())).toEqual(told(true));
  app.clock.advanceBy(day);
  await app.activity.whenQuiet();
  expect(messages(app.sent())).toEqual(told(false));
});

test("a computed trait says its value, and that there is none any more", async () => {
  const app = startFailing();
  const destinationIds = [connect(app, "Both", "both")];
  const computation = { aggregate: "count", event: "Bought", withinDays: 1 } as never;
  await app.computedTraits.create({
    ...{ name: "Orders", key: "email", sync: "each-event" },
    ...{ destinationIds, computation },
  });
  await app.send(["ada"], identified({ email: "a@x" }));
  await app.send(["ada", "ada"]);
  const track = { type: "track", userId: "ada", event: "Trait Computed" };
  const personas = { computation_class: "trait", computation_id: "trt_000000001" };
  const told = (value: number | null): object[] => [
    // A trait with the name of an address is not overwritten by it.
    { type: "identify", traits: { email: value } },
    { type: "identify", traits: { email: value } },
    { ...track, properties: { trait_key: "email", email: value }, context: { personas } },
    { ...track, context: { personas, traits: { email: "a@x" } } },
  ];
  expect(messages(app.sent())).toMatchObject(told(2));
  app.clock.advanceBy(day);
  await app.activity.whenQuiet();
  expect(messages(app.sent())).toMatchObject(told(null));
});

test("a value that is equal is not sent again, whatever it is made of", async () => {
  const app = startFailing();
  await createTrait(app, "Last", { aggregate: "last", event: "Bought", property: "where" });
  const values = [
    { a: [1, null], b: "x" },
    { b: "x", a: [1, null] },
    { a: [1, 0], b: "x" },
    [1, 2],
    [1, 2],
    "1",
    1,
  ];
  for (const where of values) {
    app.clock.advanceBy(1000);
    await app.send(["ada"], boughtWith({ where }));
  }
  const sent = messages(app.sent()) as { traits: { last: unknown } }[];
  expect(sent.map(({ traits }) => traits.last)).toEqual([values[0], ...values.slice(2, 4), "1", 1]);
});

test.for([
  ["nothing", [], ["identify"]],
  ["one that left it open", [undefined], ["identify"]],
  ["one for identify", ["identify"], ["identify"]],
  ["one for track", ["track"], ["track"]],
  ["one for both", ["both"], ["identify", "track"]],
  ["one of each", ["identify", "track"], ["identify", "track"]],
] as const)("an audience connected to %s makes only calls that somebody gets", async (of) => {
  const [, kinds, calls] = of;
  const app = startFailing();
  const destinationIds = kinds.map((kind, nth) => connect(app, `D${nth}`, kind));
  const { id } = (await app.audiences.create({ ...live, destinationIds })) as AudienceView;
  await app.send(["ada"]);
  const sent = app.sent();
  expect(sent.map(({ message }) => message.type)).toEqual(calls);
  const leftOut = sent.map(({ leftOut: others }) => [...(others ?? new Map<number, never>())]);
  expect(leftOut).toEqual(
    kinds.length < 2
      ? calls.map(() => [])
      : [
          [[destinationIds[1], detail("D1", "track", "an identify")]],
          [[destinationIds[0], detail("D0", "identify", "a track")]],
        ],
  );
  const changed = await app.audiences.changes(id, 1);
  expect(changed).toMatchObject({ entering: 0, leaving: 0, sample: [] });
  // What would be sent is shown as the first of the calls.
  app.store.removeLastSentBy(app.audiences.list()[0]?.sourceId ?? (0 as never), 10);
  const { sample } = (await app.audiences.changes(id, 1)) as { sample: { payload: Uint8Array }[] };
  expect(JSON.parse(Buffer.from(sample[0]?.payload ?? "{}").toString())).toMatchObject({
    type: calls[0],
    userId: "ada",
  });
});

const detail = (name: string, gets: string, call: string): object => ({
  reason: "other_call",
  detail: `${name} gets the values of audiences and computed traits as ${gets} calls, and this is ${call}.`,
});

test("a new address of a member is sent the value alone, once, and one of nobody's is sent nothing", async () => {
  const app = startFailing();
  await app.audiences.create(live);
  await app.audiences.create({ ...live, name: "Others", rule: { event: "Never" } });
  await app.send(["ada"]);
  expect(reached(app.sent())).toEqual(['ada {"buyers":true}']);
  await app.send(["ada"], identified({ email: "a@x" }));
  const [first, ...more] = app.sent();
  expect(reached(first === undefined ? [] : [first])).toEqual(['ada by "a@x" {"buyers":true}']);
  expect([first?.cause, more]).toEqual([
    {
      reason: "new_identifier",
      sentence: "ada is in Buyers, and the user has a new email address, a@x.",
      computedId: "aud_000000001",
    },
    [],
  ]);
  await app.send(["ada"], identified({ email: "a@x" }));
  await app.send(["bob"], identified({ email: "b@x" }));
  expect(app.sent()).toEqual([]);
  // Who enters with the new address is sent it once.
  await app.send(["bob"]);
  expect(reached(app.sent())).toEqual(['bob {"buyers":true}', 'bob by "b@x" {"buyers":true}']);
});

test("an address that comes with another user gets that user's value, unless it had the same", async () => {
  const app = startFailing();
  await app.audiences.create(live);
  await createTrait(app, "Plan count", { aggregate: "count", event: "Bought" });
  const traits = (userId: string) => identified({ email: `${userId}@x` })(userId);
  await app.send(["old", "same", "new", "none"], traits);
  await app.send(["old", "old", "same", "new"]);
  app.sent();
  await app.send(["new"], aliased("none"));
  const byAddress = reached(app.sent());
  expect(byAddress).toEqual([
    'new by "none@x" {"buyers":true}',
    'new by "none@x" {"plan_count":1}',
  ]);
  await app.send(["new"], aliased("same"));
  const joined = app.sent();
  // The count changes with the join, so all addresses get it; the membership stays.
  expect(reached(joined)).toEqual([
    'same {"buyers":false}',
    'same {"plan_count":null}',
    'new {"plan_count":2}',
    'new by "new@x" {"plan_count":2}',
    'new by "none@x" {"plan_count":2}',
    'new by "same@x" {"plan_count":2}',
  ]);
});

test("an address that comes with an anonymous profile gets the user's values at once, also those of fixed lists", async () => {
  const app = startFailing();
  await app.audiences.create(live);
  await app.audiences.create({ name: "Staff", members: ["ada", "bob"] });
  await app.send(["ada"]);
  app.sent();
  const known = (anonymousId: string, traits: object) => (userId: string) => ({
    ...{ type: "identify" as const, userId, anonymousId },
    text: JSON.stringify({ type: "identify", userId, anonymousId, traits }),
  });
  const anonymous = (anonymousId: string) => ({
    ...{ type: "identify" as const, userId: null, anonymousId },
    text: JSON.stringify({
      ...{ type: "identify", anonymousId },
      traits: { email: `${anonymousId}@x` },
    }),
  });
  await app.send(["a1", "b1"], anonymous);
  expect(app.sent()).toEqual([]);
  await app.send(["ada"], known("a1", {}));
  const sent = app.sent();
  expect(reached(sent)).toEqual(['ada by "a1@x" {"buyers":true}', 'ada by "a1@x" {"staff":true}']);
  expect(sent[0]?.cause).toMatchObject({
    reason: "new_identifier",
    sentence: "ada is in Buyers, and the user has a new email address, a1@x.",
  });
  // The list names a user who has no profile yet; this becomes theirs.
  await app.send(["bob"], known("b1", {}));
  expect(reached(app.sent())).toEqual(['bob by "b1@x" {"staff":true}']);
  // The value changes with the profile, so all addresses get it.
  await app.send(["c1"], anonymous);
  await app.send(["c1"], (anonymousId) => ({
    ...bought("cyd"),
    ...{ anonymousId, userId: "cyd" },
  }));
  expect(reached(app.sent())).toEqual(['cyd {"buyers":true}', 'cyd by "c1@x" {"buyers":true}']);
});

test("what a first sync of a later destination has not reached is left to it, and the rest is not", async () => {
  const app = startFailing();
  const users = Array.from({ length: 120 }, (_, nth) => `u${String(nth).padStart(3, "0")}`);
  const { id } = (await app.audiences.create({
    ...live,
    rule: { ...rule, where: [{ property: "total", op: "greater", value: 5 }] },
  })) as { id: AudienceId };
  await app.send(users, boughtWith({ total: 9 }));
  const late = connect(app, "Late");
  const connected = app.audiences.update(id, { destinationIds: [late] });
  while ((app.audiences.list()[0]?.firstSyncs[0]?.sent ?? 0) === 0) await nextTurn();
  app.audiences.cancelSync(id);
  await connected;
  app.sent();
  // The last one that it reached, and the first that it did not.
  await app.audiences.update(id, { rule: { event: "Never" } });
  const left = app.sent().map(({ message, leftOut }) => [message.userId, leftOut]);
  expect(left.map(([userId]) => userId)).toEqual(users.slice(0, 50));
  const { firstSyncs } = app.audiences.list()[0] ?? {};
  expect(firstSyncs).toMatchObject([{ destinationId: late, after: "u049", cancelled: true }]);
  connect(app, "Other");
  await app.audiences.update(id, {
    destinationIds: app.configuration.destinations().map(({ id: of }) => of),
  });
  await app.activity.whenQuiet();
  app.sent();
  await app.audiences.update(id, { rule });
  await app.activity.whenQuiet();
  const pending = app
    .sent()
    .flatMap(({ message, leftOut }) =>
      leftOut?.has(late) === true ? [[message.userId, leftOut.get(late)]] : [],
    );
  expect(pending.map(([userId]) => userId)).toEqual(users.slice(50));
  expect(pending[0]?.[1]).toEqual({
    reason: "first_sync_pending",
    detail:
      "The first sync of Buyers with Late was cancelled before it reached this user. The next manual sync sends the value that the user has then.",
  });
});

test("a slice in which nothing changes commits no request", async () => {
  const app = startFailing();
  const requests = (): unknown => app.db.prepare("SELECT count(*) FROM requests").pluck().get();
  const { id } = (await app.audiences.create({ name: "List", members: ["ada", "bob"] })) as {
    id: AudienceId;
  };
  const before = requests();
  await app.audiences.sync(id);
  expect(requests()).toBe(before);
});

test("a value keeps the time since when it is as it is, and moves only its recheck", async () => {
  const app = startFailing();
  await app.audiences.create({ ...live, rule: { ...rule, withinDays: 2 } });
  const [{ sourceId } = { sourceId: 0 as never }] = app.audiences.list();
  const start = app.clock.now();
  await app.send(["ada"]);
  const value = { sourceId, userId: "ada", value: true };
  expect(app.store.lastSent(sourceId, "ada")).toEqual({
    ...{ ...value, since: start },
    recheckAt: start + 2 * day,
  });
  app.clock.advanceBy(day);
  await app.send(["ada"]);
  expect(app.store.lastSent(sourceId, "ada")).toEqual({
    ...{ ...value, since: start },
    recheckAt: start + 3 * day,
  });
  expect(app.sent()).toHaveLength(1);
  app.clock.advanceBy(2 * day);
  await app.activity.whenQuiet();
  expect(app.store.lastSent(sourceId, "ada")).toEqual({
    ...{ ...value, value: null, since: start + 3 * day },
    recheckAt: null,
  });
});

test("who is outside and will be inside by time alone has a recheck and no value", async () => {
  const app = startFailing();
  await app.audiences.create({ ...live, rule: { not: { ...rule, withinDays: 1 } } });
  const [{ sourceId } = { sourceId: 0 as never }] = app.audiences.list();
  const start = app.clock.now();
  await app.send(["ada"]);
  expect(app.store.lastSent(sourceId, "ada")).toEqual({
    ...{ sourceId, userId: "ada", value: null },
    ...{ since: 0, recheckAt: start + day },
  });
  expect(app.sent()).toEqual([]);
  app.clock.advanceBy(day);
  await app.activity.whenQuiet();
  expect(reached(app.sent())).toEqual(['ada {"buyers":true}']);
});
