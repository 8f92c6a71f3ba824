/** What a client may be, at every limit, and what becomes of one: on the clock, without its sockets. */

import { afterEach, expect, test, vi } from "vitest";
import { startBatchServer, stopServers } from "../../../test/support/batch-server.ts";
import { until } from "../../../test/support/running-app.ts";
import { unwrap } from "../../../test/support/running-endpoints.ts";
import { createSteppedClock } from "../../../test/support/stepped-clock.ts";
import type { SimulatedClient, Source } from "../../domain/configuration.ts";
import type { ClientId, SourceId } from "../../domain/ids.ts";
import { Activity, Holds } from "../clock/activity.ts";
import { createTrust } from "../deliver/dial.ts";
import type { ClientDraft } from "../pipeline.ts";
import { createClients } from "./clients.ts";

afterEach(async () => {
  vi.useRealTimers();
  await stopServers();
});

const shop = { id: 3 as SourceId, writeKey: "wk_shop" } as Source;
const ofAudience = { id: 5 as SourceId, name: "Big spenders", kind: "audience" } as Source;

function startClients({ stored = [] as SimulatedClient[], ingestUrl = "" } = {}) {
  const kept = new Map(stored.map((client) => [client.id, client]));
  const noted: (string | null)[] = [];
  const logged: string[] = [];
  const clock = createSteppedClock();
  let url = ingestUrl;
  const clients = createClients({
    store: {
      clients: () => [...kept.values()],
      insertClient(client) {
        const inserted = { ...client, id: (kept.size + 1) as ClientId };
        kept.set(inserted.id, inserted);
        return inserted;
      },
      updateClient: (client) => void kept.set(client.id, client),
      deleteClient: (id) => void kept.delete(id),
    },
    configuration: {
      source: (id) => [shop, ofAudience].find((one) => one.id === id),
      sourceByWriteKey: (key) => (key === shop.writeKey ? shop : undefined),
    },
    changes: {
      note: (_area, id) => void noted.push(id),
      ...{ noteMany: () => {}, noteGone: () => {} },
    },
    ...{ clock, activity: new Activity(), holds: new Holds(), trust: createTrust() },
    ...{ seed: () => 1, ingestUrl: () => url, log: (sentence) => logged.push(sentence) },
  });
  return {
    ...{ clients, clock, kept, noted, logged },
    create: (draft: Partial<ClientDraft> = {}) =>
      unwrap(clients.create({ name: "One", writeKey: "wk", ...draft })),
    listenAt(address: string): void {
      url = address;
      clients.start();
    },
  };
}

const full: Partial<ClientDraft> = {
  ...{ name: "Full", sourceId: shop.id, wire: "v1.2", strict: false, flushAt: 7, flushAfter: 8 },
  endpoint: "https://a.test/",
};
const text = (length: number): string => "x".repeat(length);
const url = (length: number): string => `http://a/${text(length - 9)}`;

test.for<[string, Partial<ClientDraft>, Partial<SimulatedClient>]>([
  ["the usual", {}, { wire: "v2.1", strict: true, flushAt: 20, flushAfter: 5000, endpoint: null }],
  ["version 3", { wire: "v3" }, { wire: "v3", strict: false, flushAt: 250, flushAfter: 5000 }],
  ["a strict version 3", { wire: "v3", strict: true, flushAt: 1 }, { strict: true, flushAt: 1 }],
  ["one call", { flushAt: 1, flushAfter: 1 }, { flushAt: 1, flushAfter: 1 }],
  ["many calls and a day", { flushAt: 10_000, flushAfter: 86_400_000 }, { flushAt: 10_000 }],
  ["a name of 2,000 characters", { name: text(2000) }, { name: text(2000) }],
  ["a key of 2,000 characters", { writeKey: text(2000) }, { writeKey: text(2000) }],
  ["an endpoint of 2,000 characters", { endpoint: url(2000) }, { endpoint: url(2000) }],
  ["no endpoint of its own", { endpoint: null }, { endpoint: null }],
])("a client may be %s", ([, draft, expected]) => {
  const { create, kept, clock } = startClients();
  const { id } = create(draft);
  expect(kept.get(id)).toMatchObject({ createdAt: clock.now(), ...expected });
});

