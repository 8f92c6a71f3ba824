/** What a change of the settings is for sources and destinations that exist already. */

import { expect, onTestFinished, test } from "vitest";
import type { Settings } from "../domain/configuration.ts";
import { destinationIds, sourceIds } from "../domain/ids.ts";
import { isProblem, type Problem } from "../domain/problem.ts";
import { openTestStore } from "../store/store.fixture.ts";
import { createChangeFeed } from "./changes.ts";
import { createConfiguration } from "./configuration.ts";

function made<Value>(value: Value | Problem): Value {
  if (isProblem(value)) throw new Error(value.message);
  return value;
}

function startConfiguration() {
  const { store, db } = openTestStore();
  const changes = createChangeFeed();
  onTestFinished(() => changes.stop());
  const told: string[] = [];
  const configuration = createConfiguration({
    store,
    now: () => 0,
    changes: { ...changes, note: (area, id) => void told.push(`${area} ${id}`) },
    onChange: () => void told.push("change"),
    onDestinationDeleted: () => {},
  });
  const webhooks = [{ url: "http://127.0.0.1/", headers: {} }];
  const plain = made(configuration.createSource({ name: "Plain" }));
  const own = made(
    configuration.createSource({ name: "Own", mode: "production", correctClockSkew: false }),
  );
  const audience = configuration.createOwnSource("Big");
  const to = made(configuration.createDestination({ name: "To", sourceIds: [], webhooks }));
  const other = made(
    configuration.createDestination({
      ...{ name: "Other", sourceIds: [], webhooks },
      retryProfile: "svix",
    }),
  );
  told.splice(0);
  return {
    ...{ store, db, configuration, told: () => told.splice(0) },
    ...{ plain, own, audience, to, other },
    update: (settings: Partial<Settings>) => made(configuration.updateSettings(settings)),
    /** Of each source its mode and its correction, and of each destination its profile. */
    values: () => [
      ...[plain, own, audience].map(({ id }) => {
        const { mode, correctClockSkew } = configuration.source(id) ?? {};
        return `${mode} ${correctClockSkew}`;
      }),
      ...[to, other].map(({ id }) => configuration.destination(id)?.retryProfile),
    ],
  };
}

const before = ["explain auto", "production false", "explain auto", "documented", "svix"];

test("a piece that is changed alone is changed in all sources or destinations, and in no audience's source", () => {
  const app = startConfiguration();
  expect(app.values()).toEqual(before);
  app.update({ answers: "production" });
  // One that has it already is not announced.
  expect(app.told()).toEqual([
    `sources ${sourceIds.format(app.plain.id)}`,
    "settings null",
    "change",
  ]);
  expect(app.values()).toEqual(["production auto", "production false", ...before.slice(2)]);
  app.update({ correctClockSkew: true });
  expect(app.told()).toEqual([
    ...[app.plain, app.own].map(({ id }) => `sources ${sourceIds.format(id)}`),
    ...["settings null", "change"],
  ]);
  expect(app.values()).toEqual(["production true", "production true", ...before.slice(2)]);
  app.update({ retryProfile: "svix" });
  expect(app.told()).toEqual([
    `destinations ${destinationIds.format(app.to.id)}`,
    ...["settings null", "change"],
  ]);
  expect(app.values().slice(3)).toEqual(["svix", "svix"]);
});

test("what does not change is left as it is, and only the settings are announced", () => {
  const app = startConfiguration();
  app.update({ answers: "explain", retryProfile: "documented", vendor: "Acme" });
  expect([app.values(), app.told()]).toEqual([before, ["settings null", "change"]]);
});

