/** What the demo shop is made of, when it sends, and what it sends then. */

import { expect, test } from "vitest";
import { sourceIds, type DestinationId, type SourceId } from "../../domain/ids.ts";
import { problem, type Problem } from "../../domain/problem.ts";
import { request } from "../../store/store.fixture.ts";
import { startFailing } from "../audiences/computations.fixture.ts";
import type { AdvanceProgress } from "../clock/clock.ts";
import type { EndpointDraft, EndpointView, Endpoints } from "../endpoint-pipeline.ts";
import type { Clients } from "../pipeline.ts";
import type { Deletions } from "../profile-pipeline.ts";
import { nextTurn } from "../real-time.ts";
import { visitorOf } from "./shop.ts";
import { createWorkspaces } from "./workspaces.ts";

type Sent = { writeKey: string; call: string; batch: { timestamp: string }[] };

function startWorkspaces() {
  const app = startFailing();
  const state = { speed: 1, advance: null as AdvanceProgress | null };
  const sent: Sent[] = [];
  const answers: ({ status: number; body: string } | Problem)[] = [];
  const deleted: unknown[] = [];
  const noted: string[] = [];
  const phones: { id: number; name: string; state: string; generating: object | null }[] = [];
  const created: unknown[] = [];
  const generated: unknown[] = [];
  const refusals = new Map<string, Problem>();
  const made: EndpointView[] = [];
  const background: unknown[] = [];
  const pending = { deletion: null as Promise<void> | null };
  const timers = new Set<{ at: number }>();
  /** As far as the workspaces use them. */
  const endpoints = {
    list: () => made,
    create(draft: EndpointDraft) {
      const refused = refusals.get(draft.name);
      if (refused !== undefined) return refused;
      made.push({
        ...draft,
        id: made.length + 1,
        url: `http://127.0.0.1:9/${draft.path}`,
      } as never);
      return made.at(-1);
    },
  } as Pick<Endpoints, "list" | "create"> as Endpoints;
  const clients = {
    list: () => phones,
    create(draft: { name: string }) {
      const refused = refusals.get(draft.name);
      if (refused !== undefined) return refused;
      created.push(draft);
      phones.push({ id: 7, name: draft.name, state: "running", generating: null });
      return phones.at(-1);
    },
    generate: (...call: unknown[]) => void generated.push(call),
  } as unknown as Clients;
  const deletions = {
    list: () => ({ total: deleted.length }),
    create(...call: unknown[]) {
      const refused = refusals.get("deletion");
      deleted.push(call);
      return (pending.deletion ?? Promise.resolve()).then(() => refused ?? { id: 1 });
    },
  } as unknown as Deletions;
  const workspaces = createWorkspaces({
    ...app,
    endpoints,
    clients,
    deletions,
    clock: {
      ...app.clock,
      schedule(at, run, options) {
        background.push(options?.background);
        const waiting = { at };
        timers.add(waiting);
        const timer = app.clock.schedule(at, () => {
          timers.delete(waiting);
          run();
        });
        return { cancel: () => (timers.delete(waiting), timer.cancel()) };
      },
      state: () => ({
        ...state,
        now: app.clock.now(),
        mode: "paused",
        nextDueAt: null,
      }),
    },
    changes: { ...app.changes, note: (area, id) => void noted.push(`${area} ${id}`) },
    seed: () => 5,
    ingestClient: {
      async send(writeKey, call, body) {
        const { batch } = JSON.parse(body) as Pick<Sent, "batch">;
        sent.push({ writeKey, call, batch });
        await Promise.resolve();
        return answers.shift() ?? { status: 200, body: "" };
      },
    },
    report: (error) => void app.reported.push(error),
  });
  const count = (): number => sent.reduce((sum, { batch }) => sum + batch.length, 0);
  return {
    ...app,
    ...{ workspaces, state, sent, answers, deleted, noted, phones, generated, refusals, made },
    ...{ created, background, pending },
    count,
    /** Which of its messages the shop sends next. */
    next: () => app.store.demo()?.next,
    /** When it sends next, in milliseconds from now. */
    due: () => [...timers].map(({ at }) => at - app.clock.now()),
    /** Lets so much time pass, and what is sent then arrive. */
    async pass(ms: number): Promise<void> {
      app.clock.advanceBy(ms);
      await app.activity.whenQuiet({ includeHeld: true });
    },
  };
}