test("a client of a source has its write key, and a new one what it does not name", () => {
  const { clients, create, kept } = startClients();
  const { id, sourceId } = create({ ...full, writeKey: undefined });
  const { sourceId: _, ...others } = full;
  expect([sourceId, kept.get(id)]).toMatchObject([3, { ...others, writeKey: "wk_shop" }]);
  const before = kept.get(id);
  expect(unwrap(clients.update(id, {}))).toMatchObject({ sourceId: 3 });
  expect(kept.get(id)).toEqual(before);
  for (const change of [
    ...[{ name: "Other" }, { wire: "v3" }, { strict: true }, { flushAt: 9 }, { flushAfter: 10 }],
    ...[{ endpoint: null }, { writeKey: "other" }],
  ] as Partial<ClientDraft>[]) {
    unwrap(clients.update(id, change));
    expect(kept.get(id)).toEqual({ ...before, ...change });
    unwrap(clients.update(id, { ...others, writeKey: "wk_shop" }));
  }
  expect(unwrap(clients.update(id, { writeKey: "other" })).sourceId).toBeNull();
});

test.for<[object, string]>([
  [{ name: " " }, "A client needs a name."],
  [{ name: undefined }, "A client needs a name."],
  [{ sourceId: 3, writeKey: "wk" }, "Pass either sourceId or writeKey, not both."],
  [{ sourceId: 4, writeKey: undefined }, "There is no source src_000000004."],
  [{ writeKey: undefined }, "A client needs a source, or a write key: pass sourceId or writeKey."],
  ...[0, 10_001, 1.5].map((flushAt): [object, string] => [
    { flushAt },
    "flushAt must be a whole number of messages from 1 to 10000.",
  ]),
  ...[0, 86_400_001, 1.5].map((flushAfter): [object, string] => [
    { flushAfter },
    "flushAfter must be a whole number of milliseconds from 1 to 86400000.",
  ]),
  ...["", "127.0.0.1:80", "ftp://a/", "xhttp://a", "http://127.0.0.1:80 ", "http://"].map(
    (endpoint): [object, string] => [
      { endpoint },
      "endpoint must be a full http or https URL, such as http://127.0.0.1:4700, or null for Hookyard's own ingest port.",
    ],
  ),
  ...[{ name: text(2001) }, { writeKey: text(2001) }, { endpoint: url(2001) }].map(
    (draft): [object, string] => [
      draft,
      "The name, the write key and the endpoint may have at most 2000 characters each.",
    ],
  ),
])("a client may not be %j", ([draft, message]) => {
  const { clients, create, kept, noted } = startClients();
  const refusal = { problem: true, status: 400, code: "invalid", message };
  expect(clients.create({ name: "One", writeKey: "wk", ...draft })).toMatchObject(refusal);
  const { id } = create();
  const before = [kept.get(id), noted.length];
  if (Object.values(draft).every((value) => value !== undefined))
    expect(clients.update(id, draft)).toMatchObject(refusal);
  expect([kept.get(id), noted.length]).toEqual(before);
});

test("a client sends from no source of an audience, whose key ingest refuses", () => {
  const { clients, create } = startClients();
  const refusal = {
    ...{ problem: true, status: 409, code: "audience_source" },
    message:
      "Only the audience or computed trait Big spenders sends from this source. Choose another one.",
  };
  expect(clients.create({ name: "One", sourceId: ofAudience.id })).toMatchObject(refusal);
  expect(clients.update(create().id, { sourceId: ofAudience.id })).toMatchObject(refusal);
});

test("what is asked of a client that is not there is answered with 404", () => {
  const { clients } = startClients();
  const id = 99 as ClientId;
  expect(clients.get(id)).toBeUndefined();
  const answers = [
    ...[clients.update(id, {}), clients.delete(id), clients.call(id, "track", {})],
    ...[clients.flush(id), clients.close(id, 1), clients.reopen(id), clients.generate(id, 1, 1)],
    ...[clients.stopGenerating(id), clients.batches(id, 1, null), clients.log(id, 1, null)],
  ];
  const missing = {
    problem: true,
    status: 404,
    message: expect.stringMatching(/no client clt_00000002r\./) as string,
  };
  expect(answers).toMatchObject(answers.map(() => missing));
});

