/** What a destination, a retry profile and a source may be, at every bound. */

import { expect, onTestFinished, test } from "vitest";
import type { RetryProfile } from "../domain/configuration.ts";
import { destinationIds, retryProfileIds } from "../domain/ids.ts";
import { isProblem, type Problem } from "../domain/problem.ts";
import { openTestStore } from "../store/store.fixture.ts";
import { createChangeFeed } from "./changes.ts";
import { createConfiguration } from "./configuration.ts";
import type { DestinationDraft } from "./pipeline.ts";

function startConfiguration() {
  const { store } = openTestStore();
  const changes = createChangeFeed();
  onTestFinished(() => changes.stop());
  const told: string[] = [];
  const configuration = createConfiguration({
    store,
    now: () => 77,
    changes: { ...changes, note: (area, id) => void told.push(`${area} ${id}`) },
    onChange: () => void told.push("change"),
    onDestinationDeleted: (id) => void told.push(`deleted ${id}`),
  });
  const restarted = () =>
    createConfiguration({
      store,
      now: () => 0,
      changes,
      onChange: () => {},
      onDestinationDeleted: () => {},
    });
  return { store, configuration, told: () => told.splice(0), restarted };
}

function made<Value>(value: Value | Problem): Value {
  if (isProblem(value)) throw new Error(value.message);
  return value;
}

const day = 24 * 60 * 60 * 1000;
const url = "http://127.0.0.1/";
const webhook = { url, headers: {} };
const profile: RetryProfile = {
  name: "quick",
  schedule: { kind: "list", delaysMs: [0] },
  jitter: 0,
  windowMs: 1,
  timeoutMs: 100,
  retriedStatuses: [{ from: 500, to: 599 }],
  retryTimeouts: true,
} as never;
const exponential = { kind: "exponential" as const, firstMs: 1000, factor: 1, capMs: 0 };

test("a retry profile takes its bounds, and nothing beyond them", () => {
  const { configuration } = startConfiguration();
  const { id } = made(configuration.createRetryProfile(profile));
  for (const good of [
    { name: "0-a9" },
    { name: "quick" },
    { schedule: { kind: "list" as const, delaysMs: Array.from({ length: 1000 }, () => 0) } },
    { schedule: exponential },
    { jitter: 1 },
    { jitter: 0 },
    { windowMs: 0.5 },
    { windowMs: 3650 * day },
    { schedule: { kind: "list" as const, delaysMs: [3650 * day] } },
    { timeoutMs: 100 },
    { timeoutMs: 600_000 },
    { retriedStatuses: [{ from: 100, to: 999 }] },
    { retriedStatuses: [{ from: 500, to: 500 }] },
    { retriedStatuses: [] },
  ])
    expect(configuration.updateRetryProfile(id, good), JSON.stringify(good)).toMatchObject(good);
  const before = configuration.retryProfiles();
  for (const wrong of [
    { name: "" },
    { name: "-a" },
    { name: "Big" },
    { name: "a b" },
    { schedule: { kind: "list" as const, delaysMs: Array.from({ length: 1001 }, () => 0) } },
    { schedule: { kind: "list" as const, delaysMs: [0, -1, 0] } },
    { schedule: { kind: "list" as const, delaysMs: [Number.NaN] } },
    { schedule: { ...exponential, factor: 0.99 } },
    { schedule: { ...exponential, firstMs: 999 } },
    { schedule: { ...exponential, capMs: -1 } },
    { jitter: -0.01 },
    { jitter: 1.01 },
    { windowMs: 0 },
    { windowMs: 3650 * day + 1 },
    { schedule: { kind: "list" as const, delaysMs: [0, 3650 * day + 1] } },
    { schedule: { ...exponential, capMs: 3650 * day + 1 } },
    { timeoutMs: 99 },
    { timeoutMs: 600_001 },
    { retriedStatuses: [{ from: 500, to: 499 }] },
    { retriedStatuses: [{ from: 99, to: 200 }] },
    {
      retriedStatuses: [
        { from: 500, to: 600 },
        { from: 500, to: 1000 },
      ],
    },
  ]) {
    expect(configuration.updateRetryProfile(id, wrong), JSON.stringify(wrong)).toMatchObject({
      status: 400,
      code: "invalid",
    });
    expect(configuration.createRetryProfile({ ...profile, name: "other", ...wrong })).toMatchObject(
      { status: 400, code: "invalid" },
    );
  }
  expect(configuration.retryProfiles()).toEqual(before);
});

