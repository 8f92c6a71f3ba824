/** The configuration as a document, tried on the whole pipeline in memory. */

import { afterEach, beforeEach, expect, test } from "vitest";
import { createApp, type App } from "../../app.ts";
import type { AnswerOf, CallName, InputOf } from "../../contract/contract.ts";
import type { DestinationDraft } from "../../engine/pipeline.ts";
import { nextTurn } from "../../engine/real-time.ts";
import { createApi, type Api } from "../api.ts";

const newApp = (): App =>
  createApp({
    data: ":memory:",
    ports: { ingest: 0, endpoints: 0, endpointsTls: 0 },
    version: "1.2.3",
    report: () => undefined,
  });

const addresses = {
  ingestUrl: "http://127.0.0.1:4800",
  endpointsUrl: "http://127.0.0.1:4802",
  endpointsTlsUrl: "https://127.0.0.1:4803",
};

let app: App;
let api: Api;
/** For each rehearsal of an import, whether it was ended. */
let rehearsals: { ended: boolean }[];
/** What rehearsals have before the import. */
let inRehearsals: DestinationDraft[];
beforeEach(() => {
  app = newApp();
  inRehearsals = [];
  rehearsals = [];
  api = createApi({
    pipeline: app.pipeline,
    rehearse() {
      const { pipeline, stop } = newApp();
      for (const draft of inRehearsals) pipeline.configuration.createDestination(draft);
      const rehearsal = { ended: false };
      rehearsals.push(rehearsal);
      return { pipeline, stop: async () => void (await stop(), (rehearsal.ended = true)) };
    },
    others: undefined as never,
    beside: () => undefined,
    about: () => ({ ...addresses, version: "1.2.3", ingestTlsUrl: null, dataDir: null }),
    metrics: () => "",
    report: (error) => {
      throw error;
    },
  });
});
afterEach(() => app.stop());

async function ask<Name extends CallName>(
  name: Name,
  input: InputOf<Name>,
): Promise<AnswerOf<Name>> {
  const { status, body } = await api.call(name, input);
  expect(status, JSON.stringify(body)).toBeLessThan(300);
  return body as AnswerOf<Name>;
}

const importing = (document: object) =>
  api.call("configuration.import", { version: 1, ...document });
const webhooks = [{ url: "http://a.localhost/" }];
const rule = { trait: "plan", op: "exists" };
const computation = { aggregate: "count", event: "Bought" };

test("a document makes in an empty installation what it was made from, and changes nothing the second time", async () => {
  const source = await ask("sources.create", {
    name: "Web",
    faults: [{ do: "delay", delayMs: 5, chance: 0.5 }],
  });
  await ask("retryProfiles.create", {
    name: "quick",
    schedule: { kind: "list", delaysMs: [1000] },
  });
  await ask("endpoints.create", {
    name: "Receiver",
    steps: [{ do: "hang", forMs: 9, match: { type: "track" } }],
  });
  const webhooks = [{ url: "http://a.localhost/", headers: { "X-A": "1" } }];
  await ask("destinations.create", {
    name: "Shop",
    sourceIds: [source.id],
    webhooks,
    sharedSecret: "s",
    retryProfile: "quick",
    enabled: false,
  });
  await ask("settings.update", { vendor: "Acme" });
  const document = await ask("configuration.export", { secrets: true });

  await ask("pipeline.reset", { what: "everything" });
  expect(await ask("configuration.import", document)).toEqual({ created: 4, updated: 1 });
  expect(await ask("configuration.export", { secrets: true })).toEqual(document);
  const before = await ask("destinations.list", {});
  expect(await ask("configuration.import", document)).toEqual({ created: 0, updated: 5 });
  expect(await ask("destinations.list", {})).toEqual(before);
});