type Shop = ReturnType<typeof startWorkspaces>;

/** Open, and with an empty record of what was sent. */
async function openShop(): Promise<Shop> {
  const shop = startWorkspaces();
  await shop.workspaces.demo();
  shop.sent.splice(0);
  shop.deleted.splice(0);
  shop.noted.splice(0);
  return shop;
}

const advanceTo = (to: AdvanceProgress["to"]): AdvanceProgress => ({
  ...{ from: 0, now: 0, attempts: 0 },
  to,
});
const second = 1000;
const hour = 3600 * second;

test("the shop is made of sources, receivers and destinations with secrets of their own, and is opened once", async () => {
  const shop = startWorkspaces();
  const { configuration, workspaces } = shop;
  expect(workspaces.isDemoOpen()).toBe(false);
  const opened = await workspaces.demo();
  expect(workspaces.isDemoOpen()).toBe(true);
  const sources = configuration.sources().filter(({ kind }) => kind !== "audience");
  expect(sources.map(({ name, kind }) => [name, kind])).toEqual([
    ["Shop", "server"],
    ["Shop web", "web"],
    ["Shop server", "server"],
    ["Shop app", "mobile"],
  ]);
  const [, web, server, app] = sources;
  for (const { writeKey } of sources.slice(1)) expect(writeKey).toMatch(/^wk_[0-9a-f]{16}$/);
  const destinations = configuration.destinations();
  expect(
    destinations.map(({ name, retryProfile, webhooks, sourceIds: from }) => [
      name,
      retryProfile,
      webhooks.map(({ url }) => url.split("/").at(-1)),
      from.filter((id) => sources.some((source) => source.id === id)),
    ]),
  ).toEqual([
    ["CRM sync", "documented", ["always-200"], [web?.id, server?.id, app?.id]],
    ["Billing", "documented", ["flaky-billing"], [web?.id, server?.id]],
    ["Warehouse", "documented", ["warehouse"], [server?.id]],
    ["Loyalty points", "one-try", ["loyalty"], [app?.id]],
  ]);
  for (const { sharedSecret } of destinations) expect(sharedSecret).toMatch(/^[0-9a-f]{24}$/);
  expect(new Set(destinations.map(({ sharedSecret }) => sharedSecret)).size).toBe(4);
  expect(configuration.retryProfiles().at(-1)).toMatchObject({ name: "one-try", windowMs: 5000 });
  expect(opened).toEqual({
    sourceId: web?.id,
    destinationId: destinations[1]?.id,
    endpointId: shop.made[1]?.id,
  });
  expect([shop.count(), shop.next(), shop.sent.length]).toEqual([240, 240, 3]);
  expect(shop.sent.map(({ call, writeKey }) => [call, writeKey])).toEqual(
    [web, server, app].map((source) => ["batch", source?.writeKey]),
  );
  const crm = [destinations[0]?.id];
  expect(shop.audiences.list()).toMatchObject([{ name: "Big spenders", destinationIds: crm }]);
  expect(shop.computedTraits.list()).toMatchObject([{ destinationIds: crm }]);
  expect([shop.deleted, shop.noted]).toEqual([[[["hania"], false]], ["settings null"]]);
  expect(shop.created).toEqual([
    { name: "Yard Coffee on a phone", flushAt: 5, flushAfter: 10_000, sourceId: app?.id },
  ]);

  const before = configuration.destinations();
  expect(await workspaces.demo()).toEqual(opened);
  expect([shop.count(), shop.created.length, shop.deleted.length, shop.noted.length]).toEqual([
    240, 1, 1, 1,
  ]);
  expect([configuration.destinations(), shop.made.length, shop.due()]).toEqual([before, 4, [2000]]);
  // Others of the same names change nothing.
  configuration.createSource({ name: "Shop web" });
  configuration.createDestination({
    ...{ name: "Billing", sourceIds: [], webhooks: [{ url: "http://127.0.0.1/", headers: {} }] },
  });
  expect(await workspaces.demo()).toEqual(opened);
});

