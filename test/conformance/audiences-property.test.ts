/**
 * Whoever does whatever, whenever: what a receiver heard of an audience adds up to its members,
 * nobody was told the same twice in a row, and everybody in Hookyard who is asked about a member
 * says the same. So it is with computed traits.
 */

import fc from "fast-check";
import { expect, test as base } from "vitest";
import {
  computation as writableComputation,
  rule as writableRule,
} from "../../src/contract/rules.ts";
import type { JsonObject } from "../../src/domain/json.ts";
import {
  computations,
  drafts,
  now as startOfDrafts,
  rules,
  type DraftFacts,
} from "../../src/domain/rules.fixture.ts";
import type { Computation, Rule, Sync } from "../../src/domain/rules.ts";
import { formatTimestamp } from "../../src/domain/timestamp.ts";
import { People, type SentMessage } from "../support/people.ts";
import { starting, type RunningApp, type Start } from "../support/running-app.ts";
import type { WebhookReceiver } from "../support/webhook-receiver.ts";

const test = base.extend("start", starting);

const hourMs = 3_600_000;
const periodMs = 30 * hourMs;

type Who = { userId?: string; anonymousId?: string };
type Step =
  | { do: "send"; who: Who; facts: DraftFacts }
  | { do: "alias"; userId: string; previousId: string }
  | { do: "advance"; hours: number }
  | { do: "delete"; userId: string; suppress: boolean }
  | { do: "sync" }
  | { do: "change"; place: number; rule: Rule };

const userId = fc.constantFrom("ada", "bob", "cyd");
const anonymousId = fc.constantFrom("phone", "desk");
const who: fc.Arbitrary<Who> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ userId }) },
  { weight: 2, arbitrary: fc.record({ anonymousId }) },
  { weight: 1, arbitrary: fc.record({ userId, anonymousId }) },
);
const buyers: fc.Arbitrary<Rule> = fc.record({
  event: fc.constant("Bought"),
  atLeast: fc.integer({ min: 1, max: 3 }),
  withinDays: fc.constantFrom(1, 3, 7),
});
const rule = fc.oneof(
  buyers,
  buyers.map((not) => ({ not })),
  rules.filter((one) => writableRule.safeParse(one).success),
);
const computation = computations.filter((one) => writableComputation.safeParse(one).success);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("send" as const), who, facts: drafts }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("alias" as const),
      userId,
      previousId: fc.oneof(userId, anonymousId, fc.constant("new")),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("advance" as const),
      hours: fc.constantFrom(1, 12, 24, 71, 100, 200),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("delete" as const),
      userId,
      suppress: fc.constantFrom(false, false, true),
    }),
  },
  { weight: 4, arbitrary: fc.constant<Step>({ do: "sync" }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("change" as const), place: fc.nat({ max: 2 }), rule }),
  },
);
const runs = fc.record({
  before: fc.array(step, { minLength: 1, maxLength: 5, size: "max" }),
  rules: fc.record({ live: rule, manual: rule, periodic: rule }),
  computations: fc.record({ live: computation, manual: computation }),
  steps: fc.array(step, { minLength: 3, maxLength: 12, size: "max" }),
});
type Run = typeof runs extends fc.Arbitrary<infer Value> ? Value : never;

/**
 * An audience or a computed trait of the app, and what its receivers should have been told by now.
 */
type Told = {
  id: string;
  key: string;
  sourceId: string;
  asks: { rule: Rule } | { computation: Computation };
  values: JsonObject;
  /**
   * How often a user was told something before being deleted: that is forgotten, and nobody says
   * so.
   */
  forgotten: Map<string, number>;
};