test("a retry profile has a name of its own, its destinations follow the name, and it stays while one uses it", () => {
  const { configuration, told, restarted } = startConfiguration();
  const { id } = made(configuration.createRetryProfile(profile));
  made(configuration.createRetryProfile({ ...profile, name: "other" }));
  expect(configuration.createRetryProfile(profile)).toMatchObject({
    status: 409,
    code: "name_taken",
  });
  expect(configuration.createRetryProfile({ ...profile, name: "documented" })).toMatchObject({
    status: 409,
    code: "name_taken",
  });
  expect(configuration.updateRetryProfile(id, { name: "other" })).toMatchObject({
    status: 409,
    code: "name_taken",
  });
  const draft = { sourceIds: [], webhooks: [webhook] };
  const using = made(
    configuration.createDestination({ ...draft, name: "Using", retryProfile: "quick" }),
  );
  const plain = made(configuration.createDestination({ ...draft, name: "Plain" }));
  expect(configuration.deleteRetryProfile(id)).toMatchObject({
    status: 409,
    code: "in_use",
    message: expect.stringContaining("Using") as string,
  });
  told();
  made(configuration.updateRetryProfile(id, { name: "renamed", windowMs: 5 }));
  const announced = [`retry-profiles ${retryProfileIds.format(id)}`, "change"];
  expect(told()).toEqual([`destinations ${destinationIds.format(using.id)}`, ...announced]);
  made(configuration.updateRetryProfile(id, { windowMs: 6 }));
  expect(told()).toEqual(announced);
  for (const each of [configuration, restarted()]) {
    const profiles = [using, plain].map(({ id: of }) => each.destination(of)?.retryProfile);
    expect(profiles).toEqual(["renamed", "documented"]);
    expect(each.retryProfileOf({ ...using, retryProfile: "renamed" })).toMatchObject({
      name: "renamed",
      windowMs: 6,
    });
  }
  expect(configuration.retryProfiles().map(({ name, id: of }) => [name, of !== null])).toEqual(
    expect.arrayContaining([
      ["documented", false],
      ["renamed", true],
      ["other", true],
    ]) as unknown,
  );
  made(configuration.deleteDestination(using.id));
  told();
  expect(configuration.deleteRetryProfile(id)).toBeNull();
  expect(told()).toEqual([`retry-profiles ${retryProfileIds.format(id)}`, "change"]);
  for (const call of [
    configuration.deleteRetryProfile(id),
    configuration.updateRetryProfile(id, {}),
  ])
    expect(call).toMatchObject({ status: 404, code: "not_found" });
});

test("a renamed retry profile of new destinations is announced with the settings, which follow the name", () => {
  const { configuration, told } = startConfiguration();
  const { id } = made(configuration.createRetryProfile(profile));
  made(configuration.updateSettings({ retryProfile: "quick" }));
  told();
  made(configuration.updateRetryProfile(id, { name: "renamed" }));
  expect(told()).toEqual([
    "settings null",
    `retry-profiles ${retryProfileIds.format(id)}`,
    "change",
  ]);
  expect(configuration.settings().retryProfile).toBe("renamed");
});

test("a destination has what was asked for, what was left out, and is refused with what cannot be", () => {
  const { configuration, told } = startConfiguration();
  const source = made(configuration.createSource({ name: "Shop" }));
  const draft: DestinationDraft = {
    name: "D",
    sourceIds: [source.id, source.id],
    webhooks: [webhook],
  };
  const left = made(configuration.createDestination(draft));
  expect(left).toMatchObject({
    ...{
      enabled: true,
      sourceIds: [source.id],
      sharedSecret: null,
      retryProfile: "documented",
      payload: "documented",
      createdAt: 77,
    },
    webhooks: [{ url, headers: {} }],
  });
  const given = { enabled: false, sharedSecret: "s", payload: left.payload };
  expect(configuration.createDestination({ ...draft, ...given })).toMatchObject(given);
  expect(configuration.updateDestination(left.id, { sharedSecret: "" })).toMatchObject({
    sharedSecret: null,
    createdAt: 77,
  });
  told();
  const five = {
    headers: Object.fromEntries(["a", "b", "c", "d", "e"].map((name) => [`X-${name}`, "1"])),
  };
  expect(
    configuration.updateDestination(left.id, {
      webhooks: Array.from({ length: 5 }, () => ({ url, ...five })),
    }),
  ).toMatchObject({
    id: left.id,
  });
  expect(told()).toHaveLength(2);
  const before = configuration.destinations();
  for (const wrong of [
    { name: " " },
    { sourceIds: [99 as never] },
    { retryProfile: "nowhere" },
    { webhooks: [] },
    { webhooks: Array.from({ length: 6 }, () => webhook) },
    { webhooks: [{ url: "ftp://x/", headers: {} }] },
    { webhooks: [{ url, headers: { ...five.headers, "X-f": "1" } }] },
    { webhooks: [{ url, headers: { "X y": "1" } }] },
    { webhooks: [{ url, headers: { "X-y": "1", "x-Y": "2" } }] },
  ]) {
    expect(configuration.updateDestination(left.id, wrong), JSON.stringify(wrong)).toMatchObject({
      status: 400,
      code: "invalid",
    });
    expect(
      configuration.createDestination({ ...draft, ...wrong }),
      JSON.stringify(wrong),
    ).toMatchObject({ status: 400 });
  }
  expect([configuration.destinations(), told()]).toEqual([before, []]);
  expect(configuration.deleteDestination(left.id)).toBeNull();
  expect(told().slice(1)).toEqual(["change", `deleted ${left.id}`]);
  for (const call of [
    configuration.deleteDestination(left.id),
    configuration.updateDestination(left.id, {}),
  ])
    expect(call).toMatchObject({ status: 404 });
});

