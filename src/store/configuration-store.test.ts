import { expect, test } from "vitest";
import { defaultSettings } from "../domain/configuration.ts";
import type { Destination, Source } from "../domain/configuration.ts";
import type { NewDestination, Store } from "../engine/store-ports.ts";
import { openTestStore } from "./store.fixture.ts";

const source: Omit<Source, "id"> = {
  name: "Shop",
  kind: "web",
  writeKey: "key",
  mode: "explain",
  deduplicate: true,
  correctClockSkew: false,
  faults: [],
  plan: null,
  createdAt: 1,
};

type Kept<Item> = {
  list: (store: Store) => readonly Item[];
  insert: (store: Store, name: string) => Item;
  update: (store: Store, item: Item) => unknown;
  remove: (store: Store, item: Item) => void;
};

type Named = { id: number; name: string };

const kept = <Item extends Named>(one: Kept<Item>): Kept<Named> => one as unknown as Kept<Named>;

test.each([
  [
    "sources",
    kept({
      list: (store) => store.sources(),
      insert: (store, name) => store.insertSource({ ...source, name, writeKey: name }),
      update: (store, item) => store.updateSource(item),
      remove: (store, { id }) => store.deleteSource(id),
    }),
  ],
  [
    "endpoints",
    kept({
      list: (store) => store.endpoints(),
      insert: (store, name) =>
        store.insertEndpoint({ name, path: name, steps: [], after: "repeat-last", createdAt: 1 }),
      update: (store, item) => store.updateEndpoint(item),
      remove: (store, { id }) => store.deleteEndpoint(id),
    }),
  ],
  [
    "retry profiles",
    kept({
      list: (store) => store.retryProfiles(),
      insert: (store, name) =>
        store.insertRetryProfile({ name } as Parameters<Store["insertRetryProfile"]>[0]),
      update: (store, item) => store.updateRetryProfile(item),
      remove: (store, { id }) => store.deleteRetryProfile(id),
    }),
  ],
  [
    "clients",
    kept({
      list: (store) => store.clients(),
      insert: (store, name) => store.insertClient({ name } as Parameters<Store["insertClient"]>[0]),
      update: (store, item) => store.updateClient(item),
      remove: (store, { id }) => store.deleteClient(id),
    }),
  ],
])(
  "%s are listed as they were inserted, changed and removed",
  (_what, { list, insert, update, remove }) => {
    const one = openTestStore();
    const [a, b, c] = [insert(one.store, "c"), insert(one.store, "b"), insert(one.store, "a")];
    expect([a.id, b.id, c.id]).toEqual([1, 2, 3]);
    expect(list(one.store)).toEqual([a, b, c]);
    update(one.store, { ...b, name: "d" });
    remove(one.store, c);
    expect(list(one.restarted().store)).toEqual([a, { ...b, name: "d" }]);
    expect(insert(one.store, "e").id).toBe(4);
  },
);

test("what names a source, an endpoint and a retry profile is theirs alone, also after a change", () => {
  const { store } = openTestStore();
  const first = store.insertSource(source);
  expect(() => store.insertSource(source)).toThrow("UNIQUE");
  store.updateSource({ ...first, writeKey: "other" });
  store.insertSource(source);
  const endpoint = store.insertEndpoint({
    name: "In",
    path: "in",
    steps: [],
    after: "repeat-last",
    createdAt: 1,
  });
  expect(() => store.insertEndpoint({ ...endpoint })).toThrow("UNIQUE");
  store.updateEndpoint({ ...endpoint, path: "out" });
  store.insertEndpoint({ ...endpoint });
});