async function play({ before, rules, computations, steps }: Run, start: Start): Promise<void> {
  const app = await start.app({ clock: "paused" });
  const webhook = await start.receiver();
  const destination = await app.destination([webhook.url]);
  const people = new People();
  const now = async (): Promise<number> => Date.parse((await app.call("clock.get", {})).now);

  const send = async (messages: SentMessage[]): Promise<void> => {
    if (messages.length > 0) await app.ingest("/v1/batch", { batch: messages });
    for (const message of messages) people.send(message);
  };
  const create = async (name: string, sync: Sync, asks: Told["asks"]): Promise<Told> => {
    const draft = { name, sync, destinationIds: [destination.id] };
    const { id, key, sourceId } =
      "rule" in asks
        ? await app.call("audiences.create", { ...draft, ...asks })
        : await app.call("computedTraits.create", { ...draft, ...asks });
    return {
      id,
      key,
      sourceId,
      asks,
      values: valuesOf(people, asks, await now()),
      forgotten: new Map(),
    };
  };
  const take = async (step: Step): Promise<void> => {
    if (step.do === "send") await send(messagesOf(step.who, step.facts, await now()));
    if (step.do === "alias")
      await send([
        {
          type: "alias",
          userId: step.userId,
          previousId: step.previousId,
          timestamp: formatTimestamp(await now()),
        },
      ]);
    if (step.do === "advance") await app.advance({ byMs: step.hours * hourMs });
  };

  const forget = async (userId: string, suppress: boolean): Promise<void> => {
    await app.call("deletions.create", { userIds: [userId], suppress });
    const gone = people.delete(userId, suppress);
    for (const one of all) {
      const heard = await heardOf(app, webhook, { ...one, forgotten: new Map() });
      for (const user of gone) one.forgotten.set(user, heard.get(user)?.length ?? 0);
      one.values = Object.fromEntries(
        Object.entries(one.values).filter(([user]) => !gone.includes(user)),
      );
    }
  };

  for (const step of before) await take(step);
  const live = await create("Live Ones", "each-event", { rule: rules.live });
  const manual = await create("By Hand", "manual", { rule: rules.manual });
  const periodic = await create("Every 30 Hours", { everyMs: periodMs }, { rule: rules.periodic });
  const liveTrait = await create("Live Value", "each-event", { computation: computations.live });
  const manualTrait = await create("Value by Hand", "manual", { computation: computations.manual });
  const createdAt = await now();
  const all = [live, manual, periodic, liveTrait, manualTrait];
  await agree(app, webhook, people, all);

  for (const step of steps) {
    if (step.do === "delete") await forget(step.userId, step.suppress);
    const periods = Math.floor(((await now()) - createdAt) / periodMs);
    await take(step);
    if (step.do === "sync") {
      await app.call("audiences.sync", { id: manual.id });
      await app.call("computedTraits.sync", { id: manualTrait.id });
      for (const one of [manual, manualTrait]) one.values = valuesOf(people, one.asks, await now());
    }
    if (step.do === "change") {
      const one = [live, manual, periodic][step.place] ?? live;
      await app.call("audiences.update", { id: one.id, rule: step.rule });
      one.asks = { rule: step.rule };
    }
    for (const one of [live, liveTrait]) one.values = valuesOf(people, one.asks, await now());
    const period = Math.floor(((await now()) - createdAt) / periodMs);
    if (period > periods)
      periodic.values = valuesOf(people, periodic.asks, createdAt + period * periodMs);
    await agree(app, webhook, people, all);
  }
  await Promise.all([app.stop(), webhook.stop()]);
}

function valuesOf(people: People, asks: Told["asks"], now: number): JsonObject {
  if ("computation" in asks) return people.values(asks.computation, now);
  return Object.fromEntries(people.members(asks.rule, now).map((userId) => [userId, true]));
}

function messagesOf(who: Who, { traits, events }: DraftFacts, now: number): SentMessage[] {
  const at = (time: number): string => formatTimestamp(now + time - startOfDrafts);
  const identifies = [...traits].map(([name, { value, at: time }]): SentMessage => ({
    type: "identify",
    ...who,
    traits: Object.fromEntries([[name, value]]),
    timestamp: at(time),
  }));
  const tracks = events.map(({ event, at: time, properties }): SentMessage => ({
    type: "track",
    ...who,
    event,
    properties,
    timestamp: at(time),
  }));
  return [...identifies, ...tracks];
}

async function agree(
  app: RunningApp,
  webhook: WebhookReceiver,
  people: People,
  all: readonly Told[],
): Promise<void> {
  await app.settle();
  const now = Date.parse((await app.call("clock.get", {})).now);
  const profiles = people.userIds().length;
  for (const told of all) {
    const { id, key, asks } = told;
    const nothing = "rule" in asks ? false : null;
    const heard = await heardOf(app, webhook, told);
    for (const [userId, values] of heard) {
      for (const [place, value] of values.entries())
        expect([userId, value]).not.toEqual([userId, place === 0 ? nothing : values[place - 1]]);
    }
    const last = [...heard].map(([userId, values]) => [userId, values.at(-1)] as const);
    expect(Object.fromEntries(last.filter(([, value]) => value !== nothing)), key).toEqual(
      told.values,
    );

    const users = Object.keys(told.values).length;
    const values = valuesOf(people, asks, now);
    const count = Object.keys(values).length;
    if ("computation" in asks) {
      expect(await app.call("computedTraits.get", { id })).toMatchObject({ users, syncing: null });
      const preview = await app.call("computedTraits.preview", asks);
      expect(preview).toMatchObject({ count, profiles });
      expect(
        Object.fromEntries(preview.sample.map(({ userId, value }) => [userId, value])),
      ).toEqual(values);
      continue;
    }
    expect(await app.call("audiences.get", { id })).toMatchObject({ size: users, syncing: null });
    expect(await app.call("audiences.preview", asks)).toMatchObject({ count, profiles });
    for (const userId of people.userIds()) {
      const { matches, explained } = await app.call("audiences.explain", { ...asks, userId });
      expect({ userId, matches, holds: explained.holds }).toMatchObject({
        matches: values[userId] === true,
        holds: matches,
      });
    }
  }
}