test("a document may name sources by name, and leaves a secret alone that it does not mention", async () => {
  const webhooks = [{ url: "http://a.localhost/" }];
  const document = {
    version: 1 as const,
    sources: [{ name: "Web" }],
    destinations: [{ name: "Shop", sources: ["Web"], webhooks, sharedSecret: "s" }],
  };
  await ask("configuration.import", document);
  const { sharedSecret: _, ...unmentioned } = document.destinations[0]!;
  await ask("configuration.import", { ...document, destinations: [unmentioned] });
  expect((await ask("destinations.list", {})).items).toMatchObject([
    { name: "Shop", sourceIds: ["src_000000001"], hasSharedSecret: true },
  ]);
});

test.each([
  [{ version: 2 }, "version"],
  [
    {
      version: 1,
      destinations: [
        { name: "A", sources: ["nobody"], webhooks: [{ url: "http://a.localhost/" }] },
      ],
    },
    "destinations[0]",
  ],
  [
    { version: 1, destinations: [{ name: "A", sources: [], webhooks: [{ url: "ftp://a" }] }] },
    "destinations[0]",
  ],
  [
    {
      version: 1,
      sources: [
        { name: "A", writeKey: "k" },
        { name: "B", writeKey: "k" },
      ],
    },
    "sources: k appears twice",
  ],
  [{ version: 1, sources: [{ name: "A", colour: "red" }] }, "sources[0].colour"],
])("a document is refused when wrong, with the place: %j", async (document, part) => {
  expect(await api.call("configuration.import", document)).toMatchObject({
    status: 400,
    body: { code: "invalid", message: expect.stringContaining(part) },
  });
});

test.each([
  [
    "sources",
    {
      sources: [
        { name: "A", writeKey: "k" },
        { name: "B" },
        { name: "B" },
        { name: "C", writeKey: "k" },
      ],
    },
    "k",
  ],
  [
    "sources",
    {
      sources: [
        { name: "Web", kind: "web" },
        { name: "Web", kind: "server" },
      ],
    },
    "Web",
  ],
  ["sources", { sources: [{ name: "Web" }, { name: "Web", writeKey: "k" }] }, "Web"],
  [
    "endpoints",
    {
      endpoints: [
        { name: "Flaky", path: "flaky", steps: [] },
        { name: "Flaky", steps: [] },
      ],
    },
    "Flaky",
  ],
  ["retryProfiles", { retryProfiles: ["p", "q", "q", "p"].map((name) => ({ name })) }, "q"],
  [
    "endpoints",
    {
      endpoints: [
        { name: "A", path: "x", steps: [] },
        { name: "x", steps: [] },
      ],
    },
    "x",
  ],
  [
    "destinations",
    { destinations: ["D", "E", "D"].map((name) => ({ name, sources: [], webhooks })) },
    "D",
  ],
  [
    "audiences and computedTraits",
    {
      audiences: [{ name: "Big spenders", rule }],
      computedTraits: [{ name: "x", key: "big_spenders", computation }],
    },
    "big_spenders",
  ],
  ["clients", { clients: ["C", "C"].map((name) => ({ name, writeKey: "k" })) }, "C"],
])(
  "one of the %s that appears twice is refused by its name, and nothing is changed",
  async (list, document, twice) => {
    const before = await ask("configuration.export", { secrets: true });
    const refused = `${list}: ${twice} appears twice. Leave one of them out, or give it another `;
    expect(await importing(document)).toEqual({
      status: 400,
      body: { code: "invalid", message: expect.stringContaining(refused) as string },
    });
    expect(await ask("configuration.export", { secrets: true })).toEqual(before);
  },
);

test("two entries that mean one source, or one test endpoint, are refused", async () => {
  const sources = [{ name: "Web" }, { name: "Shop", writeKey: "k" }];
  const endpoints = [
    { name: "Other", path: "flaky", steps: [] },
    { name: "Flaky", steps: [] },
  ];
  await ask("sources.create", { name: "Web", writeKey: "k" });
  await ask("endpoints.create", { name: "Flaky", path: "flaky", steps: [] });
  for (const [list, entries] of Object.entries({ sources, endpoints })) {
    const message = `${list}[1]: it is the same as ${list}[0]. Leave one of them out.`;
    expect(await importing({ [list]: entries })).toEqual({
      status: 400,
      body: { code: "invalid", message },
    });
  }
});