test("mappings take their bounds, and nothing beyond them", () => {
  const { configuration } = startConfiguration();
  const mapping = { name: "M", url };
  const draft = { kind: "webhooks-actions" as const, name: "D", sourceIds: [], webhooks: [] };
  const { id } = made(configuration.createDestination({ ...draft, mappings: [mapping] }));
  const named = (count: number): { name: string; url: string }[] =>
    Array.from({ length: count }, (_, nth) => ({ name: `M${nth}`, url }));
  for (const good of [
    named(5),
    [{ ...mapping, batch: { enabled: true, size: 1, waitMs: 0 } }],
    [{ ...mapping, batch: { enabled: true, size: 4000, waitMs: 3_600_000 } }],
  ])
    expect(configuration.updateDestination(id, { kind: draft.kind, mappings: good })).toMatchObject(
      { mappings: good },
    );
  const before = configuration.destination(id);
  for (const [wrong, said] of [
    [[], "A destination with mappings needs at least one."],
    [named(6), "A destination has at most 5 mappings, not 6."],
    [[...named(2), mapping, mapping], "mappings[3].name: Another mapping has the name M already."],
    [[mapping, { name: " ", url }], "mappings[1].name: A mapping needs a name."],
    [[{ ...mapping, url: 5 }], "mappings[0].url: The URL is a text or a directive."],
    [[{ ...mapping, url: [url] }], "mappings[0].url: The URL is a text or a directive."],
    [[{ ...mapping, headers: [] }], "The headers are an object or a directive."],
    [
      [{ ...mapping, batch: { enabled: true, size: 0 } }],
      "batch.size: A batch has 1 to 4000 events.",
    ],
    [
      [{ ...mapping, batch: { enabled: true, size: 4001 } }],
      "batch.size: A batch has 1 to 4000 events.",
    ],
    [
      [{ ...mapping, batch: { enabled: true, waitMs: -1 } }],
      "batch.waitMs: A batch waits for at most an hour.",
    ],
    [
      [{ ...mapping, batch: { enabled: true, waitMs: 3_600_001 } }],
      "batch.waitMs: A batch waits for at most an hour.",
    ],
  ] as const)
    expect(
      configuration.updateDestination(id, { kind: draft.kind, mappings: [...wrong] }),
    ).toMatchObject({ status: 400, message: expect.stringContaining(said) as string });
  expect(configuration.destination(id)).toEqual(before);
});

test("webhooks that stay keep their ids, also two of one address, and others get new ones", () => {
  const { configuration } = startConfiguration();
  const [a, b] = ["http://127.0.0.1/a", "http://127.0.0.1/b"].map((each) => ({
    url: each,
    headers: {},
  }));
  if (a === undefined || b === undefined) throw new Error("no webhooks");
  const created = made(
    configuration.createDestination({ name: "D", sourceIds: [], webhooks: [a, a, b] }),
  );
  const ids = created.webhooks.map(({ id }) => id);
  expect(new Set(ids).size).toBe(3);
  const idsOf = (webhooks: DestinationDraft["webhooks"]): unknown[] =>
    made(configuration.updateDestination(created.id, { webhooks })).webhooks.map(({ id }) => id);
  expect(idsOf([b, a, { ...a, headers: { "X-y": "1" } }])).toEqual([ids[2], ids[0], ids[1]]);
  const [again, fresh] = idsOf([b, { ...b }]);
  expect(again).toBe(ids[2]);
  expect(ids).not.toContain(fresh);
});