test("each step of the receivers is one that a page or a delivery needs", async () => {
  const { made } = await openShop();
  const summary = made.map(({ path, after, steps }) => [
    path,
    after,
    steps.map(({ do: what, status, times, chance }) =>
      [what, status, times, chance].filter((each) => each !== undefined).join(" "),
    ),
  ]);
  expect(summary).toEqual([
    ["always-200", "repeat-last", ["answer 200"]],
    [
      "flaky-billing",
      "start-over",
      ["answer 503 3", "reset", "answer 200 20", "hang", "answer 200 15"],
    ],
    ["warehouse", "repeat-last", ["answer 400 1", "answer 503 1", "answer 200"]],
    ["loyalty", "repeat-last", ["answer 503 1", "answer 200"]],
  ]);
});

test("the first workspace is a source, an endpoint that answers, and a destination, once", () => {
  const { workspaces, configuration, made } = startWorkspaces();
  const opened = workspaces.first();
  expect(workspaces.first()).toEqual(opened);
  const [destination, ...others] = configuration.destinations();
  expect([destination?.name, others]).toEqual(["First destination", []]);
  expect(made).toMatchObject([
    { name: "First", path: "first", steps: [{ do: "answer", status: 200 }], after: "repeat-last" },
  ]);
  expect(opened).toMatchObject({ destinationId: destination?.id, sourceId: expect.any(Number) });
});

test("a source that was deleted is created and connected again, and the destination keeps its others", () => {
  const { workspaces, configuration, made } = startWorkspaces();
  const idsOf = (opened: object) => opened as { sourceId: SourceId; destinationId: DestinationId };
  const { sourceId, destinationId } = idsOf(workspaces.first());
  const other = configuration.createSource({ name: "Other" }) as { id: SourceId };
  configuration.updateDestination(destinationId, { sourceIds: [sourceId, other.id] });
  configuration.deleteSource(sourceId);
  const again = idsOf(workspaces.first());
  const [connected] = configuration.destinationsOf(again.sourceId);
  expect(connected).toMatchObject({ id: destinationId, sourceIds: [other.id, again.sourceId] });
  // Through a fault in front of the endpoint too.
  const url = "http://127.0.0.1:9/fault";
  made.push({ url, inFrontOf: { url: made[0]?.url } } as never);
  configuration.updateDestination(destinationId, { webhooks: [{ url, headers: {} }] });
  configuration.deleteSource(again.sourceId);
  const third = idsOf(workspaces.first());
  expect(configuration.destinationsOf(third.sourceId)).toMatchObject([{ id: destinationId }]);
});

test("the demo connects nothing to a destination of the user that has the name of one of its own", async () => {
  const { workspaces, configuration } = startWorkspaces();
  const billing = configuration.createDestination({
    ...{ name: "Billing", sourceIds: [] },
    webhooks: [{ url: "http://127.0.0.1:9/mine", headers: {} }],
  });
  await workspaces.demo();
  expect(configuration.destinations()[0]).toEqual(billing);
});

const no = problem(409, "list_full", "no room");

test.for(["Always 200", "Flaky billing", "Warehouse", "Loyalty", "Yard Coffee on a phone"])(
  "a refusal of %s is answered, and the shop is not open",
  async (name) => {
    const shop = startWorkspaces();
    shop.refusals.set(name, no);
    expect(await shop.workspaces.demo()).toBe(no);
    expect([shop.workspaces.isDemoOpen(), shop.due(), shop.noted]).toEqual([false, [], []]);
    shop.refusals.clear();
    expect(await shop.workspaces.demo()).not.toBe(no);
    expect([shop.workspaces.isDemoOpen(), shop.due()]).toEqual([true, [2000]]);
  },
);

test("a refused deletion, audience, source, destination or retry profile is answered", async () => {
  const refused = startWorkspaces();
  refused.refusals.set("deletion", no);
  expect(await refused.workspaces.demo()).toBe(no);
  const taken = startWorkspaces();
  await taken.computedTraits.create({
    name: "Mine",
    key: "big_spenders",
    computation: { aggregate: "count", event: "Bought", where: [] },
  });
  expect(await taken.workspaces.demo()).toMatchObject({ code: "key_taken" });
  const other = startWorkspaces();
  await other.audiences.create({ name: "Mine", key: "spent_in_30_days", members: [] });
  expect(await other.workspaces.demo()).toMatchObject({ code: "key_taken" });
  for (const part of [
    "createSource",
    "createDestination",
    "createRetryProfile",
  ] satisfies (keyof Shop["configuration"])[]) {
    const shop = startWorkspaces();
    Object.assign(shop.configuration, { [part]: () => no });
    expect(await shop.workspaces.demo(), part).toBe(no);
    expect(shop.made.length, part).toBe(part === "createRetryProfile" ? 0 : 4);
  }
});