test("each thing is found again by its write key, path, name or key, and keeps its id", async () => {
  const document = {
    retryProfiles: [{ name: "quick", windowMs: 60_000 }],
    sources: [{ name: "Web", writeKey: "k" }, { name: "Shop" }],
    endpoints: [
      { name: "Receiver", path: "receiver", steps: [] },
      { name: "Other", steps: [] },
    ],
    destinations: [
      { name: "D", sources: ["k", "Shop"], webhooks, sharedSecret: "s", enabled: false },
    ],
    audiences: [
      { name: "Users", rule, destinations: ["D"] },
      { name: "Few", members: ["u"] },
    ],
    computedTraits: [{ name: "Orders", computation, destinations: ["D"] }],
    clients: [{ name: "Client", writeKey: "k", flushAt: 3 }],
  };
  expect(await importing(document)).toMatchObject({ body: { created: 10, updated: 0 } });
  const ids = async () =>
    Promise.all(
      (
        [
          "sources.list",
          "endpoints.list",
          "destinations.list",
          "audiences.list",
          "computedTraits.list",
          "clients.list",
        ] as const
      ).map(async (name) => (await ask(name, {})).items.map(({ id }) => id)),
    );
  const before = await ids();
  const changed = {
    settings: { vendor: "Acme" },
    retryProfiles: [{ name: "quick", windowMs: 120_000 }],
    sources: [{ name: "Renamed", writeKey: "k" }, { name: "Shop" }],
    endpoints: [
      { name: "Renamed", path: "receiver", steps: [] },
      { name: "Other", steps: [{ do: "hang" }] },
    ],
    destinations: [{ name: "D", sources: ["k"], webhooks, sharedSecret: "" }],
    audiences: [
      { name: "Renamed", key: "users", rule, destinations: [] },
      { name: "Few", members: ["v"] },
    ],
    computedTraits: [{ name: "Renamed", key: "orders", computation }],
    clients: [{ name: "Client", writeKey: "k", flushAt: 4 }],
  };
  expect(await importing(changed)).toMatchObject({ body: { created: 0, updated: 11 } });
  expect(await ids()).toEqual(before);
  expect(await ask("configuration.export", { secrets: true })).toMatchObject({
    settings: { vendor: "Acme" },
    retryProfiles: [{ name: "quick", windowMs: 120_000 }],
    sources: [{ name: "Renamed", writeKey: "k" }, { name: "Shop" }],
    endpoints: [
      { name: "Renamed", path: "receiver" },
      { name: "Other", steps: [{ do: "hang" }] },
    ],
    destinations: [{ name: "D", sources: ["k"], sharedSecret: null, enabled: false }],
    audiences: [
      { name: "Renamed", key: "users", destinations: [] },
      { name: "Few", members: ["v"] },
    ],
    computedTraits: [{ name: "Renamed", key: "orders", destinations: ["D"] }],
    clients: [{ name: "Client", flushAt: 4 }],
  });
});

test("of several with one name a document means the first, and they stand in the way of no import", async () => {
  await importing({
    sources: [{ name: "Web", writeKey: "k" }],
    endpoints: [{ name: "R", path: "r", steps: [] }],
  });
  await importing({
    sources: [{ name: "Web", writeKey: "l" }],
    endpoints: [{ name: "R", path: "s", steps: [] }],
  });
  for (const writeKey of ["k", "l"]) await ask("clients.create", { name: "C", writeKey });
  for (const url of ["http://a.localhost/", "http://b.localhost/"])
    await ask("destinations.create", { name: "D", sourceIds: [], webhooks: [{ url }] });
  const mappings = [{ name: "All", url: "http://a.localhost/" }];
  await ask("destinations.create", {
    ...{ name: "D", kind: "webhooks-actions", sourceIds: [], mappings },
  });
  const imported = await importing({
    sources: [{ name: "Web", mode: "production" }],
    endpoints: [{ name: "R", steps: [{ do: "hang" }] }],
    destinations: [{ name: "D", sources: ["l", "Web"], webhooks, enabled: false }],
    audiences: [{ name: "A", members: [], destinations: ["D"] }],
    clients: [{ name: "C", writeKey: "k", flushAt: 9 }],
  });
  expect(imported).toEqual({ status: 200, body: { created: 1, updated: 4 } });
  expect((await ask("sources.list", {})).items.map(({ mode }) => mode).slice(0, 2)).toEqual([
    "production",
    "explain",
  ]);
  expect((await ask("endpoints.list", {})).items.map(({ steps }) => steps[0]?.do)).toEqual([
    "hang",
    "answer",
  ]);
  const [first, second] = (await ask("destinations.list", {})).items;
  expect([first?.enabled, second?.enabled]).toEqual([false, true]);
  expect(first?.sourceIds.slice(0, 2)).toEqual(["src_000000002", "src_000000001"]);
  expect((await ask("audiences.list", {})).items).toMatchObject([{ destinationIds: [first?.id] }]);
  expect((await ask("clients.list", {})).items.map(({ flushAt }) => flushAt)).toEqual([9, 20]);
});