/** What the webhook was told of each user, in the order in which it was accepted. */
async function heardOf(
  app: RunningApp,
  webhook: WebhookReceiver,
  { key, sourceId, forgotten }: Told,
): Promise<Map<string, unknown[]>> {
  type Payload = { messageId: string; traits?: Record<string, unknown> };
  const payloads = webhook.requests
    .map(({ body }) => JSON.parse(body) as Payload)
    .filter(({ traits }) => Object.hasOwn(traits ?? {}, key));
  const values = new Map(payloads.map(({ messageId, traits }) => [messageId, traits?.[key]]));
  const { items } = await app.call("messages.list", { sourceId, limit: 1000 });
  expect(payloads.map(({ messageId }) => messageId).toSorted()).toEqual(
    items.map(({ messageId }) => messageId).toSorted(),
  );
  const left = new Map(forgotten);
  const heard = new Map<string, unknown[]>();
  for (const { messageId, userId } of items.toReversed()) {
    const user = userId ?? "";
    const skipped = left.get(user) ?? 0;
    if (skipped > 0) left.set(user, skipped - 1);
    else heard.set(user, [...(heard.get(user) ?? []), values.get(messageId)]);
  }
  return heard;
}

const nobodyBought: Rule = { not: { event: "Bought", atLeast: 1, withinDays: 1 } };
const seen: Computation = { aggregate: "count", event: "Seen" };
const nothing: DraftFacts = { traits: new Map(), events: [] };

/** An alias that names a suppressed user is rejected, also when it is the previous one. */
const aliasOfSuppressed = (between: Step[]): Run => ({
  before: [{ do: "sync" }],
  rules: { live: nobodyBought, manual: nobodyBought, periodic: nobodyBought },
  computations: { live: seen, manual: seen },
  steps: [
    { do: "delete", userId: "cyd", suppress: true },
    ...between,
    { do: "alias", userId: "ada", previousId: "cyd" },
  ],
});
const examples: [Run][] = [
  [aliasOfSuppressed([])],
  [
    aliasOfSuppressed([
      { do: "send", who: { userId: "ada", anonymousId: "phone" }, facts: nothing },
    ]),
  ],
];

test("what a receiver heard of an audience adds up to its members", async ({ start }) => {
  await fc.assert(
    fc.asyncProperty(runs, (run) => play(run, start)),
    { numRuns: 30, examples },
  );
});

const buyer = { event: "Bought", atLeast: 2, withinDays: 7 };
const leaving = {
  rule: buyer,
  what: "who did it twice within 7 days leaves",
  before: [true],
  after: [true, false],
};
const entering = {
  rule: { not: buyer },
  what: "who must not have done it twice within 7 days comes in",
  before: [],
  after: [true],
};

for (const { rule, what, before, after } of [leaving, entering]) {
  test(`${what} by time alone`, async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const webhook = await start.receiver();
    await app.destination([webhook.url]);
    await app.send({ userId: "ada" });
    await app.send({ userId: "ada" });
    await app.settle();
    const { key, sourceId, id } = await app.call("audiences.create", {
      name: "Big Spenders",
      rule,
      sync: "each-event",
    });
    const told: Told = { id, key, sourceId, asks: { rule }, values: {}, forgotten: new Map() };
    const heard = async (): Promise<unknown[]> => {
      await app.settle();
      return (await heardOf(app, webhook, told)).get("ada") ?? [];
    };
    expect(await heard()).toEqual(before);
    const { total } = await app.call("messages.list", {});
    await app.advance({ byMs: 8 * 24 * hourMs });
    expect(await heard()).toEqual(after);
    expect((await app.call("messages.list", {})).total).toBe(total + 1);
    expect(await app.call("audiences.explain", { rule, userId: "ada" })).toMatchObject({
      matches: after.at(-1),
    });
  });
}