test("what the port answers with 400 or more is a problem, and sent when the shop is opened again", async () => {
  const shop = startWorkspaces();
  const { workspaces, sent, answers, configuration } = shop;
  const body = JSON.stringify({ code: "fault", message: "Not now." });
  answers.push({ status: 399, body: "" }, { status: 400, body });
  expect(await workspaces.demo()).toEqual(problem(400, "fault", "Not now."));
  expect([sent.length, shop.next(), shop.audiences.list()]).toEqual([2, undefined, []]);
  answers.push(no);
  expect(await workspaces.demo()).toBe(no);
  // The first source has messages by now, and one is enough.
  const web = configuration.sources().find(({ name }) => name === "Shop web");
  shop.store.commit([request([{}], { sourceId: web?.id ?? 0 })]);
  sent.splice(0);
  await workspaces.demo();
  expect(sent.map(({ writeKey }) => writeKey)).not.toContain(web?.writeKey);
  expect([sent.length, shop.next()]).toEqual([2, 240]);
});

test("two that open the shop at once get one opening, and a later one a new look", async () => {
  const shop = startWorkspaces();
  const both = [shop.workspaces.demo(), shop.workspaces.demo()];
  expect(both[0]).toBe(both[1]);
  await Promise.all(both);
  expect(shop.workspaces.demo()).not.toBe(both[0]);
});

test.for([
  [1, 2],
  [10, 2],
  [11, 2.2],
  [100, 20],
  [1, 2],
] as const)(
  "at %d times the speed the shop sends every %d seconds of the clock",
  async ([speed, seconds]) => {
    const shop = await openShop();
    await shop.pass(second);
    shop.state.speed = speed;
    shop.workspaces.followClock();
    expect(shop.due()).toEqual([seconds * second]);
    await shop.pass(seconds * second - 1);
    expect(shop.count()).toBe(0);
    await shop.pass(1);
    expect([shop.count(), shop.next(), shop.due()]).toEqual([1, 241, [seconds * second]]);
    expect(shop.sent[0]?.batch[0]?.timestamp).toBe(new Date(shop.clock.now()).toISOString());
    expect(shop.background).not.toContain(false);
  },
);

test("in an advance the shop sends all its stories every two and a half hours, two seconds apart, and goes on two seconds after its end", async () => {
  const shop = await openShop();
  const end = shop.clock.now() + 4 * hour;
  shop.state.advance = advanceTo(end);
  shop.workspaces.followClock();
  // The one before the advance stays.
  expect(shop.due()).toEqual([2 * second]);
  await shop.pass(2 * second);
  expect([shop.count(), shop.next(), shop.due()]).toEqual([20, 260, [2.5 * hour]]);
  const times = shop.sent
    .flatMap(({ batch }) => batch.map(({ timestamp }) => Date.parse(timestamp)))
    .toSorted((one, other) => one - other);
  expect(times).toEqual(
    Array.from({ length: 20 }, (_, nth) => shop.clock.now() - (19 - nth) * 2 * second),
  );
  await shop.pass(2.5 * hour);
  expect([shop.count(), shop.next(), shop.due()]).toEqual([40, 280, [1.5 * hour]]);
  shop.state.advance = null;
  shop.workspaces.followClock();
  expect(shop.due()).toEqual([2 * second]);
});

test.for(["idle", "next-due"] as const)(
  "in an advance to %s the shop sends nothing, and looks again after two and a half hours",
  async (to) => {
    const shop = await openShop();
    shop.state.advance = advanceTo(to);
    await shop.pass(2 * second);
    expect([shop.count(), shop.next(), shop.due()]).toEqual([0, 240, [2.5 * hour]]);
    expect(shop.generated).toEqual([]);
  },
);

test("the phone is used with each message, unless it is in use, stopped or gone", async () => {
  const shop = await openShop();
  const use = [7, 5, 0.5];
  await shop.pass(2 * second);
  expect(shop.generated).toEqual([use]);
  const [phone] = shop.phones;
  if (phone === undefined) throw new Error("the shop has no phone");
  for (const change of [{ generating: {} }, { generating: null, state: "closed" }]) {
    Object.assign(phone, change);
    await shop.pass(2 * second);
  }
  shop.phones.splice(0, 1, { ...phone, name: "Another", state: "running" });
  await shop.pass(2 * second);
  shop.phones.splice(0);
  await shop.pass(2 * second);
  expect([shop.generated, shop.next()]).toEqual([[use], 245]);
});