test("a destination keeps the audiences that go to it, which a document does not name", async () => {
  await importing({
    sources: [{ name: "Web", writeKey: "k" }],
    destinations: [{ name: "D", sources: ["k"], webhooks }],
  });
  const [{ id } = { id: "" }] = (await ask("destinations.list", {})).items;
  await ask("audiences.create", { name: "Users", members: ["u"], destinationIds: [id] });
  const { sourceIds } = await ask("destinations.get", { id });
  expect(sourceIds).toHaveLength(2);
  await importing({ destinations: [{ name: "D", sources: ["Web"], webhooks }] });
  expect((await ask("destinations.get", { id })).sourceIds).toEqual(sourceIds);
  await importing({ destinations: [{ name: "D", sources: [], webhooks }] });
  expect((await ask("destinations.get", { id })).sourceIds).toEqual(sourceIds.slice(1));
});

test.each([
  [
    { audiences: [{ name: "A", rule, destinations: ["nowhere"] }] },
    "audiences[0]: no destination has the name nowhere.",
  ],
  [
    { computedTraits: [{ name: "A", computation, destinations: ["nowhere"] }] },
    "computedTraits[0]: no destination has the name nowhere.",
  ],
  [
    { destinations: [{ name: "D", sources: ["nobody"], webhooks }] },
    "destinations[0]: no source has the write key or name nobody.",
  ],
  [{ sources: [{ name: "a" }], clients: [{ name: "C", writeKey: "k", flushAt: 0 }] }, "clients[0]"],
])(
  "a reference that leads nowhere is refused with its place, and nothing is changed: %j",
  async (document, message) => {
    const before = await ask("configuration.export", { secrets: true });
    const sources = [{ name: "New", writeKey: "new" }];
    expect(await importing({ sources, ...document })).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining(message) },
    });
    expect(await ask("configuration.export", { secrets: true })).toEqual(before);
  },
);

test("when the present configuration cannot be copied to try the import on it, the answer says so", async () => {
  await importing({ destinations: [{ name: "D", sources: [], webhooks }] });
  const mappings = [{ name: "All", url: "http://a.localhost/" }];
  inRehearsals = [{ name: "D", kind: "webhooks-actions", sourceIds: [], mappings }];
  expect(await importing({ sources: [{ name: "Web" }] })).toMatchObject({
    status: 400,
    body: {
      message:
        "The present configuration: destinations[0]: A destination keeps its kind. Create another one.",
    },
  });
  expect((await ask("sources.list", {})).items).toEqual([]);
});

test("every rehearsal is ended, whether the document is good or not", async () => {
  await importing({ sources: [{ name: "Web" }] });
  await importing({ destinations: [{ name: "D", sources: ["nobody"], webhooks }] });
  expect(rehearsals).toEqual([{ ended: true }, { ended: true }]);
});