test("stored clients are there again, and send to the ingest port once it listens", async () => {
  const server = await startBatchServer();
  const first = startClients();
  const own = first.create({ flushAt: 1 });
  const { clients, listenAt } = startClients({ stored: [...first.kept.values()] });
  expect(clients.list()).toMatchObject([{ id: own.id, url: "http://127.0.0.1:0/v1/batch" }]);
  listenAt(server.url);
  expect(clients.get(own.id)).toMatchObject({ url: `${server.url}/v1/batch` });
  const called = unwrap(clients.call(own.id, "track", { userId: "u", event: "e" }));
  expect(called).toMatchObject({ client: { underWay: 1 }, batchId: expect.any(String) as string });
  await until(() => server.received.length === 1);
  expect(server.received[0]?.ids).toEqual([called.messageId]);
  await clients.stop();
});

test("a stored client that cannot run is removed with a log line, and the others run", () => {
  const first = startClients();
  const { id } = first.create({ name: "Broken" });
  const other = first.create();
  const stored = [...first.kept.values()].map((client) =>
    client.id === id ? { ...client, endpoint: "http://127.0.0.1:80 " } : client,
  );
  const { clients, logged, kept } = startClients({ stored });
  expect(clients.list().map((client) => client.id)).toEqual([other.id]);
  expect(logged).toEqual([
    "The simulated client Broken was removed, because it cannot run: 'endpoint' must be an http or https URL. Create it again.",
  ]);
  expect(startClients({ stored: [...kept.values()] }).logged).toEqual([]);
});

test("each change of a client is told, by whomever it is made", () => {
  const { clients, create, noted } = startClients();
  const { id } = create();
  const changes: (() => unknown)[] = [
    () => clients.update(id, { name: "Two" }),
    () => clients.call(id, "track", { userId: "u", event: "e" }),
    () => clients.generate(id, 5, 1),
    () => clients.stopGenerating(id),
    () => clients.close(id, undefined),
    () => clients.delete(id),
  ];
  for (const change of changes) {
    noted.length = 0;
    change();
    expect([change.toString(), noted.includes("clt_000000001")]).toEqual([change.toString(), true]);
  }
  noted.length = 0;
  clients.reset("everything");
  expect(noted).toContain(null);
});

test("a deleted client has a minute on the clock to send what it holds, and a reset has it send nothing", async () => {
  for (const [isReset, passed, left] of [
    [false, 59_999, 1],
    [false, 60_000, 0],
    [true, 0, 0],
  ] as const) {
    const server = await startBatchServer(() => "hang");
    const { clients, create, clock } = startClients({ ingestUrl: server.url });
    const { id } = create({ flushAt: 1 });
    unwrap(clients.call(id, "track", { userId: "u", event: "e" }));
    await until(() => server.received.length === 1);
    expect(clients.delete(id)).toBeNull();
    expect([clients.list(), clients.get(id)]).toEqual([[], undefined]);
    if (isReset) clients.reset("messages");
    clock.advanceBy(passed);
    if (left === 0) await until(() => server.open() === 0);
    expect(server.open()).toBe(left);
    clients.reset("everything");
    await until(() => server.open() === 0);
  }
});

test("a stop has a second and a half of real time, deleted clients included", async () => {
  const server = await startBatchServer(() => "hang");
  const { clients, create } = startClients({ ingestUrl: server.url });
  for (const name of ["Stays", "Goes"]) {
    const { id } = create({ name, flushAt: 1 });
    unwrap(clients.call(id, "track", { userId: "u", event: "e" }));
    if (name === "Goes") clients.delete(id);
  }
  await until(() => server.received.length === 2);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  let isOver = false;
  const stopped = clients.stop().then(() => (isOver = true));
  vi.advanceTimersByTime(1499);
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect([isOver, server.open()]).toEqual([false, 2]);
  vi.advanceTimersByTime(1);
  await stopped;
  vi.useRealTimers();
  await until(() => server.open() === 0);
});

test("a reset of messages leaves clients as new ones, and one of everything leaves none", async () => {
  const { clients, create } = startClients();
  const { id } = create();
  unwrap(clients.call(id, "track", { userId: "u", event: "e" }));
  unwrap(clients.generate(id, 5, 1));
  clients.reset("messages");
  expect(clients.list()).toMatchObject([
    { queued: 0, generating: null, state: "running", counts: { calls: 0 } },
  ]);
  unwrap(clients.close(id, undefined));
  clients.reset("messages");
  expect(clients.list()).toMatchObject([{ state: "running" }]);
  clients.reset("everything");
  expect(clients.list()).toEqual([]);
});