test("the switch to the hosted service changes all of them, and back only those that are still as it made them", () => {
  const app = startConfiguration();
  expect(app.update({ parity: "hosted" })).toMatchObject({
    ...{ parity: "hosted", answers: "production", correctClockSkew: true, retryProfile: "hosted" },
  });
  const hosted = ["production true", "production true", "explain auto", "hosted", "hosted"];
  expect(app.values()).toEqual(hosted);
  expect(app.told()).toHaveLength(6);
  made(app.configuration.updateSource(app.own.id, { mode: "explain" }));
  made(app.configuration.updateDestination(app.other.id, { retryProfile: "svix" }));
  // The same switch again is a change of all of them again.
  app.update({ parity: "hosted" });
  expect(app.values()).toEqual(hosted);
  made(app.configuration.updateSource(app.own.id, { correctClockSkew: false }));
  made(app.configuration.updateDestination(app.other.id, { retryProfile: "svix" }));
  expect(app.update({ parity: "own" })).toMatchObject({
    ...{ parity: "own", answers: "explain", correctClockSkew: "auto", retryProfile: "documented" },
  });
  expect(app.values()).toEqual([
    ...["explain auto", "explain false", "explain auto", "documented", "svix"],
  ]);
});

test("what a caller says beside the switch is taken instead of the hosted service's", () => {
  const app = startConfiguration();
  expect(app.update({ parity: "hosted", vendor: "Acme", answers: "explain" })).toMatchObject({
    ...{ vendor: "Acme", answers: "explain", correctClockSkew: true },
  });
  expect(app.values().slice(0, 2)).toEqual(["explain true", "explain true"]);
});

test("the store waits for the disk as the settings say, at once", () => {
  const app = startConfiguration();
  const synchronous = (): unknown => app.db.pragma("synchronous", { simple: true });
  app.update({ synchronous: "FULL" });
  expect(synchronous()).toBe(2);
  app.update({ vendor: "Acme" });
  expect(synchronous()).toBe(2);
  app.update({ synchronous: "NORMAL" });
  expect(synchronous()).toBe(1);
});

test.for<[string, Partial<Settings>, Partial<Settings>[]]>([
  [
    "vendor",
    { vendor: "!#$%&'*+.^_`|~0aZ-" },
    [{ vendor: "" }, { vendor: "a b" }, { vendor: "a/b" }],
  ],
  ["seed", { seed: -5 }, [{ seed: 0.5 }, { seed: 2 ** 53 }]],
  ["lane", { laneConnections: 1 }, [{ laneConnections: 0 }, { laneConnections: 1.5 }]],
  [
    "lanes",
    { laneConnections: 1024 },
    [{ laneConnections: 1025 }, { laneConnections: Number.NaN }],
  ],
  ["messages", { maxMessages: 1 }, [{ maxMessages: 0 }, { maxMessages: 1.5 }]],
  ["all messages", { maxMessages: null }, []],
  ["age", { maxAgeMs: 0.5 }, [{ maxAgeMs: 0 }, { maxAgeMs: Number.NaN }]],
  ["any age", { maxAgeMs: null }, []],
  ["bytes", { maxBytes: 1_000_000 }, [{ maxBytes: 999_999 }, { maxBytes: Number.NaN }]],
  ["all bytes", { maxBytes: null }, []],
  ["rejected", { maxRejectedBytes: 1_000_000 }, [{ maxRejectedBytes: 999_999 }]],
  ["unknown keys", { maxUnknownKeyBytes: 1_000_000 }, [{ maxUnknownKeyBytes: 999_999 }]],
  ["profile", { retryProfile: "svix" }, [{ retryProfile: "nowhere" }]],
])("the setting %s takes its bounds, and what is refused changes nothing", ([, good, wrong]) => {
  const { configuration, update, told } = startConfiguration();
  const expected = { ...configuration.settings(), ...good };
  expect(update(good)).toEqual(expected);
  told();
  for (const one of wrong)
    expect(configuration.updateSettings(one), JSON.stringify(one)).toMatchObject({
      ...{ status: 400, code: "invalid" },
    });
  expect([configuration.settings(), told()]).toEqual([expected, []]);
});