test("secrets are in the document only for who asks for them", async () => {
  const clients = [null, "http://ada:s3cret@a.localhost/"].map((endpoint, at) => ({
    name: `C${at}`,
    writeKey: "k",
    endpoint,
  }));
  await importing({
    destinations: [{ name: "D", sources: [], webhooks, sharedSecret: "s3cret" }],
    clients,
    endpoints: [
      {
        ...{ name: "E", path: "/e", after: "repeat-last" },
        steps: [{ do: "forward", to: "http://ada:s3cret@b.localhost/" }, { do: "answer" }],
      },
    ],
  });
  expect((await ask("configuration.export", { secrets: false })).endpoints).toMatchObject([
    { steps: [{ to: "http://left-out:left-out@b.localhost/" }, { do: "answer" }] },
  ]);
  expect((await ask("configuration.export", { secrets: false })).clients).toMatchObject([
    { endpoint: null },
    { endpoint: "http://left-out:left-out@a.localhost/" },
  ]);
  expect((await ask("configuration.export", { secrets: true })).clients).toMatchObject(clients);
  expect((await ask("configuration.export", { secrets: false })).destinations).toMatchObject([
    { sharedSecret: "left-out" },
  ]);
  expect((await ask("configuration.export", { secrets: true })).destinations).toMatchObject([
    { sharedSecret: "s3cret" },
  ]);
});

test("an import of many destinations and sources leaves turns to others, and a second one waits for it", async () => {
  const sources = Array.from({ length: 60 }, (_, n) => ({
    name: `Source ${n}`,
    writeKey: `k${n}`,
  }));
  const keys = sources.map(({ writeKey }) => writeKey);
  const destinations = Array.from({ length: 60 }, (_, n) => ({
    name: `Destination ${n}`,
    sources: keys,
    webhooks,
  }));
  let ended = 0;
  const first = importing({ sources, destinations }).finally(() => (ended += 1));
  const second = importing({ sources, destinations }).finally(() => (ended += 1));
  /** How many destinations there were, and imports that had ended, at each turn. */
  const seen = new Set<string>();
  while (ended < 2) {
    seen.add(`${app.pipeline.configuration.destinations().length} ${ended}`);
    await nextTurn();
  }
  expect([(await first).body, (await second).body]).toEqual([
    { created: 120, updated: 0 },
    { created: 0, updated: 120 },
  ]);
  const counts = [...seen].map((each) => Number(each.split(" ")[0]));
  expect(counts.filter((count) => count > 0 && count < 60).length).toBeGreaterThan(0);
  expect(seen).toContain("60 1");
});

test("as many members as all fixed lists may have are imported again, with turns for others", async () => {
  const list = (nth: number, count = 100_000) => ({
    name: `List ${nth}`,
    members: Array.from({ length: count }, (_, n) => `user-${nth}-${`${n}`.padStart(17, "0")}`),
  });
  const audiences = Array.from({ length: 5 }, (_, nth) => list(nth));
  let isDone = false;
  let turns = 0;
  const importing = ask("configuration.import", { version: 1, audiences });
  void importing.finally(() => (isDone = true));
  for (; !isDone; turns += 1) await nextTurn();
  expect(await importing).toMatchObject({ created: 5 });
  expect(turns).toBeGreaterThan(10);

  const exported = await ask("configuration.export", {});
  expect(JSON.stringify(exported).length).toBeGreaterThan(12_000_000);
  expect(await ask("configuration.import", exported as never)).toMatchObject({ created: 0 });
  const body = { message: expect.stringContaining("more than 500000 members") as string };
  expect(await api.call("audiences.create", list(5, 1))).toMatchObject({ status: 400, body });
  const id = (await ask("audiences.list", {})).items[0]?.id ?? "";
  const { members } = list(0, 99_999);
  await ask("audiences.update", { id, members });
});

test("a condition from before it was checked is in the way of no import and no other change", async () => {
  const filters = [{ name: "Old", action: "drop" as const }];
  const { id } = await ask("destinations.create", { name: "D", sourceIds: [], webhooks, filters });
  Object.assign(app.pipeline.configuration.destinations()[0]!.filters[0]!, { if: "type AND" });
  await ask("configuration.import", { version: 1, sources: [{ name: "Shop", kind: "web" }] });
  await ask("destinations.update", { id, name: "Renamed" });
});