test("a destination has its webhooks in their order, with their ids; those it loses are gone, also with it", () => {
  const one = openTestStore();
  const webhook = (name: string) => ({ url: `http://127.0.0.1/${name}`, headers: { name } });
  const draft: Omit<Destination, "id" | "webhooks"> = {
    kind: "webhooks",
    mappings: [],
    name: "Out",
    enabled: true,
    sourceIds: [],
    sharedSecret: null,
    retryProfile: "documented",
    payload: "documented",
    filters: [],
    createdAt: 1,
  };
  const out = one.store.insertDestination({ ...draft, webhooks: [webhook("a"), webhook("b")] });
  expect(out).toEqual({
    ...draft,
    id: 1,
    webhooks: [
      { ...webhook("a"), id: 1 },
      { ...webhook("b"), id: 2 },
    ],
  });
  const other = one.store.insertDestination({ ...draft, name: "Other", webhooks: [webhook("o")] });
  expect(one.store.destinations()).toEqual([out, other]);
  const [a, b] = out.webhooks as [Destination["webhooks"][number], Destination["webhooks"][number]];
  const changed = one.store.updateDestination({
    ...out,
    name: "Out 2",
    webhooks: [b, webhook("c"), a],
  });
  expect(changed).toEqual({ ...out, name: "Out 2", webhooks: [b, { ...webhook("c"), id: 4 }, a] });
  expect(one.restarted().store.destinations()).toEqual([changed, other]);
  expect(
    JSON.parse(
      one.db.prepare("SELECT body FROM destinations WHERE id = 1").pluck().get() as string,
    ),
  ).toEqual({
    ...draft,
    name: "Out 2",
  });
  expect(() =>
    one.store.updateDestination({ ...changed, name: "Out 3", webhooks: [a, a] }),
  ).toThrow("UNIQUE");
  expect(() => one.store.insertDestination({ ...draft, webhooks: [a] })).toThrow("UNIQUE");
  expect(one.store.destinations()).toEqual([changed, other]);
  one.store.deleteDestination(changed.id);
  expect(one.store.destinations()).toEqual([other]);
  expect(one.db.prepare("SELECT id FROM webhooks").pluck().all()).toEqual([3]);
});

test("settings are the defaults with what was saved last", () => {
  const one = openTestStore();
  // In memory, less is kept.
  const settings = { ...defaultSettings, maxBytes: 250_000_000 };
  expect(one.store.settings()).toEqual(settings);
  for (const vendor of ["Acme", "Other"]) one.store.saveSettings({ ...defaultSettings, vendor });
  expect(one.restarted().store.settings()).toEqual({ ...defaultSettings, vendor: "Other" });
  one.db.prepare("UPDATE meta SET value = ? WHERE key = 'settings'").run('{"vendor":"Old"}');
  expect(one.store.settings()).toEqual({ ...settings, vendor: "Old" });
  const stored = () =>
    one.db.prepare("SELECT value FROM meta WHERE key = 'settings'").pluck().get();
  for (const maxBytes of [250_000_000, 1_000_000, null]) {
    one.store.saveSettings({ ...settings, maxBytes });
    expect(one.store.settings().maxBytes).toBe(maxBytes);
    expect(JSON.parse(stored() as string)).toHaveProperty("vendor");
    expect((stored() as string).includes("maxBytes")).toBe(maxBytes !== 250_000_000);
  }
});

const receiver: NewDestination = {
  name: "Receiver",
  enabled: true,
  sourceIds: [],
  webhooks: [{ url: "http://127.0.0.1/hook", headers: {} }],
  sharedSecret: null,
  retryProfile: "documented",
  payload: "documented",
  filters: [],
  createdAt: 1,
};

test("two changes in a row that fail after they were read leave sources and destinations as they were", () => {
  const { store } = openTestStore();
  const [kept, destination] = [store.insertSource(source), store.insertDestination(receiver)];
  const all = () => [store.sources(), store.destinations()];
  const failing = (): void => {
    store.deleteSource(kept.id);
    store.deleteDestination(destination.id);
    expect(all()).toEqual([[], []]);
    throw new Error("The commit fails.");
  };
  expect(all()).toEqual([[kept], [destination]]);
  for (let n = 0; n < 2; n += 1) expect(() => store.atomically(failing)).toThrow("The commit");
  expect(all()).toEqual([[kept], [destination]]);
});

test("a change that fails leaves sources and destinations as they were, also in memory", () => {
  const one = openTestStore();
  const { store } = one;
  const kept = store.insertSource(source);
  const destination = store.insertDestination({ ...receiver, sourceIds: [kept.id] });
  const all = () => [store.sources(), store.destinations()];
  const before = all();
  expect(before).toEqual([[kept], [destination]]);
  const changes = (): void => {
    store.insertSource({ ...source, name: "Other", writeKey: "other" });
    store.updateSource({ ...kept, name: "Renamed" });
    store.updateDestination({ ...destination, webhooks: [] });
    expect(store.sources().map(({ name }) => name)).toEqual(["Renamed", "Other"]);
    expect(store.destinations()[0]?.webhooks).toEqual([]);
    store.deleteDestination(destination.id);
    expect(store.destinations()).toEqual([]);
    throw new Error("The rest of the change fails.");
  };
  expect(() => store.atomically(changes)).toThrow("The rest");
  expect(all()).toEqual(before);
  store.deleteSource(kept.id);
  store.updateDestination({ ...destination, name: "Other" });
  expect(all()).toEqual([[], [{ ...destination, name: "Other" }]]);
  const { store: restarted } = one.restarted();
  expect([restarted.sources(), restarted.destinations()]).toEqual(all());
});