test("a source has a write key of its own, and is refused with what cannot be", () => {
  const { configuration, told } = startConfiguration();
  const one = made(configuration.createSource({ name: "One", writeKey: "one" }));
  const left = made(configuration.createSource({ name: "Left" }));
  expect(left).toMatchObject({
    kind: "server",
    mode: "explain",
    deduplicate: true,
    correctClockSkew: "auto",
    faults: [],
    createdAt: 77,
  });
  expect(left.writeKey).toMatch(/^[0-9a-f]{32}$/);
  const given = {
    kind: "web" as const,
    mode: "production" as const,
    deduplicate: false,
    correctClockSkew: true,
  };
  expect(configuration.createSource({ name: "Given", ...given })).toMatchObject(given);
  told();
  for (const wrong of [{ name: " " }, { writeKey: "" }, { writeKey: "a:b" }]) {
    expect(configuration.updateSource(left.id, wrong)).toMatchObject({
      status: 400,
      code: "invalid",
    });
    expect(configuration.createSource({ name: "New", ...wrong })).toMatchObject({
      status: 400,
      code: "invalid",
    });
  }
  for (const taken of [
    configuration.createSource({ name: "New", writeKey: "one" }),
    configuration.updateSource(left.id, { writeKey: "one" }),
  ])
    expect(taken).toMatchObject({ status: 409, code: "write_key_taken" });
  expect(told()).toEqual([]);
  expect(configuration.updateSource(one.id, { writeKey: "one", name: "Still" })).toMatchObject({
    name: "Still",
  });
  expect(told()).toHaveLength(2);
  expect([
    configuration.sourceByWriteKey("one")?.name,
    configuration.sourceByWriteKey("two"),
  ]).toEqual(["Still", undefined]);
  for (const call of [
    configuration.updateSource(99 as never, {}),
    configuration.deleteSource(99 as never),
  ])
    expect(call).toMatchObject({ status: 404 });
});

test("a source that goes is taken from its destinations, and one of an audience is changed by nobody else", () => {
  const { configuration, told, restarted } = startConfiguration();
  const [gone, kept] = [
    made(configuration.createSource({ name: "Gone" })),
    made(configuration.createSource({ name: "Kept" })),
  ];
  const own = configuration.createOwnSource("Big");
  expect(own).toMatchObject({ kind: "audience", deduplicate: false });
  const draft = { webhooks: [webhook], sourceIds: [gone.id, kept.id] };
  const both = made(configuration.createDestination({ ...draft, name: "Both" }));
  const other = made(
    configuration.createDestination({ ...draft, name: "Other", sourceIds: [kept.id] }),
  );
  configuration.connectOwnSource(own.id, [other.id]);
  told();
  expect(configuration.deleteSource(gone.id)).toBeNull();
  expect(told().filter((each) => each.startsWith("destinations"))).toHaveLength(1);
  configuration.connectOwnSource(own.id, [both.id]);
  for (const each of [configuration, restarted()])
    expect([both, other].map(({ id }) => each.destination(id)?.sourceIds)).toEqual([
      [kept.id, own.id],
      [kept.id],
    ]);
  expect(configuration.sourceByWriteKey(own.writeKey)).toBeUndefined();
  for (const call of [
    configuration.updateSource(own.id, { name: "x" }),
    configuration.deleteSource(own.id),
  ])
    expect(call).toMatchObject({ status: 409, code: "audience_source" });
  told();
  configuration.renameOwnSource(own.id, "Big");
  expect(told()).toEqual([]);
  configuration.renameOwnSource(own.id, "Bigger");
  expect([configuration.source(own.id)?.name, told().length]).toEqual(["Bigger", 2]);
  configuration.deleteOwnSource(own.id);
  expect([configuration.source(own.id), configuration.destination(both.id)?.sourceIds]).toEqual([
    undefined,
    [kept.id],
  ]);
});

test("a change that cannot be read again is in neither the file nor the memory", () => {
  const { store, configuration, told, restarted } = startConfiguration();
  const draft = { name: "CRM", sourceIds: [], webhooks: [webhook] };
  const before = made(configuration.createDestination(draft));
  told();
  const { retryProfiles } = store;
  store.retryProfiles = () => {
    throw new Error("the disk cannot be read");
  };
  expect(() => configuration.updateDestination(before.id, { name: "Mail" })).toThrow("the disk");
  store.retryProfiles = retryProfiles;
  expect(told()).toEqual([]);
  expect(configuration.destinations()).toEqual([before]);
  expect(restarted().destinations()).toEqual([before]);
});