test.for([
  [998, null, 0],
  [999, null, 1],
  [1000, null, 0],
  [979, null, 0],
  [1999, null, 1],
  [980, Infinity, 1],
  [979, Infinity, 0],
  [985, Infinity, 1],
  [1000, Infinity, 0],
] as const)(
  "the visitor of every fiftieth round asks for deletion when the round is over: from %d on, in an advance to %s, %d",
  async ([next, to, deletions]) => {
    const shop = await openShop();
    shop.store.saveDemo({ next });
    if (to !== null) shop.state.advance = advanceTo(shop.clock.now() + 10 * hour);
    await shop.pass(2 * second);
    const round = next >= 1999 ? 99 : 49;
    expect(shop.deleted).toEqual(deletions === 0 ? [] : [[[visitorOf(5, round).id], false]]);
  },
);

test("the deletion of a visitor is work until it is stored", async () => {
  const shop = await openShop();
  shop.store.saveDemo({ next: 999 });
  let store = (): void => {};
  shop.pending.deletion = new Promise((resolve) => (store = () => resolve(undefined)));
  shop.clock.advanceBy(2 * second);
  while (shop.deleted.length === 0) await nextTurn();
  await nextTurn();
  expect(shop.activity.isQuiet(true)).toBe(false);
  store();
  await shop.activity.whenQuiet();
});

test("a closed shop waits for nothing, and neither does one that was stopped", async () => {
  const closed = await openShop();
  closed.workspaces.closeDemo();
  expect([closed.due(), closed.next(), closed.noted]).toEqual([[], undefined, ["settings null"]]);
  closed.workspaces.start();
  closed.workspaces.followClock();
  expect(closed.due()).toEqual([]);
  const stopped = await openShop();
  stopped.workspaces.stop();
  stopped.workspaces.stop();
  stopped.workspaces.followClock();
  expect([stopped.due(), stopped.next()]).toEqual([[], 240]);
  stopped.workspaces.start();
  stopped.clock.advanceBy(500);
  stopped.workspaces.start();
  expect(stopped.due()).toEqual([1.5 * second]);
});

test("a shop whose sources are gone closes, and one that was closed elsewhere ends", async () => {
  const emptied = await openShop();
  const shops = (): SourceId[] =>
    emptied.configuration
      .sources()
      .flatMap(({ id, name }) => (name.startsWith("Shop ") ? [id] : []));
  for (const id of shops().slice(1)) emptied.configuration.deleteSource(id);
  await emptied.pass(2 * second);
  expect([emptied.next(), emptied.due()]).toEqual([241, [2 * second]]);
  for (const id of shops()) emptied.configuration.deleteSource(id);
  await emptied.pass(2 * second);
  expect([emptied.next(), emptied.due()]).toEqual([undefined, []]);
  const reset = await openShop();
  reset.store.saveDemo(null);
  await reset.pass(2 * second);
  expect([reset.count(), reset.next(), reset.due()]).toEqual([0, undefined, []]);
  reset.store.saveDemo({ next: 240 });
  reset.workspaces.start();
  expect(reset.due()).toEqual([2 * second]);
  expect(shops().map(sourceIds.format)).toEqual([]);
});

test("what fails while the shop sends is reported, and no work stays under way", async () => {
  const shop = await openShop();
  const broken = new Error("no port");
  Object.assign(shop.answers, { shift: () => Promise.reject(broken) });
  await shop.pass(2 * second);
  expect([shop.reported, shop.activity.isQuiet(true)]).toEqual([[broken], true]);
  expect(shop.due()).toEqual([2 * second]);
});

test("a shop whose progress cannot be stored tries again with its next message", async () => {
  const shop = await openShop();
  const { saveDemo } = shop.store;
  shop.store.saveDemo = () => {
    throw new Error("no room");
  };
  expect(() => shop.clock.advanceBy(2 * second)).toThrow("no room");
  expect([shop.count(), shop.due()]).toEqual([0, [2 * second]]);
  shop.store.saveDemo = saveDemo;
  await shop.pass(2 * second);
  expect([shop.count(), shop.next()]).toEqual([1, 241]);
});
